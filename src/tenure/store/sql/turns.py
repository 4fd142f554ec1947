"""The writer's transaction."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from tenure.engine.facts import Facts, Wanted
from tenure.errors import StoreUnavailable
from tenure.model.events import Entry
from tenure.store.interface import Batch, Head, Replay
from tenure.store.sql import applies
from tenure.store.sql import rows as r
from tenure.store.sql.connect import Database
from tenure.store.sql.facts import Reading
from tenure.store.sql.tables import FORMAT

ENTRY = ", ".join(r.ENTRY)

_HEAD = """SELECT (SELECT value FROM meta WHERE name = 'format'), (SELECT value FROM meta WHERE name = 'epoch'),
 l.sequence, l.batch, l.time FROM (SELECT 1) AS one LEFT JOIN
 (SELECT sequence, batch, time FROM ledger ORDER BY sequence DESC LIMIT 1) AS l ON true"""


def read_head(db: Database, raw: Any) -> Head:
    """The end of the ledger in the transaction at hand.

    Raises:
        StoreUnavailable: The schema is not of this release's format: this node must not go on.
    """
    format_, epoch, sequence, batch, time = db.fetch(raw, _HEAD, ())[0]
    if format_ != str(FORMAT):
        raise StoreUnavailable(
            f"The database has format {format_} and this release writes format {FORMAT}; run the release that fits."
        )
    if sequence is None:
        return Head(epoch, 0, "", None)
    return Head(epoch, sequence, batch, r.time_of(time))


class SqlTurn:
    """A `Turn` over one connection that holds the lock."""

    def __init__(self, db: Database, connection: Connection, commit: Callable[[], None]) -> None:
        self._db = db
        self._connection = connection
        self._raw: Any = connection.connection.driver_connection
        self._commit = commit
        self.head = read_head(db, self._raw)
        now = db.now(self._raw)
        self.now: datetime = now if self.head.time is None else max(now, self.head.time)

    def entries(self, after: int) -> list[Entry]:
        """The ledger after a sequence, as seen under the lock."""
        statement = f"SELECT {ENTRY} FROM ledger WHERE sequence > ? ORDER BY sequence"
        with self._db.translated():
            return [r.entry_of(row) for row in self._fetch(statement, after)]

    def batch_at(self, sequence: int) -> str | None:
        """Id of the batch that wrote this sequence."""
        with self._db.translated():
            found = self._fetch("SELECT batch FROM ledger WHERE sequence = ?", sequence)
        return found[0][0] if found else None

    def facts(self, wanted: Wanted) -> Facts:
        """Read by key, once for all."""
        with self._db.translated():
            return Reading(self._db, self._raw, self.now).read(wanted)

    def replays(self, keys: Iterable[tuple[str, str, int]]) -> dict[tuple[str, str, int], Replay]:
        """Remembered idempotency keys."""
        columns = ["actor text", "key text", "item integer"]
        named = list(keys)
        if not named:
            return {}
        statement = (
            f"SELECT i.actor, i.key, i.item, i.digest, i.change, i.answer FROM {self._db.keys(*columns)}"
            " CROSS JOIN idempotency i WHERE i.actor = k.actor AND i.key = k.key AND i.item = k.item"
        )
        with self._db.translated():
            found = self._db.fetch(self._raw, statement, self._db.pack(columns, named))
        return {
            (actor, key, item): Replay(digest, change, answer) for actor, key, item, digest, change, answer in found
        }

    def digests(self, keys: Iterable[tuple[str, str]]) -> dict[tuple[str, str], bytes]:
        """With what body each (actor, key) came: one row of each, for all items of a key came with one body."""
        columns = ["actor text", "key text"]
        named = list(keys)
        if not named:
            return {}
        statement = (
            "SELECT k.actor, k.key, (SELECT i.digest FROM idempotency i WHERE i.actor = k.actor AND i.key = k.key"
            f" ORDER BY i.item LIMIT 1) FROM {self._db.keys(*columns)}"
        )
        with self._db.translated():
            found = self._db.fetch(self._raw, statement, self._db.pack(columns, named))
        return {(actor, key): digest for actor, key, digest in found if digest is not None}

    def apply(self, batch: Batch) -> None:
        """Write the batch: one statement a table."""
        with self._db.translated():
            to = applies.Target(self._db, self._connection, self._raw, r.micros(self.now), batch.digests, batch.sealed)
            applies.apply_entries(to, batch.entries)
            applies.apply_rows(to, batch.rows)
            applies.apply_zone_changes(to, batch.zone_changes)
            applies.apply_keys(to, batch.keys)
            if batch.epoch is not None:
                self._db.update(self._raw, "meta", ["name text"], ["value text"], [("epoch", batch.epoch)])
            self._db.announce(self._raw)

    def commit(self) -> None:
        """Make it durable; the others are told by the database."""
        self._commit()

    def _fetch(self, statement: str, *parameters: Any) -> list[r.Row]:
        return self._db.fetch(self._raw, self._db.sql(statement), parameters)
