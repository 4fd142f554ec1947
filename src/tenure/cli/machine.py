"""`tenure machine`: what holds addresses, and the steps of its life (`life`)."""

from typing import Annotated, Any

from typer import Argument, BadParameter, Context, Option

from tenure.cli import output
from tenure.cli.group import example, group, offer_delete
from tenure.cli.life import offer_life
from tenure.cli.options import (
    NONE,
    CustomFilter,
    CustomOption,
    Limit,
    LocationFilter,
    NewName,
    TagFilter,
    TagsOption,
    Thing,
    Words,
    sent,
)
from tenure.cli.remote import Change, Edit, Remote, Session, session

app = group("machine", "Machines and their interfaces: what holds addresses, from first seen to retired.")

Kind = Annotated[str | None, Option(metavar="KIND", help="managed (default), instance or device.")]
Location = Annotated[str | None, Option(metavar="LOCATION", help="Where it is.")]
Harvest = Annotated[
    str | None, Option(metavar="WHETHER", help="May its addresses be harvested: inherit (default), never or allowed.")
]
Interfaces = Annotated[
    list[str] | None,
    Option(
        "--interfaces",
        "--interface",
        metavar="MAC[=NAME]",
        help="An interface, as 52:54:00:0a:0b:0c=eth0, or mac=…,name=…,network=…,boot,allocate=…,duid=… Repeatable.",
        show_default=False,
    ),
]
_FIELDS = ("mac", "name", "network", "boot", "allocate", "duid")


def _interfaces(given: list[str] | None) -> list[dict[str, Any]] | None:
    if not given:
        return None
    return [] if given == [NONE] else [_interface(each) for each in given]


def _interface(text: str) -> dict[str, Any]:
    """An interface as it is written on a command line; what is left out stays as it is."""
    if "," not in text and not text.startswith("mac="):
        mac, equals, name = text.partition("=")
        return {"mac": mac, "name": name} if equals else {"mac": mac}
    fields: dict[str, Any] = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if name not in _FIELDS or bool(equals) == (name == "boot" and value == ""):
            raise BadParameter(f"write mac=MAC and {', '.join(_FIELDS[1:])}, with commas", param_hint="--interface")
        fields[name] = _value(name, value)
    if "mac" not in fields:
        raise BadParameter(f"{text} has no mac=", param_hint="--interface")
    return fields


_SAID = {"": True, "yes": True, "true": True, "no": False, "false": False}


def _value(name: str, value: str) -> Any:
    if name == "boot":
        if value not in _SAID:
            raise BadParameter(f"boot is yes or no, not {value!r}", param_hint="--interface")
        return _SAID[value]
    return None if value == NONE and name in ("network", "duid") else value


@app.command(
    cls=Change,
    epilog=example(
        "tenure machine create node-17 --interface mac=52:54:00:0a:0b:0c,name=eth0,network=prod,boot",
        "tenure machine create switch-1 --kind device --interface 52:54:00:0a:0b:0d=mgmt",
    ),
)
def create(
    ctx: Context,
    name: Annotated[str, Argument(metavar="NAME", help="Its name.", show_default=False)],
    kind: Kind = None,
    location: Location = None,
    interfaces: Interfaces = None,
    harvest: Harvest = None,
    tags: TagsOption = None,
    custom: CustomOption = None,
) -> None:
    """Make a machine."""
    fields = sent({**locals(), "interfaces": _interfaces(interfaces)})
    asked = session(ctx)
    _made(asked, asked.client.machines.create(**fields, **asked.change))


@app.command("list", cls=Remote, epilog=example("tenure machine list --state new", "tenure machine list --tag gpu"))
def list_(
    ctx: Context,
    location: LocationFilter = None,
    kind: Annotated[str | None, Option(metavar="KIND", help="Only managed ones, instances or devices.")] = None,
    state: Annotated[
        str | None, Option(metavar="STATE", help="Only new, commissioning, ready, deployed or retired ones.")
    ] = None,
    tag: TagFilter = None,
    custom: CustomFilter = None,
    q: Words = None,
    limit: Limit = None,
) -> None:
    """List machines, with what they hold."""
    asked = session(ctx)
    filters = {"location": location, "kind": kind, "state": state, "tag": tag, "custom": custom, "q": q}
    columns = ("name", "kind", "state", "location", "addresses", "interfaces", "tags")
    output.listed(columns, asked.client.machines.list(**filters), limit, asked.json)


@app.command("show", cls=Remote, epilog=example("tenure machine show node-17"))
def show(ctx: Context, name: Thing) -> None:
    """Show a machine: its interfaces, and what it holds on each."""
    asked = session(ctx)
    _show(asked, asked.client.machines.show(name))


@app.command(
    "set",
    cls=Edit,
    epilog=example(
        "tenure machine set node-17 --location rack-4",
        "tenure machine set node-17 --interface mac=52:54:00:0a:0b:99,name=eth0",
    ),
)
def set_(
    ctx: Context,
    machine: Thing,
    name: NewName = None,
    kind: Kind = None,
    location: Location = None,
    interfaces: Interfaces = None,
    harvest: Harvest = None,
    tags: TagsOption = None,
    custom: CustomOption = None,
) -> None:
    """Change a machine; `none` empties --location, --interfaces, --tags or --custom.

    --interfaces is the whole new list. An interface that is known by its MAC, else by its name, keeps its addresses:
    so a MAC is replaced by saying the name with the new one.
    """
    wanted = _interfaces(interfaces)
    fields = sent({**locals(), "interfaces": None}, leave=("machine", "wanted"), nullable=("location",))
    if wanted is not None:
        fields["interfaces"] = wanted
    asked = session(ctx)
    _made(asked, asked.client.machines.change(machine, fields, **asked.edit))


@app.command(
    "network-config",
    cls=Remote,
    epilog=example("tenure machine network-config node-17 --format netplan > 50-tenure.yaml"),
)
def network_config(
    ctx: Context,
    name: Thing,
    format_: Annotated[
        str, Option("--format", metavar="FORMAT", help="netplan, eni or network_data (OpenStack's JSON).")
    ] = "netplan",
) -> None:
    """Print the network configuration of a machine, for an image that does not ask DHCP."""
    asked = session(ctx)
    text = asked.client.machines.network_config(name, format_)
    output.value({"format": format_, "text": text}) if asked.json else print(text, end="")


def _made(asked: Session, machine: dict[str, Any]) -> None:
    _show(asked, machine)
    if asked.dry_run and not asked.json:
        print("A dry run: nothing was changed.")


def _show(asked: Session, machine: dict[str, Any]) -> None:
    if asked.json:
        output.value(machine)
        return
    apart = ("interfaces", "addresses")
    output.fields({name: value for name, value in machine.items() if name not in apart})
    for title, columns in (
        ("interfaces", ("name", "mac", "network", "boot", "allocate", "duid")),
        ("addresses", ("ip", "standing", "interface", "name", "network", "lease", "static", "claim")),
    ):
        print(f"\n{title}" if machine[title] else f"\nno {title}")
        output.table(columns, machine[title])


offer_life(app)
offer_delete(app, lambda asked: asked.client.machines, "machine", "node-17")
