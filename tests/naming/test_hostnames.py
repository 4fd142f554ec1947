"""tenure.naming.hostnames: RFC 1123 names, IDNA, and wire form with dnspython as the oracle."""

import dns.name
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.errors import InvalidValue
from tenure.naming.hostnames import display, fqdn, from_wire, parse_domain, parse_hostname, parse_name, wire

labels = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,12}[a-z0-9])?", fullmatch=True).filter(lambda x: not x.startswith("xn--"))
hostnames = st.lists(labels.filter(lambda x: not x.isdigit()), min_size=1, max_size=4).map(".".join)
octet_labels = st.binary(min_size=1, max_size=63)
wire_names = st.lists(octet_labels, max_size=8).filter(lambda ls: sum(map(len, ls)) + len(ls) < 255)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("vm-17", "vm-17"),
        ("VM-17.Rack1", "vm-17.rack1"),
        ("3com", "3com"),  # RFC 1123 section 2.1: a digit may come first
        ("17", "17"),
        ("vm.prod.example.", "vm.prod.example."),
        ("a--b", "a--b"),
        ("64-26", "64-26"),  # a label of RFC 2317 zones
        ("a" * 63, "a" * 63),
        ("bücher", "xn--bcher-kva"),
        ("BÜCHER", "xn--bcher-kva"),
        ("bu\u0308cher", "xn--bcher-kva"),  # the same name in another Unicode form
        ("straße", "xn--strae-oqa"),  # IDNA 2003 would say strasse
        ("xn--bcher-kva", "xn--bcher-kva"),
        ("XN--BCHER-KVA", "xn--bcher-kva"),
        ("Ꮒ", "xn--49d"),  # Cherokee: its small letters are not allowed, its capitals are
        ("例え.テスト.", "xn--r8jz45g.xn--zckzah."),
    ],
)
def test_names_are_read_in_one_form(text: str, name: str) -> None:
    """netbox-dns 268: Unicode is kept as its A-label, never lost."""
    assert parse_hostname(text) == name
    assert parse_hostname(name) == name


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("-vm", "hyphen"),  # phpipam 3786
        ("vm-", "hyphen"),
        ("a.-b.c", "hyphen"),
        ("vm_17", "letters, digits, hyphens"),  # netbox 4776
        ("_sip", "letters, digits, hyphens"),
        ("vm 17", "letters, digits, hyphens"),
        ("*", "letters, digits, hyphens"),
        ("vm\0", "letters, digits, hyphens"),
        ("vm\n", "letters, digits, hyphens"),
        ("a\\.b", "letters, digits, hyphens"),
        ("", "empty label"),
        (".", "empty label"),
        ("..", "empty label"),
        ("a..b", "empty label"),  # Kea 4557
        (".a", "empty label"),
        ("a" * 64, "longer than 63"),
        (".".join(["a" * 49] * 6), "longer than 253"),
        ("a" * 1_000_000, "longer than 253"),
        ("10.0.0.5", "looks like an IPv4 address"),
        ("vm.123.", "digits only"),
        ("bücher。de", "IDNA"),
        ("☃", "IDNA"),
        ("ü-", "IDNA"),
        ("ü_x", "IDNA"),
        ("xn--a", "stands for no Unicode name"),
        ("xn--zzzzzzz9999999", "stands for no Unicode name"),
        ("ü" * 70, "IDNA"),
    ],
)
def test_refused_names_say_why(text: str, says: str) -> None:
    with pytest.raises(InvalidValue, match=says) as caught:
        parse_hostname(text, "/hostname")
    assert caught.value.facts["pointer"] == "/hostname"
    assert len(caught.value.message) < 400


def test_the_longest_name_fits() -> None:
    """RFC 1035 section 2.3.4: 255 octets on the wire, so 253 in text without the last dot."""
    longest = ".".join(["a" * 63] * 3 + ["a" * 61])
    assert len(longest) == 253
    assert len(wire(parse_hostname(longest + "."))) == 255
    with pytest.raises(InvalidValue):
        parse_hostname("a" + longest)


@pytest.mark.parametrize("text", ["Prod.Example", "prod.example."])
def test_a_domain_is_absolute(text: str) -> None:
    assert parse_domain(text) == "prod.example."


@pytest.mark.parametrize("text", ["", ".", "..", "a..", "10.in-addr.arpa..", "1.2.3.4", "vm.5", "-a.example"])
def test_refused_domains(text: str) -> None:
    with pytest.raises(InvalidValue):
        parse_domain(text, "/domain")


def test_reverse_zones_are_domains() -> None:
    assert parse_domain("64-26.2.0.192.in-addr.arpa") == "64-26.2.0.192.in-addr.arpa."


def test_joining() -> None:
    assert fqdn("vm-17", "prod.example.") == "vm-17.prod.example."
    assert fqdn("vm-17.other.", "prod.example.") == "vm-17.other."
    with pytest.raises(InvalidValue, match="longer than 253"):
        fqdn("a" * 63, ".".join(["b" * 63] * 3) + ".")


def test_display_is_unicode_where_it_reads_back() -> None:
    assert display("xn--bcher-kva.xn--zckzah.example.") == "bücher.テスト.example."
    assert display("xn--a.plain") == "xn--a.plain"
    assert display("plain.example.") == "plain.example."


