"""The queue before the ledger: gather, catch up, lock, read once, plan each, apply once, answer all.

One turn of the writer is one transaction. The rules, and the test of each: docs/explanation/ledger.md.
"""

import logging
import os
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Final

import msgspec

from tenure.errors import OutcomeUnknown, StoreUnavailable, TenureError
from tenure.model.answers import Answer, Reply
from tenure.model.uses import Submission
from tenure.service import epochs
from tenure.service.clock import Clock, Steadiness
from tenure.service.feed import Committed, cursor
from tenure.service.memory import Memory, catch_up, holds
from tenure.service.planning import Broken, Planned, Planner, bug, failure
from tenure.service.queue import Queue, Waiting, absent, overdue, stopped, undecided
from tenure.service.witness import Witness
from tenure.store.interface import Batch, DataRefused, Head, Store, Turn

log = logging.getLogger(__name__)

_RETRY: Final = 0.25
"""Seconds between two questions about an unknown outcome."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How much at once.

    Attributes:
        queue: Uses that may wait.
        gather: Uses of one turn.
        chunk: Uses of one batch in a turn; what is left goes behind the others.
        page: Ledger entries read at once.
        behind: The most that a turn catches up with while it holds the lock; more than one turn of another node.
        idle: Seconds after which the writer looks around though nothing waits.
        clock_margin: Seconds added to the last DHCP promise before an address is given to another.
    """

    queue: int = 10_000
    gather: int = 1024
    chunk: int = 256
    page: int = 1000
    behind: int = 20_000
    idle: float = 1.0
    clock_margin: int = 5


