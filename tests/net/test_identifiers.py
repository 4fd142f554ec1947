"""tenure.net.identifiers: many spellings outside, one inside."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.errors import InvalidValue
from tenure.net.identifiers import (
    duration,
    looks_like_mac,
    mac_text,
    parse_duid,
    parse_mac,
)

interface_macs = st.binary(min_size=6, max_size=6).filter(lambda octets: any(octets) and not octets[0] & 1)


@given(interface_macs, st.booleans())
def test_every_spelling_of_a_mac_is_one_identity(octets: bytes, upper: bool) -> None:
    """phpipam 527: colons, dashes, dots, bare, any case."""
    bare = octets.hex()
    spellings = [octets.hex(":"), octets.hex("-"), bare, octets.hex(".", 2), octets.hex("-", 2), octets.hex("-", 3)]
    spellings.append(":".join(f"{octet:x}" for octet in octets))
    for spelling in spellings:
        text = spelling.upper() if upper else spelling
        assert looks_like_mac(text)
        assert parse_mac(text) == octets.hex(":") == mac_text(octets)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("00:00:00:00:00:00", "all zero"),
        ("ff:ff:ff:ff:ff:ff", "broadcast"),
        ("01:00:5e:00:00:01", "multicast"),
        ("3333.0000.0001", "multicast"),
        ("52:54:00:0a:0b", "six octets"),
        ("52:54:00:0a:0b:0c:0d:0e", "six octets"),
        ("52:54-00:0a:0b:0c", "six octets"),
        ("5254.000a-0b0c", "six octets"),
        ("52:54:00:0a:0b:0g", "six octets"),
        ("52:54:00:0a:0b:0c\n", "six octets"),
        ("52:54:00:0a:0b:0٢", "six octets"),
        ("52540:00a0b0c", "six octets"),
        ("", "six octets"),
        ("\0", "six octets"),
    ],
)
def test_refused_macs(text: str, says: str) -> None:
    with pytest.raises(InvalidValue, match=says) as caught:
        parse_mac(text, "/mac")
    assert caught.value.facts == {"pointer": "/mac", "value": text}


@given(st.binary(min_size=3, max_size=130))
def test_every_spelling_of_a_duid_is_one(octets: bytes) -> None:
    for text in (octets.hex(), octets.hex(":"), octets.hex("-"), octets.hex(":").upper()):
        assert parse_duid(text) == octets.hex(":")


@pytest.mark.parametrize("text", ["", "00", "0003", "000", "00:01-02", "00:1:2", "zz:00:01", "00 01 02", "00" * 131])
def test_refused_duids(text: str) -> None:
    """RFC 8415 section 11.1: two octets of type and 1 to 128 more."""
    with pytest.raises(InvalidValue):
        parse_duid(text, "/duid")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("300", 300), ("0", 0), ("45s", 45), ("5m", 300), ("12h", 43200), ("7d", 604800), ("2w", 1209600)],
)
def test_durations(text: str, seconds: int) -> None:
    assert duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "m", "-5m", "1.5h", "5 m", "5M", "1h30m", "2147483648", "99999d", "9" * 99, "٣"])
def test_refused_durations(text: str) -> None:
    with pytest.raises(InvalidValue):
        duration(text, "/lease_time")


@given(st.text(max_size=20))
def test_any_text_is_read_or_refused(text: str) -> None:
    for parse in (parse_mac, parse_duid):
        try:
            once = parse(text)
        except InvalidValue:
            continue
        assert parse(once) == once
