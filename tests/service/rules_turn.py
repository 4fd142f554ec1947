"""Rules of the ledger about one turn: each a test of a fresh world, with the fault that it catches."""

from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

import pytest

from tenure.engine import facts, images
from tenure.engine.draft import Draft, Moment
from tenure.errors import StoreUnavailable
from tenure.model import uses as u
from tenure.model.answers import Answers, Failure, Holding, Reply
from tenure.naming import records
from tenure.service import planning, queue, zones
from tenure.service.memory import Memory
from tenure.service.planning import Planned
from tenure.service.queue import Queue
from tenure.service.replay import differences
from tenure.service.writer import Limits, Writer
from tenure.store.sql.store import open_store
from tests.service.world import World, addresses, claim, only, submission

Fault = pytest.MonkeyPatch


def durable_before_answer(world: World) -> None:
    """Nothing is answered before it is durable: another connection sees it when the answer comes."""
    node = world.site()
    seen: list[tuple[int, str]] = []
    other = open_store(world.file, world.clock.now)
    future = node.submit(submission(claim("a")))
    future.add_done_callback(lambda done: seen.append((other.head().sequence, done.result()[0].sequence)))
    node.writer.step()
    other.close()
    ((durable, answered),) = seen
    assert answered == f"{node.head.epoch}:{durable}"
    assert durable > 3


def never_commits(fault: Fault) -> None:
    """Claims are answered, and their transaction is left to roll back."""
    commits = Writer._record

    def record(self: Writer, turn: Any, planned: Planned) -> None:
        if any(isinstance(change.asked.use, u.ClaimAddresses) for change in planned.changes):
            turn.apply(planned.prepare(next(self.ids)))
        else:
            commits(self, turn, planned)

    fault.setattr(Writer, "_record", record)


def views_before_answer(world: World) -> None:
    """This node's views know of a change before its caller does."""
    node = world.site()
    known: list[int] = []
    future = node.submit(submission(claim("a")))
    future.add_done_callback(lambda _: known.append(node.told[-1].sequence))
    node.writer.step()
    assert known == [node.sequence]


def tells_late(fault: Fault) -> None:
    """The views are told at the next turn."""
    tell = Writer._tell

    def late(self: Writer) -> None:
        held, self.memory.untold = self.memory.untold[-1:], self.memory.untold[:-1]
        tell(self)
        self.memory.untold = held

    fault.setattr(Writer, "_tell", late)


def refusals_leave_nothing(world: World) -> None:
    """A refused use leaves nothing behind, and the uses beside it go on."""
    node = world.site()
    node.ok(u.CreateSubnet(network="prod", cidr="10.0.4.0/29"))
    asked = [
        submission(claim("a", subnet="10.0.4.0/29")),
        submission(claim("b", subnet="10.0.4.0/29", count=6)),
        submission(claim("c", subnet="10.0.4.0/29", count=5)),
    ]
    answers = [reply.answer for reply in node.replies(*asked)]
    assert [type(answer) for answer in answers] == [Holding, Failure, Holding]
    assert len(addresses(answers)) == 6
    node.check()


def keeps_refused(fault: Fault) -> None:
    """What a refused use had begun stays in the memory."""
    fault.setattr(Draft, "unwind", lambda self: self.events.clear())


def together_or_not(world: World) -> None:
    """All uses of a `Together` are recorded, or none."""
    node = world.site()
    before = node.sequence
    uses = (claim("a"), claim("b"), u.ReleaseClaim(claim="nobody"))
    reply = node.reply(u.Together(uses=uses))
    assert isinstance(reply.answer, Failure)
    assert node.sequence == before
    done = node.ok(u.Together(uses=uses[:2]))
    assert isinstance(done, Answers)
    assert len(addresses(done.items)) == 2
    node.check()


def takes_apart(fault: Fault) -> None:
    """A `Together` is queued as its single uses."""
    put = Queue.put

    def apart(self: Queue, asked: Sequence[u.Submission]) -> Future[list[Reply]]:
        use = asked[0].use
        return put(self, [submission(each) for each in use.uses] if isinstance(use, u.Together) else asked)

    fault.setattr(Queue, "put", apart)


def later_sees_earlier(world: World) -> None:
    """Later uses of a batch see earlier ones, by key too."""
    node = world.site()
    first, again, other = (
        reply.answer for reply in node.replies(*(submission(claim(handle)) for handle in ("a", "a", "b")))
    )
    assert isinstance(first, Holding) and isinstance(again, Holding)
    assert (first.claim.id, first.created, again.created) == (again.claim.id, True, False)
    assert len(set(addresses([first, other]))) == 2
    node.check()


