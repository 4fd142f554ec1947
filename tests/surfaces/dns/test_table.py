"""The zones in memory: what is put in comes out, changes are seen whole, snapshots stay."""

from ipaddress import ip_address
from itertools import islice

import dns.message
import dns.rcode
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.model.dnsdata import Record, Zone, ZoneChange
from tenure.naming.hostnames import wire
from tenure.surfaces.dns.answer import answer
from tenure.surfaces.dns.paths import SortedPaths, is_deep, path_of
from tenure.surfaces.dns.table import ZoneTable

ZONE = Zone(id="z", vrf="default", name="prod.example.", serial=7)
SOA, NS, A = 6, 2, 1


def host(name: str, last: int, ttl: int = 300) -> Record:
    return Record(f"{name}.prod.example.", A, ttl, bytes((192, 0, 2, last)))


def hosts(table: ZoneTable) -> set[Record]:
    return {record for record in table.records("z") if record.type == A}


def serial(table: ZoneTable) -> int:
    soa = next(table.records("z"))
    assert soa.type == SOA
    return int.from_bytes(soa.rdata[-20:-16])


def made(*records: Record) -> ZoneTable:
    table = ZoneTable()
    table.load(ZONE, records)
    return table


def test_records_come_out_as_they_went_in() -> None:
    given = {host("a", 1), host("a", 2), host("b.c", 3), Record("prod.example.", A, 5, b"\1\2\3\4")}
    table = made(*given)
    out = list(table.records("z"))
    assert hosts(table) == given
    assert [record.type for record in out if record.type != A] == [SOA, NS]
    assert len(out) == len(given) + 2


def test_a_change_moves_records_and_serial_together() -> None:
    table = made(host("a", 1), host("b", 2))
    table.apply(ZoneChange("z", 8, 1, removed=(host("a", 1),), added=(host("c", 3),)))
    assert hosts(table) == {host("b", 2), host("c", 3)}
    assert serial(table) == 8
    assert table.zones[wire("prod.example.")].zone.serial == 8


def test_only_the_record_named_is_removed() -> None:
    table = made(host("a", 1), host("a", 2))
    table.apply(ZoneChange("z", 8, 1, removed=(host("a", 1),)))
    assert hosts(table) == {host("a", 2)}


def test_changes_are_idempotent() -> None:
    table = made(host("a", 1))
    change = ZoneChange("z", 8, 1, removed=(host("a", 1),), added=(host("b", 1),))
    table.apply(change)
    table.apply(change)
    assert hosts(table) == {host("b", 1)}


def test_a_new_ttl_replaces_the_record() -> None:
    table = made(host("a", 1))
    table.apply(ZoneChange("z", 8, 1, removed=(host("a", 1),), added=(host("a", 1, ttl=60),)))
    assert hosts(table) == {host("a", 1, ttl=60)}


def test_a_machine_named_ns_does_not_take_the_servers_address_away() -> None:
    table = ZoneTable([ip_address("192.0.2.53")])
    table.load(ZONE, [])
    table.apply(ZoneChange("z", 8, 1, added=(host("ns", 1),)))
    table.apply(ZoneChange("z", 9, 2, removed=(host("ns", 1), host("ns", 53))))
    assert hosts(table) == {host("ns", 53)}


def test_loading_again_replaces_everything() -> None:
    table = made(host("a", 1))
    table.load(Zone(id="z", vrf="default", name="other.example.", serial=9), [])
    assert set(table.zones) == {wire("other.example.")}


def test_a_zone_that_is_removed_is_found_no_longer() -> None:
    table = made(host("a", 1))
    assert table.find(wire("a.prod.example.")) is not None
    table.remove("z")
    table.remove("z")
    assert table.find(wire("a.prod.example.")) is None


def test_find_tells_zone_and_what_is_in_front_of_it() -> None:
    table = made()
    zone = table.zones[wire("prod.example.")]
    assert table.find(wire("a.b.prod.example.")) == (zone, b"\x01a\x01b")
    assert table.find(wire("prod.example.")) == (zone, b"")
    for name in (wire("example."), b"\0", wire("aprod.example."), b"\x05ab\x04prod\x07example\0", b"\x09a\0"):
        assert table.find(name) is None


def test_transfers_at_one_serial_share_a_snapshot() -> None:
    table = made(host("a", 1))
    zone = table.zones[wire("prod.example.")]
    first = zone.snapshot()
    assert zone.snapshot() is first
    table.apply(ZoneChange("z", 8, 1, added=(host("b", 2),)))
    assert zone.snapshot() is not first


