"""A writer over a real embedded store, taken one turn at a time: what the tests of the service stand on."""

import random
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tenure.engine.state import State
from tenure.model import uses as u
from tenure.model.answers import Answer, Failure, Holding, Reply
from tenure.model.dnsdata import Record
from tenure.model.holding import ClaimRequest
from tenure.service.contents import Contents, zone_contents
from tenure.service.feed import Committed
from tenure.service.replay import described, differences
from tenure.service.witness import Witness
from tenure.service.writer import Limits, Writer
from tenure.store.interface import Store
from tenure.store.sql.store import open_store

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)

A = TypeVar("A")


class StillClock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.wall = BEGINNING
        self.counted = 1000.0

    def now(self) -> datetime:
        """The node's clock."""
        return self.wall

    def monotonic(self) -> float:
        """What only counts."""
        return self.counted

    def pause(self, seconds: float) -> None:
        """Both pass."""
        self.counted += seconds
        self.wall += timedelta(seconds=seconds)

    def step(self, seconds: float) -> None:
        """Somebody sets the wall clock."""
        self.wall += timedelta(seconds=seconds)


def listed(contents: Contents) -> list[Record]:
    """All records of a zone that a transfer has, but those that it has by itself; computed ones where nothing is."""
    found = list(contents.records)
    owners = {record.owner for record in found}
    for stretch, taken in contents.stretches:
        numbers = range(stretch.first, stretch.last + 1) if stretch.listed else ()
        computed = (stretch.record(number) for number in numbers if number not in taken)
        found.extend(record for record in computed if record.owner not in owners)
    return found


class Names:
    """What a DNS process makes of what it is told: zones that follow change by change, or are loaded again."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.told: list[Committed] = []
        self.zones: dict[str, set[Record]] = {}
        self.serials: dict[str, int] = {}

    def load(self) -> None:
        """Begin with everything."""
        self._load(None)

    def take(self, committed: Committed) -> None:
        """Take in one transaction."""
        self.told.append(committed)
        if committed.reload or committed.start_over:
            self._load(None if committed.start_over else committed.reload)
        for change in committed.zone_changes:
            self.zones[change.zone] = self.zones[change.zone] - {*change.removed} | {*change.added}
            self.serials[change.zone] = change.serial

    def _load(self, some: Sequence[str] | None) -> None:
        with self._store.snapshot() as snapshot:
            found = {each.zone.id: (each.zone.serial, set(listed(each))) for each in zone_contents(snapshot)}
        for zone in [*self.zones, *found] if some is None else some:
            self.zones.pop(zone, None)
            self.serials.pop(zone, None)
            if zone in found:
                self.serials[zone], self.zones[zone] = found[zone]


class Node:
    """One node: a store on the shared file, a witness of its own, a writer, and what its views were told."""

    def __init__(self, world: "World", name: str, wrap: Callable[[Store], Store], limits: Limits, seed: int) -> None:
        self.world = world
        self.directory = world.directory / name
        self.directory.mkdir(exist_ok=True)
        self.store = wrap(open_store(world.file, world.clock.now))
        self.names = Names(self.store)
        self.witness = Witness(self.directory)
        self.writer = Writer(self.store, self.witness, world.clock, self.names.take, limits=limits, seed=seed)
        self.head = self.writer.open()
        self.names.load()

    @property
    def told(self) -> list[Committed]:
        """What this node's views were told."""
        return self.names.told

    def submit(self, *asked: u.Submission) -> Future[list[Reply]]:
        """Let uses wait."""
        return self.writer.submit(asked)

    def replies(self, *asked: u.Submission) -> list[Reply]:
        """Ask, take turns until all is answered, and give the replies."""
        future = self.submit(*asked)
        while not future.done():
            self.writer.step()
        return future.result(0)

    def reply(self, use: u.Use, **circumstances: Any) -> Reply:
        """The reply to one use."""
        return self.replies(submission(use, **circumstances))[0]

    def answer(self, use: u.Use, **circumstances: Any) -> Answer:
        """The answer to one use."""
        return self.reply(use, **circumstances).answer

    def ok(self, use: u.Use, **circumstances: Any) -> Answer:
        """The answer to a use that must succeed."""
        answer = self.answer(use, **circumstances)
        assert not isinstance(answer, Failure), answer
        return answer

    def claim(self, handle: str, **request: Any) -> Holding:
        """A claim that must succeed."""
        answer = self.ok(claim(handle, **request))
        assert isinstance(answer, Holding)
        return answer

    def release(self, held: Holding) -> Holding:
        """Release a claim."""
        answer = self.ok(u.ReleaseClaim(claim=held.claim.id))
        assert isinstance(answer, Holding)
        return answer

    @property
    def sequence(self) -> int:
        """The end of the ledger, as its file says."""
        return self.store.head().sequence

    def check(self) -> None:
        """Assert that ledger, tables, memory, serials and what the views were told all say the same."""
        assert differences(self.store) == []
        with self.store.snapshot() as snapshot:
            now = snapshot.head.time or BEGINNING
            assert described(self.writer.memory.state, now) == described(State.load(snapshot, now), now)
            assert self.writer.memory.serials == {zone.id: zone.serial for zone in snapshot.zones}
            assert self.writer.memory.head == snapshot.head
            contents = {each.zone.id: listed(each) for each in zone_contents(snapshot)}
        assert all(len(set(records)) == len(records) for records in contents.values())
        assert self.names.zones == {zone: set(records) for zone, records in contents.items()}
        assert self.names.serials == self.writer.memory.serials

    def die(self) -> None:
        """As a kill does: what only memory knows is not written down. Idempotent."""
        self.store.close()
        self.witness.drop()

    def stop(self) -> None:
        """As `serve` does when it ends."""
        self.writer.stop()
        self.store.close()


