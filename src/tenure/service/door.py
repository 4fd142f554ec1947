"""The writer's door: uses from other processes of this node, over a Unix socket.

`DoorServer` stands in the ledger's process, beside the writer's thread; `Door` is
the same call from afar. A frame holds as many uses as its sender has; answers
come as they are ready, found again by number.
"""

import asyncio
import logging
import math
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Final, cast

from tenure.errors import OutcomeUnknown, StoreUnavailable, TenureError
from tenure.model.answers import Reply
from tenure.model.uses import ReadCapacity, Submission
from tenure.service.frames import (
    Ask,
    AskHealth,
    Figures,
    Frame,
    FrameError,
    Health,
    Hello,
    Refused,
    Told,
    Unpacker,
    error_of,
    failure_of,
    pack,
)

log = logging.getLogger(__name__)

MOST_ASKED: Final = 1024
"""Frames of one process that may wait for the writer; beyond that its socket is not read."""
MOST_WAITING: Final = 20_000
"""Calls of one `Door` that may be unanswered; beyond that callers are told to come again."""

_SLOWEST_RETRY = 0.5
_LONGEST_AWAY = 5.0  # a restart takes less; a caller that waits longer should hear that it is away
_GRACE = 1.0  # the writer drops a use after its patience; its answer needs a moment to come back

Answered = Future[list[Reply]]
Submit = Callable[[Sequence[Submission]], Answered]
"""Hands uses to the writer, which answers from its own thread; raises a TenureError if it takes none."""


