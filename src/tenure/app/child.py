"""What every process but the supervisor does first and last."""

import asyncio
import ctypes
import gc
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
import uvloop

from tenure.app import logs
from tenure.app.directory import LEDGER_SOCKET, VIEWS_SOCKET
from tenure.app.errand import READY, REFUSED, Errand
from tenure.errors import TenureError
from tenure.service.door import Door

SWITCH: Final = 0.0005
"""Seconds that a busy thread may keep the others from running: the default of 5 ms would cost every answer."""

_PR_SET_PDEATHSIG = 1
_FIGURES_EVERY = 1.0
_NEW_OBJECTS = 20_000


class Child:
    """The process's side of the supervisor.

    Attributes:
        stopped: Set when the supervisor wants it to end.
    """

    def __init__(self, errand: Errand) -> None:
        self.settings = errand.settings
        self.stopped = asyncio.Event()
        self._errand = errand
        self._ready = False

    def socket(self, name: str) -> socket.socket:
        """A listening socket that the supervisor bound."""
        return socket.socket(fileno=self._errand.sockets[name])

    @property
    def sockets(self) -> list[str]:
        """Their names."""
        return list(self._errand.sockets)

    def ready(self) -> None:
        """Say that this process does its work now; only the first time is heard."""
        if not self._ready:
            self._ready = True
            os.write(self._errand.ready, READY)

    @property
    def ledger(self) -> Path:
        """The writer's door."""
        return self.settings.directory / LEDGER_SOCKET

    @property
    def views(self) -> Path:
        """Where commits are pushed."""
        return self.settings.directory / VIEWS_SOCKET

    async def work(self, *tasks: Awaitable[object]) -> None:
        """Run until the supervisor wants it to end, or one of the tasks fails; then all are cancelled."""
        running = [asyncio.ensure_future(task) for task in (self.stopped.wait(), *tasks)]
        try:
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                each.result()
        finally:
            for each in running:
                each.cancel()
            await asyncio.gather(*running, return_exceptions=True)


def run(role: str, main: Callable[[Child], Coroutine[Any, Any, None]]) -> None:
    """Run one process until it is stopped; a refusal is one sentence and exit code `REFUSED`."""
    errand = msgspec.json.decode(sys.stdin.buffer.read(), type=Errand)
    _die_with(errand.supervisor)
    logs.configure(errand.settings.log_level, role)
    collect_seldom()

    async def whole() -> None:
        child = Child(errand)
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, child.stopped.set)
        await main(child)

    try:
        uvloop.run(whole())
    except TenureError as refused:
        print(refused.message, file=sys.stderr, flush=True)
        sys.exit(REFUSED)


def collect_seldom() -> None:
    """Look for cycles among every 20,000 new objects: among every 700 it would take a third of the time of a claim."""
    gc.set_threshold(_NEW_OBJECTS, 20, 50)


async def report(
    door: Door, role: str, figures: Callable[[], dict[str, float]], notes: Callable[[], tuple[str, ...]] = tuple
) -> None:
    """Leave this process's counters, and what should be known, with the ledger's process once a second, for ever."""
    while True:
        door.tell_figures(role, figures(), notes())
        await asyncio.sleep(_FIGURES_EVERY)


def now() -> datetime:
    """The node's clock."""
    return datetime.now(UTC)


def _die_with(supervisor: int) -> None:
    """Have the kernel end this process with its supervisor, even where that one was killed (Linux, prctl(2))."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != supervisor:
        sys.exit(REFUSED)
