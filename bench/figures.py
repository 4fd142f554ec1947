"""Figures: what was measured, beside what it should be and beside the limit; as JSON, or as a table for people."""

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

Told = Callable[["Figure"], None]


class Figure(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One thing measured.

    Attributes:
        least, most: The target: at least, or at most that.
        raw: What the driver alone does with the same rows in the same run: the limit.
        ratio: Measured to raw, or to what `of` names; `ratio_least` is its target.
        facts: What else was seen, for whoever wonders why.
    """

    name: str
    unit: str
    measured: float
    least: float | None = None
    most: float | None = None
    raw: float | None = None
    ratio: float | None = None
    ratio_least: float | None = None
    of: str = ""
    facts: dict[str, object] = {}

    @property
    def met(self) -> bool | None:
        """Whether every target is; None without one."""
        verdicts = list(self._verdicts())
        return all(verdicts) if verdicts else None

    def _verdicts(self) -> Iterator[bool]:
        if self.least is not None:
            yield self.measured >= self.least
        if self.most is not None:
            yield self.measured <= self.most
        if self.ratio is not None and self.ratio_least is not None:
            yield self.ratio >= self.ratio_least


class Report:
    """All figures of a run, in order; each is told on standard error as it comes, if that is a terminal."""

    def __init__(self, scale: float) -> None:
        self.scale = scale
        self.figures: list[Figure] = []
        self._console = Console(stderr=True)

    def add(self, figure: Figure) -> Figure:
        """Take one in."""
        self.figures.append(figure)
        self.say(f"{figure.name}: {_number(figure.measured)} {figure.unit}")
        return figure

    def say(self, text: str) -> None:
        """Tell whoever watches."""
        if sys.stderr.isatty():
            self._console.print(text, highlight=False)

    def json(self) -> bytes:
        """One JSON value."""
        figures = [{**msgspec.to_builtins(figure), "met": figure.met} for figure in self.figures]
        return msgspec.json.format(
            msgspec.json.encode({"machine": _machine(), "scale": self.scale, "figures": figures})
        )

    def show(self, *, as_json: bool) -> None:
        """Write all of it to standard output: one JSON value for programs, a table for people."""
        if as_json:
            sys.stdout.buffer.write(self.json() + b"\n")
        else:
            Console(width=None if sys.stdout.isatty() else 160).print(self.table())

    def table(self) -> Table:
        """A table for people."""
        table = Table(title=f"Scale {self.scale:g}: {_machine()}", title_justify="left")
        for name, side in zip(_COLUMNS, ("left", "right", "right", "right", "right", "left"), strict=True):
            table.add_column(name, justify=side)  # type: ignore[arg-type]
        for figure in self.figures:
            table.add_row(*_row(figure))
        return table


_COLUMNS = ("figure", "target", "measured", "raw", "ratio", "met")


def _row(figure: Figure) -> Iterator[str]:
    yield figure.name
    yield _target(figure)
    yield f"{_number(figure.measured)} {figure.unit}"
    yield "" if figure.raw is None else _number(figure.raw)
    yield "" if figure.ratio is None else f"{figure.ratio:.2f}" + (f" of {figure.of}" if figure.of else "")
    yield {True: "yes", False: "[bold red]no[/]", None: ""}[figure.met]


def _target(figure: Figure) -> str:
    parts = [f"≥ {_number(figure.least)}"] if figure.least is not None else []
    parts += [f"≤ {_number(figure.most)}"] if figure.most is not None else []
    parts += [f"ratio ≥ {figure.ratio_least:g}"] if figure.ratio_least is not None else []
    return ", ".join(parts)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _machine() -> str:
    cores = len(os.sched_getaffinity(0))
    load = os.getloadavg()[0]
    return f"{cores} cores, load {load:.1f}, Python {platform.python_version()}, Linux {platform.release()}"


def command(doc: str | None, run: Callable[[Report, float, Path], None], argv: Sequence[str] | None) -> None:
    """The command line of a bench: how much of it, and how its figures are shown; `run` has a directory of its own."""
    words = argparse.ArgumentParser(description=doc)
    words.add_argument("--scale", type=float, default=1.0, help="of every count; targets say nothing below 1")
    words.add_argument("--json", action="store_true", help="one JSON value instead of a table")
    asked = words.parse_args(argv)
    report = Report(asked.scale)
    with tempfile.TemporaryDirectory(prefix="tnb-") as directory:
        run(report, asked.scale, Path(directory))
    report.show(as_json=asked.json)
