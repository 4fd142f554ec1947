"""`tenure zone`: what Tenure is primary of."""

import sys
from typing import Annotated, Any

from typer import Argument, Context, Exit, Option

from tenure.cli import output, zone_check
from tenure.cli.group import deleted, example, group, made, show_list, show_one
from tenure.cli.options import (
    InVrfOfZone,
    Limit,
    NameServers,
    NameTemplate,
    NegativeTtl,
    Ttl,
    VrfFilter,
    Words,
    Zone,
    emptied,
    sent,
)
from tenure.cli.remote import REFUSED, Change, Edit, Remote, session
from tenure.cli.zone_import import offer_import

app = group("zone", "Zones that Tenure is primary of, forward and reverse.")

_SAMPLE = "prod.example."


def _fields(given: dict[str, Any], leave: tuple[str, ...] = ()) -> dict[str, Any]:
    return emptied(sent(given, leave=leave, nullable=("name_template",)), "name_servers")


@app.command(cls=Change, epilog=example("tenure zone create prod.example. --name-servers ns1.example.net."))
def create(
    ctx: Context,
    name: Annotated[str, Argument(metavar="NAME", help="Its name.", show_default=False)],
    vrf: Annotated[str | None, Option(metavar="VRF", help="Its address space; default.")] = None,
    ttl: Ttl = None,
    negative_ttl: NegativeTtl = None,
    name_servers: NameServers = None,
    name_template: NameTemplate = None,
) -> None:
    """Make a zone that stays. Networks and subnets make theirs by themselves."""
    fields = _fields(locals())
    asked = session(ctx)
    made(asked, asked.client.zones.make(fields, **asked.change))


@app.command("list", cls=Remote, epilog=example("tenure zone list"))
def list_(ctx: Context, vrf: VrfFilter = None, q: Words = None, limit: Limit = None) -> None:
    """List zones, with their serials."""
    columns = ("name", "vrf", "serial", "kept", "id")
    show_list(session(ctx), session(ctx).client.zones, columns, limit, vrf=vrf, q=q)


@app.command(cls=Remote, epilog=example(f"tenure zone show {_SAMPLE}"))
def show(ctx: Context, zone: Zone, vrf: InVrfOfZone = None) -> None:
    """Show one zone."""
    show_one(session(ctx), session(ctx).client.zones.show(zone, vrf=vrf))


@app.command("set", cls=Edit, epilog=example(f"tenure zone set {_SAMPLE} --name-template 'ip-{{ip-dashed}}'"))
def set_(
    ctx: Context,
    zone: Zone,
    ttl: Ttl = None,
    negative_ttl: NegativeTtl = None,
    name_servers: NameServers = None,
    name_template: NameTemplate = None,
    kept: Annotated[
        bool | None, Option("--kept/--no-kept", help="Whether it stays without a network or subnet that needs it.")
    ] = None,
    vrf: InVrfOfZone = None,
) -> None:
    """Change a zone. `none` empties --name-servers or --name-template."""
    fields = _fields(locals(), leave=("zone", "vrf"))
    asked = session(ctx)
    made(asked, asked.client.zones.change(zone, fields, vrf=vrf, **asked.edit))


@app.command(cls=Edit, epilog=example(f"tenure zone delete {_SAMPLE}"))
def delete(ctx: Context, zone: Zone, vrf: InVrfOfZone = None) -> None:
    """Delete a zone without hand-made records; one that networks or subnets need as well stays as long as they do."""
    asked = session(ctx)
    deleted(asked, f"Zone {zone}", asked.client.zones.delete(zone, vrf=vrf, **asked.edit))


@app.command(cls=Remote, epilog=example(f"tenure zone file {_SAMPLE} > prod.example.db"))
def file(ctx: Context, zone: Zone, vrf: InVrfOfZone = None) -> None:
    """Print all of a zone as a master file (RFC 1035), computed names too."""
    asked = session(ctx)
    text = asked.client.zones.file(zone, vrf=vrf)
    output.value({"zone": zone, "file": text}) if asked.json else sys.stdout.write(text)


@app.command(cls=Remote, epilog=example("tenure zone delegate 64-26.2.0.192.in-addr.arpa."))
def delegate(ctx: Context, zone: Zone, vrf: InVrfOfZone = None) -> None:
    """Print what whoever serves the zone above needs: NS, glue, and of an RFC 2317 zone the CNAMEs."""
    asked = session(ctx)
    told = asked.client.zones.delegation(zone, vrf=vrf)
    if asked.json:
        output.value(told)
        return
    where = "is served here and has them already" if told["served"] else "is not served here: give them to who does"
    print(f"; Lines for the zone {told['parent']}, which {where}.")
    for line in told["lines"]:
        print(line)


@app.command(cls=Remote, epilog=example(f"tenure zone check {_SAMPLE}"))
def check(ctx: Context, zone: Zone, vrf: InVrfOfZone = None) -> None:
    """Look for what is wrong in a zone: with named-checkzone where it is installed, else with checks of our own.

    The exit status is 1 where something is.
    """
    asked = session(ctx)
    name = str(asked.client.zones.show(zone, vrf=vrf)["name"])
    found = zone_check.checked(asked.client.zones.file(zone, vrf=vrf), name)
    if asked.json:
        output.value({"zone": name, "checked_by": found.by, "sound": found.sound, "said": found.said})
    else:
        print("\n".join(found.said))
    if not found.sound:
        raise Exit(REFUSED)


offer_import(app)
