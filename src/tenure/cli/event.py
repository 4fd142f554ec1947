"""`tenure event`: the ledger."""

from collections.abc import Mapping
from itertools import islice
from typing import Annotated, Any

from typer import Context, Option

from tenure.cli import output
from tenure.cli.group import example, group
from tenure.cli.options import Limit
from tenure.cli.remote import Remote, Session, session

app = group("event", "Events: the ledger, row by row.")

After = Annotated[
    str | None, Option(metavar="SEQUENCE", help="Only what came after; EPOCH:SEQUENCE is a place in one epoch.")
]

COLUMNS = ("sequence", "time", "actor", "kind", "about")


def about(event: Mapping[str, Any]) -> str:
    """What an event is about, in a few words."""
    subject = event["subject"]
    if subject.get("ip"):
        return str(subject["ip"])
    if record := event["data"].get("record"):
        return f"{record['owner']} {record['type']} {record['data']}"
    for part in event["data"].values():
        if isinstance(part, dict) and (said := _called(part)):
            return said
    return next((f"{name} {subject[name]}" for name in ("claim", "machine", "zone") if subject.get(name)), "")


def _called(part: Mapping[str, Any]) -> str:
    """What people call a thing."""
    if "start" in part and "end" in part:
        return f"{part['start']}-{part['end']}"
    return next((str(part[name]) for name in ("name", "cidr", "handle", "mac") if part.get(name)), "")


def position_of(asked: Session, after: str | None) -> str | None:
    """A place in the ledger; a sequence alone is one of the epoch of now, as the table shows it."""
    if after is None or not after.isdecimal():
        return after
    return f"{asked.client.now().partition(':')[0]}:{after}"


@app.command("list", cls=Remote, epilog=example("tenure event list --kinds tenure.address.allocated --limit 20"))
def list_(
    ctx: Context,
    after: After = None,
    kinds: Annotated[str | None, Option(metavar="KIND,…", help="Only of these kinds.")] = None,
    limit: Limit = None,
) -> None:
    """List events, oldest first."""
    asked = session(ctx)
    found = list(islice(asked.client.events(position_of(asked, after), kinds=kinds), limit))
    if asked.json:
        output.value(found)
    else:
        output.table(COLUMNS, [{**event, "about": about(event)} for event in found])
