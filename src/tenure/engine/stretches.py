"""Stretches of a subnet that a change must find free: asked for before it is planned, and looked at by its planner."""

from tenure.engine.space import Space
from tenure.model.addressing import Range
from tenure.net.addresses import Prefix, parse_address, text_of
from tenure.net.rangeset import Pair, RangeSet

HoldersKey = tuple[str, str, str, str]
"""Kind, id, first and last address; see `Wanted.holders`."""


def holders_key(space: Space, stretch: Pair) -> HoldersKey:
    """Under which key the holders of a stretch of a subnet are read."""
    first, last = stretch
    return "subnet", space.subnet.id, text_of(space.version, first), text_of(space.version, last)


def whole(prefix: Prefix) -> Pair:
    """First and last address of a prefix."""
    return int(prefix.network_address), int(prefix.broadcast_address)


def left_out(space: Space, prefix: Prefix) -> RangeSet:
    """What a subnet would lose if it had this prefix."""
    return RangeSet.of((space.first, space.last)) - RangeSet.of(whole(prefix))


def covered(space: Space, start: str, end: str, but: Range | None = None) -> RangeSet:
    """What a range from `start` to `end` has of a subnet, without what the range `but` has already.

    Raises:
        InvalidValue: An end is no address, or the range ends before it starts.
    """
    new = RangeSet.of(_ends(start, end)) & RangeSet.of((space.first, space.last))
    return new if but is None else new - RangeSet.of(_ends(but.start, but.end))


def _ends(start: str, end: str) -> Pair:
    return int(parse_address(start)), int(parse_address(end))
