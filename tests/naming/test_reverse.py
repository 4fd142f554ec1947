"""tenure.naming.reverse: zones for every prefix length; dnspython says what a pointer name is."""

from ipaddress import ip_network
from itertools import pairwise

import dns.name
import dns.reversename
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.naming.hostnames import wire
from tenure.naming.reverse import (
    classless_span,
    classless_zone,
    owner_number,
    parse_pointer,
    pointer_name,
    pointer_owner,
    zone_at,
    zone_span,
    zones_for,
)
from tenure.net.addresses import address_of, parse_address, parse_prefix, prefix_of, width


@st.composite
def prefixes(draw: st.DrawFn) -> tuple[int, int, int]:
    version = draw(st.sampled_from([4, 6]))
    length = draw(st.integers(0, width(version)))
    host_bits = width(version) - length
    return version, draw(st.integers(0, 2 ** width(version) - 1)) >> host_bits << host_bits, length


numbers = st.tuples(st.just(4), st.integers(0, 2**32 - 1)) | st.tuples(st.just(6), st.integers(0, 2**128 - 1))


def names(text: str) -> list[str]:
    return [name for name, _, _ in zones_for(ip_network(text))]


@given(numbers)
def test_pointer_names(number: tuple[int, int]) -> None:
    name = pointer_name(*number)
    address = address_of(*number)
    assert name == address.reverse_pointer + "."
    assert parse_pointer(name) == parse_pointer(name.upper()) == number
    assert wire(name) == dns.name.from_text(name).to_wire()
    if address.version == 4 or address.ipv4_mapped is None:
        assert dns.name.from_text(name) == dns.reversename.from_address(str(address))


@pytest.mark.parametrize(
    "name",
    [
        *("in-addr.arpa.", "10.in-addr.arpa.", "0.0.10.in-addr.arpa.", "1.5.0.0.10.in-addr.arpa.", "ip6.arpa."),
        *("05.0.0.10.in-addr.arpa.", "256.0.0.10.in-addr.arpa.", "x.0.0.10.in-addr.arpa.", ".0.0.10.in-addr.arpa."),
        *(
            "-1.0.0.10.in-addr.arpa.",
            "5.0.0.10.in-addr.arpa",
            "5.64-26.2.0.192.in-addr.arpa.",
            "٥.0.0.10.in-addr.arpa.",
        ),
        *("0." * 31 + "ip6.arpa.", "0." * 33 + "ip6.arpa.", "g." + "0." * 31 + "ip6.arpa.", "00." * 32 + "ip6.arpa."),
        *("", ".", "vm.example.", "5.0.0.10.in-addr.arpa.example.", "a5.0.0.10.xin-addr.arpa."),
    ],
)
def test_names_of_no_address(name: str) -> None:
    assert parse_pointer(name) is None


def test_a_slash_23_has_two_zones_and_each_pointer_its_own() -> None:
    """phpipam 666."""
    assert names("10.0.0.0/23") == ["0.0.10.in-addr.arpa.", "1.0.10.in-addr.arpa."]
    assert zone_at(4, int(parse_address("10.0.1.7")), 23)[0] == "1.0.10.in-addr.arpa."


def test_three_slash_27_share_one_zone() -> None:
    """phpipam 418; MAAS LP 2041276: the same triple, so it is declared once."""
    found = [zones_for(ip_network(f"192.0.2.{first}/27")) for first in (0, 32, 64)]
    assert found[0] == found[1] == found[2] == [("2.0.192.in-addr.arpa.", 0xC0000200, 0xC00002FF)]


def test_a_slash_112_has_the_right_nibbles() -> None:
    """phpipam 1113."""
    zone = "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.1.0.3.5.c.5.f.f.d.f.ip6.arpa."
    assert names("fdff:5c53:1fd::1:0/112") == [zone]
    assert pointer_name(6, int(parse_address("fdff:5c53:1fd::1:a"))) == "a.0.0.0." + zone


@pytest.mark.parametrize(
    ("prefix", "count", "first", "last"),
    [
        ("10.0.0.0/24", 1, "0.0.10.in-addr.arpa.", "0.0.10.in-addr.arpa."),
        ("10.0.0.0/22", 4, "0.0.10.in-addr.arpa.", "3.0.10.in-addr.arpa."),
        ("10.128.0.0/9", 128, "128.10.in-addr.arpa.", "255.10.in-addr.arpa."),
        ("10.0.0.0/8", 1, "10.in-addr.arpa.", "10.in-addr.arpa."),
        ("0.0.0.0/0", 1, "in-addr.arpa.", "in-addr.arpa."),
        ("10.0.0.254/31", 1, "0.0.10.in-addr.arpa.", "0.0.10.in-addr.arpa."),
        ("10.0.0.5/32", 1, "0.0.10.in-addr.arpa.", "0.0.10.in-addr.arpa."),
        ("2001:db8::/62", 4, "0." * 8 + "8.b.d.0.1.0.0.2.ip6.arpa.", "3." + "0." * 7 + "8.b.d.0.1.0.0.2.ip6.arpa."),
        ("2001:db8::/32", 1, "8.b.d.0.1.0.0.2.ip6.arpa.", "8.b.d.0.1.0.0.2.ip6.arpa."),
        ("::/0", 1, "ip6.arpa.", "ip6.arpa."),
        ("2001:db8::/127", 1, "0." * 23 + "8.b.d.0.1.0.0.2.ip6.arpa.", "0." * 23 + "8.b.d.0.1.0.0.2.ip6.arpa."),
    ],
)
def test_how_many_zones(prefix: str, count: int, first: str, last: str) -> None:
    """dns.md: /23 two, /9 128, /22 four, /62 four; beyond /24 and /124 the zone around it."""
    zones = names(prefix)
    assert (len(zones), zones[0], zones[-1]) == (count, first, last)
    assert zones_for(parse_prefix(prefix)) == zones_for(ip_network(prefix))


