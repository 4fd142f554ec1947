"""Net images in, statements out: one small function a table.

Closes come first, then updates, then inserts, so that within a batch an address, a handle or a name may pass
from one to another: the partial unique indexes see it free before they see it taken.
"""

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Table, bindparam, insert, update

from tenure.engine.images import Image
from tenure.model.dnsdata import ZoneChange
from tenure.model.events import Entry
from tenure.store.interface import KeyUse
from tenure.store.sql import rows as r
from tenure.store.sql import tables as t
from tenure.store.sql.connect import Database, expect, names


class Target(NamedTuple):
    """Where a batch is written, and when."""

    db: Database
    connection: Connection
    raw: Any
    now: int
    digests: dict[str, bytes]
    sealed: dict[str, bytes]


Parts = tuple[list[Any], list[Any], list[Any]]
"""Rows closed, changed and new."""


def apply_entries(to: Target, entries: Sequence[Entry]) -> None:
    """Append to the ledger."""
    to.db.insert(to.raw, "ledger", r.LEDGER, [r.ledger_row(entry) for entry in entries])


def apply_rows(to: Target, images: Iterable[Image]) -> None:
    """Write the net rows of a batch, table by table."""
    sorted_: dict[str, list[Image]] = {}
    for image in images:
        sorted_.setdefault(image.table, []).append(image)
    for table, found in sorted_.items():
        _APPLIES[table](to, found)
    _idle(to, sorted_.get("claims", ()), sorted_.get("machines", ()))


def apply_zone_changes(to: Target, changes: Sequence[ZoneChange]) -> None:
    """Journal what zones gained and lost, and move their serials."""
    if changes:
        to.db.insert(to.raw, "zone_changes", r.ZONE_CHANGE, [r.zone_change_row(change) for change in changes])
        moved = [(change.zone, change.serial) for change in changes]
        to.db.update(to.raw, "zones", ["id text"], ["serial bigint"], moved)


def apply_keys(to: Target, keys: Sequence[KeyUse]) -> None:
    """Remember idempotency keys; one that is here already has outlived its day and is used anew."""
    if not keys:
        return
    named = [(key.actor, key.key, key.item) for key in keys]
    old = ["actor text", "key text", "item integer"]
    to.db.delete(to.raw, "idempotency", old, named)
    columns = ("actor", "key", "item", "digest", "change", "answer", "time")
    to.db.insert(
        to.raw,
        "idempotency",
        columns,
        [(key.actor, key.key, key.item, key.digest, key.change, key.answer, to.now) for key in keys],
    )


def _parts(images: Iterable[Image]) -> Parts:
    """Values that carry their own `until`: closed, changed, new."""
    closed: list[Any] = []
    changed: list[Any] = []
    new: list[Any] = []
    for image in images:
        row = image.row
        (new if image.new else changed if row.until is None else closed).append(row)
    return closed, changed, new


def _claims(to: Target, images: list[Image]) -> None:
    closed, changed, new = _parts(images)
    for claims in (closed, changed):
        if claims:
            to.db.update(to.raw, "claims", ["id text"], _CLAIM_CHANGES, [_claim_changes(claim) for claim in claims])
    if new:
        rows = [(*r.claim_row(claim), r.micros(claim.since) if claim.kept == "life" else None) for claim in new]
        to.db.insert(to.raw, "claims", (*r.CLAIM, "idle"), rows)


_CLAIM_CHANGES: Final = (
    "host text", "machine text", "interface text", "bound bigint", "leaving text", "settles bigint", "until bigint",
    "request text", "revision bigint", "kept text", "harvest text", "expires bigint", "warned boolean",
    "static boolean", "queued boolean", "more text",
)  # fmt: skip
_changes_of: Final = itemgetter(*(r.CLAIM.index(name) for name in ("id", *names(_CLAIM_CHANGES))))


def _claim_changes(claim: Any) -> r.Row:
    row: r.Row = _changes_of(r.claim_row(claim))
    return row


