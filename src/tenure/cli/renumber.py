"""`tenure renumber`: a subnet's addresses are replaced by those of another, and this is looked at."""

import sys
from collections.abc import Mapping
from typing import Annotated, Any, Final

from typer import Argument, BadParameter, Context, Option, Typer

from tenure.cli import claims as c
from tenure.cli import output
from tenure.cli.group import example
from tenure.cli.moves import StaticAcknowledged
from tenure.cli.options import seconds
from tenure.cli.remote import Edit, Session, session
from tenure.client.shapes import Renumbering

app = Typer()

_LOOK: Final = 2
"""Seconds between two looks."""
_COLUMNS: Final = ("handle", "machine", "addresses", "name")


@app.command(
    cls=Edit,
    epilog=example(
        "tenure renumber 10.0.3.0/24 --to 10.0.4.0/24",
        "tenure renumber 10.0.3.0/24 --to 10.0.4.0/24 --wave 16 --lease-time 5m --begin",
        "tenure renumber 10.0.3.0/24",
        "tenure renumber 10.0.3.0/24 --stop",
    ),
)
def renumber(
    ctx: Context,
    subnet: Annotated[str, Argument(metavar="SUBNET", help="Its prefix or id.", show_default=False)],
    to: Annotated[
        str | None, Option(metavar="SUBNET", help="The subnet that the new addresses are of.", show_default=False)
    ] = None,
    wave: Annotated[
        int | None, Option(min=1, max=4096, metavar="COUNT", help="Addresses at most that move in a minute; 64.")
    ] = None,
    lease_time: Annotated[
        int | None,
        Option(metavar="DURATION", parser=seconds, help="How long DHCP promises there; 2m.", show_default=False),
    ] = None,
    static_acknowledged: StaticAcknowledged = False,
    begin: Annotated[bool, Option("--begin", help="Only begin it; do not follow it to its end.")] = False,
    stop: Annotated[bool, Option("--stop", help="Let nothing more move until it is resumed.")] = False,
    resume: Annotated[bool, Option("--resume", help="Let it go on.")] = False,
    cancel: Annotated[bool, Option("--cancel", help="End it where it stands.")] = False,
) -> None:
    """Replace a subnet's addresses by those of another, a wave a minute, and follow that to its end.

    Ctrl-C ends only the looking on: the service goes on with it. Leases are
    made short first, machines get their new addresses as `tenure move` gives
    them, names follow, and old addresses rest. Without --to, show how far one
    is that was begun.
    """
    asked = session(ctx)
    acts = [name for name, said in (("stop", stop), ("resume", resume), ("cancel", cancel)) if said]
    if len(acts) + (to is not None) > 1:
        raise BadParameter("say one of --to, --stop, --resume and --cancel", param_hint=f"--{acts[0]}")
    if to is None:
        _show(asked, _steered(asked, subnet, acts))
        return
    fields = {"wave": wave, "lease_time": lease_time, "static_acknowledged": static_acknowledged or None}
    said = {name: value for name, value in fields.items() if value is not None}
    begun = asked.client.subnets.renumber(subnet, to, said, **asked.edit)
    if not asked.json:
        _warn(asked, subnet, to)
    if begin or asked.dry_run:
        _show(asked, begun)
    else:
        _follow(asked, begun)


def _steered(asked: Session, subnet: str, acts: list[str]) -> Renumbering:
    subnets = asked.client.subnets
    if not acts:
        return subnets.renumbering(subnet)
    return subnets.steer(subnet, acts[0], **asked.edit)


def _follow(asked: Session, begun: Renumbering) -> None:
    """Look at it until it no longer runs; Ctrl-C ends the looking."""
    now, moved = begun, 0
    try:
        print(f"{_said(begun)} Ctrl-C ends only the looking on.", file=sys.stderr, flush=True)
        with output.progress("Renumbering", begun["left"] - begun["stuck_count"]) as advance:
            while now["state"] == "running":
                now = asked.client.subnets.renumbering(begun["subnet"], wait=_LOOK)
                advance(now["moved"] - moved)
                moved = max(moved, now["moved"])
    except KeyboardInterrupt:
        print(f"It goes on; tenure renumber {begun['cidr']} shows how far it is, --stop stops it.", file=sys.stderr)
    _show(asked, now, over=max(moved, begun["moved"] + begun["left"] - now["left"]) if now["state"] == "none" else None)


def _warn(asked: Session, subnet: str, to: str) -> None:
    """Say what machines had and will lose: the other subnet does not have it."""
    source, target = asked.client.subnets.show(subnet), asked.client.subnets.show(to)
    for field, what in (("dns_servers", "DNS servers"), ("gateway", "gateway")):
        if source[field] and not target[field]:
            print(
                f"{target['cidr']} has no {what}; {source['cidr']} has {output.text(source[field])}.", file=sys.stderr
            )


def _show(asked: Session, now: Renumbering, over: int | None = None) -> None:
    """Print how far it is; `over`: it was followed to its end, and so many addresses moved."""
    if asked.json:
        output.value(now)
        return
    print(_said(now) if over is None else f"{now['cidr']}: done: {_addresses(over)} moved, {now['left']} left.")
    if now["reason"]:
        print(now["reason"])
    if now["stuck"]:
        output.table(_COLUMNS, map(c.row, now["stuck"]))
        count = now["stuck_count"]
        stay = "claim stays, for it was" if count == 1 else "claims stay, for they were"
        print(f"{count} {stay} written down by hand; --static-acknowledged moves {'it' if count == 1 else 'them'} too.")
    if over is not None:
        print(f"The subnet is draining; tenure subnet drain {now['cidr']} --off lets it be used again.")
    if asked.dry_run:
        print("A dry run: nothing was changed.")


def _said(now: Mapping[str, Any]) -> str:
    if now["state"] == "none":
        return f"{now['cidr']} is not being renumbered; it holds {_addresses(now['left'])}."
    how = "stopped on its way" if now["state"] == "stopped" else "going"
    return f"{now['cidr']} is {how} to {now['to']}: {_addresses(now['moved'])} moved, {now['left']} left."


def _addresses(count: int) -> str:
    return f"{count} address" if count == 1 else f"{count} addresses"