@given(prefixes(), st.data())
def test_each_address_is_in_exactly_one_zone_and_its_pointer_name_under_it(
    prefix: tuple[int, int, int], data: st.DataObject
) -> None:
    version, first, length = prefix
    zones = zones_for(prefix_of(*prefix))
    last = first + 2 ** (width(version) - length) - 1
    number = data.draw(st.integers(first, last))
    around = [zone for zone in zones if zone[1] <= number <= zone[2]]
    assert around == [zone_at(version, number, length)]
    assert pointer_name(version, number).endswith("." + around[0][0])
    assert zones[0][1] <= first and last <= zones[-1][2]
    assert all(a[2] + 1 == b[1] for a, b in pairwise(zones))
    assert len(zones) <= (128 if version == 4 else 8)


@given(prefixes())
def test_a_zones_span_is_told_by_its_name(prefix: tuple[int, int, int]) -> None:
    version, number, length = prefix
    for name, first, last in zones_for(prefix_of(version, number, length)):
        assert zone_span(name) == (version, first, last)
    assert zone_span(pointer_name(version, number)) == (version, number, number)


@pytest.mark.parametrize(
    "name",
    [
        *("prod.example.", "arpa.", "x.10.in-addr.arpa.", "1.2.3.4.5.in-addr.arpa.", "0-24.2.0.192.in-addr.arpa."),
        *("65-26.2.0.192.in-addr.arpa.", "064-26.2.0.192.in-addr.arpa.", "64-33.2.0.192.in-addr.arpa."),
        *("256-26.2.0.192.in-addr.arpa.", "64-26.0.192.in-addr.arpa.", "64-26.256.0.192.in-addr.arpa."),
        *("1.64-26.2.0.192.in-addr.arpa.", "64-26.02.0.192.in-addr.arpa.", "64/26.2.0.192.in-addr.arpa."),
    ],
)
def test_names_that_span_nothing(name: str) -> None:
    assert zone_span(name) is None


# RFC 2317


def test_the_example_of_rfc_2317() -> None:
    """Section 4: the /25, /26 and /26 of 192.0.2.0/24, in our form of the child zones' names."""
    parents = {
        "192.0.2.0/25": ("0-25.2.0.192.in-addr.arpa.", "192.0.2.1", "1.0-25.2.0.192.in-addr.arpa."),
        "192.0.2.128/26": ("128-26.2.0.192.in-addr.arpa.", "192.0.2.129", "129.128-26.2.0.192.in-addr.arpa."),
        "192.0.2.192/26": ("192-26.2.0.192.in-addr.arpa.", "192.0.2.194", "194.192-26.2.0.192.in-addr.arpa."),
    }
    for prefix, (zone, address, owner) in parents.items():
        number, length = int(parse_address(address)), parse_prefix(prefix).prefixlen
        assert classless_zone(number, length) == zone
        assert pointer_owner(zone, 4, number) == owner
        assert owner_number(zone, owner) == (4, number)


@given(st.integers(0, 2**32 - 1), st.integers(25, 32), st.integers(0, 2**32 - 1))
def test_a_classless_zone_holds_the_pointers_of_its_prefix_alone(number: int, length: int, other: int) -> None:
    zone = classless_zone(number, length)
    first = number >> (32 - length) << (32 - length)
    last = first + 2 ** (32 - length) - 1
    assert classless_span(zone) == (first, last)
    assert zone_span(zone) == (4, first, last)
    assert zone.endswith("." + zone_at(4, number, 24)[0])
    owner = pointer_owner(zone, 4, number)
    assert owner == f"{number & 255}.{zone}"
    assert parse_pointer(owner) is None
    assert owner_number(zone, owner) == (4, number)
    assert owner_number(zone, pointer_name(4, number)) is None
    beside = pointer_owner(zone, 4, other)
    assert owner_number(zone, beside) == (
        (4, first & ~255 | other & 255) if first & 255 <= other & 255 <= last & 255 else None
    )
    wire(owner)


@pytest.mark.parametrize("label", ["", "x", "064", "63", "128", "256", "-64", "64.64", "٦٤"])
def test_names_that_are_no_owner_in_a_classless_zone(label: str) -> None:
    zone = "64-26.2.0.192.in-addr.arpa."
    assert owner_number(zone, f"{label}.{zone}" if label else zone) is None


@given(numbers)
def test_in_other_zones_a_pointer_has_its_own_name(number: tuple[int, int]) -> None:
    zone = zone_at(*number, 0)[0]
    assert pointer_owner(zone, *number) == pointer_name(*number)
    assert owner_number(zone, pointer_name(*number)) == number


def test_a_label_of_a_classless_zone_is_no_addresss() -> None:
    """A form that no address label collides with: the zones cut out of an octet's and its pointers are apart."""
    labels = {classless_zone(first, length).partition(".")[0] for length in range(25, 33) for first in range(256)}
    assert labels.isdisjoint(map(str, range(256)))
    assert len(labels) == sum(2 ** (length - 24) for length in range(25, 33))
