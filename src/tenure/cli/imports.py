"""`tenure import`: what other systems know, from their files."""

import sys
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, BadParameter, Context, Exit, Option, Typer, confirm

from tenure.cli import output
from tenure.cli.group import example
from tenure.cli.remote import REFUSED, Change, Session, session

app = Typer()

_NOTES = 20


@app.command(
    "import",
    cls=Change,
    epilog=example(
        "tenure import machines.csv --dry-run", "tenure import site.toml machines.csv /etc/hosts dnsmasq.conf --yes"
    ),
)
def import_(
    ctx: Context,
    files: Annotated[
        list[Path], Argument(metavar="FILE…", help="Files; several are taken as one.", show_default=False)
    ],
    kind: Annotated[
        str | None, Option(metavar="KIND", help="csv, hosts, dnsmasq or site; guessed for each file.")
    ] = None,
    network: Annotated[
        str | None, Option(metavar="NETWORK", help="The network of rows and new subnets that name none.")
    ] = None,
    vrf: Annotated[str, Option(metavar="VRF", help="The address space of it all.")] = "default",
    machine_kind: Annotated[
        str, Option(metavar="KIND", help="What new machines are: device, managed or instance.")
    ] = "device",
    yes: Annotated[bool, Option("--yes", help="Do not ask, on a terminal, after the dry run.")] = False,
) -> None:
    """Import files: a dry run first, then all of it or nothing. A second import of the same changes nothing."""
    from tenure.exchange.planning import Wishes

    if machine_kind not in ("device", "managed", "instance"):
        raise BadParameter("device, managed or instance", param_hint="--machine-kind")
    run(session(ctx), files, kind, Wishes(vrf, network, machine_kind), ask=not yes)


def run(asked: Session, paths: list[Path], kind: str | None, wishes: Any, *, ask: bool) -> None:
    """Read, plan, try, ask, make, and print what came of it."""
    from tenure.exchange import files, importing, planning, present, reading

    if kind is not None and kind not in files.KINDS:
        raise BadParameter(f"one of {', '.join(files.KINDS)}", param_hint="--kind")
    read = reading.joined(files.read(path, kind) for path in paths)
    plan = planning.plan(read, present.present(asked.client, wishes.vrf), wishes)
    tried = importing.attempt(asked.client, plan.items)
    if not asked.json:
        _announce(plan, tried)
    if asked.dry_run:
        _report(asked, plan, tried)
        return
    if ask and sys.stdin.isatty() and not asked.json and not confirm("Import this?", default=True):
        raise Exit(REFUSED)
    with output.progress("Importing", len(plan.items)) as advance:
        made = importing.perform(asked.client, plan.items, advance)
    _report(asked, plan, made)


def _announce(plan: Any, tried: list[dict[str, Any]]) -> None:
    from tenure.exchange.importing import MOST

    for note in plan.notes[:_NOTES]:
        print(note, file=sys.stderr)
    if len(plan.notes) > _NOTES:
        print(f"And {len(plan.notes) - _NOTES} more notes; --json has them all.", file=sys.stderr)
    if len(plan.items) > MOST:
        count = -(-len(plan.items) // MOST)
        print(f"{len(plan.items):,} objects go in {count} transactions; each is all or nothing.", file=sys.stderr)


def _report(asked: Session, plan: Any, results: list[dict[str, Any]]) -> None:
    counts = _counts(plan, results)
    if asked.json:
        output.value({"dry_run": asked.dry_run, "counts": counts, "notes": plan.notes, "items": results})
        return
    output.table(("kind", "new", "there"), counts)
    if asked.dry_run:
        print("A dry run: nothing was changed.")


def _counts(plan: Any, results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """New and already there, by kind. A claim that was there answers 200. What no dry run reached counts as new."""
    from tenure.exchange.planning import ORDER

    made = Counter(_sort(item.kind) for item in plan.items)
    again = Counter(_sort(item["kind"]) for item in results if item["status"] == 200)
    there = Counter(plan.there) + again
    kinds = [kind for kind in ORDER if made[kind] or there[kind]]
    return [{"kind": kind, "new": made[kind] - again[kind], "there": there[kind]} for kind in kinds]


def _sort(kind: str) -> str:
    return "machine" if kind in ("device", "managed", "instance") else kind
