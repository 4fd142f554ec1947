"""What events mean for zones: net changes and serials, and whole zones to load.

Automatic records are not stored; they follow from open allocations that have a
name and are not shelved, by `tenure.naming.records`. The net of a transaction is computed when it is
made, with the state at each of its changes, because it cannot be derived later.
Every node computes the same from the same entries.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec

from tenure.engine.images import Image
from tenure.engine.state import State
from tenure.errors import InvalidValue
from tenure.model import events as e
from tenure.model.addressing import Network, Subnet
from tenure.model.dnsdata import Record, Zone, ZoneChange
from tenure.model.holding import Allocation
from tenure.naming import records, serial
from tenure.naming.hostnames import fqdn, wire
from tenure.naming.reverse import pointer_name, zone_span
from tenure.net.addresses import number_of, parse_prefix
from tenure.net.rangeset import RangeSet
from tenure.service.zoning import pointer_zone
from tenure.store.interface import Named, Snapshot, Span

ZoneNamed = Callable[[str, str], Zone | None]
"""The zone of a vrf with a name, or None."""
Serials = dict[str, int]
"""Current serial by zone id."""
What = Literal["add", "remove"]

_SHAPING: Final = frozenset(
    {
        e.VrfCreated,
        e.VrfChanged,
        e.VrfDeleted,
        e.NetworkCreated,
        e.NetworkChanged,
        e.NetworkDeleted,
        e.SubnetCreated,
        e.SubnetChanged,
        e.SubnetDeleted,
        e.ZoneCreated,
        e.ZoneReshaped,
        e.ZoneDeleted,
    }
)
"""Events after which addresses may be called otherwise."""


class Link(NamedTuple):
    """How the addresses of one subnet are called: its domain, where names and pointers go, and for how long."""

    vrf: str
    domain: str
    ttl: int
    forward: str | None
    version: int
    length: int
    reverse: bool

    def name(self, hostname: str) -> str:
        """The absolute name of a host here."""
        return fqdn(hostname, self.domain)

    def forward_record(self, number: int, name: str) -> Record:
        """The A or AAAA record of an address, given by its number: what `naming.records.forward` makes."""
        if self.version == 4:
            return Record(name, records.A, self.ttl, number.to_bytes(4, "big"))
        return Record(name, records.AAAA, self.ttl, number.to_bytes(16, "big"))

    def pointer_record(self, number: int, name: str) -> Record:
        """The PTR record of an address, given by its number: what `naming.records.pointer` makes."""
        return Record(pointer_name(self.version, number), records.PTR, self.ttl, wire(name))


def link(subnet: Subnet, network: Network, named: ZoneNamed) -> Link | None:
    """How addresses of `subnet` are called; None where they have no names."""
    if network.domain is None:
        return None
    prefix = parse_prefix(subnet.cidr)
    zone = named(subnet.vrf, network.domain)
    forward = None if zone is None else zone.id
    reverse = subnet.reverse != "off"
    return Link(subnet.vrf, network.domain, network.ttl, forward, prefix.version, prefix.prefixlen, reverse)


class PointerZones:
    """The reverse zone of each address, looked up once for all addresses of a zone, while no zone comes or goes."""

    def __init__(self, named: ZoneNamed) -> None:
        self._named = named
        self._known: dict[tuple[str, int, int, int], str | None] = {}

    def of(self, found: Link, number: int) -> str | None:
        """Id of the zone that the pointer of an address on `found` is in; None where there is none."""
        if not found.reverse:
            return None
        step = 8 if found.version == 4 else 4
        key = (found.vrf, found.version, found.length, number >> step)
        if key not in self._known:
            zone = pointer_zone(self._named, found.vrf, found.version, number, found.length)
            self._known[key] = None if zone is None else zone.id
        return self._known[key]


class Move(NamedTuple):
    """What one transaction does to zones.

    Attributes:
        changes: For the store and the views: each moves its zone's serial.
        reload: Zones that came, went or changed as a whole.
        serials: The new serials, by zone id; None for zones that are gone.
        stamped: Zones that came or changed as a whole, with their new serial and floor.
    """

    changes: tuple[ZoneChange, ...]
    reload: tuple[str, ...]
    serials: dict[str, int | None]
    stamped: dict[str, Zone]

    def stamp(self, event: e.Event) -> e.Event:
        """The event with the serial and floor that its zone has after the transaction."""
        if isinstance(event, e.ZoneCreated | e.ZoneReshaped) and event.zone.id in self.stamped:
            return msgspec.structs.replace(event, zone=self.stamped[event.zone.id])
        return event

    def stamp_row(self, image: Image) -> Image:
        """The same for a row."""
        if image.table == "zones" and image.row is not None and image.row.id in self.stamped:
            return image._replace(row=self.stamped[image.row.id])
        return image


class Notes:
    """Gathers what the events of one transaction mean for zones.

    Args:
        state: As it is after the events that were noted last.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._changes: dict[str, list[records.Change]] = {}
        self._whole: dict[str, Zone | None] = {}
        self._created: set[str] = set()
        self._forget()

    def note(self, events: Sequence[e.Event]) -> None:
        """Take in the events of one change, after they were reduced.

        Raises:
            InvalidValue: A name would be longer than names can be; nothing was taken in.
        """
        if any(type(event) in _SHAPING for event in events):
            self._forget()
        try:
            found = [change for event in events for change in self._of(event, events)]
        except InvalidValue:
            self._forget()  # what was looked up is about to be taken back
            raise
        for zone, change in found:
            self._changes.setdefault(zone, []).append(change)
        for event in events:
            self._note_zone(event)

    def move(self, serials: Serials, sequence: int, first: Callable[[Zone], int], *, follow: bool = False) -> Move:
        """What it all comes to.

        Args:
            serials: Current ones.
            sequence: Place of the transaction's last entry.
            first: The serial of a zone that is new.
            follow: The transaction is another node's: the serials of whole zones are those in its events.
        """
        changes, moved, stamped = [], dict[str, int | None](), dict[str, Zone]()
        for zone_id, asserted in self._changes.items():
            removed, added = records.net(asserted)
            if zone_id not in self._whole and (removed or added):
                moved[zone_id] = number = serial.step(serials[zone_id])
                changes.append(ZoneChange(zone_id, number, sequence, removed, added))
        for zone_id, zone in self._whole.items():
            if zone is None:
                moved[zone_id] = None
                continue
            number = self._serial_of_whole(zone, serials, first, follow)
            moved[zone_id] = number
            stamped[zone_id] = msgspec.structs.replace(zone, serial=number, floor=number)
            if zone_id not in self._created:
                changes.append(ZoneChange(zone_id, number, sequence))
        return Move(tuple(changes), tuple(self._whole), moved, stamped)

    def _serial_of_whole(self, zone: Zone, serials: Serials, first: Callable[[Zone], int], follow: bool) -> int:
        if follow:
            return zone.serial
        return first(zone) if zone.id in self._created else serial.step(serials[zone.id])

    def _forget(self) -> None:
        """Look everything up again: the inventory is not what it was."""
        self._links: dict[str, Link | None] = {}
        self._pointers = PointerZones(self._state.zone_named)

    def _note_zone(self, event: e.Event) -> None:
        if isinstance(event, e.ZoneCreated):
            self._created.add(event.zone.id)
            self._whole[event.zone.id] = event.zone
        elif isinstance(event, e.ZoneReshaped):
            self._whole[event.zone.id] = event.zone
        elif isinstance(event, e.ZoneDeleted):
            self._whole[event.zone.id] = None

    def _of(self, event: e.Event, events: Sequence[e.Event]) -> Iterator[tuple[str, records.Change]]:
        called = _CALLED.get(type(event))
        for what, held in called(event) if called is not None else ():
            if held.hostname is not None:
                yield from self._records(what, held, held.hostname, events)

    def _records(
        self, what: What, held: Allocation, hostname: str, events: Sequence[e.Event]
    ) -> Iterator[tuple[str, records.Change]]:
        found = self._link(held.subnet, events)
        if found is None:
            return
        number, name = number_of(held.ip), found.name(hostname)
        if found.forward is not None:
            yield found.forward, (what, found.forward_record(number, name))
        zone = self._pointers.of(found, number)
        if zone is not None:
            yield zone, (what, found.pointer_record(number, name))

    def _link(self, subnet_id: str, events: Sequence[e.Event]) -> Link | None:
        if subnet_id not in self._links:
            space = self._state.subnets.get(subnet_id)
            subnet = _deleted_subnet(subnet_id, events) if space is None else space.subnet
            network = self._state.networks.get(subnet.network) or _deleted_network(subnet.network, events)
            self._links[subnet_id] = link(subnet, network, self._state.zone_named)
        return self._links[subnet_id]


