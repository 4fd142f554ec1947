"""DHCPv4 messages: bytes to values and back (RFC 2131, 2132, 3046, 3396).

`decode` trusts nothing: what it returns has lengths that are true, known
fixed-length options of their right length, and relay information that can
be read. `encode` makes a message that fits, and that every client can read:
options whole where possible, in the `file` and `sname` fields when the
options field is full, each once, relay information last.
"""

import struct
from collections.abc import Iterable

from msgspec import Struct

REQUEST, REPLY = 1, 2
BROADCAST = 0x8000
COOKIE = 0x63825363

DISCOVER, OFFER, COMMIT, DECLINE, ACK, NAK, RELEASE, INFORM = range(1, 9)
"""Message types (option 53). DHCPREQUEST is called `COMMIT` here: `REQUEST` is the direction."""

LONGEST = 8192
"""Longest datagram that is read, in octets: more is a flood, not a client."""
SHORTEST = 300
"""Shortest message that is sent: RFC 1542 section 2.1, and relays that insist on it."""

PAD, OVERLOAD, RELAY, END = 0, 52, 82, 255
FILE_BIT, SNAME_BIT = 1, 2

_HEADER = struct.Struct("!4BI2H4I16s64s128sI")
_HEAD_SIZE = _HEADER.size
_FIXED = {50: 4, 51: 4, 53: 1, 54: 4, 57: 2, 58: 4, 59: 4, 116: 1, 118: 4}
_FIXED_CODES = _FIXED.keys()
_FIXED_SUBOPTIONS = {5: 4, 10: 1, 11: 4, 19: 0}

TLV = tuple[int, bytes]


class WireError(Exception):
    """A datagram that is no DHCPv4 message (`malformed`), or one of a kind that is not served."""


class Message(Struct, frozen=True):
    """One DHCPv4 message; addresses are integers, absent ones 0.

    `chaddr` has `hlen` octets; `sname` and `file` end before their first NUL;
    `options` holds each option once, split ones joined (RFC 3396), without
    pad, end and overload, in the order in which they go out.
    """

    op: int
    htype: int
    hlen: int
    hops: int
    xid: int
    secs: int
    flags: int
    ciaddr: int
    yiaddr: int
    siaddr: int
    giaddr: int
    chaddr: bytes
    sname: bytes
    file: bytes
    options: dict[int, bytes]


def decode(datagram: bytes) -> Message:
    """Read one datagram.

    Raises:
        WireError: Too short or long, no magic cookie, an `op` or `hlen` that cannot be, an option
            whose length lies, a fixed-length option of another length, unreadable relay information.

    Cost: about 5 µs; linear in the datagram's length.
    Source: RFC 2131 section 2 and 4.1, RFC 3396 section 7.
    """
    if not _HEAD_SIZE <= len(datagram) <= LONGEST:
        raise WireError(f"a message of {len(datagram)} octets")
    op, htype, hlen, hops, xid, secs, flags, ciaddr, yiaddr, siaddr, giaddr, chaddr, sname, file, cookie = (
        _HEADER.unpack_from(datagram)
    )
    if cookie != COOKIE:
        raise WireError("no magic cookie: plain BOOTP or something else")
    if op not in (REQUEST, REPLY) or hlen > 16:
        raise WireError(f"op {op} with a hardware address of {hlen} octets")
    options: dict[int, bytes] = {}
    _read_options(datagram, _HEAD_SIZE, options)
    overload = options.pop(OVERLOAD, None)
    if overload is not None:
        sname, file = _read_overloaded(overload, sname, file, options)
    _check(options)
    return Message(
        op,
        htype,
        hlen,
        hops,
        xid,
        secs,
        flags,
        ciaddr,
        yiaddr,
        siaddr,
        giaddr,
        chaddr[:hlen],
        sname.split(b"\0", 1)[0],
        file.split(b"\0", 1)[0],
        options,
    )


def _read_options(area: bytes, at: int, options: dict[int, bytes]) -> None:
    """Add the options of one field to `options`; a field may end without an end option."""
    size = len(area)
    while at < size:
        code = area[at]
        if code == PAD:
            at += 1
            continue
        if code == END:
            return
        if at + 1 >= size:
            raise WireError(f"option {code} has no length")
        start = at + 2
        at = start + area[at + 1]
        if at > size:
            raise WireError(f"option {code} is cut short")
        if code in options:
            options[code] += area[start:at]
        else:
            options[code] = area[start:at]


def _read_overloaded(overload: bytes, sname: bytes, file: bytes, options: dict[int, bytes]) -> tuple[bytes, bytes]:
    """Read options from the fields that `overload` names: first `file`, then `sname`; those are then empty."""
    if len(overload) != 1 or overload[0] not in (FILE_BIT, SNAME_BIT, FILE_BIT | SNAME_BIT):
        raise WireError("an overload option that names no field")
    if overload[0] & FILE_BIT:
        _read_options(file, 0, options)
        file = b""
    if overload[0] & SNAME_BIT:
        _read_options(sname, 0, options)
        sname = b""
    if OVERLOAD in options:
        raise WireError("an overload option in an overloaded field")
    return sname, file


def _check(options: dict[int, bytes]) -> None:
    for code in options.keys() & _FIXED_CODES:
        if len(options[code]) != _FIXED[code]:
            raise WireError(f"option {code} has {len(options[code])} octets")
    if RELAY in options:
        for code, value in suboptions(options[RELAY]).items():
            if len(value) != _FIXED_SUBOPTIONS.get(code, len(value)):
                raise WireError(f"relay sub-option {code} has {len(value)} octets")


