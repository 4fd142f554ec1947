"""Rules of the ledger about what may be lost, repeated or restored: each a test, with the fault that it catches."""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tenure.engine.images import _IMAGES
from tenure.errors import EpochChanged, OutcomeUnknown, StoreUnavailable
from tenure.model import events as e
from tenure.model import uses as u
from tenure.model.answers import Failure, Holding, Leased, Number
from tenure.model.leases import Client, Place
from tenure.service import clock, epochs, memory, planning, upkeep
from tenure.service.feed import Follower
from tenure.service.planning import Planned
from tenure.service.queue import Queue
from tenure.service.replay import differences
from tenure.service.witness import Witness
from tenure.service.writer import Writer
from tenure.store.interface import Head, Store, Turn
from tests.service.world import Node, World, addresses, claim, submission

Fault = pytest.MonkeyPatch


class Line:
    """The way to a store, which can be cut in COMMIT: before or after the database has done it.

    Attributes:
        cut: `before` or `after` the database has done it, the next commit is cut.
        mute: The store cannot say what became of it.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.cut: str | None = None
        self.mute = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @contextmanager
    def turn(self) -> Iterator[Any]:
        """A turn whose commit may be cut."""
        with self._store.turn() as turn:
            yield _CutTurn(turn, self)

    def committed(self, batch: str, first: int) -> bool:
        """As the store says, if it can be reached."""
        if self.mute:
            raise StoreUnavailable("away")
        return self._store.committed(batch, first)


class _CutTurn:
    def __init__(self, turn: Turn, line: Line) -> None:
        self._turn = turn
        self._line = line

    def __getattr__(self, name: str) -> Any:
        return getattr(self._turn, name)

    def commit(self) -> None:
        cut, self._line.cut = self._line.cut, None
        if cut != "before":
            self._turn.commit()
        if cut is not None:
            raise OutcomeUnknown("cut")


def _lined(world: World) -> tuple[Node, Line]:
    node = world.site(wrap=Line)
    assert isinstance(node.store, Line)
    return node, node.store


def found_is_success(world: World) -> None:
    """A batch that is found in the ledger after its commit was cut is a success."""
    node, line = _lined(world)
    line.cut = "after"
    held = node.claim("a")
    assert held.created
    assert node.claim("a") == _again(held)
    node.check()


def never_found(fault: Fault) -> None:
    """An unknown outcome is taken for a failure."""
    fault.setattr(Writer, "_ask", lambda self, batch, deadline: False)


def absent_is_nothing(world: World) -> None:
    """A batch that is not in the ledger after its commit was cut did not happen, and is said not to have."""
    node, line = _lined(world)
    before = node.sequence
    line.cut = "before"
    answer = node.answer(claim("a"))
    assert isinstance(answer, Failure) and answer.code == "store_unavailable"
    assert node.sequence == before
    assert node.claim("b").created
    node.check()


def always_found(fault: Fault) -> None:
    """An unknown outcome is taken for a success."""
    fault.setattr(Writer, "_ask", lambda self, batch, deadline: True)


def undecided_is_said(world: World) -> None:
    """An outcome that nobody can tell in time is said to be unknown; the ledger tells later, either way."""
    node, line = _lined(world)
    for cut, handle in (("after", "a"), ("before", "b")):
        line.cut, line.mute = cut, True
        answer = node.answer(claim(handle), patience=3.0)
        assert isinstance(answer, Failure) and answer.code == "outcome_unknown"
        assert node.writer.readiness()
        line.mute = False
        repeated = node.ok(claim(handle))
        assert isinstance(repeated, Holding)
        assert repeated.created == (cut == "before")
        node.check()
    assert node.writer.readiness() == []


def keeps_the_undecided(fault: Fault) -> None:
    """The memory keeps what may not have happened."""
    fault.setattr(Planned, "unwind", lambda self: None)


def shorter_ledger_new_epoch(world: World) -> None:
    """A ledger that lost its end starts a new epoch: reloaded, cursors refused, serials beyond all that was lost."""
    node = world.site()
    node.claim("kept", hostname="kept")
    copy = world.backup()
    for at in range(5):
        node.claim(f"lost{at}", hostname=f"lost{at}")
    last = {change.zone: change.serial for told in node.told for change in told.zone_changes}
    follower = Follower(node.store, node.writer.memory.head or node.head)
    node.stop()
    world.restore(copy)
    follower = Follower(_reopened(world, node), follower.place)
    node = world.node()
    assert node.head.epoch != follower.place.epoch
    with pytest.raises(EpochChanged) as changed:
        follower.read()
    assert changed.value.facts["epoch"] == node.head.epoch
    serials = node.writer.memory.serials
    assert all(serials[zone] - serial >= 2**27 for zone, serial in last.items())
    started = node.store.entries(node.head.sequence - 1, 10)
    assert [entry.event.kind for entry in started] == ["tenure.ledger.epoch_started"]
    assert differences(node.store) == []
    assert node.claim("lost0").created


def _reopened(world: World, node: Node) -> Store:
    from tenure.store.sql.store import open_store

    return open_store(world.file, world.clock.now)


def trusts_any_ledger(fault: Fault) -> None:
    """Nobody looks whether the last known batch is still there."""
    fault.setattr("tenure.service.writer.holds", lambda turn, known: True)


def noticed_after_all_stopped(world: World) -> None:
    """A restore while every node was stopped is noticed by what a node remembers beside the ledger."""
    node = world.site()
    copy = world.backup()
    node.claim("lost")
    node.stop()
    world.restore(copy)
    assert world.node().head.epoch != node.head.epoch


def remembers_nothing(fault: Fault) -> None:
    """The witness is not read at start."""
    fault.setattr(Witness, "_read_head", lambda self: None)


def restores_differ(world: World) -> None:
    """Two restores of one backup never share an epoch."""
    node = world.site()
    copy = world.backup()
    node.claim("lost")
    node.stop()
    found = [node.head.epoch]
    for _ in range(2):
        world.restore(copy)
        node = world.node()
        found.append(node.head.epoch)
        node.claim("lost")
        node.stop()
    assert len(set(found)) == 3


def counts_epochs(fault: Fault) -> None:
    """A new epoch's id follows from the ledger alone."""
    begin = epochs.begin

    def counted(known: Any, store: Store, turn: Turn, ids: Iterator[str]) -> None:
        begin(known, store, turn, iter([f"{turn.head.sequence:020x}", next(ids), next(ids)]))

    fault.setattr("tenure.service.writer.epochs.begin", counted)


