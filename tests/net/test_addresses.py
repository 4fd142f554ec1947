"""tenure.net.addresses: one form for each address and prefix; what is refused, and how."""

from ipaddress import ip_address, ip_network, summarize_address_range

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.errors import InvalidValue
from tenure.net.addresses import (
    address_of,
    covering,
    parse_address,
    parse_prefix,
    prefix_of,
    prefix_text,
    width,
)

versions = st.sampled_from([4, 6])


@st.composite
def numbers(draw: st.DrawFn) -> tuple[int, int]:
    version = draw(versions)
    return version, draw(st.integers(0, 2 ** width(version) - 1))


@st.composite
def prefixes(draw: st.DrawFn) -> tuple[int, int, int]:
    version, number = draw(numbers())
    length = draw(st.integers(0, width(version)))
    host_bits = width(version) - length
    return version, number >> host_bits << host_bits, length


@pytest.mark.parametrize(
    "text", ["2001:db8::5", "2001:DB8::5", "2001:0db8:0000:0000:0000:0000:0000:0005", "2001:db8:0:0::0.0.0.5"]
)
def test_every_ipv6_spelling_is_one_address(text: str) -> None:
    """phpipam 2048: leading zeros and upper case in IPv6 have one canonical form."""
    assert str(parse_address(text)) == "2001:db8::5"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("10.0.0.05", "leading zero"),
        ("010.0.0.5", "leading zero"),
        ("fe80::1%eth0", "zone id"),
        ("::ffff:10.0.0.5", "write 10.0.0.5"),
        ("10.0.0.5/24", "stands alone"),
        ("10.0.0.5/0", "stands alone"),  # netbox 3864
        ("10.0.0", "not an IPv4 or IPv6 address"),
        ("10.0.0.256", "not an IPv4 or IPv6 address"),
        ("", "not an IPv4 or IPv6 address"),
        (" 10.0.0.5", "not an IPv4 or IPv6 address"),
        ("10.0.0.5\n", "not an IPv4 or IPv6 address"),
        ("10.0.0.5\0", "not an IPv4 or IPv6 address"),
        ("١٠.0.0.5", "not an IPv4 or IPv6 address"),
        ("2001:db8:::5", "not an IPv4 or IPv6 address"),
    ],
)
def test_refused_addresses_say_why(text: str, says: str) -> None:
    with pytest.raises(InvalidValue, match=says) as caught:
        parse_address(text, "/address")
    assert caught.value.facts == {"pointer": "/address", "value": text}


def test_host_bits_are_refused_naming_the_right_prefix() -> None:
    """go-ipam PR 52."""
    with pytest.raises(InvalidValue) as caught:
        parse_prefix("10.0.0.1/24", "/cidr")
    assert caught.value.message == "10.0.0.1/24 has host bits set; the subnet is 10.0.0.0/24"
    assert caught.value.facts["pointer"] == "/cidr"


def test_resizing_to_a_misaligned_prefix_is_refused() -> None:
    """phpipam 34: 10.0.4.0/22 does not become a /21 by itself."""
    with pytest.raises(InvalidValue, match="the subnet is 10.0.0.0/21"):
        parse_prefix("10.0.4.0/21")


@pytest.mark.parametrize(
    "text",
    [
        *("10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/024", "10.0.0.0/-1", "10.0.0.0/255.255.255.0"),
        *("2001:db8::/129", "fe80::%eth0/64", "10.0.0.0/24/24", "10.0.0.0 /24", "10.0.0.0/٢", "::ffff:10.0.0.0/120"),
        *("10.0.00.0/24", "/24", ""),
    ],
)
def test_refused_prefixes(text: str) -> None:
    with pytest.raises(InvalidValue):
        parse_prefix(text)


def test_a_huge_text_is_not_repeated() -> None:
    for parse in (parse_address, parse_prefix):
        with pytest.raises(InvalidValue) as caught:
            parse("1" * 1_000_000)
        assert len(caught.value.message) < 200
        assert len(caught.value.facts["value"]) < 100


@given(numbers())
def test_addresses_survive_text(number: tuple[int, int]) -> None:
    address = address_of(*number)
    assert (address.version, int(address)) == number
    if address.version == 4 or address.ipv4_mapped is None:
        assert parse_address(str(address)) == address == parse_address(str(address).upper())


@given(prefixes())
def test_prefixes_survive_text(prefix: tuple[int, int, int]) -> None:
    made = prefix_of(*prefix)
    assert str(made) == prefix_text(*prefix)
    assert (made.version, int(made.network_address), made.prefixlen) == prefix
    if not str(made).startswith("::ffff:"):
        assert parse_prefix(prefix_text(*prefix)) == made


def test_prefix_of_refuses_host_bits() -> None:
    with pytest.raises(InvalidValue, match="the subnet is 0.0.0.0/24"):
        prefix_of(4, 1, 24)


@given(st.text(max_size=40) | st.from_regex(r"[0-9a-f.:/%]{0,40}", fullmatch=True))
def test_any_text_is_read_or_refused(text: str) -> None:
    for parse, oracle in ((parse_address, ip_address), (parse_prefix, ip_network)):
        try:
            read = parse(text)
        except InvalidValue:
            continue
        assert oracle(text) == read


@given(numbers(), st.data())
def test_covering_is_the_fewest_prefixes(number: tuple[int, int], data: st.DataObject) -> None:
    version, first = number
    last = data.draw(st.integers(first, 2 ** width(version) - 1))
    oracle = summarize_address_range(address_of(version, first), address_of(version, last))
    assert covering(version, first, last) == [(int(n.network_address), n.prefixlen) for n in oracle]


def test_covering_examples() -> None:
    assert covering(4, 0, 2**32 - 1) == [(0, 0)]
    assert covering(6, 5, 5) == [(5, 128)]
    assert covering(4, 1, 6) == [(1, 32), (2, 31), (4, 31), (6, 32)]
    assert covering(4, 6, 5) == []
    assert len(covering(4, 1, 2**32 - 2)) == 62
