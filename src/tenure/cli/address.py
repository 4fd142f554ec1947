"""`tenure address`: what is held, and what rests."""

from typing import Annotated

from typer import Context, Option

from tenure.cli.group import example, group, show_list, show_one
from tenure.cli.options import InVrf, Ip, Limit, LocationFilter, NetworkFilter, Words
from tenure.cli.remote import Remote, session

app = group("address", "Addresses that are held, or rest after they were.")


@app.command("list", cls=Remote, epilog=example("tenure address list --network prod --state cooling"))
def list_(
    ctx: Context,
    network: NetworkFilter = None,
    location: LocationFilter = None,
    state: Annotated[str | None, Option(metavar="STATE", help="allocated (default) or cooling.")] = None,
    q: Words = None,
    limit: Limit = None,
) -> None:
    """List addresses."""
    columns = ("ip", "name", "network", "host", "block", "title", "machines", "handle")
    filters = {"network": network, "location": location, "state": state, "q": q}
    show_list(session(ctx), session(ctx).client.addresses, columns, limit, **filters)


@app.command("show", cls=Remote, epilog=example("tenure address show 10.0.3.65"))
def show(ctx: Context, ip: Ip, vrf: InVrf = None) -> None:
    """Show who holds an address; if nobody does, whose it was while it rests."""
    show_one(session(ctx), session(ctx).client.addresses.show(ip, vrf=vrf))