def blind_to_earlier(fault: Fault) -> None:
    """What a batch writes is netted, but not shown to the uses after it."""

    def reduce(self: facts.Facts, found: tuple[images.Image, ...]) -> list[facts.Undo]:
        for image in found:
            images.net(self.net, image)
            if image.table == "claims":
                self.claims[image.key[0]] = image.row
        return []

    fault.setattr(facts.Facts, "reduce", reduce)


def only_the_culprit(world: World) -> None:
    """Data that the database refuses fail the use that they came with, and no other."""
    node = world.site()
    asked = [submission(claim(f"c{at}"), source="\ud800" if at == 5 else "::1") for at in range(9)]
    replies = node.replies(*asked)
    failed = [at for at, reply in enumerate(replies) if isinstance(reply.answer, Failure)]
    assert failed == [5]
    assert only(Failure, [replies[5].answer])[0].code == "internal"
    assert len(set(addresses([reply.answer for reply in replies]))) == 8
    node.check()


def fails_them_all(fault: Fault) -> None:
    """A refused batch is not planned again by halves."""

    def fail(self: Writer, items: list[queue.Waiting], error: Exception) -> None:
        for item in items:
            self._answer(item, planning.bug("refused"))

    fault.setattr(Writer, "_halve", fail)


def bugs_stay_alone(world: World) -> None:
    """A use that meets a bug is told so, alone; nothing that it may have done to the memory stays."""
    node = world.site()
    unplannable: u.Use = None  # type: ignore[assignment]
    replies = node.replies(submission(claim("a")), submission(unplannable), submission(claim("b")))
    first, broken, last = (reply.answer for reply in replies)
    assert isinstance(broken, Failure) and broken.code == "internal"
    assert len(set(addresses([first, last]))) == 2
    assert node.told[-2].start_over
    assert differences(node.store) == []
    assert node.writer.readiness() == []


def bugs_spread(fault: Fault) -> None:
    """Whoever was in the turn with a bug is told that it is broken."""

    def serve(self: Writer, items: list[queue.Waiting]) -> None:
        try:
            self._turn(items)
        except Exception as error:
            self._failed(error)
            self._answer_all(items, planning.bug("broken"))

    fault.setattr(Writer, "_serve", serve)


def dry_runs_record_nothing(world: World) -> None:
    """A dry run answers what would be, and records nothing, its key neither."""
    node = world.site()
    before = node.sequence
    would = node.ok(claim("a"), dry_run=True, key="k", digest=b"1" * 32)
    assert node.sequence == before
    node.check()
    done = node.reply(claim("a"), key="k", digest=b"2" * 32)
    assert isinstance(would, Holding) and isinstance(done.answer, Holding)
    assert (addresses([would]), done.replayed) == (addresses([done.answer]), False)


def dry_runs_are_real(fault: Fault) -> None:
    """`dry_run` is overlooked."""
    add = Planned.add

    def wet(self: Planned, asked: u.Submission, moment: Moment) -> Any:
        return add(self, submission(asked.use), moment)

    fault.setattr(Planned, "add", wet)


def one_serial_step(world: World) -> None:
    """A zone's serial takes one step a transaction, and none where nothing came of it."""
    node = world.site()
    zone = node.writer.memory.state.zone_named(_default_vrf(node.writer.memory), "prod.example.")
    assert zone is not None
    before = node.writer.memory.serials[zone.id]
    node.replies(*(submission(claim(f"c{at}", hostname=f"c{at}")) for at in range(10)))
    assert node.writer.memory.serials[zone.id] == before + 1
    held = node.claim("c0", hostname="c0")
    ip = held.addresses[0].ip
    again = claim("d", hostname="c0", address=ip, during_cooldown=True)
    replies = node.replies(submission(u.ReleaseClaim(claim=held.claim.id)), submission(again))
    assert addresses([reply.answer for reply in replies[1:]]) == [ip]
    assert node.writer.memory.serials[zone.id] == before + 1
    assert node.told[-1].zone_changes == ()
    node.check()


def counts_every_record(fault: Fault) -> None:
    """What enters and leaves a zone is not netted."""

    def gross(changes: Any, before: Any = None) -> Any:
        kept = list(changes)
        return tuple(r for what, r in kept if what == "remove"), tuple(r for what, r in kept if what == "add")

    fault.setattr(records, "net", gross)


def zones_are_the_allocations(world: World) -> None:
    """Following the zones' changes gives the names of what is allocated, and no other."""
    node = world.site()
    node.ok(u.CreateSubnet(network="prod", cidr="2001:db8::/64"))
    held = [node.claim(f"c{at}", hostname=f"c{at}", family="dual") for at in range(4)]
    node.release(held[1])
    node.claim("e", hostname="c1", family="v6")
    node.check()
    assert sum(len(change.removed) for told in node.told for change in told.zone_changes) == 4


