"""Who held an address at a time, and what everybody was called then.

Rows say between which times an address was held, and on which interface. What changes while it is held (its host, its
names, a MAC) is read from the ledger, as it was at a place there.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import reduce
from typing import Any, Final, Generic, NamedTuple, TypeVar

from msgspec.structs import replace
from sqlalchemy import ColumnElement, and_, or_, select, text

from tenure.model import events as e
from tenure.model.addressing import Network
from tenure.model.answers import HeldAddress
from tenure.model.events import Entry
from tenure.model.holding import Allocation, Attachment, Claim
from tenure.model.machines import Interface, Machine
from tenure.store.reads import KnownAddress
from tenure.store.sql import rows as r
from tenure.store.sql import tables as t
from tenure.store.sql.joins import attachments, held_addresses, interfaces_by_id
from tenure.store.sql.pages import Snapshot

V = TypeVar("V")

_HALVING: Final = text(
    "WITH RECURSIVE s(low, high) AS (SELECT CAST(0 AS bigint), CAST(:head AS bigint) UNION ALL"
    " SELECT CASE WHEN l.time <= :moment THEN l.sequence ELSE s.low END,"
    " CASE WHEN l.time <= :moment THEN s.high ELSE l.sequence - 1 END"
    " FROM s CROSS JOIN ledger AS l WHERE s.low < s.high AND l.sequence = (s.low + s.high + 1) / 2)"
    " SELECT low FROM s WHERE low = high"
)
ENTRY: Final = [t.ledger.c[name] for name in r.ENTRY]
_OBSERVED: Final = "tenure.address.observed"


class Place(NamedTuple):
    """A place in the ledger, and its time."""

    sequence: int
    time: datetime


class Moment(NamedTuple):
    """A claim and its allocation, as they were at a place."""

    place: Place
    claim: Claim
    allocation: Allocation


class Chronicle(Generic[V]):
    """What things were, from which place in the ledger on."""

    def __init__(self) -> None:
        self._told: dict[str, tuple[list[int], list[V]]] = {}

    def tell(self, key: str, sequence: int, value: V) -> None:
        """It is this from here on; the places of a key are told in order."""
        places, values = self._told.setdefault(key, ([], []))
        places.append(sequence)
        values.append(value)

    def at(self, key: str | None, sequence: int) -> V | None:
        """What it was at a place; None where nothing was said by then."""
        places, values = self._told.get(key or "", ([], []))
        found = bisect_right(places, sequence)
        return values[found - 1] if found else None


class Called:
    """What machines, interfaces and networks were, up to a place.

    Attributes:
        entries: About machines and interfaces, in order.
        ports: The interfaces that used each allocation, with when.
    """

    def __init__(self, at: Snapshot, moments: Sequence[Moment], last: int) -> None:
        self.machines = Chronicle[Machine]()
        self.interfaces = Chronicle[Interface]()
        self.networks = Chronicle[Network]()
        self.ports = _ports(at, {moment.allocation.id for moment in moments})
        used = {port.interface for found in self.ports.values() for port in found}
        self._known = interfaces_by_id(at, used)
        machines = {port.machine for port in self._known.values()}
        machines |= {moment.claim.machine for moment in moments if moment.claim.machine is not None}
        self.entries = _about_machines(at, machines, last)
        for entry in self.entries:
            self._take(entry)
        for entry in _about_networks(at, {moment.claim.network for moment in moments}, last):
            self._take(entry)

    def _take(self, entry: Entry) -> None:
        event: Any = entry.event
        if isinstance(event, e.InterfaceCreated | e.InterfaceChanged):
            self.interfaces.tell(event.interface.id, entry.sequence, event.interface)
        elif isinstance(event, e.NetworkCreated | e.NetworkChanged):
            self.networks.tell(event.network.id, entry.sequence, event.network)
        else:
            self.machines.tell(event.machine.id, entry.sequence, event.machine)

    def known(self, moment: Moment, held: HeldAddress) -> KnownAddress:
        """Who held an address, as it was then; where it was given back, who had it to the end."""
        place, claim, allocation = moment
        network = self.networks.at(claim.network, place.sequence)
        if network is not None:
            named = allocation.hostname is not None and network.domain is not None
            held = replace(held, name=f"{allocation.hostname}.{network.domain}" if named else None)
        return KnownAddress(allocation, claim, held, *self.users(moment))

    def users(self, moment: Moment) -> tuple[tuple[Interface, ...], tuple[Machine, ...]]:
        """The interfaces that used it then, and their machines with the one that the claim names."""
        interfaces = tuple(self._worn(moment))
        ids = dict.fromkeys([*(port.machine for port in interfaces), moment.claim.machine])
        machines = (self.machines.at(id_, moment.place.sequence) for id_ in ids)
        return interfaces, tuple(each for each in machines if each is not None)

    def _worn(self, moment: Moment) -> Iterable[Interface]:
        place, _, allocation = moment
        for port in self.ports.get(allocation.id, ()):
            began = port.since <= place.time
            lasts = port.until is None or port.until > place.time or port.until == allocation.until
            if began and lasts:
                yield self.interfaces.at(port.interface, place.sequence) or self._known[port.interface]


def place_at(at: Snapshot, when: datetime) -> Place:
    """The last entry that is not after `when`; 0 if all are.

    Cost: one statement, with some twenty looks by key: times never go back, and no sequence is missing.
    """
    given = {"head": at.head.sequence, "moment": r.micros(when)}
    return Place(at.connection.execute(_HALVING, given).scalar_one(), when)


def about_address(vrf: str, address: bytes) -> ColumnElement[bool]:
    """Entries about an address."""
    c = t.ledger.c
    return and_(c.address.is_not(None), c.address == address, c.vrf == vrf)


def about_claims(claims: Iterable[str]) -> ColumnElement[bool]:
    """Entries that change claims: about them as a whole, or about where one of their addresses is."""
    return and_(text(t.OF_CLAIMS), t.ledger.c.claim.in_(sorted(claims)))


def last_holding(at: Snapshot, vrf: str, address: bytes, sequence: int) -> Moment | None:
    """What the last entry up to a place says of who holds an address. Cost: one look into the index of addresses."""
    c = t.ledger.c
    query = select(*ENTRY).where(about_address(vrf, address), c.sequence <= sequence, c.kind != _OBSERVED)
    row = at.first(query.order_by(c.sequence.desc()))
    return None if row is None else moment_of(r.entry_of(row))


def moment_of(entry: Entry) -> Moment:
    """What an entry about a held address says."""
    event: Any = entry.event
    return Moment(Place(entry.sequence, entry.time), event.claim, event.allocation)


def address_then(at: Snapshot, vrf: str, address: bytes, place: Place) -> KnownAddress | None:
    """Who held an address at a place; if nobody did, whose it had been while it rested."""
    said = last_holding(at, vrf, address, place.sequence)
    if said is None:
        return None
    allocation = said.allocation
    if allocation.until is not None and (allocation.cooling_until is None or allocation.cooling_until <= place.time):
        return None
    a = t.allocations.c
    row = at.first(select(a.until, a.cooling_until).where(a.id == allocation.id))
    until, cooling = (allocation.until, allocation.cooling_until) if row is None else map(r.maybe_time, row)
    since = replace(allocation, until=until, cooling_until=cooling)
    return _known_then(at, [Moment(said.place, said.claim, since)], place)[0]


def addresses_then(at: Snapshot, rows: Sequence[Allocation], place: Place) -> list[KnownAddress]:
    """Allocations that were open, or rested, at a place, as they were there; without those that had been followed.

    Cost: for each one look into the index of addresses, and what is said of its claim and machine.
    """
    said = _last_holdings(at, [row.id for row in rows], place.sequence)
    moments = []
    for row in rows:
        moment = said.get(row.id)
        if moment is not None and moment.allocation.id == row.id:
            ended = replace(moment.allocation, until=row.until, cooling_until=row.cooling_until)
            moments.append(Moment(moment.place, moment.claim, ended))
    return _known_then(at, moments, place)


def _last_holdings(at: Snapshot, allocations: Sequence[str], sequence: int) -> dict[str, Moment]:
    """As `last_holding`, for the addresses of allocations. Where, then what: at once, PostgreSQL scans the ledger."""
    a, c, x = t.allocations.c, t.ledger.c, t.ledger.alias().c
    last = (
        select(x.sequence)
        .where(x.address.is_not(None), x.address == a.address, x.vrf == a.vrf)
        .where(x.sequence <= sequence, x.kind != _OBSERVED)
        .order_by(x.sequence.desc())
        .limit(1)
        .correlate(t.allocations)
        .scalar_subquery()
    )
    places = [(id_, place) for id_, place in at.all(select(a.id, last).where(a.id.in_(allocations))) if place]
    entries = at.all(select(*ENTRY).where(c.sequence.in_([place for _, place in places])))
    said = {row[0]: moment_of(r.entry_of(row)) for row in entries}
    return {id_: said[place] for id_, place in places}


def _known_then(at: Snapshot, said: Sequence[Moment], place: Place) -> list[KnownAddress]:
    """What the last entries about addresses say, and what was said since of their claims, machines and networks."""
    moments = [Moment(place, *each[1:]) for each in followed(at, said, place.sequence)]
    called = Called(at, moments, place.sequence)
    held = held_addresses(at, [moment.allocation for moment in moments])
    return [called.known(moment, each) for moment, each in zip(moments, held, strict=True)]


def followed(at: Snapshot, said: Sequence[Moment], last: int) -> list[Moment]:
    """With what was said of the claims since."""
    c = t.ledger.c
    first = min((moment.place.sequence for moment in said), default=0)
    query = select(*ENTRY).where(about_claims({moment.claim.id for moment in said}), c.sequence > first)
    found: dict[str, list[Entry]] = {}
    for entry in map(r.entry_of, at.all(query.where(c.sequence <= last).order_by(c.sequence))):
        event: Any = entry.event
        found.setdefault(event.claim.id, []).append(entry)
    return [reduce(after, found.get(moment.claim.id, ()), moment) for moment in said]


def after(moment: Moment, entry: Entry) -> Moment:
    """What an entry that changes a claim makes of one of its allocations; an earlier one nothing."""
    event: Any = entry.event
    allocation = moment.allocation
    if entry.sequence < moment.place.sequence:
        return moment
    if isinstance(event, e.ClaimRebound):
        kept = (each.title for each in event.allocations if each.id == allocation.id)
        allocation = replace(allocation, title=next(kept, allocation.title))
    return Moment(Place(entry.sequence, entry.time), event.claim, allocation)


def _ports(at: Snapshot, allocations: Iterable[str]) -> dict[str, list[Attachment]]:
    found: dict[str, list[Attachment]] = {}
    for port in attachments(at, allocations):
        found.setdefault(port.allocation, []).append(port)
    return found


def _about_machines(at: Snapshot, machines: set[str], last: int) -> list[Entry]:
    c = t.ledger.c
    query = select(*ENTRY).where(text(t.OF_MACHINES), c.machine.in_(sorted(machines)), c.sequence <= last)
    return [r.entry_of(row) for row in at.all(query.order_by(c.sequence))] if machines else []


def _about_networks(at: Snapshot, networks: set[str], last: int) -> list[Entry]:
    """Networks change seldom, and an index holds when they did; which of them is in their bodies."""
    c = t.ledger.c
    named = [c.body.contains(f'"{id_}"', autoescape=True) for id_ in sorted(networks)]
    query = select(*ENTRY).where(text(t.OF_NETWORKS), c.sequence <= last, or_(False, *named))
    return [r.entry_of(row) for row in at.all(query.order_by(c.sequence))] if networks else []
