"""tenure.naming.records: rdata as dnspython reads it, and the net of changes against a plain multiset."""

from collections import Counter
from ipaddress import ip_address

import dns.rdata
import dns.rdataclass
import dns.rdatatype
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.errors import InvalidValue
from tenure.model.dnsdata import Record
from tenure.naming.records import Change, forward, net, ns, pointer, soa
from tenure.net.addresses import Address

addresses = st.ip_addresses()
fqdns = st.from_regex(r"[a-z0-9]{1,10}(\.[a-z]{1,10}){1,3}\.", fullmatch=True)
ttls = st.integers(0, 2**31 - 1)


def read(record: Record) -> str:
    """The record's rdata in text, as dnspython reads it."""
    rdata = dns.rdata.from_wire(
        dns.rdataclass.IN, dns.rdatatype.RdataType(record.type), record.rdata, 0, len(record.rdata)
    )
    return rdata.to_text()


@given(fqdns, addresses, ttls)
def test_forward_and_pointer_say_the_same(fqdn: str, address: Address, ttl: int) -> None:
    version, number = address.version, int(address)
    there, back = forward(fqdn, version, number, ttl), pointer("arpa.", version, number, fqdn, ttl)
    assert (there.owner, there.ttl, back.ttl) == (fqdn, ttl, ttl)
    assert dns.rdatatype.to_text(dns.rdatatype.RdataType(there.type)) == ("A" if version == 4 else "AAAA")
    assert ip_address(read(there)) == address
    assert back.owner == address.reverse_pointer + "."
    assert (back.type, read(back)) == (dns.rdatatype.PTR, fqdn)


def test_both_families_of_one_name() -> None:
    v4, v6, name = 0x0A000005, 0x20010DB8 << 96 | 5, "vm-17.prod.example."
    assert forward(name, 4, v4, 300) == Record(name, 1, 300, b"\x0a\0\0\x05")
    assert forward(name, 6, v6, 300) == Record(name, 28, 300, bytes.fromhex("20010db8000000000000000000000005"))
    target = b"\x05vm-17\x04prod\x07example\0"
    assert pointer("0.0.10.in-addr.arpa.", 4, v4, name, 300) == Record("5.0.0.10.in-addr.arpa.", 12, 300, target)
    owner = "5." + "0." * 23 + "8.b.d.0.1.0.0.2.ip6.arpa."
    assert pointer("8.b.d.0.1.0.0.2.ip6.arpa.", 6, v6, name, 300) == Record(owner, 12, 300, target)


def test_a_pointer_in_a_classless_zone_is_one_label_below_it() -> None:
    """RFC 2317, section 4: the octet's zone leads there with a CNAME of that name."""
    zone = "64-26.2.0.192.in-addr.arpa."
    assert pointer(zone, 4, 0xC0000246, "a.example.", 60) == Record(f"70.{zone}", 12, 60, b"\x01a\x07example\0")


def test_soa_expires_after_fourteen_days_by_default() -> None:
    """dns.md: with every Tenure process stopped, the secondaries go on answering."""
    record = soa("prod.example.", "ns.prod.example.", "host\\.master.example.", 7)
    assert (record.owner, record.type, record.ttl) == ("prod.example.", 6, 300)
    assert read(record) == "ns.prod.example. host\\.master.example. 7 3600 600 1209600 60"


@given(st.integers(1, 2**32 - 1), st.tuples(ttls, ttls, ttls, ttls), ttls)
def test_soa_timers(serial: int, timers: tuple[int, int, int, int], ttl: int) -> None:
    refresh, retry, expire, negative_ttl = timers
    record = soa(
        *("z.", "ns.z.", "h.z.", serial),
        refresh=refresh,
        retry=retry,
        expire=expire,
        negative_ttl=negative_ttl,
        ttl=ttl,
    )
    assert read(record) == f"ns.z. h.z. {serial} {refresh} {retry} {expire} {negative_ttl}"
    assert record.ttl == ttl


def test_ns() -> None:
    record = ns("prod.example.", "ns.prod.example.", 300)
    assert (record.owner, record.type, read(record)) == ("prod.example.", 2, "ns.prod.example.")


def test_a_name_that_is_not_absolute_is_refused() -> None:
    with pytest.raises(InvalidValue):
        ns("prod.example.", "ns.prod.example")


