"""What changed in a zone, told step by step (RFC 1995); dnspython puts it together again."""

import asyncio
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from typing import Any, NamedTuple

import dns.message
import dns.name
import dns.rcode
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.rrset
import dns.serial
import dns.xfr
import dns.zone
import msgspec
import pytest
import uvloop
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.model.dnsdata import Record, Zone, ZoneChange
from tenure.naming import serial as serials
from tenure.naming.templates import Stretch, parse_template
from tenure.surfaces.dns import transfer
from tenure.surfaces.dns.connection import Cut
from tenure.surfaces.dns.journal import Journal, Room, serial_of, stamped
from tenure.surfaces.dns.messages import MESSAGE_SIZE
from tenure.surfaces.dns.served import ServedZone
from tenure.surfaces.dns.table import ZoneTable
from tests.surfaces.dns.oracle import FORWARD, Records, grouped

A, TXT = 1, 16
FIRST = 0x0A000000
TEMPLATE = parse_template("ip-{ip-dashed}")


def address(name: str, ip: str, zone: str = FORWARD.name) -> Record:
    return Record(f"{name}.{zone}", A, 300, ip_address(ip).packed)


def asking(zone: str, serial: int, edns: int = -1, payload: int = 1232) -> bytes:
    """An IXFR query of whoever has this serial."""
    query = dns.message.make_query(zone, "IXFR", use_edns=edns, payload=payload)
    soa = dns.rdata.from_text("IN", "SOA", f"ns.{zone} hostmaster.{zone} {serial} 1 1 1 1")
    query.authority.append(dns.rrset.from_rdata(zone, 0, soa))
    return query.to_wire()


def told(table: ZoneTable, serial: int, zone: str = FORWARD.name, **more: Any) -> Iterator[Any]:
    query = asking(zone, serial)
    wanted = transfer.asked(query)
    assert wanted is not None and wanted.serial == serial
    return transfer.transfer(query, wanted, table, permitted=True, **more)


def datagram(table: ZoneTable, serial: int, *, permitted: bool = True, room: int = 512) -> bytes:
    query = asking(FORWARD.name, serial)
    wanted = transfer.asked(query)
    assert wanted is not None
    return transfer.datagram(query, wanted, table, permitted=permitted, room=room)


def rows(messages: list[bytes]) -> list[str]:
    """Records in their order: name, and serial or address."""
    found = []
    for message in messages:
        for rrset in dns.message.from_wire(message, one_rr_per_rrset=True).answer:
            (row,) = rrset
            is_soa = rrset.rdtype == dns.rdatatype.SOA
            said = f"SOA {row.serial}" if is_soa else f"{dns.rdatatype.to_text(rrset.rdtype)} {row}"
            found.append(f"{rrset.name} {said}")
    return found


class Secondary:
    """A zone as dnspython keeps it."""

    def __init__(self, table: ZoneTable) -> None:
        self.table = table
        self.zone = dns.zone.Zone(FORWARD.name, relativize=False)
        query = dns.message.make_query(FORWARD.name, "AXFR").to_wire()
        wanted = transfer.asked(query)
        assert wanted is not None
        self.take(dns.rdatatype.AXFR, None, transfer.transfer(query, wanted, table, permitted=True))

    @property
    def serial(self) -> int:
        with self.zone.reader() as reader:
            soa = reader.get(self.zone.origin, "SOA")
            assert soa is not None
            return int(soa[0].serial)

    def take(self, kind: dns.rdatatype.RdataType, serial: int | None, messages: Iterator[Any]) -> None:
        with dns.xfr.Inbound(self.zone, kind, serial=serial) as inbound:
            done = False
            for message in messages:
                done = inbound.process_message(dns.message.from_wire(message, xfr=True, one_rr_per_rrset=True))
            assert done

    def follow(self) -> None:
        self.take(dns.rdatatype.IXFR, self.serial, told(self.table, self.serial))

    def contents(self) -> Records:
        return contents(self.zone)


def contents(zone: dns.zone.Zone) -> Records:
    sets: Records = {}
    for name, ttl, rdata in zone.iterate_rdatas():
        sets.setdefault((name, rdata.rdtype), set()).add((ttl, rdata.to_digestable()))
    return sets


