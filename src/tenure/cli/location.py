"""`tenure location`: places."""

from typing import Annotated, Any

from typer import Argument, BadParameter, Context, Option

from tenure.cli import claims as c
from tenure.cli.drains import offer_drain, show_evacuated
from tenure.cli.group import example, group, made, offer_delete, offer_show, show_list
from tenure.cli.moves import StaticAcknowledged
from tenure.cli.options import NONE, Limit, NewName, Thing, Words, sent
from tenure.cli.remote import Change, Edit, Remote, session

app = group("location", "Places: regions, sites, racks and hosts.")

Kind = Annotated[str, Option(metavar="KIND", help="region, site, rack or host.", show_default=False)]
Parent = Annotated[str | None, Option(metavar="LOCATION", help="The place that it is in.")]
Relay = Annotated[
    str | None,
    Option(metavar="TEXT", help="How a DHCP relay names it: circuit_id=HEX,remote_id=HEX, one or both (RFC 3046)."),
]
Router = Annotated[str | None, Option(metavar="IP", help="By which others route to it; for exported routes.")]
RouterV6 = Annotated[
    str | None, Option("--router-v6", metavar="IP", help="The same for IPv6, where --router is an IPv4 address.")
]


def _relay(text: str | None) -> object:
    if text is None or text == NONE:
        return text
    parts = dict(part.partition("=")[::2] for part in text.split(","))
    if not parts.keys() <= {"circuit_id", "remote_id"} or not all(parts.values()):
        raise BadParameter("write circuit_id=HEX, remote_id=HEX, or both with a comma", param_hint="--relay")
    return parts


@app.command(cls=Change, epilog=example("tenure location create compute-7 --kind host --parent rack-3"))
def create(
    ctx: Context,
    name: Annotated[str, Argument(metavar="NAME", help="Its name.", show_default=False)],
    kind: Kind,
    parent: Parent = None,
    relay: Relay = None,
    router: Router = None,
    router_v6: RouterV6 = None,
) -> None:
    """Make a place."""
    asked = session(ctx)
    places = {"parent": parent, "relay": _relay(relay), "router": router, "router_v6": router_v6}
    fields = sent({"name": name, "kind": kind, **places})
    made(asked, asked.client.locations.create(**fields, **asked.change))


@app.command("list", cls=Remote, epilog=example("tenure location list --kind host --parent rack-3"))
def list_(
    ctx: Context,
    kind: Annotated[str | None, Option(metavar="KIND", help="Only regions, sites, racks or hosts.")] = None,
    parent: Annotated[str | None, Option(metavar="LOCATION", help="Only those in this place.")] = None,
    q: Words = None,
    limit: Limit = None,
) -> None:
    """List places."""
    columns = ("name", "kind", "parent", "relay", "router")
    show_list(session(ctx), session(ctx).client.locations, columns, limit, kind=kind, parent=parent, q=q)


@app.command("set", cls=Edit, epilog=example("tenure location set compute-7 --parent rack-4"))
def set_(
    ctx: Context,
    location: Thing,
    name: NewName = None,
    parent: Parent = None,
    relay: Relay = None,
    router: Router = None,
    router_v6: RouterV6 = None,
) -> None:
    """Change a place; `none` empties --parent, --relay, --router or --router-v6."""
    asked = session(ctx)
    places = {"parent": parent, "relay": _relay(relay), "router": router, "router_v6": router_v6}
    fields = sent({"name": name, **places}, nullable=places)
    made(asked, asked.client.locations.change(location, fields, **asked.edit))


@app.command("evacuate", cls=Edit, epilog=example("tenure location evacuate compute-7 compute-8"))
def evacuate(
    ctx: Context,
    host: Annotated[str, Argument(metavar="HOST", help="The host to empty.", show_default=False)],
    to: Annotated[str, Argument(metavar="TO", help="The host that takes its claims.", show_default=False)],
    renumber: c.Renumber = False,
    handover: c.Handover = None,
    static_acknowledged: StaticAcknowledged = False,
) -> None:
    """Move every claim of a host to another, all of them or none."""
    asked = session(ctx)
    how: dict[str, Any] = {"renumber": renumber, "handover": handover, "static_acknowledged": static_acknowledged}
    moved = asked.client.locations.evacuate(host, to, **how, **asked.edit)
    show_evacuated(asked, moved)


offer_drain(app, lambda asked: asked.client.locations, "location", "compute-7")
offer_show(app, lambda asked: asked.client.locations, "location", "compute-7")
offer_delete(app, lambda asked: asked.client.locations, "location", "compute-7")
