"""Queries as bytes in, answers as bytes out; dnspython parses them and is the oracle."""

import struct
from ipaddress import ip_address
from typing import Any

import dns.edns
import dns.flags
import dns.message
import dns.name
import dns.opcode
import dns.rcode
import dns.rdatatype
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.model.dnsdata import Record, Zone, ZoneChange
from tenure.naming.hostnames import wire
from tenure.surfaces.dns.answer import answer, truncated
from tenure.surfaces.dns.table import ZoneTable
from tests.surfaces.dns.oracle import FORWARD, NIBBLES, REVERSE, Oracle, grouped, sections

A, NS, CNAME, SOA, PTR, MX, TXT, AAAA, CAA = 1, 2, 5, 6, 12, 15, 16, 28, 257
LISTENER = (ip_address("127.0.0.1"), ip_address("::1"))
V6_OWNER = "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0." + NIBBLES.name
HOST = Record("vm-17.prod.example.", A, 300, ip_address("192.0.2.17").packed)
DUAL = (
    Record("dual.prod.example.", A, 300, ip_address("192.0.2.18").packed),
    Record("dual.prod.example.", A, 300, ip_address("192.0.2.19").packed),
    Record("dual.prod.example.", AAAA, 300, ip_address("2001:db8::1").packed),
)
DEEP = Record("a.b.c.prod.example.", A, 300, ip_address("192.0.2.20").packed)
ALIAS = Record("www.prod.example.", CNAME, 300, wire("vm-17.prod.example."))
COOKIE = dns.edns.GenericOption(dns.edns.OptionType.COOKIE, b"12345678")
MANY = tuple(Record("many.prod.example.", A, 300, (0x0A000000 + at).to_bytes(4)) for at in range(200))


@pytest.fixture(scope="module")
def table() -> ZoneTable:
    made = ZoneTable(LISTENER)
    made.load(FORWARD, (HOST, *DUAL, DEEP, ALIAS, *MANY))
    made.load(REVERSE, [Record("17.2.0.192.in-addr.arpa.", PTR, 300, wire(HOST.owner))])
    made.load(NIBBLES, [Record(V6_OWNER, PTR, 300, wire("dual.prod.example."))])
    return made


def ask(
    table: ZoneTable, name: str | dns.name.Name, kind: str | int, *, over_tcp: bool = False, **query: Any
) -> dns.message.Message:
    asked = dns.message.make_query(name, kind, **query)  # type: ignore[arg-type]
    given = answer(asked.to_wire(), table, over_tcp)
    assert given is not None
    parsed = dns.message.from_wire(given)
    assert asked.is_response(parsed)
    assert not parsed.flags & dns.flags.RA
    return parsed


@pytest.mark.parametrize("edns", [-1, 0])
@pytest.mark.parametrize(
    ("name", "kind", "records"),
    [
        (HOST.owner, "A", [HOST]),
        ("dual.prod.example.", "A", DUAL[:2]),
        ("dual.prod.example.", "AAAA", DUAL[2:]),
        ("a.b.c.prod.example.", "A", [DEEP]),
        ("17.2.0.192.in-addr.arpa.", "PTR", [Record("17.2.0.192.in-addr.arpa.", PTR, 300, wire(HOST.owner))]),
        (V6_OWNER, "PTR", [Record(V6_OWNER, PTR, 300, wire("dual.prod.example."))]),
        ("prod.example.", "NS", [Record("prod.example.", NS, 300, wire("ns.prod.example."))]),
        ("ns.prod.example.", "A", [Record("ns.prod.example.", A, 300, LISTENER[0].packed)]),
        ("ns.prod.example.", "AAAA", [Record("ns.prod.example.", AAAA, 300, LISTENER[1].packed)]),
        ("ns.2.0.192.in-addr.arpa.", "A", [Record("ns.2.0.192.in-addr.arpa.", A, 300, LISTENER[0].packed)]),
        ("www.prod.example.", "A", [ALIAS, HOST]),
        ("www.prod.example.", "CNAME", [ALIAS]),
    ],
)
def test_what_is_there(table: ZoneTable, name: str, kind: str, records: list[Record], edns: int) -> None:
    response = ask(table, name, kind, use_edns=edns)
    assert response.rcode() == dns.rcode.NOERROR
    assert response.flags & dns.flags.AA
    assert sections(response.answer) == grouped(records)
    assert not response.authority
    assert response.edns == edns


