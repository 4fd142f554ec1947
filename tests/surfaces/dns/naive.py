"""A slow and simple server, made with dnspython's names: each question looks at each record (RFC 1034, 4.3.2)."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.zone

from tenure.model.dnsdata import Record, Zone
from tenure.naming.authority import Delegated
from tenure.naming.templates import Stretch
from tests.surfaces.dns.oracle import Records, grouped, sections

NS, CNAME, SOA, DS = 2, 5, 6, 43
ADDRESSES = (1, 28)
STAR = dns.name.Name((b"*",))


class Stretched(NamedTuple):
    """A stretch of computed names and the addresses that are called otherwise."""

    stretch: Stretch
    taken: set[int]


class Filled(NamedTuple):
    """All that a zone is made of."""

    zone: Zone
    records: tuple[Record, ...] = ()
    stretches: tuple[Stretched, ...] = ()
    below: tuple[Delegated, ...] = ()
    servers: tuple[str, ...] = ("ns.example.com.",)


class Said(NamedTuple):
    """An answer, without what it tells besides."""

    rcode: dns.rcode.Rcode
    authoritative: bool
    answers: Records
    authority: Records


def said(message: dns.message.Message) -> Said:
    """The same of a parsed message."""
    authoritative = bool(message.flags & dns.flags.AA)
    return Said(message.rcode(), authoritative, sections(message.answer), sections(message.authority))


def zone_text(text: str, origin: str) -> tuple[Record, ...]:
    """The records of a zone file, the apex's SOA and NS left out."""
    zone = dns.zone.from_text(text, origin, relativize=False, check_origin=False)
    records = [
        Record(name.to_text().lower(), int(rdataset.rdtype), rdataset.ttl, rdata.to_digestable())
        for name, rdataset in zone.iterate_rdatasets()
        for rdata in rdataset
    ]
    return tuple(each for each in records if each.owner != origin or each.type not in (NS, SOA))


def ahead(stretches: Iterable[Stretched], there: Iterable[Record]) -> Iterator[Record]:
    """Every computed record that nothing real hides, one after the other."""
    owners = {record.owner for record in there}
    for stretch, taken in stretches:
        for number in range(stretch.first, stretch.last + 1):
            record = stretch.record(number)
            if number not in taken and record.owner not in owners:
                yield record


class Naive:
    """The zones of a view.

    Args:
        zones: All records of each, the SOA and what is computed included.
    """

    def __init__(self, zones: Iterable[tuple[Record, ...]]) -> None:
        self.zones: dict[dns.name.Name, list[tuple[dns.name.Name, Record]]] = {}
        for records in zones:
            apex = next(record.owner for record in records if record.type == SOA)
            self.zones[dns.name.from_text(apex)] = [(dns.name.from_text(each.owner), each) for each in records]

    def addresses(self) -> set[tuple[dns.name.Name, Record]]:
        """Whatever may be told besides."""
        every = (pair for zone in self.zones.values() for pair in zone)
        return {(name, record) for name, record in every if record.type in ADDRESSES}

    def answer(self, name: dns.name.Name, kind: int) -> Said:
        """What is said."""
        answers: list[Record] = []
        passed: set[dns.name.Name] = set()
        while name not in passed and len(passed) < 9:
            passed.add(name)
            apex = self._apex(name, kind)
            if apex is None:
                break
            cut = self._cut(apex, name, kind)
            if cut is not None:
                return Said(dns.rcode.NOERROR, bool(answers), grouped(answers), grouped(self._at(apex, cut, NS)))
            here = self._here(apex, name)
            found = [each for each in here or () if each.type == kind]
            aliases = [each for each in here or () if each.type == CNAME]
            if not found and not aliases:
                rcode = dns.rcode.NXDOMAIN if here is None else dns.rcode.NOERROR
                return Said(rcode, True, grouped(answers), grouped(self._denial(apex)))
            answers += found or aliases
            if found:
                break
            name = dns.name.from_wire(aliases[0].rdata, 0)[0]
        return Said(dns.rcode.NOERROR, True, grouped(answers), {})

    def _apex(self, name: dns.name.Name, kind: int) -> dns.name.Name | None:
        apexes = sorted((apex for apex in self.zones if name.is_subdomain(apex)), key=len, reverse=True)
        if len(apexes) > 1 and kind == DS and apexes[0] == name:
            return apexes[1]
        return apexes[0] if apexes else None

    def _cut(self, apex: dns.name.Name, name: dns.name.Name, kind: int) -> dns.name.Name | None:
        cuts = {
            owner
            for owner, record in self.zones[apex]
            if record.type == NS and owner != apex and owner.labels[0] != b"*" and name.is_subdomain(owner)
        }
        highest = min(cuts, key=len, default=None)
        return None if kind == DS and highest == name else highest

    def _here(self, apex: dns.name.Name, name: dns.name.Name) -> list[Record] | None:
        """The records of a name; those of the wildcard that stands for it; None if there is no such name."""
        owners = {owner for owner, _ in self.zones[apex]}
        if any(owner.is_subdomain(name) for owner in owners):
            return [record for owner, record in self.zones[apex] if owner == name]
        encloser = name.parent()
        while not any(owner.is_subdomain(encloser) for owner in owners):
            encloser = encloser.parent()
        star = STAR.concatenate(encloser)
        if star not in owners:
            return None
        made = name.to_text()
        return [Record(made, each.type, each.ttl, each.rdata) for owner, each in self.zones[apex] if owner == star]

    def _at(self, apex: dns.name.Name, name: dns.name.Name, kind: int) -> list[Record]:
        return [record for owner, record in self.zones[apex] if owner == name and record.type == kind]

    def _denial(self, apex: dns.name.Name) -> list[Record]:
        """The SOA with the TTL of a negative answer (RFC 2308 section 3)."""
        (soa,) = self._at(apex, apex, SOA)
        return [Record(soa.owner, SOA, min(soa.ttl, int.from_bytes(soa.rdata[-4:])), soa.rdata)]
