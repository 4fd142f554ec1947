"""Records that people make, TSIG keys and secondaries; a zone's changes are found by serial,
and the few host names that lie below others by their dots."""

from typing import Any, Final

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

_TEXT: Final = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_TABLES: Final = {
    "records": ("zone", "owner", "type"),
    "tsig_keys": ("name", "sealed"),
    "secondaries": ("name", "vrf"),
}
_INDEXES: Final = (
    ("records_zone", "records", "zone id", False),
    ("records_owner", "records", "owner", False),
    ("tsig_keys_name", "tsig_keys", "name", True),
    ("secondaries_name", "secondaries", "name", True),
)
"""Name, table, columns, unique; each of what is open."""
_DOTTED: Final = "until IS NULL AND hostname IS NOT NULL AND replace(hostname, '.', '') <> hostname"


def upgrade() -> None:
    """Nobody had made any yet. What zones, networks and subnets have more of is in their bodies, and absent."""
    for table, columns in _TABLES.items():
        op.create_table(table, *_inventory(columns))
    is_open = sa.text("until IS NULL")
    for index, table, words, unique in _INDEXES:
        names = words.split()
        op.create_index(index, table, names, unique=unique, postgresql_where=is_open, sqlite_where=is_open)
    op.create_index("zone_changes_serial", "zone_changes", ["zone", "serial", "sequence"])
    dotted = sa.text(_DOTTED)
    op.create_index("allocations_dotted", "allocations", ["hostname"], postgresql_where=dotted, sqlite_where=dotted)


def _inventory(names: tuple[str, ...]) -> list[sa.Column[Any]]:
    return [
        sa.Column("id", _TEXT, primary_key=True),
        *(sa.Column(name, sa.LargeBinary() if name == "sealed" else _TEXT, nullable=False) for name in names),
        sa.Column("body", _TEXT, nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger()),
    ]
