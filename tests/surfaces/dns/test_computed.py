"""Names ahead of time: answered, listed, hidden by what is real, followed by the journal."""

from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from itertools import islice

import dns.message
import dns.rcode
import dns.rdatatype
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.model.dnsdata import Record, Zone, ZoneChange
from tenure.naming.hostnames import wire
from tenure.naming.reverse import pointer_owner
from tenure.naming.templates import Stretch, Template, parse_template
from tenure.surfaces.dns.answer import answer
from tenure.surfaces.dns.computed import Ahead
from tenure.surfaces.dns.journal import Step
from tenure.surfaces.dns.table import ZoneTable
from tests.surfaces.dns.naive import Stretched, ahead

A, SOA, PTR, AAAA = 1, 6, 12, 28
FORWARD = Zone(id="f", vrf="v", name="prod.example.", serial=1)
DASHED = parse_template("ip-{ip-dashed}")
FIRST = int(ip_address("10.0.0.0"))


def stretch(prefix: str, zone: str, template: Template = DASHED, domain: str = FORWARD.name) -> Stretch:
    """The addresses of a prefix in a zone: pointers if that is a reverse one."""
    network = ip_network(prefix)
    pointers = zone.endswith(".arpa.")
    return Stretch(network.version, int(network[0]), int(network[-1]), template, domain, zone, pointers, 300)


def made(zone: Zone, *stretches: Stretched, records: tuple[Record, ...] = ()) -> ZoneTable:
    table = ZoneTable()
    table.load(zone, records, stretches)
    return table


def reverse(name: str) -> Zone:
    return Zone(id="r", vrf="v", name=name, serial=1)


def asked(table: ZoneTable, name: str, kind: str) -> tuple[str, list[str]]:
    given = answer(dns.message.make_query(name, kind).to_wire(), table, True)
    assert given is not None
    message = dns.message.from_wire(given)
    found = [rdata.to_text() for rrset in message.answer for rdata in rrset]
    return dns.rcode.to_text(message.rcode()), found


@pytest.mark.parametrize(
    ("zone", "prefix", "name", "said"),
    [
        ("3.0.10.in-addr.arpa.", "10.0.3.0/24", "5.3.0.10.in-addr.arpa.", "ip-10-0-3-5.prod.example."),
        ("10.in-addr.arpa.", "10.0.3.0/24", "255.3.0.10.in-addr.arpa.", "ip-10-0-3-255.prod.example."),
        (
            "64-26.2.0.192.in-addr.arpa.",
            "192.0.2.64/26",
            "77.64-26.2.0.192.in-addr.arpa.",
            "ip-192-0-2-77.prod.example.",
        ),
        (
            "8.b.d.0.1.0.0.2.ip6.arpa.",
            "2001:db8::/64",
            ip_address("2001:db8::a:1").reverse_pointer + ".",
            "ip-2001-db8-0-0-0-0-a-1.prod.example.",
        ),
    ],
)  # fmt: skip
def test_pointers(zone: str, prefix: str, name: str, said: str) -> None:
    table = made(reverse(zone), Stretched(stretch(prefix, zone), set()))
    assert asked(table, name, "PTR") == ("NOERROR", [said])
    assert asked(table, name, "TXT") == ("NOERROR", [])
    assert asked(table, "x." + name, "PTR") == ("NXDOMAIN", [])


@pytest.mark.parametrize(
    ("zone", "prefix", "name", "there"),
    [
        ("10.in-addr.arpa.", "10.0.3.0/24", "3.0.10.in-addr.arpa.", True),
        ("10.in-addr.arpa.", "10.0.3.0/24", "0.10.in-addr.arpa.", True),
        ("10.in-addr.arpa.", "10.0.3.0/24", "4.0.10.in-addr.arpa.", False),
        ("10.in-addr.arpa.", "10.0.3.0/24", "1.10.in-addr.arpa.", False),
        ("10.in-addr.arpa.", "10.0.0.0/8", "200.10.in-addr.arpa.", True),
        ("10.in-addr.arpa.", "10.0.3.0/24", "03.0.10.in-addr.arpa.", False),
        ("8.b.d.0.1.0.0.2.ip6.arpa.", "2001:db8::/64", "0.0.8.b.d.0.1.0.0.2.ip6.arpa.", True),
        ("8.b.d.0.1.0.0.2.ip6.arpa.", "2001:db8::/64", "1.0.8.b.d.0.1.0.0.2.ip6.arpa.", False),
        ("8.b.d.0.1.0.0.2.ip6.arpa.", "2001:db8::/64", "f.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa.", True),
    ],
)
def test_empty_non_terminals_of_pointers(zone: str, prefix: str, name: str, there: bool) -> None:
    table = made(reverse(zone), Stretched(stretch(prefix, zone), set()))
    assert asked(table, name, "PTR") == ("NOERROR" if there else "NXDOMAIN", [])