def test_the_example_of_the_standard() -> None:
    """Three versions of JAIN.AD.JP, and what may be replied to who has the first. Source: RFC 1995 section 7."""
    zone = Zone(id="j", vrf="default", name="jain.ad.jp.", serial=1)
    nezu = address("nezu", "133.69.136.5", zone.name)
    old = [address("jain-bb", each, zone.name) for each in ("133.69.136.4", "192.41.197.2")]
    table = ZoneTable([ip_address("133.69.136.1")])
    table.load(zone, [nezu])
    table.apply(ZoneChange(zone.id, 2, 1, removed=(nezu,), added=tuple(old)))
    new = address("jain-bb", "133.69.136.3", zone.name)
    table.apply(ZoneChange(zone.id, 3, 2, removed=(old[0],), added=(new,)))
    assert rows(list(told(table, 1, zone.name))) == [
        "jain.ad.jp. SOA 3",
        "jain.ad.jp. SOA 1",
        "nezu.jain.ad.jp. A 133.69.136.5",
        "jain.ad.jp. SOA 2",
        "jain-bb.jain.ad.jp. A 133.69.136.4",
        "jain-bb.jain.ad.jp. A 192.41.197.2",
        "jain.ad.jp. SOA 2",
        "jain-bb.jain.ad.jp. A 133.69.136.4",
        "jain.ad.jp. SOA 3",
        "jain-bb.jain.ad.jp. A 133.69.136.3",
        "jain.ad.jp. SOA 3",
    ]
    assert sorted(rows(list(told(table, 0x7FFFFFFF + 4, zone.name)))) == sorted(
        [
            "jain.ad.jp. SOA 3",
            "jain.ad.jp. NS ns.jain.ad.jp.",
            "ns.jain.ad.jp. A 133.69.136.1",
            "jain-bb.jain.ad.jp. A 133.69.136.3",
            "jain-bb.jain.ad.jp. A 192.41.197.2",
            "jain.ad.jp. SOA 3",
        ]
    )


class Computed(NamedTuple):
    stretch: Stretch
    taken: set[int]


class Names:
    """A zone with 16 computed names, of which some are taken, and its changes, as the ledger tells them."""

    def __init__(self, serial: int) -> None:
        self.zone = msgspec.structs.replace(FORWARD, serial=serial)
        self.table = ZoneTable([ip_address("127.0.0.1")])
        self.stretch = Stretch(4, FIRST, FIRST + 15, TEMPLATE, FORWARD.name, FORWARD.name, False, FORWARD.ttl)
        self.table.load(self.zone, [], [Computed(self.stretch, set())])
        self.serial = serial
        self.named: dict[int, str] = {}
        self.made: set[Record] = set()

    def change(self, removed: list[Record], added: list[Record]) -> None:
        self.serial = serials.step(self.serial)
        self.table.apply(ZoneChange(FORWARD.id, self.serial, self.serial, tuple(removed), tuple(added)))

    def call(self, at: int, name: str | None) -> None:
        """An address is called otherwise, or by its computed name again."""
        number, before = FIRST + at, self.named.pop(at, None)
        computed = self.stretch.record(number)
        held = computed if before is None else Record(f"{before}.{FORWARD.name}", A, 300, number.to_bytes(4))
        said = computed if name is None else Record(f"{name}.{FORWARD.name}", A, 300, number.to_bytes(4))
        if name is not None:
            self.named[at] = name
        if held != said:
            self.change([held], [said])

    def make(self, name: str, said: int, ttl: int) -> None:
        """A person makes a record, or takes it away; one name has one TTL."""
        record = Record(f"{name}.{FORWARD.name}", TXT, ttl, bytes((1, said)))
        gone = [each for each in self.made if each.owner == record.owner and (each.ttl != ttl or each == record)]
        added = [] if record in self.made else [record]
        self.made = self.made.difference(gone).union(added)
        self.change(gone, added)


CALLS = st.tuples(st.integers(0, 15), st.sampled_from([None, "a", "b", "c.d", "d"]))
MAKES = st.tuples(st.sampled_from(["a", "x", "x.y", "*"]), st.integers(0, 2), st.sampled_from([60, 300]))
SERIALS = st.sampled_from([1, 7, 2**31 - 2, 2**32 - 3, 2**32 - 1])


@settings(max_examples=30)
@given(SERIALS, st.lists(st.one_of(CALLS, MAKES), max_size=12), st.data())
def test_a_chain_of_changes_is_the_whole_zone_at_every_step(serial: int, steps: list[Any], data: st.DataObject) -> None:
    names = Names(serial)
    secondaries = [Secondary(names.table)]
    for step in steps:
        names.call(*step) if len(step) == 2 else names.make(*step)
        now = grouped(names.table.records(FORWARD.id))
        for secondary in data.draw(st.lists(st.sampled_from(secondaries), max_size=2)):
            secondary.follow()
            assert secondary.contents() == now
        if data.draw(st.booleans()):
            secondaries.append(Secondary(names.table))
            assert secondaries[-1].contents() == now
    for secondary in secondaries:
        secondary.follow()
        assert secondary.contents() == grouped(names.table.records(FORWARD.id))