def _idle(to: Target, claims: Iterable[Image], machines: Iterable[Image]) -> None:
    """Keep `claims.idle` of machines that changed, or were given something for life."""
    given = {image.row.machine for image in claims if image.row.kept == "life" and image.row.until is None}
    changed = {image.row.id for image in machines if image.row is not None and not image.new}
    ids = [(id_,) for id_ in given | changed if id_ is not None]
    if ids:
        given_for_life = "c.until IS NULL AND c.machine IS NOT NULL AND c.machine = k.id AND c.kept = 'life'"
        found = f"FROM {to.db.keys('id text')} {to.db.each('claims c', given_for_life)}"
        to.db.fetch(to.raw, _IDLE.replace("{found}", found), to.db.pack(["id text"], ids))


_SINCE: Final = "CASE WHEN m.state = 'deployed' THEN NULL WHEN m.seen > c.since THEN m.seen ELSE c.since END"
_IDLE: Final = f"""UPDATE claims AS c SET idle = (SELECT {_SINCE} FROM machines AS m WHERE m.id = c.machine)
 WHERE c.id IN (SELECT n.id FROM (SELECT c.id, c.machine, c.since, c.idle {{found}}) AS n CROSS JOIN machines AS m
 WHERE m.id = n.machine AND coalesce(n.idle, -1) <> coalesce({_SINCE.replace("c.", "n.")}, -1)) RETURNING 1"""


def _allocations(to: Target, images: list[Image]) -> None:
    closed, changed, new = _parts(images)
    if closed:
        ends = [_kept(held) + _ended(held) for held in closed]
        to.db.update(to.raw, "allocations", ["id text"], [*_KEPT, *_ENDED], ends)
    if changed:
        to.db.update(to.raw, "allocations", ["id text"], _KEPT, [_kept(held) for held in changed])
    if new:
        to.db.insert(to.raw, "allocations", r.ALLOCATION, [r.allocation_row(held) for held in new])


_KEPT: Final = (
    "held_until bigint", "hostname text", "title text", "standing text", "behind text", "replaces text",
    "named_at bigint", "more text",
)  # fmt: skip
_ENDED: Final = ("until bigint", "cooling_until bigint")  # apart: SQLite touches an index for each column that it sets


def _kept(held: Any) -> r.Row:
    return (held.id, r.maybe_micros(held.held_until), held.hostname, held.title, *r.standing_row(held))


def _ended(held: Any) -> r.Row:
    return (r.maybe_micros(held.until), r.maybe_micros(held.cooling_until))


def _attachments(to: Target, images: list[Image]) -> None:
    closed, changed, new = _parts(images)
    key = ["allocation text", "interface text"]
    gone = [r.attachment_row(attached) for attached in (*closed, *changed)]
    if gone:
        to.db.update(to.raw, "attachments", key, ["since bigint", "until bigint"], gone, only="t.until IS NULL")
    if new:
        to.db.insert(to.raw, "attachments", r.ATTACHMENT, [r.attachment_row(attached) for attached in new])


def _observations(to: Target, images: list[Image]) -> None:
    """The latest of an address takes the place of the one before."""
    rows = [r.observation_row(image.row) for image in images]
    to.db.delete(to.raw, "observations", ["vrf text", "address bytea"], [row[:2] for row in rows])
    to.db.insert(to.raw, "observations", r.OBSERVATION, rows)


def _labels(to: Target, images: list[Image]) -> None:
    old = [(image.key[1],) for image in images if not image.new]
    rows = [(kind, label, thing) for _, (kind, thing), found, _ in images for label in found or ()]
    if old:
        to.db.delete(to.raw, "labels", ["thing text"], old)
    if rows:
        to.db.insert(to.raw, "labels", ("kind", "label", "thing"), rows)


def _blocks(to: Target, images: list[Image]) -> None:
    """A block that changes hands or length is closed and owned anew, so that yesterday's routes can be told."""
    keys = [image.key for image in images if not image.new]
    gone = [(subnet, r.packed_prefix(cidr), kind, to.now) for subnet, cidr, kind, _ in keys]
    if gone:
        key = ["subnet text", "prefix bytea", "kind text"]
        to.db.update(to.raw, "blocks", key, ["until bigint"], gone, only="t.until IS NULL")
    owned = [
        (b.subnet, r.packed_prefix(b.cidr), b.kind, b.owner, r.body(b), to.now)
        for b in (image.row for image in images)
        if b is not None
    ]
    if owned:
        columns = ("subnet", "prefix", "kind", "owner", "body", "since")
        to.db.insert(to.raw, "blocks", columns, owned)