@pytest.mark.parametrize(
    ("name", "kind", "rcode", "zone"),
    [
        ("vm-18.prod.example.", "A", dns.rcode.NXDOMAIN, "prod.example."),
        ("x.vm-17.prod.example.", "A", dns.rcode.NXDOMAIN, "prod.example."),
        ("b.prod.example.", "A", dns.rcode.NXDOMAIN, "prod.example."),
        (HOST.owner, "AAAA", dns.rcode.NOERROR, "prod.example."),
        ("c.prod.example.", "A", dns.rcode.NOERROR, "prod.example."),
        ("b.c.prod.example.", "A", dns.rcode.NOERROR, "prod.example."),
        ("prod.example.", "A", dns.rcode.NOERROR, "prod.example."),
        ("18.2.0.192.in-addr.arpa.", "PTR", dns.rcode.NXDOMAIN, "2.0.192.in-addr.arpa."),
        (V6_OWNER[2:], "PTR", dns.rcode.NOERROR, NIBBLES.name),
        ("f" + V6_OWNER[1:], "PTR", dns.rcode.NXDOMAIN, NIBBLES.name),
        (HOST.owner, CAA, dns.rcode.NOERROR, "prod.example."),
    ],
)
def test_what_is_not_there_comes_with_the_soa(table: ZoneTable, name: str, kind: str, rcode: int, zone: str) -> None:
    response = ask(table, name, kind)
    assert response.rcode() == rcode
    assert response.flags & dns.flags.AA
    assert not response.answer
    (authority,) = response.authority
    assert (authority.name.to_text(), authority.rdtype, authority.ttl) == (zone, SOA, 60)


def test_soa_has_the_values_of_the_zone(table: ZoneTable) -> None:
    (rrset,) = ask(table, "prod.example.", "SOA").answer
    assert rrset.to_text() == (
        "prod.example. 300 IN SOA ns.prod.example. hostmaster.prod.example. 7 3600 600 1209600 60"
    )


def test_name_servers_of_the_zone_replace_the_default() -> None:
    table = ZoneTable(LISTENER)
    table.load(Zone(id="x", vrf="default", name="x.example.", name_servers=("a.dns.example.", "b.dns.example.")), [])
    (servers,) = ask(table, "x.example.", "NS").answer
    assert sorted(each.to_text() for each in servers) == ["a.dns.example.", "b.dns.example."]
    assert ask(table, "x.example.", "SOA").answer[0][0].mname.to_text() == "a.dns.example."
    assert ask(table, "ns.x.example.", "A").rcode() == dns.rcode.NXDOMAIN


@pytest.mark.parametrize("name", ["example.org.", ".", "example.", "xprod.example.", "arpa."])
def test_outside_the_zones_is_refused(table: ZoneTable, name: str) -> None:
    response = ask(table, name, "A", use_edns=0)
    assert response.rcode() == dns.rcode.REFUSED
    assert not response.flags & dns.flags.AA
    assert response.edns == 0


def test_the_longest_zone_answers() -> None:
    table = ZoneTable()
    table.load(FORWARD, [HOST])
    table.load(Zone(id="c", vrf="default", name="child.prod.example."), [])
    (authority,) = ask(table, "x.child.prod.example.", "A").authority
    assert authority.name.to_text() == "child.prod.example."


def test_the_case_of_the_question_comes_back(table: ZoneTable) -> None:
    query = dns.message.make_query("vM-17.PrOd.eXample.", "A").to_wire()
    given = answer(query, table, False)
    assert given is not None
    assert given[12 : len(query)] == query[12:]
    assert dns.message.from_wire(given).answer[0].name.to_text() == "vM-17.PrOd.eXample."


