"""Data of records: the RFCs' examples retyped, one spelling, and nothing but InvalidValue for the rest."""

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.errors import InvalidValue
from tenure.model.dnsdata import TYPES
from tenure.model.policy import RecordType
from tenure.naming import rdata
from tenure.naming.hostnames import wire

ORIGIN = "example.com."
ALL: tuple[RecordType, ...] = get_args(RecordType)
MORE = (
    'a:@." \\;()\t\n\x00\\010"".,-_*/=0 @ x.example. 10 1.2.3.4 ::1 alpn=h2 key1= mandatory=alpn ipv4hint=1.2.3.4'
    ' "a b" issue \\# 4 00 ü ß ⒈ xn--a'
)


@pytest.mark.parametrize(
    ("type_", "text", "spelling", "packed"),
    [
        ("A", "10.0.0.52", "10.0.0.52", "0a000034"),  # RFC 1035 section 5.3: A.ISI.EDU has 26.3.0.103 and such
        ("AAAA", "4321:0:1:2:3:4:567:89ab", "4321:0:1:2:3:4:567:89ab", "4321000000010002000300040567" + "89ab"),  # 3596
        ("AAAA", "2001:DB8::0:1", "2001:db8::1", "20010db8" + "0" * 23 + "1"),
        ("NS", "ns", "ns.example.com.", wire("ns.example.com.").hex()),
        ("NS", "NS.Example.NET.", "ns.example.net.", wire("ns.example.net.").hex()),
        ("CNAME", "1.0/25", "1.0/25.example.com.", wire("1.0/25.example.com.").hex()),  # RFC 2317 section 4
        ("CNAME", "@", ORIGIN, wire(ORIGIN).hex()),
        ("CNAME", "_x._domainkey", "_x._domainkey.example.com.", wire("_x._domainkey.example.com.").hex()),
        ("CNAME", "bücher", "xn--bcher-kva.example.com.", wire("xn--bcher-kva.example.com.").hex()),
        ("PTR", "host1.example.com.", "host1.example.com.", wire("host1.example.com.").hex()),
        ("MX", "10 VENERA", "10 venera.example.com.", "000a" + wire("venera.example.com.").hex()),  # RFC 1035 5.3
        ("MX", "\t0\t. ", "0 .", "000000"),  # RFC 7505 section 3
        ("SRV", "0 5 5060 sip", "0 5 5060 sip.example.com.", "000000051" + "3c4" + wire("sip.example.com.").hex()),
        ("SRV", "0 0 0 .", "0 0 0 .", "00000000000000"),  # RFC 2782: the service is decidedly not available
        ("TXT", '"v=spf1 -all"', '"v=spf1 -all"', "0b" + b"v=spf1 -all".hex()),
        ("TXT", '"a"  "b"', '"a" "b"', "01610162"), ("TXT", '"a""b"', '"a" "b"', "01610162"),
        ("TXT", "c\\;d", '"c;d"', "03633b64"), ("TXT", "\\# 2 0161", '"a"', "0161"),
        ("TXT", '"' + '\\"' * 255 + '"', None, "ff" + "22" * 255),
        ("TXT", '""', '""', "00"),
        ("TXT", '"ü\\010"', '"\\195\\188\\010"', "03c3bc0a"),
        ("CAA", '0 issue "ca.example.net"', '0 issue "ca.example.net"', "00056973737565" + b"ca.example.net".hex()),
        ("CAA", '128 tbs "Unknown"', '128 tbs "Unknown"', "8003746273" + b"Unknown".hex()),  # RFC 8659 section 4.5
        ("SSHFP", "2 1 123456789abcdef67890123456789abcdef67890", None, "0201123456789abcdef67890123456789abcdef67890"),
        ("SVCB", "0 foo.example.com.", "0 foo.example.com.", "0000" + wire("foo.example.com.").hex()),  # RFC 9460 D.1
        ("SVCB", "1 .", "1 .", "000100"),
        ("SVCB", "16 foo port=53", '16 foo.example.com. port=53',
         "0010" + wire("foo.example.com.").hex() + "000300020035"),
        ("SVCB", "1 foo key667=hello", '1 foo.example.com. key667="hello"',
         "0001" + wire("foo.example.com.").hex() + "029b000568656c6c6f"),
        ("SVCB", "16 foo.example.org. alpn=h2,h3-19 mandatory=ipv4hint,alpn ipv4hint=192.0.2.1",
         '16 foo.example.org. mandatory=alpn,ipv4hint alpn="h2,h3-19" ipv4hint=192.0.2.1',
         "0010" + wire("foo.example.org.").hex() + "0000000400010004" + "00010009026832" + "0568332d3139"
         "00040004c0000201"),
        ("HTTPS", "1 . alpn=h2", '1 . alpn="h2"', "000100" + "00010003026832"),
    ],
)  # fmt: skip
def test_what_the_standards_show(type_: RecordType, text: str, spelling: str | None, packed: str) -> None:
    assert rdata.parse(type_, text, ORIGIN) == (spelling or text, bytes.fromhex(packed))
    assert rdata.text(TYPES[type_], bytes.fromhex(packed)) == (spelling or text)


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        *((type_, text) for type_ in ALL for text in ("", " ", "(", "a\nb", "a\0b", "\ud800", '"', "x ; y", "\\")),
        ("A", "10.0.0.052"), ("A", "10.0.0"), ("A", "::1"), ("A", "10.0.0.1 10.0.0.2"), ("A", "10.0.0.0/8"),
        ("AAAA", "10.0.0.1"), ("AAAA", "fe80::1%eth0"), ("AAAA", "::ffff:10.0.0.1"),
        ("NS", "a_b"), ("NS", "."), ("NS", "10.0.0.1"), ("NS", "a b"), ("NS", "a..b"), ("NS", "*.x"),
        ("CNAME", "."), ("CNAME", "*"), ("CNAME", "-a"), ("CNAME", "a" * 64), ("CNAME", "x." * 127 + "x"),
        ("CNAME", "xn--a"),
        ("PTR", "a\\.b"), ("PTR", "a b"),
        ("MX", "mail"), ("MX", "65536 mail"), ("MX", "-1 mail"), ("MX", "+1 mail"), ("MX", "1e1 mail"), ("MX", "10 ."),
        ("MX", "10 10.0.0.1"), ("MX", "10 a_b"), ("MX", "10 mail x"),
        ("SRV", "0 5 5060"), ("SRV", "0 5 65536 sip"), ("SRV", "0 5 5060 _x"), ("SRV", "٣ 0 0 sip"),
        ("TXT", '"' + "x" * 256 + '"'), ("TXT", '"\\256"'), ("TXT", "x " * 2049), ("TXT", '"' + "\\255" * 1024 + '"'),
        ("TXT", "v=spf1 mx -all"), ("TXT", '"a" b'), ("TXT", 'a"b"'), ("TXT", "x" * 256),
        ("TXT", '"' + "ü" * 128 + '"'),
        ("CNAME", "a.example.com"), ("MX", "10 Example.com"), ("SRV", "0 0 1 x.example.com"), ("NS", "ns.example.com"),
        ("HTTPS", "1 a.example.com"),
        ("CAA", "0 issue"), ("CAA", "256 issue x"), ("CAA", '0 is-sue "x"'), ("CAA", "0 issue a b"),
        ("CAA", f"0 {'a' * 16} x"), ("CAA", f"\\# 19 0010{'61' * 16}78"), ("CAA", "\\# 2 0000"), ("CAA", "\\# 1 00"),
        ("SSHFP", "1 1 xyz"), ("SSHFP", "1 1 00"), ("SSHFP", "\\# 2 0000"),
        ("SSHFP", "4 2 " + "00" * 20), ("SSHFP", "256 1 " + "00" * 20),
        ("SVCB", "1"), ("SVCB", "x foo"), ("SVCB", "65536 foo"), ("SVCB", "0 foo alpn=h2"), ("SVCB", "\\# 1 00"),
        ("SVCB", "1 foo alpn=h2 alpn=h3"),
        ("SVCB", "1 foo port=65536"), ("SVCB", "1 foo mandatory=alpn"), ("SVCB", "1 foo mandatory=mandatory"),
        ("SVCB", "1 foo key65536=x"), ("SVCB", "1 foo ipv4hint=::1"), ("HTTPS", "1 foo no-default-alpn"),
    ],
)  # fmt: skip
def test_what_is_no_data_is_refused(type_: RecordType, text: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        rdata.parse(type_, text, ORIGIN)
    assert caught.value.facts["pointer"] == "/data"
    assert str(caught.value.facts["value"]).isprintable() or len(caught.value.facts["value"]) <= 256


@pytest.mark.parametrize(
    ("type_", "text", "advice"),
    [
        ("TXT", "v=spf1 mx -all", 'put in quotes: "v=spf1 mx -all"'),
        ("TXT", '"' + "x" * 256 + '"', "split it into several in quotes"),
        ("MX", "10 q3.example.com", "end it with a dot, or leave example.com out"),
    ],
)
def test_a_refusal_says_what_was_meant(type_: RecordType, text: str, advice: str) -> None:
    with pytest.raises(InvalidValue, match=advice):
        rdata.parse(type_, text, ORIGIN)


@given(type_=st.sampled_from(ALL), text=st.one_of(st.text(max_size=60), st.text(alphabet=MORE, max_size=60)))
def test_any_text_is_data_of_one_spelling_or_refused(type_: RecordType, text: str) -> None:
    try:
        spelling, packed = rdata.parse(type_, text, ORIGIN)
    except InvalidValue:
        return
    assert rdata.parse(type_, spelling, "other.example.") == (spelling, packed)
    assert rdata.text(TYPES[type_], packed) == spelling
    assert spelling.isprintable() and spelling.isascii()
    assert all(name.endswith(".") and name == name.lower() for name in rdata.targets(TYPES[type_], packed))


WORDS = st.sampled_from(MORE.split(" "))


@given(type_=st.sampled_from(ALL), words=st.lists(WORDS, max_size=6))
def test_words_that_nearly_are_data(type_: RecordType, words: list[str]) -> None:
    try:
        spelling, packed = rdata.parse(type_, " ".join(words), ORIGIN)
    except InvalidValue:
        return
    assert rdata.parse(type_, spelling, ORIGIN) == (spelling, packed)


@given(strings=st.lists(st.binary(max_size=255), min_size=1, max_size=4))
def test_a_text_of_any_octets_comes_back(strings: list[bytes]) -> None:
    text = " ".join('"' + "".join(f"\\{octet:03}" for octet in string) + '"' for string in strings)
    if len(text) > rdata.LONGEST_TEXT:
        return
    spelling, packed = rdata.parse("TXT", text, ORIGIN)
    assert packed == b"".join(bytes((len(string),)) + string for string in strings)
    assert rdata.parse("TXT", spelling, ORIGIN) == (spelling, packed)


@given(number=st.integers(0, 65535), packed=st.binary(max_size=40))
def test_any_octets_of_any_type_have_a_text(number: int, packed: bytes) -> None:
    try:
        assert rdata.text(number, packed).isprintable()
    except InvalidValue:
        assert number in (2, 5, 12), "what is no name"


@pytest.mark.parametrize(
    ("type_", "text", "names"),
    [
        ("A", "10.0.0.1", ()), ("TXT", "x", ()), ("NS", "a", ("a.example.com.",)), ("MX", "1 a", ("a.example.com.",)),
        ("SRV", "1 2 3 a", ("a.example.com.",)), ("MX", "0 .", ()), ("SVCB", "1 a port=1", ("a.example.com.",)),
        ("HTTPS", "1 .", ()), ("CNAME", "_a.b", ("_a.b.example.com.",)), ("PTR", "a", ("a.example.com.",)),
    ],
)  # fmt: skip
def test_what_data_leads_to(type_: RecordType, text: str, names: Any) -> None:
    assert rdata.targets(TYPES[type_], rdata.parse(type_, text, ORIGIN)[1]) == names
