"""Messages between the processes of one node: a length of four bytes, then msgpack.

Both ends are of one release (the supervisor starts them), so nothing here is
versioned. No frame is longer than `LONGEST`, in either direction.
"""

from collections.abc import Iterator
from typing import Union

import msgspec

from tenure.errors import InvalidValue, StoreUnavailable, TenureError, error_classes
from tenure.model.answers import Failure, Reply
from tenure.model.uses import Submission
from tenure.service.feed import Committed

LONGEST = 64 * 1024 * 1024
"""Bytes of one frame at most: an import of 10,000 objects takes a tenth of it."""

_PREFIX = 4
_ERRORS = error_classes()


class FrameError(Exception):
    """The other end sent what is no frame of ours: the connection is of no use any more."""


class _Frame(msgspec.Struct, array_like=True, tag=True):
    pass


class Hello(_Frame):
    """The ledger's process takes uses on this connection from now on."""


class Ask(_Frame):
    """Uses to submit together."""

    number: int
    submissions: tuple[Submission, ...]


class Told(_Frame):
    """The replies to the `Ask` of this number, in its order."""

    number: int
    replies: tuple[Reply, ...]


class Refused(_Frame):
    """The `Ask` of this number was refused as a whole."""

    number: int
    failure: Failure


class Figures(_Frame):
    """A process's counters as they are now, by name; sent by each process once a second.

    `notes`: Sentences about what should be known and keeps nobody from working.
    """

    role: str
    figures: dict[str, float]
    notes: tuple[str, ...] = ()


class AskHealth(_Frame):
    """Say how this node is."""

    number: int


class Health(_Frame):
    """How this node is.

    Attributes:
        reasons: Why it should not be asked now; empty if all is well.
        figures: The counters of all processes, by role, at most a second old.
        notes: What its processes say should be known.
    """

    number: int
    reasons: tuple[str, ...]
    figures: dict[str, dict[str, float]]
    notes: tuple[str, ...] = ()


class Follow(_Frame):
    """A view holds everything up to `epoch:sequence` and wants what comes after; empty: what comes from now."""

    name: str
    position: str


class Following(_Frame):
    """The view is served from now on; it has caught up when it holds `position`. `pid` is the ledger's process."""

    position: str
    pid: int


class StartOver(_Frame):
    """What the view lacks is not in memory any more, or of another epoch: load, and follow again."""


class Push(_Frame):
    """One transaction of the ledger."""

    committed: Committed


class Ack(_Frame):
    """The view answers with everything up to `sequence`."""

    sequence: int


Frame = Union[  # noqa: UP007 (as for events)
    Hello, Ask, Told, Refused, Figures, AskHealth, Health, Follow, Following, StartOver, Push, Ack
]

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Frame)


def pack(frame: Frame) -> bytes:
    """Encode a frame with its length.

    Raises:
        InvalidValue: It is too long or too deep, or holds text or a number that no frame can carry.
    """
    try:
        body = _encoder.encode(frame)
    except (UnicodeEncodeError, OverflowError, RecursionError) as error:
        raise InvalidValue(f"A value cannot be encoded: {error}.") from None
    if len(body) > LONGEST:
        raise InvalidValue(f"The request takes {len(body)} bytes; at most {LONGEST} can be sent at once.")
    return len(body).to_bytes(_PREFIX) + body


class Unpacker:
    """Bytes in, frames out, however the bytes were cut."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Take in `data` and yield each frame that is whole now.

        Raises:
            FrameError: A frame is too long or malformed.
        """
        buffer = self._buffer
        buffer += data
        at = 0
        while len(buffer) - at >= _PREFIX:
            length = int.from_bytes(buffer[at : at + _PREFIX])
            if length > LONGEST:
                raise FrameError(f"a frame of {length} bytes")
            end = at + _PREFIX + length
            if len(buffer) < end:
                break
            yield _decoded(bytes(buffer[at + _PREFIX : end]))
            at = end
        del buffer[:at]


def _decoded(body: bytes) -> Frame:
    try:
        frame: Frame = _decoder.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise FrameError(str(error)) from None
    return frame


def failure_of(error: TenureError) -> Failure:
    """An error as a value that travels."""
    return Failure(error.code, error.message, error.facts)


def error_of(failure: Failure) -> TenureError:
    """The error that `failure_of` made a value of; one of an unknown code is the store's trouble."""
    return _ERRORS.get(failure.code, StoreUnavailable)(failure.message, **failure.facts)