def test_the_answer_points_to_the_question(table: ZoneTable) -> None:
    query = dns.message.make_query(HOST.owner, "A").to_wire()
    given = answer(query, table, False)
    assert given is not None
    assert given[len(query) : len(query) + 2] == b"\xc0\x0c"
    assert len(given) == len(query) + 16


@pytest.mark.parametrize("recursion", [0, dns.flags.RD])
def test_recursion_desired_is_copied(table: ZoneTable, recursion: int) -> None:
    for name in (HOST.owner, "dual.prod.example.", "example.org."):
        assert ask(table, name, "A", flags=recursion).flags & dns.flags.RD == recursion


@pytest.mark.parametrize("name", [HOST.owner, "dual.prod.example.", "none.prod.example.", "example.org."])
@pytest.mark.parametrize("wants_dnssec", [False, True])
def test_dnssec_bit_and_our_size_come_back(table: ZoneTable, name: str, wants_dnssec: bool) -> None:
    response = ask(table, name, "A", use_edns=0, want_dnssec=wants_dnssec)
    assert bool(response.ednsflags & dns.flags.DO) == wants_dnssec
    assert response.payload == 1232


def test_edns_options_are_passed_over(table: ZoneTable) -> None:
    response = ask(table, HOST.owner, "A", use_edns=0, options=[COOKIE])
    assert sections(response.answer) == grouped([HOST])
    assert not response.options


def test_edns_of_another_version(table: ZoneTable) -> None:
    response = ask(table, HOST.owner, "A", use_edns=1)
    assert response.rcode() == dns.rcode.BADVERS
    assert response.edns == 0
    assert not response.answer


@pytest.mark.parametrize("payload", [None, 100, 1232, 4096, 65535])
def test_too_long_for_udp_is_cut_and_whole_over_tcp(table: ZoneTable, payload: int | None) -> None:
    edns: dict[str, Any] = {} if payload is None else {"use_edns": 0, "payload": payload}
    cut = ask(table, "many.prod.example.", "A", **edns)
    assert cut.flags & dns.flags.TC
    assert not cut.answer
    whole = ask(table, "many.prod.example.", "A", over_tcp=True, **edns)
    assert not whole.flags & dns.flags.TC
    assert sections(whole.answer) == grouped(MANY)


def test_the_asker_has_room_for_what_edns_says() -> None:
    table = ZoneTable()
    table.load(FORWARD, MANY[:40])
    whole = ask(table, "many.prod.example.", "A", use_edns=0, payload=1232)
    assert sections(whole.answer) == grouped(MANY[:40])
    assert ask(table, "many.prod.example.", "A", use_edns=0, payload=640).flags & dns.flags.TC
    assert ask(table, "many.prod.example.", "A").flags & dns.flags.TC


@pytest.mark.parametrize("payload", [None, 700, 4096])
def test_what_is_reserved_stays_free(payload: int | None) -> None:
    edns: dict[str, Any] = {} if payload is None else {"use_edns": 0, "payload": payload}
    query = dns.message.make_query("many.prod.example.", "A", **edns).to_wire()
    room = 512 if payload is None else min(payload, 1232)
    for count in range(1, 80):
        table = ZoneTable(LISTENER)
        table.load(FORWARD, MANY[:count])
        given = answer(query, table, False, 100)
        assert given is not None and len(given) + 100 <= room
        assert bool(given[2] & 2) == (len(query) + 16 * count + 100 > room)


def test_what_need_not_be_told_gives_way() -> None:
    table = ZoneTable(LISTENER)
    mail = Record("mail.prod.example.", MX, 300, b"\0\x0a" + wire("many.prod.example."))
    table.load(FORWARD, [mail, *MANY])
    short = ask(table, "mail.prod.example.", "MX")
    assert sections(short.answer) == grouped([mail])
    assert not short.additional and not short.flags & dns.flags.TC
    assert sections(ask(table, "mail.prod.example.", "MX", over_tcp=True).additional) == grouped(MANY)


