"""How racks, sites and regions get their space: small at first, then by their buddy, then by their share."""

from itertools import islice

from tenure.engine.areas import Area, Slice
from tenure.engine.buddy import Piece
from tenure.engine.cutting import LOOKED_AT, part, place
from tenure.engine.space import Space
from tenure.engine.strategies.view import Level, Step, Wish, owned, value
from tenure.model import events as e
from tenure.model.policy import WIDTHS

_GENEROUS = 1.25
"""An area is given a whole buddy up to this times its share of what is left, so that it stays one route."""

_LEAST = 32
"""An area's next piece has so many addresses at least: each is a route at the spine."""


def area_of(space: Space, wish: Wish, above: int = 0) -> Area | None:
    """What the nearest place above a host (or the one above that, …) has to cut; None where it has nothing yet."""
    return space.areas.get(wish.areas[above].owner) if above < len(wish.areas) else space.root


def by_buddy(wish: Wish, space: Space, above: int = 0) -> tuple[Step, ...] | None:
    """More space for a host's area that costs no route: the buddy of what it has, if that is within its share."""
    area = area_of(space, wish, above)
    source = area_of(space, wish, above + 1)
    if area is None or area is space.root or source is None or source.free.empty:
        return None
    share = _share(space, wish.areas[above], area, source)
    for piece in _largest_first(area):
        if piece.size <= share and _buddy_is_free(space, source, piece):
            return (_doubled(space, piece),)
    return None


def wider(wish: Wish, space: Space, wanted: int, above: int = 0) -> tuple[Step, ...] | None:
    """More space for a host's area, out of the next wider one, which gets more itself where it has none.

    Its share of what is left there, but enough for a block of the length `wanted`.
    """
    if above >= len(wish.areas):
        return None
    source = area_of(space, wish, above + 1)
    if source is None or source.free.empty:
        return wider(wish, space, wanted, above + 1)
    level, area = wish.areas[above], area_of(space, wish, above)
    if area is None:
        piece = place(space, source, _first_length(space, level, source))
        return wider(wish, space, wanted, above + 1) if piece is None else _owned(space, *piece, level)
    grown = by_buddy(wish, space, above)
    if grown is not None:
        return grown
    near = _near(space, area, source, _chunk(space, level, area, source, wanted))
    return wider(wish, space, wanted, above + 1) if near is None else _owned(space, *near, level)


def to_come(wish: Wish, space: Space) -> float:
    """What a host's area could still be given of the next wider one: its share."""
    area, source = area_of(space, wish), area_of(space, wish, 1)
    if area is None or area is space.root or source is None or source.free.empty:
        return 0.0
    return _share(space, wish.areas[0], area, source)


def cut(space: Space, area: Area) -> int:
    """How many addresses of an area are in narrower blocks."""
    return _size(space, area) - area.free.size


def roomiest(wish: Wish, space: Space) -> Area | None:
    """Of some other areas that have something left to cut, with an address for a claim, that which has most.

    Cost: a look at eight areas; those without an address are put aside until they have one.
    """
    mine = wish.areas[0].owner if wish.areas else None
    while others := [area for area in islice(space.open.values(), LOOKED_AT) if area.owner != mine]:
        for area in sorted(others, key=lambda each: each.free.size, reverse=True):
            if place(space, area, space.width) is not None:
                return area
    return None


def may_share(wish: Wish, area: Area) -> bool:
    """Whether a part of another area could be the host's area's: not where that is wider, as a site is than a rack."""
    theirs = next(iter(area.pieces.values())).kind
    return bool(wish.areas) and WIDTHS[wish.areas[0].kind] <= WIDTHS[theirs]


