"""The sockets of the DNS surface: datagrams drained many at a wake-up, connections, counters."""

import asyncio
import socket
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from tenure.surfaces.dns import transfer
from tenure.surfaces.dns.answer import answer, truncated
from tenure.surfaces.dns.connection import Connection, Connections
from tenure.surfaces.dns.limit import RateLimit, prefix_of
from tenure.surfaces.dns.table import ZoneTable
from tenure.surfaces.dns.wire import LONGEST_MESSAGE

DRAINED: Final = 64
"""How many datagrams are answered at one wake-up, before TCP and changes of the zones have their turn."""

PAUSE: Final = 0.01
"""Seconds for which datagrams are left where they are when it is not known whether they may be answered."""

_OUTCOMES: Final = ("noerror", "formerr", "servfail", "nxdomain", "notimp", "refused")


class DnsServer:
    """Answers from a table, on sockets that somebody else has bound.

    Args:
        loop: The running loop; everything happens in it.
        table: What is served. Changes between two queries are seen by the second.
        udp, tcp: Bound sockets; they are closed by `close`.
        counters: What happened, by name: `udp`, `tcp`, an outcome (`noerror`, `nxdomain`, ...), `dropped` (no
            answer is right), `unsent`, `limited`, `not_ready`, `transfers`.
        limit: How many datagrams a prefix may draw; loopback is never limited. None limits nobody.
        idle: Seconds without a whole query after which a connection is closed.
        most: Connections open at once; the idlest gives way.

    Attributes:
        ready: False while the table may lag behind what was promised: then nothing is answered.
        current: Asked after a query was taken and before its answer is sent, whether `ready` still holds. False: the
            answer is not sent, and datagrams wait until it is true, or `ready` is false.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        table: ZoneTable,
        udp: Sequence[socket.socket],
        tcp: Sequence[socket.socket],
        counters: Counter[str],
        *,
        limit: RateLimit | None = None,
        idle: float = 30,
        most: int = 256,
    ) -> None:
        self.ready = True
        self.current: Callable[[], bool] = lambda: True
        self.counters = counters
        self._loop = loop
        self._table = table
        self._udp = tuple(udp)
        self._tcp = tuple(tcp)
        self._limit = limit
        self._idle = idle
        self._connections = Connections(most)
        self._listeners: list[asyncio.Server] = []
        self._buffer = memoryview(bytearray(LONGEST_MESSAGE))

    async def start(self) -> None:
        """Begin to answer."""
        for sock in self._udp:
            sock.setblocking(False)
            self._loop.add_reader(sock, self._drain, sock)
        for sock in self._tcp:
            self._listeners.append(await self._loop.create_server(self._connection, sock=sock))

    async def close(self) -> None:
        """Answer nothing more, and close all sockets and connections; transfers are cut."""
        for sock in self._udp:
            self._loop.remove_reader(sock)
            sock.close()
        for listener in self._listeners:
            listener.close()
        self._connections.abort()
        for listener in self._listeners:
            await listener.wait_closed()

    def _drain(self, sock: socket.socket) -> None:
        if self._doubtful():
            self._loop.remove_reader(sock)
            self._loop.call_later(PAUSE, self._go_on, sock)
            return
        answers = list(self._answers(sock))
        if self._doubtful():  # this process stood still in between
            self.counters["not_ready"] += len(answers)
            return
        for response, peer in answers:
            self._send(sock, response, peer)

    def _doubtful(self) -> bool:
        return self.ready and not self.current()

    def _go_on(self, sock: socket.socket) -> None:
        if sock.fileno() >= 0:
            self._loop.add_reader(sock, self._drain, sock)

    def _answers(self, sock: socket.socket) -> Iterator[tuple[bytes, tuple[object, ...]]]:
        for _ in range(DRAINED):
            try:
                size, peer = sock.recvfrom_into(self._buffer)
            except BlockingIOError:
                return
            except OSError:
                continue  # an ICMP error about an earlier answer
            self.counters["udp"] += 1
            response = self._answer_datagram(bytes(self._buffer[:size]), peer[0])
            if response is not None:
                yield response, peer

    def _answer_datagram(self, query: bytes, peer: str) -> bytes | None:
        if not self.ready:
            self.counters["not_ready"] += 1
            return None
        if self._limit and not self._permitted(peer, self._limit):
            return self._answer_limited(query)
        response = answer(query, self._table, False)
        self._count(response)
        return response

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

    def _count(self, response: bytes | None) -> None:
        if response is None:
            self.counters["dropped"] += 1
        else:
            self.counters[_OUTCOMES[response[3] & 15]] += 1

    def _connection(self) -> Connection:
        return Connection(self._loop, self._answer_stream, self._idle, self._connections)

    def _answer_stream(self, query: bytes, peer: str) -> Iterator[bytes] | None:
        self.counters["tcp"] += 1
        if not self.ready or self._doubtful():
            self.counters["not_ready"] += 1
            return None
        question = transfer.asked(query)
        if question is not None:
            self.counters["transfers"] += 1
            return transfer.transfer(query, question, self._table, permitted=prefix_of(peer) is None)
        response = answer(query, self._table, True)
        self._count(response)
        return iter(() if response is None else (response,))
