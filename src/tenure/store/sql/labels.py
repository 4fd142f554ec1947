"""Filters on tags and custom fields."""

from collections.abc import Iterator, Sequence

from sqlalchemy import ColumnElement, Table, select

from tenure.engine.labels import LABELLED, of_field, of_tag
from tenure.store.sql import tables as t


def labelled(table: Table, tags: Sequence[str], custom: Sequence[tuple[str, str]]) -> Iterator[ColumnElement[bool]]:
    """Conditions: a thing of `table` has all of the tags, and custom fields of these values (as text).

    Cost: a range of the index of labels for each.
    """
    c = t.labels.c
    for label in [*map(of_tag, tags), *(of_field(*field) for field in custom)]:
        yield table.c.id.in_(select(c.thing).where(c.kind == LABELLED[table.name], c.label == label))
