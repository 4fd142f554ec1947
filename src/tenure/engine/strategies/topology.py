"""Near the host: the host's own block, else another block of its rack, else what can be had.

Order, in each subnet that may serve: an own block with room; a new block in a
rack block of the host's rack; a new rack block. Then, across a soft boundary:
a neighbour's block in the same rack; a block cut from another rack's; any
block with room.

Cost: a bounded number of blocks for each subnet, however many there are.
"""

from collections.abc import Iterator

from tenure.engine.blocks import space_of
from tenure.engine.buddy import Buddy
from tenure.engine.space import Slice, Space
from tenure.engine.strategies.view import Candidate, View, Wish, first_of
from tenure.model import events as e
from tenure.model.placement import Block
from tenure.model.policy import Title
from tenure.net.addresses import prefix_text


def candidates(wish: Wish, view: View) -> Iterator[Candidate]:
    """Addresses near the wish's host, best first."""
    for space in view.spaces:
        yield from _own(wish, view, space)
    for space in view.spaces:
        yield from _new(wish, space)
    if wish.reach != "host":
        for space in view.spaces:
            yield from _borrowed(wish, view, space)


def _own(wish: Wish, view: View, space: Space) -> Iterator[Candidate]:
    block = first_of(space.roomy.get(wish.owner))
    full = first_of(space.own.get(wish.owner)) if block is None else None
    if full is not None:
        view.look(space, full, "full")
    if block is not None:
        view.look(space, block, "room")
        yield _in(space, block, "own")


def _new(wish: Wish, space: Space) -> Iterator[Candidate]:
    region = first_of(space.rack_open.get(wish.rack))
    if region is not None:
        yield _cut(wish, space, space_of(region))
    largest = space.uncut.largest()
    if largest is not None:
        length = max(space.rack_length, largest)
        first = space.uncut.find(length)
        if first is not None:
            rack = Block(space.subnet.id, prefix_text(space.version, first, length), wish.rack, "rack")
            yield _block(wish, space, first, max(space.block_length, length), rack)


def _cut(wish: Wish, space: Space, uncut: Buddy) -> Candidate:
    """A block of the usual length, or of the longest that is left."""
    length = max(space.block_length, uncut.largest() or 0)
    first = uncut.find(length)
    if first is None:
        raise AssertionError(f"nothing is left to cut in an open rack block of {space.subnet.cidr}")
    return _block(wish, space, first, length)


def _block(wish: Wish, space: Space, first: int, length: int, *rack: Block) -> Candidate:
    cidr = prefix_text(space.version, first, length)
    owned = (*rack, Block(space.subnet.id, cidr, wish.owner))
    return Candidate(space.subnet.id, None, cidr, "new", tuple(e.BlockOwned(block=b) for b in owned))


def _borrowed(wish: Wish, view: View, space: Space) -> Iterator[Candidate]:
    neighbour = first_of(space.rack_roomy.get(wish.rack))
    if neighbour is not None:
        view.look(space, neighbour, "borrowed in the same rack")
        yield _in(space, neighbour, "borrowed")
    region = first_of(space.all_open)
    if region is not None:
        view.look(space, region, "a block borrowed of another rack")
        yield _cut(wish, space, space_of(region))
    anywhere = first_of(space.all_roomy)
    if anywhere is not None:
        view.look(space, anywhere, "borrowed of another rack")
        yield _in(space, anywhere, "borrowed")


def _in(space: Space, block: Slice, title: Title) -> Candidate:
    return Candidate(space.subnet.id, space.pick(block), block.text, title)
