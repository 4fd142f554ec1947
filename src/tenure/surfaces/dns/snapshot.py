"""A zone as it was at one serial, for as long as somebody reads it."""

from collections.abc import Iterator, Mapping
from typing import Protocol

from tenure.model.dnsdata import Zone
from tenure.surfaces.dns.computed import ComputedNames, Place
from tenure.surfaces.dns.nodes import SOA, Node, listed


class Served(Protocol):
    """What is read of a zone."""

    zone: Zone
    name: bytes
    soa: bytes
    nodes: dict[bytes, Node]
    computed: ComputedNames | None

    def path(self, owner: str) -> bytes:
        """The path of an absolute name in the zone."""


class Snapshot:
    """A zone as it was at one serial, whatever changes while it is read.

    The zone tells it what was at each name before it changes it; so it holds
    one reference a name, and what has changed since.
    """

    __slots__ = ("__weakref__", "_computed", "_nodes", "_old", "_path", "_paths", "_were", "name", "soa", "zone")

    def __init__(self, served: Served) -> None:
        self.zone = served.zone
        self.name = served.name
        self.soa = served.soa
        self._path = served.path
        self._nodes: Mapping[bytes, Node] = served.nodes
        self._paths = list(served.nodes)
        self._computed = served.computed
        self._old: dict[bytes, Node | None] = {}
        self._were: dict[Place, bool] = {}

    def keep(self, path: bytes, node: Node | None) -> None:
        """Note what was at `path`, perhaps nothing, before its first change since the snapshot."""
        self._old.setdefault(path, node)

    def keep_taken(self, place: Place, taken: bool) -> None:
        """Note whether an address with a computed name was taken, before the first change of that."""
        self._were.setdefault(place, taken)

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield each record but the SOA: its path, and its packed form. Computed ones come last, in order."""
        for path in self._paths:
            node = self._old.get(path)
            for packed in listed(self._nodes[path] if node is None else node):
                if not packed.startswith(SOA):
                    yield path, packed
        if self._computed is not None:
            yield from self._ahead(self._computed)

    def _ahead(self, computed: ComputedNames) -> Iterator[tuple[bytes, bytes]]:
        for ahead in computed.listed:
            stretch = ahead.stretch
            for number in range(stretch.first, stretch.last + 1):
                if self._were.get((ahead, number), number in ahead.taken):
                    continue
                path = self._path(stretch.owner(number))
                if not self._held(path):
                    yield path, ahead.packed(number)

    def _held(self, path: bytes) -> bool:
        """Whether a real record was there: it hides what is computed."""
        if path in self._old:
            return self._old[path] is not None
        return path in self._nodes
