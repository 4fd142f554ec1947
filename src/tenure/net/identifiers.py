"""Identifiers of clients, and durations as people write them: one spelling each once they are inside.

Octets are written as lower-case hexadecimal pairs with colons.
"""

import re
from datetime import timedelta
from typing import Final

from tenure.net.refusal import refusal

_MAC: Final = re.compile(
    r"[0-9a-f]{1,2}(?::[0-9a-f]{1,2}){5}"  # 52:54:00:a:b:c, as Linux, and BSD's arp without zeros
    r"|[0-9a-f]{2}(?:-[0-9a-f]{2}){5}"  # Windows
    r"|[0-9a-f]{4}([.:-])[0-9a-f]{4}\1[0-9a-f]{4}"  # Cisco with dots, Huawei with dashes
    r"|[0-9a-f]{6}[:-][0-9a-f]{6}"  # HP
    r"|[0-9a-f]{12}",
    re.IGNORECASE,
)
_OCTETS: Final = re.compile(r"(?:[0-9a-f]{2}([:-]))?(?:[0-9a-f]{2}\1)*[0-9a-f]{2}|(?:[0-9a-f]{2})+", re.IGNORECASE)
_DURATION: Final = re.compile(r"([0-9]{1,12})([smhdw]?)")
_SECONDS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_SHORTEST_DUID, _LONGEST_DUID = 3, 130
_LONGEST_DURATION: Final = 2**31 - 1


def looks_like_mac(text: str) -> bool:
    """Whether `text` is a spelling of six octets that `parse_mac` reads, whatever their value."""
    return _MAC.fullmatch(text) is not None


def parse_mac(text: str, pointer: str = "") -> str:
    """Read a MAC address in any usual spelling and case; give the one spelling.

    Args:
        text: `52:54:00:0a:0b:0c`, `52-54-00-0A-0B-0C`, `5254.000a.0b0c`, `5254000a0b0c` …
        pointer: JSON pointer of the field, for the error.

    Raises:
        InvalidValue: Not six octets; all zero; broadcast; multicast. No interface sends from
            these (bridges drop such a source), so each is a typing error.

    Source: IEEE 802-2014 section 8.2.
    """
    if not looks_like_mac(text):
        raise refusal(text, "is not a MAC address of six octets, as 52:54:00:0a:0b:0c", pointer)
    octets = _mac_octets(text)
    if not any(octets):
        raise refusal(text, "is all zero, which is no interface's MAC address", pointer)
    if octets[0] & 1:
        kind = "broadcast" if octets == b"\xff" * 6 else "multicast"
        raise refusal(text, f"is a {kind} address, which is no interface's MAC address", pointer)
    return octets.hex(":")


def mac_text(octets: bytes) -> str:
    """The one spelling of a MAC address, from its octets; every value is taken."""
    return octets.hex(":")


def parse_duid(text: str, pointer: str = "") -> str:
    """Read a DUID: its octets in hexadecimal with colons, dashes or nothing between; give the one spelling.

    Raises:
        InvalidValue: Not hexadecimal octets, or not 3 to 130 of them (two of type, 1 to 128 of identifier).

    Source: RFC 8415 section 11.1.
    """
    if len(text) > 3 * _LONGEST_DUID or not _OCTETS.fullmatch(text):
        raise refusal(text, "is not a DUID of 3 to 130 octets in hexadecimal, as 00:03:00:01", pointer)
    octets = bytes.fromhex(text.replace(":", "").replace("-", ""))
    if not _SHORTEST_DUID <= len(octets) <= _LONGEST_DUID:
        raise refusal(text, f"has {len(octets)} octets; a DUID has 3 to 130", pointer)
    return octets.hex(":")


def duration(text: str, pointer: str = "") -> timedelta:
    """Read a duration as people type it: `300`, `30s`, `5m`, `12h`, `7d`, `2w`; a bare number is seconds.

    Raises:
        InvalidValue: Another form, or longer than 2**31 - 1 seconds (68 years).
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise refusal(text, "is not a duration, as 300, 5m, 12h or 7d", pointer)
    seconds = int(match[1]) * _SECONDS[match[2]]
    if seconds > _LONGEST_DURATION:
        raise refusal(text, f"is longer than {_LONGEST_DURATION} seconds", pointer)
    return timedelta(seconds=seconds)


def _mac_octets(text: str) -> bytes:
    groups = re.split("[:.-]", text)
    digits = "".join(group.zfill(2) for group in groups)
    return bytes.fromhex(digits)