class Writer:
    """Owns the allocator's memory and everything that is written. One thread; `submit` is for any.

    Either `start` gives it a thread, or the caller takes `step` for one turn at a time.

    Args:
        store: Prepared.
        witness: What this node remembers of the ledger.
        publish: Told each committed transaction, in order, from the writer's thread, before it is answered.
        seed: For ids and strategies in tests that want the same again.
    """

    def __init__(
        self,
        store: Store,
        witness: Witness,
        clock: Clock,
        publish: Callable[[Committed], None],
        *,
        limits: Limits = Limits(),
        seed: int | None = None,
    ) -> None:
        self._store = store
        self._witness = witness
        self._clock = clock
        self._publish = publish
        self._limits = limits
        chance = random.Random(seed if seed is not None else os.urandom(16))
        self.ids = fresh_ids(chance, clock)
        self._planner = Planner(self.ids, lambda: chance.getrandbits(63), limits.clock_margin)
        self._queue = Queue(limits.queue, limits.chunk, clock.monotonic)
        self._steadiness = Steadiness()
        self._thread: threading.Thread | None = None
        self._stopping = False
        self._trouble = ""
        self.memory = Memory(witness)

    def start(self) -> None:
        """Begin to take turns in a thread; `open` first, unless the caller did.

        Raises:
            StoreUnavailable: The store cannot be read or written now.
        """
        if self.memory.head is None:
            self.open()
        self._thread = threading.Thread(target=self._run, name="writer")
        self._thread.start()

    def open(self) -> Head:
        """Load the state and look whether the ledger is the one that was known; its end.

        Nothing is published: whoever follows begins after the head that comes back.
        """
        self.memory.load(self._store)
        while self._transact([]) is None:
            pass
        self.memory.untold.clear()
        assert self.memory.head is not None
        self._witness.note(self.memory.head)
        return self.memory.head

    def stop(self) -> None:
        """Finish the turn at hand, refuse what still waits, and write down what only memory knows."""
        self._stopping = True
        left = self._queue.close()
        if self._thread is not None:
            self._thread.join()
        for item in left:
            self._answer(item, failure(stopped()))
        self._witness.close()

    def submit(self, asked: Sequence[Submission]) -> Future[list[Reply]]:
        """Let `asked` wait for their turn; each succeeds or fails by itself.

        Returns:
            Replies in the order of `asked`; what is refused has a `Failure` for an answer.

        Raises:
            StoreUnavailable: Too much waits, or the writer has stopped; fact `retry_after` in seconds.
        """
        return self._queue.put(asked)

    def step(self) -> int:
        """Take one turn: plan what waits, up to a bound, record it, answer it. How many were answered."""
        waiting = self._queue.gather(self._limits.gather)
        now = self._clock.monotonic()
        items = [item for item in waiting if item.deadline > now]
        for item in waiting:
            if item.deadline <= now:
                self._answer(item, failure(overdue()))
        if items:
            self._serve(items)
        else:
            self._look_around()
        self._witness.save(self._clock.monotonic())
        return len(waiting)

    def poke(self) -> None:
        """Tell the writer that somebody else may have written."""
        self._queue.poke()

    def readiness(self) -> list[str]:
        """Why this node should not be asked now, or only for some things; empty if all is well."""
        reasons = [trouble for trouble in (self._trouble, self._witness.trouble) if trouble]
        if self.memory.head is None:
            reasons.append("the state is not loaded")
        if not self._steadiness.trusted:
            reasons.append(self._steadiness.reason)
        return reasons

    @property
    def waiting(self) -> int:
        """Uses that wait."""
        return self._queue.length

    def _run(self) -> None:
        while not self._stopping:
            self._queue.wait(self._limits.idle)
            self.step()

    def _look_around(self) -> None:
        """Follow what other nodes wrote, so that this node's views do not wait for a use of ours."""
        try:
            if not catch_up(self.memory, self._store, self._limits.page):
                self._turn([])
            self._tell()
            self._trouble = ""
        except Exception as error:
            self._failed(error)

    def _serve(self, items: list[Waiting]) -> None:
        """Answer each of `items`, whatever happens."""
        while items:
            try:
                return self._turn(items)
            except Broken as broken:
                self._failed(broken)
                self._answer(broken.item, bug("a bug of ours stopped this request; it is logged"))
                items = [item for item in items if item is not broken.item]
            except DataRefused as error:
                return self._halve(items, error)
            except (OutcomeUnknown, StoreUnavailable) as error:
                self._trouble = error.message
                return self._answer_all(items, failure(error))
            except Exception as error:
                self._failed(error)
                return self._answer_all(items, bug("a bug of ours stopped this request; it is logged"))
        return None

    def _halve(self, items: list[Waiting], error: DataRefused) -> None:
        """The database refused a turn's data, or gave what cannot be read: find whose they are; the others go on."""
        if len(items) == 1:
            log.error("the database and the data of a request do not go together: %r", items[0].asked, exc_info=error)
            self._answer(items[0], bug("what this request would write, or has to read, is no data; it is logged"))
            return
        middle = len(items) // 2
        self._serve(items[:middle])
        self._serve(items[middle:])

    def _failed(self, error: Exception) -> None:
        """A bug, or a store that cannot be reached: trust nothing, load again at the next turn."""
        if isinstance(error, TenureError):
            self._trouble = error.message
            return
        log.error("the writer's turn failed", exc_info=error)
        self._trouble = "the last turn failed by a bug; it is logged"
        self.memory.forget()

    def _turn(self, items: list[Waiting]) -> None:
        """One transaction, or none where nothing changes; answers `items`.

        Raises:
            DataRefused, StoreUnavailable: Nothing was changed, here or there.
            OutcomeUnknown: It may have been recorded. The memory is as before: the ledger will tell.
        """
        if self.memory.head is None:
            self.memory.load(self._store)
            self.memory.start_over()
        planned = self._transact(items)
        while planned is None:
            planned = self._transact(items)
        if planned.batch is not None:
            self.memory.advance(planned.head, planned.batch.entries, planned.move)
        self._trouble = ""
        self._tell()
        for item, outcome in zip(items, planned.outcomes, strict=True):
            self._answer(item, outcome.answer, replayed=outcome.replayed)

    def _transact(self, items: list[Waiting]) -> Planned | None:
        """Catch up, lock, plan and record; None where the lock was needed for something else first."""
        caught_up = catch_up(self.memory, self._store, self._limits.page)
        planned: Planned | None = None
        try:
            with self._store.turn() as turn:
                if not self._settle(turn, caught_up):
                    return None
                self._steadiness.see(turn.now, self._clock.monotonic())
                planned = self._planner.plan(items, turn, self.memory, trusted=self._steadiness.trusted)
                self._record(turn, planned)
        except OutcomeUnknown as error:
            self._decide(planned, max((item.deadline for item in items), default=0.0), error)
        except BaseException:
            if planned is not None:
                planned.unwind()
            raise
        return planned

    def _settle(self, turn: Turn, caught_up: bool) -> bool:
        """Make the memory that of the locked ledger; False if a new epoch had to be recorded first."""
        memory = self.memory
        known = memory.head
        if known is None or not holds(turn, known) or not holds(turn, self._witness.head):
            epochs.begin(memory, self._store, turn, self.ids)
            return False
        if turn.head.epoch != known.epoch:
            memory.load(self._store)
            memory.start_over()
        elif turn.head.sequence - known.sequence > self._limits.behind and caught_up:
            return False  # others wrote much meanwhile: let them go on while we read it
        elif turn.head.sequence > known.sequence:
            memory.follow(turn.entries(known.sequence))
        return True

    def _record(self, turn: Turn, planned: Planned) -> None:
        """Write what was planned, durably.

        Raises:
            OutcomeUnknown: Whatever a commit says that is not a plain refusal.
        """
        if not planned.changes:
            return
        turn.apply(planned.prepare(next(self.ids)))
        try:
            turn.commit()
        except (TenureError, DataRefused):
            raise
        except Exception as error:
            raise OutcomeUnknown("the commit ended in a way that is not known") from error

    def _decide(self, planned: Planned | None, deadline: float, unknown: OutcomeUnknown) -> None:
        """Find out whether a batch is in the ledger; returns if it is.

        Raises:
            StoreUnavailable: It is not, and will not be.
            OutcomeUnknown: Nobody could say before the deadline.
        """
        if planned is None or planned.batch is None:
            raise absent() from unknown
        found = self._ask(planned.batch, deadline)
        if found:
            return
        planned.unwind()  # the memory is what it was before: what the ledger says of this, it will say later
        raise (undecided() if found is None else absent()) from unknown

    def _ask(self, batch: Batch, deadline: float) -> bool | None:
        while True:
            try:
                return self._store.committed(batch.id, batch.entries[0].sequence)
            except StoreUnavailable:
                if self._stopping or self._clock.monotonic() >= deadline:
                    return None
                self._clock.pause(_RETRY)

    def _tell(self) -> None:
        """Tell this node's views what happened; one that fails does not undo it."""
        untold, self.memory.untold = self.memory.untold, []
        for committed in untold:
            try:
                self._publish(committed)
            except Exception as error:
                log.error("a committed transaction could not be published", exc_info=error)

    def _answer_all(self, items: list[Waiting], answer: Answer) -> None:
        for item in items:
            self._answer(item, answer)

    def _answer(self, item: Waiting, answer: Answer, *, replayed: bool = False) -> None:
        head = self.memory.head
        place = "" if head is None else cursor(head.epoch, head.sequence)
        self._queue.answer(item, Reply(answer, place, replayed))


def fresh_ids(chance: random.Random, clock: Clock) -> Iterator[str]:
    """Ids of 20 hexadecimal digits, without end: milliseconds, a count, and luck.

    They begin with the time (looked at for every 64th), so that what is made together lies together in the
    store's indexes; then they are counted, and nodes differ by 20 random bits.
    """
    count = chance.getrandbits(16)
    while True:
        began = f"{int(clock.now().timestamp() * 1000):011x}"
        for _ in range(64):
            count = (count + 1) & 0xFFFF
            yield f"{began}{count:04x}{chance.getrandbits(20):05x}"