@given(st.text(max_size=30))
def test_any_text_is_refused_or_read_to_a_fixed_point(text: str) -> None:
    try:
        name = parse_hostname(text)
    except InvalidValue:
        return
    assert parse_hostname(name) == name == name.lower()
    assert parse_hostname(display(name)) == name
    assert from_wire(wire(name.rstrip(".") + ".")) == name.rstrip(".") + "."


@given(st.from_regex(r"xn--[a-z0-9-]{1,12}", fullmatch=True))
def test_an_a_label_is_what_its_unicode_form_reads_back_to(label: str) -> None:
    try:
        name = parse_hostname(label)
    except InvalidValue:
        return
    assert display(name) != name
    assert parse_hostname(display(name)) == name


@given(hostnames, hostnames)
def test_wire_form_of_host_names(hostname: str, domain: str) -> None:
    name = fqdn(parse_hostname(hostname.upper()), parse_domain(domain))
    assert wire(name) == dns.name.from_text(name).to_wire()
    assert from_wire(wire(name)) == name


@given(wire_names)
def test_wire_form_of_any_name(parts: list[bytes]) -> None:
    oracle = dns.name.Name([*parts, b""])
    octets = oracle.to_wire()
    assert octets is not None
    assert from_wire(octets) == oracle.to_text()
    assert wire(oracle.to_text()) == octets


def test_wire_examples() -> None:
    assert wire(".") == b"\0"
    assert wire("john\\.doe.example.") == b"\x08john.doe\x07example\0"
    assert wire("a\\007b.example.") == b"\x03a\x07b\x07example\0"
    assert wire("Vm.Example.") == b"\x02Vm\x07Example\0"
    assert from_wire(b"\0") == "."


@pytest.mark.parametrize(
    "name",
    [
        *("", "vm", "vm.example", "..", ".a.", "a..b.", "ü.example.", "a.ü.", "a\\", "a.b\\", "a\\256.", "a\\2."),
        *("a" * 64 + ".", "b." + "a" * 64 + ".", "a." * 128, "a." + ("b" * 63 + ".") * 4),
        # as long as an IPv6 pointer name, and not one
        *(".." * 31 + "..ip6.arpa.", "." * 64 + "ip6.arpa.", "ü." * 32 + "ip6.arpa.", "\\." * 32 + "ip6.arpa"),
    ],
)
def test_what_has_no_wire_form_is_refused(name: str) -> None:
    with pytest.raises(InvalidValue):
        wire(name)
    with pytest.raises(InvalidValue):  # nor the second time, when something may be cached
        wire(name)


def test_dots_escaped_in_what_looks_like_nibbles() -> None:
    name = "\\." * 32 + ".ip6.arpa."
    assert wire(name) == dns.name.from_text(name).to_wire()
    same_length = "\\." * 31 + "a" + ".ip6.arpa."
    assert len(same_length) == 73
    assert wire(same_length) == dns.name.from_text(same_length).to_wire()


@pytest.mark.parametrize(
    "octets",
    [
        *(
            b"",
            b"\x01a",
            b"\x02a\0",
            b"\xc0\x0c",
            b"\x01a\xc0\x0c",
            b"\0\0",
            b"\x01a\0\x01",
            b"\x3f" + b"a" * 62,
            b"\x40a\0",
        ),
        (b"\x3f" + b"a" * 63) * 4 + b"\0",
    ],
)
def test_octets_that_are_no_name_are_refused(octets: bytes) -> None:
    with pytest.raises(InvalidValue):
        from_wire(octets)


@given(st.binary(max_size=40))
def test_any_octets_are_refused_or_come_back(octets: bytes) -> None:
    try:
        name = from_wire(octets)
    except InvalidValue:
        return
    assert wire(name) == octets


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("_sip._TCP", "_sip._tcp"),
        ("a_b.example.", "a_b.example."),
        ("_", "_"),
        ("0/25.2.0.192.in-addr.arpa.", "0/25.2.0.192.in-addr.arpa."),
        ("*", "*"),
        ("*.Apps", "*.apps"),
        ("*.example.", "*.example."),
        ("bücher", "xn--bcher-kva"),
        ("www", "www"),
    ],
)
def test_names_that_no_host_has(text: str, name: str) -> None:
    assert parse_name(text, wildcard=True) == name
    assert parse_name(name, wildcard=True) == name


@pytest.mark.parametrize(
    "text",
    ["", ".", "*.", "**", "*a", "a.*", "*.*", "-_", "_-", "a/b", "0/255", "/25", "_bücher", "xn--_a", "xn--a", "a b",
     "a\n", "_" * 64, "*." + "x." * 125 + "xx", "1.2.3.4", "_a.1."],
)  # fmt: skip
def test_names_that_nothing_has(text: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        parse_name(text, "/name", wildcard=True)
    assert caught.value.facts["pointer"] == "/name"


def test_a_wildcard_only_where_one_may_be() -> None:
    for text in ("*", "*.a"):
        with pytest.raises(InvalidValue):
            parse_name(text)


@given(text=st.text(max_size=40))
def test_what_a_host_may_be_called_anything_may_be_called(text: str) -> None:
    try:
        name = parse_hostname(text)
    except InvalidValue:
        return
    assert parse_name(text) == parse_name(text, wildcard=True) == name


@given(text=st.text(alphabet="ab_-*/.09xn", max_size=20))
def test_any_name_goes_over_the_wire_or_is_refused(text: str) -> None:
    try:
        name = parse_name(text, wildcard=True)
    except InvalidValue:
        return
    absolute = fqdn(name, "example.")
    assert from_wire(wire(absolute)) == absolute
