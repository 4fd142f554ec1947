"""Whose table it is: what each location's next hop is as seen from one router."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tenure.model.topology import Location

UP = "up"
"""The hop of a rack's switch, or of a host, towards everything else: its default route."""
LOCAL = "local"
"""The hop of a host, or of a rack's switch, for what it holds itself."""


@dataclass(frozen=True)
class Level:
    """A router's view of the locations.

    Attributes:
        hop: The next hop for what a location holds; None if it has none here, which is like space without an owner.
        within: The locations whose regions a hop may cover where nobody owns the space.
        default: The hop of what has no route; None if it matches nothing.
    """

    hop: Callable[[str], str | None]
    within: Callable[[str], tuple[str, ...]]
    default: str | None = None


def hosts(locations: Mapping[str, Location]) -> Level:
    """A fabric in which every host is a next hop, and so is a wider place for what it holds itself.

    `locations` is looked up when a fact is put, by id.
    """
    return Level(lambda owner: owner, lambda one: _around(locations, one))


def spine(locations: Mapping[str, Location]) -> Level:
    """A fabric in which every rack is a next hop, and so is a host, or a wider place, without a rack."""
    return Level(lambda owner: _rack(locations, owner) or owner, lambda one: _around(locations, one))


def rack(locations: Mapping[str, Location], switch: str) -> Level:
    """The switch of one rack: its hosts are next hops, what it holds itself is local, everything else is up."""

    def hop(owner: str) -> str | None:
        if owner == switch:
            return LOCAL
        known = locations.get(owner)
        inside = known is not None and known.kind == "host" and _rack(locations, owner) == switch
        return owner if inside else UP

    return Level(hop, lambda one: _around(locations, one), UP)


def host(name: str) -> Level:
    """One host: what it holds is local, everything else is up. It covers no space but its own blocks."""
    return Level(lambda owner: LOCAL if owner == name else UP, lambda one: (), UP)


def _up(locations: Mapping[str, Location], owner: str | None) -> Iterator[Location]:
    """A location and all that it lies in, from the inside."""
    while owner is not None and (found := locations.get(owner)) is not None:
        yield found
        owner = found.parent


def _around(locations: Mapping[str, Location], owner: str) -> tuple[str, ...]:
    return tuple(each.id for each in _up(locations, owner) if each.kind != "host")  # a host has blocks, no regions


def _rack(locations: Mapping[str, Location], owner: str) -> str | None:
    return next((each.id for each in _up(locations, owner) if each.kind == "rack"), None)
