"""The ledger and its tables in SQLite or PostgreSQL."""

import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from time import monotonic
from typing import Any, Final

from sqlalchemy import Connection, make_url
from sqlalchemy.exc import DBAPIError

from tenure.errors import OutcomeUnknown, StoreUnavailable
from tenure.model.events import Entry, LeaseCompacted
from tenure.store.interface import Head, Reads, Store
from tenure.store.sql import rows as r
from tenure.store.sql.connect import BOUND, Clock, Database, Sqlite
from tenure.store.sql.journal import outlived
from tenure.store.sql.pages import LARGEST, bounded, seen
from tenure.store.sql.postgres import Postgres
from tenure.store.sql.reads import SqlReads
from tenure.store.sql.schema import migrate
from tenure.store.sql.snapshots import SqlSnapshot
from tenure.store.sql.turns import ENTRY, SqlTurn, read_head

_MOST_ENTRIES: Final = 10_000
_COMPACTED: Final = LeaseCompacted()
_MOST_COMPACTED: Final = 100_000
_MOST_PRUNED: Final = 10_000
_COMPACT: Final = f"""UPDATE ledger SET kind = '{_COMPACTED.kind}', body = '{r.body(_COMPACTED)}',
 project = NULL, vrf = NULL, address = NULL, claim = NULL, machine = NULL
 WHERE sequence > ? AND sequence <= ? AND kind = 'tenure.lease.promised' AND time < ? AND NOT EXISTS
 (SELECT 1 FROM allocations a WHERE a.until IS NULL AND a.vrf = ledger.vrf AND a.address = ledger.address
 AND a.claim = ledger.claim) RETURNING 1"""
_DUTY: Final = """INSERT INTO duties (name, owner, term, until) VALUES (?, ?, 1, ?)
 ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until,
 term = CASE WHEN duties.owner = excluded.owner AND duties.until > ? THEN duties.term ELSE duties.term + 1 END
 WHERE duties.owner = excluded.owner OR duties.until <= ? RETURNING term"""


def open_store(where: str | Path, clock: Clock, bound: float = BOUND) -> Store:
    """The store at a path (SQLite) or a `postgresql://` URL; nothing is touched before `prepare`.

    Args:
        where: The file of an embedded store, or the database's URL.
        clock: The node's clock, aware UTC; on SQLite it decides, PostgreSQL has its own.
        bound: Seconds for which another may keep the lock.
    """
    return SqlStore(database(where, clock, bound))


def database(where: str | Path, clock: Clock, bound: float) -> Database:
    """The kind of database that is meant.

    Raises:
        StoreUnavailable: A URL of another kind.
    """
    text = str(where)
    if "://" not in text:
        return Sqlite(Path(where), clock, bound)
    scheme = text.partition("://")[0]
    if scheme not in ("postgresql", "postgres"):
        raise StoreUnavailable(f"{scheme} is no kind of database that Tenure keeps its ledger in; use postgresql://.")
    return Postgres(make_url(text.replace("postgres://", "postgresql://", 1)), bound)