def suboptions(information: bytes) -> dict[int, bytes]:
    """The sub-options of relay information (RFC 3046 section 2.0); they are flat, without pad or end.

    Raises:
        WireError: A sub-option's length lies.
    """
    found: dict[int, bytes] = {}
    at, size = 0, len(information)
    while at < size:
        if at + 1 >= size:
            raise WireError("a relay sub-option has no length")
        code, start = information[at], at + 2
        at = start + information[at + 1]
        if at > size:
            raise WireError(f"relay sub-option {code} is cut short")
        found[code] = found.get(code, b"") + information[start:at]
    return found


def encode(message: Message, maximum: int) -> bytes:
    """Write one message in at most `maximum` octets (without IP and UDP headers), at least 300.

    Options go out in the order of `message.options`, relay information last. When they do not
    all fit, `file` and `sname` are used if they are empty; what then finds no room is left out,
    later options first.

    Args:
        maximum: Room in octets; at least 300, typically 548 (RFC 2131 section 2).

    Raises:
        WireError: `sname`, `file` or `chaddr` is longer than its field.

    Cost: about 5 µs where nothing is overloaded.
    Source: RFC 2131 section 4.1, RFC 3396 section 5, RFC 3046 section 2.1.
    """
    if len(message.sname) > 64 or len(message.file) > 128 or len(message.chaddr) > 16:
        raise WireError("a field is longer than its place")
    room = max(maximum, SHORTEST) - _HEAD_SIZE
    options = _ordered(message.options)
    area = _join(options)
    if len(area) < room:
        return _pack(message, message.file, message.sname, area)
    return _overloaded(message, options, room)


def _ordered(options: dict[int, bytes]) -> Iterable[TLV]:
    """Relay information last (RFC 3046 section 2.1), all else as it stands."""
    if RELAY not in options:
        return options.items()
    last = (RELAY, options[RELAY])
    return [*(option for option in options.items() if option[0] != RELAY), last]


def _join(options: Iterable[TLV]) -> bytes:
    parts: list[bytes] = []
    for code, value in options:
        size = len(value)
        if size <= 255:
            parts += (bytes((code, size)), value)
        else:
            parts += _split(code, value)
    return b"".join(parts)


def _split(code: int, value: bytes) -> list[bytes]:
    """One option as pieces of at most 255 octets, each with its header (RFC 3396 section 5)."""
    pieces = [value[at : at + 255] for at in range(0, len(value), 255)] or [b""]
    return [bytes((code, len(piece))) + piece for piece in pieces]


def _pack(message: Message, file: bytes, sname: bytes, area: bytes) -> bytes:
    header = _HEADER.pack(
        message.op,
        message.htype,
        message.hlen,
        message.hops,
        message.xid,
        message.secs,
        message.flags,
        message.ciaddr,
        message.yiaddr,
        message.siaddr,
        message.giaddr,
        message.chaddr,
        sname,
        file,
        COOKIE,
    )
    return (header + area + b"\xff").ljust(SHORTEST, b"\0")


def _overloaded(message: Message, options: Iterable[TLV], room: int) -> bytes:
    """As `encode`, for options that are too long for the options field alone."""
    kept = list(options)
    while True:
        fields = [
            _Field(room - 3),
            _Field(0 if message.file else 128),
            _Field(0 if message.sname else 64),
        ]
        placed = _place(kept, fields)
        if len(placed) == len(kept):
            break
        kept = placed
        area = _join(kept)
        if len(area) < room:  # what is left needs no other field, so none is used
            return _pack(message, message.file, message.sname, area)
    bits = bytes((FILE_BIT * bool(fields[1].parts) | SNAME_BIT * bool(fields[2].parts),))
    area = bytes((OVERLOAD, 1)) + bits + b"".join(fields[0].parts)
    return _pack(message, fields[1].ended() or message.file, fields[2].ended() or message.sname, area)


class _Field:
    """One of the three fields that hold options, while it is filled; one octet is kept for its end."""

    def __init__(self, size: int) -> None:
        self.left = size - 1
        self.parts: list[bytes] = []

    def ended(self) -> bytes:
        return b"".join([*self.parts, b"\xff"]) if self.parts else b""


def _place(options: list[TLV], fields: list[_Field]) -> list[TLV]:
    """Put each option into the first field with room for it; returns those that were placed, in order.

    Relay information is placed first, in the options field, because relays look nowhere else;
    it still goes out last.
    """
    relay = [piece for code, value in options if code == RELAY for piece in _split(code, value)]
    relay_size = sum(map(len, relay))
    if relay_size > fields[0].left:
        return [option for option in options if option[0] != RELAY]
    fields[0].left -= relay_size
    placed = [option for option in options if option[0] == RELAY or _fill(_split(*option), fields)]
    fields[0].parts += relay
    return placed


def _fill(pieces: list[bytes], fields: list[_Field]) -> bool:
    """Put an option's pieces into `fields`, a later piece never before an earlier one; all or none."""
    room = [field.left for field in fields]
    chosen: list[int] = []
    at = 0
    for piece in pieces:
        while at < len(fields) and room[at] < len(piece):
            at += 1
        if at == len(fields):
            return False
        room[at] -= len(piece)
        chosen.append(at)
    for piece, index in zip(pieces, chosen, strict=True):
        fields[index].parts.append(piece)
        fields[index].left -= len(piece)
    return True
