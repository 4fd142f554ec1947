"""Which subnets have an address available: so that the full ones of a network are never walked for a claim.

One that is draining has none to give.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import Any, Generic, Protocol, TypeVar

from tenure.model.addressing import Subnet


class Roomy(Protocol):
    """What is asked of a subnet here."""

    subnet: Subnet
    version: int
    order: int
    available: int


S = TypeVar("S", bound=Roomy)
Key = tuple[str, int, str | None]
_NONE: Iterator[Any] = iter(())


class Rooms(Generic[S]):
    """The subnets that have an address available, by network, version and location; each in order of making."""

    def __init__(self) -> None:
        self._open: dict[Key, list[tuple[int, S]]] = {}
        self._known: dict[str, S] = {}

    def add(self, space: S) -> None:
        """Follow a subnet from now on."""
        self._known[space.subnet.id] = space
        self.note(space)

    def drop(self, space: S) -> None:
        """Follow a subnet no longer, because it goes or changes."""
        if self._known.pop(space.subnet.id, None) is not None:
            for key in _keys(space):
                self._take(key, space)

    def note(self, space: S) -> None:
        """A subnet has room now, or has none."""
        if self._known.get(space.subnet.id) is space:
            for key in _keys(space):
                self._take(key, space)
                if space.available and not space.subnet.draining:
                    insort(self._open.setdefault(key, []), (space.order, space))

    def _take(self, key: Key, space: S) -> None:
        found = self._open.get(key, [])
        at = bisect_left(found, space.order, key=_order)
        if at < len(found) and found[at][0] == space.order:
            del found[at]
            if not found:
                del self._open[key]

    def at(self, network: str, version: int, location: str | None) -> Iterator[S]:
        """Those bound to a location (`None`: those that are everywhere)."""
        found = self._open.get((network, version, location))
        return _NONE if found is None else (space for _, space in found)

    def all(self, network: str, version: int) -> Iterator[S]:
        """All of a network, wherever they are bound."""
        return (space for _, space in self._open.get((network, version, ""), ()))


def _order(entry: tuple[int, object]) -> int:
    return entry[0]


def _keys(space: Roomy) -> list[Key]:
    subnet = space.subnet
    places: tuple[str | None, ...] = subnet.locations or (None,)
    return [(subnet.network, space.version, place) for place in dict.fromkeys((*places, ""))]


class Offered(Generic[S]):
    """A network's subnets of one version that have an address available, as a network model sees them."""

    __slots__ = ("_network", "_rooms", "_version")

    def __init__(self, rooms: Rooms[S], network: str, version: int) -> None:
        self._rooms = rooms
        self._network = network
        self._version = version

    def at(self, location: str) -> Iterator[S]:
        """Those bound to a location, in order of making."""
        return self._rooms.at(self._network, self._version, location)

    def everywhere(self) -> Iterator[S]:
        """Those bound to none."""
        return self._rooms.at(self._network, self._version, None)

    def along(self, path: tuple[str, ...]) -> Iterator[S]:
        """Those bound to a location of a path, the nearest first; each once."""
        for at, place in enumerate(path):
            for space in self.at(place):
                if not any(before in space.subnet.locations for before in path[:at]):
                    yield space

    def all(self) -> Iterator[S]:
        """All of them, wherever they are bound."""
        return self._rooms.all(self._network, self._version)