@pytest.mark.parametrize(
    ("name", "there"),
    [("dyn.all", True), ("all", True), ("x.all", False), ("b-10-0-0-1.dyn.all", True), ("b-10-0-0-2.dyn.all", False),
     ("b-10-0-0-9.dyn.all", False), ("b-.dyn.all", False), ("a", False)],
)  # fmt: skip
def test_empty_non_terminals_of_a_template_of_many_labels(name: str, there: bool) -> None:
    template = parse_template("a.b-{ip-dashed}.dyn.all")
    table = made(FORWARD, Stretched(stretch("10.0.0.0/30", FORWARD.name, template), {FIRST + 2}))
    assert asked(table, f"{name}.prod.example.", "A") == ("NOERROR" if there else "NXDOMAIN", [])
    assert asked(table, "a.b-10-0-0-1.dyn.all.prod.example.", "A") == ("NOERROR", ["10.0.0.1"])
    assert asked(table, "a.b-10-0-0-2.dyn.all.prod.example.", "A") == ("NXDOMAIN", [])


def test_when_all_are_taken_nothing_is_above_them() -> None:
    template = parse_template("{ip-hex}.dyn")
    every = set(range(FIRST, FIRST + 4))
    table = made(FORWARD, Stretched(stretch("10.0.0.0/30", FORWARD.name, template), every))
    assert asked(table, "dyn.prod.example.", "A") == ("NXDOMAIN", [])
    back = Record("0a000001.dyn.prod.example.", A, 300, bytes((10, 0, 0, 1)))
    table.apply(ZoneChange("f", 2, 1, added=(back,)))
    assert asked(table, "dyn.prod.example.", "A") == ("NOERROR", [])


def test_a_domain_below_its_zone() -> None:
    table = made(FORWARD, Stretched(stretch("10.0.0.0/30", FORWARD.name, DASHED, "lab.prod.example."), set()))
    assert asked(table, "ip-10-0-0-3.lab.prod.example.", "A") == ("NOERROR", ["10.0.0.3"])
    assert asked(table, "lab.prod.example.", "A") == ("NOERROR", [])
    assert asked(table, "ip-10-0-0-3.prod.example.", "A") == ("NXDOMAIN", [])


@pytest.mark.parametrize("label", [b"0a000001.dyn", b"\xffip-10-0-0-1", b"ip-10-0-0-1\n", b"\0", b"ip-10-0-0-\xb9"])
def test_odd_octets_are_no_names(label: bytes) -> None:
    stretched = (
        stretch("10.0.0.0/30", FORWARD.name, parse_template(each)) for each in ("{ip-hex}.dyn", "ip-{ip-dashed}")
    )
    table = made(FORWARD, *(Stretched(each, set()) for each in stretched))
    question = bytes((len(label),)) + label + wire(FORWARD.name)
    given = answer(b"\1\2\0\0\0\1\0\0\0\0\0\0" + question + b"\0\1\0\1", table, False)
    assert given is not None and given[3] & 15 == dns.rcode.NXDOMAIN


@given(st.sampled_from(["ip-{ip-dashed}", "{ip-hex}.dyn"]), st.integers(0, 255), st.booleans(), st.booleans())
def test_what_is_packed_is_the_record(text: str, number: int, pointers: bool, six: bool) -> None:
    zone = FORWARD.name
    if pointers:
        zone = "8.b.d.0.1.0.0.2.ip6.arpa." if six else "0.0.10.in-addr.arpa."
    whole = stretch("2001:db8::/120" if six else "10.0.0.0/24", zone, parse_template(text))
    table = made(reverse(zone), records=(whole.record(whole.first + number),))
    packed = table.zones[wire(zone)].pathed(whole.record(whole.first + number))[1]
    assert Ahead(Stretched(whole, set())).packed(whole.first + number) == packed


def test_a_large_ipv6_prefix_is_answered_but_not_listed() -> None:
    zone = reverse("8.b.d.0.1.0.0.2.ip6.arpa.")
    table = made(zone, Stretched(stretch("2001:db8::/48", zone.name), set()))
    owner = pointer_owner(zone.name, 6, int(ip_address("2001:db8::7")))
    real = Record(owner, PTR, 300, wire("vm-1.prod.example."))
    before = list(table.records("r"))
    assert [record.type for record in before] == [SOA, 2]
    assert asked(table, owner, "PTR") == ("NOERROR", ["ip-2001-db8-0-0-0-0-0-7.prod.example."])
    table.apply(ZoneChange("r", 2, 1, added=(real,)))
    assert asked(table, owner, "PTR") == ("NOERROR", ["vm-1.prod.example."])
    table.apply(ZoneChange("r", 3, 2, removed=(real,)))
    assert asked(table, owner, "PTR") == ("NOERROR", ["ip-2001-db8-0-0-0-0-0-7.prod.example."])
    first, second = steps(table, "r", 1)
    assert (len(first.added), len(first.removed), len(second.added), len(second.removed)) == (1, 0, 0, 1)


def steps(table: ZoneTable, zone: str, serial: int) -> list[Step]:
    (served,) = (each for each in table.zones.values() if each.zone.id == zone)
    found = served.journal.since(serial)
    assert found is not None
    return found


