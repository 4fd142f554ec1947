"""The first schema."""

from typing import Any, Final

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_TEXT: Final = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_TYPES: Final[dict[str, Any]] = {
    "text": _TEXT,
    "bytes": sa.LargeBinary(),
    "flag": sa.Boolean(),
    "int": sa.Integer(),
    "long": sa.BigInteger(),
    "count": sa.BigInteger().with_variant(sa.Integer, "sqlite"),
    "serial": sa.BigInteger().with_variant(sa.Integer, "sqlite"),
}

_TABLES: Final = {
    "allocations": (
        "id text key",
        "claim text",
        "vrf text",
        "subnet text",
        "address bytes",
        "length int",
        "since long",
        "hostname text?",
        "block text?",
        "title text?",
        "lease flag",
        "held_until long?",
        "until long?",
        "cooling_until long?",
    ),
    "attachments": (
        "number serial key",
        "allocation text",
        "interface text",
        "since long",
        "until long?",
    ),
    "blocks": (
        "number serial key",
        "subnet text",
        "prefix bytes",
        "rack flag",
        "owner text?",
        "body text",
        "since long",
        "until long?",
    ),
    "claims": (
        "id text key",
        "project text",
        "handle text",
        "network text",
        "host text?",
        "machine text?",
        "interface text?",
        "since long",
        "bound long?",
        "until long?",
        "actor text",
        "request text",
        "revision long",
    ),
    "duties": (
        "name text key",
        "owner text",
        "term long",
        "until long",
    ),
    "idempotency": (
        "actor text key",
        "key text key",
        "item int key",
        "digest bytes",
        "change text",
        "answer bytes",
        "time long",
    ),
    "interfaces": (
        "id text key",
        "machine text",
        "mac text",
        "body text",
        "revision long",
        "since long",
        "until long?",
    ),
    "ledger": (
        "sequence count key",
        "batch text",
        "change text",
        "time long",
        "actor text",
        "source text",
        "request_id text",
        "project text?",
        "kind text",
        "vrf text?",
        "address bytes?",
        "claim text?",
        "machine text?",
        "zone text?",
        "body text",
    ),
    "locations": (
        "id text key",
        "name text",
        "kind text",
        "parent text?",
        "body text",
        "revision long",
        "since long",
        "until long?",
    ),
    "machines": (
        "id text key",
        "name text",
        "kind text",
        "location text?",
        "body text",
        "revision long",
        "since long",
        "until long?",
    ),
    "meta": (
        "name text key",
        "value text",
    ),
    "networks": (
        "id text key",
        "name text",
        "vrf text",
        "body text",
        "revision long",
        "since long",
        "until long?",
    ),
    "ranges": (
        "id text key",
        "subnet text",
        "first bytes",
        "last bytes",
        "body text",
        "revision long",
        "since long",
        "until long?",
    ),
    "subnets": (
        "id text key",
        "network text",
        "vrf text",
        "prefix bytes",
        "body text",
        "revision long",
        "since long",
        "until long?",
    ),
    "tokens": (
        "id text key",
        "name text",
        "digest bytes",
        "body text",
        "revision long",
        "since long",
        "until long?",
    ),
    "vrfs": (
        "id text key",
        "name text",
        "body text",
        "revision long",
        "since long",
        "until long?",
    ),
    "zone_changes": (
        "zone text key",
        "sequence long key",
        "serial long",
        "removed text",
        "added text",
    ),
    "zones": (
        "id text key",
        "vrf text",
        "name text",
        "serial long",
        "body text",
        "revision long",
        "since long",
        "until long?",
    ),
}
"""Columns: name, type (with a question mark where it may be null), `key` for the primary key."""

_INDEXES: Final = (
    ("allocations_address", "allocations", "vrf address", "until IS NULL", True),
    ("allocations_claim", "allocations", "claim", "", False),
    ("allocations_cooling", "allocations", "cooling_until", "cooling_until IS NOT NULL", False),
    ("allocations_hostname", "allocations", "hostname", "until IS NULL AND hostname IS NOT NULL", False),
    ("allocations_lease", "allocations", "held_until", "lease AND until IS NULL", False),
    ("allocations_past", "allocations", "vrf address cooling_until", "until IS NOT NULL", False),
    ("allocations_subnet", "allocations", "subnet address", "until IS NULL", False),
    ("attachments_allocation", "attachments", "allocation interface", "until IS NULL", True),
    ("attachments_interface", "attachments", "interface", "until IS NULL", False),
    ("attachments_past", "attachments", "allocation", "until IS NOT NULL", False),
    ("blocks_owner", "blocks", "owner number", "until IS NULL", False),
    ("blocks_prefix", "blocks", "subnet prefix rack", "until IS NULL", True),
    ("claims_handle", "claims", "handle project", "until IS NULL", True),
    ("claims_host", "claims", "host id", "until IS NULL AND host IS NOT NULL", False),
    ("claims_last", "claims", "handle until", "until IS NOT NULL AND project = 'dhcp'", False),
    ("claims_machine", "claims", "machine id", "until IS NULL AND machine IS NOT NULL", False),
    ("claims_network", "claims", "network id", "until IS NULL", False),
    ("claims_pending", "claims", "interface", "until IS NULL AND bound IS NULL AND interface IS NOT NULL", False),
    ("idempotency_time", "idempotency", "time", "", False),
    ("interfaces_mac", "interfaces", "mac", "until IS NULL", True),
    ("interfaces_machine", "interfaces", "machine", "until IS NULL", False),
    ("ledger_address", "ledger", "address sequence", "address IS NOT NULL", False),
    ("locations_name", "locations", "name", "until IS NULL", True),
    ("locations_parent", "locations", "parent", "until IS NULL", False),
    ("machines_location", "machines", "location id", "until IS NULL", False),
    ("machines_name", "machines", "name", "until IS NULL", True),
    ("networks_name", "networks", "name", "until IS NULL", True),
    ("ranges_subnet", "ranges", "subnet id", "until IS NULL", False),
    ("subnets_network", "subnets", "network id", "until IS NULL", False),
    ("subnets_prefix", "subnets", "vrf prefix", "until IS NULL", True),
    ("tokens_digest", "tokens", "digest", "until IS NULL", True),
    ("tokens_name", "tokens", "name", "until IS NULL", True),
    ("vrfs_name", "vrfs", "name", "until IS NULL", True),
    ("zones_name", "zones", "vrf name", "until IS NULL", True),
)
"""Name, table, columns, condition, unique."""


def upgrade() -> None:
    """Create every table and index."""
    for table, columns in _TABLES.items():
        op.create_table(table, *map(_column, columns))
    for name, table, columns_, condition, unique in _INDEXES:
        where = sa.text(condition) if condition else None
        op.create_index(name, table, columns_.split(), unique=unique, postgresql_where=where, sqlite_where=where)


def _column(words: str) -> sa.Column[Any]:
    name, type_, *key = words.split()
    kind = type_.rstrip("?")
    return sa.Column(
        name,
        _TYPES[kind],
        primary_key=bool(key),
        nullable=type_.endswith("?"),
        autoincrement=kind == "serial",
    )
