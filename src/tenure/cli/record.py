"""`tenure record`: records that people make, beside those of addresses."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any

from typer import Argument, Context, Option

from tenure.cli import output
from tenure.cli.group import done, example, group, made, show_one
from tenure.cli.options import InVrfOfZone, Limit, OfZone, seconds, seconds_or_none, sent
from tenure.cli.remote import Change, Edit, Remote, Session, session
from tenure.errors import Conflict, InvalidValue, NotFound

app = group("record", "Records of zones that people make: CNAME, MX, TXT and the like.")

_SHOWN = 20

Record = Annotated[
    str,
    Argument(metavar="RECORD", help="Its id; or its name, where it is the only one of that name and TYPE."),
]
Type = Annotated[str | None, Argument(metavar="TYPE", help="Its type, where RECORD is a name.", show_default=False)]


@app.command(
    cls=Change,
    epilog=example(
        "tenure record create prod.example. www CNAME web-1",
        "tenure record create prod.example. @ MX 10 mail.example.net.",
        "tenure record create prod.example. @ TXT '\"v=spf1 -all\"'",
    ),
)
def create(
    ctx: Context,
    zone: OfZone,
    name: Annotated[
        str, Argument(metavar="NAME", help="Relative to the zone, or absolute with a dot at its end; @ is the zone.")
    ],
    type_: Annotated[
        str, Argument(metavar="TYPE", help="A, AAAA, CAA, CNAME, HTTPS, MX, NS, PTR, SRV, SSHFP, SVCB or TXT.")
    ],
    data_: Annotated[
        list[str], Argument(metavar="DATA…", help="As a zone file has it; names relative, or absolute with their dot.")
    ],
    ttl: Annotated[
        int | None, Option(metavar="DURATION", parser=seconds, help="That of the zone; 1h.", show_default=False)
    ] = None,
    vrf: InVrfOfZone = None,
) -> None:
    """Make a record. No allocation, lease or release ever touches it.

    End absolute names with a dot, in NAME and in DATA: `www.example` without one is a name in the zone.
    """
    asked = session(ctx)
    data = " ".join(data_)
    fields = {"name": name, "type": type_.upper(), "data": data, "ttl": ttl}
    record = asked.client.records.create(zone, fields, vrf=vrf, **asked.change)
    _tell_of_dots([(name, record["name"]), *_words(data, record)], record["zone"])
    made(asked, record)


@app.command("list", cls=Remote, epilog=example("tenure record list prod.example. --type MX"))
def list_(
    ctx: Context,
    zone: OfZone,
    type_: Annotated[str | None, Option("--type", metavar="TYPE", help="Only those of this type.")] = None,
    q: Annotated[str | None, Option("--q", metavar="WORDS", help="Only those whose name begins so.")] = None,
    limit: Limit = None,
    vrf: InVrfOfZone = None,
) -> None:
    """List the records of a zone that people made; `tenure zone file` prints all."""
    asked = session(ctx)
    found = asked.client.records.list(zone, type=type_ and type_.upper(), q=q, vrf=vrf)
    output.listed(("name", "type", "ttl", "data", "id"), found, limit, asked.json)


@app.command(cls=Remote, epilog=example("tenure record show prod.example. www CNAME"))
def show(ctx: Context, zone: OfZone, record: Record, type_: Type = None, vrf: InVrfOfZone = None) -> None:
    """Show one record."""
    show_one(session(ctx), _found(session(ctx), zone, record, type_, vrf))


@app.command("set", cls=Edit, epilog=example("tenure record set prod.example. www CNAME --to web-2"))
def set_(
    ctx: Context,
    zone: OfZone,
    record: Record,
    type_: Type = None,
    data_: Annotated[
        str | None, Option("--to", metavar="DATA", help="What it says from now on, as a zone file has it.")
    ] = None,
    ttl: Annotated[
        int | None,
        Option(metavar="DURATION", parser=seconds_or_none, help="Its own; none follows the zone.", show_default=False),
    ] = None,
    vrf: InVrfOfZone = None,
) -> None:
    """Change what a record says, or for how long it may be remembered."""
    asked = session(ctx)
    fields = sent({"data": data_, "ttl": ttl}, nullable=("ttl",))
    known = _found(asked, zone, record, type_, vrf)
    now = asked.client.records.change(zone, known["id"], fields, vrf=vrf, **asked.edit)
    _tell_of_dots(_words(data_ or "", now), now["zone"])
    made(asked, now)


@app.command(cls=Edit, epilog=example("tenure record delete prod.example. www CNAME"))
def delete(ctx: Context, zone: OfZone, record: Record, type_: Type = None, vrf: InVrfOfZone = None) -> None:
    """Delete one record, and nothing else of that name."""
    asked = session(ctx)
    known = _found(asked, zone, record, type_, vrf)
    asked.client.records.delete(zone, known["id"], vrf=vrf, **asked.edit)
    done(asked, f"Record {known['name']} {known['type']}", "deleted")


def _words(data: str, record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each word of data as it was typed, and as it is kept."""
    return zip(data.split(), str(record["data"]).split(), strict=False)


def _tell_of_dots(names: Iterable[tuple[str, str]], zone: str) -> None:
    """Say on standard error what names became that look absolute and were not; `_sip._tcp` does not look so."""
    for typed, kept in names:
        looks = "." in typed and not typed.endswith(".") and not typed.rpartition(".")[2].startswith("_")
        if looks and kept.endswith(f".{zone}"):
            print(f"{typed} has no dot at its end, so it is in the zone: {output.text(kept)}", file=sys.stderr)


def _found(asked: Session, zone: str, record: str, type_: str | None, vrf: str | None) -> dict[str, Any]:
    """The record with an id, else the only one of a name and type.

    Raises:
        NotFound: There is none.
        Conflict: There are several of that name.
    """
    if type_ is None:
        try:
            return asked.client.records.show(zone, record, vrf=vrf)
        except NotFound as error:
            if error.facts.get("kind") != "record":
                raise
    return _only(asked, zone, record, type_, vrf)


def _kept(name: str) -> str:
    """A name as it is kept, in whatever letters it is written; what can be none is none that is there."""
    from tenure.naming.hostnames import parse_name

    try:
        return parse_name(name, wildcard=True)
    except InvalidValue:
        return name


def _only(asked: Session, zone: str, name: str, type_: str | None, vrf: str | None) -> dict[str, Any]:
    origin = asked.client.zones.show(zone, vrf=vrf)["name"]
    wanted = origin if name == "@" else _kept(name if name.endswith(".") else f"{name}.{origin}")
    sought = asked.client.records.list(zone, type=type_ and type_.upper(), q=wanted, vrf=vrf)
    found = [each for each in sought if each["name"] == wanted]
    if not found:
        of = f" of type {type_.upper()}" if type_ else ""
        raise NotFound(f"There is no record {wanted}{of}; tenure record list {zone} shows what there is.")
    if len(found) > 1:
        ids = [f"{each['id']} ({each['type']} {each['data']})" for each in found[:_SHOWN]]
        raise Conflict(f"There are {len(found)} records {wanted}; name one by its id: {', '.join(ids)}.")
    return found[0]