def test_a_name_given_and_taken_back_leaves_the_zone_as_it_was() -> None:
    whole = stretch("10.0.0.0/30", FORWARD.name)
    table = made(FORWARD, Stretched(whole, set()))
    before = set(table.records("f"))
    computed, real = whole.record(FIRST + 1), Record("vm-1.prod.example.", A, 300, bytes((10, 0, 0, 1)))
    table.apply(ZoneChange("f", 2, 1, removed=(computed,), added=(real,)))
    assert {record for record in set(table.records("f")) ^ before if record.type != SOA} == {computed, real}
    assert asked(table, computed.owner, "A") == ("NXDOMAIN", [])
    table.apply(ZoneChange("f", 3, 2, removed=(real,), added=(computed,)))
    assert {record.type for record in set(table.records("f")) ^ before} == {SOA}
    assert asked(table, computed.owner, "A") == ("NOERROR", ["10.0.0.1"])


def test_a_machine_that_is_called_as_computed() -> None:
    whole = stretch("10.0.0.0/30", FORWARD.name)
    computed = whole.record(FIRST + 1)
    table = made(FORWARD, Stretched(whole, {FIRST + 1}), records=(computed,))
    assert list(table.records("f")).count(computed) == 1
    table.apply(ZoneChange("f", 2, 1, removed=(computed,)))
    assert computed not in set(table.records("f"))
    table.apply(ZoneChange("f", 3, 2, added=(computed,)))
    assert list(table.records("f")).count(computed) == 1
    assert asked(table, computed.owner, "A") == ("NOERROR", ["10.0.0.1"])


def test_a_hand_made_record_hides_what_is_computed_at_its_name() -> None:
    whole = stretch("10.0.0.0/30", FORWARD.name)
    text = Record("ip-10-0-0-1.prod.example.", 16, 300, b"\1x")
    table = made(FORWARD, Stretched(whole, set()), records=(text,))
    assert asked(table, text.owner, "A") == ("NOERROR", [])
    assert whole.record(FIRST + 1) not in set(table.records("f"))
    assert len(list(table.records("f"))) == 2 + 1 + 3


HOLDERS = st.dictionaries(st.integers(0, 7), st.integers(0, 3), max_size=8)


@given(st.booleans(), HOLDERS, st.lists(st.tuples(HOLDERS, st.integers(0, 12)), max_size=6))
def test_snapshots_stay_and_the_journal_leads_from_one_to_the_next(
    pointers: bool, first: dict[int, int], later: list[tuple[dict[int, int], int]]
) -> None:
    zone = reverse("0.0.10.in-addr.arpa.") if pointers else FORWARD
    whole = stretch("10.0.0.0/29", zone.name)
    table = made(zone, Stretched(whole, {FIRST + at for at in first}), records=tuple(named(whole, first)))
    held = first
    kept: list[tuple[list[Record], list[Record], Iterator[Record]]] = []
    for at, (holders, read) in enumerate(later):
        out = table.records(zone.id)
        kept.append((expected(table, whole, held), list(islice(out, read)), out))
        was, now = contents(whole, held), contents(whole, holders)
        table.apply(ZoneChange(zone.id, 2 + at, at, tuple(sorted(was - now)), tuple(sorted(now - was))))
        held = holders
    for known, early, out in kept:
        assert sorted([*early, *out]) == sorted(known)
    assert sorted(table.records(zone.id)) == sorted(expected(table, whole, held))
    check_journal(table, zone, [contents(whole, holders) for holders in (first, *(each for each, _ in later))])


def named(whole: Stretch, holders: dict[int, int]) -> Iterator[Record]:
    """The records of machines at some addresses of a stretch."""
    for at, name in holders.items():
        if whole.pointers:
            yield Record(whole.owner(FIRST + at), PTR, 300, wire(f"vm-{name}.prod.example."))
        else:
            yield Record(f"vm-{name}.prod.example.", A, 300, (FIRST + at).to_bytes(4))


def contents(whole: Stretch, holders: dict[int, int]) -> set[Record]:
    real = set(named(whole, holders))
    return real | set(ahead([Stretched(whole, {FIRST + at for at in holders})], real))


def expected(table: ZoneTable, whole: Stretch, holders: dict[int, int]) -> list[Record]:
    """What a transfer lists now, once each."""
    (served,) = table.zones.values()
    apex = [record for record in table.records(served.zone.id) if record.owner == served.zone.name]
    return apex + list(contents(whole, holders))


def check_journal(table: ZoneTable, zone: Zone, states: list[set[Record]]) -> None:
    (served,) = table.zones.values()
    listed = {served.pathed(record) for record in states[0]}
    told = served.journal.since(1) or []
    assert len(told) == len(states) - 1
    for step, state in zip(told, states[1:], strict=True):
        assert set(step.removed) <= listed and not set(step.added) & listed
        listed = listed - set(step.removed) | set(step.added)
        assert listed == {served.pathed(record) for record in state}
