"""What the DNS surface answers from: zones in wire form, in memory.

Served here: every record type as it is stored, names that do not exist, and
empty non-terminals. One table is one view: zones of one vrf.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from ipaddress import IPv4Address, IPv6Address
from weakref import WeakSet

import msgspec

from tenure.model.dnsdata import Record, Zone, ZoneChange
from tenure.naming import hostnames, records
from tenure.surfaces.dns.paths import SortedPaths, is_deep, path_of

_FIXED = struct.Struct(">HHIH")
_IN = 1
SOA_KIND = b"\x00\x06"

Node = bytes | tuple[bytes, ...]
"""A name's records, each as type, class, TTL, length and rdata: bytes if there is one, a sorted tuple if more.

So a million names cost two byte strings and one dictionary entry each.
"""


def _packed(record: Record) -> bytes:
    return _FIXED.pack(record.type, _IN, record.ttl, len(record.rdata)) + record.rdata


def _same(one: bytes, other: bytes) -> bool:
    """Tell whether both are one record: the TTL is no part of its identity (RFC 2181 section 5)."""
    return one[:2] == other[:2] and one[8:] == other[8:]


def _listed(node: Node | None) -> tuple[bytes, ...]:
    if node is None:
        return ()
    return (node,) if isinstance(node, bytes) else node


def _joined(packed: Iterable[bytes]) -> Node | None:
    ordered = tuple(sorted(packed))
    if len(ordered) < 2:
        return ordered[0] if ordered else None
    return ordered


class ServedZone:
    """One zone as the query path reads it. Only `ZoneTable` changes it.

    Attributes:
        zone: Its values, with the serial that is served.
        name: Wire form, lower case.
        nodes: Path below the apex (see `paths`) to what is there.
        denial: The packed SOA for negative answers, its TTL cut to the negative TTL (RFC 2308 section 3).
        closed: What is in it is not known now: its names, and it as a whole, are SERVFAIL.
    """

    __slots__ = ("_deep", "_fixed", "_snapshots", "_suffix", "closed", "denial", "name", "nodes", "soa", "zone")

    def __init__(self, zone: Zone, addresses: Sequence[IPv4Address | IPv6Address]) -> None:
        self.zone = zone
        self.closed = False
        self.name = hostnames.wire(zone.name)
        self.nodes: dict[bytes, Node] = {}
        self._suffix = "." + zone.name
        self._deep = SortedPaths()
        self._snapshots: WeakSet[Snapshot] = WeakSet()
        self._fixed = tuple((self._path(each.owner), _packed(each)) for each in _authority(zone, addresses))
        for path, packed in self._fixed:
            self._insert(path, packed)
        self.soa, self.denial = _starts_of_authority(zone)
        self._stamp(zone.serial)

    def fill(self, given: Iterable[Record]) -> None:
        """Put in all records of a zone that nobody asks yet. Cost: about 2 µs a record."""
        nodes = self.nodes
        for record in given:
            path = self._path(record.owner)
            packed = _packed(record)
            if nodes.setdefault(path, packed) is not packed:
                self._insert(path, packed)
        self._deep = SortedPaths(filter(is_deep, nodes))

    def change(self, change: ZoneChange) -> None:
        """Take the removed records out, put the added ones in, and stamp the new serial."""
        for record in change.removed:
            self._remove(self._path(record.owner), _packed(record))
        for record in change.added:
            path = self._path(record.owner)
            self._remember(path)
            self._insert(path, _packed(record))
            if is_deep(path):
                self._deep.add(path)
        self._stamp(change.serial)

    def exists(self, path: bytes) -> bool:
        """Tell whether the name at `path`, without records, exists: something is beneath it (RFC 4592, 2.2.2)."""
        return self._deep.beneath(path)

    def snapshot(self) -> "Snapshot":
        """Return the zone as it is now, the same one to all who ask at one serial.

        Cost: 8 bytes and 15 ns a name, and a reference for each name that changes while it is kept.
        """
        for taken in self._snapshots:
            if taken.soa == self.soa:
                return taken
        taken = Snapshot(self)
        self._snapshots.add(taken)
        return taken

    def _path(self, owner: str) -> bytes:
        if owner.endswith(self._suffix):
            relative = owner[: -len(self._suffix)].encode("ascii")
            if b"." not in relative:
                return bytes((len(relative),)) + relative
            return b"".join(bytes((len(label),)) + label for label in reversed(relative.split(b".")))
        if owner == self.zone.name:
            return b""
        raise ValueError(f"{owner} is not in the zone {self.zone.name}")

    def _insert(self, path: bytes, packed: bytes) -> None:
        others = (each for each in _listed(self.nodes.get(path)) if not _same(each, packed))
        self._put(path, _joined((*others, packed)))

    def _remove(self, path: bytes, packed: bytes) -> None:
        if any(path == kept and _same(packed, each) for kept, each in self._fixed):
            return
        self._remember(path)
        self._put(path, _joined(each for each in _listed(self.nodes.get(path)) if not _same(each, packed)))

    def _put(self, path: bytes, node: Node | None) -> None:
        if node is not None:
            self.nodes[path] = node
        elif self.nodes.pop(path, None) is not None and is_deep(path):
            self._deep.discard(path)

    def _remember(self, path: bytes) -> None:
        if self._snapshots and (node := self.nodes.get(path)) is not None:
            for snapshot in self._snapshots:
                snapshot.keep(path, node)

    def _stamp(self, serial: int) -> None:
        self.zone = msgspec.structs.replace(self.zone, serial=serial)
        self.soa = _stamped(self.soa, serial)
        self.denial = _stamped(self.denial, serial)
        self._remember(b"")
        others = (each for each in _listed(self.nodes.get(b"")) if not each.startswith(SOA_KIND))
        self._put(b"", _joined((*others, self.soa)))


class Snapshot:
    """A zone as it was at one serial, whatever changes while it is read.

    The zone tells it the old records of each name before it changes them; so
    it holds one reference a name, and what has changed since.
    """

    __slots__ = ("__weakref__", "_nodes", "_old", "_paths", "name", "soa", "zone")

    def __init__(self, served: ServedZone) -> None:
        self.zone = served.zone
        self.name = served.name
        self.soa = served.soa
        self._nodes = served.nodes
        self._paths = list(served.nodes)
        self._old: dict[bytes, Node] = {}

    def keep(self, path: bytes, node: Node) -> None:
        """Note what was at `path`, before its first change since the snapshot."""
        self._old.setdefault(path, node)

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield each record but the SOA: its path, and its packed form."""
        for path in self._paths:
            node = self._old.get(path)
            for packed in _listed(self._nodes[path] if node is None else node):
                if not packed.startswith(SOA_KIND):
                    yield path, packed


