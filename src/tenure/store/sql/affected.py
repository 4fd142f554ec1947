"""What a deletion or a resizing would take away, counted."""

from datetime import datetime
from typing import Any, Final

import msgspec
from sqlalchemy import ColumnElement, Select, and_, func, or_, select

from tenure.model.addressing import Network
from tenure.store.reads import Affected, Extent, Some
from tenure.store.sql import rows as r
from tenure.store.sql import tables as t
from tenure.store.sql.held import below
from tenure.store.sql.pages import Snapshot

FIRST: Final = 20
_a, _s, _n, _c = t.allocations.c, t.subnets.c, t.networks.c, t.claims.c
_network = msgspec.json.Decoder(Network).decode


def affected(at: Snapshot, extent: Extent, now: datetime) -> Affected:
    """The addresses, names and leases in an extent, what rests there at `now`, and the places of it."""
    here = _inside(extent)
    inside = and_(here, _a.until.is_(None))
    rests = and_(here, _a.until.is_not(None), _a.cooling_until > r.micros(now))
    named = and_(inside, _a.hostname.is_not(None), _a.standing.is_distinct_from("shelved"))
    return Affected(
        addresses=_some(at, and_(inside, ~_a.lease), _ip),
        names=_some(at, named, _name),
        leases=_some(at, and_(inside, _a.lease), _ip),
        resting=Some(0, ()) if extent.location else _some(at, rests, _ip),
        places=_places(at, extent.location) if extent.location else (),
    )


def _some(at: Snapshot, condition: ColumnElement[bool], shown: Any) -> Some:
    held = _held().where(condition)
    first = [text for row in at.all(held.order_by(_a.subnet, _a.address).limit(FIRST)) if (text := shown(row))]
    count = at.all(select(func.count()).select_from(_joined(select(_a.id)).where(condition).subquery()))[0][0]
    return Some(count if first else 0, tuple(first))


def _held() -> Select[Any]:
    return _joined(select(_a.address, _a.hostname, _n.body))


def _joined(query: Select[Any]) -> Select[Any]:
    return query.join_from(t.allocations, t.subnets, _s.id == _a.subnet).join(t.networks, _n.id == _s.network)


def _ip(row: Any) -> str:
    return r.text_of(bytes(row[0]))


def _name(row: Any) -> str | None:
    domain = _network(row[2]).domain
    return None if domain is None else f"{row[1]}.{domain}"


def _inside(extent: Extent) -> ColumnElement[bool]:
    parts: list[ColumnElement[bool]] = []
    if extent.vrf:
        parts.append(_a.vrf == extent.vrf)
    if extent.network:
        parts.append(_s.network == extent.network)
    if extent.subnet:
        parts.append(_a.subnet == extent.subnet)
    if extent.stretches is not None:
        ends = [(r.packed(first), r.packed(last)) for first, last in extent.stretches]
        parts.append(or_(*(_a.address.between(*pair) for pair in ends)) if ends else _a.id.is_(None))
    if extent.location:
        here = select(_c.id).where(_c.host.in_(below(extent.location)), _c.until.is_(None))
        parts.append(_a.claim.in_(here))
    return and_(*parts)


def _places(at: Snapshot, location: str) -> tuple[str, ...]:
    c = t.locations.c
    return tuple(row[0] for row in at.all(select(c.name).where(c.id.in_(below(location)), c.until.is_(None))))
