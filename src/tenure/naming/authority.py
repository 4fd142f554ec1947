"""What a zone says of itself and of the zones below it: servers, their addresses, and where classless pointers are.

None of it is stored: it follows from which zones there are.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final, NamedTuple

from tenure.model.dnsdata import Record, Zone
from tenure.naming import records
from tenure.naming.hostnames import LONGEST_LABEL, wire
from tenure.naming.reverse import classless_span, zone_at
from tenure.net.addresses import Address

CONTACT: Final = "hostmaster"
_NOBODY: Final = "invalid."
_VERSION: Final = b"\x012"


class Delegated(NamedTuple):
    """A zone and who serves it, as the zone above has to say.

    Attributes:
        servers: Absolute names; one that is none of the zone's own (`own_server`) needs its addresses in `glue`
            where it lies below the zone above: see `glued`.
        own: Other zones there by whose own server's name it is served.
    """

    zone: Zone
    servers: tuple[str, ...]
    glue: tuple[Record, ...] = ()
    own: tuple[Zone, ...] = ()


def own_server(zone: str) -> str:
    """The name that this server has in a zone that names no servers."""
    return f"ns.{zone}"


def glued(home: str, above: str) -> bool:
    """Whether the zone `above` must say the address of a server whose name is in the zone `home`, itself below it.

    So it must for servers in the zone that they serve, in one inside that, and in another one beside it: without it
    zones that serve each other could not be found. Source: RFC 1034 section 4.2.1; RFC 9471 section 3.2.
    """
    return home.endswith("." + above.lstrip("."))


def servers_of(zone: Zone, of_vrf: tuple[str, ...]) -> tuple[str, ...]:
    """Who serves a zone: whom it names, else whom its vrf names, else this server under its name there."""
    if zone.catalog:
        return (_NOBODY,)
    return zone.name_servers or of_vrf or (own_server(zone.name),)


def start(zone: Zone, servers: tuple[str, ...]) -> Record:
    """The zone's SOA. Source: RFC 1035 section 3.3.13; of a catalog RFC 9432 section 4.1."""
    contact = f"{CONTACT}.{zone.name}"
    return records.soa(zone.name, servers[0], contact, zone.serial, negative_ttl=zone.negative_ttl, ttl=zone.ttl)


def authority(
    zone: Zone, servers: tuple[str, ...], below: Iterable[Delegated], addresses: Iterable[Address]
) -> Iterator[Record]:
    """The records that a zone has by itself, but for its SOA.

    Args:
        below: The zones cut out of this one that are served here too.
        addresses: Where this server is reached.
    """
    held = tuple(addresses)
    for server in servers:
        yield records.ns(zone.name, server, zone.ttl)
    if zone.catalog:
        yield Record(f"version.{zone.name}", records.TXT, zone.ttl, _VERSION)
    else:
        yield from _addresses(zone, servers, held)
    pointed: set[str] = set()
    said: set[Record] = set()
    for cut in sorted(below, key=_narrowest):
        for record in delegation(cut, held):
            if record in said or (record.type == records.CNAME and record.owner in pointed):
                continue
            pointed.add(record.owner)
            said.add(record)
            yield record


def delegation(cut: Delegated, addresses: Iterable[Address]) -> Iterator[Record]:
    """The records that whoever serves the zone above must have: NS, glue, and CNAMEs into a classless zone.

    Source: RFC 1034 section 4.2.1; RFC 2317 section 4.
    """
    zone = cut.zone
    for server in cut.servers:
        yield records.ns(zone.name, server, zone.ttl)
    own = chain.from_iterable(_addresses(other, (own_server(other.name),), addresses) for other in cut.own)
    yield from dict.fromkeys((*_addresses(zone, cut.servers, addresses), *cut.glue, *own))
    span = classless_span(zone.name)
    if span is not None:
        above = zone_at(4, span[0], 24)[0]
        for number in range(span[0], span[1] + 1):
            label = number & 255
            yield Record(f"{label}.{above}", records.CNAME, zone.ttl, wire(f"{label}.{zone.name}"))


def member(catalog: Zone, zone: Zone) -> Record:
    """The catalog's record of one of its members; its label is the zone's id, which it keeps for life.

    Source: RFC 9432 section 4.3.
    """
    label = zone.id[:LONGEST_LABEL].lower()
    return Record(f"{label}.zones.{catalog.name}", records.PTR, catalog.ttl, wire(zone.name))


def _addresses(zone: Zone, servers: tuple[str, ...], addresses: Iterable[Address]) -> Iterator[Record]:
    own = own_server(zone.name)
    if own in servers:
        for address in addresses:
            yield records.forward(own, address.version, int(address), zone.ttl)


def _narrowest(cut: Delegated) -> tuple[int, str]:
    """Classless zones may lie in each other: an address's CNAME leads to the innermost."""
    span = classless_span(cut.zone.name)
    return (0, cut.zone.name) if span is None else (span[1] - span[0], cut.zone.name)
