"""`tenure secondary`: servers that replicate zones."""

from typing import Annotated, Any

from typer import Argument, BadParameter, Context, Option

from tenure.cli import output
from tenure.cli.group import changed, example, group, made, offer_delete, offer_show, show_list
from tenure.cli.options import Limit, NewName, Thing, VrfFilter, emptied, sent
from tenure.cli.remote import Change, Edit, Remote, Session, session
from tenure.cli.secondary_forms import Form, Primary, Source, form_of, primary_of, secondary_text

app = group("secondary", "Secondaries: servers that replicate the zones of an address space.")

Port = Annotated[int | None, Option(min=1, max=65535, metavar="PORT", help="Where it is told of changes; 53.")]
Key = Annotated[str | None, Option(metavar="KEY", help="The TSIG key with which it signs, by name or id.")]
Unsigned = Annotated[
    bool | None,
    Option("--unsigned", help="It has no key: its address is all that it is known by.", show_default=False),
]
TransferFrom = Annotated[
    list[str] | None,
    Option(metavar="PREFIX", help="From where it may transfer; its address. Repeatable.", show_default=False),
]
Notify = Annotated[bool | None, Option("--notify/--no-notify", help="Whether it is told of changes; it is.")]


@app.command(
    cls=Change,
    epilog=example(
        "tenure secondary create ns2 192.0.2.54 --key ns2", "tenure secondary create lab 127.0.0.1 --unsigned"
    ),
)
def create(
    ctx: Context,
    name: Annotated[str, Argument(metavar="NAME", help="Its name.", show_default=False)],
    address: Annotated[str, Argument(metavar="IP", help="Its address.", show_default=False)],
    vrf: Annotated[str | None, Option(metavar="VRF", help="Whose zones; those of default.")] = None,
    port: Port = None,
    key: Key = None,
    unsigned: Unsigned = None,
    transfer_from: TransferFrom = None,
    notify: Notify = None,
) -> None:
    """Let a server replicate the zones of an address space; it is told when they change."""
    fields = sent(locals())
    asked = session(ctx)
    made(asked, asked.client.secondaries.make(fields, **asked.change))


@app.command("list", cls=Remote, epilog=example("tenure secondary list"))
def list_(ctx: Context, vrf: VrfFilter = None, limit: Limit = None) -> None:
    """List secondaries."""
    columns = ("name", "vrf", "address", "port", "key", "notify", "id")
    show_list(session(ctx), session(ctx).client.secondaries, columns, limit, vrf=vrf)


@app.command("set", cls=Edit, epilog=example("tenure secondary set ns2 --transfer-from 192.0.2.0/24"))
def set_(
    ctx: Context,
    secondary: Thing,
    name: NewName = None,
    address: Annotated[str | None, Option(metavar="IP", help="Its new address.")] = None,
    port: Port = None,
    key: Key = None,
    unsigned: Unsigned = None,
    transfer_from: TransferFrom = None,
    notify: Notify = None,
) -> None:
    """Change a secondary; `--unsigned` takes its key away, `--transfer-from none` leaves its address alone."""
    fields = emptied(sent(locals(), leave=("secondary",)), "transfer_from")
    changed(session(ctx), session(ctx).client.secondaries, secondary, fields)


offer_show(app, lambda asked: asked.client.secondaries, "secondary", "ns2")
offer_delete(app, lambda asked: asked.client.secondaries, "secondary", "ns2", "Let a server replicate no longer.")


@app.command(
    cls=Remote,
    epilog=example(
        "tenure secondary config ns2 --for bind > tenure.conf",
        "tenure secondary config ns2 --for knot --primary 192.0.2.53",
    ),
)
def config(
    ctx: Context,
    secondary: Thing,
    form: Annotated[
        Form,
        Option(
            "--for", metavar="SERVER", parser=form_of, help="bind, knot, nsd or pdns (a script).", show_default=False
        ),
    ],
    primary: Annotated[
        Primary | None,
        Option(metavar="ADDR:PORT", parser=primary_of, help="Where it reaches this server; else as the service says."),
    ] = None,
) -> None:
    """Print the configuration of a secondary: its zones by the catalog, with nsd (before 4.9) one by one.

    The key is not in it: `tenure tsig-key create --format` printed it, and both belong into the configuration.
    """
    asked = session(ctx)
    known = asked.client.secondaries.show(secondary)
    source = _source(asked, known, primary)
    text = secondary_text(form, source)
    output.value({"secondary": known["name"], "config": text}) if asked.json else print(text, end="")


def _source(asked: Session, known: dict[str, Any], primary: Primary | None) -> Source:
    said = [primary_of(each) for each in known["primaries"]]
    if primary is None and not said:
        raise BadParameter("the service does not say where DNS answers; say it", param_hint="--primary")
    zones = [str(each["name"]) for each in asked.client.zones.list(vrf=known["vrf"])]
    return Source(tuple(said) if primary is None else (primary,), known["key"], tuple(sorted(zones)))