def test_a_referral_without_all_its_glue_is_cut() -> None:
    table = ZoneTable(LISTENER)
    lab = Record("lab.prod.example.", NS, 300, wire("ns.lab.prod.example."))
    glue = [Record("ns.lab.prod.example.", A, 300, (0x0A000000 + at).to_bytes(4)) for at in range(100)]
    table.load(FORWARD, [lab, *glue])
    cut = ask(table, "x.lab.prod.example.", "A")
    assert cut.flags & dns.flags.TC and not cut.authority
    assert sections(ask(table, "x.lab.prod.example.", "A", over_tcp=True).additional) == grouped(glue)


def test_at_most_eight_aliases_are_followed() -> None:
    table = ZoneTable(LISTENER)
    chain = [Record(f"a{at}.prod.example.", CNAME, 300, wire(f"a{at + 1}.prod.example.")) for at in range(20)]
    table.load(FORWARD, [*chain, Record("a20.prod.example.", A, 300, b"\1\2\3\4")])
    assert len(ask(table, "a0.prod.example.", "A").answer) == 9
    assert len(ask(table, "a12.prod.example.", "A").answer) == 9


def test_aliases_into_a_zone_that_is_closed_are_not_known() -> None:
    table = ZoneTable(LISTENER)
    away = Record("away.prod.example.", CNAME, 300, wire("x.closed.example."))
    table.load(FORWARD, [away])
    table.close(Zone(id="c", vrf="default", name="closed.example."))
    failed = ask(table, "away.prod.example.", "A")
    assert (failed.rcode(), failed.answer, failed.authority) == (dns.rcode.SERVFAIL, [], [])
    assert not failed.flags & dns.flags.AA
    assert sections(ask(table, "away.prod.example.", "CNAME").answer) == grouped([away])


def test_what_a_closed_zone_says_of_its_child_is_not_known() -> None:
    table = ZoneTable(LISTENER)
    table.load(Zone(id="c", vrf="default", name="child.prod.example."), [])
    table.close(FORWARD)
    assert ask(table, "child.prod.example.", "DS").rcode() == dns.rcode.SERVFAIL
    assert ask(table, "child.prod.example.", "SOA").rcode() == dns.rcode.NOERROR


def test_any_is_one_rrset(table: ZoneTable) -> None:
    assert sections(ask(table, "dual.prod.example.", "ANY").answer) == grouped(DUAL[:2])
    assert ask(table, "none.prod.example.", "ANY").rcode() == dns.rcode.NXDOMAIN
    assert not ask(table, "c.prod.example.", "ANY").answer


@pytest.mark.parametrize(
    ("kind", "rcode"),
    [
        ("AXFR", dns.rcode.FORMERR),
        ("OPT", dns.rcode.FORMERR),
        ("IXFR", dns.rcode.FORMERR),
        ("MAILB", dns.rcode.NOTIMP),
        ("TKEY", dns.rcode.NOTIMP),
        (128, dns.rcode.NOTIMP),
    ],
)
def test_types_that_are_no_types_of_data(table: ZoneTable, kind: str | int, rcode: int) -> None:
    query = bytearray(dns.message.make_query("prod.example.", "A").to_wire())
    number = kind if isinstance(kind, int) else dns.rdatatype.from_text(kind)
    query[-4:-2] = number.to_bytes(2)
    given = answer(bytes(query), table, False)
    assert given is not None
    assert given[3] & 15 == rcode


@pytest.mark.parametrize("opcode", [dns.opcode.STATUS, dns.opcode.NOTIFY, dns.opcode.UPDATE, 1, 15])
def test_other_opcodes_are_not_implemented(table: ZoneTable, opcode: int) -> None:
    query = bytearray(dns.message.make_query(HOST.owner, "A").to_wire())
    query[2] = opcode << 3
    given = answer(bytes(query), table, False)
    assert given is not None
    assert (given[:2], given[2] >> 3 & 15, given[3] & 15) == (bytes(query[:2]), opcode, dns.rcode.NOTIMP)


def test_other_classes_are_refused(table: ZoneTable) -> None:
    for class_ in (0, 3, 254, 255):
        query = bytearray(dns.message.make_query(HOST.owner, "A").to_wire())
        query[-2:] = class_.to_bytes(2)
        given = answer(bytes(query), table, False)
        assert given is not None
        assert given[3] & 15 == dns.rcode.REFUSED


