"""tenure.naming.templates: each address has one name, each such name one address."""

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.errors import InvalidValue
from tenure.model.dnsdata import Record
from tenure.naming.hostnames import parse_hostname
from tenure.naming.reverse import pointer_owner
from tenure.naming.templates import LARGEST, Stretch, Template, parse_template

TEXTS = (
    "ip-{ip-dashed}",
    "{ip-hex}.dyn",
    "{ip-dashed}",
    "h{ip-hex}",
    "a.{ip-dashed}-x.b",
    "0{ip-hex}",
    "{ip-dashed}-1",
)
templates = st.sampled_from(TEXTS).map(parse_template)
addresses = st.ip_addresses().map(lambda address: (address.version, int(address)))


@pytest.mark.parametrize(
    ("text", "address", "name"),
    [
        ("ip-{ip-dashed}", "10.0.3.5", "ip-10-0-3-5"),
        ("ip-{ip-dashed}", "2001:db8::5", "ip-2001-db8-0-0-0-0-0-5"),
        ("{ip-hex}.dyn", "10.0.3.5", "0a000305.dyn"),
        ("IP{ip-hex}", "2001:db8::5", "ip20010db8000000000000000000000005"),
    ],
)
def test_names_as_the_documents_show_them(text: str, address: str, name: str) -> None:
    value = ip_address(address)
    assert parse_template(text).name(value.version, int(value)) == name


@given(templates, addresses)
def test_a_name_reads_back_as_its_address_alone(template: Template, address: tuple[int, int]) -> None:
    name = template.name(*address)
    assert parse_hostname(name) == name
    assert template.number(name) == address


@given(templates, st.from_regex(r"[0-9a-fx.-]{1,45}", fullmatch=True))
def test_what_reads_as_an_address_is_that_address_s_name(template: Template, text: str) -> None:
    """No second spelling: a leading zero, capital letters, a shortened form are nobody's name."""
    for name in (text, template.before + text + template.after):
        found = template.number(name)
        assert found is None or template.name(*found) == name


@pytest.mark.parametrize(
    "name", ["ip-10-0-3-05", "ip-10-0-3", "ip-10-0-3-256", "ip-10-0-3-5-6", "ip-", "10-0-3-5", "ip-2001-db8--5"]
)
def test_what_no_template_makes_is_nobody_s_name(name: str) -> None:
    assert parse_template("ip-{ip-dashed}").number(name) is None


@pytest.mark.parametrize(
    "text",
    ["", "vm", "{ip}", "{ip-dashed}{ip-hex}", "{ip-dashed}.", "-{ip-hex}", "{ip-dashed}-", "a_{ip-hex}", "{ip-hex}..x",
     "x" * 32 + "{ip-hex}", "{ip-hex", "ip-{{ip-hex}}"],
)  # fmt: skip
def test_what_is_no_template(text: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        parse_template(text, "/fields/name_template")
    assert refused.value.facts["pointer"] == "/fields/name_template"


def forward(text: str, first: str, last: str) -> Stretch:
    low, high = ip_address(first), ip_address(last)
    zone = "prod.example."
    return Stretch(low.version, int(low), int(high), parse_template(text), zone, zone, False, 300)


def pointing(stretch: Stretch, zone: str) -> Stretch:
    return stretch._replace(zone=zone, pointers=True)


@pytest.mark.parametrize(
    ("zone", "owner"),
    [
        ("2.0.192.in-addr.arpa.", "70.2.0.192.in-addr.arpa."),
        ("64-26.2.0.192.in-addr.arpa.", "70.64-26.2.0.192.in-addr.arpa."),
    ],
)
def test_both_records_of_an_address(zone: str, owner: str) -> None:
    stretch = forward("ip-{ip-dashed}", "192.0.2.64", "192.0.2.127")
    number, name = 0xC0000246, "ip-192-0-2-70.prod.example."
    assert stretch.record(number) == Record(name, 1, 300, b"\xc0\0\x02\x46")
    back = pointing(stretch, zone)
    assert back.record(number) == Record(owner, 12, 300, b"\x0dip-192-0-2-70\x04prod\x07example\0")
    assert stretch.number(name) == back.number(owner) == number
    assert stretch.number(owner) is back.number(name) is None


@given(templates, st.integers(0, 255), st.booleans(), st.booleans())
def test_a_stretch_finds_its_own_addresses_and_no_others(template: Template, at: int, six: bool, back: bool) -> None:
    version, first = (6, 0x20010DB8 << 96) if six else (4, 0x0A000000)
    zone = "0.0.10.in-addr.arpa." if not six else "8.b.d.0.1.0.0.2.ip6.arpa."
    stretch = Stretch(
        version, first + 64, first + 127, template, "prod.example.", zone if back else "prod.example.", back, 60
    )
    owner = stretch.owner(first + at)
    assert stretch.number(owner) == (first + at if 64 <= at < 128 else None)
    assert stretch.record(first + at).owner == owner


@pytest.mark.parametrize(
    "owner",
    [
        "prod.example.",
        "x.ip-10-0-0-5.prod.example.",
        "ip-10-0-0-5.other.example.",
        "ip-2001-db8-0-0-0-0-0-5.prod.example.",
    ],
)
def test_other_owners_are_of_no_address(owner: str) -> None:
    assert forward("ip-{ip-dashed}", "10.0.0.0", "10.0.0.255").number(owner) is None


@pytest.mark.parametrize(
    ("last", "listed"), [("2001:db8::fffe", True), ("2001:db8::ffff", True), ("2001:db8::1:0", False)]
)
def test_only_small_stretches_of_ipv6_are_listed(last: str, listed: bool) -> None:
    assert LARGEST == 65536
    assert forward("h{ip-hex}", "2001:db8::", last).listed is listed
    assert forward("h{ip-hex}", "10.0.0.0", "10.255.255.255").listed


def test_the_ends_of_a_large_prefix_are_named_as_any_other() -> None:
    stretch = forward("h{ip-hex}", "2001:db8::", "2001:db8::ffff:ffff:ffff:ffff")
    back = pointing(stretch, "8.b.d.0.1.0.0.2.ip6.arpa.")
    for number in (stretch.first, stretch.last):
        assert stretch.number(stretch.owner(number)) == number
        assert back.number(pointer_owner("ip6.arpa.", 6, number)) == number
