"""What the DNS surface answers from: the zones of one view, which is one vrf, in memory."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from tenure.model.dnsdata import Record, Zone, ZoneChange
from tenure.naming.authority import Delegated, authority, servers_of
from tenure.net.addresses import Address
from tenure.surfaces.dns.computed import Computed
from tenure.surfaces.dns.journal import Journal, Room
from tenure.surfaces.dns.nodes import FIXED
from tenure.surfaces.dns.paths import path_of
from tenure.surfaces.dns.served import ServedZone
from tenure.surfaces.dns.snapshot import Snapshot


class Contents(Protocol):
    """All that a zone is made of."""

    @property
    def zone(self) -> Zone:
        """Its values."""

    @property
    def servers(self) -> tuple[str, ...]:
        """Absolute names of its servers, at least one."""

    @property
    def below(self) -> Iterable[Delegated]:
        """The zones cut out of it."""

    @property
    def stretches(self) -> Iterable[Computed]:
        """Addresses with computed names in it."""

    @property
    def records(self) -> Iterable[Record]:
        """Everything else in it, automatic and hand-made."""


class ZoneTable:
    """The zones of one view, and what each answers.

    For one thread: the event loop's. A change is whole between two queries, because nothing awaits in it.

    Args:
        addresses: Where this server is reached; the addresses of `ns.<zone>` in zones that name no servers.
        room: The memory of all journals; None is a room of its own.

    Attributes:
        zones: Wire-form zone name, lower case, to its zone: the query path looks here itself.
    """

    def __init__(self, addresses: Sequence[Address] = (), room: Room | None = None) -> None:
        self._addresses = tuple(addresses)
        self._room = Room() if room is None else room
        self.zones: dict[bytes, ServedZone] = {}
        self._by_id: dict[str, ServedZone] = {}

    def load(self, zone: Zone, given: Iterable[Record], computed: Iterable[Computed] = ()) -> None:
        """Serve `zone` with these records and what a zone alone, with none below it, has by itself."""
        self.put(self._built(zone, servers_of(zone, ()), (), computed, given))

    def build(self, contents: Contents) -> ServedZone:
        """Make what `put` serves; changes nothing here, and may be called in another thread.

        SOA, NS at the apex, the addresses of `ns.<zone>` and what delegates the zones below
        are made here and need not be among the records.

        Raises:
            ValueError: A record is outside the zone.

        Cost: about 2 µs a record; nothing for a computed name.
        """
        zone, servers = contents.zone, contents.servers
        return self._built(zone, servers, contents.below, contents.stretches, contents.records)

    def put(self, served: ServedZone) -> None:
        """Serve it, instead of what was served under its id or its name before."""
        here = self.zones.get(served.name)
        if here is not None:
            self.remove(here.zone.id)
        self.remove(served.zone.id)
        self.zones[served.name] = self._by_id[served.zone.id] = served

    def close(self, zone: Zone) -> None:
        """Answer nothing about this zone until it is put."""
        self.put(shut(zone))

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

    def served(self, zone: str) -> ServedZone:
        """The zone with this id; raises KeyError if it is not here."""
        return self._by_id[zone]

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

    def _built(
        self,
        zone: Zone,
        servers: tuple[str, ...],
        below: Iterable[Delegated],
        computed: Iterable[Computed],
        given: Iterable[Record],
    ) -> ServedZone:
        fixed = authority(zone, servers, below, self._addresses)
        served = ServedZone(zone, servers, fixed, computed, Journal(self._room))
        served.fill(given)
        return served


def shut(zone: Zone) -> ServedZone:
    """A zone of which nothing is answered."""
    served = ServedZone(zone, servers_of(zone, ()))
    served.closed = True
    return served


def _unpacked(snapshot: Snapshot) -> Iterator[Record]:
    yield _record(snapshot, b"", snapshot.soa)
    for path, packed in snapshot:
        yield _record(snapshot, path, packed)


def _record(snapshot: Snapshot, path: bytes, packed: bytes) -> Record:
    kind, _, ttl, _ = FIXED.unpack_from(packed)
    return Record(_spelled(path) + snapshot.zone.name, kind, ttl, packed[FIXED.size :])


def _spelled(path: bytes) -> str:
    owner, text, at = path_of(path), "", 0
    while at < len(owner):
        end = at + owner[at] + 1
        text += owner[at + 1 : end].decode("ascii") + "."
        at = end
    return text
