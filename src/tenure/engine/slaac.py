"""The address that an interface makes for itself, of its MAC (EUI-64)."""

from typing import Final

EUI64_LENGTH: Final = 64
"""Length of the subnets in which interfaces do that."""

_UNIVERSAL: Final = 1 << 57


def eui64(mac: str) -> int:
    """The lower half of the IPv6 address that an interface makes of its MAC (`52:54:00:0a:0b:0c`).

    The MAC is split, `ff:fe` put in between, and the universal/local bit turned.

    Source: RFC 4291 appendix A; RFC 4862 section 5.5.3.
    """
    number = int(mac.replace(":", ""), 16)
    return (number >> 24 << 40 | 0xFFFE << 24 | number & 0xFFFFFF) ^ _UNIVERSAL
