"""The databases that are measured: made, copied with all that is in them, and written by their driver alone.

Names are short, because a data directory holds sockets, whose paths must be.
"""

import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import psycopg
from psycopg import sql

from tenure.app.child import now
from tenure.store.interface import Store
from tenure.store.sql.connect import BOUND, Database
from tenure.store.sql.store import SqlStore, database
from tests.lab.postgres import Cluster

Insert = tuple[str, Sequence[str], Sequence[Any]]
"""Table, columns, rows."""
FILE = "tenure.sqlite"


class Recorder:
    """A database that remembers what was inserted; all else is the database's own.

    Attributes:
        transactions: What was inserted, by transaction, since they were taken last.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self.transactions: list[list[Insert]] = []

    def taken(self) -> list[list[Insert]]:
        """The transactions, and forget them."""
        taken, self.transactions = self.transactions, []
        return taken

    def __getattr__(self, name: str) -> Any:
        """Everything else."""
        return getattr(self._db, name)

    def insert(self, raw: Any, table: str, columns: Sequence[str], rows: Sequence[Any]) -> None:
        """Remember and insert."""
        if table == "ledger":
            self.transactions.append([])
        self.transactions[-1].append((table, columns, rows))
        self._db.insert(raw, table, columns, rows)


Write = Callable[[Sequence[Insert]], None]


class Place(Protocol):
    """Where one ledger is.

    Attributes:
        directory: The data directory.
        options: Those of `tenure serve` for it.
    """

    directory: Path
    options: list[str]

    def copy(self) -> "Place":
        """The same ledger once more; nobody may have this one open."""
        ...

    def driver(self) -> AbstractContextManager[Write]:
        """The driver alone: what writes one transaction as quickly as it can durably."""
        ...

    def drop(self) -> None:
        """Remove it."""
        ...

    @property
    def where(self) -> str | Path:
        """What the store is opened by."""
        ...


def recorded(place: Place) -> tuple[Store, Recorder]:
    """The store at a place, and what it will have inserted."""
    recorder = Recorder(database(place.where, now, BOUND))
    return SqlStore(recorder), recorder


class SqliteFiles:
    """Embedded ledgers, each in a directory of its own under `parent`."""

    name = "SQLite"

    def __init__(self, parent: Path) -> None:
        self._parent = parent
        self._numbers = count()

    def make(self) -> "SqliteFile":
        """An empty one."""
        directory = self._parent / f"s{next(self._numbers)}"
        directory.mkdir()
        return SqliteFile(self, directory)


class SqliteFile:
    """One embedded ledger."""

    def __init__(self, files: SqliteFiles, directory: Path) -> None:
        self._files = files
        self.directory = directory
        self.options: list[str] = []

    @property
    def where(self) -> Path:
        """Its file."""
        return self.directory / FILE

    def copy(self) -> "SqliteFile":
        """A copy of the file; the last to close it folded its WAL in."""
        other = self._files.make()
        shutil.copy(self.where, other.where)
        return other

    @contextmanager
    def driver(self) -> Iterator[Write]:
        """One prepared statement a table, WAL, every commit synced: as the product's connection."""
        connection = sqlite3.connect(self.where, isolation_level=None, cached_statements=512)
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "wal_autocheckpoint=4000", "cache_size=-65536"):
            connection.execute(f"PRAGMA {pragma}")

        def write(inserts: Sequence[Insert]) -> None:
            connection.execute("BEGIN IMMEDIATE")
            for table, columns, rows in inserts:
                marks = ", ".join("?" * len(columns))
                connection.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)
            connection.execute("COMMIT")

        yield write
        connection.close()

    def drop(self) -> None:
        """Remove its directory."""
        shutil.rmtree(self.directory)


class PostgresDatabases:
    """Ledgers in one private cluster."""

    name = "PostgreSQL"

    def __init__(self, parent: Path, cluster: Cluster) -> None:
        self._parent = parent
        self.numbers = count()
        self.cluster = cluster

    def make(self) -> "PostgresDatabase":
        """An empty one."""
        return PostgresDatabase(self, self.directory(), self.cluster.create_database())

    def directory(self) -> Path:
        """A data directory for one more node."""
        directory = self._parent / f"p{next(self.numbers)}"
        directory.mkdir()
        return directory


class PostgresDatabase:
    """One ledger in PostgreSQL."""

    def __init__(self, databases: PostgresDatabases, directory: Path, url: str) -> None:
        self._databases = databases
        self.directory = directory
        self.url = url
        self.options = ["--database", url]

    @property
    def where(self) -> str:
        """Its URL."""
        return self.url

    def copy(self) -> "PostgresDatabase":
        """A database of which this one is the template."""
        url = self._databases.cluster.url(f"copy_{next(self._databases.numbers)}")
        self._administer(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(_name(url), _name(self.url)))
        return PostgresDatabase(self._databases, self._databases.directory(), url)

    @contextmanager
    def driver(self) -> Iterator[Write]:
        """COPY for many rows, one statement for few, every commit synced."""
        with psycopg.connect(self.url) as connection, connection.cursor() as cursor:

            def write(inserts: Sequence[Insert]) -> None:
                for table, columns, rows in inserts:
                    _insert(cursor, table, columns, rows)
                connection.commit()

            yield write

    def drop(self) -> None:
        """Drop the database."""
        self._administer(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(_name(self.url)))
        shutil.rmtree(self.directory)

    def _administer(self, statement: sql.Composed) -> None:
        with psycopg.connect(self._databases.cluster.url(), autocommit=True) as connection:
            connection.execute(statement)


_COPY_FROM = 8


def _insert(cursor: psycopg.Cursor[Any], table: str, columns: Sequence[str], rows: Sequence[Any]) -> None:
    into = sql.SQL("{} ({})").format(sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, columns)))
    if len(rows) < _COPY_FROM:
        marks = sql.SQL(", ").join([sql.Placeholder()] * len(columns))
        for row in rows:
            cursor.execute(sql.SQL("INSERT INTO {} VALUES ({})").format(into, marks), row)
        return
    with cursor.copy(sql.SQL("COPY {} FROM STDIN").format(into)) as copy:
        for row in rows:
            copy.write_row(row)


def _name(url: str) -> sql.Identifier:
    return sql.Identifier(url.rpartition("/")[2])


@contextmanager
def cluster() -> Iterator[Cluster]:
    """A private PostgreSQL with `fsync` and `synchronous_commit` on, gone afterwards."""
    made = Cluster()
    try:
        made.start()
        yield made
    finally:
        made.remove()
