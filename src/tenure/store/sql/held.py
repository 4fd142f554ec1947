"""Lists of addresses: held, shelved, resting and seen ones, now or as they were at a time."""

from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, Select, and_, func, select

from tenure.errors import InvalidValue
from tenure.model.addressing import Subnet
from tenure.net.addresses import parse_address, parse_prefix
from tenure.store.reads import KnownAddress, SeenAddress
from tenure.store.sql import rows as r
from tenure.store.sql import tables as t
from tenure.store.sql.joins import ALLOCATION, span
from tenure.store.sql.pages import beginning

_subnet = msgspec.json.Decoder(Subnet).decode

OBSERVATION = [t.observations.c[name] for name in r.OBSERVATION]


class Asked(NamedTuple):
    """Which addresses are asked for; "" is any. See `Reads.addresses`."""

    network: str
    location: str
    state: str
    q: str
    vrf: str = ""


def listed(asked: Asked, now: datetime) -> Select[Any]:
    """Addresses as they are now."""
    c = t.allocations.c
    query = select(*ALLOCATION).where(_in_state(asked.state, now))
    query = query.where(c.vrf == asked.vrf) if asked.vrf else query
    if asked.network:
        subnets = _subnets(asked.network)  # an address rests also after its subnet was deleted
        still = subnets if asked.state == "cooling" else subnets.where(t.subnets.c.until.is_(None))
        query = query.where(c.subnet.in_(still))
    if asked.location:
        query = query.join(t.claims, t.claims.c.id == c.claim).where(t.claims.c.host.in_(below(asked.location)))
    return query.where(_matches(asked.q)) if asked.q else query


def listed_at(asked: Asked, when: datetime) -> list[Select[Any]]:
    """Addresses that were held at a time, or rested then: of those that are open still, and of those that are not."""
    c, moment = t.allocations.c, r.micros(when)
    query = select(*ALLOCATION)
    query = query.where(c.vrf == asked.vrf) if asked.vrf else query
    if asked.network:
        query = query.where(c.subnet.in_(_subnets(asked.network)))
    query = query.where(_matches(asked.q)) if asked.q else query
    past = query.where(c.until.is_not(None))
    if asked.state == "cooling":
        return [past.where(c.until <= moment, c.cooling_until > moment)]
    return [query.where(c.until.is_(None), c.since <= moment), past.where(c.since <= moment, c.until > moment)]


def kept(known: KnownAddress, state: str, places: set[str] | None) -> bool:
    """Whether an address as it was then is asked for: by its standing, and by where its claim was bound.

    `places`: Ids of locations; None: anywhere.
    """
    shelved = known.allocation.standing == "shelved"
    there = places is None or known.claim.host in places
    return there and (state not in ("allocated", "shelved") or shelved == (state == "shelved"))


def seen(now: datetime, network: str = "", q: str = "", vrf: str = "") -> Select[Any]:
    """What was seen and is not too old, with the subnets."""
    c = t.observations.c
    query = select(*OBSERVATION, t.subnets.c.body).join_from(t.observations, t.subnets, t.subnets.c.id == c.subnet)
    query = query.where(c.until > r.micros(now))
    query = query.where(t.subnets.c.network == network) if network else query
    query = query.where(c.vrf == vrf) if vrf else query
    return query.where(_inside(c.address, *_span(q))) if q else query


def seen_of(rows: list[Any]) -> list[SeenAddress]:
    """The values of such rows."""
    return [SeenAddress(r.observation_of(row[:-1]), _subnet(row[-1])) for row in rows]


def below(location: str, *, closed: bool = False) -> Select[Any]:
    """A place and all places below it; those that are gone too, if so asked."""
    c = t.locations.c
    tree = select(c.id).where(c.id == location).cte(recursive=True)
    child = c.parent == tree.c.id
    tree = tree.union(select(c.id).where(child if closed else and_(child, c.until.is_(None))))
    return select(tree.c.id)


def _subnets(network: str) -> Select[Any]:
    return select(t.subnets.c.id).where(t.subnets.c.network == network)


def _in_state(state: str, now: datetime) -> ColumnElement[bool]:
    c = t.allocations.c
    if state == "cooling":
        return and_(c.cooling_until.is_not(None), c.cooling_until > r.micros(now), c.until.is_not(None))
    if state == "shelved":
        return and_(c.until.is_(None), c.standing == "shelved")
    if state == "allocated":
        return and_(c.until.is_(None), func.coalesce(c.standing, "primary") != "shelved")
    return c.until.is_(None)


def _matches(q: str) -> ColumnElement[bool]:
    """An address, a prefix, or how a hostname begins."""
    c = t.allocations.c
    try:
        return _inside(c.address, *_span(q))
    except InvalidValue:
        return beginning(c.hostname, q.lower())


def _span(q: str) -> tuple[bytes, bytes]:
    return span(str(parse_prefix(q) if "/" in q else parse_address(q)))


def _inside(address: ColumnElement[bytes], first: bytes, last: bytes) -> ColumnElement[bool]:
    return and_(address.between(first, last), func.length(address) == len(first))