def _shown(what: What, held: Allocation) -> Iterator[tuple[What, Allocation]]:
    """A shelved address has no records."""
    if held.standing != "shelved":
        yield what, held


def _moved(event: e.AddressMoved) -> Iterator[tuple[What, Allocation]]:
    yield from _shown("remove", event.left)
    yield from _shown("add", event.allocation)


_CALLED: Final[dict[type, Callable[[Any], Iterable[tuple[What, Allocation]]]]] = {
    e.AddressAllocated: lambda event: _shown("add", event.allocation),
    e.AddressReleased: lambda event: _shown("remove", event.allocation),
    e.AddressMoved: _moved,
    e.AddressShelved: lambda event: (("remove", event.allocation),),
    e.AddressRestored: lambda event: (("add", event.allocation),) if event.before == "shelved" else (),
    e.AddressNamed: lambda event: _shown("add", event.allocation),
}
"""Which addresses an event calls, and which it calls no longer."""


def zone_contents(snapshot: Snapshot, wanted: Collection[str] | None = None) -> Iterator[tuple[Zone, Iterator[Record]]]:
    """Zones and their automatic records, as of the snapshot: every zone, or those with the `wanted` ids.

    The records of each zone must be read before the next zone is asked for. Cost: about 5 µs a name
    of these zones, and while it runs some 100 bytes a name.
    """
    zones = {(zone.vrf, zone.name): zone for zone in snapshot.zones}
    networks = {network.id: network for network in snapshot.networks}

    def named(vrf: str, name: str) -> Zone | None:
        return zones.get((vrf, name))

    links = {subnet.id: link(subnet, networks[subnet.network], named) for subnet in snapshot.subnets}
    forward: dict[str, dict[str, _Called]] = {}
    reverse: dict[str, dict[str, _Called]] = {}
    pointers = PointerZones(named)
    shown = [zone for zone in snapshot.zones if wanted is None or zone.id in wanted]
    ids = {zone.id for zone in shown}
    for name in snapshot.named(None if wanted is None else _feeding(shown, snapshot.subnets, links)):
        found = links[name.subnet]
        if found is None:
            continue
        if found.forward in ids:
            _call(forward, found.forward, found, name)
        zone_id = pointers.of(found, name.number)
        if zone_id in ids:
            _call(reverse, zone_id, found, name)
    for zone in shown:
        yield zone, _contents(forward.pop(zone.id, {}), reverse.pop(zone.id, {}))