def others_are_followed(world: World) -> None:
    """What another node wrote is known before anything is planned, and told to this node's views once, in order."""
    one, two = world.node("one"), world.node("two")
    world.furnish(one)
    held = [(one, two)[at % 2].claim(f"c{at}", hostname=f"c{at}") for at in range(20)]
    assert len(set(addresses(held))) == 20
    two.release(held[0])
    one.writer.step()
    for node in (one, two):
        told = [entry.sequence for committed in node.told for entry in committed.entries]
        assert told == list(range(1, node.sequence + 1))
        node.check()


def deaf_to_others(fault: Fault) -> None:
    """What others did to addresses is skipped."""
    follow = memory.Memory._follow_batch

    def skip(self: memory.Memory, entries: list[e.Entry]) -> None:
        assert self.head is not None
        if not any(isinstance(entry.event, e.AddressAllocated) for entry in entries):
            return follow(self, entries)
        self.head = Head(self.head.epoch, entries[-1].sequence, entries[-1].batch, entries[-1].time)
        return None

    fault.setattr(memory.Memory, "_follow_batch", skip)


def same_key_same_answer(world: World) -> None:
    """The same idempotency key brings the same answer, with the claim as it is now; with another body it is refused."""
    node = world.site()
    first = node.reply(claim(None), key="k", digest=b"1" * 32)
    again = node.reply(claim(None), key="k", digest=b"1" * 32)
    assert (again.answer, first.replayed, again.replayed) == (first.answer, False, True)
    other = node.answer(claim(None, count=2), key="k", digest=b"2" * 32)
    assert isinstance(other, Failure) and other.code == "key_reused"
    assert isinstance(first.answer, Holding)
    node.release(first.answer)
    released = node.answer(claim(None), key="k", digest=b"1" * 32)
    assert isinstance(released, Holding)
    assert (released.claim.state, released.addresses) == ("released", ())
    refused = node.answer(claim(None, network="none"), key="r", digest=b"3" * 32)
    assert isinstance(refused, Failure)
    assert node.reply(claim(None), key="r", digest=b"4" * 32).replayed is False
    pair = [submission(claim(None), key="p", item=item, digest=digest * 32) for item, digest in ((3, b"5"), (4, b"6"))]
    for asked in (pair, pair[::-1]):  # in one turn, then in two: the key is one for all items
        answers = [reply.answer for reply in node.replies(*asked)]
        assert sorted(each.code if isinstance(each, Failure) else "" for each in answers) == ["", "key_reused"]


