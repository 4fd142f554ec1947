"""A moved claim remembers the host that it left, until its hand-over settles; addresses away from home are found."""

from typing import Final

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_TEXT: Final = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Nobody had left anything yet."""
    op.add_column("claims", sa.Column("leaving", _TEXT))
    op.add_column("claims", sa.Column("settles", sa.BigInteger()))
    _index("claims_settling", "claims", "settles", "until IS NULL AND leaving IS NOT NULL")
    loose = "until IS NULL AND NOT lease AND (title IS NULL OR title = 'borrowed')"
    _index("allocations_loose", "allocations", "claim", loose)


def _index(name: str, table: str, column: str, condition: str) -> None:
    where = sa.text(condition)
    op.create_index(name, table, [column], postgresql_where=where, sqlite_where=where)