@pytest.fixture
def table() -> ZoneTable:
    """A zone that went from serial 7 to 1007, a host a step."""
    made = ZoneTable([ip_address("127.0.0.1")])
    made.load(FORWARD, [])
    for change in CHANGES:
        made.apply(change)
    return made


CHANGES = [
    ZoneChange(FORWARD.id, 8 + at, at, added=(Record(f"vm-{at}.{FORWARD.name}", A, 300, at.to_bytes(4)),))
    for at in range(1000)
]


@pytest.mark.parametrize("serial", [1007, 1008, 2000, 1007 + 2**31 - 1])
def test_who_has_this_serial_or_a_later_one_gets_the_soa_alone(table: ZoneTable, serial: int) -> None:
    assert rows(list(told(table, serial))) == [f"{FORWARD.name} SOA 1007"]
    assert len(rows([datagram(table, serial)])) == 1


@pytest.mark.parametrize("serial", [6, 0, 1007 + 2**31, 2**32 - 1])
def test_who_is_older_than_anybody_knows_gets_the_whole_zone(table: ZoneTable, serial: int) -> None:
    given = rows(list(told(table, serial)))
    assert given[0] == given[-1] == f"{FORWARD.name} SOA 1007"
    assert len(given) == 1000 + 4
    assert len(set(given)) == len(given) - 1


def test_messages_are_full_and_no_longer(table: ZoneTable) -> None:
    given = list(told(table, 7))
    assert all(MESSAGE_SIZE - 100 < len(each) <= MESSAGE_SIZE for each in given[:-1])
    assert len(rows(given)) == 3 * 1000 + 2


def test_over_udp_what_fits_or_the_soa_alone(table: ZoneTable) -> None:
    sizes = []
    for serial in range(1006, 980, -1):
        given = datagram(table, serial)
        assert len(given) <= 512
        sizes.append(len(rows([given])))
    fitting = [size for size in sizes if size > 1]
    assert fitting == [2 + 3 * (1007 - serial) for serial in range(1006, 1006 - len(fitting), -1)]
    assert 1 < len(fitting) < len(sizes)
    refused = dns.message.from_wire(datagram(table, 1006, permitted=False))
    assert refused.rcode() == dns.rcode.REFUSED and not refused.answer


@pytest.mark.parametrize("serial", [7, 1007])
def test_over_udp_a_soa_that_does_not_fit_is_asked_for_over_tcp(table: ZoneTable, serial: int) -> None:
    alone = len(datagram(table, serial))
    assert dns.message.from_wire(datagram(table, serial, room=alone)).answer
    given = dns.message.from_wire(datagram(table, serial, room=alone - 1))
    assert given.flags & dns.flags.TC and not given.answer
    assert given.rcode() == dns.rcode.NOERROR


def test_a_step_that_changes_nothing_that_is_seen_is_a_step() -> None:
    table = ZoneTable([ip_address("127.0.0.1")])
    table.load(FORWARD, [])
    own = address("ns", "127.0.0.1")
    table.apply(ZoneChange(FORWARD.id, 8, 1, removed=(own,)))
    assert rows(list(told(table, 7))) == [f"{FORWARD.name} SOA {serial}" for serial in (8, 7, 8, 8)]


def test_what_a_zone_has_by_itself_is_no_change_from_the_store_either() -> None:
    table = ZoneTable([ip_address("127.0.0.1")])
    table.load(FORWARD, [])
    own, other = address("ns", "127.0.0.1"), address("x", "192.0.2.1")
    changes = [ZoneChange(FORWARD.id, 8, 1, added=(own, other)), ZoneChange(FORWARD.id, 9, 2, removed=(own,))]
    for change in changes:
        table.apply(change)
    expected = rows(list(told(table, 7)))
    assert len(expected) == 7

    def body() -> None:
        assert rows(drained(told(forgotten(table), 7, archive=Archive(changes)))) == expected

    run(body)


def test_an_ixfr_without_the_soa_that_it_has_is_none() -> None:
    whole = asking(FORWARD.name, 7)
    assert transfer.asked(whole) is not None
    assert transfer.asked(dns.message.make_query(FORWARD.name, "IXFR").to_wire()) is None
    assert all(transfer.asked(whole[:length]) is None for length in range(len(whole)))
    query = dns.message.make_query(FORWARD.name, "IXFR")
    query.authority.append(dns.rrset.from_text(FORWARD.name, 0, "IN", "TXT", "x" * 40))
    assert transfer.asked(query.to_wire()) is None