def forgets_keys(fault: Fault) -> None:
    """Keys are not remembered."""
    fault.setattr(Planned, "_keys", lambda self: iter(()))


def one_in_flight(world: World) -> None:
    """Of two uses under one key at once, the second is refused at once."""
    node = world.site()
    first = node.submit(submission(claim(None), key="k", digest=b"1" * 32))
    second = node.submit(submission(claim(None), key="k", digest=b"1" * 32))
    assert second.done()
    answer = second.result(0)[0].answer
    assert isinstance(answer, Failure) and answer.code == "conflict"
    node.writer.step()
    assert isinstance(first.result(0)[0].answer, Holding)
    assert node.reply(claim(None), key="k", digest=b"1" * 32).replayed


def all_in_flight(fault: Fault) -> None:
    """Nobody looks which keys are being worked on."""
    enter = Queue._enter

    def careless(self: Queue, line: Any, waiting: list[Any]) -> list[Any]:
        self._keys.clear()
        return enter(self, line, waiting)

    fault.setattr(Queue, "_enter", careless)


def released_is_shown(world: World) -> None:
    """A replayed answer shows each claim as it is now."""
    node = world.site()
    held = node.ok(claim("a"), key="k", digest=b"1" * 32)
    assert isinstance(held, Holding)
    node.release(held)
    again = node.ok(claim("a"), key="k", digest=b"1" * 32)
    assert isinstance(again, Holding) and again.claim.until is not None


def shows_the_past(fault: Fault) -> None:
    """A replayed answer is the recorded one."""
    fault.setattr(planning, "_current", lambda answer, draft: answer)


def steps_suspend_expiry(world: World) -> None:
    """A step of the clock suspends expiry until it was calm for a while."""
    node = _leasing(world)
    world.clock.pause(10)
    node.claim("a")
    world.clock.step(7 * 86400)
    for upkeeps in (u.ExpireLeases(), u.Tend()):
        assert isinstance(node.answer(upkeeps), Failure)
    assert node.writer.readiness()
    world.clock.pause(clock.CALM)
    node.claim("b")
    assert node.ok(u.ExpireLeases()) == Number(1)
    assert node.writer.readiness() == []
    node.check()


def never_suspends(fault: Fault) -> None:
    """No step is too long."""
    fault.setattr(clock, "STEP", float("inf"))


def time_never_goes_back(world: World) -> None:
    """The ledger's time never goes back, whatever the node's clock does."""
    node = world.site()
    for seconds in (5, -3600, 10, 3700):
        world.clock.step(seconds)
        node.claim(f"at {seconds}")
    times = [entry.time for entry in node.store.entries(0, 1000)]
    assert times == sorted(times)


