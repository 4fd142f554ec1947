"""`tenure machine`: what holds addresses."""

from typing import Annotated, Any

from typer import Argument, Context, Option

from tenure.cli.group import example, group, made, offer_delete, offer_show, show_list
from tenure.cli.options import Limit, LocationFilter, NewName, Thing, Words, sent
from tenure.cli.remote import Change, Edit, Remote, session

app = group("machine", "Machines and their interfaces: what holds addresses.")

Kind = Annotated[str | None, Option(metavar="KIND", help="managed (default), instance or device.")]
Location = Annotated[str | None, Option(metavar="LOCATION", help="Where it is.")]
Interfaces = Annotated[
    list[str] | None,
    Option(metavar="MAC[=NAME]", help="An interface, as 52:54:00:0a:0b:0c=eth0. Repeatable.", show_default=False),
]


def _interfaces(given: list[str] | None) -> list[dict[str, Any]] | None:
    if not given:
        return None
    if given == ["none"]:
        return []
    return [dict(zip(("mac", "name"), each.partition("=")[::2], strict=True)) for each in given]


@app.command(
    cls=Change, epilog=example("tenure machine create vm-17 --kind instance --interfaces 52:54:00:0a:0b:0c=eth0")
)
def create(
    ctx: Context,
    name: Annotated[str, Argument(metavar="NAME", help="Its name.", show_default=False)],
    kind: Kind = None,
    location: Location = None,
    interfaces: Interfaces = None,
) -> None:
    """Make a machine."""
    asked = session(ctx)
    fields = sent({"name": name, "kind": kind, "location": location, "interfaces": _interfaces(interfaces)})
    made(asked, asked.client.machines.create(**fields, **asked.change))


@app.command("list", cls=Remote, epilog=example("tenure machine list --location rack-3"))
def list_(ctx: Context, location: LocationFilter = None, q: Words = None, limit: Limit = None) -> None:
    """List machines."""
    columns = ("name", "kind", "location", "interfaces", "id")
    show_list(session(ctx), session(ctx).client.machines, columns, limit, location=location, q=q)


@app.command("set", cls=Edit, epilog=example("tenure machine set vm-17 --location compute-8"))
def set_(
    ctx: Context,
    machine: Thing,
    name: NewName = None,
    kind: Kind = None,
    location: Location = None,
    interfaces: Interfaces = None,
) -> None:
    """Change a machine; --interfaces is the whole new list, `none` empties it or --location."""
    fields = sent({"name": name, "kind": kind, "location": location}, nullable=("location",))
    wanted = _interfaces(interfaces)
    if wanted is not None:
        fields["interfaces"] = wanted
    asked = session(ctx)
    made(asked, asked.client.machines.change(machine, fields, **asked.edit))


offer_show(app, lambda asked: asked.client.machines, "machine", "vm-17")
offer_delete(app, lambda asked: asked.client.machines, "machine", "vm-17")
