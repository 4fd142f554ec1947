"""`tenure zone`: what Tenure is primary of."""

from typer import Context

from tenure.cli.group import example, group, offer_show, show_list
from tenure.cli.options import Limit, VrfFilter, Words
from tenure.cli.remote import Remote, session

app = group("zone", "Zones that Tenure is primary of, forward and reverse.")


@app.command("list", cls=Remote, epilog=example("tenure zone list"))
def list_(ctx: Context, vrf: VrfFilter = None, q: Words = None, limit: Limit = None) -> None:
    """List zones, with their serials."""
    show_list(session(ctx), session(ctx).client.zones, ("name", "vrf", "serial", "id"), limit, vrf=vrf, q=q)


offer_show(app, lambda asked: asked.client.zones, "zone", "prod.example.")
