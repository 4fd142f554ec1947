"""Messages signed with shared keys (RFC 8945): who asks is known, and nothing was altered on the way.

The octets are taken as they came and signed as they go: nothing is parsed and written anew.
"""

import hmac
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from tenure.surfaces.dns import wire
from tenure.surfaces.dns.wire import WireError

FUDGE: Final = 300
"""Seconds that clocks may differ."""

BADSIG, BADKEY, BADTIME, BADTRUNC = 16, 17, 18, 22

KIND: Final = b"\x00\xfa"
"""The type of a TSIG record: in every message with one, whatever its class, and hardly ever in another."""

_ALGORITHMS: Final = {b"\x0bhmac-sha256\0": "sha256", b"\x0bhmac-sha512\0": "sha512"}
_FIXED: Final = struct.Struct(">HHIH")
_TSIG, _ANY_CLASS = 250, 255
_AFTER_NAMES: Final = struct.Struct(">6sHH")
_ENDING: Final = struct.Struct(">HHH")
_COUNTS: Final = struct.Struct(">4H")
_SHORTEST: Final = 10
_NAME_POINTER: Final = 0xC0
_NO_CLASS: Final = b"\x00\xff\x00\x00\x00\x00"

Clock = Callable[[], float]
"""Seconds since 1970."""


class Key(NamedTuple):
    """A shared key.

    Attributes:
        id: The key's id in the ledger; `vrf` whose zones its holders see, None: those of the listener asked.
        name, algorithm: Wire form, lower case.
    """

    id: str
    name: bytes
    algorithm: bytes
    secret: bytes
    vrf: str | None = None

    def mac(self, parts: Iterable[bytes]) -> bytes:
        """The code over these octets."""
        return hmac.digest(self.secret, b"".join(parts), _ALGORITHMS[self.algorithm])

    @property
    def room(self) -> int:
        """Octets that a signature takes in a message."""
        code = 32 if _ALGORITHMS[self.algorithm] == "sha256" else 64
        return len(self.name) + _FIXED.size + len(self.algorithm) + _AFTER_NAMES.size + code + _ENDING.size


def algorithm(name: str) -> bytes:
    """Wire form of an algorithm's name, as `hmac-sha256`."""
    return bytes((len(name),)) + name.encode("ascii") + b"\0"


class Stamp(NamedTuple):
    """What a TSIG record says beside its code and the message's id.

    Attributes:
        name, algorithm: Wire form, lower case.
        time: Six octets, as is.
    """

    name: bytes
    algorithm: bytes
    time: bytes
    fudge: int = FUDGE
    error: int = 0
    other: bytes = b""

    def variables(self) -> bytes:
        """What is signed beside the message. Source: RFC 8945 section 4.3.3."""
        ending = _ENDING.pack(self.fudge, self.error, len(self.other))
        return b"".join((self.name, _NO_CLASS, self.algorithm, self.time, ending, self.other))

    def put(self, message: bytes, code: bytes) -> bytes:
        """The message with this as its last record."""
        rdata = b"".join(
            (
                self.algorithm,
                _AFTER_NAMES.pack(self.time, self.fudge, len(code)),
                code,
                message[:2],
                struct.pack(">HH", self.error, len(self.other)),
                self.other,
            )
        )
        count = (int.from_bytes(message[10:12]) + 1).to_bytes(2)
        fixed = _FIXED.pack(_TSIG, _ANY_CLASS, 0, len(rdata))
        return b"".join((message[:10], count, message[12:], self.name, fixed, rdata))


class Signature(NamedTuple):
    """A TSIG record as it came, and the message without it.

    Attributes:
        original: The id that the message was signed with.
        message: With the id that it came with.
    """

    stamp: Stamp
    mac: bytes
    original: bytes
    message: bytes

    @property
    def signed(self) -> bytes:
        """The message that was signed."""
        return self.original + self.message[2:]


def maybe(message: bytes) -> bool:
    """Whether a message may be signed: one that is, is never said not to be. Cost: 0.1 µs."""
    return KIND in message


def found(message: bytes) -> Signature | None:
    """The signature of a message; None if it has none.

    Raises:
        WireError: The message is malformed, or its TSIG is, or is not the last of its records, or not the only one.
    """
    counts = _COUNTS.unpack_from(message, 4)
    at = wire.HEADER
    for _ in range(counts[0]):
        at = wire.end_of_name(message, at, pointers=True) + 4
    last = sum(counts[1:]) - 1
    for place in range(last + 1):
        fixed = wire.end_of_name(message, at, pointers=True)
        if fixed + _FIXED.size > len(message):
            raise WireError("a record is cut")
        kind, class_, ttl, length = _FIXED.unpack_from(message, fixed)
        if kind == _TSIG:
            if place != last or not counts[3] or class_ != _ANY_CLASS or ttl:
                raise WireError("a TSIG that may not be here")
            return _read(message, at, fixed + _FIXED.size, length)
        at = fixed + _FIXED.size + length
    return None


