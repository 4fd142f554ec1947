"""Where machines are in their lives, how claims are kept and when they end, where addresses stand, what was seen.

Nothing that was there before has any of it: what is new is null, but for the state in which a machine's kind begins,
and for claims that were asked for as static, which are so from now on.
"""

from typing import Any, Final

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_TEXT: Final = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_TYPES: Final[dict[str, Any]] = {
    "text": _TEXT,
    "bytes": sa.LargeBinary(),
    "flag": sa.Boolean(),
    "long": sa.BigInteger(),
}

_COLUMNS: Final = {
    "machines": ("state text", "harvest text", "seen long"),
    "claims": (
        "kept text", "harvest text", "expires long", "warned flag", "static flag", "queued flag", "more text",
        "idle long",
    ),
    "allocations": ("standing text", "behind text", "replaces text", "named_at long", "more text"),
}  # fmt: skip

_CLAIMS: Final = (
    "kind IN ('tenure.claim.deferred', 'tenure.claim.bound', 'tenure.claim.rebound', 'tenure.claim.settled',"
    " 'tenure.claim.released', 'tenure.claim.changed', 'tenure.claim.expiring', 'tenure.address.moved',"
    " 'tenure.address.attached', 'tenure.address.detached')"
)
_MACHINES: Final = (
    "kind IN ('tenure.machine.created', 'tenure.machine.enlisted', 'tenure.machine.changed',"
    " 'tenure.interface.created', 'tenure.interface.changed')"
)
_NETWORKS: Final = "kind IN ('tenure.network.created', 'tenure.network.changed')"
_INDEXES: Final = (
    ("ledger_claim", "ledger", "claim sequence", _CLAIMS, False),
    ("ledger_machine", "ledger", "machine sequence", _MACHINES, False),
    ("ledger_network", "ledger", "sequence", _NETWORKS, False),
    ("claims_last", "claims", "handle until", "until IS NOT NULL AND project IN ('dhcp', 'machine')", False),
    ("claims_queued", "claims", "network since id", "until IS NULL AND bound IS NULL AND queued IS NOT NULL", False),
    ("claims_expiring", "claims", "expires", "until IS NULL AND expires IS NOT NULL", False),
    ("claims_unwarned", "claims", "expires", "until IS NULL AND expires IS NOT NULL AND warned IS NULL", False),
    ("claims_idle", "claims", "network idle id", "until IS NULL AND idle IS NOT NULL", False),
    ("allocations_behind", "allocations", "behind", "until IS NULL AND behind IS NOT NULL", False),
    ("allocations_replaces", "allocations", "replaces", "until IS NULL AND replaces IS NOT NULL", True),
    ("allocations_naming", "allocations", "named_at", "until IS NULL AND named_at IS NOT NULL", False),
)
"""Name, table, columns, condition, unique."""


def upgrade() -> None:
    """Columns, the states of machines, tables, indexes."""
    for table, columns in _COLUMNS.items():
        for words in columns:
            op.add_column(table, _column(words + "?"))
    op.execute("UPDATE machines SET state = CASE kind WHEN 'managed' THEN 'new' WHEN 'instance' THEN 'ready' END")
    _static()
    _observations()
    _labels()
    op.drop_index("claims_last", "claims")
    for name, table, names, condition, unique in _INDEXES:
        where = sa.text(condition)
        op.create_index(name, table, names.split(), unique=unique, postgresql_where=where, sqlite_where=where)


def _static() -> None:
    """A claim says itself that it is static; in the ledger, too. A quote inside JSON text is written `\\"`."""
    asked = r"""'%"static"\:true%'"""
    op.execute(f"UPDATE claims SET static = true WHERE request LIKE {asked}")
    said = {
        "sqlite": "json_set(body, '$.claim.static', json('true'))",
        "postgresql": r"CAST(jsonb_set(CAST(body AS jsonb), '{claim,static}', 'true') AS text)",
    }
    op.execute(f"UPDATE ledger SET body = {said[op.get_bind().dialect.name]} WHERE body LIKE {asked}")


def _observations() -> None:
    words = (
        "vrf text key", "address bytes key", "subnet text", "mac text?", "source text", "since long", "last long",
        "until long", "claim text?",
    )  # fmt: skip
    op.create_table("observations", *map(_column, words))
    op.create_index("observations_until", "observations", ["until"])
    op.create_index("observations_subnet", "observations", ["subnet", "address"])
    op.create_index("observations_mac", "observations", ["mac"])


def _labels() -> None:
    op.create_table("labels", *map(_column, ("kind text key", "label text key", "thing text key")))
    op.create_index("labels_thing", "labels", ["thing"])


def _column(words: str) -> sa.Column[Any]:
    name, type_, *key = words.split()
    return sa.Column(name, _TYPES[type_.rstrip("?")], primary_key=bool(key), nullable=type_.endswith("?"))