class ZoneTable:
    """The zones of one view, and what each answers.

    For one thread: the event loop's. A change is whole between two queries, because nothing awaits in it.

    Args:
        addresses: Where this server is reached; the addresses of `ns.<zone>` in zones that name no servers.

    Attributes:
        zones: Wire-form zone name, lower case, to its zone: the query path looks here itself.
    """

    def __init__(self, addresses: Sequence[IPv4Address | IPv6Address] = ()) -> None:
        self._addresses = tuple(addresses)
        self.zones: dict[bytes, ServedZone] = {}
        self._by_id: dict[str, ServedZone] = {}

    def load(self, zone: Zone, given: Iterable[Record]) -> None:
        """Serve `zone` with exactly these records: `build` and `put` in one."""
        self.put(self.build(zone, given))

    def build(self, zone: Zone, given: Iterable[Record]) -> ServedZone:
        """Make what `put` serves; changes nothing here, and may be called in another thread.

        SOA, NS at the apex and the addresses of `ns.<zone>` are made here and need not be among `given`.

        Raises:
            ValueError: A record is outside the zone.
        """
        served = ServedZone(zone, self._addresses)
        served.fill(given)
        return served

    def put(self, served: ServedZone) -> None:
        """Serve it, instead of what was served under its id or its name before."""
        here = self.zones.get(served.name)
        if here is not None:
            self.remove(here.zone.id)
        self.remove(served.zone.id)
        self.zones[served.name] = self._by_id[served.zone.id] = served

    def close(self, zone: Zone) -> None:
        """Answer nothing about this zone until it is put."""
        served = ServedZone(zone, ())
        served.closed = True
        self.put(served)

    def apply(self, change: ZoneChange) -> None:
        """Serve what one transaction made of a zone, under its new serial.

        Idempotent. Raises KeyError if the zone was never loaded.
        """
        self._by_id[change.zone].change(change)

    def remove(self, zone: str) -> None:
        """Serve the zone with this id no longer; nothing happens if it is not here."""
        served = self._by_id.pop(zone, None)
        if served is not None:
            del self.zones[served.name]

    def find(self, name: bytes) -> tuple[ServedZone, bytes] | None:
        """Find the zone with the longest name that `name` ends with, and the part of `name` in front of it.

        Args:
            name: Wire form, lower case, up to its first zero octet; it may be malformed otherwise.

        Returns:
            None outside all zones, and for a malformed name.
        """
        at = 0
        while (served := self.zones.get(name[at:])) is None:
            length = name[at]
            at += length + 1
            if length > 63 or at >= len(name):
                return None
        return served, name[:at]

    def records(self, zone: str) -> Iterator[Record]:
        """Yield the records of the zone with this id as they are at the call, the SOA first (and once)."""
        snapshot = self._by_id[zone].snapshot()
        return _unpacked(snapshot)


def _servers(zone: Zone) -> tuple[str, ...]:
    return zone.name_servers or (f"ns.{zone.name}",)


def _starts_of_authority(zone: Zone) -> tuple[bytes, bytes]:
    contact = f"hostmaster.{zone.name}"
    soa = records.soa(zone.name, _servers(zone)[0], contact, zone.serial, negative_ttl=zone.negative_ttl, ttl=zone.ttl)
    return _packed(soa), _packed(msgspec.structs.replace(soa, ttl=min(soa.ttl, zone.negative_ttl)))


def _stamped(soa: bytes, serial: int) -> bytes:
    """The same packed SOA with another serial: the first of the five numbers at its end."""
    return soa[:-20] + serial.to_bytes(4) + soa[-16:]


def _authority(zone: Zone, addresses: Sequence[IPv4Address | IPv6Address]) -> Iterator[Record]:
    for server in _servers(zone):
        yield records.ns(zone.name, server, zone.ttl)
    if not zone.name_servers:
        for address in addresses:
            yield records.forward(f"ns.{zone.name}", address, zone.ttl)


def _unpacked(snapshot: Snapshot) -> Iterator[Record]:
    yield _record(snapshot, b"", snapshot.soa)
    for path, packed in snapshot:
        yield _record(snapshot, path, packed)


def _record(snapshot: Snapshot, path: bytes, packed: bytes) -> Record:
    kind, _, ttl, _ = _FIXED.unpack_from(packed)
    return Record(_spelled(path) + snapshot.zone.name, kind, ttl, packed[_FIXED.size :])


def _spelled(path: bytes) -> str:
    owner, text, at = path_of(path), "", 0
    while at < len(owner):
        end = at + owner[at] + 1
        text += owner[at + 1 : end].decode("ascii") + "."
        at = end
    return text