class World:
    """A ledger in a file, or in the database at a URL, and the nodes that write it."""

    def __init__(self, directory: Path, seed: int, url: str | None = None) -> None:
        self.directory = directory
        self.file = url or directory / "tenure.sqlite"
        self.clock = StillClock()
        self.ahead = timedelta()
        self.chance = random.Random(seed)
        self.limits = Limits()
        self.nodes: list[Node] = []
        store = open_store(self.file, self.clock.now)
        store.prepare()
        store.close()

    def node(self, name: str = "one", wrap: Callable[[Store], Store] = lambda store: store) -> Node:
        """Start a node."""
        node = Node(self, name, wrap, self.limits, self.chance.getrandbits(63))
        self.nodes.append(node)
        return node

    def site(self, name: str = "one", wrap: Callable[[Store], Store] = lambda store: store) -> Node:
        """Start a node, and furnish the ledger."""
        return self.furnish(self.node(name, wrap))

    def furnish(self, node: Node) -> Node:
        """Make a network `prod` of 10.0.3.0/24, named and without cooldown, and a host."""
        if node.store.head().sequence == 0:
            node.answer(u.CreateVrf(name="default"))
        node.ok(u.CreateLocation(name="h1", kind="host"))
        node.ok(u.CreateNetwork(name="prod", fields={"domain": "prod.example.", "cooldown": 0, "ttl": 0}))
        node.ok(u.CreateSubnet(network="prod", cidr="10.0.3.0/24"))
        return node

    def backup(self) -> Path:
        """Copy the ledger as it is; nobody may be writing."""
        copy = self.directory / f"backup-{self.chance.getrandbits(32)}.sqlite"
        with open_store(self.file, self.clock.now).turn():
            shutil.copy(self.file, copy)
            wal = Path(f"{self.file}-wal")
            if wal.exists():
                shutil.copy(wal, f"{copy}-wal")
        return copy

    def restore(self, copy: Path) -> None:
        """Put an earlier ledger in place of this one; nobody may have it open."""
        for ending in ("", "-wal", "-shm"):
            Path(f"{self.file}{ending}").unlink(missing_ok=True)
            if Path(f"{copy}{ending}").exists():
                shutil.copy(f"{copy}{ending}", f"{self.file}{ending}")

    def close(self) -> None:
        """Let go of everything."""
        for node in self.nodes:
            node.die()


def submission(use: u.Use, **circumstances: Any) -> u.Submission:
    """A use, asked by a test."""
    return msgspec.structs.replace(u.Submission(use=use, actor="token:test"), **circumstances)


def claim(handle: str | None, **request: Any) -> u.ClaimAddresses:
    """A claim on `prod`."""
    return u.ClaimAddresses(request=ClaimRequest(**{"network": "prod", **request}), handle=handle)


def only(kind: type[A], answers: Sequence[Any]) -> list[A]:
    """The answers of one kind."""
    return [answer for answer in answers if isinstance(answer, kind)]


def addresses(answers: Sequence[Any]) -> list[str]:
    """All addresses of the holdings among answers."""
    return [held.ip for answer in only(Holding, answers) for held in answer.addresses]