class SqlStore:
    """A `Store` over SQLAlchemy's connections."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._grown = threading.Condition()
        self._reads = SqlReads(db, self._looking)

    @property
    def reads(self) -> Reads:
        """Lists and single things."""
        return self._reads

    def prepare(self) -> None:
        """Create or migrate the schema, under the lock."""
        with self._db.translated():
            self._db.check()
            with self._writing() as (connection, commit):
                migrate(connection, secrets.token_hex(8))
                commit()

    def head(self) -> Head:
        """The end of the ledger now."""
        with self._reading() as raw:
            return read_head(self._db, raw)

    @contextmanager
    def snapshot(self) -> Iterator[SqlSnapshot]:
        """Everything as of one moment."""
        with self._reading() as raw:
            self._db.patient(raw)
            yield SqlSnapshot(self._db, raw)

    @contextmanager
    def turn(self) -> Iterator[SqlTurn]:
        """Begin the writer's transaction and take the lock."""
        with self._writing() as (connection, commit):
            with self._db.translated():
                turn = SqlTurn(self._db, connection, commit)
            yield turn

    def committed(self, batch: str, first: int) -> bool:
        """Whether a batch is in the ledger from this sequence on, asked under the lock."""
        with self._writing() as (connection, _), self._db.translated():
            raw = connection.connection.driver_connection
            return self._fetch(raw, "SELECT batch FROM ledger WHERE sequence = ?", first) == [(batch,)]

    def entries(self, after: int, limit: int, kinds: Sequence[str] = ()) -> list[Entry]:
        """The ledger after a sequence, in order."""
        among, packed = "", []
        if kinds:
            among = f"AND kind IN (SELECT k.kind FROM {self._db.keys('kind text')})"
            packed = self._db.pack(["kind text"], [(kind,) for kind in kinds])
        statement = f"SELECT {ENTRY} FROM ledger WHERE sequence > ? {among} ORDER BY sequence LIMIT ?"
        with self._reading() as raw:
            rows = self._fetch(raw, statement, min(after, LARGEST), *packed, bounded(limit, _MOST_ENTRIES))
            return [r.entry_of(row) for row in rows]

    def wait(self, after: int, seconds: float) -> bool:
        """Wait until the ledger may have grown past `after`."""
        end = monotonic() + seconds
        while self.head().sequence <= after:
            left = end - monotonic()
            if left <= 0:
                return False
            self._db.listen(self._grown, min(left, self._db.poll))
        return True

    def take_duty(self, name: str, owner: str, now: datetime, seconds: float) -> int | None:
        """Take or keep a duty; its term, or None while another has it."""
        moment = r.micros(now)
        until = moment + int(seconds * 1_000_000)
        with self._writing() as (connection, commit), self._db.translated():
            raw = connection.connection.driver_connection
            found = self._fetch(raw, _DUTY, name, owner, until, moment, moment)
            commit()
        return found[0][0] if found else None

    def forget_keys(self, before: datetime) -> int:
        """Drop idempotency keys older than `before`."""
        with self._writing() as (connection, commit), self._db.translated():
            raw = connection.connection.driver_connection
            found = self._fetch(raw, "DELETE FROM idempotency WHERE time < ? RETURNING 1", r.micros(before))
            commit()
        return len(found)

    def prune_journal(self, before: datetime, most: int, limit: int) -> int:
        """Let go of the oldest steps in the zones' journals; what goes is looked for before the lock is taken."""
        with seen(self._db, self._looking) as at:
            gone = outlived(at, before, most, bounded(limit, _MOST_PRUNED))
        if gone:
            with self._writing() as (connection, commit), self._db.translated():
                raw = connection.connection.driver_connection
                self._db.delete(raw, "zone_changes", ["zone text", "sequence bigint"], gone)
                commit()
        return len(gone)

    def compact(self, after: int, limit: int, before: datetime) -> int | None:
        """Let go of DHCP's promises in a stretch of the ledger, of addresses that were given back since."""
        end, moment = after + bounded(limit, _MOST_COMPACTED), r.micros(before)
        with self._writing() as (connection, commit), self._db.translated():
            raw = connection.connection.driver_connection
            self._fetch(raw, _COMPACT, after, end, moment)
            last = self._fetch(raw, "SELECT time FROM ledger WHERE sequence = ?", end)
            commit()
        return end if last and last[0][0] < moment else None

    def close(self) -> None:
        """Let go of every connection."""
        self._db.close()

    def _fetch(self, raw: Any, statement: str, *parameters: Any) -> list[r.Row]:
        return self._db.fetch(raw, self._db.sql(statement), parameters)

    @contextmanager
    def _reading(self) -> Iterator[Any]:
        with self._looking() as connection:
            yield connection.connection.driver_connection

    @contextmanager
    def _looking(self) -> Iterator[Connection]:
        with self._db.translated():
            connection = self._db.reading()
            with connection:
                connection.begin()
                yield connection

    @contextmanager
    def _writing(self) -> Iterator[tuple[Connection, Callable[[], None]]]:
        with self._db.translated():
            connection = self._db.writing()
        with connection:
            with self._db.translated():
                transaction = connection.begin()
                self._db.begun(connection)
            try:
                yield connection, lambda: self._commit(connection)
            finally:
                if transaction.is_active:
                    _roll_back(connection)

    def _commit(self, connection: Connection) -> None:
        try:
            connection.commit()
        except DBAPIError as error:
            connection.invalidate()
            raise OutcomeUnknown("The database did not say whether it wrote the batch.") from error
        with self._grown:
            self._grown.notify_all()


def _roll_back(connection: Connection) -> None:
    """What cannot be rolled back is gone with its connection."""
    try:
        connection.rollback()
    except DBAPIError:
        connection.invalidate()
