"""Lists and single things for people and programs, in SQLAlchemy Core."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, TypeVar

import msgspec
from sqlalchemy import ColumnElement, Connection, Select, Table, TextClause, and_, func, select

from tenure.errors import InvalidValue
from tenure.model.access import Token
from tenure.model.addressing import Network, Range, Subnet, Vrf
from tenure.model.answers import Holding, MachineWithInterfaces
from tenure.model.dnsdata import Zone, ZoneChange
from tenure.model.events import Entry
from tenure.model.holding import Allocation
from tenure.model.machines import Machine
from tenure.model.placement import Block
from tenure.model.topology import Location
from tenure.net.addresses import parse_address, parse_prefix
from tenure.store.interface import Custom, Findings, KnownAddress, OwnedBlock, Page, Remaining, Seen, Tags
from tenure.store.sql import rows as r
from tenure.store.sql import tables as t
from tenure.store.sql.connect import Database
from tenure.store.sql.joins import ALLOCATION, CLAIM, held_by_machine, holdings, known_addresses, span, with_interfaces
from tenure.store.sql.labels import in_state, labelled
from tenure.store.sql.pages import Snapshot, beginning, bounded, seen
from tenure.store.sql.search import find

V = TypeVar("V")

_REMAINING = 20
_ENTRY = [t.ledger.c[name] for name in r.ENTRY]


class SqlReads:
    """`Reads` over either database."""

    def __init__(self, db: Database, reading: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._db = db
        self._reading = reading

    def vrfs(self, after: str = "", limit: int = 100, *, q: str = "") -> Page[Vrf]:
        """Open vrfs."""
        return self._list(t.vrfs, Vrf, after, limit, q=q)

    def locations(
        self, after: str = "", limit: int = 100, *, parent: str = "", kind: str = "", q: str = ""
    ) -> Page[Location]:
        """Open locations."""
        return self._list(t.locations, Location, after, limit, q=q, parent=parent, kind=kind)

    def networks(
        self, after: str = "", limit: int = 100, *, vrf: str = "", q: str = "", tags: Tags = (), custom: Custom = ()
    ) -> Page[Network]:
        """Open networks."""
        more = labelled(self._db, "networks.body", tags, custom)
        return self._list(t.networks, Network, after, limit, more, q=q, vrf=vrf)

    def subnets(
        self,
        after: str = "",
        limit: int = 100,
        *,
        network: str = "",
        vrf: str = "",
        tags: Tags = (),
        custom: Custom = (),
    ) -> Page[Subnet]:
        """Open subnets."""
        more = labelled(self._db, "subnets.body", tags, custom)
        return self._list(t.subnets, Subnet, after, limit, more, network=network, vrf=vrf)

    def ranges(self, after: str = "", limit: int = 100, *, subnet: str = "") -> Page[Range]:
        """Open ranges."""
        return self._list(t.ranges, Range, after, limit, subnet=subnet)

    def tokens(self, after: str = "", limit: int = 100) -> Page[Token]:
        """Open tokens."""
        return self._list(t.tokens, Token, after, limit)

    def machines(
        self,
        after: str = "",
        limit: int = 100,
        *,
        location: str = "",
        kind: str = "",
        state: str = "",
        q: str = "",
        tags: Tags = (),
        custom: Custom = (),
    ) -> Page[MachineWithInterfaces]:
        """Open machines with their open interfaces."""
        query = _where(select(t.machines.c.body), t.machines, q=q, location=location, kind=kind)
        query = query.where(*labelled(self._db, "machines.body", tags, custom))
        query = query.where(in_state(self._db, state)) if state else query
        decode = msgspec.json.Decoder(Machine).decode
        with self._seen() as at:
            of = lambda rows: with_interfaces(at, [decode(row[0]) for row in rows])  # noqa: E731
            return at.page(query, (t.machines.c.id,), after, limit, of)

    def on_machines(self, machines: Sequence[str]) -> dict[str, list[KnownAddress]]:
        """What machines hold now."""
        with self._seen() as at:
            return held_by_machine(at, machines)

    def zones(self, after: str = "", limit: int = 100, *, vrf: str = "", q: str = "") -> Page[Zone]:
        """Open zones."""
        query = _where(select(t.zones.c.body, t.zones.c.serial), t.zones, q=q, vrf=vrf)
        with self._seen() as at:
            return at.page(query, (t.zones.c.id,), after, limit, lambda rows: [r.zone_of(*row) for row in rows])

    def claims(
        self,
        after: str = "",
        limit: int = 100,
        *,
        network: str = "",
        host: str = "",
        machine: str = "",
        project: str = "",
        handle: str = "",
        state: str = "",
    ) -> Page[Holding]:
        """Claims with the addresses they hold."""
        c = t.claims.c
        query = select(*CLAIM).where(_in_state(state))
        for column, value in (
            (c.network, network), (c.host, host), (c.machine, machine), (c.project, project), (c.handle, handle)
        ):  # fmt: skip
            query = query.where(column == value) if value else query
        with self._seen() as at:
            return at.page(query, (c.id,), after, limit, lambda rows: holdings(at, [r.claim_of(row) for row in rows]))

    def addresses(
        self,
        after: str = "",
        limit: int = 100,
        *,
        now: datetime,
        network: str = "",
        location: str = "",
        state: str = "",
        q: str = "",
    ) -> Page[KnownAddress]:
        """Addresses by subnet and number."""
        c = t.allocations.c
        query = select(*ALLOCATION).where(_held_or_cooling(state, now))
        if network:
            inside = select(t.subnets.c.id).where(t.subnets.c.network == network, t.subnets.c.until.is_(None))
            query = query.where(c.subnet.in_(inside))
        if location:
            query = query.join(t.claims, t.claims.c.id == c.claim).where(t.claims.c.host.in_(_below(location)))
        query = query.where(_matches(q)) if q else query
        key = (c.subnet, c.address, c.id) if state == "cooling" else (c.subnet, c.address)
        with self._seen() as at:
            of = lambda rows: known_addresses(at, [r.allocation_of(row) for row in rows])  # noqa: E731
            return at.page(query, key, after, limit, of)

    def blocks(self, after: str = "", limit: int = 100, *, network: str = "", location: str = "") -> Page[OwnedBlock]:
        """Open blocks with their use."""
        c = t.blocks.c
        query = select(c.body).where(c.until.is_(None))
        if network:
            query = query.join(t.subnets, t.subnets.c.id == c.subnet).where(t.subnets.c.network == network)
        query = query.where(c.owner == location) if location else query
        with self._seen() as at:
            return at.page(query, (c.number,), after, limit, lambda rows: [_in_use(at, row[0]) for row in rows])

    def vrf(self, name: str) -> Seen[Vrf | None]:
        """An open vrf by name or id."""
        return self._one(t.vrfs, Vrf, name)

    def location(self, name: str) -> Seen[Location | None]:
        """An open location by name or id."""
        return self._one(t.locations, Location, name)

    def network(self, name: str) -> Seen[Network | None]:
        """An open network by name or id."""
        return self._one(t.networks, Network, name)

    def subnet(self, name: str) -> Seen[Subnet | None]:
        """An open subnet by id, or by its prefix where only one vrf has it."""
        return self._one(t.subnets, Subnet, name)

    def range(self, name: str) -> Seen[Range | None]:
        """An open range by id."""
        return self._one(t.ranges, Range, name)

    def token(self, name: str) -> Seen[Token | None]:
        """An open token by name or id."""
        return self._one(t.tokens, Token, name)

    def machine(self, name: str) -> Seen[MachineWithInterfaces | None]:
        """An open machine by name or id, with its open interfaces."""
        with self._seen() as at:
            row = _only(at, select(t.machines.c.body), t.machines, name)
            machine = None if row is None else msgspec.json.decode(row[0], type=Machine)
            return Seen(None if machine is None else with_interfaces(at, [machine])[0], at.head)

    def zone(self, name: str) -> Seen[Zone | None]:
        """An open zone by id, or by name where only one vrf has it."""
        with self._seen() as at:
            row = _only(at, select(t.zones.c.body, t.zones.c.serial), t.zones, name)
            return Seen(None if row is None else r.zone_of(*row), at.head)

    def claim(self, name: str) -> Seen[Holding | None]:
        """A claim by id."""
        with self._seen() as at:
            row = at.first(select(*CLAIM).where(t.claims.c.id == name))
            return Seen(None if row is None else holdings(at, [r.claim_of(row)])[0], at.head)

    def address(self, vrf: str, ip: str, now: datetime) -> Seen[KnownAddress | None]:
        """Who holds an address, or whose it was while it rests."""
        c = t.allocations.c
        here = select(*ALLOCATION).where(c.vrf == vrf, c.address == r.packed(str(parse_address(ip))))
        with self._seen() as at:
            row = at.first(here.where(c.until.is_(None)))
            if row is None:
                resting = here.where(c.until.is_not(None), c.cooling_until > r.micros(now))
                row = at.first(resting.order_by(c.until.desc()))
            return Seen(None if row is None else known_addresses(at, [r.allocation_of(row)])[0], at.head)

    def remaining(self, *, location: str = "", subnet: str = "") -> Seen[Remaining]:
        """Open claims at a location and below it, or with an address of a subnet."""
        c, a = t.claims.c, t.allocations.c
        query = select(*CLAIM).where(c.until.is_(None))
        if location:
            query = query.where(c.host.in_(_below(location)))
        if subnet:
            query = query.where(c.id.in_(select(a.claim).where(a.subnet == subnet, a.until.is_(None))))
        return self._remaining(query)

    def leaving(self, location: str) -> Seen[Remaining]:
        """Claims that moved away from a location, or from below it, and whose hand-over still stands."""
        c = t.claims.c
        here = _below(location)
        query = select(*CLAIM).where(c.until.is_(None), c.leaving.is_not(None), c.leaving.in_(here))
        return self._remaining(query.where(c.host.not_in(here)))

    def _remaining(self, query: Select[Any]) -> Seen[Remaining]:
        with self._seen() as at:
            first = [r.claim_of(row) for row in at.all(query.order_by(t.claims.c.id).limit(_REMAINING))]
            count = at.all(select(func.count()).select_from(query.subquery()))[0][0]
            return Seen(Remaining(holdings(at, first), count), at.head)

    def history(self, vrf: str, ip: str, after: str = "", limit: int = 100) -> Page[Entry]:
        """The ledger's entries about one address."""
        c = t.ledger.c
        query = select(*_ENTRY).where(
            c.address.is_not(None), c.vrf == vrf, c.address == r.packed(str(parse_address(ip)))
        )
        with self._seen() as at:
            return at.page(query, (c.sequence,), after, limit, lambda rows: [r.entry_of(row) for row in rows])

    def allocated_event(self, allocation: Allocation) -> Seen[Entry | None]:
        """The entry that gave an address: the latest of its claim that is not later than the allocation."""
        c = t.ledger.c
        query = select(*_ENTRY).where(
            c.address.is_not(None),
            c.vrf == allocation.vrf,
            c.address == r.packed(allocation.ip),
            c.kind == "tenure.address.allocated",
            c.claim == allocation.claim,
            c.time <= r.micros(allocation.since),
        )
        with self._seen() as at:
            row = at.first(query.order_by(c.sequence.desc()))
            return Seen(None if row is None else r.entry_of(row), at.head)

    def search(self, q: str, limit: int = 100) -> Seen[Findings]:
        """Open things by address, prefix, MAC, name, handle or id."""
        with self._seen() as at:
            return Seen(find(at, q, bounded(limit)), at.head)

    def token_by_digest(self, digest: bytes) -> Token | None:
        """The open token whose secret has this SHA-256."""
        c = t.tokens.c
        with self._seen() as at:
            row = at.first(select(c.body).where(c.digest == digest, c.until.is_(None)))
            return None if row is None else msgspec.json.decode(row[0], type=Token)

    def zone_changes(self, zone: str, after: int, limit: int = 1000) -> list[ZoneChange]:
        """A zone's changes above a ledger sequence."""
        c = t.zone_changes.c
        columns = [c[name] for name in r.ZONE_CHANGE]
        query = select(*columns).where(c.zone == zone, c.sequence > after)
        with self._seen() as at:
            rows = at.all(query.order_by(c.sequence).limit(bounded(limit)))
            return [r.zone_change_of(row) for row in rows]

    def _seen(self) -> AbstractContextManager[Snapshot]:
        return seen(self._db, self._reading)

    def _list(
        self,
        table: Table,
        type_: type[V],
        after: str,
        limit: int,
        more: Iterable[ColumnElement[bool] | TextClause] = (),
        *,
        q: str = "",
        **equal: str,
    ) -> Page[V]:
        decode = msgspec.json.Decoder(type_).decode
        query = _where(select(table.c.body), table, q=q, **equal).where(*more)
        with self._seen() as at:
            return at.page(query, (table.c.id,), after, limit, lambda rows: [decode(row[0]) for row in rows])

    def _one(self, table: Table, type_: type[V], name: str) -> Seen[V | None]:
        with self._seen() as at:
            row = _only(at, select(table.c.body), table, name)
            return Seen(None if row is None else msgspec.json.decode(row[0], type=type_), at.head)


