"""Reverse names: the pointer name of each address, and the zones that hold a prefix's.

Zones are cut at whole labels: octets for IPv4, nibbles for IPv6. A prefix between two cuts
has several zones; one below the last cut lives in a zone that it may share with others, or in a
classless one of its own, into which the octet's zone points with a CNAME for each address (RFC 2317):

    10.0.0.0/23       →  0.0.10.in-addr.arpa.  1.0.10.in-addr.arpa.
    192.0.2.64/26     →  2.0.192.in-addr.arpa. or 64-26.2.0.192.in-addr.arpa.
    2001:db8::/62     →  the four /64 under it

Source: RFC 1035 section 3.5; RFC 2317 section 4; RFC 3596 section 2.5.
"""

import re
from functools import lru_cache
from typing import Final

from tenure.net.addresses import Prefix, width

_SUFFIXES: Final = {4: "in-addr.arpa.", 6: "ip6.arpa."}
_STEPS: Final = {4: 8, 6: 4}
_NIBBLES: Final = {digit: value for value, digit in enumerate("0123456789abcdef")}
_OCTETS: Final = {str(value): value for value in range(256)}
_PRIVATE: Final = (
    (0x0A000000, 8), (0x64400000, 10), (0xA9FE0000, 16), (0xAC100000, 12), (0xC0A80000, 16)
)  # fmt: skip
_CLASSLESS: Final = re.compile(r"(0|[1-9][0-9]{0,2})-(2[5-9]|3[0-2])\.((?:[0-9]{1,3}\.){3}in-addr\.arpa\.)")


def pointer_name(version: int, number: int) -> str:
    """The name that an address's PTR record has: `5.0.0.10.in-addr.arpa.`"""
    if version == 4:
        return f"{number & 255}.{number >> 8 & 255}.{number >> 16 & 255}.{number >> 24}.in-addr.arpa."
    return ".".join(f"{number:032x}"[::-1]) + ".ip6.arpa."


def parse_pointer(name: str) -> tuple[int, int] | None:
    """The version and number of the address that has this pointer name, or None if no address has.

    Args:
        name: Absolute, in any case. A name above an address (a zone's) is no address's; nor is one
            with an octet written any other way (`05`, `256`).
    """
    name = name.lower()
    if name.endswith(".in-addr.arpa."):
        return _parsed(4, name.split(".")[:-3], _OCTETS)
    if name.endswith(".ip6.arpa."):
        return _parsed(6, name.split(".")[:-3], _NIBBLES)
    return None


def zone_span(name: str) -> tuple[int, int, int] | None:
    """What a reverse zone is of: version, first and last address; None for a name that is no such zone's.

    The inverse of the names that `zones_for`, `zone_at` and `classless_zone` give. Cost: 2 µs; a name that does not
    end as reverse zones do: 0.1 µs.
    """
    classless = classless_span(name)
    if classless is not None:
        return 4, *classless
    for version, suffix in _SUFFIXES.items():
        if name == suffix or name.endswith("." + suffix):
            labels = name[: -len(suffix)].split(".")[:-1]
            return _span(version, labels, _OCTETS if version == 4 else _NIBBLES)
    return None


def _span(version: int, labels: list[str], digits: dict[str, int]) -> tuple[int, int, int] | None:
    step = _STEPS[version]
    host_bits = width(version) - step * len(labels)
    if host_bits < 0 or not all(label in digits for label in labels):
        return None
    number = 0
    for label in reversed(labels):
        number = number << step | digits[label]
    first = number << host_bits
    return version, first, first + (1 << host_bits) - 1


def is_private(number: int) -> bool:
    """Whether an IPv4 address is one of those that nobody is delegated: no zone above can point into one of its own.

    Source: RFC 1918 section 3; RFC 6598 section 7 (shared); RFC 3927 section 2.1 (link-local).
    """
    return any(number >> (32 - length) == first >> (32 - length) for first, length in _PRIVATE)


def classless_zone(number: int, length: int) -> str:
    """The zone of its own that an IPv4 prefix longer than /24 has: `64-26.2.0.192.in-addr.arpa.`

    A form that no address label can collide with.

    Args:
        number: Of any address in the prefix. length: 25 to 32.

    Source: RFC 2317 section 4.
    """
    first = number >> (32 - length) << (32 - length)
    return f"{first & 255}-{length}.{zone_at(4, number, 24)[0]}"


@lru_cache(maxsize=4096)
def classless_span(name: str) -> tuple[int, int] | None:
    """First and last address of a zone that `classless_zone` names; None for any other name."""
    found = _CLASSLESS.fullmatch(name)
    if found is None:
        return None
    octet, size = _span(4, found[3].split(".")[:3], _OCTETS), 1 << (32 - int(found[2]))
    if octet is None or int(found[1]) > 255 or int(found[1]) % size:
        return None
    first = octet[1] + int(found[1])
    return first, first + size - 1


def pointer_owner(zone: str, version: int, number: int) -> str:
    """The owner that an address's PTR has in a reverse zone: the pointer name, or one label under a classless zone."""
    if version == 4 and classless_span(zone) is not None:
        return f"{number & 255}.{zone}"
    return pointer_name(version, number)


def owner_number(zone: str, owner: str) -> tuple[int, int] | None:
    """The version and number of the address that `pointer_owner` gave this owner in a zone; None if of none."""
    span = classless_span(zone)
    if span is None:
        return parse_pointer(owner)
    label = owner.removesuffix("." + zone)
    if label not in _OCTETS:
        return None
    number = span[0] & ~255 | _OCTETS[label]
    return (4, number) if span[0] <= number <= span[1] else None


def zone_at(version: int, number: int, length: int) -> tuple[str, int, int]:
    """The reverse zone of one address in a prefix of this length, as `zones_for` would name it.

    Returns:
        The zone's name, and the first and last address of the whole zone.

    Cost: about 1 µs; the other zones of the prefix are not looked at.
    """
    cut = zone_length(version, length)
    host_bits = width(version) - cut
    first = number >> host_bits << host_bits
    return _zone_name(version, first, cut), first, first + (1 << host_bits) - 1


def zones_for(prefix: Prefix) -> list[tuple[str, int, int]]:
    """The zones that together hold the pointer names of `prefix`, in the order of addresses.

    Returns:
        (name, first, last) of each, `first` and `last` being of the whole zone: it reaches beyond a prefix longer
        than the last cut (/24, /124). At most 128 zones for IPv4 and 8 for IPv6; prefixes that share a zone get
        the same triple. A prefix of length 0 has the zone `in-addr.arpa.` or `ip6.arpa.` itself.
    """
    version, length = prefix.version, prefix.prefixlen
    cut = zone_length(version, length)
    first = int(prefix.network_address)
    count = 1 << max(0, cut - length)
    size = 1 << (width(version) - cut)
    return [zone_at(version, first + at * size, length) for at in range(count)]


def zone_length(version: int, length: int) -> int:
    """The length of the zones of a prefix of this one: the next whole label, but always a label short of an address."""
    step = _STEPS[version]
    return min(-(-length // step) * step, width(version) - step)


def _zone_name(version: int, first: int, cut: int) -> str:
    step = _STEPS[version]
    labels = pointer_name(version, first).split(".")
    return ".".join(labels[(width(version) - cut) // step :])


def _parsed(version: int, labels: list[str], digits: dict[str, int]) -> tuple[int, int] | None:
    step = _STEPS[version]
    if len(labels) * step != width(version):
        return None
    number = 0
    for label in reversed(labels):
        if label not in digits:
            return None
        number = number << step | digits[label]
    return version, number
