"""DNS messages as bytes: what is asked, and how each kind of reply begins (RFC 1035, 6891)."""

import struct
from typing import Final, NamedTuple

HEADER: Final = 12
LONGEST_NAME: Final = 255
PLAIN_SIZE: Final = 512
EDNS_SIZE: Final = 1232
LONGEST_MESSAGE: Final = 65535

NOERROR, FORMERR, SERVFAIL, NXDOMAIN, NOTIMP, REFUSED = 0, 1, 2, 3, 4, 5
NOTAUTH: Final = 9
BADVERS: Final = 16

OPT, IXFR, AXFR, ANY = 41, 251, 252, 255
CLASS_IN: Final = 1
TRUNCATED: Final = 2

_COUNTS = struct.Struct(">4H")
_MORE = struct.Struct(">BB4H")
_FIXED = struct.Struct(">HHIH")
_OPT = struct.Struct(">BHHBBHH")
_DO = 0x8000


class WireError(Exception):
    """The message is malformed. `shown`: where its question ends, 0 if not even that could be read."""

    def __init__(self, reason: str, shown: int = 0) -> None:
        super().__init__(reason)
        self.shown = shown


class Edns(NamedTuple):
    """What an OPT record says: the most that the asker can take over UDP, version, and the DO bit."""

    size: int
    version: int
    wants_dnssec: bool


class Query(NamedTuple):
    """One question, read with care.

    Attributes:
        name: Wire form, lower case.
        kind, class_: Type and class asked, as numbers.
        end: Where the question ends in the message.
        edns: None if there was no OPT.
    """

    name: bytes
    kind: int
    class_: int
    end: int
    edns: Edns | None


def decode(message: bytes) -> Query:
    """Read a message that asks one question.

    Records other than OPT are walked over and not looked into.

    Args:
        message: At least a header long.

    Raises:
        WireError: Not one question, a malformed name, a record that does not fit, two OPT, or octets left over.
    """
    questions, answers, authorities, others = _COUNTS.unpack_from(message, 4)
    if questions != 1:
        raise WireError("not one question")
    name_end = end_of_name(message, HEADER, pointers=False)
    if len(message) < name_end + 4:
        raise WireError("the question is cut")
    kind, class_ = struct.unpack_from(">HH", message, name_end)
    end = name_end + 4
    try:
        edns = _edns(message, end, answers + authorities, others)
    except WireError as error:
        raise WireError(str(error), end) from None
    return Query(message[HEADER:name_end].lower(), kind, class_, end, edns)


def reply(query: bytes, rcode: int, end: int, edns: Edns | None = None, flags: int = 0) -> bytes:
    """Return a reply without records.

    Args:
        query: At least a header long; its id, opcode, RD and question are repeated.
        rcode: Up to 4095; over 15 only with `edns`.
        end: Where the question ends, 0 to leave it out.
        edns: What was asked with; an OPT is given back if there was one.
        flags: TRUNCATED, or 0.
    """
    more = _MORE.pack(0x80 | query[2] & 0x79 | flags, rcode & 15, 1 if end else 0, 0, 0, 1 if edns else 0)
    return query[:2] + more + query[HEADER : end or HEADER] + opt(edns, rcode)


def opt(edns: Edns | None, rcode: int = 0) -> bytes:
    """Return the OPT record of a reply to a query with `edns`: our size, version 0, the DO bit as it came."""
    if edns is None:
        return b""
    return _OPT.pack(0, OPT, EDNS_SIZE, rcode >> 4, 0, _DO if edns.wants_dnssec else 0, 0)


def end_of_name(message: bytes, at: int, *, pointers: bool) -> int:
    """Where the name at `at` ends. Pointers are not followed, so none can loop.

    Raises:
        WireError: It is malformed.
    """
    start = at
    while at < len(message) and at - start < LONGEST_NAME:
        length = message[at]
        if length == 0:
            return at + 1
        if length >= 0xC0 and pointers and at + 2 <= len(message):
            return at + 2
        if length > 63:
            break
        at += length + 1
    raise WireError("a name is malformed")


def _edns(message: bytes, at: int, skipped: int, others: int) -> Edns | None:
    found = None
    for place in range(skipped + others):
        fixed = end_of_name(message, at, pointers=True)
        if fixed + _FIXED.size > len(message):
            raise WireError("a record is cut")
        kind, size, flags, length = _FIXED.unpack_from(message, fixed)
        if kind == OPT:
            if found or place < skipped or message[at]:
                raise WireError("an OPT that may not be here")
            found = Edns(size, flags >> 16 & 255, bool(flags & _DO))
        at = fixed + _FIXED.size + length
    if at != len(message):
        raise WireError("a record is cut, or octets are left over")
    return found
