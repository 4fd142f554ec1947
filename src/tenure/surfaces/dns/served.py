"""One zone in wire form, and how a transaction changes it."""

from collections.abc import Iterable
from typing import Final
from weakref import WeakSet

import msgspec

from tenure.model.dnsdata import Record, Zone, ZoneChange
from tenure.naming import hostnames, records
from tenure.naming.authority import start
from tenure.surfaces.dns.computed import Computed, ComputedNames, Place
from tenure.surfaces.dns.journal import Journal
from tenure.surfaces.dns.nodes import NS, SOA, Node, joined, listed, packed, same
from tenure.surfaces.dns.paths import SortedPaths, is_deep, label_ends
from tenure.surfaces.dns.snapshot import Snapshot

ASTERISK: Final = b"\x01*"
"""The label of wildcards, at the end of their paths (RFC 4592 section 2.1.1)."""


class ServedZone:
    """One zone as the query path reads it. Only `ZoneTable` makes and changes it.

    Args:
        zone: Its values.
        servers: Absolute names of its servers, at least one.
        authority: What it has by itself besides the SOA: no change removes these records.
        computed: The stretches that have names in it without holding them.
        journal: Told of each step.

    Attributes:
        zone: Its values, with the serial that is served.
        name: Wire form, lower case.
        nodes: Path below the apex (see `paths`) to what is there.
        computed: Names that are there besides; None if there are none.
        cuts: Paths below the apex with NS: what is there and beneath is somebody else's.
        wildcards: Paths that end with an asterisk.
        soa: Packed.
        denial: The packed SOA for negative answers, its TTL cut to the negative TTL (RFC 2308 section 3).
        closed: What is in it is not known now: its names, and it as a whole, are SERVFAIL.
    """

    __slots__ = (
        "_deep", "_fixed", "_snapshots", "_suffix", "closed", "computed", "cuts", "denial", "journal", "name", "nodes",
        "soa", "wildcards", "zone",
    )  # fmt: skip

    def __init__(
        self,
        zone: Zone,
        servers: tuple[str, ...],
        authority: Iterable[Record] = (),
        computed: Iterable[Computed] = (),
        journal: Journal | None = None,
    ) -> None:
        self.zone = zone
        self.closed = False
        self.name = hostnames.wire(zone.name)
        self.nodes: dict[bytes, Node] = {}
        self.cuts: set[bytes] = set()
        self.wildcards: set[bytes] = set()
        self.journal = Journal() if journal is None else journal
        stretches = tuple(computed)
        self.computed = ComputedNames(zone.name, stretches) if stretches else None
        self._suffix = "." + zone.name
        self._deep = SortedPaths()
        self._snapshots: WeakSet[Snapshot] = WeakSet()
        self._fixed: dict[bytes, list[bytes]] = {}
        for each in authority:
            path, record = self.pathed(each)
            self._fixed.setdefault(path, []).append(record)
            self._insert(path, record)
        self.soa, self.denial = _starts(zone, servers)
        self._stamp(zone.serial)

    @property
    def serial(self) -> int:
        """The serial that is served."""
        return self.zone.serial

    def fill(self, given: Iterable[Record]) -> None:
        """Put in all records of a zone that nobody asks yet. Cost: about 2 µs a record."""
        nodes, special = self.nodes, set()
        for record in given:
            path = self.path(record.owner)
            made = packed(record)
            if nodes.setdefault(path, made) is not made:
                self._insert(path, made)
            elif record.type == records.NS or record.owner[0] == "*":
                special.add(path)
        for path in special:
            self._sort(path, self.nodes[path])
        self._deep = SortedPaths(filter(is_deep, nodes))

    def change(self, change: ZoneChange) -> None:
        """Take the removed records out, put the added ones in, stamp the new serial, and tell the journal of it."""
        removed = [self.pathed(record) for record in change.removed]
        added = [self.pathed(record) for record in change.added]
        before = {path: self._listed(path) for path, _ in (*removed, *added)}
        soa = self.soa
        for path, record in removed:
            self._take_out(path, record)
        for path, record in added:
            self._put_in(path, record)
        self._stamp(change.serial)
        if self.soa != soa:
            after = {path: self._listed(path) for path in before}
            self.journal.note(soa, _missing(before, after), self.soa, _missing(after, before))

    def node(self, path: bytes) -> Node | None:
        """What is at `path`, held or computed; None if nothing is."""
        node = self.nodes.get(path)
        return self.computed.find(path) if node is None and self.computed is not None else node

    def exists(self, path: bytes) -> bool:
        """Tell whether the name at `path`, without records, exists: something is beneath it (RFC 4592, 2.2.2)."""
        return self._deep.beneath(path) or (self.computed is not None and self.computed.beneath(path))

    def cut(self, path: bytes) -> bytes | None:
        """The highest cut at or above `path`: from there on it is somebody else's; None if nothing is cut there."""
        for end in label_ends(path) if self.cuts else ():
            if path[:end] in self.cuts:
                return path[:end]
        return None

    def wildcard(self, path: bytes) -> Node | None:
        """What stands for the name at `path`, which does not exist; None if nothing does.

        That is the asterisk right below the longest name above it that exists. Source: RFC 4592 section 3.3.1.
        """
        if not self.wildcards:
            return None
        encloser = b""
        for end in label_ends(path):
            if self.node(path[:end]) is None and not self.exists(path[:end]):
                break
            encloser = path[:end]
        return self.nodes.get(encloser + ASTERISK)

    def snapshot(self) -> Snapshot:
        """Return the zone as it is now, the same one to all who ask at one serial.

        Cost: 8 bytes and 15 ns a name, and a reference for each name that changes while it is kept.
        """
        for taken in self._snapshots:
            if taken.soa == self.soa:
                return taken
        taken = Snapshot(self)
        self._snapshots.add(taken)
        return taken

    def lasts(self, path: bytes, record: bytes) -> bool:
        """Tell whether it is one of those that the zone has by itself, which no change removes."""
        return any(same(record, each) for each in self._fixed.get(path, ()))

    def pathed(self, record: Record) -> tuple[bytes, bytes]:
        """The record's path and packed form.

        Raises:
            ValueError: It is not in this zone.
        """
        return self.path(record.owner), packed(record)

    def path(self, owner: str) -> bytes:
        """The path of an absolute name.

        Raises:
            ValueError: It is not in this zone.
        """
        if owner.endswith(self._suffix):
            relative = owner[: -len(self._suffix)].encode("ascii")
            if b"." not in relative:
                return bytes((len(relative),)) + relative
            return b"".join(bytes((len(label),)) + label for label in reversed(relative.split(b".")))
        if owner == self.zone.name:
            return b""
        raise ValueError(f"{owner} is not in the zone {self.zone.name}")

    def _listed(self, path: bytes) -> tuple[bytes, ...]:
        """What a transfer lists at `path`, the SOA aside."""
        node = self.nodes.get(path)
        if node is not None:
            return tuple(each for each in listed(node) if not each.startswith(SOA))
        return listed(self.computed.listed_at(path)) if self.computed is not None else ()

    def _take_out(self, path: bytes, record: bytes) -> None:
        held = listed(self.nodes.get(path))
        if any(same(each, record) for each in held):
            self._remove(path, record)
        elif self.computed is not None and (place := self.computed.place(path, record)) is not None:
            self._remember_taken(place)
            place[0].taken.add(place[1])

    def _put_in(self, path: bytes, record: bytes) -> None:
        if self.computed is not None and (place := self.computed.place(path, record)) is not None:
            self._remember_taken(place)
            place[0].taken.discard(place[1])
            return
        self._remember(path)
        self._insert(path, record)
        if is_deep(path):
            self._deep.add(path)

    def _insert(self, path: bytes, record: bytes) -> None:
        others = (each for each in listed(self.nodes.get(path)) if not same(each, record))
        self._put(path, joined((*others, record)))

    def _remove(self, path: bytes, record: bytes) -> None:
        if self.lasts(path, record):
            return
        self._remember(path)
        self._put(path, joined(each for each in listed(self.nodes.get(path)) if not same(each, record)))

    def _put(self, path: bytes, node: Node | None) -> None:
        if node is not None:
            self.nodes[path] = node
        elif self.nodes.pop(path, None) is not None and is_deep(path):
            self._deep.discard(path)
        self._sort(path, node)

    def _sort(self, path: bytes, node: Node | None) -> None:
        """Keep in mind whether this is a wildcard, or where somebody else's zone begins."""
        wild = path.endswith(ASTERISK)
        if wild:
            (self.wildcards.discard if node is None else self.wildcards.add)(path)
        elif path:
            cut = any(each.startswith(NS) for each in listed(node))
            (self.cuts.add if cut else self.cuts.discard)(path)

    def _remember(self, path: bytes) -> None:
        if self._snapshots:
            node = self.nodes.get(path)
            for snapshot in self._snapshots:
                snapshot.keep(path, node)

    def _remember_taken(self, place: Place) -> None:
        for snapshot in self._snapshots:
            snapshot.keep_taken(place, place[1] in place[0].taken)

    def _stamp(self, serial: int) -> None:
        self.zone = msgspec.structs.replace(self.zone, serial=serial)
        self.soa = _stamped(self.soa, serial)
        self.denial = _stamped(self.denial, serial)
        self._remember(b"")
        others = (each for each in listed(self.nodes.get(b"")) if not each.startswith(SOA))
        self._put(b"", joined((*others, self.soa)))


def _starts(zone: Zone, servers: tuple[str, ...]) -> tuple[bytes, bytes]:
    soa = start(zone, servers)
    return packed(soa), packed(msgspec.structs.replace(soa, ttl=min(soa.ttl, zone.negative_ttl)))


def _stamped(soa: bytes, serial: int) -> bytes:
    """The same packed SOA with another serial: the first of the five numbers at its end."""
    return soa[:-20] + serial.to_bytes(4) + soa[-16:]


def _missing(there: dict[bytes, tuple[bytes, ...]], here: dict[bytes, tuple[bytes, ...]]) -> list[tuple[bytes, bytes]]:
    """The records of `there` that are not in `here`."""
    return [(path, each) for path, kept in there.items() for each in kept if each not in here[path]]