def _feeding(zones: Iterable[Zone], subnets: Iterable[Subnet], links: dict[str, Link | None]) -> Iterator[Span]:
    """Where the names of these zones are held: whole subnets for forward zones, crossings for reverse ones."""
    forward = {zone.id for zone in zones}
    pairs: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for zone in zones:
        span = zone_span(zone.name)
        if span is not None:
            pairs.setdefault((zone.vrf, span[0]), []).append(span[1:])
    pointed = {view: RangeSet(spans) for view, spans in pairs.items()}
    for subnet in subnets:
        found = links[subnet.id]
        if found is None:
            continue
        prefix = parse_prefix(subnet.cidr)
        first, last = int(prefix.network_address), int(prefix.broadcast_address)
        crossed = pointed.get((found.vrf, found.version), RangeSet()) if found.reverse else RangeSet()
        for part in [(first, last)] if found.forward in forward else crossed.within(first, last):
            yield Span(subnet.id, found.version, *part)


class _Called(NamedTuple):
    """The named addresses of one link, side by side: a million values would cost twice the memory."""

    link: Link
    numbers: list[int]
    hostnames: list[str]


def _call(zones: dict[str, dict[str, _Called]], zone_id: str, found: Link, name: Named) -> None:
    subnets = zones.setdefault(zone_id, {})
    called = subnets.get(name.subnet)
    if called is None:
        called = subnets[name.subnet] = _Called(found, [], [])
    called.numbers.append(name.number)
    called.hostnames.append(name.hostname)


def _contents(forward: dict[str, _Called], reverse: dict[str, _Called]) -> Iterator[Record]:
    for found, numbers, hostnames in forward.values():
        for number, hostname in zip(numbers, hostnames, strict=True):
            yield found.forward_record(number, found.name(hostname))
    for found, numbers, hostnames in reverse.values():
        for number, hostname in zip(numbers, hostnames, strict=True):
            yield found.pointer_record(number, found.name(hostname))


def _deleted_subnet(subnet_id: str, events: Sequence[e.Event]) -> Subnet:
    return next(each.subnet for each in events if isinstance(each, e.SubnetDeleted) and each.subnet.id == subnet_id)


def _deleted_network(network_id: str, events: Sequence[e.Event]) -> Network:
    return next(each.network for each in events if isinstance(each, e.NetworkDeleted) and each.network.id == network_id)