class _Mailbox:
    """From the writer's thread to the event loop: one wake-up however many answers a turn gives."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._posted: deque[tuple[Caller, int, Answered]] = deque()
        self._awake = False

    def post(self, caller: "Caller", number: int, answered: Answered) -> None:
        self._posted.append((caller, number, answered))
        if not self._awake:
            self._awake = True
            with suppress(RuntimeError):  # the loop has ended, and every caller with it
                self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        self._awake = False
        while self._posted:
            caller, number, answered = self._posted.popleft()
            caller.answer(number, answered)


class Caller(asyncio.Protocol):
    """One process that submits."""

    def __init__(self, server: "DoorServer") -> None:
        self._server = server
        self._unpacker = Unpacker()
        self._asked = 0
        self._clogged = False
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by descent
        self._server.callers.add(self)
        self._transport.write(pack(Hello()))

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.callers.discard(self)

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._unpacker.feed(data):
                self._take(frame)
        except FrameError:
            self._transport.abort()

    def pause_writing(self) -> None:
        self._clogged = True
        self._throttle()

    def resume_writing(self) -> None:
        self._clogged = False
        self._throttle()

    def _throttle(self) -> None:
        if self._clogged or self._asked >= MOST_ASKED:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def _take(self, frame: Frame) -> None:
        match frame:
            case Ask():
                self._ask(frame)
            case Figures():
                self._server.figures[frame.role] = frame.figures
                self._server.notes[frame.role] = frame.notes
            case AskHealth():
                self._transport.write(pack(self._server.health(frame.number)))
            case _:
                raise FrameError(f"{type(frame).__name__} is not for the door")

    def _ask(self, frame: Ask) -> None:
        self._asked += 1
        if self._asked == MOST_ASKED:
            self._throttle()
        post, number = self._server.mailbox.post, frame.number
        try:
            answered = self._server.submit(frame.submissions)
        except TenureError as refusal:
            self._send(Refused(number, failure_of(refusal)))
        else:
            answered.add_done_callback(lambda done: post(self, number, done))

    def answer(self, number: int, answered: Answered) -> None:
        """Send the answer to one frame, if its sender is still there."""
        refusal = answered.exception()
        if refusal is None:
            self._send(Told(number, tuple(answered.result())))
        elif isinstance(refusal, TenureError):
            self._send(Refused(number, failure_of(refusal)))
        else:
            log.error("the writer's answer is a bug", exc_info=refusal)
            self._send(_untold(number))

    def _send(self, frame: Told | Refused) -> None:
        self._asked -= 1
        if self._asked == MOST_ASKED - 1:
            self._throttle()
        if not self._transport.is_closing():
            self._transport.write(_packed(frame))

    @property
    def reading(self) -> bool:
        """Whether more is taken from it now."""
        return self._transport.is_reading()

    def close(self) -> None:
        """Send what is written, then end."""
        self._transport.close()

    def abort(self) -> None:
        """End at once."""
        self._transport.abort()


class DoorServer:
    """The side of the ledger's process. For one event loop.

    Args:
        submit: The writer's; called on the loop, must not block.
        reasons: Why this node should not be asked now; empty if all is well.
        own_figures: The counters of this process.

    Attributes:
        figures, notes: The latest counters of each other process, by role, and what it says should be known.
    """

    def __init__(
        self, submit: Submit, reasons: Callable[[], list[str]], own_figures: Callable[[], dict[str, float]]
    ) -> None:
        self.submit = submit
        self.figures: dict[str, dict[str, float]] = {}
        self.notes: dict[str, tuple[str, ...]] = {}
        self.callers: set[Caller] = set()
        self.mailbox = _Mailbox(asyncio.get_running_loop())
        self._reasons = reasons
        self._own_figures = own_figures

    def caller(self) -> asyncio.Protocol:
        """The protocol for one new connection."""
        return Caller(self)

    def health(self, number: int) -> Health:
        """How this node is, as the answer to a frame."""
        figures, notes = {**self.figures, "ledger": self._own_figures()}, tuple(chain(*self.notes.values()))
        return Health(number, tuple(self._reasons()), figures, notes)

    def close(self) -> None:
        """Let every caller go, after what was answered has been sent."""
        for caller in tuple(self.callers):
            caller.close()


class _Line(asyncio.Protocol):
    """The caller's end of one connection; `lost` is called before anybody who waits hears of its end."""

    def __init__(self, lost: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        self.open: asyncio.Future[None] = loop.create_future()
        self.ended: asyncio.Future[None] = loop.create_future()
        self.waiting: dict[int, asyncio.Future[Frame]] = {}
        self.transport: asyncio.Transport
        self._lost = lost
        self._unpacker = Unpacker()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._unpacker.feed(data):
                self._take(frame)
        except FrameError:
            self.transport.abort()

    def _take(self, frame: Frame) -> None:
        if isinstance(frame, Hello):
            if not self.open.done():
                self.open.set_result(None)
        elif isinstance(frame, Told | Refused | Health):
            waiting = self.waiting.get(frame.number)
            if waiting is not None and not waiting.done():
                waiting.set_result(frame)

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost()
        for waiting in self.waiting.values():
            if not waiting.done():
                waiting.set_exception(ConnectionResetError())
        if not self.ended.done():  # its keeper may have been cancelled
            self.ended.set_result(None)
        if not self.open.done():
            self.open.set_exception(ConnectionResetError())


class Door:
    """Submits uses to the ledger's process, and finds it again when it was restarted.

    For one event loop; any number of tasks may submit at once.

    Args:
        path: The socket, `<data>/ledger.sock`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._line: _Line | None = None
        self._news = asyncio.Event()
        self._number = 0
        self._keeper = asyncio.create_task(self._keep())

    @property
    def open(self) -> bool:
        """Whether the ledger's process takes uses now."""
        return self._line is not None

    async def opened(self) -> None:
        """Wait until the ledger's process takes uses."""
        while self._line is None:
            await self._news.wait()

    async def submit(self, submissions: Sequence[Submission]) -> list[Reply]:
        """Submit uses and wait for their answers, in order; a use that is refused answers a `Failure`.

        Each waits as long as the most patient of them; all go into the writer's queue in one piece.

        Raises:
            StoreUnavailable: The ledger's process is not there or takes no more; nothing was changed.
            OutcomeUnknown: It was lost, or did not answer in time, after it had been asked.
            InvalidValue: They cannot be encoded, or are too long for one frame.
        """
        patience = max((submission.patience for submission in submissions), default=_LONGEST_AWAY)
        self._number += 1
        frame = pack(Ask(self._number, tuple(submissions)))
        try:
            answer = await self._exchange(self._number, frame, patience)
        except (ConnectionResetError, TimeoutError):
            raise _lost(submissions) from None
        if isinstance(answer, Refused):
            raise error_of(answer.failure)
        assert isinstance(answer, Told)
        return list(answer.replies)

    async def health(self) -> Health:
        """How this node is.

        Raises:
            StoreUnavailable: The ledger's process is not there.
        """
        self._number += 1
        try:
            answer = await self._exchange(self._number, pack(AskHealth(self._number)), _GRACE)
        except (ConnectionResetError, TimeoutError):
            raise StoreUnavailable("The ledger's process did not answer.") from None
        assert isinstance(answer, Health)
        return answer

    def tell_figures(self, role: str, figures: dict[str, float], notes: tuple[str, ...] = ()) -> None:
        """Leave this process's counters with the ledger's process, and what should be known; not while it is away."""
        if self._line is not None:
            self._line.transport.write(pack(Figures(role, figures, notes)))

    async def close(self) -> None:
        """Let go; callers that still wait get OutcomeUnknown."""
        self._keeper.cancel()
        with suppress(asyncio.CancelledError):
            await self._keeper

    async def _exchange(self, number: int, frame: bytes, patience: float) -> Frame:
        line = self._line or await self._wait_open(patience)
        if len(line.waiting) >= MOST_WAITING:
            raise StoreUnavailable("Too many requests wait for the ledger.", waiting=MOST_WAITING)
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Frame] = loop.create_future()
        line.waiting[number] = answer
        alarm = loop.call_later(patience + _GRACE, _give_up, answer)
        try:
            line.transport.write(frame)
            return await answer
        finally:
            alarm.cancel()
            del line.waiting[number]

    async def _wait_open(self, patience: float) -> _Line:
        with suppress(TimeoutError):
            async with asyncio.timeout(min(patience, _LONGEST_AWAY)):
                await self.opened()
        if self._line is None:
            raise StoreUnavailable("The ledger's process is not there; it is being restarted.")
        return self._line

    async def _keep(self) -> None:
        failures = 0
        while True:
            line = await self._connect()
            if line is None:
                await asyncio.sleep(min(0.01 * math.pow(2, failures), _SLOWEST_RETRY))
                failures = min(failures + 1, 10)
                continue
            failures = 0
            if not line.ended.done():
                self._line = line
                self._news.set()
            try:
                await line.ended
            finally:
                self._let_go()
                line.transport.abort()

    def _let_go(self) -> None:
        self._line = None
        self._news.clear()

    async def _connect(self) -> _Line | None:
        loop = asyncio.get_running_loop()
        try:
            _, line = await loop.create_unix_connection(lambda: _Line(self._let_go), str(self._path))
        except OSError:
            return None
        try:
            await line.open
        except ConnectionResetError:
            return None
        except asyncio.CancelledError:
            line.transport.abort()
            raise
        return line


def _packed(frame: Told | Refused) -> bytes:
    """An answer as bytes; where no frame can carry it, that it cannot be told, so that its sender does not wait."""
    try:
        return pack(frame)
    except TenureError as error:
        log.error("an answer cannot be told", exc_info=error)
        return pack(_untold(frame.number))


def _untold(number: int) -> Refused:
    return Refused(number, failure_of(OutcomeUnknown("It was decided, but the answer cannot be told; it is logged.")))


def _give_up(answer: "asyncio.Future[Frame]") -> None:
    if not answer.done():
        answer.set_exception(TimeoutError())


def _lost(submissions: Sequence[Submission]) -> TenureError:
    if all(each.dry_run or isinstance(each.use, ReadCapacity) for each in submissions):
        return StoreUnavailable("The ledger's process did not answer; nothing was asked to change.")
    return OutcomeUnknown("The ledger's process was lost before it answered: repeat under the same handle or key.")