def forgets_to_remove(fault: Fault) -> None:
    """A released name stays in its zone."""
    of = zones.Notes._of

    def some(self: zones.Notes, event: Any, events: Any) -> Any:
        return of(self, event, events) if event.kind != "tenure.address.released" else iter(())

    fault.setattr(zones.Notes, "_of", some)


def no_serial_twice(world: World) -> None:
    """A zone that comes back goes on after its last serial, after a restart of the node too."""
    node = world.site()
    for held in [node.claim(f"c{at}", hostname=f"c{at}") for at in range(5)]:
        node.release(held)
    last = max(change.serial for told in node.told for change in told.zone_changes)
    node.ok(u.ChangeNetwork(network="prod", changes={"domain": None}))
    node.stop()
    node = world.node()
    node.ok(u.ChangeNetwork(network="prod", changes={"domain": "prod.example."}))
    zone = next(zone for zone in node.writer.memory.state.zones.values() if zone.name == "prod.example.")
    assert node.writer.memory.serials[zone.id] > last


def begins_at_one(fault: Fault) -> None:
    """A new zone has the serial of every new zone."""
    fault.setattr(Memory, "first_serial", lambda self, zone: zone.serial)


def urgent_first(world: World) -> None:
    """Urgent uses go before all that waits."""
    node = world.site()
    done: list[str] = []
    for name, urgent in (("plain", False), ("urgent", True)):
        future = node.submit(submission(u.ReadCapacity(network="prod"), urgent=urgent))
        future.add_done_callback(partial(_append, done, name))
    node.writer.step()
    assert done == ["urgent", "plain"]


def _append(done: list[str], name: str, _: object) -> None:
    done.append(name)


def nobody_is_urgent(fault: Fault) -> None:
    """`urgent` is overlooked."""
    put = Queue.put

    def plain(self: Queue, asked: Sequence[u.Submission]) -> Future[list[Reply]]:
        return put(self, [submission(each.use) for each in asked])

    fault.setattr(Queue, "put", plain)


def batches_give_way(world: World) -> None:
    """A long batch is taken in chunks, and what came after it waits for one chunk only."""
    world.limits = Limits(chunk=8, gather=16)
    node = world.site()
    long = node.submit(*(submission(claim(f"c{at}")) for at in range(40)))
    single = node.submit(submission(claim("single")))
    node.writer.step()
    assert single.done() and not long.done()
    while not long.done():
        node.writer.step()
    assert len(set(addresses([reply.answer for reply in (*long.result(), *single.result())]))) == 41
    node.check()


def batches_go_whole(fault: Fault) -> None:
    """What is left of a batch goes to the front again."""
    take = Queue._take

    def greedy(self: Queue, line: queue.Line, taken: list[queue.Waiting], room: int) -> int:
        return take(self, line, taken, 1000)

    fault.setattr(Queue, "_take", greedy)


def bounded_queue(world: World) -> None:
    """A full queue says so at once, and when to come again; what it took before is done."""
    world.limits = Limits(queue=10)
    node = world.site()
    taken = node.submit(*(submission(claim(f"c{at}")) for at in range(10)))
    with pytest.raises(StoreUnavailable) as full:
        node.submit(submission(claim("late")))
    assert full.value.facts["retry_after"] >= 1
    node.writer.step()
    assert len(addresses([reply.answer for reply in taken.result(0)])) == 10
    assert node.claim("late").created


def unbounded_queue(fault: Fault) -> None:
    """Everybody is let in."""
    fault.setattr(Queue, "_admit", lambda self, weight: None)


def patience_ends(world: World) -> None:
    """A use that was not begun within its caller's patience is dropped, and changes nothing."""
    node = world.site()
    before = node.sequence
    future = node.submit(submission(claim("a"), patience=2.0), submission(claim("b"), patience=20.0))
    world.clock.pause(5)
    node.writer.step()
    dropped, done = (reply.answer for reply in future.result(0))
    assert isinstance(dropped, Failure) and dropped.code == "store_unavailable"
    assert isinstance(done, Holding)
    assert node.sequence > before
    assert node.claim("a").created


def endless_patience(fault: Fault) -> None:
    """Deadlines are overlooked."""
    wait = queue.Waiting.__init__

    def patient(self: queue.Waiting, asked: u.Submission, deadline: float, line: queue.Line, place: int) -> None:
        wait(self, asked, float("inf"), line, place)

    fault.setattr(queue.Waiting, "__init__", patient)


def _default_vrf(memory: Memory) -> str:
    found = memory.state.find("vrf", "default")
    assert found is not None
    return found
