"""What time alone does, asked for by whichever node has the duty `upkeep`."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from datetime import timedelta
from typing import Final

from tenure.model.answers import Number, Reply
from tenure.model.uses import ExpireLeases, Lapse, Submission, Tend
from tenure.service.clock import Clock
from tenure.service.retention import Retention
from tenure.store.interface import Store

DUTY: Final = "upkeep"
TERM: Final = 30.0
"""Seconds for which the duty is taken; `step` must be called more often to keep it."""
KEYS_LAST: Final = timedelta(hours=24)

JOURNAL_LASTS: Final = timedelta(days=14)
"""For how long a zone's changes can be followed: as long as secondaries go on without us (the SOA's expire)."""
JOURNAL_STEPS: Final = 100_000
"""Beyond so many changes a zone is taken whole."""

_AT_ONCE = 256
_EVERY = 600.0
_STRETCH = 1000
"""Steps of journals that go in one transaction: a few milliseconds for which the writer waits."""
_STRETCHES = 10


class Upkeep:
    """Asks the writer to do what is due. For one thread, which calls `step` every few seconds.

    Args:
        owner: This node's name, unlike any other's.
        submit: The writer's.
        retention: How long DHCP's promises are kept at least; None: for ever.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        owner: str,
        submit: Callable[[Sequence[Submission]], Future[list[Reply]]],
        *,
        retention: timedelta | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._owner = owner
        self._submit = submit
        self._forgot_at = self._pruned_at = float("-inf")
        self._retention = Retention(store, clock, retention)

    def step(self) -> int:
        """Do what is due, if the duty is this node's: close ended leases, tend placement, do to claims what time alone
        does, drop old idempotency keys, promises, and steps of zones' journals.

        Returns:
            How many leases were closed, and changes made to placement and to claims (of those as many as there were
            of the kind that had most).

        Raises:
            StoreUnavailable: The store or the writer takes nothing now.
        """
        if self._store.take_duty(DUTY, self._owner, self._clock.now(), TERM) is None:
            return 0
        self._forget_keys()
        self._prune_journals()
        self._retention.step()
        done = 0
        while True:
            numbers = self._ask()
            done += sum(numbers)
            if max(numbers) < _AT_ONCE:
                return done

    def _ask(self) -> list[int]:
        uses = ExpireLeases(limit=_AT_ONCE), Lapse(limit=_AT_ONCE), Tend(limit=_AT_ONCE)
        asked = [Submission(use=use, actor=DUTY, source=self._owner, patience=TERM) for use in uses]
        answers = [reply.answer for reply in self._submit(asked).result(TERM * 2)]
        return [answer.value if isinstance(answer, Number) else 0 for answer in answers]

    def _forget_keys(self) -> None:
        if self._clock.monotonic() - self._forgot_at >= _EVERY:
            self._store.forget_keys(self._clock.now() - KEYS_LAST)
            self._forgot_at = self._clock.monotonic()

    def _prune_journals(self) -> None:
        """A bounded part of what is to go, at each step until nothing is."""
        if self._clock.monotonic() - self._pruned_at < _EVERY:
            return
        before = self._clock.now() - JOURNAL_LASTS
        for _ in range(_STRETCHES):
            if self._store.prune_journal(before, JOURNAL_STEPS, _STRETCH) < _STRETCH:
                self._pruned_at = self._clock.monotonic()
                return
