"""Blocks of one size by host, and single addresses of others' when they run out: what Calico does.

Order: an own block; an unclaimed one, walking from a place that the host's name
gives; an empty one of another host; across a soft boundary, an address of any
block, by the same walk. It knows no racks: a boundary that is hard at any
level is hard here.
"""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from hashlib import blake2b
from itertools import islice, takewhile

from tenure.engine.buddy import Piece
from tenure.engine.space import Slice, Space
from tenure.engine.strategies.view import MOST_CANDIDATES, Candidate, View, Wish, first_of
from tenure.model import events as e
from tenure.model.placement import ROOT, Block
from tenure.net.addresses import prefix_text

CAP = 20
"""A host that owns so many blocks gets no other, and borrows nothing either."""

RECLAIMED_AFTER = timedelta(seconds=60)
"""An empty block is left to its owner for so long, whoever needs it."""

IDLE_AFTER = timedelta(minutes=15)
"""An empty block goes back after so long, if its owner has another."""


def capped(cap: int | None) -> Callable[[Wish, View], Iterator[Candidate]]:
    """The strategy with a cap of its own on the blocks of a host, or None.

    What it gives is deterministic; claims without a host are not capped. Cost: linear in the own blocks that have
    room and in the subnets, logarithmic in all else.
    """

    def candidates(wish: Wish, view: View) -> Iterator[Candidate]:
        yield from _own(wish, view)
        if cap is not None and wish.owner != ROOT and _owned(wish, view) >= cap:
            return
        for space in view.spaces:
            yield from _unclaimed(wish, space)
        for space in view.spaces:
            yield from _reclaimed(wish, view, space)
        if wish.reach == "anywhere":
            for space in view.spaces:
                yield from _borrowed(wish, view, space)

    return candidates


candidates = capped(CAP)
"""The strategy as networks have it."""


def idle(space: Space, now: datetime) -> Iterator[e.BlockSurrendered]:
    """The blocks of a subnet to give back at `now`: those that have long been empty, of hosts that keep another.

    Each may be recorded before the next is asked for. Cost: linear in the blocks that have long been empty.
    """
    kept: dict[str | None, int] = {}
    for block in list(takewhile(lambda each: _empty_for(each, IDLE_AFTER, now), space.empties.values())):
        left = kept.get(block.owner, len(space.own.get(block.owner, ())))
        if block.lender is not None or left > 1:
            kept[block.owner] = left - (block.lender is None)
            yield e.BlockSurrendered(block=_block_of(space, block))


def _own(wish: Wish, view: View) -> Iterator[Candidate]:
    """In each subnet the first own block with room, in the order of their texts; the longest rested of it."""
    for space in view.spaces:
        roomy = space.roomy.get(wish.owner)
        if roomy:
            block = min(roomy.values(), key=lambda each: each.text)
            view.look(space, block, "room")
            yield Candidate(space.subnet.id, space.pick(block), block.text, "own")
        elif (full := first_of(space.own.get(wish.owner))) is not None:
            view.look(space, full, "full")


def _owned(wish: Wish, view: View) -> int:
    return sum(len(space.own.get(wish.owner, ())) for space in view.spaces)


def _unclaimed(wish: Wish, space: Space) -> Iterator[Candidate]:
    """The first unclaimed block from the host's place on. What has no address for a claim is put aside for good."""
    place = _place(wish, space)
    while (piece := _walk(space, place)) is not None and not space.claimable(*piece):
        space.spend(space.root, *piece)
    if piece is not None:
        yield _new(wish, space, prefix_text(space.version, *piece))


def _walk(space: Space, place: int) -> Piece | None:
    """The first free piece from a place on, around the end; where none of the usual length is left, of the longest."""
    largest = space.uncut.largest()
    if largest is None:
        return None
    length = max(space.block_length, largest)
    found = (space.uncut.find_from(start, length) for start in (place, space.first))
    return next(((first, length) for first in found if first is not None), None)


def _reclaimed(wish: Wish, view: View, space: Space) -> Iterator[Candidate]:
    """Another host's block that has been empty for a minute: the longest, if all of it does not rest."""
    for block in islice(space.vacant.values(), MOST_CANDIDATES):
        due = _empty_for(block, RECLAIMED_AFTER, view.now)
        if due and block.owner != wish.owner and block.lender is None:
            view.look(space, block, "empty, taken from its owner")
            yield _new(wish, space, block.text, e.BlockSurrendered(block=_block_of(space, block)))
            return


def _borrowed(wish: Wish, view: View, space: Space) -> Iterator[Candidate]:
    """An address of the first block with room from the host's place on."""
    place = _place(wish, space)
    number = space.next_free(place, space.last)
    if number is None:
        number = space.next_free(space.first, place)
    if number is None:
        return
    block = space.block_at(number)
    if block is None:  # in a rack block, from when the network had another strategy
        yield Candidate(space.subnet.id, number, None, "borrowed")
    else:
        view.look(space, block, "borrowed")
        yield Candidate(space.subnet.id, space.pick(block), block.text, "borrowed")


def _place(wish: Wish, space: Space) -> int:
    """Where the walk of a host begins: the first address of a block, chosen by its name.

    The hash has all the bits of an IPv6 address, so that the last block is as likely as the first.
    """
    chance = int.from_bytes(blake2b(wish.name.encode(), digest_size=16).digest())
    block = chance % (1 << (space.block_length - space.prefix_length))
    return space.first + (block << (space.width - space.block_length))


def _new(wish: Wish, space: Space, cidr: str, *before: e.BlockSurrendered) -> Candidate:
    owned = e.BlockOwned(block=Block(space.subnet.id, cidr, wish.owner))
    return Candidate(space.subnet.id, None, cidr, "new", (*before, owned))


def _empty_for(block: Slice, wait: timedelta, now: datetime) -> bool:
    return block.emptied is not None and block.emptied + wait <= now


def _block_of(space: Space, block: Slice) -> Block:
    return Block(space.subnet.id, block.text, block.owner)
