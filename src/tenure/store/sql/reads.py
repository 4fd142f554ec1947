"""Lists and single things for people and programs, in SQLAlchemy Core."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
from sqlalchemy import ColumnElement, Select, Table, and_, exists, func, or_, select

from tenure.model.access import Token
from tenure.model.addressing import Network, Range, Subnet, Vrf
from tenure.model.answers import Holding, MachineWithInterfaces
from tenure.model.events import Entry
from tenure.model.holding import Allocation
from tenure.model.machines import Machine
from tenure.model.observed import Observation
from tenure.model.placement import Block
from tenure.model.topology import Location
from tenure.net.addresses import parse_address
from tenure.store.interface import (
    Custom,
    Findings,
    KnownAddress,
    OwnedBlock,
    Page,
    Remaining,
    Seen,
    SeenAddress,
    Tags,
    Told,
    Unmoved,
    Users,
)
from tenure.store.reads import Affected, Extent, FormerKind
from tenure.store.sql import held
from tenure.store.sql import rows as r
from tenure.store.sql import tables as t
from tenure.store.sql.affected import affected
from tenure.store.sql.history import time_line
from tenure.store.sql.joins import (
    ALLOCATION,
    CLAIM,
    held_by_machine,
    holdings,
    interfaces_by_id,
    known_addresses,
    machines_by_id,
    span,
    with_interfaces,
)
from tenure.store.sql.labels import labelled
from tenure.store.sql.lists import only, opened
from tenure.store.sql.pages import Snapshot, bounded
from tenure.store.sql.past import ENTRY, about_address, address_then, addresses_then, place_at
from tenure.store.sql.search import find
from tenure.store.sql.zone_reads import ZoneReads

_AT_ONCE = 1000
"""Addresses of one question."""

_REMAINING = 20


_FORMER: Final[dict[FormerKind, tuple[Table, Any]]] = {
    "vrf": (t.vrfs, Vrf),
    "network": (t.networks, Network),
    "location": (t.locations, Location),
}


class SqlReads(ZoneReads):
    """`Reads` over either database."""

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
        more = labelled(t.networks, tags, custom)
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
        more = labelled(t.subnets, tags, custom)
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
        query = opened(select(t.machines.c.body), t.machines, q=q, location=location, kind=kind, state=state)
        query = query.where(*labelled(t.machines, tags, custom))
        decode = msgspec.json.Decoder(Machine).decode
        with self._seen() as at:
            of = lambda rows: with_interfaces(at, [decode(row[0]) for row in rows])  # noqa: E731
            return at.page(query, (t.machines.c.id,), after, limit, of)

    def on_machines(self, machines: Sequence[str]) -> dict[str, list[KnownAddress]]:
        """What machines hold now."""
        with self._seen() as at:
            return held_by_machine(at, machines)

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
        kept: str = "",
        tags: Tags = (),
        custom: Custom = (),
    ) -> Page[Holding]:
        """Claims with the addresses they hold."""
        c = t.claims.c
        query = select(*CLAIM).where(_in_state(state), *labelled(t.claims, tags, custom))
        for column, value in (
            (c.network, network), (c.host, host), (c.machine, machine), (c.project, project), (c.handle, handle),
            (c.kept, kept),
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
        at: datetime | None = None,
        vrf: str = "",
    ) -> Page[KnownAddress]:
        """Addresses by subnet and number, or those of a time."""
        asked = held.Asked(network, location, state, q, vrf)
        if at is not None:
            return self._addresses_at(after, limit, asked, at)
        c = t.allocations.c
        query = held.listed(asked, now)
        key = (c.subnet, c.address, c.id) if state == "cooling" else (c.subnet, c.address)
        with self._seen() as found:
            of = lambda rows: known_addresses(found, [r.allocation_of(row) for row in rows])  # noqa: E731
            return found.page(query, key, after, limit, of)

    def _addresses_at(self, after: str, limit: int, asked: held.Asked, when: datetime) -> Page[KnownAddress]:
        c = t.allocations.c
        with self._seen() as at:
            place = place_at(at, when)
            below = held.below(asked.location, closed=True)
            places = {row[0] for row in at.all(below)} if asked.location else None

            def of(rows: list[Any]) -> list[KnownAddress]:
                found = addresses_then(at, [r.allocation_of(row) for row in rows], place)
                return [each for each in found if held.kept(each, asked.state, places)]

            return at.merged(held.listed_at(asked, when), (c.vrf, c.address, c.id), after, limit, of)

    def observed(
        self, after: str = "", limit: int = 100, *, now: datetime, network: str = "", q: str = "", vrf: str = ""
    ) -> Page[SeenAddress]:
        """What was seen and is not too old."""
        c = t.observations.c
        with self._seen() as at:
            return at.page(held.seen(now, network, q, vrf), (c.vrf, c.address), after, limit, held.seen_of)

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

    def former(self, kind: FormerKind, name: str, when: datetime | None = None) -> Seen[Any]:
        """A vrf, network or location as it is called, or was last: of a time, or the latest."""
        table, type_ = _FORMER[kind]
        c = table.c
        query = select(c.body).where(or_(c.id == name, c.name == name))
        if when is not None:
            moment = r.micros(when)
            then = and_(c.since <= moment, or_(c.until.is_(None), c.until > moment))
            query = query.where(or_(c.id == name, then))
        with self._seen() as at:
            row = at.first(query.order_by(c.id != name, c.until.is_not(None), c.until.desc()))
            return Seen(None if row is None else msgspec.json.decode(row[0], type=type_), at.head)

    def called(self, ids: Collection[str]) -> dict[str, str]:
        """What vrfs, networks and locations are called, or were last."""
        tables = (t.vrfs, t.networks, t.locations)
        queries = [select(table.c.id, table.c.name).where(table.c.id.in_(list(ids))) for table in tables]
        with self._seen() as at:
            return {row[0]: row[1] for query in queries for row in at.all(query)}

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
            row = only(at, select(t.machines.c.body), t.machines, name)
            machine = None if row is None else msgspec.json.decode(row[0], type=Machine)
            return Seen(None if machine is None else with_interfaces(at, [machine])[0], at.head)

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

    def holders(self, vrf: str, ips: Sequence[str]) -> Seen[list[KnownAddress]]:
        """Who holds these addresses of a vrf now."""
        c = t.allocations.c
        asked = [r.packed(str(parse_address(ip))) for ip in ips]
        found: list[KnownAddress] = []
        with self._seen() as at:
            for first in range(0, len(asked), _AT_ONCE):
                few = c.address.in_(asked[first : first + _AT_ONCE])
                rows = at.all(select(*ALLOCATION).where(c.vrf == vrf, few, c.until.is_(None)))
                found += known_addresses(at, [r.allocation_of(row) for row in rows])
            return Seen(found, at.head)

    def sighted(self, vrf: str, ips: Sequence[str], now: datetime) -> Seen[list[Observation]]:
        """What was seen on these addresses, if that is not too old."""
        c = t.observations.c
        asked = [r.packed(str(parse_address(ip))) for ip in ips]
        found: list[Observation] = []
        with self._seen() as at:
            for first in range(0, len(asked), _AT_ONCE):
                few = c.address.in_(asked[first : first + _AT_ONCE])
                rows = at.all(held.seen(now).where(c.vrf == vrf, few))
                found += [each.observation for each in held.seen_of(rows)]
            return Seen(found, at.head)

    def address_at(self, vrf: str, ip: str, when: datetime) -> Seen[KnownAddress | None]:
        """Who held an address at a time, or whose it had been while it rested."""
        with self._seen() as at:
            return Seen(address_then(at, vrf, r.packed(str(parse_address(ip))), place_at(at, when)), at.head)

    def observation(self, vrf: str, ip: str, now: datetime) -> Seen[SeenAddress | None]:
        """What was seen on an address, if that is not too old."""
        c = t.observations.c
        query = held.seen(now).where(c.vrf == vrf, c.address == r.packed(str(parse_address(ip))))
        with self._seen() as at:
            return Seen(next(iter(held.seen_of(at.all(query))), None), at.head)

    def remaining(self, *, location: str = "", subnet: str = "") -> Seen[Remaining]:
        """Open claims at a location and below it, or with an address of a subnet."""
        c, a = t.claims.c, t.allocations.c
        query = select(*CLAIM).where(c.until.is_(None))
        if location:
            query = query.where(c.host.in_(held.below(location)))
        if subnet:
            query = query.where(c.id.in_(select(a.claim).where(a.subnet == subnet, a.until.is_(None))))
        return self._remaining(query)

    def users(self, machines: Collection[str], interfaces: Collection[str]) -> Seen[Users]:
        """Machines and interfaces by id."""
        with self._seen() as at:
            return Seen(Users(machines_by_id(at, machines), interfaces_by_id(at, interfaces)), at.head)

    def unmoved(self, subnet: str) -> Seen[Unmoved]:
        """What a renumbering of a subnet has left, and who of it is written down by hand."""
        a, c = t.allocations.c, t.claims.c
        left = (a.subnet == subnet) & a.until.is_(None) & a.lease.is_(False)
        newer = t.allocations.alias("newer")
        left &= ~exists().where(newer.c.until.is_(None), newer.c.replaces == a.id)
        by_hand = select(*CLAIM).where(c.until.is_(None), c.static.is_(True), c.id.in_(select(a.claim).where(left)))
        with self._seen() as at:
            count = at.all(select(func.count()).where(left))[0][0]
            first = [r.claim_of(row) for row in at.all(by_hand.order_by(c.id).limit(_REMAINING))]
            total = at.all(select(func.count()).select_from(by_hand.subquery()))[0][0]
            return Seen(Unmoved(count, holdings(at, first), total), at.head)

    def affected(self, extent: Extent, now: datetime) -> Seen[Affected]:
        """What a change would take away."""
        with self._seen() as at:
            return Seen(affected(at, extent, now), at.head)

    def leaving(self, location: str) -> Seen[Remaining]:
        """Claims that moved away from a location, or from below it, and whose hand-over still stands."""
        c = t.claims.c
        here = held.below(location)
        query = select(*CLAIM).where(c.until.is_(None), c.leaving.is_not(None), c.leaving.in_(here))
        return self._remaining(query.where(c.host.not_in(here)))

    def _remaining(self, query: Select[Any]) -> Seen[Remaining]:
        with self._seen() as at:
            first = [r.claim_of(row) for row in at.all(query.order_by(t.claims.c.id).limit(_REMAINING))]
            count = at.all(select(func.count()).select_from(query.subquery()))[0][0]
            return Seen(Remaining(holdings(at, first), count), at.head)

    def history(self, vrf: str, ip: str, after: str = "", limit: int = 100) -> Page[Told]:
        """The time line of one address."""
        with self._seen() as at:
            return time_line(at, vrf, r.packed(str(parse_address(ip))), after, limit)

    def given(self, allocation: Allocation) -> Seen[list[Entry]]:
        """The entry that gave an address: the latest that is not later than the allocation; and the moves since."""
        c = t.ledger.c
        here = about_address(allocation.vrf, r.packed(allocation.ip))
        query = select(*ENTRY).where(here, c.time <= r.micros(allocation.since))
        with self._seen() as at:
            row = at.first(query.where(c.kind == "tenure.address.allocated").order_by(c.sequence.desc()))
            if row is None:
                return Seen([], at.head)
            moves = query.where(c.kind == "tenure.address.moved", c.sequence > row[0]).order_by(c.sequence)
            return Seen([r.entry_of(each) for each in [row, *at.all(moves)]], at.head)

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


def _in_state(state: str) -> ColumnElement[bool]:
    c = t.claims.c
    if state == "released":
        return c.until.is_not(None)
    if state == "pending":
        return and_(c.until.is_(None), c.bound.is_(None))
    if state == "bound":
        return and_(c.until.is_(None), c.bound.is_not(None))
    return c.until.is_(None)


def _in_use(at: Snapshot, body: str) -> OwnedBlock:
    block = msgspec.json.decode(body, type=Block)
    c = t.allocations.c
    first, last = span(block.cidr)
    held = select(func.count()).where(c.subnet == block.subnet, c.until.is_(None), c.address.between(first, last))
    return OwnedBlock(block, at.first(held)[0])
