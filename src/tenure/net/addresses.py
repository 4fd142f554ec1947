"""IP addresses and prefixes: one canonical form each, and the integers behind them.

Between rooms they are `ipaddress` objects; inside the engine they are a
version (4 or 6) and an integer.
"""

import re
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final

from tenure.net.refusal import refusal

Address = IPv4Address | IPv6Address
Prefix = IPv4Network | IPv6Network

_WIDTHS: Final = {4: 32, 6: 128}
_LENGTH: Final = re.compile(r"0|[1-9][0-9]{0,2}")
_LONGEST_TEXT: Final = 64  # no spelling of an address or prefix is longer


def parse_address(text: str, pointer: str = "") -> Address:
    """Read one address; every spelling of an IPv6 address gives the same value.

    Args:
        text: `10.0.0.5` or `2001:db8::5`, with nothing around it.
        pointer: JSON pointer of the field, for the error.

    Raises:
        InvalidValue: Not an address; an IPv4 octet with a leading zero (octal to some programs); a
            zone id (`%eth0`), which means something on one host only; an IPv4-mapped IPv6 address,
            which is a second spelling of an IPv4 address.

    Source: RFC 4291 section 2.2; RFC 6943 section 3.1.1 on octal octets.
    """
    if "%" in text:
        raise refusal(text, "has a zone id, which only one host understands; leave it out", pointer)
    try:
        address: Address = (IPv6Address if ":" in text else IPv4Address)(text[: _LONGEST_TEXT + 1])
    except AddressValueError:
        raise refusal(text, _what_is_wrong(text), pointer) from None
    if address.version == 6 and address.ipv4_mapped is not None:
        raise refusal(text, f"is IPv4-mapped; write {address.ipv4_mapped}", pointer)
    return address


def parse_prefix(text: str, pointer: str = "") -> Prefix:
    """Read one prefix, as `10.0.0.0/24` or `2001:db8::/64`.

    A prefix is refused, never rounded.

    Raises:
        InvalidValue: As for `parse_address`; without a length, or with a netmask in its place; a length
            out of bounds; host bits set, naming the prefix that was probably meant.
    """
    base, slash, length = text.partition("/")
    if not slash:
        raise refusal(text, "has no prefix length; write it as 10.0.0.0/24 or 2001:db8::/64", pointer)
    address = parse_address(base, pointer)
    if not _LENGTH.fullmatch(length) or int(length) > address.max_prefixlen:
        raise refusal(text, f"needs a length of 0 to {address.max_prefixlen} after its slash", pointer)
    right = _network_around(address, int(length))
    if right.network_address != address:
        raise refusal(text, f"has host bits set; the subnet is {right}", pointer)
    return right


def width(version: int) -> int:
    """Bits of an address: 32 or 128."""
    return _WIDTHS[version]


def version_of(text: str) -> int:
    """4 or 6: the version of a canonical text, which is trusted to be one."""
    return 6 if ":" in text else 4


def address_of(version: int, number: int) -> Address:
    """The address with this number."""
    return IPv4Address(number) if version == 4 else IPv6Address(number)


def text_of(version: int, number: int) -> str:
    """The canonical text of the address with this number. Cost: under 1 µs for IPv4."""
    if version == 4:
        return f"{number >> 24}.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    return str(IPv6Address(number))


def number_of(text: str) -> int:
    """The number behind a canonical text, which is trusted to be one. Cost: under 1 µs for IPv4."""
    if ":" in text:
        return int(IPv6Address(text))
    a, b, c, d = text.split(".")
    return int(a) << 24 | int(b) << 16 | int(c) << 8 | int(d)


def prefix_of(version: int, first: int, length: int) -> Prefix:
    """The prefix that begins at `first`.

    Raises:
        InvalidValue: `first` has host bits set.
    """
    around = _network_around(address_of(version, first), length)
    if int(around.network_address) != first:
        raise refusal(f"{address_of(version, first)}/{length}", f"has host bits set; the subnet is {around}")
    return around


def prefix_text(version: int, first: int, length: int) -> str:
    """The prefix in text; `first` is taken as it is."""
    return f"{text_of(version, first)}/{length}"


def first_and_length(prefix: str) -> tuple[int, int]:
    """First address and length of a canonical prefix, unchecked."""
    base, _, length = prefix.partition("/")
    return number_of(base), int(length)


def covering(version: int, first: int, last: int) -> list[tuple[int, int]]:
    """The fewest prefixes that hold `first` to `last`, both included, and nothing else.

    Returns:
        (first, length) of each, in order; at most 2 * width - 2 of them; none if `last` < `first`.
    """
    bits = width(version)
    found = []
    while first <= last:
        aligned = (first & -first).bit_length() - 1 if first else bits
        host_bits = min(aligned, (last - first + 1).bit_length() - 1)
        found.append((first, bits - host_bits))
        first += 1 << host_bits
    return found


def _network_around(address: Address, length: int) -> Prefix:
    if isinstance(address, IPv4Address):
        return IPv4Network((address, length), strict=False)
    return IPv6Network((address, length), strict=False)


def _what_is_wrong(text: str) -> str:
    octets = text.split(".", 4)
    if len(octets) == 4 and any(len(o) > 1 and o[0] == "0" and o.isdecimal() for o in octets):
        return "has an octet with a leading zero, which some programs read as octal; leave the zero out"
    if "/" in text:
        return "has a prefix length; an address stands alone"
    return "is not an IPv4 or IPv6 address"
