"""A naive model of the zones, built with dnspython, and the zones that the tests serve."""

from collections.abc import Iterable

import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.rrset

from tenure.model.dnsdata import Record, Zone

FORWARD = Zone(id="f", vrf="default", name="prod.example.", serial=7)
REVERSE = Zone(id="r", vrf="default", name="2.0.192.in-addr.arpa.", serial=9)
NIBBLES = Zone(id="n", vrf="default", name="0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa.", serial=4294967295)

Records = dict[tuple[dns.name.Name, int], set[tuple[int, bytes]]]


class Oracle:
    """All records of one zone, answered by looking at each of them."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.records = list(records)
        (self.soa,) = (record for record in self.records if record.type == dns.rdatatype.SOA)
        self.apex = dns.name.from_text(self.soa.owner)

    def answer(self, name: dns.name.Name, kind: int) -> tuple[int, Records]:
        """The rcode, and the records of the answer section."""
        here = [each for each in self.records if dns.name.from_text(each.owner) == name]
        found = [each for each in here if each.type == kind]
        if found:
            return dns.rcode.NOERROR, grouped(found)
        exists = any(dns.name.from_text(each.owner).is_subdomain(name) for each in self.records)
        return (dns.rcode.NOERROR if exists else dns.rcode.NXDOMAIN), {}


def grouped(records: Iterable[Record]) -> Records:
    """Records as sets by owner and type, with TTL and rdata."""
    sets: Records = {}
    for each in records:
        sets.setdefault((dns.name.from_text(each.owner), each.type), set()).add((each.ttl, each.rdata))
    return sets


def sections(rrsets: Iterable[dns.rrset.RRset]) -> Records:
    """The same of a parsed message's section."""
    sets: Records = {}
    for rrset in rrsets:
        for rdata in rrset:
            sets.setdefault((rrset.name, rrset.rdtype), set()).add((rrset.ttl, rdata.to_digestable()))
    return sets
