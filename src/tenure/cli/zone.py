"""`tenure zone`: what Tenure is primary of."""

import sys
from collections.abc import Iterable
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
    Serial,
    Ttl,
    VrfFilter,
    Words,
    Zone,
    emptied,
    sent,
)
from tenure.cli.remote import REFUSED, Change, Edit, Remote, Session, session
from tenure.cli.zone_import import offer_import

app = group("zone", "Zones that Tenure is primary of, forward and reverse.")

_SAMPLE = "prod.example."
_ADDRESSES = ("A", "AAAA")
_LOCAL = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7")
"""Source: RFC 1918, 4193, 6598. Those of documentation are none: examples are about the world."""


def _told(asked: Session, zone: dict[str, Any]) -> dict[str, Any]:
    """A zone as it is shown: people have no use for how far back its journal goes."""
    return zone if asked.json else {name: part for name, part in zone.items() if name != "floor"}


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
    serial: Serial = None,
) -> None:
    """Make a zone that stays. Networks and subnets make theirs by themselves."""
    fields = _fields(locals())
    asked = session(ctx)
    made(asked, _told(asked, asked.client.zones.make(fields, **asked.change)))


@app.command("list", cls=Remote, epilog=example("tenure zone list"))
def list_(ctx: Context, vrf: VrfFilter = None, q: Words = None, limit: Limit = None) -> None:
    """List zones, with their serials."""
    columns = ("name", "vrf", "serial", "kept", "id")
    show_list(session(ctx), session(ctx).client.zones, columns, limit, vrf=vrf, q=q)


@app.command(cls=Remote, epilog=example(f"tenure zone show {_SAMPLE}"))
def show(ctx: Context, zone: Zone, vrf: InVrfOfZone = None) -> None:
    """Show one zone."""
    show_one(session(ctx), _told(session(ctx), session(ctx).client.zones.show(zone, vrf=vrf)))


@app.command("set", cls=Edit, epilog=example(f"tenure zone set {_SAMPLE} --name-template 'ip-{{ip-dashed}}'"))
def set_(
    ctx: Context,
    zone: Zone,
    ttl: Ttl = None,
    negative_ttl: NegativeTtl = None,
    name_servers: NameServers = None,
    name_template: NameTemplate = None,
    serial: Serial = None,
    kept: Annotated[
        bool | None, Option("--kept/--no-kept", help="Whether it stays without a network or subnet that needs it.")
    ] = None,
    vrf: InVrfOfZone = None,
) -> None:
    """Change a zone. `none` empties --name-servers or --name-template."""
    fields = _fields(locals(), leave=("zone", "vrf"))
    asked = session(ctx)
    made(asked, _told(asked, asked.client.zones.change(zone, fields, vrf=vrf, **asked.edit)))


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
    _warn_of_glue(told["lines"])
    if asked.json:
        output.value(told)
        return
    where = "is served here and has them already" if told["served"] else "is not served here: give them to who does"
    print(f"; Lines for the zone {told['parent']}, which {where}.")
    for line in told["lines"]:
        print(line)


def _local(address: str) -> bool:
    """Whether it is nobody's in the world: of this machine, its link, or an organization."""
    from tenure.net.addresses import parse_address, parse_prefix

    known = parse_address(address)
    return known.is_loopback or known.is_link_local or any(known in parse_prefix(each) for each in _LOCAL)


def _warn_of_glue(lines: Iterable[str]) -> None:
    """Say on standard error which addresses in a delegation not everybody reaches who follows it."""
    glue = (line.split("\t") for line in lines)
    near = [(name, text) for name, _, _, type_, text in glue if type_ in _ADDRESSES and _local(text)]
    for name, address in near:
        print(f"{name} has the address {address}, which only this machine or network reaches.", file=sys.stderr)
    if near:
        print(
            "Serve DNS where resolvers reach it (--dns ADDR:53), or name other servers (--name-servers).",
            file=sys.stderr,
        )


@app.command(cls=Remote, epilog=example(f"tenure zone check {_SAMPLE}"))
def check(ctx: Context, zone: Zone, vrf: InVrfOfZone = None) -> None:
    """Look for what is wrong in a zone: with named-checkzone where it is installed, else with checks of our own.

    It tells too of servers of other zones whose names are in this one and have no address here.
    The exit status is 1 where something is.
    """
    asked = session(ctx)
    shown = asked.client.zones.show(zone, vrf=vrf)
    name = str(shown["name"])
    found = zone_check.checked(asked.client.zones.file(zone, vrf=vrf), name)
    unknown = zone_check.strangers(asked.client, shown)
    found = found.besides(unknown)
    if asked.json:
        output.value({"zone": name, "checked_by": found.by, "sound": found.sound, "said": found.said})
    else:
        print("\n".join(found.said))
    if not found.sound:
        raise Exit(REFUSED)


offer_import(app)
