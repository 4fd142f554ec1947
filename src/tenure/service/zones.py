"""What events mean for zones: net changes and serials, and whole zones to load.

Automatic records are not stored; they follow from open allocations that have a
name and are not shelved, by `tenure.naming.records`. The net of a transaction is computed when it is
made, with the state at each of its changes, because it cannot be derived later.
Every node computes the same from the same entries.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec

from tenure.engine.images import Image
from tenure.errors import InvalidValue
from tenure.model import events as e
from tenure.model.dnsdata import CATALOG, Record, Zone, ZoneChange, ZoneRecord
from tenure.model.holding import Allocation
from tenure.naming import records, serial
from tenure.naming.authority import member
from tenure.net.addresses import number_of
from tenure.service.links import SHAPING, Link, Links

Serials = dict[str, int]
"""Current serial by zone id."""
What = Literal["add", "remove"]
_NONE: Final[Mapping[str, int]] = {}


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

    A record may be said twice: by an allocation, and by a person. What both say is there while one of them does.

    Args:
        links: Of the state as it is after the events that were noted last.
    """

    def __init__(self, links: Links) -> None:
        links.begin()
        self._links = links
        self._state = links.state
        self._changes: dict[str, list[records.Change]] = {}
        self._made: dict[str, list[records.Change]] = {}
        self._doubled: dict[str, set[Record]] = {}
        self._whole: dict[str, Zone | None] = {}
        self._created: set[str] = set()
        self._given: dict[str, int] = {}

    def note(self, events: Sequence[e.Event], given: Mapping[str, int] = _NONE) -> None:
        """Take in the events of one change, after they were reduced; `given` are serials that it gave to zones.

        Raises:
            InvalidValue: A name would be longer than names can be; nothing was taken in.
        """
        if not SHAPING.isdisjoint(map(type, events)):
            self._links.shaped()
        try:
            found = [change for event in events for change in self._of(event, events)]
        except InvalidValue:
            self._links.forget()  # what was looked up is about to be taken back
            raise
        for zone, change in found:
            self._changes.setdefault(zone, []).append(change)
        self._given.update(given)
        for event in events:
            noted = _NOTED.get(type(event))
            if noted is not None:
                noted(self, event)

    def move(self, serials: Serials, sequence: int, first: Callable[[Zone], int], *, follow: bool = False) -> Move:
        """What it all comes to.

        Args:
            serials: Current ones.
            sequence: Place of the transaction's last entry.
            first: The serial of a zone that is new; of any other, one that it never had.
            follow: The transaction is another node's: the serials of whole zones are those in its events.
        """
        changes, moved, stamped = [], dict[str, int | None](), dict[str, Zone]()
        for zone_id, asserted in self._all():
            if zone_id in self._whole:
                continue
            removed, added = records.net(asserted, self._stood(zone_id))
            if removed or added:
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
        unused = first(zone)
        number = unused if zone.id in self._created else serial.step(serials[zone.id])
        given = self._given.get(zone.id)
        if given is not None and all(given == each or serial.later(given, each) for each in (unused, number)):
            return given
        return number

    def _all(self) -> Iterator[tuple[str, list[records.Change]]]:
        """Every change by zone, those of what people made last."""
        for zone_id in dict.fromkeys((*self._changes, *self._made)):
            yield zone_id, [*self._changes.get(zone_id, ()), *self._made.get(zone_id, ())]

    def _stood(self, zone_id: str) -> dict[Record, int] | None:
        """How many said each record before the transaction, where people may have said it too."""
        made, standing = self._made.get(zone_id, []), self._state.made.get(zone_id, {})
        if not made and not standing:
            return None
        stood = {record: int(what == "remove") for what, record in reversed(self._changes.get(zone_id, ()))}
        for _, record in made:
            stood.setdefault(record, int(record in self._doubled.get(zone_id, ())))
        zone = self._state.zones[zone_id]
        for record in stood:
            stood[record] += sum(each.record(zone) == record for each in standing.get(record.owner, {}).values())
        for what, record in made:
            stood[record] += 1 if what == "remove" else -1
        return stood

    def _zone_created(self, event: e.ZoneCreated) -> None:
        self._created.add(event.zone.id)
        self._whole[event.zone.id] = event.zone
        self._member("add", event.zone)

    def _zone_reshaped(self, event: e.ZoneReshaped) -> None:
        self._whole[event.zone.id] = event.zone

    def _zone_deleted(self, event: e.ZoneDeleted) -> None:
        self._whole[event.zone.id] = None
        self._member("remove", event.zone)

    def _member(self, what: What, zone: Zone) -> None:
        catalog = self._state.zone_named(zone.vrf, CATALOG)
        if catalog is not None and not zone.catalog:
            self._changes.setdefault(catalog.id, []).append((what, member(catalog, zone)))

    def _record_created(self, event: e.RecordCreated) -> None:
        self._make("add", event.record, event.doubles)

    def _record_changed(self, event: e.RecordChanged) -> None:
        self._make("remove", event.before, event.doubled)
        self._make("add", event.record, event.doubles)

    def _record_deleted(self, event: e.RecordDeleted) -> None:
        self._make("remove", event.record, event.doubled)

    def _make(self, what: What, made: ZoneRecord, double: bool) -> None:
        """What a person said, and whether an allocation says so too; of a zone that is gone there is nothing to say."""
        zone = self._state.zones.get(made.zone)
        if zone is None:
            return
        record = made.record(zone)
        self._made.setdefault(zone.id, []).append((what, record))
        if double:
            self._doubled.setdefault(zone.id, set()).add(record)

    def _of(self, event: e.Event, events: Sequence[e.Event]) -> Iterator[tuple[str, records.Change]]:
        called = _CALLED.get(type(event))
        for what, held in called(event) if called is not None else ():
            if held.hostname is not None:
                yield from self._records(what, held, held.hostname, events)

    def _records(
        self, what: What, held: Allocation, hostname: str, events: Sequence[e.Event]
    ) -> Iterator[tuple[str, records.Change]]:
        found = self._links.of(held.subnet, events)
        if found is None:
            return
        number, name = number_of(held.ip), found.name(hostname)
        if found.ahead is not None and what == "add":
            yield from self._computed("remove", found, number)
        if found.forward is not None:
            yield found.forward.id, (what, records.forward(name, found.version, number, found.forward.ttl))
        zone = self._links.pointers.at(found.vrf, found.version, number) if found.reverse else None
        if zone is not None:
            yield zone.id, (what, records.pointer(zone.name, found.version, number, name, zone.ttl))
        if found.ahead is not None and what == "remove":  # last: it may be the very record that went
            yield from self._computed("add", found, number)

    def _computed(self, what: What, found: Link, number: int) -> Iterator[tuple[str, records.Change]]:
        """What an address is called while nobody names it; nothing where a person's record hides it."""
        for stretch in found.ahead.at(number) if found.ahead is not None else ():
            zone, record = self._state.zone_named(found.vrf, stretch.zone), stretch.record(number)
            if zone is not None and record.owner not in self._state.made.get(zone.id, {}):
                yield zone.id, (what, record)


_NOTED: Final[dict[type, Callable[[Notes, Any], None]]] = {
    e.ZoneCreated: Notes._zone_created,
    e.ZoneReshaped: Notes._zone_reshaped,
    e.ZoneDeleted: Notes._zone_deleted,
    e.RecordCreated: Notes._record_created,
    e.RecordChanged: Notes._record_changed,
    e.RecordDeleted: Notes._record_deleted,
}
"""What else there is to know of an event."""


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
    e.AddressShelved: lambda event: (("remove", event.allocation),) if event.before != "shelved" else (),
    e.AddressAliased: lambda event: (("add", event.allocation),) if event.before == "shelved" else (),
    e.AddressRestored: lambda event: (("add", event.allocation),) if event.before == "shelved" else (),
    e.AddressNamed: lambda event: _shown("add", event.allocation),
}
"""Which addresses an event calls, and which it calls no longer."""
