"""What waits for the writer: bounded, in order, urgent first, nobody behind a long batch for long.

Each `put` is a line of its own. A turn takes at most a chunk of a line and
puts what is left of it at the back, so that a single claim waits for one
chunk of an import, not for all of it.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from tenure.errors import Conflict, KeyReused, OutcomeUnknown, StoreUnavailable, TenureError
from tenure.model.answers import Failure, Reply
from tenure.model.uses import Submission, Together

Key = tuple[str, str, int]

_SHORT = 40
"""Plain uses of a turn while urgent ones come: a DHCP client waits for two turns, and gives up on slow servers."""
_HURRIED = 1.0
"""Seconds for which an urgent use says that others will come."""
_RETRY_AFTER = 1
"""Seconds after which a caller who found the queue full may come again."""


class Waiting:
    """One submission on its way to its answer.

    Attributes:
        asked: The submission.
        deadline: On the monotonic clock; a use that is not begun by then is dropped.
        weight: How many uses it is: those of a `Together` count one by one.
    """

    __slots__ = ("asked", "deadline", "line", "place", "weight")

    def __init__(self, asked: Submission, deadline: float, line: "Line", place: int) -> None:
        self.asked = asked
        self.deadline = deadline
        self.line = line
        self.place = place
        self.weight = len(asked.use.uses) if isinstance(asked.use, Together) else 1

    @property
    def key(self) -> Key | None:
        """The idempotency key that it uses; None for none, and for a dry run, which remembers nothing."""
        asked = self.asked
        return (asked.actor, asked.key, asked.item) if asked.key and not asked.dry_run else None


class Line:
    """What one `put` brought, and its answers so far."""

    __slots__ = ("future", "left", "replies", "waiting")

    def __init__(self, size: int) -> None:
        self.future: Future[list[Reply]] = Future()
        self.replies: list[Reply | None] = [None] * size
        self.left = size
        self.waiting: deque[Waiting] = deque()

    def answer(self, place: int, reply: Reply) -> None:
        """Note one answer; the last one wakes the caller."""
        self.replies[place] = reply
        self.left -= 1
        if not self.left and self.future.set_running_or_notify_cancel():
            self.future.set_result([each for each in self.replies if each is not None])


class Queue:
    """Lines of submissions before the writer. Safe for any thread; `gather` is for the writer's.

    Args:
        bound: Uses that may wait; a batch larger than that is taken while nothing else waits.
        chunk: Uses of one line in a turn.
        monotonic: Seconds that never step back.
    """

    def __init__(self, bound: int, chunk: int, monotonic: Callable[[], float]) -> None:
        self._bound = bound
        self._chunk = chunk
        self._monotonic = monotonic
        self._urgent: deque[Line] = deque()
        self._plain: deque[Line] = deque()
        self._changed = threading.Condition()
        self._keys: set[Key] = set()
        self._poked = False
        self._closed = False
        self._hurried = float("-inf")
        self.length = 0

    def put(self, asked: Sequence[Submission]) -> Future[list[Reply]]:
        """Let `asked` wait for the writer.

        Returns:
            The replies, in the order of `asked`; refusals are replies too (`Failure`).

        Raises:
            StoreUnavailable: Too much waits already, or the writer has stopped; nothing of `asked` was taken.
        """
        line = Line(len(asked))
        if not asked:
            line.future.set_result([])
            return line.future
        now = self._monotonic()
        waiting = [Waiting(each, now + each.patience, line, place) for place, each in enumerate(asked)]
        with self._changed:
            self._admit(sum(each.weight for each in waiting))
            refused = self._enter(line, waiting)
            if asked[0].urgent:
                self._hurried = now
            if line.waiting:
                (self._urgent if asked[0].urgent else self._plain).append(line)
                self._changed.notify()
        for each in refused:
            line.answer(each.place, refusal(in_flight(), ""))
        return line.future

    def gather(self, bound: int) -> list[Waiting]:
        """What the next turn shall plan, in order: chunks of lines until `bound` uses are reached. May be empty.

        While urgent uses come, fewer plain ones are taken, so that turns are short.
        """
        taken: list[Waiting] = []
        with self._changed:
            self._poked = False
            urgent = self._gather(self._urgent, taken, bound)
            hurried = self._monotonic() - self._hurried < _HURRIED
            plain = self._gather(self._plain, taken, min(bound - urgent, _SHORT) if hurried else bound - urgent)
            self.length -= urgent + plain
        return taken

    def _gather(self, lines: deque[Line], taken: list[Waiting], bound: int) -> int:
        weight = 0
        while lines and weight < bound:
            line = lines.popleft()
            weight += self._take(line, taken, min(self._chunk, bound - weight))
            if line.waiting:
                lines.append(line)
        return weight

    def answer(self, waiting: Waiting, reply: Reply) -> None:
        """Answer one that was gathered; its key is free again."""
        key = waiting.key
        if key is not None:
            with self._changed:
                self._keys.discard(key)
        waiting.line.answer(waiting.place, reply)

    def wait(self, seconds: float) -> None:
        """Wait until something is there, somebody pokes, or `seconds` have passed."""
        with self._changed:
            self._changed.wait_for(self._awake, seconds)

    def poke(self) -> None:
        """Wake the writer though nothing waits."""
        with self._changed:
            self._poked = True
            self._changed.notify()

    def close(self) -> list[Waiting]:
        """Take nothing any more; returns what was still waiting, for it to be answered."""
        with self._changed:
            self._closed = True
            left = [each for line in (*self._urgent, *self._plain) for each in line.waiting]
            self._urgent.clear()
            self._plain.clear()
            self.length = 0
            self._changed.notify_all()
        return left

    def _awake(self) -> bool:
        return bool(self._urgent or self._plain or self._poked or self._closed)

    def _admit(self, weight: int) -> None:
        if self._closed:
            raise StoreUnavailable("the writer has stopped", retry_after=_RETRY_AFTER)
        if self.length and self.length + weight > self._bound:
            raise StoreUnavailable("too many requests wait already", retry_after=_RETRY_AFTER)

    def _enter(self, line: Line, waiting: list[Waiting]) -> list[Waiting]:
        refused = []
        for each in waiting:
            if each.key is not None and each.key in self._keys:
                refused.append(each)
                continue
            if each.key is not None:
                self._keys.add(each.key)
            line.waiting.append(each)
            self.length += each.weight
        return refused

    def _take(self, line: Line, taken: list[Waiting], room: int) -> int:
        weight = 0
        while line.waiting and (not weight or weight + line.waiting[0].weight <= room):
            each = line.waiting.popleft()
            taken.append(each)
            weight += each.weight
        return weight


def refusal(error: TenureError, sequence: str) -> Reply:
    """An error as a reply."""
    return Reply(Failure(error.code, error.message, error.facts), sequence)


def overdue() -> StoreUnavailable:
    """For a use that was not begun within its caller's patience."""
    return StoreUnavailable("it was not begun in the time that the caller would wait", retry_after=_RETRY_AFTER)


def absent() -> StoreUnavailable:
    """For a use whose transaction did not come to be."""
    return StoreUnavailable("the database could not record it; nothing was changed", retry_after=_RETRY_AFTER)


def undecided() -> OutcomeUnknown:
    """For a use whose transaction may or may not have come to be."""
    return OutcomeUnknown("the database went away while it was recording this: repeat it under the same handle or key")


def stopped() -> StoreUnavailable:
    """For a use that still waited when the writer stopped."""
    return StoreUnavailable("the writer has stopped; nothing was changed", retry_after=_RETRY_AFTER)


def in_flight() -> Conflict:
    """For a use whose idempotency key another one has that is not answered yet."""
    return Conflict("a request with the same idempotency key is still being worked on", in_flight=True)


def reused() -> KeyReused:
    """For a use whose idempotency key came with another body."""
    return KeyReused("this idempotency key came before with another body", pointer="")
