"""`tenure range`: stretches of a subnet that are set aside."""

from typing import Annotated

from typer import Argument, Context, Option

from tenure.cli.group import example, group, made, offer_delete, offer_show, show_list
from tenure.cli.options import Limit, sent
from tenure.cli.remote import Change, Edit, Remote, session

app = group("range", "Ranges: first and last address of a subnet, set aside for a purpose.")

_SAMPLE = "0a1b2c3d4e5f60718293"


@app.command(cls=Change, epilog=example("tenure range create 10.0.3.0/24 10.0.3.200 10.0.3.250 --role dynamic"))
def create(
    ctx: Context,
    subnet: Annotated[str, Argument(metavar="SUBNET", help="Its id, or its prefix.", show_default=False)],
    start: Annotated[str, Argument(metavar="START", help="First address.", show_default=False)],
    end: Annotated[str, Argument(metavar="END", help="Last address.", show_default=False)],
    role: Annotated[str, Option(metavar="ROLE", help="dynamic or reserved.", show_default=False)],
    note: Annotated[str | None, Option(metavar="TEXT", help="What it is for.")] = None,
) -> None:
    """Set a range aside."""
    fields = sent(locals(), leave=("subnet",))
    asked = session(ctx)
    made(asked, asked.client.ranges.create(subnet, **fields, **asked.change))


@app.command("list", cls=Remote, epilog=example("tenure range list --subnet 10.0.3.0/24"))
def list_(
    ctx: Context,
    subnet: Annotated[str | None, Option(metavar="SUBNET", help="Only those of this subnet.")] = None,
    limit: Limit = None,
) -> None:
    """List ranges."""
    columns = ("start", "end", "role", "note", "subnet", "id")
    show_list(session(ctx), session(ctx).client.ranges, columns, limit, subnet=subnet)


@app.command("set", cls=Edit, epilog=example(f"tenure range set {_SAMPLE} --end 10.0.3.240"))
def set_(
    ctx: Context,
    range_: Annotated[str, Argument(metavar="ID", help="Its id.", show_default=False)],
    start: Annotated[str | None, Option(metavar="IP", help="Its new first address.")] = None,
    end: Annotated[str | None, Option(metavar="IP", help="Its new last address.")] = None,
    role: Annotated[str | None, Option(metavar="ROLE", help="dynamic or reserved.")] = None,
    note: Annotated[str | None, Option(metavar="TEXT", help="What it is for.")] = None,
) -> None:
    """Change a range."""
    fields = sent(locals(), leave=("range_",))
    asked = session(ctx)
    made(asked, asked.client.ranges.change(range_, fields, **asked.edit))


offer_show(app, lambda asked: asked.client.ranges, "range", _SAMPLE)
offer_delete(app, lambda asked: asked.client.ranges, "range", _SAMPLE)
