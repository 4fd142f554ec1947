"""`tenure vrf`: address spaces."""

from typing import Annotated

from typer import Argument, Context, Option

from tenure.cli.group import example, group, made, offer_delete, offer_show, show_list
from tenure.cli.options import Limit, NewName, Thing, Words, emptied, sent
from tenure.cli.remote import Change, Edit, Remote, session

app = group("vrf", "Address spaces: an address is unique in one.")


NameServers = Annotated[
    list[str] | None,
    Option(metavar="NAME", help="Who serves its zones that name nobody themselves. Repeatable.", show_default=False),
]


@app.command(cls=Change, epilog=example("tenure vrf create blue"))
def create(
    ctx: Context,
    name: Annotated[str, Argument(metavar="NAME", help="Its name.", show_default=False)],
    name_servers: NameServers = None,
) -> None:
    """Make an address space."""
    asked = session(ctx)
    made(asked, asked.client.vrfs.create(**sent({"name": name, "name_servers": name_servers}), **asked.change))


@app.command("list", cls=Remote, epilog=example("tenure vrf list"))
def list_(ctx: Context, q: Words = None, limit: Limit = None) -> None:
    """List address spaces."""
    show_list(session(ctx), session(ctx).client.vrfs, ("name", "id"), limit, q=q)


@app.command("set", cls=Edit, epilog=example("tenure vrf set blue --name green"))
def set_(ctx: Context, vrf: Thing, name: NewName = None, name_servers: NameServers = None) -> None:
    """Change an address space; `--name-servers none` leaves its zones to this server."""
    fields = emptied(sent({"name": name, "name_servers": name_servers}), "name_servers")
    asked = session(ctx)
    made(asked, asked.client.vrfs.change(vrf, fields, **asked.edit))


offer_show(app, lambda asked: asked.client.vrfs, "vrf", "blue")
offer_delete(app, lambda asked: asked.client.vrfs, "vrf", "blue")