class Archive:
    """Older steps, given a page at a time when a test says so."""

    def __init__(self, changes: list[ZoneChange], page: int = 100) -> None:
        self.changes, self.page = changes, page
        self.asked: list[int] = []
        self.away_after = len(changes)

    def __call__(self, zone: str, serial: int) -> "asyncio.Future[list[ZoneChange]]":
        self.asked.append(serial)
        page: asyncio.Future[list[ZoneChange]] = asyncio.get_running_loop().create_future()
        at = next(
            (at for at, each in enumerate(self.changes) if each.serial == serials.step(serial)), len(self.changes)
        )
        if len(self.asked) > self.away_after:
            page.set_exception(OSError("the store is away"))
        else:
            page.set_result(self.changes[at : at + self.page])
        return page


def drained(messages: Iterator[Any], between: Callable[[], None] = lambda: None) -> list[bytes]:
    found = []
    for each in messages:
        if isinstance(each, bytes):
            found.append(each)
        else:
            assert each.done()
            between()
    return found


def run(body: Callable[[], None]) -> None:
    async def main() -> None:
        body()

    uvloop.run(main())


def forgotten(table: ZoneTable) -> ZoneTable:
    """The same, with nothing in memory of how it came."""
    table.served(FORWARD.id).journal.clear()
    return table


def test_older_steps_come_from_the_store_page_by_page(table: ZoneTable) -> None:
    expected = rows(list(told(table, 7)))

    def body() -> None:
        archive = Archive(CHANGES)
        assert rows(drained(told(forgotten(table), 7, archive=archive))) == expected
        assert archive.asked == list(range(7, 1007, 100))

    run(body)


def test_what_happens_meanwhile_is_the_next_ones(table: ZoneTable) -> None:
    """The chain ends at the serial that was served when it was asked for."""
    expected = rows(list(told(table, 7)))
    more = [ZoneChange(FORWARD.id, 1008 + at, 1000 + at, removed=CHANGES[at].added) for at in range(20)]
    archive = Archive([*CHANGES, *more])
    coming = iter(more)

    def change() -> None:
        for each in coming:
            table.apply(each)
            return

    def body() -> None:
        assert rows(drained(told(forgotten(table), 7, archive=archive), change)) == expected

    run(body)
    assert table.served(FORWARD.id).serial > 1007


def test_a_store_that_knows_no_more_or_is_away_means_the_whole_zone(table: ZoneTable) -> None:
    def body() -> None:
        for archive in (Archive([]), Archive(CHANGES[5:]), Archive(CHANGES)):
            archive.away_after = 0 if len(archive.changes) == 1000 else 1000
            assert len(rows(drained(told(table, 7, archive=archive)))) == 1004

    forgotten(table)
    run(body)


def test_a_whole_step_on_the_way_means_the_whole_zone(table: ZoneTable) -> None:
    def body() -> None:
        broken = [*CHANGES[:50], ZoneChange(FORWARD.id, 58, 50), *CHANGES[51:]]
        assert len(rows(drained(told(table, 7, archive=Archive(broken))))) == 1004

    forgotten(table)
    run(body)


def test_before_the_floor_the_store_is_not_asked() -> None:
    table = ZoneTable([ip_address("127.0.0.1")])
    table.load(msgspec.structs.replace(FORWARD, serial=1007, floor=1000), [])

    def body() -> None:
        archive = Archive(CHANGES)
        assert rows(drained(told(table, 999, archive=archive)))[1] == f"{FORWARD.name} NS ns.{FORWARD.name}"
        assert archive.asked == []
        assert rows(drained(told(table, 1000, archive=archive)))[1] == f"{FORWARD.name} SOA 1000"

    run(body)


def test_a_store_that_goes_away_on_the_way_cuts_the_transfer(table: ZoneTable) -> None:
    def body() -> None:
        archive = Archive(CHANGES)
        archive.away_after = 3
        with pytest.raises(Cut):
            drained(told(table, 7, archive=archive))

    forgotten(table)
    run(body)


def test_journals_of_all_zones_have_one_room() -> None:
    room = Room(100_000)
    journals = [Journal(room) for _ in range(3)]
    soa = ServedZone(FORWARD, (f"ns.{FORWARD.name}",)).soa
    for at in range(5000):
        journal = journals[at % 3 if at > 4000 else 0]
        journal.note(stamped(soa, at), [], stamped(soa, at + 1), [(b"\1a", b"x" * 50)])
        assert room.used <= 100_000
    assert 100 < sum(map(len, journals)) < 200
    assert journals[0].since(0) is None
    kept = journals[2].since(4994)
    assert kept is not None and [serial_of(step.after) for step in kept] == [4995]
    for journal in journals:
        journal.clear()
    journals[1].note(soa, [], stamped(soa, 8), [(b"\1a", b"x" * 200_000)])
    assert (room.used, journals[1].since(7)) == (0, None)