def follows_the_clock(fault: Fault) -> None:
    """The node's clock is taken as it is."""
    fault.setattr("tenure.store.sql.turns.max", lambda now, last: now, raising=False)


def ledger_is_the_truth(world: World) -> None:
    """The tables and the state are what the ledger's events say, and nothing else."""
    node = _leasing(world)
    held = [node.claim(f"c{at}", hostname=f"c{at}", mac=f"52:54:00:00:00:{at:02x}") for at in range(6)]
    node.release(held[2])
    node.ok(u.RebindClaim(claim=held[3].claim.id, host="h1"))
    node.check()
    node.store.close()
    with sqlite3.connect(world.file) as db:
        db.execute("UPDATE claims SET host = 'elsewhere' WHERE id = ?", (held[4].claim.id,))
    assert any(held[4].claim.id in line for line in differences(node.store))


def loses_promises(fault: Fault) -> None:
    """One kind of event writes no row."""
    fault.setitem(_IMAGES, e.ClaimRebound, lambda event: ())


def upkeep_is_one_nodes(world: World) -> None:
    """What time alone does is done by one node, the one that has the duty; it closes leases and forgets keys."""
    node = _leasing(world)
    node.ok(claim("a"), key="k", digest=b"1" * 32)

    def submit(asked: Iterable[u.Submission]) -> Any:
        future = node.submit(*asked)
        node.writer.step()
        return future

    first, second = (upkeep.Upkeep(node.store, world.clock, owner, submit) for owner in ("one", "two"))
    closed = first.step()
    for _ in range(49):
        world.clock.pause(1800)
        node.writer.step()
        closed += first.step()
        assert second.step() == 0
    assert closed == 1
    node.ok(claim("b"), key="k", digest=b"2" * 32)
    node.check()


def keeps_keys(fault: Fault) -> None:
    """Old keys are kept."""
    fault.setattr(upkeep, "KEYS_LAST", upkeep.KEYS_LAST * 1000)


def followed_once_in_order(world: World) -> None:
    """A follower reads each entry once and in order, whatever the pages, and notices a ledger that is another."""
    node = world.site()
    node.replies(*(submission(claim(f"c{at}")) for at in range(30)))
    follower = Follower(node.store, Head(node.head.epoch, 0, "", None))
    seen: list[int] = []
    while entries := follower.read(7):
        seen += [entry.sequence for entry in entries]
    assert seen == list(range(1, node.sequence + 1))
    place = follower.place
    copy = world.backup()
    node.claim("lost")
    follower.read()
    node.stop()
    world.restore(copy)
    store = _reopened(world, node)
    assert Follower(store, place).read() == []
    with pytest.raises(EpochChanged):
        Follower(store, follower.place).read()
    store.close()


def follows_blindly(fault: Fault) -> None:
    """A follower asks for what comes after a number, and for nothing else."""

    def read(self: Follower, limit: int = 1000) -> list[e.Entry]:
        return self._taken(self._store.entries(self.place.sequence, limit))

    fault.setattr(Follower, "read", read)


def _again(held: Holding) -> Holding:
    import msgspec

    return msgspec.structs.replace(held, created=False)


def _leasing(world: World) -> Node:
    """A site with a dynamic range, and one lease in it."""
    node = world.site()
    node.ok(u.CreateRange(subnet="10.0.3.0/24", start="10.0.3.200", end="10.0.3.220", role="dynamic"))
    client, place = Client(mac="52:54:00:aa:bb:cc"), Place(link=0x0A000301)
    offer = node.ok(u.LeaseOffer(client=client, place=place))
    assert isinstance(offer, Leased) and offer.lease is not None
    address = offer.lease.address
    leased = node.ok(u.LeaseCommit(client=client, place=place, address=address, form="selecting"))
    assert isinstance(leased, Leased) and leased.lease is not None
    return node
