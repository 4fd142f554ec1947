"""What the operations stand on: the way to the writer, the committed state, and what this process remembers of it."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any, Protocol, TypeVar

from tenure.model.answers import Reply
from tenure.model.events import Entry
from tenure.model.uses import Submission
from tenure.store.interface import Head, Reads

T = TypeVar("T")

_READERS = 8


class Submitter(Protocol):
    """The way to the writer: in production a socket to its process."""

    async def submit(self, submissions: Sequence[Submission]) -> list[Reply]:
        """Have each submission decided and made durable; the replies in order."""
        ...


class Committed(Protocol):
    """What is committed, from any thread; every store is one."""

    @property
    def reads(self) -> Reads:
        """Lists and single things."""
        ...

    def head(self) -> Head:
        """The end of the ledger now."""
        ...

    def entries(self, after: int, limit: int, kinds: Sequence[str] = ()) -> list[Entry]:
        """The ledger after a sequence."""
        ...


class Names:
    """Names by id of what answers mention most, remembered until the feed says that one changed."""

    def __init__(self, backing: "Backing") -> None:
        self._backing = backing
        self.networks: dict[str, str] = {}
        self.locations: dict[str, str] = {}

    async def know(self, networks: set[str], locations: set[str]) -> None:
        """Read the names that are not known yet; what is gone keeps its id for a name."""
        networks = networks - self.networks.keys()
        locations = locations - self.locations.keys()
        if networks or locations:
            await self._backing.read(self._load, networks, locations)

    def forget(self) -> None:
        """Read them all again when they are next needed."""
        self.networks, self.locations = {}, {}

    def _load(self, networks: set[str], locations: set[str]) -> None:
        reads = self._backing.committed.reads
        into = self.networks, self.locations
        for id_ in networks:
            network = reads.network(id_).value
            into[0][id_] = id_ if network is None else network.name
        for id_ in locations:
            location = reads.location(id_).value
            into[1][id_] = id_ if location is None else location.name


class Bell:
    """Wakes those who wait for the ledger to grow."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def ring(self) -> None:
        """Wake everybody who waits now."""
        self._event.set()
        self._event = asyncio.Event()

    async def wait(self, seconds: float) -> None:
        """Until it rings, or `seconds` have passed: the feed may be late, so that callers look again."""
        try:
            await asyncio.wait_for(self._event.wait(), seconds)
        except TimeoutError:
            return


class Backing:
    """One application's.

    Attributes:
        position: The latest place in the ledger that this process knows of, `epoch:sequence`.
        bell: Rings when the ledger grew.
        clock: The time, UTC.
    """

    def __init__(self, doors: Submitter, committed: Committed, clock: Callable[[], datetime]) -> None:
        self.doors = doors
        self.committed = committed
        self.clock = clock
        self.bell = Bell()
        self.names = Names(self)
        self.position = ""
        self._readers = ThreadPoolExecutor(_READERS, "api-read")

    async def read(self, work: Callable[..., T], *args: Any) -> T:
        """Do blocking `work` beside the loop."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, work, *args)

    def advance(self, position: str) -> None:
        """Take note of a place in the ledger; an older one of the same epoch is ignored."""
        if place_of(position) > place_of(self.position) or epoch_of(position) != epoch_of(self.position):
            self.position = position

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
