"""PostgreSQL: several nodes, one lock, bounded by what the server and the kernel time out."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count
from threading import Condition
from typing import Any, Final

import psycopg
from sqlalchemy import URL, Connection, create_engine, event
from sqlalchemy.exc import DBAPIError

from tenure.errors import StoreUnavailable
from tenure.store.interface import DataRefused
from tenure.store.sql.connect import BOUND, conjunction, expect, names
from tenure.store.sql.rows import Row

LOCK: Final = 0x74656E757265  # "tenure"
_CHANNEL: Final = "tenure"
_NUMBERS: Final = count(1)
_REFUSED: Final = (psycopg.IntegrityError, psycopg.DataError, UnicodeEncodeError)

_BEGIN: Final = f"""SELECT pg_advisory_xact_lock({LOCK}), set_config('enable_hashjoin', 'off', true),
 set_config('enable_mergejoin', 'off', true), set_config('enable_seqscan', 'off', true),
 set_config('enable_material', 'off', true)"""
"""Take the lock, and have everything in this transaction looked up by key. Before a table was analyzed the server
takes it for small, and would read the whole of it for a batch of keys."""

_FREE: Final = f"""SELECT pg_terminate_backend(a.pid) FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
 WHERE l.locktype = 'advisory' AND l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname =
 current_database()) AND (l.classid::bigint << 32) + l.objid::bigint = {LOCK}
 AND a.wait_event_type = 'Client' AND a.state_change < clock_timestamp() - make_interval(secs => %s)"""
"""Ends a writer that has left the server waiting for it: a frozen node in the middle of a COPY is not idle, so that
no timeout of the server sees it."""


class Postgres:
    """One database, shared by nodes. The lock is an advisory one, held by the transaction."""

    poll = 1.0

    def __init__(self, url: URL, bound: float = BOUND) -> None:
        self._url = url.set(drivername="postgresql+psycopg")
        self._bound = bound
        self._listener: psycopg.Connection[Any] | None = None
        self._listening = threading.Lock()
        self.engine = create_engine(
            self._url,
            connect_args=_bounds(bound),
            isolation_level="READ COMMITTED",
            pool_size=8,
            max_overflow=56,
            pool_use_lifo=True,
            pool_pre_ping=True,
        )
        event.listen(self.engine, "connect", self._connected)

    def check(self) -> None:
        """What is answered must be durable: a server that does not sync is refused."""
        with self.reading() as connection:
            for setting in ("fsync", "synchronous_commit"):
                if connection.exec_driver_sql(f"SHOW {setting}").scalar() == "off":
                    raise StoreUnavailable(
                        f"PostgreSQL at {self._where()} has {setting} = off, so that what is answered could be lost;"
                        " switch it on."
                    )

    def close(self) -> None:
        """Close every connection."""
        with self._listening:
            self._stop_listening()
        self.engine.dispose()

    def writing(self) -> Connection:
        """READ COMMITTED: each statement after the lock sees what was committed before it."""
        return self.engine.connect()

    def reading(self) -> Connection:
        """One snapshot for all statements."""
        return self.engine.connect().execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)

    def begun(self, connection: Connection) -> None:
        """Wait for the lock, for a bounded time; end a holder that no longer answers the server."""
        try:
            connection.exec_driver_sql(_BEGIN)
        except DBAPIError as error:
            if not isinstance(error.orig, psycopg.errors.LockNotAvailable):
                raise
            connection.rollback()
            connection.exec_driver_sql(_FREE, (self._bound,))
            connection.commit()
            raise StoreUnavailable(
                f"Another node has held the lock of {self._where()} for more than {self._bound:g} seconds."
            ) from error

    def now(self, raw: Any) -> datetime:
        """The server's clock."""
        found: datetime = self.fetch(raw, "SELECT clock_timestamp() AT TIME ZONE 'UTC'", ())[0][0]
        return found.replace(tzinfo=UTC)

    def patient(self, raw: Any) -> None:
        """A reader holds no lock, so that the bound on idling is not for it."""
        raw.execute("SET LOCAL idle_in_transaction_session_timeout = 0")

    def keys(self, *columns: str) -> str:
        """An array a column."""
        arrays = ", ".join(f"%s::{column.split()[1]}[]" for column in columns)
        return f"unnest({arrays}) AS k({', '.join(names(columns))})"

    def pack(self, columns: Sequence[str], rows: Iterable[Row]) -> list[Any]:
        """Columns instead of rows."""
        return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in columns]

    def each(self, table: str, condition: str) -> str:
        """OFFSET keeps the planner from another order: it takes a table that was never analyzed for a small one."""
        return f"CROSS JOIN LATERAL (SELECT * FROM {table} WHERE {condition} OFFSET 0) AS {table.split()[1]}"

    def sql(self, text: str) -> str:
        """psycopg's mark."""
        return text.replace("?", "%s")

    def fetch(self, raw: Any, text: str, parameters: Sequence[Any]) -> list[Row]:
        """Rows of a statement, in binary."""
        found: list[Row] = raw.cursor(binary=True).execute(text, parameters or None).fetchall()
        return found

    def stream(self, raw: Any, text: str, parameters: Sequence[Any]) -> Iterator[Row]:
        """A cursor on the server, 10,000 rows at a time."""
        with raw.cursor(name=f"tenure_{next(_NUMBERS)}", binary=True) as cursor:
            cursor.itersize = 10_000
            cursor.execute(text, parameters or None)
            yield from cursor

    def insert(self, raw: Any, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """COPY; its set-up costs more than a row, so that one row is an INSERT."""
        into = f"{table} ({', '.join(columns)})"
        with raw.cursor() as cursor:
            if len(rows) == 1:
                cursor.execute(f"INSERT INTO {into} VALUES ({', '.join(['%s'] * len(columns))})", rows[0])
                return
            with cursor.copy(f"COPY {into} FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)

    def update(
        self, raw: Any, table: str, key: Sequence[str], columns: Sequence[str], rows: Sequence[Row], *, only: str = ""
    ) -> None:
        """One statement over arrays."""
        every = [*key, *columns]
        what = ", ".join(f"{name} = k.{name}" for name in names(columns))
        where = " AND ".join(f"t.{name} = k.{name}" for name in names(key)) + conjunction(only)
        statement = f"UPDATE {table} AS t SET {what} FROM {self.keys(*every)} WHERE {where}"
        expect(table, len(rows), raw.execute(statement, self.pack(every, rows)).rowcount)

    def delete(self, raw: Any, table: str, key: Sequence[str], rows: Sequence[Row]) -> None:
        """One statement over arrays."""
        where = " AND ".join(f"t.{name} = k.{name}" for name in names(key))
        raw.execute(f"DELETE FROM {table} AS t USING {self.keys(*key)} WHERE {where}", self.pack(key, rows))

    def announce(self, raw: Any) -> None:
        """Sent by the server when the transaction has committed."""
        raw.execute(f"NOTIFY {_CHANNEL}")

    def listen(self, grown: Condition, seconds: float) -> None:
        """One thread listens; others, and one whose connection broke, look again after a while."""
        if not self._listening.acquire(blocking=False):
            with grown:
                grown.wait(min(seconds, 0.1))
            return
        try:
            listener = self._listener = self._listener or self._listen()
            for _ in listener.notifies(timeout=seconds, stop_after=1):
                pass
        except psycopg.Error:
            self._stop_listening()
            with grown:
                grown.wait(seconds)
        finally:
            self._listening.release()

    def json(self, column: str) -> str:
        """Bodies are kept as text; here one is read as JSON."""
        return f"({column}::json)"

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Constraints and values that do not fit are the data's fault, all else the connection's."""
        try:
            yield
        except (psycopg.Error, DBAPIError, UnicodeEncodeError) as error:
            cause = error.orig if isinstance(error, DBAPIError) else error
            if isinstance(cause, _REFUSED):
                raise DataRefused(str(cause)) from error
            if isinstance(cause, psycopg.ProgrammingError) and not isinstance(cause, psycopg.errors.UndefinedTable):
                raise
            raise StoreUnavailable(self._sentence(cause)) from error

    def _connected(self, connection: Any, _record: object) -> None:
        """What bounds this node: how long it may idle with the lock, and how long it waits for it.

        Nothing is compiled: a read of many keys looks costly to the server, and compiling it takes longer than it.
        """
        milliseconds = int(self._bound * 1000)
        with connection.cursor() as cursor:
            for setting in ("idle_in_transaction_session_timeout", "lock_timeout"):
                cursor.execute(f"SET {setting} = {milliseconds}")
            cursor.execute("SET jit = off")
        connection.commit()

    def _listen(self) -> psycopg.Connection[Any]:
        plain = self._url.set(drivername="postgresql").render_as_string(hide_password=False)
        connection = psycopg.connect(plain, autocommit=True, **_bounds(self._bound))
        connection.execute(f"LISTEN {_CHANNEL}")
        return connection

    def _stop_listening(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    def _where(self) -> str:
        return f"{self._url.host or 'the local socket'}, database {self._url.database}"

    def _sentence(self, cause: BaseException | None) -> str:
        said = " ".join(str(cause).split())
        if "does not exist" in said and "database" in said:
            return (
                f"There is no database {self._url.database} on {self._url.host or 'the local socket'}; create it first."
            )
        return f"PostgreSQL at {self._where()} cannot be used: {said or type(cause).__name__}."


def _bounds(bound: float) -> dict[str, Any]:
    """What lets the kernel end a connection whose other side has gone."""
    return {
        "connect_timeout": max(2, int(bound)),
        "keepalives": 1,
        "keepalives_idle": max(1, int(bound / 2)),
        "keepalives_interval": 1,
        "keepalives_count": 3,
        "tcp_user_timeout": int(bound * 1000),
    }
