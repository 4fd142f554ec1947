"""tenure.surfaces.api.zone_text: what a zone's file is made of, and that it is made as it is read."""

from collections.abc import Iterator
from itertools import islice

import dns.zone

from tenure.model.dnsdata import Record, Zone
from tenure.naming.records import A
from tenure.naming.templates import Stretch, parse_template
from tenure.net.addresses import parse_address
from tenure.service.contents import Computed, Contents
from tenure.surfaces.api.zone_text import line, name_of, records_of

ZONE = Zone(id="0", vrf="v", name="big.example.", serial=7)
SERVERS = ("ns.big.example.",)
FIRST = 10 << 24


def _stretch(version: int, first: int, last: int) -> Stretch:
    template = parse_template("ip-{ip-hex}")
    return Stretch(version, first, last, template, ZONE.name, ZONE.name, False, ZONE.ttl)


def _contents(records: Iterator[Record], *computed: Computed) -> Contents:
    return Contents(ZONE, SERVERS, (), computed, records)


def test_a_zone_is_read_as_far_as_it_is_asked_for() -> None:
    pulled = []

    def records() -> Iterator[Record]:
        for number in range(1 << 40):
            pulled.append(number)
            yield Record(f"vm-{number}.big.example.", A, 300, bytes(4))

    first = list(islice(records_of(_contents(records()), [parse_address("192.0.2.53")]), 5))
    assert [(each.owner, name_of(each.type)) for each in first] == [
        ("big.example.", "SOA"),
        ("big.example.", "NS"),
        ("ns.big.example.", "A"),
        ("vm-0.big.example.", "A"),
        ("vm-1.big.example.", "A"),
    ]
    assert pulled == [0, 1]


def test_what_is_real_or_named_hides_what_is_computed() -> None:
    real = Record("ip-0a000002.big.example.", 16, 300, b"\x01x")
    stretch = Computed(_stretch(4, FIRST, FIRST + 4), {FIRST + 1})
    found = {each.owner for each in records_of(_contents(iter([real]), stretch), ()) if each.type == A}
    assert found == {f"ip-0a00000{number}.big.example." for number in (0, 3, 4)}


def test_names_of_large_stretches_are_not_listed() -> None:
    stretch = Computed(_stretch(6, 0x20010DB8 << 96, (0x20010DB8 << 96) + 2**64 - 1), set())
    assert len(list(records_of(_contents(iter(()), stretch), ()))) == 2


def test_lines_are_what_dnspython_reads() -> None:
    stretch = Computed(_stretch(4, FIRST, FIRST + 255), set())
    lines = [line(each) for each in records_of(_contents(iter(()), stretch), ())]
    zone = dns.zone.from_text("\n".join(lines), "big.example.")
    assert {str(each) for each in zone} == {"@", *(f"ip-0a0000{number:02x}" for number in range(256))}
    assert line(Record("x.big.example.", 65280, 60, b"\x01\x02")) == "x.big.example.\t60\tIN\tTYPE65280\t\\# 2 0102"
