"""Whole zones as messages; dnspython puts them together again."""

import struct
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any

import dns.flags
import dns.message
import dns.query
import dns.rcode
import dns.rdatatype
import dns.xfr
import dns.zone
import pytest

from tenure.model.dnsdata import Record, Zone, ZoneChange
from tenure.naming.hostnames import wire
from tenure.surfaces.dns import transfer
from tenure.surfaces.dns.messages import MESSAGE_SIZE
from tenure.surfaces.dns.table import ZoneTable
from tests.surfaces.dns.oracle import FORWARD, REVERSE, Records, grouped, sections

A, PTR = 1, 12
HOSTS = [Record(f"vm-{at}.prod.example.", A, 300, (0x0A000000 + at).to_bytes(4)) for at in range(5000)]
POINTERS = [
    Record(f"{at & 255}.{at >> 8}.2.0.192.in-addr.arpa.", PTR, 300, wire(f"vm-{at}.dom-{at % 7}.example."))
    for at in range(5000)
]


@pytest.fixture
def table() -> ZoneTable:
    made = ZoneTable([ip_address("127.0.0.1")])
    made.load(FORWARD, HOSTS)
    made.load(REVERSE, POINTERS)
    return made


def messages(table: ZoneTable, zone: str, *, permitted: bool = True) -> Iterator[Any]:
    query = dns.message.make_query(zone, "AXFR", use_edns=0).to_wire()
    question = transfer.asked(query)
    assert question is not None
    return transfer.transfer(query, question, table, permitted=permitted)


def collected(zone: str, given: list[bytes]) -> dns.zone.Zone:
    """What dnspython, as a secondary, makes of the messages."""
    made = dns.zone.Zone(zone, relativize=False)
    with dns.xfr.Inbound(made, dns.rdatatype.AXFR) as inbound:
        done = [inbound.process_message(dns.message.from_wire(each, xfr=True, one_rr_per_rrset=True)) for each in given]
    assert done == [False] * (len(given) - 1) + [True]
    return made


def contents(zone: dns.zone.Zone) -> Records:
    sets: Records = {}
    for name, ttl, rdata in zone.iterate_rdatas():
        sets.setdefault((name, rdata.rdtype), set()).add((ttl, rdata.to_digestable()))
    return sets


@pytest.mark.parametrize("zone", [FORWARD, REVERSE])
def test_a_secondary_has_what_the_table_has(table: ZoneTable, zone: Zone) -> None:
    given = list(messages(table, zone.name))
    assert contents(collected(zone.name, given)) == grouped(table.records(zone.id))
    assert len(given) > 4
    assert all(16000 < len(each) <= MESSAGE_SIZE for each in given[:-1])


def test_an_empty_zone_is_one_message() -> None:
    table = ZoneTable()
    table.load(FORWARD, [])
    (only,) = messages(table, FORWARD.name)
    kinds = [rrset.rdtype for rrset in dns.message.from_wire(only, one_rr_per_rrset=True).answer]
    assert [dns.rdatatype.to_text(kind) for kind in kinds] == ["SOA", "NS", "SOA"]


def test_targets_are_compressed(table: ZoneTable) -> None:
    given = sum(map(len, messages(table, REVERSE.name)))
    uncompressed = sum(len(record.rdata) + 12 + 7 for record in POINTERS)
    assert given < 0.75 * uncompressed


def test_one_snapshot_while_the_zone_changes(table: ZoneTable) -> None:
    before = grouped(table.records(FORWARD.id))
    given = messages(table, FORWARD.name)
    first = [next(given)]
    new = Record("new.prod.example.", A, 300, b"\1\2\3\4")
    for at, gone in enumerate(HOSTS[::7]):
        table.apply(ZoneChange(FORWARD.id, 8 + at, at, removed=(gone,), added=(new,)))
    assert contents(collected(FORWARD.name, first + list(given))) == before
    after = contents(collected(FORWARD.name, list(messages(table, FORWARD.name))))
    assert after == grouped(table.records(FORWARD.id)) != before


@pytest.mark.parametrize("zone", ["example.", "vm-1.prod.example.", "other.example."])
def test_only_the_name_of_a_zone_has_a_transfer(table: ZoneTable, zone: str) -> None:
    (only,) = messages(table, zone)
    assert dns.message.from_wire(only).rcode() == dns.rcode.NOTAUTH


@pytest.mark.parametrize("zone", [FORWARD.name, "other.example."])
def test_others_are_refused(table: ZoneTable, zone: str) -> None:
    (only,) = messages(table, zone, permitted=False)
    assert dns.message.from_wire(only).rcode() == dns.rcode.REFUSED
    assert not sections(dns.message.from_wire(only).answer)


def test_a_closed_zone_is_not_transferred(table: ZoneTable) -> None:
    table.close(FORWARD)
    (only,) = messages(table, FORWARD.name)
    assert dns.message.from_wire(only).rcode() == dns.rcode.SERVFAIL


def test_case_of_the_question_does_not_matter(table: ZoneTable) -> None:
    given = list(messages(table, "PROD.Example."))
    assert contents(collected(FORWARD.name, given)) == grouped(table.records(FORWARD.id))


def test_other_messages_ask_for_no_transfer() -> None:
    whole = dns.message.make_query(FORWARD.name, "AXFR").to_wire()
    assert transfer.asked(whole) is not None
    assert transfer.asked(dns.message.make_query(FORWARD.name, "A").to_wire()) is None
    assert transfer.asked(dns.message.make_query(FORWARD.name, "AXFR", use_edns=1).to_wire()) is None
    assert transfer.asked(struct.pack(">HH", 1, 0x8000) + whole[4:]) is None
    assert all(transfer.asked(whole[:length]) is None for length in range(len(whole)))
