"""How the reads page: by key, one statement a page, with the head of the same snapshot."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final, TypeVar

import msgspec
from sqlalchemy import ColumnElement, Connection, Select, and_, tuple_

from tenure.errors import InvalidValue
from tenure.store.interface import Head, Page
from tenure.store.sql.connect import Database
from tenure.store.sql.turns import read_head

V = TypeVar("V")

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

    def page(
        self,
        query: Select[Any],
        key: tuple[ColumnElement[Any], ...],
        after: str,
        limit: int,
        of: Callable[[list[Any]], list[V]],
    ) -> Page[V]:
        """The rows of `query` after a cursor, in the order of `key`.

        Args:
            query: Its columns, then nothing else; `key` is added behind them.
            of: Makes the values of all rows at once, so that what hangs on them is read at once.

        Raises:
            InvalidValue: The cursor is not one of ours, or the limit is out of bounds.
        """
        bounded(limit)
        width = len(query.selected_columns)
        query = query.add_columns(*key).order_by(*key).limit(limit + 1)
        if after:
            query = query.where(_beyond(key, _read_cursor(after, key)))
        rows = [tuple(row) for row in self.connection.execute(query)]
        more = len(rows) > limit
        shown = rows[:limit]
        return Page(of([row[:width] for row in shown]), _cursor(shown[-1][width:]) if more else None, self.head)


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


def _cursor(values: tuple[Any, ...]) -> str:
    plain = [bytes(v).hex() if isinstance(v, bytes | memoryview) else v for v in values]
    return msgspec.json.encode(plain).hex()


def _read_cursor(text: str, key: tuple[ColumnElement[Any], ...]) -> list[Any]:
    """Values of the key's own types; a cursor of another list does not fit."""
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
