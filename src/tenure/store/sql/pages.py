"""How the reads page: by key, one statement a page, with the head of the same snapshot."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final, TypeVar

import msgspec
from sqlalchemy import ColumnElement, Connection, Select, and_, tuple_

from tenure.errors import InvalidValue
from tenure.store.interface import Head, Page
from tenure.store.sql.connect import Database
from tenure.store.sql.turns import read_head

V = TypeVar("V")
Key = tuple[ColumnElement[Any], ...]

MOST: Final = 1000
LARGEST: Final = 2**63 - 1
"""The largest number that a column holds."""

_LAST: Final = "\U0010ffff"


class Snapshot:
    """One reading transaction, and the head that it sees."""

    def __init__(self, connection: Connection, head: Head) -> None:
        self.connection = connection
        self.head = head

    def all(self, query: Select[Any]) -> list[Any]:
        """Rows of a query."""
        return list(self.connection.execute(query))

    def first(self, query: Select[Any]) -> Any:
        """Its first row, or None."""
        return self.connection.execute(query.limit(1)).first()

    def page(self, query: Select[Any], key: Key, after: str, limit: int, of: Callable[[list[Any]], list[V]]) -> Page[V]:
        """The rows of `query` after a cursor, in the order of `key`.

        Args:
            query: Its columns, then nothing else; `key` is added behind them.
            of: Makes the values of all rows at once, so that what hangs on them is read at once.

        Raises:
            InvalidValue: The cursor is not one of ours, or the limit is out of bounds.
        """
        return self.merged([query], key, after, limit, of)

    def merged(
        self, queries: Sequence[Select[Any]], key: Key, after: str, limit: int, of: Callable[[list[Any]], list[V]]
    ) -> Page[V]:
        """The rows of several queries with the same columns, as of one; each may have an index of its own."""
        bounded(limit)
        width = len(queries[0].selected_columns)
        behind = _beyond(key, read_cursor(after, key)) if after else None
        rows: list[tuple[Any, ...]] = []
        for query in queries:
            part = query if behind is None else query.where(behind)
            part = part.add_columns(*key).order_by(*key).limit(limit + 1)
            rows += [tuple(row) for row in self.connection.execute(part)]
        if len(queries) > 1:
            rows.sort(key=lambda row: row[width:])
        shown = rows[:limit]
        return Page(
            of([row[:width] for row in shown]), cursor(shown[-1][width:]) if len(rows) > limit else None, self.head
        )


def bounded(limit: int, most: int = MOST) -> int:
    """The limit, if it is one.

    Raises:
        InvalidValue: It is out of bounds.
    """
    if not 1 <= limit <= most:
        raise InvalidValue(f"limit must be 1 to {most}", pointer="/limit", value=limit)
    return limit


@contextmanager
def seen(db: Database, reading: Callable[[], AbstractContextManager[Connection]]) -> Iterator[Snapshot]:
    """A snapshot to read from."""
    with reading() as connection:
        yield Snapshot(connection, read_head(db, connection.connection.driver_connection))


def beginning(column: ColumnElement[Any], q: str) -> ColumnElement[bool]:
    """Whether a text column begins with `q`, in a form that an index answers."""
    return and_(column >= q, column <= q + _LAST)


def _beyond(key: tuple[ColumnElement[Any], ...], values: list[Any]) -> ColumnElement[bool]:
    """What comes after `values`; its first column alone too, which is what an index of it can begin with."""
    if len(key) == 1:
        after: ColumnElement[bool] = key[0] > values[0]
        return after
    return and_(key[0] >= values[0], tuple_(*key) > tuple_(*values))


def cursor(values: tuple[Any, ...]) -> str:
    """The cursor of the page after a row with this key."""
    plain = [bytes(v).hex() if isinstance(v, bytes | memoryview) else v for v in values]
    return msgspec.json.encode(plain).hex()


def read_cursor(text: str, key: tuple[ColumnElement[Any], ...]) -> list[Any]:
    """Values of the key's own types.

    Raises:
        InvalidValue: It is a cursor of another list, or none.
    """
    try:
        values = msgspec.json.decode(bytes.fromhex(text), type=list[str | int])
        return [_of_type(column.type.python_type, value) for column, value in zip(key, values, strict=True)]
    except (ValueError, msgspec.MsgspecError):
        raise InvalidValue("after is not a cursor of this list", pointer="/after", value=text[:64]) from None


def _of_type(type_: type, value: str | int) -> Any:
    if type_ is bytes:
        return bytes.fromhex(str(value))
    if not isinstance(value, type_) or (isinstance(value, int) and abs(value) > LARGEST):
        raise ValueError("another list's cursor")
    return value
