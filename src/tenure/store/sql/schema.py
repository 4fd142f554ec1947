"""The schema's life: created, migrated, and refused when a newer release made it."""

from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, inspect, select
from sqlalchemy.dialects import postgresql, sqlite

from tenure.errors import StoreUnavailable
from tenure.store.sql.tables import FORMAT, meta

_MIGRATIONS: Final = Path(__file__).parent / "migrations"


def migrate(connection: Connection, epoch: str) -> None:
    """Bring the schema to this release's format, in the caller's transaction and under its lock.

    Args:
        epoch: Random, for a ledger that has none yet.

    Raises:
        StoreUnavailable: A newer release made the schema; nothing was written.
    """
    found = _format(connection)
    if found is not None and found > FORMAT:
        raise StoreUnavailable(
            f"The database has format {found}, made by a newer release; this one knows formats up to {FORMAT}."
        )
    if found == FORMAT:
        return
    command.upgrade(_config(connection), "head")
    insert = (postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert)(meta)
    here = insert.values(name="format", value=str(FORMAT))
    connection.execute(here.on_conflict_do_update(index_elements=["name"], set_={"value": str(FORMAT)}))
    connection.execute(insert.values(name="epoch", value=epoch).on_conflict_do_nothing())


def _format(connection: Connection) -> int | None:
    if not inspect(connection).has_table("meta"):
        return None
    value = connection.scalar(select(meta.c.value).where(meta.c.name == "format"))
    return None if value is None else int(value)


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config
