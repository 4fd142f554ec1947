"""Views of the ledger in other processes of this node, kept in step commit by commit.

Nothing is answered before this node's DNS and DHCP say so too: after each commit
the writer's thread pushes it to every view and waits for their acks. It does so with
plain blocking sockets, because a hop through an event loop and back costs more than the push.
A view that is too slow is let go; it answers nothing until it has caught up.
"""

import asyncio
import errno
import os
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

from tenure.errors import TenureError
from tenure.service.feed import Committed, cursor, parse_cursor
from tenure.service.frames import Ack, Follow, Following, Frame, FrameError, Push, StartOver, Unpacker, pack

PATIENCE: Final = 0.25
"""Seconds that a commit waits for the views at most."""
RING_COMMITS: Final = 8192
RING_BYTES: Final = 32 * 1024 * 1024
"""What is kept for views that come back: this many commits, and bytes, at most."""

_READ = 64 * 1024
_BUFFER = 4 * 1024 * 1024
_SLOWEST_RETRY = 0.5
_NO_ROOM = 0.05
"""Seconds before a next try to accept a view."""
_LISTENS_NO_MORE = (errno.EINVAL, errno.EBADF)
_SILENCE = 0.1
"""Seconds in which a ledger's process that lives has admitted a view that knocks."""


class _Ring:
    """The latest commits, encoded; `base` is the sequence before the oldest of them."""

    def __init__(self) -> None:
        self.base = 0
        self._kept: deque[tuple[int, bytes]] = deque()
        self._bytes = 0

    def clear(self, base: int) -> None:
        self.base = base
        self._kept.clear()
        self._bytes = 0

    def add(self, sequence: int, frame: bytes) -> None:
        self._kept.append((sequence, frame))
        self._bytes += len(frame)
        while len(self._kept) > RING_COMMITS or self._bytes > RING_BYTES:
            self.base, dropped = self._kept.popleft()
            self._bytes -= len(dropped)

    def after(self, sequence: int) -> bytes:
        """What a view that holds everything up to `sequence` lacks."""
        return b"".join(frame for last, frame in self._kept if last > sequence)


class _View:
    """One process that follows, as the ledger's process sees it."""

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        self.name = ""
        self.acked = 0
        self._unpacker = Unpacker()

    def fileno(self) -> int:
        return self.socket.fileno()

    def receive(self) -> list[Frame]:
        """What has come; raises OSError or FrameError where the view is of no use any more."""
        data = self.socket.recv(_READ)
        if not data:
            raise ConnectionResetError
        return list(self._unpacker.feed(data))

    def take_acks(self) -> None:
        for frame in self.receive():
            if not isinstance(frame, Ack):
                raise FrameError(f"{type(frame).__name__} is no ack")
            self.acked = max(self.acked, frame.sequence)


