"""The DHCPv4 server: drained sockets, one batch to the writer at a time, then the answers."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager

import structlog

from tenure.errors import TenureError
from tenure.model.uses import LeaseOffer
from tenure.surfaces.dhcp.interface import Interface
from tenure.surfaces.dhcp.limits import Buckets
from tenure.surfaces.dhcp.v4_desk import Desk, Outgoing, Pending
from tenure.surfaces.dhcp.v4_memory import Promises
from tenure.surfaces.dhcp.v4_session import LeaseUse, Result

_log = structlog.get_logger("tenure.dhcp")

SubmitMany = Callable[[list[LeaseUse]], Awaitable[Sequence[Result]]]
"""The writer's door for a batch: one result or error a use, in order. It may raise a `TenureError` for all."""

DRAIN = 64
"""Datagrams read, or answers sent, in one turn, so that others have theirs."""
BATCH = 256
"""Uses submitted at once."""
WAITING = 1024
"""Messages that may wait for the writer, DISCOVERs only half as many: an overloaded server finishes what it began.

What comes beyond is dropped and its client asks again, unless memory can answer. A longer queue answers more clients
too late.
"""
STALE = 10.0
"""Seconds after which a waiting message is dropped: its client has asked again, or memory can answer."""
REFRESH = 5.0
"""Seconds between readings of the machine's addresses."""


class Server:
    """Serves DHCPv4 on `interfaces`.

    Datagrams are drained as they come; while a batch is with the writer the next one gathers, so
    that a busy server commits rarely and an idle one at once. What memory can answer does not wait.

    Args:
        loop: The loop that `serve` runs on.
        interfaces: Names; there is one socket pair for each.
        submit_many: The writer's door.
        clock: Seconds since 1970.
        promises: Leases that may be answered from memory; whoever follows the feed forgets in it.
        clients, links: Limits for each client and each link.

    Raises:
        NotFound, NotPermitted, InUse: An interface cannot be served; none is left open.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        interfaces: Sequence[str],
        submit_many: SubmitMany,
        clock: Callable[[], float],
        *,
        promises: Promises | None = None,
        clients: Buckets | None = None,
        links: Buckets | None = None,
    ) -> None:
        self.desk = Desk(
            Promises(500_000) if promises is None else promises,  # an empty one is false
            clients or Buckets(rate=10, burst=20, capacity=100_000),
            links or Buckets(rate=20_000, burst=40_000, capacity=10_000),
        )
        self._loop = loop
        self._submit_many = submit_many
        self._clock = clock
        self._waiting: deque[Pending] = deque()
        self._arrived = asyncio.Event()
        self._refreshed = clock()
        self._interfaces: dict[str, Interface] = {}
        try:
            for name in interfaces:
                self._interfaces[name] = Interface(name)
        except TenureError:
            self.close()
            raise

    def close(self) -> None:
        """Stop reading and close every socket; may be called again."""
        for interface in self._interfaces.values():
            if interface.fileno() >= 0:
                self._loop.remove_reader(interface.fileno())
            interface.close()

    async def serve(self) -> None:
        """Answer until cancelled; then every socket is closed. Any other error of `submit_many` ends it too."""
        for interface in self._interfaces.values():
            self._loop.add_reader(interface.fileno(), self._drain, interface)
        try:
            while True:
                await self._arrived.wait()
                self._arrived.clear()
                while self._waiting:
                    await self._answer_batch()
        finally:
            self.close()

    def _drain(self, interface: Interface) -> None:
        now = self._clock()
        if not 0 <= now - self._refreshed < REFRESH:
            self._refresh(now)
        for datagram, arrival in interface.receive(DRAIN):
            with self._surviving(datagram):
                heard = self.desk.hear(datagram, arrival, now)
                if isinstance(heard, Outgoing):
                    self._send(heard)
                elif heard is not None:
                    self._queue(heard, now)
        if self._waiting:
            self._arrived.set()

    def _queue(self, pending: Pending, now: float) -> None:
        if len(self._waiting) < (WAITING // 2 if isinstance(pending.use, LeaseOffer) else WAITING):
            self._waiting.append(pending)
        else:
            self._give_up(pending, "overload", now)

    def _refresh(self, now: float) -> None:
        self._refreshed = now
        for interface in self._interfaces.values():
            interface.refresh()

    async def _answer_batch(self) -> None:
        batch = self._gather()
        if not batch:
            return
        try:
            results = await self._submit_many([pending.use for pending in batch])
        except TenureError as error:
            results = [error] * len(batch)
        answers = list(zip(batch, results, strict=True))
        for start in range(0, len(answers), DRAIN):
            self._answer(answers[start : start + DRAIN])
            await asyncio.sleep(0)  # the sockets' turn: a burst of answers must not cost the questions behind it

    def _answer(self, answers: list[tuple[Pending, Result]]) -> None:
        now = self._clock()
        for pending, result in answers:
            with self._surviving(pending):
                outgoing = self.desk.answer(pending, result, now)
                if outgoing is not None:
                    self._send(outgoing)

    @contextmanager
    def _surviving(self, what: object) -> Iterator[None]:
        """A bug that one message meets is logged whole and costs that message its answer, not others theirs."""
        try:
            yield
        except Exception:
            self.desk.dropped["bug"] += 1
            _log.exception("a message met a bug", what=repr(what))

    def _gather(self) -> list[Pending]:
        """The next batch, without what waited too long."""
        now = self._clock()
        batch: list[Pending] = []
        while self._waiting and len(batch) < BATCH:
            pending = self._waiting.popleft()
            if pending.since < now - STALE:
                self._give_up(pending, "stale", now)
            else:
                batch.append(pending)
        return batch

    def _give_up(self, pending: Pending, reason: str, now: float) -> None:
        with self._surviving(pending):
            outgoing = self.desk.give_up(pending, reason, now)
            if outgoing is not None:
                self._send(outgoing)

    def _send(self, outgoing: Outgoing) -> None:
        if not self._interfaces[outgoing.interface].send(outgoing):
            self.desk.dropped["unsent"] += 1
