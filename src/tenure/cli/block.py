"""`tenure block`: which location owns which slice."""

from typer import Context

from tenure.cli.group import example, group, show_list
from tenure.cli.options import Limit, LocationFilter, NetworkFilter
from tenure.cli.remote import Remote, session

app = group("block", "Blocks: which location owns which slice of a subnet, and how much of it is in use.")


@app.command("list", cls=Remote, epilog=example("tenure block list --network prod"))
def list_(ctx: Context, network: NetworkFilter = None, location: LocationFilter = None, limit: Limit = None) -> None:
    """List blocks."""
    columns = ("block", "kind", "owner", "in_use", "subnet")
    show_list(session(ctx), session(ctx).client.blocks, columns, limit, network=network, location=location)
