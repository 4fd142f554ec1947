"""Many claims in one command: from a list of hosts, or from a table."""

import csv
import sys
import uuid
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Final

from typer import BadParameter

from tenure.cli import claims as c
from tenure.cli import output
from tenure.cli.options import custom_field
from tenure.cli.remote import Session
from tenure.client.shapes import BatchItem

_PIECE: Final = 500
_FLAGS: Final = (
    *("static", "defer", "during_cooldown", "contiguous", "queue", "alias", "static_acknowledged", "shared"),
)
_WORDS: Final = ("addresses", "tags")
_SINGLE: Final = ("handle", "host", "machine", "mac", "hostname", "address", "addresses")
_COLUMNS: Final = (
    *("network", "handle", "subnet", "host", "machine", "mac", "hostname", "family", "address", "count"),
    *("project", "purpose", *_FLAGS, *_WORDS, "custom", "on_override", "from", "expires", "harvest"),
)


def by_host(fields: dict[str, Any], file: Path) -> list[dict[str, Any]]:
    """A claim for each host of a file, or `count` of them, from its top again as often as needed."""
    hosts = [line.strip() for line in file.read_text().splitlines() if line.strip() and not line.startswith("#")]
    if not hosts:
        raise BadParameter(f"{file} names no host", param_hint="--hosts-from")
    single = [name for name in _SINGLE if name in fields]
    if single:
        raise BadParameter(f"--{single[0]} is for one claim", param_hint="--hosts-from")
    count = fields.pop("count", len(hosts))
    return [{**fields, "host": host} for host in islice(cycle(hosts), count)]


def by_row(fields: dict[str, Any], file: Path | None) -> list[dict[str, Any]]:
    """A claim for each row of a CSV file; what a row leaves empty is as the options say."""
    assert file is not None
    with file.open(newline="", encoding="utf-8-sig") as opened:
        rows = csv.DictReader(opened)
        for column in rows.fieldnames or ():
            if column not in _COLUMNS:
                known = ", ".join(_COLUMNS)
                raise BadParameter(f"{file}: {column!r} is no field of a claim; allowed: {known}", param_hint="--batch")
        return [{**fields, **_row(row, file, number)} for number, row in enumerate(rows, 2)]


def _row(row: dict[str, Any], file: Path, number: int) -> dict[str, Any]:
    given = {name: value for name, value in row.items() if value}
    if None in row or not all(isinstance(value, str) for value in given.values()):
        raise BadParameter(f"{file}, row {number}: it has more values than there are columns", param_hint="--batch")
    try:
        return {name: _typed(name, value) for name, value in given.items()}
    except (KeyError, ValueError):
        raise BadParameter(
            f"{file}, row {number}: a count is a number, a flag yes or no", param_hint="--batch"
        ) from None


def _typed(name: str, value: str) -> Any:
    if name == "count":
        return int(value)
    if name in _WORDS:
        return value.split()
    if name == "custom":
        return dict(custom_field(word) for word in value.split())
    if name == "expires":
        return c.ends(value)
    if name in _FLAGS:
        return {"yes": True, "true": True, "no": False, "false": False}[value.lower()] if value else None
    return value


def claim(asked: Session, claims: list[dict[str, Any]]) -> bool:
    """Make the claims, piece by piece, and print what came of each; whether all of them were granted."""
    items = list(_claimed(asked, claims))
    refused = [item["problem"] for item in items if "problem" in item]
    if asked.json:
        output.value(items)
    else:
        granted = [c.row(item["claim"]) for item in items if "claim" in item]
        output.table(("addresses", "name", "host", "state", "handle", "id"), granted)
        for problem in refused[:20]:
            print(problem["detail"], file=sys.stderr)
        print(f"{len(granted):,} granted, {len(refused):,} refused.", file=sys.stderr)
    return not refused


def _claimed(asked: Session, claims: list[dict[str, Any]]) -> Iterator[BatchItem]:
    run = uuid.uuid4().hex
    with output.progress("Claiming", len(claims)) as advance:
        for first in range(0, len(claims), _PIECE):
            piece = claims[first : first + _PIECE]
            yield from asked.client.claims.batch(piece, key=f"{run}-{first}")
            advance(len(piece))
