"""`tenure address`: what is held, what rests, and what was seen."""

from collections.abc import Mapping
from typing import Annotated, Any

from typer import Context, Option

from tenure.cli.group import example, group, show_list, show_one
from tenure.cli.options import At, InVrf, Ip, Limit, LocationFilter, NetworkFilter, Words
from tenure.cli.remote import Remote, Session, session

app = group("address", "Addresses that are held, rest after they were, or were seen in use.")

_HELD = ("ip", "name", "network", "host", "block", "title", "machines", "handle")
_SEEN = ("ip", "mac", "network", "source", "since", "last", "claim")


@app.command(
    "list",
    cls=Remote,
    epilog=example("tenure address list --network prod --state cooling", "tenure address list --at 2026-11-24T15:00"),
)
def list_(
    ctx: Context,
    network: NetworkFilter = None,
    location: LocationFilter = None,
    state: Annotated[
        str | None, Option(metavar="STATE", help="allocated, shelved, cooling or observed; else all held ones.")
    ] = None,
    q: Words = None,
    at: At = None,
    limit: Limit = None,
) -> None:
    """List addresses, now or as they were at a time."""
    columns = _SEEN if state == "observed" else _HELD
    filters = {"network": network, "location": location, "state": state, "q": q, "at": at}
    show_list(session(ctx), session(ctx).client.addresses, columns, limit, **filters)


@app.command("show", cls=Remote, epilog=example("tenure address show 10.0.3.65"))
def show(ctx: Context, ip: Ip, vrf: InVrf = None, at: At = None) -> None:
    """Show who holds an address, or held it; if nobody does, whose it was while it rests, or who was seen there."""
    asked = session(ctx)
    found = asked.client.addresses.show(ip, vrf=vrf, at=at)
    show_one(asked, found)
    if at is None and not asked.json and found["state"] in ("allocated", "shelved"):
        _tell_of_dispute(asked, found)


def _tell_of_dispute(asked: Session, held: Mapping[str, Any]) -> None:
    """Say who else was seen on a held address."""
    for seen in asked.client.addresses.list(state="observed", vrf=held["vrf"], q=held["ip"]):
        if seen["claim"] == held["claim"]:
            who = seen["mac"] or "somebody else"
            print(f"Disputed: {who} was seen there, first {seen['since']}, last {seen['last']} ({seen['source']}).")
