"""What the ledger need not keep for ever: DHCP's promises of addresses that were given back long ago.

Who held what and when, under which name and MAC, is never let go of. An entry that is let go of leaves a mark in its
place, so that the ledger has no gap, followers read on, and the tables follow from it as before.
"""

from datetime import timedelta
from typing import Final

from tenure.service.clock import Clock
from tenure.store.interface import Store

STRETCH: Final = 5_000
"""Entries that are looked at in one transaction: as the writer waits meanwhile, a few milliseconds' worth."""
PAUSE: Final = 24 * 3600.0
"""Seconds from the end of one walk through the ledger to the next."""


class Retention:
    """Walks through the ledger again and again, a stretch at each step. For the thread of upkeep.

    Args:
        lasts: How long promises are kept at least; None: for ever.
    """

    def __init__(self, store: Store, clock: Clock, lasts: timedelta | None) -> None:
        self._store = store
        self._clock = clock
        self._lasts = lasts
        self._place = 0
        self._again = float("-inf")

    def step(self) -> None:
        """Look at the next stretch, if it is time.

        Raises:
            StoreUnavailable: The store takes nothing now.
        """
        if self._lasts is None or self._clock.monotonic() < self._again:
            return
        end = self._store.compact(self._place, STRETCH, self._clock.now() - self._lasts)
        self._place = end or 0
        if end is None:
            self._again = self._clock.monotonic() + PAUSE
