"""Parameters of service bindings (SVCB and HTTPS records): those that every secondary reads, spelled as each does.

Servers know different mnemonics: a key that BIND 9.18 or NSD may not know is written by its number.
"""

import base64
import re
import struct
from collections.abc import Callable, Iterator
from typing import Final

from tenure.naming.hostnames import from_wire
from tenure.net.addresses import address_of

MOST_PARAMETERS: Final = 62
"""NSD takes 64 fields a record, and priority and target are two of them."""

_NAMES: Final = ("mandatory", "alpn", "no-default-alpn", "port", "ipv4hint", "ech", "ipv6hint")
_ALPN: Final = 1
_DOHPATH: Final = 7
_INVALID: Final = 65535

# RFC 6570 section 2: literals, and expressions of variables; of the operators, `#` makes no part of a path.
_LITERAL: Final = r"(?:[!$&()*+,./0-9:;=?@A-Z\[\]_a-z~\xa0-\U0010ffff-]|%[0-9A-Fa-f]{2})"
_VARIABLE: Final = r"(?:\w|%[0-9A-Fa-f]{2})(?:\.?(?:\w|%[0-9A-Fa-f]{2}))*(?:\*|:[1-9][0-9]{0,3})?"
_EXPRESSION: Final = rf"\{{[+./;?&]?{_VARIABLE}(?:,{_VARIABLE})*\}}"
_PATH: Final = re.compile(rf"/(?:{_LITERAL}|{_EXPRESSION})*", re.ASCII)
_ASKED: Final = re.compile(r"\{[+./;?&]?(?:[^{}]*,)?dns(?:\*|:[1-9][0-9]{0,3})?(?:,[^{}]*)?\}")


def fault(rdata: bytes) -> str | None:
    """Why secondaries would not take a well-formed service binding, or None.

    Args:
        rdata: In wire form, its parameters checked by RFC 9460 sections 2.2, 7 and 8.

    Cost: linear.
    Source: RFC 9460 section 14.3.2; RFC 9461 section 5.
    """
    found = dict(_parameters(rdata))
    if len(found) > MOST_PARAMETERS:
        return f"has at most {MOST_PARAMETERS} parameters"
    if _INVALID in found:
        return f"has no parameter key{_INVALID}: that is none"
    if _DOHPATH in found and not _is_dohpath(found[_DOHPATH]):
        return "has a dohpath (key7) that is a path in UTF-8 with the variable dns, such as /dns-query{?dns}"
    return None


def spelling(rdata: bytes) -> str:
    """The text of a well-formed service binding. Cost: linear; 10 µs for a usual one."""
    words = [str(int.from_bytes(rdata[:2])), from_wire(rdata[2 : _end_of_name(rdata)])]
    for key, value in _parameters(rdata):
        if key == _ALPN and _is_odd(value):
            words.append(f"key{key}{_quoted(value)}")
        else:
            words.append(_name(key) + _VALUES.get(key, _quoted)(value))
    return " ".join(words)


def _end_of_name(rdata: bytes) -> int:
    at = 2
    while rdata[at]:
        at += 1 + rdata[at]
    return at + 1


def _parameters(rdata: bytes) -> Iterator[tuple[int, bytes]]:
    at = _end_of_name(rdata)
    while at < len(rdata):
        key, length = struct.unpack_from("!HH", rdata, at)
        yield key, rdata[at + 4 : at + 4 + length]
        at += 4 + length


def _protocols(value: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(value):
        yield value[at + 1 : at + 1 + value[at]]
        at += 1 + value[at]


def _is_odd(value: bytes) -> bool:
    """Whether Knot would misread a list of protocols by name: RFC 9460 section 7.1.1 allows for what is escaped."""
    return any(len(name) == 1 or set(name) & set(b",\\") for name in _protocols(value))


def _is_dohpath(value: bytes) -> bool:
    try:
        path = value.decode()
    except UnicodeDecodeError:
        return False
    return _PATH.fullmatch(path) is not None and _ASKED.search(path) is not None


# Text


def _name(key: int) -> str:
    return _NAMES[key] if key < len(_NAMES) else f"key{key}"


def _quoted(value: bytes) -> str:
    """A value of any octets; PowerDNS takes no number without one, be it empty."""
    return f'="{_octets(value)}"'


def _octets(value: bytes) -> str:
    """As a character string has them, between quotes (RFC 1035 section 5.1)."""
    return "".join(map(_octet, value))


def _octet(value: int) -> str:
    if value in b'"\\;()':  # in quotes that begin within a word, PowerDNS takes the last three for its own
        return "\\" + chr(value)
    return chr(value) if 0x20 <= value < 0x7F else f"\\{value:03}"


def _keys(value: bytes) -> str:
    return "=" + ",".join(_name(key) for (key,) in struct.iter_unpack("!H", value))


def _list(value: bytes) -> str:
    return _quoted(b",".join(_protocols(value)))


def _none(value: bytes) -> str:
    return ""


def _port(value: bytes) -> str:
    return f"={int.from_bytes(value)}"  # PowerDNS reads none in quotes


def _encoded(value: bytes) -> str:
    return _quoted(base64.b64encode(value))


def _hints(version: int, size: int) -> Callable[[bytes], str]:
    def shown(value: bytes) -> str:
        each = (value[at : at + size] for at in range(0, len(value), size))
        return "=" + ",".join(str(address_of(version, int.from_bytes(one))) for one in each)

    return shown


_VALUES: Final[dict[int, Callable[[bytes], str]]] = {
    0: _keys,
    1: _list,
    2: _none,
    3: _port,
    4: _hints(4, 4),
    5: _encoded,
    6: _hints(6, 16),
}