def test_one_name_is_one_zone_in_a_view() -> None:
    table = made(host("a", 1))
    table.load(Zone(id="other", vrf="other", name="prod.example."), [host("b", 2)])
    assert [served.zone.id for served in table.zones.values()] == ["other"]
    with pytest.raises(KeyError):
        table.apply(ZoneChange("z", 8, 1))


@pytest.mark.parametrize(
    ("name", "kind"), [("a.prod.example.", "A"), ("b.prod.example.", "A"), ("prod.example.", "SOA")]
)
def test_a_closed_zone_knows_nothing_until_it_is_put(name: str, kind: str) -> None:
    table = made(host("a", 1))
    table.close(ZONE)
    found = answer(dns.message.make_query(name, kind).to_wire(), table, False)
    assert found is not None
    told = dns.message.from_wire(found)
    assert (told.rcode(), told.answer, told.authority) == (dns.rcode.SERVFAIL, [], [])
    table.load(ZONE, [host("a", 1)])
    assert hosts(table) == {host("a", 1)}


def test_a_record_outside_its_zone_is_a_bug() -> None:
    with pytest.raises(ValueError, match="not in the zone"):
        made(Record("aprod.example.", A, 1, b"\1\2\3\4"))


def test_a_snapshot_stays_while_the_zone_changes() -> None:
    before = {host("a", 1), host("b", 2), host("b", 3), host("c.d", 4)}
    table = made(*before)
    out = table.records("z")
    rest = {next(out)}
    table.apply(ZoneChange("z", 8, 1, removed=(host("a", 1), host("b", 2)), added=(host("e", 5),)))
    table.apply(ZoneChange("z", 9, 2, removed=(host("c.d", 4), host("b", 3)), added=(host("a", 9), host("b", 2))))
    rest |= set(out)
    assert {record for record in rest if record.type == A} == before
    assert {int.from_bytes(record.rdata[-20:-16]) for record in rest if record.type == SOA} == {7}


def test_a_snapshot_outlives_its_zone() -> None:
    table = made(host("a", 1))
    out = table.records("z")
    table.load(ZONE, [host("b", 2)])
    table.remove("z")
    assert host("a", 1) in set(out)


NAMES = st.sampled_from(["a", "b", "c", "a.b", "b.c", "a.b.c", "b.b.c", "ab.c"])
SETS = st.lists(st.builds(host, NAMES, st.integers(1, 3)), max_size=5)


@given(SETS, st.lists(st.tuples(SETS, SETS, st.integers(0, 3)), max_size=8))
def test_every_snapshot_is_what_was_there_when_it_was_taken(
    first: list[Record], steps: list[tuple[list[Record], list[Record], int]]
) -> None:
    table = made(*first)
    there, kept = set(first), []
    for at, (removed, added, read) in enumerate(steps):
        out = table.records("z")
        kept.append((there, list(islice(out, read)), out))
        table.apply(ZoneChange("z", 8 + at, at, tuple(removed), tuple(added)))
        there = there - set(removed) | set(added)
    for expected, early, out in kept:
        seen = [record for record in (*early, *out) if record.type == A]
        assert sorted(seen) == sorted(expected)
    assert hosts(table) == there


LABELS = st.binary(min_size=1, max_size=3)
OWNERS = st.lists(LABELS, max_size=4).map(lambda labels: b"".join(bytes((len(each),)) + each for each in labels))


@given(OWNERS)
def test_a_path_of_a_path_is_the_owner(owner: bytes) -> None:
    assert path_of(path_of(owner)) == owner


@given(st.lists(st.tuples(st.booleans(), OWNERS), max_size=40), st.lists(OWNERS, max_size=10))
def test_sorted_paths_know_what_is_beneath(steps: list[tuple[bool, bytes]], asked: list[bytes]) -> None:
    paths, model = SortedPaths(), set()
    for there, owner in steps:
        path = path_of(owner)
        if there:
            paths.add(path)
            model.add(path)
        else:
            paths.discard(path)
            model.discard(path)
    for path in (*map(path_of, asked), *model):
        assert paths.beneath(path) == any(other.startswith(path) and other != path for other in model)


def test_sorted_paths_split_and_empty() -> None:
    every = [path_of(b"\x02%02x\x02%02x" % (low, high)) for high in range(64) for low in range(64)]
    paths = SortedPaths(every[::2])
    for path in every[1::2]:
        paths.add(path)
        paths.add(path)
    assert all(is_deep(path) and paths.beneath(path[:3]) and not paths.beneath(path) for path in every)
    for path in every:
        assert paths.beneath(path[:3])
        paths.discard(path)
    assert not paths.beneath(b"")
