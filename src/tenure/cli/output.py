"""What a command prints: tables and lines for people, one JSON value for programs; progress on standard error."""

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, Final

_WIDE: Final = 10_000
_A_LABEL: Final = re.compile(r"(?<![\w-])xn--[a-z0-9-]+")
_MANY: Final = 1000
"""Rows that are read for people; programs get all."""


def value(thing: Any) -> None:
    """One JSON value."""
    json.dump(thing, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


def fields(thing: Mapping[str, Any]) -> None:
    """One thing, a line for each field."""
    shown = [(name, text(part)) for name, part in thing.items()]
    width = max((len(name) for name, _ in shown), default=0)
    for name, part in shown:
        print(f"{name:<{width}}  {part}")


def table(columns: Sequence[str], things: Iterable[Mapping[str, Any]]) -> None:
    """Things, one a row; cut to the terminal's width on one, whole elsewhere."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    terminal = sys.stdout.isatty()
    drawn = Table(box=box.SIMPLE_HEAD if terminal else None, pad_edge=False, header_style="bold")
    for column in columns:
        drawn.add_column(column.replace("_", " "), overflow="fold" if terminal else "ignore", no_wrap=not terminal)
    for thing in things:
        drawn.add_row(*(Text(text(thing.get(column))) for column in columns))
    console = Console(width=None if terminal else _WIDE, highlight=False)
    if drawn.row_count:
        console.print(drawn)


def listed(columns: Sequence[str], things: Iterator[Mapping[str, Any]], limit: int | None, for_program: bool) -> None:
    """A list as far as it was asked for, in order if that is all of it; without a limit people see a thousand."""
    if for_program:
        value(list(islice(things, limit)))
        return
    found = list(islice(things, limit or _MANY))
    whole = next(things, None) is None
    if whole:
        found.sort(key=lambda thing: _natural(text(thing.get(columns[0]))))
    table(columns, found)
    if limit is None and not whole:
        print(f"These are the first {_MANY:,}; --limit shows more, filters show others.", file=sys.stderr)


def _natural(said: str) -> list[tuple[int, str]]:
    """A key by which host-2 comes before host-10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"([0-9]+)", said)]


_SOME: Final = 5


def some(first: Sequence[str], count: int) -> str:
    """The first five of many as people read them, and how many more there are."""
    shown = first[:_SOME] if count > _SOME + 1 else first[: _SOME + 1]
    more = f" … and {count - len(shown):,} more" if count > len(shown) else ""
    return ", ".join(shown) + more


def text(part: Any) -> str:
    """A part of a thing as people read it: names in Unicode, where programs get them as they are kept."""
    if part is None or part == "":
        return "-"
    if isinstance(part, bool):
        return "yes" if part else "no"
    if isinstance(part, list):
        return ", ".join(map(text, part)) or "-"
    if isinstance(part, dict):
        return _words(part)
    return _in_unicode(str(part))


def _in_unicode(said: str) -> str:
    if "xn--" not in said:
        return said
    from tenure.naming.hostnames import display

    return _A_LABEL.sub(lambda found: display(found[0]), said)


def _words(part: Mapping[str, Any]) -> str:
    for name in ("ip", "mac", "name"):
        if part.get(name):
            return _in_unicode(str(part[name]))
    return ", ".join(f"{name}={text(each)}" for name, each in part.items() if each not in (None, {}, [])) or "-"


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on standard error, if that is a terminal; call what it gives with how many more are done."""
    if not sys.stderr.isatty():
        yield lambda more: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as shown:
        task = shown.add_task(what, total=total)
        yield lambda more: shown.advance(task, more)
