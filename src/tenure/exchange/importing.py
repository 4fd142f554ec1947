"""Sends a plan to the service: tried as a dry run first, then made in as few transactions as it takes."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from tenure.client import Client
from tenure.errors import TenureError
from tenure.exchange.reading import Thing

MOST: Final = 10_000
"""Objects of one transaction."""


def pieces(items: Sequence[Thing]) -> Iterator[Sequence[Thing]]:
    """The items in transactions."""
    return (items[first : first + MOST] for first in range(0, len(items), MOST))


def attempt(client: Client, items: Sequence[Thing]) -> list[dict[str, Any]]:
    """Try the first transaction and record nothing. What follows it may name what it makes, so it cannot be tried.

    Raises:
        TenureError: As `perform`.
    """
    first = next(pieces(items), ())
    return _send(client, first, dry_run=True) if first else []


def perform(client: Client, items: Sequence[Thing], advance: Callable[[int], None]) -> list[dict[str, Any]]:
    """Make everything; each transaction is all or nothing.

    Args:
        advance: Told how many more are made.

    Raises:
        TenureError: The service's refusal, whose sentence begins with the place in the file; nothing of that
            transaction was made. Fact `where` is the place.
    """
    made: list[dict[str, Any]] = []
    for piece in pieces(items):
        made += _send(client, piece, dry_run=False)
        advance(len(piece))
    return made


def _send(client: Client, items: Sequence[Thing], *, dry_run: bool) -> list[dict[str, Any]]:
    try:
        return client.import_objects([{"kind": item.kind, **item.fields} for item in items], dry_run=dry_run)
    except TenureError as error:
        at = item_of(error)
        if at is None or at >= len(items):
            raise
        where = items[at].where
        raise type(error)(f"{where}: {error.message}", **{**error.facts, "where": where}) from error


def item_of(error: TenureError) -> int | None:
    """Which item of an import was refused, from 0; None if the refusal is of none of them."""
    item = error.facts.get("item")
    if isinstance(item, int):
        return item
    words = str(error.facts.get("pointer", "")).split("/")
    return int(words[2]) if len(words) > 2 and words[1] == "items" and words[2].isdigit() else None