class Publisher:
    """The side of the ledger's process. `publish` is for the writer's thread alone.

    Args:
        listener: A listening Unix socket; it outlives this process, so that views wait in its backlog.
        dropped: Called with a view's name when it was too slow.

    Attributes:
        drops: How many views were too slow so far.
    """

    def __init__(self, listener: socket.socket, dropped: Callable[[str], None]) -> None:
        self._listener = listener
        self._epoch = ""
        self._sequence = 0
        self._dropped = dropped
        self._ring = _Ring()
        self._views: list[_View] = []
        self._lock = threading.Lock()
        self.drops = 0

    @property
    def names(self) -> list[str]:
        """Names of the views that follow now."""
        with self._lock:
            return sorted(view.name for view in self._views)

    def start(self, epoch: str, sequence: int) -> None:
        """Admit the views that wait already, then all that come; to be called before the writer answers anything.

        Args:
            epoch: The ledger's, and `sequence` its end, as the writer loaded it.
        """
        with self._lock:
            if not self._epoch:
                self._epoch, self._sequence = epoch, sequence
                self._ring.clear(sequence)
        self._listener.setblocking(False)
        with suppress(BlockingIOError):
            while True:
                self._admit(self._listener.accept()[0])
        self._listener.setblocking(True)
        threading.Thread(target=self._accept, name="views", daemon=True).start()

    def publish(self, committed: Committed) -> None:
        """Push one transaction to every view and wait until all have taken it, or were let go.

        Cost: one encoding, and a send and a receive a view.
        """
        frame = pack(Push(committed))
        with self._lock:
            self._sequence = committed.sequence
            if committed.start_over or committed.epoch != self._epoch:
                self._start_over(committed)
                return
            self._ring.add(committed.sequence, frame)
            deadline = time.monotonic() + PATIENCE
            behind = [view for view in self._views if view.acked < committed.sequence]
            behind = [view for view in behind if self._send(view, frame)]
            self._await_acks(behind, committed.sequence, deadline)

    def close(self) -> None:
        """Let go of every view."""
        with self._lock:
            for view in tuple(self._views):
                self._forget(view)

    def _start_over(self, committed: Committed) -> None:
        self._epoch = committed.epoch
        self._ring.clear(committed.sequence)
        for view in tuple(self._views):
            if self._send(view, pack(StartOver())):
                self._forget(view)

    def _await_acks(self, behind: list[_View], sequence: int, deadline: float) -> None:
        poll = select.poll()
        waiting = {view.fileno(): view for view in behind}
        for number in waiting:
            poll.register(number, select.POLLIN)
        while waiting:
            ready = poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
            if not ready:
                break
            for number, _ in ready:
                view = waiting[number]
                if not self._heard(view) or view.acked >= sequence:
                    poll.unregister(number)
                    del waiting[number]
        for view in waiting.values():
            self._drop(view)

    def _heard(self, view: _View) -> bool:
        try:
            view.take_acks()
        except (OSError, FrameError):
            self._forget(view)
            return False
        return True

    def _send(self, view: _View, data: bytes) -> bool:
        try:
            view.socket.sendall(data)
        except TimeoutError:
            self._drop(view)
        except OSError:
            self._forget(view)
        else:
            return True
        return False

    def _drop(self, view: _View) -> None:
        self.drops += 1
        self._forget(view)
        self._dropped(view.name)

    def _forget(self, view: _View) -> None:
        self._views.remove(view)
        view.socket.close()

    def _accept(self) -> None:
        """Admit whoever comes; a process that has run out of descriptors may have some again in a moment."""
        while True:
            try:
                self._admit(self._listener.accept()[0])
            except OSError as error:
                if error.errno in _LISTENS_NO_MORE:
                    return
                time.sleep(_NO_ROOM)

    def _admit(self, sock: socket.socket) -> None:
        sock.settimeout(PATIENCE)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
        view = _View(sock)
        try:
            asked = view.receive()
            if len(asked) != 1 or not isinstance(asked[0], Follow):
                raise FrameError("a view begins with Follow")
            place = parse_cursor(asked[0].position) if asked[0].position else None
        except (OSError, FrameError, TenureError):
            sock.close()
            return
        view.name = asked[0].name
        with self._lock:
            self._begin(view, *(place or (self._epoch, self._sequence)))

    def _begin(self, view: _View, epoch: str, sequence: int) -> None:
        view.acked = sequence
        self._views.append(view)
        if epoch != self._epoch or view.acked < self._ring.base:
            if self._send(view, pack(StartOver())):
                self._forget(view)
            return
        begun = pack(Following(cursor(self._epoch, self._sequence), os.getpid()))
        self._send(view, begun + self._ring.after(view.acked))


class View(Protocol):
    """What a process shows of the ledger."""

    async def load(self) -> str:
        """Forget what was there, and take everything from the store.

        Returns:
            The place in the ledger that it is of, as a cursor; empty where nothing was taken and what comes
            from now on is enough.
        """
        ...

    async def apply(self, committed: Committed) -> None:
        """Take in one transaction: when this returns, the process answers accordingly."""
        ...

    def settle(self, ready: bool) -> None:
        """Whether the view may be answered from; it is not while it may lack something that was answered elsewhere."""
        ...


