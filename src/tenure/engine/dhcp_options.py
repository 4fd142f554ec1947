"""A site's DHCP options, from what people write to what the wire carries (RFC 2132 and the IANA registry)."""

from collections.abc import Callable, Mapping, Sequence
from ipaddress import IPv4Address
from typing import Any

from tenure.errors import InvalidValue
from tenure.net.addresses import parse_address

_LONGEST = 1024
_MTU = 26
_SHORTEST_MTU = 68  # RFC 2132, 5.1


def _addresses(value: Any) -> bytes:
    texts = value if isinstance(value, list) else [value]
    found = [parse_address(str(text)) for text in texts]
    if not found or not all(isinstance(a, IPv4Address) for a in found):
        raise InvalidValue("it takes IPv4 addresses")
    return b"".join(a.packed for a in found)


def _text(value: Any) -> bytes:
    if not isinstance(value, str) or not value or not value.isascii() or "\0" in value:
        raise InvalidValue("it takes ASCII text")
    return value.encode()


def _number(octets: int, least: int = 0) -> Callable[[Any], bytes]:
    def encode(value: Any) -> bytes:
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 10:
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value < 1 << 8 * octets:
            raise InvalidValue(f"it takes a number of {least} to {(1 << 8 * octets) - 1}")
        return value.to_bytes(octets, "big")

    return encode


OPTIONS: dict[str, tuple[int, Callable[[Any], bytes]]] = {
    "time_offset": (2, _number(4)),
    "log_servers": (7, _addresses),
    "mtu": (_MTU, _number(2, least=_SHORTEST_MTU)),
    "ntp_servers": (42, _addresses),
    "tftp_server_name": (66, _text),
    "boot_file_name": (67, _text),
    "captive_portal": (114, _text),
    "tftp_servers": (150, _addresses),
}
"""Names that a person may write, with code and form. Any other option goes by its number."""

_EXACT = {2: 4, _MTU: 2}
_OF_ADDRESSES = frozenset({7, 42, 150})
_OURS = frozenset({0, 1, 3, 6, 12, 15, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 61, 81, 82, 255})


def encoded(options: Mapping[str, str | int | Sequence[str]]) -> dict[int, bytes]:
    """Options by code, in wire form.

    Args:
        options: A name of `OPTIONS` with its value, or a number as text with `hex:…`.

    Raises:
        InvalidValue: An option is unknown, is Tenure's own to set, or has a value that does not fit it; fact `option`.
    """
    return dict(_encoded(name, value) for name, value in options.items())


def _encoded(name: str, value: Any) -> tuple[int, bytes]:
    try:
        if name in OPTIONS:
            code, form = OPTIONS[name]
            return code, form(value)
        code = _by_number(name)
        return code, _fitting(code, _hex(value))
    except InvalidValue as error:
        raise InvalidValue(
            f"DHCP option {name}: {error.message}", pointer=f"/dhcp/options/{name}", option=name
        ) from error


def _by_number(name: str) -> int:
    if not name.isascii() or not name.isdigit() or int(name) in _OURS or int(name) > 254:
        raise InvalidValue(f"is no option that can be set; the names are {', '.join(OPTIONS)}, or a number")
    return int(name)


def _fitting(code: int, octets: bytes) -> bytes:
    """Octets of an option whose form is known, if they have it."""
    if code in _EXACT and len(octets) != _EXACT[code]:
        raise InvalidValue(f"it takes {_EXACT[code]} octets")
    if code in _OF_ADDRESSES and len(octets) % 4:
        raise InvalidValue("it takes 4 octets for each address")
    if code == _MTU:
        _number(2, least=_SHORTEST_MTU)(int.from_bytes(octets))
    return octets


def _hex(value: Any) -> bytes:
    if not isinstance(value, str) or not value.startswith("hex:"):
        raise InvalidValue("an option by number takes hex:…")
    try:
        found = bytes.fromhex(value[4:])
    except ValueError as error:
        raise InvalidValue("that is not hexadecimal") from error
    if not 0 < len(found) <= _LONGEST:
        raise InvalidValue(f"it takes 1 to {_LONGEST} octets")
    return found
