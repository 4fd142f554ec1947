"""Which records a holding of addresses means, and what a sequence of changes comes to.

Pure and quick, for it runs once a claim: rdata is made by hand, in wire form, without dnspython.
Times to live and the timers of an SOA are seconds, as on the wire.
"""

import struct
from collections.abc import Iterable, Mapping
from typing import Final, Literal

from tenure.model.dnsdata import Record
from tenure.naming.hostnames import wire
from tenure.naming.reverse import pointer_owner

A: Final = 1
NS: Final = 2
CNAME: Final = 5
SOA: Final = 6
PTR: Final = 12
TXT: Final = 16
AAAA: Final = 28

DEFAULT_TTL: Final = 300
DEFAULT_NEGATIVE_TTL: Final = 60
DEFAULT_REFRESH: Final = 3600
DEFAULT_RETRY: Final = 600
DEFAULT_EXPIRE: Final = 14 * 86400  # with every Tenure process stopped, the secondaries go on answering

LONGEST_CHAIN: Final = 8
"""CNAMEs that may lead from one to the next, and that are followed for one question."""

Change = tuple[Literal["add", "remove"], Record]
"""One assertion of a record made, or taken back."""

_TIMERS: Final = struct.Struct("!5I")


def forward(fqdn: str, version: int, number: int, ttl: int) -> Record:
    """The A or AAAA record of a name, and of an address given by its number. Cost: under 1 µs."""
    if version == 4:
        return Record(fqdn, A, ttl, number.to_bytes(4))
    return Record(fqdn, AAAA, ttl, number.to_bytes(16))


def pointer(zone: str, version: int, number: int, fqdn: str, ttl: int) -> Record:
    """The PTR record of an address in a reverse zone, which may be a classless one. Cost: under 3 µs."""
    return Record(pointer_owner(zone, version, number), PTR, ttl, wire(fqdn))


def soa(
    zone: str,
    primary: str,
    contact: str,
    serial: int,
    *,
    refresh: int = DEFAULT_REFRESH,
    retry: int = DEFAULT_RETRY,
    expire: int = DEFAULT_EXPIRE,
    negative_ttl: int = DEFAULT_NEGATIVE_TTL,
    ttl: int = DEFAULT_TTL,
) -> Record:
    """The SOA record of a zone.

    Args:
        zone: Absolute name.
        primary: Absolute name of the server that the zone comes from.
        contact: The mailbox as a name: `hostmaster.example.`, a dot before the @ escaped.
        serial: 1 to 2**32 - 1.
        refresh, retry, expire: Timers of secondaries, seconds.
        negative_ttl: How long "there is no such name" may be remembered, seconds.
        ttl: Of the record itself; resolvers take the smaller of it and `negative_ttl` for negative answers.

    Source: RFC 1035 section 3.3.13; RFC 2308 section 4.
    """
    timers = _TIMERS.pack(serial, refresh, retry, expire, negative_ttl)
    return Record(zone, SOA, ttl, wire(primary) + wire(contact) + timers)


def ns(zone: str, host: str, ttl: int = DEFAULT_TTL) -> Record:
    """An NS record: `host` serves `zone`, both absolute names."""
    return Record(zone, NS, ttl, wire(host))


def net(
    changes: Iterable[Change], before: Mapping[Record, int] | None = None
) -> tuple[tuple[Record, ...], tuple[Record, ...]]:
    """What a sequence of changes comes to: the records that leave the zone, and those that enter it.

    A zone holds a record once, but several holders may assert it (a network with `shared_names`, or a
    hand-made record equal to an automatic one). So assertions are counted, and the record is there
    while at least one stands: an addition over one that stands and a removal that leaves one change nothing.

    Records that differ in TTL alone are two records.

    Args:
        changes: In the order in which they happened, of one zone.
        before: For each record that others may assert too, how many assertions stood before.
            A record that is not in it is taken to have had the fewest that make the sequence possible:
            one for each removal that no earlier addition accounts for.

    Returns:
        (removed, added), each record once, in the order of first mention; both empty if nothing came of it.
    """
    sums: dict[Record, int] = {}
    lows: dict[Record, int] = {}
    for what, record in changes:
        total = sums[record] = sums.get(record, 0) + (1 if what == "add" else -1)
        lows[record] = min(lows.get(record, 0), total)
    known = before or {}
    removed, added = [], []
    for record, total in sums.items():
        stood = known.get(record, -lows[record])
        if stood > 0 >= stood + total:
            removed.append(record)
        elif stood + total > 0 >= stood:
            added.append(record)
    return tuple(removed), tuple(added)
