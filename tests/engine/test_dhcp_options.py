"""A site's DHCP options: what people write, and what is sent."""

import pytest

from tenure.engine.dhcp_options import encoded
from tenure.errors import InvalidValue


def test_numbers_may_be_text_as_the_command_sends_them() -> None:
    assert encoded({"mtu": "1400"}) == encoded({"mtu": 1400}) == {26: b"\x05\x78"}


def test_addresses_one_or_several() -> None:
    assert encoded({"ntp_servers": "10.0.0.1"}) == {42: bytes([10, 0, 0, 1])}
    assert encoded({"ntp_servers": ["10.0.0.1", "10.0.0.2"]}) == {42: bytes([10, 0, 0, 1, 10, 0, 0, 2])}


def test_any_other_option_goes_by_number_and_octets() -> None:
    assert encoded({"121": "hex:00 0a000001"}) == {121: bytes([0, 10, 0, 0, 1])}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mtu", "65536"),
        ("mtu", "67"),
        ("26", "hex:05"),
        ("26", "hex:000578"),
        ("26", "hex:0043"),
        ("2", "hex:0e10"),
        ("42", "hex:0a0000"),
        ("mtu", "١"),
        ("mtu", True),
        ("ntp_servers", "2001:db8::1"),
        ("captive_portal", "a\0b"),
        ("3", "hex:0a000001"),
        ("255", "hex:00"),
        ("200", "00"),
        ("200", "hex:"),
        ("200", "hex:0"),
        ("colour", "blue"),
    ],
)
def test_what_cannot_be_sent_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        encoded({name: value})
    assert refused.value.facts["pointer"] == f"/dhcp/options/{name}"