R1, R2 = (Record("vm.example.", 1, 300, bytes((10, 0, 0, last))) for last in (1, 2))


@pytest.mark.parametrize(
    ("changes", "removed", "added"),
    [
        ([], (), ()),
        ([("add", R1)], (), (R1,)),
        ([("remove", R1)], (R1,), ()),
        ([("add", R1), ("remove", R1)], (), ()),
        ([("remove", R1), ("add", R1)], (), ()),
        ([("remove", R1), ("add", R2)], (R1,), (R2,)),
        ([("add", R1), ("add", R1)], (), (R1,)),  # two holders, one record
        ([("add", R1), ("add", R1), ("remove", R1)], (), (R1,)),
        ([("remove", R1), ("remove", R1)], (R1,), ()),
        ([("remove", R1), ("remove", R1), ("add", R1)], (), ()),  # two stood, one stands
        ([("add", R1), ("remove", R1), ("remove", R1)], (R1,), ()),
    ],
)
def test_net(changes: list[Change], removed: tuple[Record, ...], added: tuple[Record, ...]) -> None:
    assert net(changes) == (removed, added)


def test_another_holder_keeps_the_record() -> None:
    """MAAS LP 2120556, Technitium 394: a record goes when the last that asserts it goes."""
    assert net([("remove", R1)], {R1: 2}) == ((), ())
    assert net([("remove", R1)], {R1: 1}) == ((R1,), ())
    assert net([("add", R1)], {R1: 1}) == ((), ())
    assert net([("add", R1), ("add", R1), ("remove", R1)], {R1: 1}) == ((), ())


def of_holding(number: int) -> set[Record]:
    """Both records of an address of one name."""
    name = "vm.example."
    return {forward(name, 4, number, 300), pointer("10.in-addr.arpa.", 4, number, name, 300)}


def test_one_of_two_addresses_of_a_name() -> None:
    """MAAS LP 2120556: releasing one of two A records removes only that one."""
    one, two = of_holding(0x0A000001), of_holding(0x0A000002)
    removed, added = net([("remove", record) for record in one])
    assert added == ()
    assert not set(removed) & two
    assert {record.type for record in removed} == {1, 12}  # netbox-plugin-dns 97: A and PTR go together


def test_a_new_ttl_is_another_record() -> None:
    renewed = Record(R1.owner, R1.type, 60, R1.rdata)
    assert net([("remove", R1), ("add", renewed)]) == ((R1,), (renewed,))


records = st.sampled_from([R1, R2, Record("vm.example.", 1, 60, R1.rdata), Record("x.example.", 1, 300, R1.rdata)])


@given(st.dictionaries(records, st.integers(0, 3)), st.lists(st.tuples(st.booleans(), records), max_size=20))
def test_net_is_the_difference_of_two_zones(before: dict[Record, int], wishes: list[tuple[bool, Record]]) -> None:
    """Apply each change to a multiset of assertions; a zone is the set of what is asserted."""
    standing = Counter(before)
    changes: list[Change] = []
    for adds, record in wishes:
        if adds:
            standing[record] += 1
            changes.append(("add", record))
        elif standing[record]:
            standing[record] -= 1
            changes.append(("remove", record))
    told = {record: before.get(record, 0) for _, record in changes}
    removed, added = net(changes, told)
    zone_before, zone_after = set(+Counter(before)), set(+standing)
    assert set(removed) == zone_before - zone_after
    assert set(added) == zone_after - zone_before
    assert len(removed) == len(set(removed)) and len(added) == len(set(added))


@given(st.lists(st.tuples(st.booleans(), records), max_size=20))
def test_net_of_single_holders_needs_no_counts(wishes: list[tuple[bool, Record]]) -> None:
    """Where each record has one holder at most, the sequence alone tells what was there."""
    changes: list[Change] = [("add" if adds else "remove", record) for adds, record in wishes]
    alternating = [c for at, c in enumerate(changes) if c[0] != last_of(changes[:at], c[1])]
    first = {record: what for what, record in reversed(alternating)}
    last = {record: what for what, record in alternating}
    removed, added = net(alternating)
    assert set(added) == {r for r in last if first[r] == "add" == last[r]}
    assert set(removed) == {r for r in last if first[r] == "remove" == last[r]}


def last_of(changes: list[Change], record: Record) -> str:
    return next((what for what, other in reversed(changes) if other == record), "")
