"""The questions of every day: why, history, find, capacity, watch."""

import json
import sys
from collections.abc import Mapping
from typing import Annotated, Any

from typer import Argument, BadParameter, Context, Option, Typer

from tenure.cli import output, timeline
from tenure.cli.event import After, about, position_of
from tenure.cli.group import example, show_one
from tenure.cli.options import At, InVrf, Ip
from tenure.cli.remote import Remote, session

app = Typer()

_COUNTS = ("capacity", "in_use", "reserved", "cooling", "available")


@app.command(cls=Remote, epilog=example("tenure why 10.0.3.65"))
def why(ctx: Context, ip: Ip, vrf: InVrf = None) -> None:
    """Explain why an address was given to its holder."""
    asked = session(ctx)
    answer = asked.client.addresses.why(ip, vrf=vrf)
    if asked.json:
        output.value(answer)
        return
    print(f"{answer['ip']} was given at {answer['time']}; {answer['actor']} asked for it.")
    print(f"Strategy: {answer['strategy']}, by right of: {answer['title'] or 'none, it was named'}")
    print("Request: " + ", ".join(f"{name}={output.text(part)}" for name, part in answer["request"].items()))
    output.table(("block", "owner", "outcome"), answer["blocks"])
    for move in answer["moves"]:
        print(f"It was {move['reason']} at {move['time']}, from {move['giver']}; {move['actor']} asked for it.")


@app.command(cls=Remote, epilog=example("tenure history 10.0.3.65", "tenure history 10.0.3.65 --at 2h"))
def history(ctx: Context, ip: Ip, vrf: InVrf = None, at: At = None) -> None:
    """Show what happened to an address, oldest first; or, with --at, who held it then."""
    asked = session(ctx)
    addresses = asked.client.addresses
    if at is not None:
        show_one(asked, addresses.show(ip, vrf=vrf, at=at))
    elif asked.json:
        output.value(list(addresses.history(ip, vrf=vrf)))
    elif lines := list(timeline.rows(addresses.history(ip, vrf=vrf))):
        output.table(timeline.COLUMNS, lines)
    else:
        print(f"Nothing is known of {ip}.")


@app.command(cls=Remote, epilog=example("tenure find 52-54-00-0A-0B-0C", "tenure find vm-17"))
def find(
    ctx: Context,
    words: Annotated[
        str, Argument(metavar="ANYTHING", help="An address, prefix, MAC, name, handle or id.", show_default=False)
    ],
) -> None:
    """Find anything by address, prefix, MAC in any spelling, name or handle."""
    asked = session(ctx)
    found = asked.client.search(words)
    if asked.json:
        output.value(found)
    elif found:
        output.table(("kind", "label", "id", "url"), found)
    else:
        print("Nothing is found.")


@app.command(cls=Remote, epilog=example("tenure capacity prod --by location"))
def capacity(
    ctx: Context,
    network: Annotated[str, Argument(metavar="NETWORK", help="Its name or id.", show_default=False)],
    by: Annotated[str | None, Option(metavar="WHAT", help="location: count for each one too.")] = None,
) -> None:
    """Count the addresses of a network: how many there are, and how many are left.

    By location, an address counts at the owner of its block, whoever uses it;
    `room` is what claims at the location could be given now, were nobody else
    to claim.
    """
    if by not in (None, "location"):
        raise BadParameter("it can be counted by location", param_hint="--by")
    asked = session(ctx)
    counts = asked.client.capacity(network, by_location=by is not None)
    if asked.json:
        output.value(counts)
        return
    rows = [_row(network, family, counts) for family in ("v4", "v6")]
    for place in counts.get("locations", ()):
        rows += [_row(place["name"], family, place) for family in ("v4", "v6")]
    columns = ("of", "family", *_COUNTS, "room") if by else ("of", "family", *_COUNTS)
    output.table(columns, [row for row in rows if row["capacity"] or row.get("room")])


def _row(name: str, family: str, counts: dict[str, Any]) -> dict[str, Any]:
    return {"of": name, "family": family, **{each: _figure(number) for each, number in counts[family].items()}}


def _figure(number: int) -> str | int:
    return f"{number:.2e}" if number >= 2**40 else number


@app.command(cls=Remote, epilog=example("tenure watch --kinds tenure.address.allocated,tenure.address.released"))
def watch(
    ctx: Context,
    after: After = None,
    kinds: Annotated[str | None, Option(metavar="KIND,…", help="Only of these kinds.")] = None,
    count: Annotated[int | None, Option(min=1, metavar="COUNT", help="End after this many; never.")] = None,
) -> None:
    """Follow the ledger from now on: each event as soon as it is recorded, until Ctrl-C; --json: one value a line."""
    asked = session(ctx)
    after = position_of(asked, after) or asked.client.now()
    try:
        for number, event in enumerate(asked.client.follow(after, kinds=kinds), 1):
            _say(event, asked.json)
            if number == count:
                return
    except KeyboardInterrupt:
        return


def _say(event: Mapping[str, Any], for_program: bool) -> None:
    if for_program:
        line = json.dumps(event, ensure_ascii=False)
    else:
        line = f"{event['sequence']:>8}  {event['time']}  {event['actor']:<16} {event['kind']:<28} {about(event)}"
    print(line, file=sys.stdout, flush=True)
