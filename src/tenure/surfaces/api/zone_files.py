"""What others are given of a zone: all of it as a file, and the lines that the zone above it needs."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from tempfile import TemporaryFile
from typing import IO, Final

import msgspec
from starlette.responses import Response, StreamingResponse

from tenure.errors import StoreUnavailable
from tenure.model.dnsdata import Record, Zone
from tenure.naming.authority import Delegated, delegation, glued, own_server, servers_of
from tenure.naming.rdata import text
from tenure.naming.reverse import classless_span, zone_at
from tenure.net.addresses import Address, parse_address
from tenure.service.contents import zone_contents
from tenure.store.interface import Reads, Seen, Snapshot
from tenure.surfaces.api.backing import Backing, position_of
from tenure.surfaces.api.inventory import found
from tenure.surfaces.api.operations import Asked, Noun, answer
from tenure.surfaces.api.zone_text import line, name_of, records_of
from tenure.surfaces.api.zones import ZoneRead, seen_zone

NOUN = Noun("zones")

MEDIA: Final = "text/dns; charset=us-ascii"
"""Source: RFC 4027."""
_LINES: Final = 1000
_PIECE: Final = 1 << 16

_EXAMPLE: Final = """\
prod.example.\t300\tIN\tSOA\tns.prod.example. hostmaster.prod.example. 17 3600 600 1209600 60
prod.example.\t300\tIN\tNS\tns.prod.example.
ns.prod.example.\t300\tIN\tA\t192.0.2.53
vm-17.prod.example.\t300\tIN\tA\t10.0.3.65
"""


@NOUN.operation(
    "GET",
    "/v1/zones/{zone}/file",
    "Write a zone as a file",
    name="zone_file",
    query=ZoneRead,
    media=MEDIA,
    gives={200: str},
    answers={200: _EXAMPLE},
    refusals=("not_found",),
)
async def zone_file(asked: Asked) -> Response:
    """The whole zone as of one moment, as a transfer gives it: RFC 1035 text, a line a record, names absolute.

    Names that a template computes are in it; those of IPv6 stretches of more than 65,536 addresses are answered only.
    """
    zone: Zone = (await asked.look(seen_zone, asked.path("zone"), asked.query.vrf)).value
    addresses = await asked.backing.read(_addresses, asked.backing, zone.vrf)
    async with asked.backing.files:
        written = await asked.backing.read(_written, asked.backing, zone, addresses)
    asked.position = position_of(written.head)
    asked.backing.advance(asked.position)
    size = str(written.value.tell())
    written.value.seek(0)
    return StreamingResponse(_pieces(written.value), media_type=MEDIA, headers={"Content-Length": size})


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    """Read by threads of the server's, as fast as the caller takes it; the store is let go of by then."""
    with file:
        while piece := file.read(_PIECE):
            yield piece


def _addresses(backing: Backing, vrf: str) -> list[Address]:
    """Where this server is reached, as the zones of a vrf tell it."""
    return list(dict.fromkeys(parse_address(each.address) for each in backing.primaries(vrf)))


def _written(backing: Backing, zone: Zone, addresses: Iterable[Address]) -> Seen[IO[bytes]]:
    """A zone as a file without a name, at its end.

    Raises:
        NotFound: The zone is gone.
        StoreUnavailable: There is no room for the file.
    """
    try:
        with ExitStack() as stack:
            file = stack.enter_context(TemporaryFile())
            with backing.committed.snapshot() as snapshot:
                _write(file, snapshot, zone, addresses)
                head = snapshot.head
            stack.pop_all()  # the caller closes it
            return Seen(file, head)
    except OSError as error:
        raise StoreUnavailable(f"The zone could not be written out here: {error.strerror}.") from None


