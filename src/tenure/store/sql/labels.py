"""Filters on tags and custom fields, which are kept in the body of a thing."""

from collections.abc import Iterator, Sequence

from sqlalchemy import ColumnElement, TextClause, literal_column, text

from tenure.model.machines import BEGINNING
from tenure.store.sql import tables as t
from tenure.store.sql.connect import Database

Custom = Sequence[tuple[str, str]]
"""Names of custom fields with the values that they must have, as text."""


def labelled(db: Database, column: str, tags: Sequence[str], custom: Custom) -> Iterator[TextClause]:
    """Conditions: the JSON text `column` (`table.column`) has all of the tags, and custom fields of these values.

    Cost: the JSON of every row that passes what else is asked is read.
    """
    has, says = db.labels(column)
    for number, tag in enumerate(tags):
        yield text(has.format(tag=f":tag_{number}")).bindparams(**{f"tag_{number}": tag})
    for number, (name, value) in enumerate(custom):
        condition = says.format(name=f":name_{number}", value=f":value_{number}")
        yield text(condition).bindparams(**{f"name_{number}": name, f"value_{number}": value})


def in_state(db: Database, state: str) -> ColumnElement[bool]:
    """Machines in a state of their lives; those that never took a step are as their kind begins."""
    said: ColumnElement[str] = literal_column(f"{db.json('machines.body')} ->> 'state'")
    kinds = [kind for kind, begins in BEGINNING.items() if begins == state]
    begun = t.machines.c.kind.in_(kinds) & said.is_(None)
    return (t.machines.c.kind != "device") & ((said == state) | begun)
