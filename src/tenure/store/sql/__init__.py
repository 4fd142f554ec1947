"""The store in SQL: SQLite for one node, PostgreSQL for several."""

from tenure.store.sql.store import open_store

__all__ = ["open_store"]