def _read(message: bytes, start: int, at: int, length: int) -> Signature:
    """The record from `start` on, whose rdata begins at `at`."""
    try:
        after = wire.end_of_name(message, at, pointers=False)
        time, fudge, size = _AFTER_NAMES.unpack_from(message, after)
        end = after + _AFTER_NAMES.size + size
        original, error, more = _ENDING.unpack_from(message, end)
    except struct.error:
        raise WireError("a TSIG is cut") from None
    other = end + _ENDING.size
    if other + more != len(message) or other + more != at + length:
        raise WireError("a TSIG is cut, or octets are left over")
    code, name = message[after + _AFTER_NAMES.size : end], _expanded(message, start)
    bare = message[:10] + (int.from_bytes(message[10:12]) - 1).to_bytes(2) + message[12:start]
    stamp = Stamp(name, message[at:after].lower(), time, fudge, error, message[other:])
    return Signature(stamp, code, original.to_bytes(2), bare)


def _expanded(message: bytes, at: int) -> bytes:
    """The name at `at` in lower case, its pointers followed; each has to lead backwards, so none can loop."""
    labels, before = b"", at
    while length := message[at]:
        if length < _NAME_POINTER:
            labels += message[at : at + length + 1]
            at += length + 1
            if len(labels) >= wire.LONGEST_NAME:
                raise WireError("a name is too long")
            continue
        at = int.from_bytes(message[at : at + 2]) & 0x3FFF
        if not wire.HEADER <= at < before:
            raise WireError("a pointer leads nowhere")
        before = at
        wire.end_of_name(message, at, pointers=True)
    return (labels + b"\0").lower()


class Refusal(NamedTuple):
    """Why a signature is not accepted: the TSIG error, and the key to sign that answer with, if any.

    Error 0: the message is malformed (FORMERR).
    """

    error: int
    key: Key | None = None


def verify(signature: Signature, keys: Mapping[bytes, Key], now: float, asked: bytes = b"") -> Key | Refusal:
    """Whose signature it is, if it is good; in the order of RFC 8945 section 5.2: key, code, time, length.

    Args:
        asked: The code of the request that this answers.
    """
    stamp = signature.stamp
    key = keys.get(stamp.name)
    if key is None or key.algorithm != stamp.algorithm:
        return Refusal(BADKEY)
    before = _counted(asked) if asked else b""
    code = key.mac((before, signature.signed, stamp.variables()))
    if len(signature.mac) > len(code) or len(signature.mac) < max(_SHORTEST, len(code) // 2):
        return Refusal(0)
    if not hmac.compare_digest(code[: len(signature.mac)], signature.mac):
        return Refusal(BADSIG)
    if abs(now - int.from_bytes(stamp.time)) > min(stamp.fudge, FUDGE):
        return Refusal(BADTIME, key)
    return Refusal(BADTRUNC, key) if len(signature.mac) < len(code) else key


def refused(reply: bytes, signature: Signature, refusal: Refusal, now: float) -> bytes:
    """`reply` with the record that says why a request was refused. Source: RFC 8945 sections 5.2 and 5.3.2."""
    key, error, asked = refusal.key, refusal.error, signature.stamp
    other = int(now).to_bytes(6) if error == BADTIME else b""
    stamp = Stamp(asked.name, asked.algorithm, asked.time, FUDGE, error, other)
    code = b"" if key is None else key.mac((_counted(signature.mac), reply, stamp.variables()))
    return stamp.put(reply, code)


class Signer:
    """Signs what answers one request, message after message (RFC 8945 section 5.3), or a request.

    Args:
        key: Whose signature the request had.
        asked: The request's code; nothing for a request.
        clock: Read for each message.

    Attributes:
        mac: The code of the latest message.
    """

    def __init__(self, key: Key, asked: bytes, clock: Clock) -> None:
        self.mac = asked
        self._key = key
        self._clock = clock
        self._first = True

    def sign(self, message: bytes) -> bytes:
        """The message with its signature at its end. Cost: about 3 µs, and what the hash takes."""
        key, time = self._key, int(self._clock()).to_bytes(6)
        stamp = Stamp(key.name, key.algorithm, time)
        timers = stamp.variables() if self._first else time + FUDGE.to_bytes(2)
        self._first = False
        self.mac = key.mac((_counted(self.mac) if self.mac else b"", message, timers))
        return stamp.put(message, self.mac)

    def signed(self, messages: Iterable[bytes]) -> Iterator[bytes]:
        """Sign each."""
        return map(self.sign, messages)


def _counted(code: bytes) -> bytes:
    return len(code).to_bytes(2) + code
