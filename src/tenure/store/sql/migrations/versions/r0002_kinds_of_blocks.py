"""A block has a kind instead of a flag that says whether it is a rack's; so it is in the ledger, too."""

from typing import Final

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_TEXT: Final = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

# Ids and prefixes are all that these bodies hold, and a quote inside JSON text is written `\"`. SQLAlchemy needs `\:`.
_BODY: Final = r"""replace(replace(body, '"rack"\:true', '"kind"\:"rack"'), '"rack"\:false', '"kind"\:"host"')"""


def upgrade() -> None:
    """Translate the blocks, and the entries that tell of them."""
    op.add_column("blocks", sa.Column("kind", _TEXT))
    op.execute(f"UPDATE blocks SET kind = CASE WHEN rack THEN 'rack' ELSE 'host' END, body = {_BODY}")
    op.execute(f"UPDATE ledger SET body = {_BODY} WHERE kind IN ('tenure.block.owned', 'tenure.block.surrendered')")
    op.drop_index("blocks_prefix", "blocks")
    with op.batch_alter_table("blocks") as blocks:
        blocks.alter_column("kind", existing_type=_TEXT, nullable=False)
        blocks.drop_column("rack")
    is_open = sa.text("until IS NULL")
    op.create_index(
        "blocks_prefix",
        "blocks",
        ["subnet", "prefix", "kind"],
        unique=True,
        postgresql_where=is_open,
        sqlite_where=is_open,
    )
