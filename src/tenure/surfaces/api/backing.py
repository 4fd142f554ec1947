"""What the operations stand on: the way to the writer, the committed state, and what this process remembers of it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from typing import Any, Protocol, TypeVar

from tenure.model.answers import Reply
from tenure.model.uses import Submission
from tenure.service.feed import Source
from tenure.service.routes import RouteView
from tenure.settings import Endpoint
from tenure.store.interface import Head, Reads
from tenure.surfaces.api.memory import Names, Tokens
from tenure.surfaces.api.metrics import Meter

T = TypeVar("T")
Readiness = Callable[[], Awaitable[tuple[list[str], list[str]]]]
"""Why this node cannot allocate, beside what the API sees itself; and warnings."""
AllFigures = Callable[[], Awaitable[dict[str, dict[str, float]]]]
"""The counters of the node's other processes, by role."""
Seal = Callable[[bytes], bytes]
"""Encrypts a secret for the store."""
Primaries = Callable[[str], Sequence[Endpoint]]
"""Where DNS answers for the zones of a vrf, given by its id; what it costs is a read."""

_READERS = 8
_FILES = 2
"""Zones that are written out at once: each takes a reader, and a large one seconds."""


class Submitter(Protocol):
    """The way to the writer: in production a socket to its process."""

    @property
    def open(self) -> bool:
        """Whether the writer takes uses now."""
        ...

    async def submit(self, submissions: Sequence[Submission]) -> list[Reply]:
        """Have each submission decided and made durable; the replies in order."""
        ...


class Committed(Source, Protocol):
    """What is committed, with lists and single things; every store is one."""

    @property
    def reads(self) -> Reads:
        """Lists and single things."""
        ...


class Ring:
    """The next ring of a bell."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def set(self) -> None:
        """It rings."""
        self._event.set()

    async def wait(self, seconds: float) -> None:
        """Until it rings, or `seconds` have passed: the feed may be late, so that callers look again."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._event.wait(), seconds)


class Bell:
    """Wakes those who wait for the ledger to grow."""

    def __init__(self) -> None:
        self._ring = Ring()

    def ring(self) -> None:
        """Wake everybody who waits now."""
        self._ring.set()
        self._ring = Ring()

    def next(self) -> Ring:
        """The ring to wait for: taken before looking, it misses nothing."""
        return self._ring


class Backing:
    """One application's.

    Attributes:
        position: The latest place in the ledger that this process knows of, `epoch:sequence`.
        files: Held while a zone is written out.
        keys: Idempotency keys of requests that are being worked on, by token and key, with the digest of the body.
        bell: Rings when the ledger grew.
        clock: The time, UTC.
        seal: Encrypts a secret for the store.
        primaries: Where DNS answers for the zones of a vrf.
        names, tokens: What was read before and may have changed only if the feed says so.
        routes: What routers are told.
    """

    def __init__(
        self,
        doors: Submitter,
        committed: Committed,
        clock: Callable[[], datetime],
        *,
        seal: Seal,
        primaries: Primaries,
        readiness: Readiness | None = None,
        figures: AllFigures | None = None,
    ) -> None:
        self.doors = doors
        self.committed = committed
        self.clock = clock
        self.seal = seal
        self.primaries = primaries
        self.readiness = readiness
        self.figures = figures
        self.meter = Meter()
        self.bell = Bell()
        self.names = Names(self)
        self.tokens = Tokens(self)
        self.routes = RouteView(committed)
        self.position = ""
        self.files = asyncio.Semaphore(_FILES)
        self.keys: dict[tuple[str, str], bytes] = {}
        self._readers = ThreadPoolExecutor(_READERS, "api-read")

    async def read(self, work: Callable[..., T], *args: Any) -> T:
        """Do blocking `work` beside the loop."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, work, *args)

    def advance(self, position: str) -> None:
        """Take note of a place in the ledger; an older one of the same epoch is ignored."""
        if place_of(position) > place_of(self.position) or epoch_of(position) != epoch_of(self.position):
            self.position = position

    async def locate(self) -> Head:
        """The end of the ledger now.

        Raises:
            StoreUnavailable: The store does not say.
        """
        head = await self.read(self.committed.head)
        self.advance(position_of(head))
        return head

    def close(self) -> None:
        """Let the readers end."""
        self._readers.shutdown(wait=False, cancel_futures=True)


def position_of(head: Head) -> str:
    """A ledger's end as `epoch:sequence`."""
    return f"{head.epoch}:{head.sequence}"


def place_of(position: str) -> int:
    """The sequence of `epoch:sequence`."""
    return int(position.rpartition(":")[2] or 0)


def epoch_of(position: str) -> str:
    """The epoch of `epoch:sequence`."""
    return position.rpartition(":")[0]
