"""What a secondary has to be told, in the words of BIND, Knot, NSD and PowerDNS."""

from collections.abc import Callable, Iterator
from typing import Final, Literal, NamedTuple, cast, get_args

from typer import BadParameter

from tenure.errors import InvalidValue
from tenure.model.dnsdata import CATALOG

Form = Literal["bind", "knot", "nsd", "pdns"]

_NAME: Final = "tenure"
_PORT: Final = 53
_WRITTEN: Final = 60
"""Seconds after which NSD writes what changed: so much of the latest is not there if it is started again without us."""


class Primary(NamedTuple):
    """Where a secondary reaches this server."""

    address: str
    port: int = _PORT


class Source(NamedTuple):
    """What a secondary replicates, and from where.

    Attributes:
        key: Name of the TSIG key that it signs with.
        zones: All that there are now, for servers that follow no catalog.
    """

    primaries: tuple[Primary, ...]
    key: str | None
    zones: tuple[str, ...]


def form_of(text: str) -> Form:
    """The server that an option names."""
    if text not in get_args(Form):
        raise BadParameter(f"it is one of {', '.join(get_args(Form))}")
    return cast(Form, text)


def primary_of(text: str) -> Primary:
    """`ADDRESS`, `ADDRESS:PORT` or `[IPV6]:PORT`; of one server, so neither `0.0.0.0` nor a group's."""
    from tenure.net.addresses import parse_address

    bare, port = (text, "") if text.count(":") > 1 and not text.startswith("[") else _parted(text)
    try:
        address = parse_address(bare.removeprefix("[").removesuffix("]"))
    except InvalidValue as error:
        raise BadParameter(error.message) from None
    if address.is_unspecified or address.is_multicast:
        raise BadParameter(f"nobody can transfer from {address}: name an address at which this server is reached")
    if port and not (port.isdecimal() and 0 < int(port) < 1 << 16):
        raise BadParameter("a port is 1 to 65535")
    return Primary(str(address), int(port or _PORT))


def _parted(text: str) -> tuple[str, str]:
    if text.endswith("]"):
        return text, ""
    bare, _, port = text.rpartition(":")
    return (bare, port) if bare else (text, "")


def key_text(form: Form, name: str, algorithm: str, secret: str) -> str:
    """A key, for the configuration of a server."""
    return _KEYS[form].format(name=name, bare=name.rstrip("."), algorithm=algorithm, secret=secret)


_KEYS: Final[dict[Form, str]] = {
    "bind": 'key "{name}" {{ algorithm {algorithm}; secret "{secret}"; }};\n',
    "knot": "key:\n  - id: {name}\n    algorithm: {algorithm}\n    secret: {secret}\n",
    "nsd": 'key:\n    name: "{name}"\n    algorithm: {algorithm}\n    secret: "{secret}"\n',
    "pdns": "pdnsutil import-tsig-key {bare} {algorithm} {secret}\n",
}


def secondary_text(form: Form, source: Source) -> str:
    """All but the key, for the configuration of a server; of PowerDNS the commands that make it."""
    return "".join(line + "\n" for line in _FORMS[form](source))


def _bind(source: Source) -> Iterator[str]:
    """Source: BIND 9 Administrator Reference Manual, catalog zones."""
    key = f' key "{source.key}"' if source.key else ""
    primaries = " ".join(f"{each.address} port {each.port}{key};" for each in source.primaries)
    catalog = CATALOG.rstrip(".")
    yield "// Where there is an options block already, catalog-zones belongs into that one."
    yield "options {"
    yield f'    catalog-zones {{ zone "{catalog}" default-primaries {{ {primaries} }}; }};'
    yield "};"
    yield f'zone "{catalog}" {{'
    yield "    type secondary;"
    yield f'    file "{catalog}.db";'
    yield f"    primaries {{ {primaries} }};"
    yield "};"


def _knot(source: Source) -> Iterator[str]:
    """Source: Knot DNS documentation, catalog zones."""
    addresses = ", ".join(f"{each.address}@{each.port}" for each in source.primaries)
    key = [f"    key: {source.key}"] if source.key else []
    yield "remote:"
    yield f"  - id: {_NAME}"
    yield f"    address: [ {addresses} ]"
    yield from key
    yield "acl:"
    yield f"  - id: {_NAME}-notify"
    yield f"    address: [ {', '.join(each.address for each in source.primaries)} ]"
    yield from key
    yield "    action: notify"
    yield "template:"
    yield f"  - id: {_NAME}"
    yield "    storage: /var/lib/knot"
    yield f"    master: {_NAME}"
    yield f"    acl: {_NAME}-notify"
    yield "zone:"
    yield f"  - domain: {CATALOG}"
    yield f"    template: {_NAME}"
    yield "    catalog-role: interpret"
    yield f"    catalog-template: {_NAME}"


def _nsd(source: Source) -> Iterator[str]:
    """Zone by zone: NSD follows catalogs since 4.9. Written down, so that it has them after a restart without us.

    Source: nsd.conf(5).
    """
    key = source.key or "NOKEY"
    yield "# Zone by zone; print this again when zones come or go. (From NSD 4.9 on it can follow the catalog"
    yield f"# {CATALOG})"
    yield "# It keeps them in files in its zonesdir, where it has to be able to write."
    yield "server:"
    yield f"    zonefiles-write: {_WRITTEN}"
    yield "pattern:"
    yield f'    name: "{_NAME}"'
    yield '    zonefile: "%s.zone"'
    for each in source.primaries:
        yield f"    request-xfr: {each.address}@{each.port} {key}"
        yield f"    allow-notify: {each.address} {key}"
    for zone in source.zones:
        if zone != CATALOG:
            yield "zone:"
            yield f'    name: "{zone.rstrip(".")}"'
            yield f'    include-pattern: "{_NAME}"'


def _pdns(source: Source) -> Iterator[str]:
    """By the catalog; with a key zone by zone, for it gives the catalog's key to no member.

    Source: PowerDNS Authoritative Server documentation, catalog zones; pdnsutil(1).
    """
    at = (f"[{each.address}]" if ":" in each.address else each.address for each in source.primaries)
    primaries = " ".join(f"{address}:{each.port}" for address, each in zip(at, source.primaries, strict=True))
    catalog = CATALOG.rstrip(".")
    yield "# With secondary=yes in pdns.conf:"
    if source.key is None:
        yield f"pdnsutil create-secondary-zone {catalog} {primaries}"
        yield f"pdnsutil set-kind {catalog} consumer"
        return
    yield "# Zone by zone, because PowerDNS gives the catalog's key to none of its members; print this again when zones"
    yield "# come or go. Those that are there already are told of, and stay as they are."
    for zone in source.zones:
        if zone != CATALOG:
            yield f"pdnsutil create-secondary-zone {zone.rstrip('.')} {primaries}"
            yield f"pdnsutil activate-tsig-key {zone.rstrip('.')} {source.key.rstrip('.')} secondary"


_FORMS: Final[dict[Form, Callable[[Source], Iterator[str]]]] = {
    "bind": _bind,
    "knot": _knot,
    "nsd": _nsd,
    "pdns": _pdns,
}
