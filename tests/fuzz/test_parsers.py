"""Whatever people type: a value whose own text means the same value, or InvalidValue."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import strategies as st

from tenure.errors import InvalidValue
from tenure.naming.hostnames import display, from_wire, parse_domain, parse_hostname, wire
from tenure.naming.reverse import parse_pointer, pointer_name, zone_span
from tenure.net.addresses import address_of, number_of, parse_address, parse_prefix, text_of
from tenure.net.identifiers import duration, looks_like_mac, parse_duid, parse_mac
from tests.fuzz.mutation import mutated, mutated_text
from tests.fuzz.rounds import Rounds

pytestmark = pytest.mark.fuzz

ADDRESSES = ["10.0.0.5", "255.255.255.255", "010.1.1.1", "2001:db8::5", "::", "::ffff:10.0.0.1", "fe80::1%eth0"]
ADDRESSES += ["2001:0DB8:0:0:0:0:192.0.2.1", "١.2.3.4"]
PREFIXES = ["10.0.0.0/24", "0.0.0.0/0", "2001:db8::/64", "::/0", "10.0.0.1/24", "10.0.0.0/255.0.0.0", "::1/128"]
OCTETS = ["52:54:00:0a:0b:0c", "52-54-00-0A-0B-0C", "5254.000a.0b0c", "5254-000a-0b0c", "5254000a0b0c", "2:4:0:a:b:c"]
OCTETS += ["00:03:00:01:52:54:00:0a:0b:0c", "ff" * 130, "01" * 255, "ff:ff:ff:ff:ff:ff", "525400-0a0b0c"]
NAMES = [
    "vm-1",
    "VM-1.Example.COM.",
    "straße.example",
    "xn--strae-oqa",
    "xn--a",
    "a.b",
    "10.0.0.1",
    "1.2.3",
    "Ꭰ.example",
]
NAMES += [".", "a..b", "-a", "a" * 63, "a." * 126 + "a", "é" * 60, "\u0130x", "ǰ", "\u2024", "a\u3002b", "ﬁ.example"]
DURATIONS = ["0", "300", "30s", "5m", "12h", "7d", "2w", "2147483647", "35791394m", "٣", "1e3", " 5m", "-1"]
WIRES = [wire(name) for name in ("vm-1.example.", "a\\.b.\\000.example.", "a." * 127, ".", "0." * 32 + "ip6.arpa.")]
POINTERS = ["17.2.0.192.in-addr.arpa.", "0-127.2.0.192.in-addr.arpa.", "1.0." * 16 + "ip6.arpa.", "in-addr.arpa."]


def _stable(text: str, parse: Callable[[str], Any], spelled: Callable[[Any], str] = str) -> Any:
    """The value of a text, if it has one: that of the value's own text."""
    try:
        value = parse(text)
    except InvalidValue as error:
        refusal = error.message
    else:
        assert parse(spelled(value)) == value
        return value
    assert refusal.isprintable() and len(refusal) < 2000
    return None


def _address(text: str) -> None:
    value = _stable(text, parse_address)
    if value is not None:
        assert text_of(value.version, int(value)) == str(value)
        assert number_of(str(value)) == int(value)
        assert parse_pointer(pointer_name(value.version, int(value))) == (value.version, int(value))


def _prefix(text: str) -> None:
    value = _stable(text, parse_prefix)
    assert value is None or value.network_address == address_of(value.version, int(value.network_address))


def _octets(text: str) -> None:
    mac = _stable(text, parse_mac)
    assert mac is None or (looks_like_mac(mac) and len(mac) == 17)
    _stable(text, parse_duid)


def _name(text: str) -> None:
    name = _stable(text, parse_hostname)
    if name is not None:
        assert name.isascii() and name == name.lower()
        assert parse_hostname(display(name)) == name
    domain = _stable(text, parse_domain)
    if domain is not None:
        assert from_wire(wire(domain)) == domain
    _stable(text, wire, from_wire)


def _duration(text: str) -> None:
    _stable(text, duration, lambda value: str(int(value.total_seconds())))


def _pointer(text: str) -> None:
    found = parse_pointer(text)
    assert found is None or parse_pointer(pointer_name(*found)) == found
    span = zone_span(text)
    assert span is None or span[1] <= span[2] < 1 << (32 if span[0] == 4 else 128)


def _wire_name(octets: bytes) -> None:
    try:
        text = from_wire(octets)
    except InvalidValue:
        return
    assert wire(text) == octets


CHECKS = [(_address, ADDRESSES), (_prefix, PREFIXES), (_octets, OCTETS), (_name, NAMES), (_duration, DURATIONS)]
CHECKS += [(_pointer, POINTERS)]


def test_parsers_of_text_are_stable_or_refuse(rounds: Rounds) -> None:
    typed = [st.tuples(st.just(check), mutated_text(corpus)) for check, corpus in CHECKS]
    rounds.feed(lambda example: example[0](example[1]), st.one_of(typed), number=200)


def test_parsers_of_wire_names_are_stable_or_refuse(rounds: Rounds) -> None:
    rounds.feed(_wire_name, mutated(WIRES), number=300)