def _inventory(table: Table, columns: Callable[[Target, Any], dict[str, Any]]) -> Callable[[Target, list[Image]], None]:
    """A table of values. What changes is first taken out of the unique indexes, so that names may be swapped."""
    here = table.c.id == bindparam("key")
    out = update(table).where(here, table.c.until.is_(None)).values(until=bindparam("now"))

    def write(to: Target, images: list[Image]) -> None:
        old = [{"key": image.key[0], "now": to.now} for image in images if not image.new]
        rows = [(image.new, _columns(to, image.row, columns)) for image in images if image.row is not None]
        changed = [{**_movable(row), "key": row["id"], "until": None} for new, row in rows if not new]
        fresh = [{**row, "since": to.now} for new, row in rows if new]
        if old:
            expect(table.name, len(old), to.connection.execute(out, old).rowcount)
        if changed:
            to.connection.execute(update(table).where(here), changed)
        if fresh:
            to.connection.execute(insert(table), fresh)

    return write


def _movable(row: dict[str, Any]) -> dict[str, Any]:
    """What a change may change: a zone's serial moves with its records only, a secret never."""
    return {name: value for name, value in row.items() if name not in ("id", "serial", "digest", "sealed")}


def _columns(to: Target, value: Any, columns: Callable[[Target, Any], dict[str, Any]]) -> dict[str, Any]:
    return {"id": value.id, "body": r.body(value), "revision": value.revision, **columns(to, value)}


def _fields(*names: str) -> Callable[[Target, Any], dict[str, Any]]:
    return lambda _, value: {name: getattr(value, name) for name in names}


def _subnet(_: Target, subnet: Any) -> dict[str, Any]:
    return {"network": subnet.network, "vrf": subnet.vrf, "prefix": r.packed_prefix(subnet.cidr)}


def _range(_: Target, range_: Any) -> dict[str, Any]:
    return {"subnet": range_.subnet, "first": r.packed(range_.start), "last": r.packed(range_.end)}


def _machine(_: Target, machine: Any) -> dict[str, Any]:
    return {
        "name": machine.name,
        "kind": machine.kind,
        "location": machine.location,
        "state": machine.lifecycle,
        "harvest": None if machine.harvest == "inherit" else machine.harvest,
        "seen": r.maybe_micros(machine.seen),
    }


def _token(to: Target, token: Any) -> dict[str, Any]:
    return {"name": token.name, "digest": to.digests[token.id]}


def _tsig_key(to: Target, key: Any) -> dict[str, Any]:
    return {"name": key.name, "sealed": to.sealed[key.id]}


_APPLIES: dict[str, Callable[[Target, list[Image]], None]] = {
    "vrfs": _inventory(t.vrfs, _fields("name")),
    "locations": _inventory(t.locations, _fields("name", "kind", "parent")),
    "networks": _inventory(t.networks, _fields("name", "vrf")),
    "subnets": _inventory(t.subnets, _subnet),
    "ranges": _inventory(t.ranges, _range),
    "machines": _inventory(t.machines, _machine),
    "interfaces": _inventory(t.interfaces, _fields("machine", "mac")),
    "zones": _inventory(t.zones, _fields("vrf", "name", "serial")),
    "records": _inventory(t.records, _fields("zone", "owner", "type")),
    "tsig_keys": _inventory(t.tsig_keys, _tsig_key),
    "secondaries": _inventory(t.secondaries, _fields("name", "vrf")),
    "tokens": _inventory(t.tokens, _token),
    "blocks": _blocks,
    "claims": _claims,
    "allocations": _allocations,
    "attachments": _attachments,
    "observations": _observations,
    "labels": _labels,
}