def _write(file: IO[bytes], snapshot: Snapshot, zone: Zone, addresses: Iterable[Address]) -> None:
    contents = found(next(iter(zone_contents(snapshot, {zone.id})), None), "zone", zone.name)
    lines = map(line, records_of(contents, addresses))
    while some := list(islice(lines, _LINES)):
        file.write(("\n".join(some) + "\n").encode("ascii"))


class DelegatedRecord(msgspec.Struct):
    """A record of a delegation."""

    name: str
    type: str
    ttl: int
    data: str


class DelegationOut(msgspec.Struct):
    """What the zone `parent` has to say of `zone`; `served`: it is one of ours, and says so already."""

    zone: str
    parent: str
    served: bool
    lines: list[str]
    records: list[DelegatedRecord]


@NOUN.operation(
    "GET",
    "/v1/zones/{zone}/delegation",
    "Read what delegates a zone",
    name="zone_delegation",
    query=ZoneRead,
    gives={200: DelegationOut},
    answers={
        200: DelegationOut(
            "prod.example.",
            "example.",
            False,
            ["prod.example.\t300\tIN\tNS\tns.prod.example.", "ns.prod.example.\t300\tIN\tA\t192.0.2.53"],
            [
                DelegatedRecord("prod.example.", "NS", 300, "ns.prod.example."),
                DelegatedRecord("ns.prod.example.", "A", 300, "192.0.2.53"),
            ],
        )
    },
    refusals=("not_found",),
)
async def zone_delegation(asked: Asked) -> Response:
    """The records that whoever serves the zone above must have: NS, glue, and of an RFC 2317 zone the CNAMEs.

    Where the zone above is served here (`served`), it has them. `lines` are the same for a zone file.
    """
    found_ = await asked.look(_delegation, asked.backing, asked.path("zone"), asked.query.vrf)
    return answer(found_.value)


def _delegation(reads: Reads, backing: Backing, name: str, vrf: str | None) -> Seen[DelegationOut]:
    seen = seen_zone(reads, name, vrf)
    zone = seen.value
    known = reads.vrf(zone.vrf).value
    of_vrf = () if known is None else known.name_servers
    above = _around(reads, zone.vrf, zone.name.partition(".")[2])
    parent = _parent(zone) if above is None else above.name
    cut = _cut(reads, zone, of_vrf, parent)
    records = list(delegation(cut, _addresses(backing, zone.vrf)))
    return Seen(
        DelegationOut(
            zone.name,
            parent,
            above is not None,
            list(map(line, records)),
            [
                DelegatedRecord(each.owner, name_of(each.type), each.ttl, text(each.type, each.rdata))
                for each in records
            ],
        ),
        seen.head,
    )


def _cut(reads: Reads, zone: Zone, of_vrf: tuple[str, ...], parent: str) -> Delegated:
    """What the zone above has to say: with the addresses that people gave to servers whose names lie below it."""
    servers = servers_of(zone, of_vrf)
    glue: list[Record] = []
    own: list[Zone] = []
    for server in servers:
        home = _around(reads, zone.vrf, server)
        if home is None or not glued(home.name, parent):
            continue
        if home.id != zone.id and server == own_server(home.name) and server in servers_of(home, of_vrf):
            own.append(home)
        for type_ in ("A", "AAAA"):
            made = reads.records(limit=1000, zone=home.id, type_=type_, q=server).items
            glue += [each.record(home) for each in made if each.owner == server]
    return Delegated(zone, servers, tuple(glue), tuple(own))


def _around(reads: Reads, vrf: str, name: str) -> Zone | None:
    """The innermost zone of a vrf that a name is in."""
    while name:
        found_ = reads.zone(name, vrf).value
        if found_ is not None:
            return found_
        name = name.partition(".")[2]
    return None


def _parent(zone: Zone) -> str:
    """The zone above, where it is not served here: of a classless one that of the octet, else a label less."""
    span = classless_span(zone.name)
    return zone.name.partition(".")[2] or "." if span is None else zone_at(4, span[0], 24)[0]
