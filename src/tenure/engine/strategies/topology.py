"""Near the host, and so that routes aggregate: hosts in their rack's space, racks in their site's.

Order, in each subnet that may serve: an own block; what an own block lent and
the borrower does not use; a loan to the host; space of its rack, by growing
into the buddy of an own block, or by a new block; what others of the rack left
empty. Then, as far as the boundary reaches: a piece of another host's block
(a loan), or what another rack has not cut. `Network.prefer` says which of the
two is first: a loan costs a route in the fabric, another rack's space one at
the spine too.

Cost: a bounded number of looks at blocks for each subnet, however many there are.
Source: docs/explanation/placement.md.
"""

from collections.abc import Iterator
from itertools import islice

from tenure.engine.areas import Area, Slice, Slices
from tenure.engine.cutting import LOOKED_AT, place
from tenure.engine.space import Space
from tenure.engine.strategies import lending, regions
from tenure.engine.strategies.view import Candidate, View, Wish, first_of, new_block, prepared, value
from tenure.model import events as e

_GRAINS = 4
"""A host's space is looked for so often, with more of the rack's each time."""


def candidates(wish: Wish, view: View) -> Iterator[Candidate]:
    """Addresses near the wish's host, best first."""
    for find in (_own, lending.back, lending.lent, _room, _left_empty):
        for space in view.spaces:
            yield from find(wish, view, space)
    for find in (_elsewhere, lending.near) if wish.prefer == "fabric" else (lending.near, _elsewhere):
        for space in view.spaces:
            yield from find(wish, view, space)
    for find in (lending.far, _any):
        for space in view.spaces:
            yield from find(wish, view, space)


def _own(wish: Wish, view: View, space: Space) -> Iterator[Candidate]:
    """An address of an own block: the largest, so that others empty."""
    roomy = space.roomy.get(wish.owner)
    if roomy:
        block = _largest(roomy)
        view.look(space, block, "room")
        yield Candidate(space.subnet.id, space.pick(block), block.text, "own")
    elif (full := first_of(space.own.get(wish.owner))) is not None:
        view.look(space, full, "full")


def _largest(blocks: Slices) -> Slice:
    """The largest of the first few, and of those of one size the fullest."""
    first, *others = islice(blocks.values(), LOOKED_AT)
    return min((first, *others), key=lambda block: (block.length, block.free)) if others else first


def _room(wish: Wish, view: View, space: Space) -> Iterator[Candidate]:
    """Space of the host's area: by growth, by a block of its own; and more space for the area where it has none."""
    eager = True
    for _ in range(_GRAINS):
        area = regions.area_of(space, wish)
        yield from _growth(wish, space, area)
        wanted = _wanted(wish, space, area)
        if eager and _is_short(area, wanted) and space.own.get(wish.owner):
            eager = False
            wider = regions.by_buddy(wish, space)
            if wider is not None:
                yield prepared(space, wider)
                continue
        piece = None if area is None else place(space, area, wanted)
        if piece is not None:
            yield new_block(space, *piece, wish.owner)
            continue
        wider = regions.wider(wish, space, wanted)
        if wider is None:
            return
        yield prepared(space, wider)


def _is_short(area: Area | None, wanted: int) -> bool:
    largest = None if area is None else area.free.largest()
    return largest is None or largest > wanted


def _wanted(wish: Wish, space: Space, area: Area | None) -> int:
    """Length of the next block: a first one is small; one for a host that cannot grow is as large as all it has.

    Where hardly that is left it is the host's share of it, so that nobody is given what all will need.
    """
    size = sum(block.size for block in islice(space.own.get(wish.owner, {}).values(), LOOKED_AT))
    if not size:
        return space.block_length
    left = 0.0 if area is None else area.free.size + regions.to_come(wish, space)
    if area is not None and left < 2 * size:
        size = min(size, max(int(left * size / max(regions.cut(space, area), 1)), lending.LARGEST))
    return space.width - (size - 1).bit_length()


def _growth(wish: Wish, space: Space, area: Area | None) -> Iterator[Candidate]:
    """The largest own block whose buddy is free takes it, so that the host stays one route."""
    own = sorted(islice(space.own.get(wish.owner, {}).values(), LOOKED_AT), key=lambda block: block.length)
    for block in own:
        if block.area is not area or block.length <= space.length:
            continue
        buddy = block.first ^ block.size
        if area.free.around(buddy, block.length) is not None and space.claimable(buddy, block.length):
            yield _grown(space, block)


def _grown(space: Space, block: Slice) -> Candidate:
    """Twice the block; and twice that, where its owner has the buddy of it already."""
    first, length = block.first & ~block.size, block.length - 1
    merged: list[e.BlockSurrendered] = []
    while length > space.length:
        size = 1 << (space.width - length)
        other = space.blocks.get((first ^ size, length))
        if other is None or other.owner != block.owner or other.area is not block.area or other.lender is not None:
            break
        merged.append(e.BlockSurrendered(block=value(space, other)))
        first, length = first & ~size, length - 1
    after = value(space, block, first, length)
    grown = e.BlockResized(before=value(space, block), block=after)
    return Candidate(space.subnet.id, None, after.cidr, "new", (*merged, grown))


def _left_empty(wish: Wish, view: View, space: Space) -> Iterator[Candidate]:
    """What other hosts of the area hold no address in goes back to it, and then there is room."""
    area = regions.area_of(space, wish)
    if area is None:
        return
    empty = [block for block in islice(area.vacant.values(), LOOKED_AT) if block.owner != wish.owner]
    if empty:
        for block in empty:
            view.look(space, block, "empty")
        yield prepared(space, tuple(e.BlockSurrendered(block=value(space, block)) for block in empty))
        yield from _room(wish, view, space)


def _elsewhere(wish: Wish, view: View, space: Space) -> Iterator[Candidate]:
    """What other racks have not cut, or left empty, becomes this one's."""
    area = regions.roomiest(wish, space)
    if area is None:
        yield from _left_anywhere(wish, view, space)
        area = regions.roomiest(wish, space)
    if area is None:
        return
    if regions.may_share(wish, area):
        yield prepared(space, regions.share_of(wish, space, area))
        yield from _room(wish, view, space)
    elif (piece := place(space, area, _wanted(wish, space, area))) is not None:
        yield new_block(space, *piece, wish.owner)


def _left_anywhere(wish: Wish, view: View, space: Space) -> Iterator[Candidate]:
    empty = [block for block in islice(space.vacant.values(), LOOKED_AT) if block.owner != wish.owner]
    if empty:
        yield prepared(space, tuple(e.BlockSurrendered(block=value(space, block)) for block in empty))
        yield from _room(wish, view, space)


def _any(wish: Wish, view: View, space: Space) -> Iterator[Candidate]:
    """Whatever is free: nobody is refused on a soft boundary while anything is."""
    number = space.lowest_free() if wish.reach == "anywhere" else None
    if number is not None:
        block = space.block_at(number)
        yield Candidate(space.subnet.id, number, None if block is None else block.text, "borrowed")
