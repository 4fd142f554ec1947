"""A zone as the text of a master file (RFC 1035 section 5): every line whole, every name absolute."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from tenure.model.dnsdata import TYPES, Record
from tenure.naming.authority import authority, start
from tenure.naming.rdata import text
from tenure.naming.records import SOA
from tenure.net.addresses import Address
from tenure.service.contents import Computed, Contents

_NAMES: Final[dict[int, str]] = {number: name for name, number in TYPES.items()} | {SOA: "SOA"}


def line(record: Record) -> str:
    """One record as a line without its end."""
    return f"{record.owner}\t{record.ttl}\tIN\t{name_of(record.type)}\t{text(record.type, record.rdata)}"


def name_of(number: int) -> str:
    """What a type is called. Source: RFC 3597 section 5."""
    return _NAMES.get(number) or f"TYPE{number}"


def records_of(contents: Contents, addresses: Iterable[Address]) -> Iterator[Record]:
    """Every record of a zone, as a transfer would give it: its SOA first, computed names last.

    Args:
        addresses: Where this server is reached, for the zone's own name of it.

    Cost: memory for the addresses that are named in the zone's stretches, whatever its size.
    """
    zone, servers = contents.zone, contents.servers
    yield start(zone, servers)
    computed = [(each, set[int]()) for each in contents.stretches if each.stretch.listed]
    for record in chain(authority(zone, servers, contents.below, addresses), contents.records):
        yield record
        for each, hidden in computed:
            number = each.stretch.number(record.owner)
            if number is not None:
                hidden.add(number)
    for each, hidden in computed:
        yield from _computed(each, hidden)


def _computed(each: Computed, hidden: set[int]) -> Iterator[Record]:
    """The names of a stretch that nothing real stands for."""
    stretch, taken = each
    for number in range(stretch.first, stretch.last + 1):
        if number not in taken and number not in hidden:
            yield stretch.record(number)