def share_of(wish: Wish, space: Space, area: Area) -> tuple[Step, ...]:
    """Half of the largest piece that another area has not cut, for the host's; the other keeps what is around that."""
    level, largest = wish.areas[0], area.free.largest()
    half = space.width if largest is None else max(largest, min(largest + 1, space.block_length), space.rack_length)
    piece = place(space, area, half)
    if piece is None:
        return ()
    whole = space.regions.get((*_in_one(space, *piece), level.kind))
    if whole is None:
        return _owned(space, *piece, level)
    given = e.BlockSurrendered(block=value(space, whole))
    around = space.around(whole)
    is_mine = around is not None and around.owner == level.owner
    return (given,) if is_mine else (given, *_owned(space, *piece, level))


def _in_one(space: Space, first: int, length: int) -> Piece:
    """As much of a piece as lies in one block of its owner, with its lowest address for a claim."""
    number = space.next_free(first, first + (1 << (space.width - length)) - 1)
    row = None if number is None else space.region_at(number)
    return (first, length) if row is None or row.length <= length else row.key


def _first_length(space: Space, level: Level, source: Area) -> int:
    """A rack begins with the usual length, any other place with all of what is around it; less where it is not alone.

    So each of those beside it finds as much; but a host block is the least.
    """
    around = space.length if source is space.root else _largest_first(source)[0].length
    share = min(around + (level.siblings - 1).bit_length(), space.block_length)
    return max(space.rack_length, share) if level.kind == "rack" else share


def _share(space: Space, level: Level, area: Area, source: Area) -> float:
    """What an area may have of what is left of the wider one: in the proportion in which both are used.

    A little more than of what is left; no more than makes its part of the whole. While little is held, all areas of
    a kind are taken to be alike.
    """
    alike = max((1 << (space.width - _first_length(space, level, source))) >> 5, 1)
    part = (_held(space, area) + alike) / (_held(space, source) + alike * level.siblings)
    due = _size(space, source) * part - _size(space, area)
    return min(source.free.size * part * _GENEROUS, max(due, 0.0))


def _held(space: Space, area: Area) -> int:
    if area is space.root:
        return space.held
    return sum(space.held_between(piece.first, piece.last) for piece in area.pieces.values())


def _size(space: Space, area: Area) -> int:
    return space.size if area is space.root else sum(piece.size for piece in area.pieces.values())


def _chunk(space: Space, level: Level, area: Area, source: Area, wanted: int) -> int:
    """Length of the next piece: the largest within the area's share; no smaller than what is wanted, nor `_LEAST`."""
    share = max(int(_share(space, level, area, source)), _LEAST)
    return max(min(space.width - share.bit_length() + 1, wanted), space.length)


def _largest_first(area: Area) -> list[Slice]:
    return sorted(islice(reversed(area.pieces.values()), LOOKED_AT), key=lambda piece: piece.length)


def _buddy_is_free(space: Space, source: Area, piece: Slice) -> bool:
    buddy = piece.first ^ piece.size
    outer = space.around(piece)
    if space.area_of(outer) is not source or piece.length <= (space.length if outer is None else outer.length):
        return False
    return source.free.around(buddy, piece.length) is not None and space.claimable(buddy, piece.length)


def _doubled(space: Space, piece: Slice) -> e.BlockResized:
    after = value(space, piece, piece.first & ~piece.size, piece.length - 1)
    return e.BlockResized(before=value(space, piece), block=after)


def _near(space: Space, area: Area, source: Area, length: int) -> Piece | None:
    """The piece of this length, or the largest there is, that lies nearest to what the area has."""
    for around in range(space.width, space.length - 1, -1):
        for piece in _largest_first(area):
            if around < piece.length:
                first = piece.first >> (space.width - around) << (space.width - around)
                found = source.free.inside(first, around)
                if found is not None and space.claimable(*found):
                    return part(space, *found, length)
    return place(space, source, length)


def _owned(space: Space, first: int, length: int, level: Level) -> tuple[Step, ...]:
    first, length = _in_one(space, first, length)
    return (e.BlockOwned(block=owned(space, first, length, level.owner, level.kind)),)
