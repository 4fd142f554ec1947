"""One TCP connection: messages with their lengths in front, many in flight (RFC 7766)."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

_NOBODY: Final = "0.0.0.0"
_TURN: Final = 64
"""How many short answers one connection gets before others have their turn; a long message is a turn alone."""

Waiting = asyncio.Future[Any]
Answers = Callable[[bytes, str], Iterator[bytes | Waiting] | None]
"""From a query and the peer's address to the messages to send, if any; None closes the connection.

Where the next message has to wait for something, there is a future instead of it: when that is done, whatever
it brought, the iterator is asked again.
"""


class Cut(Exception):
    """The rest of an answer cannot be had: the connection is closed, so that nobody takes a part for the whole."""


class Connections:
    """The open connections, never more than a bound: the idlest gives way to a new one."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: OrderedDict[Connection, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def add(self, connection: "Connection") -> None:
        """Count a new one in."""
        if len(self._open) >= self._most:
            idlest, _ = self._open.popitem(last=False)
            idlest.abort()
        self._open[connection] = None

    def touch(self, connection: "Connection") -> None:
        """Take note that a connection was busy just now."""
        if connection in self._open:
            self._open.move_to_end(connection)

    def discard(self, connection: "Connection") -> None:
        """Count one out; nothing happens if it is out."""
        self._open.pop(connection, None)

    def abort(self) -> None:
        """Close all at once."""
        for connection in tuple(self._open):
            connection.abort()


class Connection(asyncio.Protocol):
    """Answers queries in the order of their coming, and reads on only when what was written is on its way.

    Args:
        loop: Whose time counts idleness.
        answers: Gives what to send for a query.
        idle: Seconds without a whole query or a message sent, after which the connection is closed.
        others: Where it counts itself in and out.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, answers: Answers, idle: float, others: Connections) -> None:
        self._loop = loop
        self._answers = answers
        self._idle = idle
        self._others = others
        self._pending = bytearray()
        self._sending: Iterator[bytes | Waiting] = iter(())
        self._awaited: Waiting | None = None
        self._turn: asyncio.Handle | None = None
        self._writable = True
        self._reading = True
        self._ended = False
        self._active = loop.time()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start to count idleness."""
        self._transport = cast(asyncio.Transport, transport)
        name = transport.get_extra_info("peername")
        self._peer: str = name[0] if name else _NOBODY
        self._timer = self._loop.call_at(self._active + self._idle, self._expire)
        self._others.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget everything; a transfer's snapshot goes with its iterator."""
        self._timer.cancel()
        if self._turn:
            self._turn.cancel()
        if self._awaited:
            self._awaited.cancel()
        self._sending = iter(())
        self._others.discard(self)

    def data_received(self, data: bytes) -> None:
        """Take what came; no more of it is read until it is answered."""
        self._pending += data
        self._go_on()

    def eof_received(self) -> bool:
        """Answer what is pending, then close."""
        self._ended = True
        self._go_on()
        return True

    def pause_writing(self) -> None:
        """The peer reads slowly: make nothing more for it."""
        self._writable = False

    def resume_writing(self) -> None:
        """The peer has read."""
        self._writable = True
        self._go_on()

    def abort(self) -> None:
        """Close at once, without sending what is pending."""
        self._transport.abort()

    def _go_on(self) -> None:
        if self._turn is None:
            self._take_turn()

    def _take_turn(self) -> None:
        self._turn = None
        left = _TURN
        while self._writable and left > 0 and not self._awaited and not self._transport.is_closing():
            cost = self._answer_one()
            if not cost:
                self._read_on()
                return
            left -= cost
        self._wait()

    def _wait(self) -> None:
        """Read nothing while there is something to answer; go on when others had their turn or the peer has read."""
        if self._transport.is_closing():
            return
        if self._reading:
            self._reading = False
            self._transport.pause_reading()
        if self._writable and not self._awaited:
            self._turn = self._loop.call_soon(self._take_turn)

    def _read_on(self) -> None:
        if self._ended:
            self._transport.close()
        elif not self._reading and not self._transport.is_closing():
            self._reading = True
            self._transport.resume_reading()

    def _answer_one(self) -> int:
        """Send one message, or take up the next query; return what that cost of a turn, 0 if there is neither."""
        message = self._next()
        if isinstance(message, bytes):
            self._transport.write(len(message).to_bytes(2) + message)
            cost = 1 + len(message) // 256
        elif message is not None:
            self._awaited, cost = message, 1
            message.add_done_callback(self._came)
        elif self._take_up():
            cost = 1
        else:
            return 0
        self._active = self._loop.time()
        self._others.touch(self)
        return cost

    def _next(self) -> bytes | Waiting | None:
        try:
            return next(self._sending, None)
        except Cut:
            self._pending.clear()
            self._transport.abort()
            return None

    def _came(self, _: Waiting) -> None:
        self._awaited = None
        self._go_on()

    def _take_up(self) -> bool:
        end = 2 + int.from_bytes(self._pending[:2])
        if len(self._pending) < end:
            return False
        query = bytes(self._pending[2:end])
        del self._pending[:end]
        sending = self._answers(query, self._peer)
        if sending is None:
            self._transport.abort()
        self._sending = sending or iter(())
        return True

    def _expire(self) -> None:
        due = self._active + self._idle
        if due <= self._loop.time():
            self._transport.abort()
        else:
            self._timer = self._loop.call_at(due, self._expire)
