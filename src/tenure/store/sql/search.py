"""One box that finds anything: the words tell what they are, and only the indexes that fit are asked."""

from typing import Any

from sqlalchemy import ColumnElement, Select, Table, and_, literal, or_, select

from tenure.errors import InvalidValue
from tenure.net.addresses import parse_address, parse_prefix
from tenure.net.identifiers import parse_mac
from tenure.store.interface import Findings, Found
from tenure.store.sql import rows as r
from tenure.store.sql import tables as t
from tenure.store.sql.joins import span
from tenure.store.sql.pages import Snapshot, beginning

_NAMED = (
    ("network", t.networks),
    ("location", t.locations),
    ("machine", t.machines),
    ("zone", t.zones),
    ("vrf", t.vrfs),
    ("token", t.tokens),
    ("secondary", t.secondaries),
    ("tsig_key", t.tsig_keys),
)
_BY_ID = (("subnet", t.subnets), ("range", t.ranges), ("interface", t.interfaces))


def find(at: Snapshot, q: str, limit: int) -> Findings:
    """Open things that `q` names; exact ones first."""
    words = q.strip()
    for understood_as, read, ask in (
        ("prefix", _prefix, _in_prefix), ("address", _address, _at_address), ("mac", _mac, _with_mac)
    ):  # fmt: skip
        value = read(words)
        if value is not None:
            return Findings(understood_as, ask(at, value, limit))
    return Findings("name", _by_name(at, words, limit))


def _prefix(words: str) -> str | None:
    try:
        return str(parse_prefix(words)) if "/" in words else None
    except InvalidValue:
        return None


def _address(words: str) -> str | None:
    try:
        return str(parse_address(words))
    except InvalidValue:
        return None


def _mac(words: str) -> str | None:
    try:
        return parse_mac(words)
    except InvalidValue:
        return None


def _in_prefix(at: Snapshot, cidr: str, limit: int) -> list[Found]:
    """The subnet itself, then those inside it, then addresses."""
    first, last = span(cidr)
    s, a = t.subnets.c, t.allocations.c
    inside = select(s.id, s.prefix).where(s.until.is_(None), s.prefix.between(first, last + b"\xff")).order_by(s.prefix)
    found = [Found("subnet", id_, _cidr(prefix)) for id_, prefix in at.all(inside.limit(limit)) if _fits(prefix, first)]
    held = select(a.id, a.address).where(a.until.is_(None), _in_any_vrf(at), a.address.between(first, last))
    return [*found, *_addresses(at, held, limit)][:limit]


def _fits(prefix: bytes, first: bytes) -> bool:
    return len(prefix) == len(first) + 1


def _cidr(prefix: bytes) -> str:
    return f"{r.text_of(prefix[:-1])}/{prefix[-1]}"


def _at_address(at: Snapshot, ip: str, limit: int) -> list[Found]:
    a = t.allocations.c
    held = select(a.id, a.address).where(a.until.is_(None), _in_any_vrf(at), a.address == r.packed(ip))
    return _addresses(at, held, limit)


def _in_any_vrf(at: Snapshot) -> ColumnElement[bool]:
    """Vrfs are few, and the index begins with them."""
    return t.allocations.c.vrf.in_([row[0] for row in at.all(select(t.vrfs.c.id).where(t.vrfs.c.until.is_(None)))])


def _addresses(at: Snapshot, query: Select[Any], limit: int) -> list[Found]:
    rows = at.all(query.order_by(t.allocations.c.vrf, t.allocations.c.address).limit(limit))
    return [Found("address", id_, r.text_of(bytes(address))) for id_, address in rows]


def _with_mac(at: Snapshot, mac: str, limit: int) -> list[Found]:
    """The interface, its machine, and its addresses; and where it was seen, at most a day before the last entry."""
    return [*_worn_by(at, mac, limit), *_seen_with(at, mac, limit)][:limit]


def _seen_with(at: Snapshot, mac: str, limit: int) -> list[Found]:
    if at.head.time is None:
        return []
    c = t.observations.c
    seen = select(c.address).where(c.mac == mac, c.until > r.micros(at.head.time)).order_by(c.vrf, c.address)
    ips = [r.text_of(bytes(row[0])) for row in at.all(seen.limit(limit))]
    return [Found("observation", ip, ip) for ip in ips]


def _worn_by(at: Snapshot, mac: str, limit: int) -> list[Found]:
    i, m, x, a = t.interfaces.c, t.machines.c, t.attachments.c, t.allocations.c
    row = at.first(select(i.id, i.machine).where(i.until.is_(None), i.mac == mac))
    if row is None:
        return []
    machines = at.all(select(m.id, m.name).where(m.id == row.machine, m.until.is_(None)))
    worn = select(a.id, a.address).where(
        a.id == x.allocation, x.interface == row.id, x.until.is_(None), a.until.is_(None)
    )
    found = [Found("interface", row.id, mac), *(Found("machine", id_, name) for id_, name in machines)]
    return [*found, *_addresses(at, worn, limit)][:limit]


def _by_name(at: Snapshot, words: str, limit: int) -> list[Found]:
    """Names and handles that are exactly this, ids, then what begins with it."""
    if not words:
        return []
    lower = words.lower()
    found: dict[tuple[str, str], Found] = {}
    for exact in (True, False):
        for query in _queries(words, lower, exact):
            for row in at.all(query.limit(limit - len(found))) if len(found) < limit else ():
                found.setdefault((row[0], row[1]), Found(*row))
    return list(found.values())


def _queries(words: str, lower: str, exact: bool) -> list[Select[Any]]:
    named = [_named(kind, table, words, exact) for kind, table in _NAMED]
    c, a = t.claims.c, t.allocations.c
    handle = c.handle == words if exact else beginning(c.handle, words)
    claims = select(literal("claim"), c.id, c.handle).where(c.until.is_(None), handle)
    hostname = and_(a.hostname.is_not(None), a.hostname == lower if exact else beginning(a.hostname, lower))
    addresses = select(literal("address"), a.id, a.hostname).where(a.until.is_(None), hostname)
    owner = t.records.c.owner
    records = _records(owner == lower if exact else beginning(owner, lower))
    return [*named, claims, addresses, records, *(_ids(lower) if exact else [])]


def _named(kind: str, table: Table, words: str, exact: bool) -> Select[Any]:
    c = table.c
    spelled = {words, words.lower()}
    name = or_(c.name.in_(spelled), c.id == words) if exact else or_(*(beginning(c.name, q) for q in spelled))
    return select(literal(kind), c.id, c.name).where(c.until.is_(None), name)


def _records(condition: ColumnElement[bool]) -> Select[Any]:
    c = t.records.c
    return select(literal("record"), c.id, c.owner + " " + c.type, c.zone).where(c.until.is_(None), condition)


def _ids(lower: str) -> list[Select[Any]]:
    c = t.claims.c
    claims = select(literal("claim"), c.id, c.handle).where(c.id == lower)
    things = [
        select(literal(kind), table.c.id, table.c.id).where(table.c.id == lower, table.c.until.is_(None))
        for kind, table in _BY_ID
    ]
    return [claims, *things, _records(t.records.c.id == lower)]