class Subscriber:
    """The side of a view's process. For one event loop.

    While the ledger's process is dead, nothing is committed here, and the view stays as good as it was; when that
    process lets this one go, the view is not answered from until it has caught up. Which of both it was,
    the death of the process tells, and that no next one admits this view when it knocks.

    A process that stood still for a while finds questions and the news of its being let go side by side, so
    whoever answers asks `current` between taking a question and sending its answer.

    Args:
        path: The socket, `<data>/views.sock`.
        name: For the log.
    """

    def __init__(self, path: Path, name: str, view: View) -> None:
        self._path = path
        self._name = name
        self._view = view
        self._goal: int | None = None
        self._ledger = -1  # descriptor of the process that pushes
        self._position: str | None = None
        self._line = select.poll()  # tells only whether the ledger's process has hung up
        self._sure = False
        self.loads = 0

    @property
    def position(self) -> str:
        """The place in the ledger that the view shows, as a cursor; empty before it follows."""
        return self._position or ""

    def current(self) -> bool:
        """Whether the view lacks nothing that was answered elsewhere; what it was told to `settle` on still counts.

        False for the moment in which the ledger's process is gone and it is not known why. Cost: one system call.
        """
        return self._sure and not self._line.poll(0)

    async def run(self) -> None:
        """Load and follow, for ever.

        Raises:
            TenureError: The view cannot be loaded: the store is not there.
        """
        retry, died = 0.01, False
        while True:
            if self._position is None:
                self._position = await self._view.load()
                self.loads += 1
            try:
                reader, writer = await asyncio.open_unix_connection(str(self._path), limit=_BUFFER)
            except OSError:
                self._sure = died
                await asyncio.sleep(retry)
                retry = min(retry * 2, _SLOWEST_RETRY)
                continue
            retry = 0.01
            try:
                died = await self._follow(reader, writer, died)
            finally:
                writer.transport.abort()

    async def _follow(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, widowed: bool) -> bool:
        """Follow until the line is cut; whether it was by the death of the ledger's process.

        Args:
            widowed: Whether it died before, so that the view is as good as it was unless another is there now.
        """
        self._line = select.poll()
        self._line.register(writer.get_extra_info("socket").fileno(), 0)
        silence = asyncio.get_running_loop().call_later(_SILENCE, self._stay, widowed)
        writer.write(pack(Follow(self._name, self.position)))
        unpacker = Unpacker()
        try:
            while self._position is not None and (data := await _read(reader)):
                silence.cancel()
                for frame in unpacker.feed(data):
                    await self._take(frame, writer)
        except FrameError:
            self._position = None
        finally:
            silence.cancel()
            self._sure, self._line = False, select.poll()
            died = await _ended(self._ledger) if self._position is not None else False
            if self._ledger >= 0:
                os.close(self._ledger)
            self._ledger, self._goal = -1, None
        if not died:
            self._view.settle(False)
        return died

    def _stay(self, widowed: bool) -> None:
        self._sure = widowed

    async def _take(self, frame: Frame, writer: asyncio.StreamWriter) -> None:
        match frame:
            case StartOver():
                self._position = None
                return
            case Following():
                self._position = self._position or frame.position
                self._goal = parse_cursor(frame.position)[1]
                self._sure = False
                self._ledger = _watch(frame.pid)
            case Push():
                await self._apply(frame.committed)
                writer.write(pack(Ack(frame.committed.sequence)))
            case _:
                raise FrameError(f"{type(frame).__name__} is not for a view")
        if self._goal is not None and parse_cursor(self.position)[1] >= self._goal:
            self._goal, self._sure = None, True
            self._view.settle(True)

    async def _apply(self, committed: Committed) -> None:
        epoch, held = parse_cursor(self.position)
        if committed.epoch != epoch or committed.since > held:
            raise FrameError(f"a transaction after {committed.since} of {committed.epoch}, at {self._position}")
        if committed.sequence > held:
            await self._view.apply(committed)
            self._position = cursor(epoch, committed.sequence)


async def _read(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read(_BUFFER)
    except OSError:
        return b""


def _watch(pid: int) -> int:
    """A descriptor that becomes readable when the process ends; -1 if it has ended already."""
    try:
        return os.pidfd_open(pid)
    except OSError:
        return -1


async def _ended(ledger: int) -> bool:
    """Whether the ledger's process has died; its sockets close a moment before it is seen to be dead."""
    if ledger < 0:
        return False
    poll = select.poll()
    poll.register(ledger, select.POLLIN)
    return bool(await asyncio.to_thread(poll.poll, 100))