def test_responses_and_fragments_of_a_header_are_met_with_silence(table: ZoneTable) -> None:
    query = dns.message.make_query(HOST.owner, "A").to_wire()
    response = answer(query, table, False)
    assert response is not None
    assert answer(response, table, False) is None
    assert all(answer(query[:length], table, False) is None for length in range(12))


def question(name: bytes, rest: bytes = b"\0\1\0\1", counts: tuple[int, int, int, int] = (1, 0, 0, 0)) -> bytes:
    return struct.pack(">HH4H", 99, 0, *counts) + name + rest


@pytest.mark.parametrize(
    "query",
    [
        question(b"\xc0\x0c"),
        question(b"\xc0\x00"),
        question(b"\x01a\xc0\x0c"),
        question(b"\x40" + b"a" * 64 + wire("prod.example.")),
        question(b"\x80abc" + wire("prod.example.")),
        question(b"\x7f" + b"a" * 127 + wire("prod.example.")),
        question(b"\x3f" + b"a" * 10),
        question((b"\x3f" + b"a" * 63) * 4 + wire("prod.example.")),
        question(b"\x01a" * 130 + wire("prod.example.")),
        question(wire(HOST.owner), counts=(0, 0, 0, 0)),
        question(wire(HOST.owner), b"\0\1\0\1" + wire(HOST.owner) + b"\0\1\0\1", counts=(2, 0, 0, 0)),
        question(wire(HOST.owner), b"\0\1\0\1trailing"),
        question(wire(HOST.owner), counts=(1, 1, 0, 0)),
        question(wire(HOST.owner), counts=(1, 0, 0, 65535)),
        question(wire(HOST.owner), b"\0\1\0\1\xc0\x17\0\x29\4\xd0\0\0\0\0\0\0", counts=(1, 0, 0, 1)),
        question(wire(HOST.owner), b"\0\1\0\1" + b"\0\0\x29\4\xd0\0\0\0\0\0\0" * 2, counts=(1, 0, 0, 2)),
        question(wire(HOST.owner), b"\0\1\0\1" + b"\0\0\x29\4\xd0\0\0\0\0\0\0", counts=(1, 0, 1, 0)),
        question(wire(HOST.owner), b"\0\1\0\1" + b"\0\0\x29\4\xd0\0\0\0\0\0\1", counts=(1, 0, 0, 1)),
        question(wire(HOST.owner), b"\0\1\0\1\xc0", counts=(1, 0, 0, 1)),
    ],
)
def test_malformed_queries_are_told_so(table: ZoneTable, query: bytes) -> None:
    given = answer(query, table, False)
    assert given is not None
    assert (given[:2], given[3] & 15) == (query[:2], dns.rcode.FORMERR)
    dns.message.from_wire(given)


def test_names_with_odd_octets_are_answered(table: ZoneTable) -> None:
    for label in (b"\0", b"a\0b", b"\x04prod\x07example\0", bytes(range(60))):
        name = dns.name.Name((label, b"prod", b"example", b""))
        assert ask(table, name, "A").rcode() == dns.rcode.NXDOMAIN


def test_records_beside_the_question_are_passed_over(table: ZoneTable) -> None:
    asked = dns.message.make_query(HOST.owner, "A", use_edns=0)
    asked.authority.append(dns.rrset.from_text("prod.example.", 0, "IN", "SOA", "a. b. 1 2 3 4 5"))
    asked.additional.append(dns.rrset.from_text("x.prod.example.", 0, "IN", "A", "192.0.2.1"))
    given = answer(asked.to_wire(), table, False)
    assert given is not None
    assert sections(dns.message.from_wire(given).answer) == grouped([HOST])


@pytest.mark.parametrize("name", [HOST.owner, V6_OWNER, "none.prod.example.", "example.org."])
def test_queries_cut_at_every_octet(table: ZoneTable, name: str) -> None:
    query = dns.message.make_query(
        name, "A", use_edns=0, options=[dns.edns.GenericOption(dns.edns.OptionType.COOKIE, b"12345678")]
    ).to_wire()
    for length in range(12, len(query)):
        given = answer(query[:length], table, False)
        assert given is not None
        assert given[3] & 15 == dns.rcode.FORMERR
        dns.message.from_wire(given)


