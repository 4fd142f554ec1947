"""What all lists and single things have in common: each is read in one snapshot, what is open of one table."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import msgspec
from sqlalchemy import ColumnElement, Connection, Select, Table, TextClause, select

from tenure.errors import InvalidValue
from tenure.net.addresses import parse_prefix
from tenure.store.interface import Page, Seen
from tenure.store.sql import rows as r
from tenure.store.sql import tables as t
from tenure.store.sql.connect import Database
from tenure.store.sql.pages import Snapshot, beginning, seen

V = TypeVar("V")


class Lists:
    """Reading over either database."""

    def __init__(self, db: Database, reading: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._db = db
        self._reading = reading

    def _seen(self) -> AbstractContextManager[Snapshot]:
        return seen(self._db, self._reading)

    def _list(
        self,
        table: Table,
        type_: type[V],
        after: str,
        limit: int,
        more: Iterable[ColumnElement[bool] | TextClause] = (),
        *,
        q: str = "",
        **equal: str,
    ) -> Page[V]:
        decode = msgspec.json.Decoder(type_).decode
        query = opened(select(table.c.body), table, q=q, **equal).where(*more)
        with self._seen() as at:
            return at.page(query, (table.c.id,), after, limit, lambda rows: [decode(row[0]) for row in rows])

    def _one(self, table: Table, type_: type[V], name: str) -> Seen[V | None]:
        with self._seen() as at:
            row = only(at, select(table.c.body), table, name)
            return Seen(None if row is None else msgspec.json.decode(row[0], type=type_), at.head)


def opened(query: Select[Any], table: Table, *, q: str = "", **equal: str) -> Select[Any]:
    """What is open, has these columns, and a name that begins with `q`."""
    query = query.where(table.c.until.is_(None))
    for name, value in equal.items():
        query = query.where(table.c[name] == value) if value else query
    return query.where(beginning(table.c.name, q)) if q else query


def only(at: Snapshot, query: Select[Any], table: Table, name: str) -> Any:
    """The open row with this id, else the only one with this name; of subnets, with this prefix."""
    here = query.where(table.c.until.is_(None))
    row = at.first(here.where(table.c.id == name))
    named = _named(table, name)
    if row is not None or named is None:
        return row
    found = at.all(here.where(named).limit(2))
    return found[0] if len(found) == 1 else None


def _named(table: Table, name: str) -> ColumnElement[bool] | None:
    if table is t.subnets:
        try:
            return table.c.prefix == r.packed_prefix(str(parse_prefix(name)))
        except InvalidValue:
            return None
    return table.c.name == name if "name" in table.c else None
