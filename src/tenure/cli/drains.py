"""Emptying things: `drain`, which places and subnets have alike, and what is left or was moved."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

from typer import Context, Option, Typer

from tenure.cli import claims as c
from tenure.cli import output
from tenure.cli.group import example
from tenure.cli.options import Thing
from tenure.cli.remote import Edit, Session, session
from tenure.client.things import Drainable

_COLUMNS = ("handle", "network", "host", "addresses", "name")
_LEAVING = ("handle", "network", "host", "addresses", "leaving", "settles")


def offer_drain(app: Typer, find: Callable[[Session], Drainable], one: str, sample: str) -> None:
    """Add `drain`."""
    sample_command = f"tenure {app.info.name} drain {sample}"

    @app.command(
        "drain",
        cls=Edit,
        help=f"Place nothing new in a {one}; what is there stays, and is shown. Repeat it to see what is left.",
        epilog=example(sample_command, f"{sample_command} --off"),
    )
    def drain(
        ctx: Context, name: Thing, off: Annotated[bool, Option("--off", help="Place new things there again.")] = False
    ) -> None:
        asked = session(ctx)
        _show(asked, f"{one.capitalize()} {name}", find(asked).drain(name, draining=not off, **asked.edit))


def show_evacuated(asked: Session, claims: Sequence[Mapping[str, Any]]) -> None:
    """Print the claims that were moved."""
    if asked.json:
        output.value(claims)
        return
    output.table(_COLUMNS, map(c.row, claims))
    print(f"{_counted(len(claims))} {'would be' if asked.dry_run else 'were' if len(claims) != 1 else 'was'} moved.")


def _show(asked: Session, what: str, drained: Mapping[str, Any]) -> None:
    if asked.json:
        output.value(drained)
        return
    would = "would be" if asked.dry_run else "is"
    if not drained["draining"]:
        print(f"{what} {would} open again; {_counted(drained['count'])} there.")
        return
    claims, leaving = drained["claims"], drained.get("leaving", ())
    output.table(_COLUMNS, map(c.row, claims))
    print(f"{what} {would} draining; {_counted(drained['count'])} there{_first(claims, drained['count'])}.")
    if leaving:
        count = drained["leaving_count"]
        output.table(_LEAVING, map(c.row, leaving))
        print(
            f"{_counted(count)} left, and {'is' if count == 1 else 'are'} announced here too{_first(leaving, count)}."
        )


def _first(shown: Sequence[object], count: int) -> str:
    return f"; the first {len(shown)} are shown" if count > len(shown) else ""


def _counted(count: int) -> str:
    return f"{count:,} claim" + ("" if count == 1 else "s")
