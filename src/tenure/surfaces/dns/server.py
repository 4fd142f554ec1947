"""The sockets of the DNS surface: datagrams drained many at a wake-up, connections, counters."""

import asyncio
import socket
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from tenure.surfaces.dns import wire
from tenure.surfaces.dns.answer import truncated
from tenure.surfaces.dns.bugs import Bugs
from tenure.surfaces.dns.connection import Connection, Connections, Cut
from tenure.surfaces.dns.limit import RateLimit, prefix_of
from tenure.surfaces.dns.responder import Messages, Responder
from tenure.surfaces.dns.views import View
from tenure.surfaces.dns.wire import LONGEST_MESSAGE

DRAINED: Final = 64
"""How many datagrams are answered at one wake-up, before TCP and changes of the zones have their turn."""

PAUSE: Final = 0.01
"""Seconds for which datagrams are left where they are when it is not known whether they may be answered."""


class Listener(NamedTuple):
    """Two bound sockets on one port, closed by the server's `close`, and whose zones are seen there."""

    view: View
    udp: socket.socket
    tcp: socket.socket


class DnsServer:
    """Answers on sockets that somebody else has bound.

    A bug that one query meets costs that query (SERVFAIL) or its connection, and no other.

    Args:
        loop: The running loop; everything happens in it.
        listeners: Where it is asked.
        responder: What answers. Changes between two queries are seen by the second. It is given more
            counters: `udp`, `tcp`, `unsent`, `limited`, `not_ready`, `bugs`.
        limit: How many datagrams a prefix may draw; loopback is never limited. None limits nobody.
        idle: Seconds without a whole query after which a connection is closed.
        most: Connections open at once; the idlest gives way.

    Attributes:
        ready: False while the table may lag behind what was promised: then nothing is answered.
        bugs: Where everything that works on the zones in this process notes its own.
        current: Asked after a query was taken and before its answer is sent, whether `ready` still holds. False: the
            answer is not sent, and datagrams wait until it is true, or `ready` is false.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        listeners: Sequence[Listener],
        responder: Responder,
        *,
        limit: RateLimit | None = None,
        idle: float = 30,
        most: int = 256,
    ) -> None:
        self.ready = True
        self.current: Callable[[], bool] = lambda: True
        self.counters = responder.counters
        self.bugs = Bugs(self.counters)
        self._loop = loop
        self._listeners = tuple(listeners)
        self._responder = responder
        self._limit = limit
        self._idle = idle
        self._connections = Connections(most)
        self._accepting: list[asyncio.Server] = []
        self._buffer = memoryview(bytearray(LONGEST_MESSAGE))

    async def start(self) -> None:
        """Begin to answer."""
        for listener in self._listeners:
            listener.udp.setblocking(False)
            self._loop.add_reader(listener.udp, self._drain, listener)
            accept = partial(self._connection, listener.view)
            self._accepting.append(await self._loop.create_server(accept, sock=listener.tcp))

    async def close(self) -> None:
        """Answer nothing more, and close all sockets and connections; transfers are cut."""
        for listener in self._listeners:
            self._loop.remove_reader(listener.udp)
            listener.udp.close()
        for accepting in self._accepting:
            accepting.close()
        self._connections.abort()
        for accepting in self._accepting:
            await accepting.wait_closed()

    def _drain(self, listener: Listener) -> None:
        sock = listener.udp
        if self._doubtful():
            self._loop.remove_reader(sock)
            self._loop.call_later(PAUSE, self._go_on, listener)
            return
        answers = list(self._answers(sock, listener.view))
        if self._doubtful():  # this process stood still in between
            self.counters["not_ready"] += len(answers)
            return
        for response, peer in answers:
            self._send(sock, response, peer)

    def _doubtful(self) -> bool:
        return self.ready and not self.current()

    def _go_on(self, listener: Listener) -> None:
        if listener.udp.fileno() >= 0:
            self._loop.add_reader(listener.udp, self._drain, listener)

    def _answers(self, sock: socket.socket, view: View) -> Iterator[tuple[bytes, tuple[object, ...]]]:
        for _ in range(DRAINED):
            try:
                size, peer = sock.recvfrom_into(self._buffer)
            except BlockingIOError:
                return
            except OSError:
                continue  # an ICMP error about an earlier answer
            self.counters["udp"] += 1
            response = self._answer_datagram(bytes(self._buffer[:size]), peer[0], view)
            if response is not None:
                yield response, peer

    def _answer_datagram(self, query: bytes, peer: str, view: View) -> bytes | None:
        if not self.ready:
            self.counters["not_ready"] += 1
            return None
        try:
            if self._limit and not self._permitted(peer, self._limit):
                return self._answer_limited(query)
            return self._responder.datagram(query, peer, view)
        except Exception as error:
            self.bugs.note(error, "the answer to a datagram")
            return _failed(query)

    def _permitted(self, peer: str, limit: RateLimit) -> bool:
        prefix = prefix_of(peer)
        return prefix is None or limit.permit(prefix, self._loop.time())

    def _answer_limited(self, query: bytes) -> bytes | None:
        """Let every second one know the way over TCP: an honest asker among forged ones gets through."""
        self.counters["limited"] += 1
        return truncated(query) if self.counters["limited"] % 2 == 0 else None

    def _send(self, sock: socket.socket, response: bytes, peer: tuple[object, ...]) -> None:
        try:
            sock.sendto(response, peer)
        except OSError:  # no room, or nowhere to send it: as if the network had lost it
            self.counters["unsent"] += 1

    def _connection(self, view: View) -> Connection:
        return Connection(self._loop, partial(self._answer_stream, view), self._idle, self._connections)

    def _answer_stream(self, view: View, query: bytes, peer: str) -> Messages | None:
        self.counters["tcp"] += 1
        if not self.ready or self._doubtful():
            self.counters["not_ready"] += 1
            return None
        try:
            return self._whole(self._responder.stream(query, peer, view))
        except Exception as error:
            self.bugs.note(error, "the answer to a query over TCP")
            return iter(filter(None, (_failed(query),)))

    def _whole(self, messages: Messages) -> Messages:
        """All of them; a bug among them cuts the connection, so that nobody takes a part for the whole."""
        try:
            yield from messages
        except Cut:
            raise
        except Exception as error:
            self.bugs.note(error, "an answer over TCP")
            raise Cut from error


def _failed(query: bytes) -> bytes | None:
    """SERVFAIL, which sends the asker to another server; None where silence is right."""
    return None if len(query) < wire.HEADER or query[2] & 0x80 else wire.reply(query, wire.SERVFAIL, 0)
