"""All that differs between SQLite and PostgreSQL.

SQLAlchemy owns the connections and the inventory; what is written or read for every claim goes to the driver
below it (`raw`), because a statement through SQLAlchemy costs more than the row.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path
from threading import Condition
from typing import Any, Final, Protocol

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError

from tenure.errors import StoreUnavailable
from tenure.store.interface import DataRefused
from tenure.store.sql.rows import Row

Clock = Callable[[], datetime]

BOUND: Final = 5.0
"""Seconds for which one node may keep the others from the lock."""


class Database(Protocol):
    """One kind of database. Its errors leave as `StoreUnavailable` and `DataRefused`, see `translated`."""

    engine: Engine
    poll: float
    """Seconds between looks at the ledger while waiting for it to grow."""

    def check(self) -> None:
        """Refuse a database that is not there or does not sync.

        Raises:
            StoreUnavailable: With one clear sentence.
        """
        ...

    def begun(self, connection: Connection) -> None:
        """Take the writers' lock in the transaction that has just begun."""
        ...

    def now(self, raw: Any) -> datetime:
        """The clock that decides."""
        ...

    def writing(self) -> Connection:
        """A connection for a writing transaction."""
        ...

    def reading(self) -> Connection:
        """A connection for a transaction that sees one moment."""
        ...

    def patient(self, raw: Any) -> None:
        """Let the reading transaction at hand pause: whoever loads a million rows computes between them."""
        ...

    def keys(self, *columns: str) -> str:
        """A FROM item named `k` that holds the given keys; a column is `name type`."""
        ...

    def pack(self, columns: Sequence[str], rows: Iterable[Row]) -> list[Any]:
        """The parameters of `keys`."""
        ...

    def each(self, table: str, condition: str) -> str:
        """What follows `FROM {keys}`: the rows of `table alias` for each key by itself, through an index."""
        ...

    def sql(self, text: str) -> str:
        """A statement with `?` in this database's words."""
        ...

    def fetch(self, raw: Any, text: str, parameters: Sequence[Any]) -> list[Row]:
        """Rows of a statement, by the driver."""
        ...

    def stream(self, raw: Any, text: str, parameters: Sequence[Any]) -> Iterator[Row]:
        """Rows of a statement that may be many, without holding them all."""
        ...

    def insert(self, raw: Any, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Insert many rows, as quickly as the driver can."""
        ...

    def update(
        self, raw: Any, table: str, key: Sequence[str], columns: Sequence[str], rows: Sequence[Row], *, only: str = ""
    ) -> None:
        """Update many rows of `t` by key; a row holds its key, then its values. Columns are `name type`.

        Raises:
            DataRefused: Another number of rows than these was there.
        """
        ...

    def delete(self, raw: Any, table: str, key: Sequence[str], rows: Sequence[Row]) -> None:
        """Delete many rows by key."""
        ...

    def announce(self, raw: Any) -> None:
        """Tell other nodes at commit that the ledger has grown."""
        ...

    def listen(self, grown: Condition, seconds: float) -> None:
        """Return when the ledger may have grown; `grown` is notified where this process wrote it."""
        ...

    def json(self, column: str) -> str:
        """A text column as JSON that `->>` reads."""
        ...

    def translated(self) -> AbstractContextManager[None]:
        """Turn the driver's errors into ours."""
        ...

    def close(self) -> None:
        """Let go of every connection."""
        ...


def names(columns: Iterable[str]) -> list[str]:
    """The names of columns that are given as `name type`."""
    return [column.split()[0] for column in columns]


class Sqlite:
    """One file, WAL, every commit synced."""

    poll = 0.1

    def __init__(self, path: Path, clock: Clock, bound: float = BOUND) -> None:
        self.path = path
        self._clock = clock
        self.engine = create_engine(
            f"sqlite+pysqlite:///{path}",
            connect_args={"isolation_level": None, "timeout": bound, "cached_statements": 512},
            pool_size=8,
            max_overflow=56,
            pool_use_lifo=True,
        )
        event.listen(self.engine, "connect", _pragmas)
        event.listen(self.engine, "begin", _begin)

    def check(self) -> None:
        """The file's directory must be there."""
        if not self.path.parent.is_dir():
            raise StoreUnavailable(f"There is no directory {self.path.parent} for the database {self.path.name}.")

    def close(self) -> None:
        """Close the file; the last connection folds the WAL into it."""
        self.engine.dispose()

    def listen(self, grown: Condition, seconds: float) -> None:
        """Woken by this process's commits; another process's are seen at the next look."""
        with grown:
            grown.wait(seconds)

    def json(self, column: str) -> str:
        """Text is JSON."""
        return column

    def writing(self) -> Connection:
        """A connection whose transaction begins by taking SQLite's lock."""
        return self.engine.connect().execution_options(begin="BEGIN IMMEDIATE")

    def reading(self) -> Connection:
        """A connection whose transaction sees the file as at its first statement."""
        return self.engine.connect()

    def begun(self, connection: Connection) -> None:
        """BEGIN IMMEDIATE has the lock already."""

    def now(self, raw: Any) -> datetime:
        """The node's clock."""
        return self._clock()

    def patient(self, raw: Any) -> None:
        """Nothing times out."""

    def keys(self, *columns: str) -> str:
        """One JSON array of arrays; bytes travel in hexadecimal."""
        parts = [_json_column(place, *column.split()) for place, column in enumerate(columns)]
        return f"(SELECT {', '.join(parts)} FROM json_each(?)) AS k"

    def pack(self, columns: Sequence[str], rows: Iterable[Row]) -> list[Any]:
        """The JSON text."""
        if any(column.endswith(" bytea") for column in columns):
            rows = [tuple(v.hex() if isinstance(v, bytes) else v for v in row) for row in rows]
        return [json.dumps(list(rows))]

    def each(self, table: str, condition: str) -> str:
        """SQLite joins a CROSS JOIN as it is written."""
        return f"CROSS JOIN {table} WHERE {condition}"

    def sql(self, text: str) -> str:
        """As it is."""
        return text

    def fetch(self, raw: sqlite3.Connection, text: str, parameters: Sequence[Any]) -> list[Row]:
        """Rows of a statement."""
        return raw.execute(text, parameters).fetchall()

    def stream(self, raw: sqlite3.Connection, text: str, parameters: Sequence[Any]) -> Iterator[Row]:
        """SQLite's cursor is a stream."""
        yield from raw.execute(text, parameters)

    def insert(self, raw: sqlite3.Connection, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """One prepared statement."""
        marks = ", ".join("?" * len(columns))
        raw.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)

    def update(
        self,
        raw: sqlite3.Connection,
        table: str,
        key: Sequence[str],
        columns: Sequence[str],
        rows: Sequence[Row],
        *,
        only: str = "",
    ) -> None:
        """One prepared statement, its parameters numbered because the key comes first."""
        where = " AND ".join(f"{name} = ?{n}" for n, name in enumerate(names(key), 1))
        what = ", ".join(f"{name} = ?{n}" for n, name in enumerate(names(columns), len(key) + 1))
        done = raw.executemany(f"UPDATE {table} AS t SET {what} WHERE {where}{conjunction(only)}", rows)
        expect(table, len(rows), done.rowcount)

    def delete(self, raw: sqlite3.Connection, table: str, key: Sequence[str], rows: Sequence[Row]) -> None:
        """One prepared statement."""
        where = " AND ".join(f"{name} = ?" for name in names(key))
        raw.executemany(f"DELETE FROM {table} WHERE {where}", rows)

    def announce(self, raw: sqlite3.Connection) -> None:
        """There are no other nodes; other processes look at the file."""

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Constraints and values that do not fit are the data's fault, all else the file's."""
        try:
            yield
        except (sqlite3.IntegrityError, sqlite3.DataError, OverflowError, UnicodeEncodeError) as error:
            raise DataRefused(str(error)) from error
        except sqlite3.Error as error:
            raise StoreUnavailable(_sentence(self.path, error)) from error
        except DBAPIError as error:
            if isinstance(error.orig, sqlite3.IntegrityError | sqlite3.DataError):
                raise DataRefused(str(error.orig)) from error
            raise StoreUnavailable(_sentence(self.path, error.orig)) from error


def expect(table: str, rows: int, found: int) -> None:
    """See that a change met the rows it was for: where the memory and the tables differ, nothing may go on.

    Raises:
        DataRefused: It did not.
    """
    if rows != found:
        raise DataRefused(f"{rows} rows of {table} were to be changed, and {found} are there")


def conjunction(condition: str) -> str:
    """What stands behind a WHERE for one more condition, if there is one."""
    return f" AND {condition}" if condition else ""


def _sentence(path: Path, error: BaseException | None) -> str:
    return f"The database {path} cannot be used: {error}."


def _json_column(place: int, name: str, type_: str) -> str:
    value = f"json_extract(value, '$[{place}]')"
    return f"{f'unhex({value})' if type_ == 'bytea' else value} AS {name}"


def _pragmas(connection: sqlite3.Connection, _record: object) -> None:
    """WAL and FULL: a commit returns after its pages are synced; the WAL may grow to 16 MB between checkpoints."""
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "wal_autocheckpoint=4000", "cache_size=-65536"):
        connection.execute(f"PRAGMA {pragma}")
    connection.create_function("unhex", 1, bytes.fromhex, deterministic=True)


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get("begin", "BEGIN"))