def test_come_again_over_tcp_is_no_longer_than_the_query(table: ZoneTable) -> None:
    asked = dns.message.make_query(HOST.owner, "A", use_edns=0)
    given = truncated(asked.to_wire())
    assert given is not None
    assert len(given) == len(asked.to_wire())
    parsed = dns.message.from_wire(given)
    assert asked.is_response(parsed)
    assert parsed.flags & dns.flags.TC
    assert truncated(given) is None
    assert truncated(asked.to_wire()[:-1]) is None
    assert truncated(b"") is None


WHOLE = dns.message.make_query("Dual.prod.example.", "A", use_edns=0, want_dnssec=True).to_wire()


@given(st.binary(max_size=300), st.booleans())
def test_no_octets_raise(octets: bytes, over_tcp: bool) -> None:
    check_any(octets, over_tcp)


@given(st.lists(st.tuples(st.integers(2, len(WHOLE) - 1), st.integers(0, 255)), max_size=4), st.binary(max_size=12))
def test_no_damaged_query_raises(damage: list[tuple[int, int]], more: bytes) -> None:
    query = bytearray(WHOLE)
    for at, octet in damage:
        query[at] = octet
    check_any(bytes(query) + more, False)


def check_any(octets: bytes, over_tcp: bool) -> None:
    table = ZoneTable(LISTENER)
    table.load(FORWARD, (HOST, *DUAL, DEEP))
    given = answer(octets, table, over_tcp)
    truncated(octets)
    if given is not None:
        assert given[:2] == octets[:2]
        assert given[2] & 0x80
        dns.message.from_wire(given)


LABELS = st.sampled_from(["a", "b", "c", "vm-1", "x" * 63])
BELOW = (
    st.lists(LABELS, max_size=4)
    .map(lambda labels: "".join(label + "." for label in labels))
    .filter(lambda below: len(below + FORWARD.name) < 255)
)
VALUES = st.one_of(
    st.integers(0, 3).map(lambda last: (A, bytes((192, 0, 2, last)))),
    st.integers(0, 3).map(lambda last: (AAAA, bytes(15) + bytes((last,)))),
    LABELS.map(lambda label: (PTR, wire(label + ".example."))),
)
RECORDS = st.builds(lambda below, value: Record(below + FORWARD.name, value[0], 300, value[1]), BELOW, VALUES)
CHANGES = st.lists(st.tuples(st.lists(RECORDS, max_size=4), st.lists(RECORDS, max_size=4)), max_size=6)


@settings(deadline=None)
@given(st.lists(RECORDS, max_size=12), CHANGES, st.lists(BELOW, min_size=1, max_size=8))
def test_answers_are_the_oracles(
    first: list[Record], changes: list[tuple[list[Record], list[Record]]], asked: list[str]
) -> None:
    table = ZoneTable(LISTENER)
    table.load(FORWARD, first)
    there = set(first)
    for at, (removed, added) in enumerate(changes):
        table.apply(ZoneChange(FORWARD.id, 8 + at, at, tuple(removed), tuple(added)))
        there = there - set(removed) | set(added)
    oracle = Oracle(table.records(FORWARD.id))
    made_here = {each for each in oracle.records if each.type in (NS, SOA) or each.owner == "ns.prod.example."}
    assert set(oracle.records) - made_here == there
    assert len(oracle.records) == len(there) + len(made_here)
    for below in (*asked, *(record.owner.removesuffix(FORWARD.name) for record in first)):
        for kind in ("A", "AAAA", "PTR", "NS", "SOA"):
            check_with(oracle, table, below + FORWARD.name, kind)


def check_with(oracle: Oracle, table: ZoneTable, name: str, kind: str) -> None:
    response = ask(table, name, kind, over_tcp=True)
    rcode, records = oracle.answer(dns.name.from_text(name), dns.rdatatype.from_text(kind))
    assert (response.rcode(), sections(response.answer)) == (rcode, records)
    assert bool(response.authority) == (not records)