def _where(query: Select[Any], table: Table, *, q: str = "", **equal: str) -> Select[Any]:
    """What is open, has these columns, and a name that begins with `q`."""
    query = query.where(table.c.until.is_(None))
    for name, value in equal.items():
        query = query.where(table.c[name] == value) if value else query
    return query.where(beginning(table.c.name, q)) if q else query


def _only(at: Snapshot, query: Select[Any], table: Table, name: str) -> Any:
    """The open row with this id, else the only one with this name."""
    here = query.where(table.c.until.is_(None))
    row = at.first(here.where(table.c.id == name))
    named = _named(table, name)
    if row is not None or named is None:
        return row
    found = at.all(here.where(named).limit(2))
    return found[0] if len(found) == 1 else None


def _named(table: Table, name: str) -> ColumnElement[bool] | None:
    if table is t.subnets:
        try:
            return table.c.prefix == r.packed_prefix(str(parse_prefix(name)))
        except InvalidValue:
            return None
    return table.c.name == name if "name" in table.c else None


def _in_state(state: str) -> ColumnElement[bool]:
    c = t.claims.c
    if state == "released":
        return c.until.is_not(None)
    if state == "pending":
        return and_(c.until.is_(None), c.bound.is_(None))
    if state == "bound":
        return and_(c.until.is_(None), c.bound.is_not(None))
    return c.until.is_(None)


def _held_or_cooling(state: str, now: datetime) -> ColumnElement[bool]:
    c = t.allocations.c
    if state == "cooling":
        return and_(c.cooling_until.is_not(None), c.cooling_until > r.micros(now), c.until.is_not(None))
    return c.until.is_(None)


def _below(location: str) -> Select[Any]:
    """A place and all places below it."""
    c = t.locations.c
    tree = select(c.id).where(c.id == location).cte(recursive=True)
    tree = tree.union(select(c.id).where(c.parent == tree.c.id, c.until.is_(None)))
    return select(tree.c.id)


def _matches(q: str) -> ColumnElement[bool]:
    """An address, a prefix, or how a hostname begins."""
    c = t.allocations.c
    try:
        first, last = span(str(parse_prefix(q) if "/" in q else parse_address(q)))
    except InvalidValue:
        return beginning(c.hostname, q.lower())
    return and_(c.address.between(first, last), func.length(c.address) == len(first))


def _in_use(at: Snapshot, body: str) -> OwnedBlock:
    block = msgspec.json.decode(body, type=Block)
    c = t.allocations.c
    first, last = span(block.cidr)
    held = select(func.count()).where(c.subnet == block.subnet, c.until.is_(None), c.address.between(first, last))
    return OwnedBlock(block, at.first(held)[0])
