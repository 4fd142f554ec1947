"""Stretches of free addresses between those that are not: which is the smallest.

For strategies that fill small gaps first. Addresses and gaps are never walked:
a change looks at the gap around it, and at its two neighbours.
"""

import heapq
from collections.abc import Iterable

from tenure.engine.tower import Order
from tenure.net.rangeset import Pair

_SLACK = 64


class Gaps:
    """The gaps from `first` to `last`.

    Args:
        gaps: Those there are, as (first, last); no two touch.

    Cost: logarithmic in the gaps for each change and, amortized, each question; linear in them to begin with.
    """

    __slots__ = ("_first", "_heap", "_last", "_order")

    def __init__(self, first: int, last: int, gaps: Iterable[Pair]) -> None:
        self._last = dict(gaps)
        self._first = {high: low for low, high in self._last.items()}
        self._order = Order(first, last, self._last)
        self._heap = self._sizes()

    def smallest(self) -> int | None:
        """First address of the smallest gap, the lowest among equals, or None."""
        heap = self._heap
        while heap:
            size, low = heap[0]
            if self._last.get(low) == low + size - 1:
                return low
            heapq.heappop(heap)  # of a gap that has changed since
        return None

    def take(self, number: int) -> None:
        """An address is free no longer."""
        low = number if number in self._last else self._order.previous(number)
        if low is None or (high := self._last[low]) < number:
            raise AssertionError(f"{number} lies in no gap")
        self._drop(low, high)
        if low < number:
            self._put(low, number - 1)
        if number < high:
            self._put(number + 1, high)

    def give(self, number: int) -> None:
        """An address is free again: what touches it becomes one gap with it."""
        low = self._first.get(number - 1, number)
        high = self._last.get(number + 1, number)
        if low < number:
            self._drop(low, number - 1)
        if number < high:
            self._drop(number + 1, high)
        self._put(low, high)

    def pairs(self) -> list[Pair]:
        """The gaps, ascending. Cost: linear in them."""
        return sorted(self._last.items())

    def _put(self, low: int, high: int) -> None:
        self._last[low] = high
        self._first[high] = low
        self._order.add(low)
        heapq.heappush(self._heap, (high - low + 1, low))
        if len(self._heap) > 2 * len(self._last) + _SLACK:
            self._heap = self._sizes()

    def _drop(self, low: int, high: int) -> None:
        del self._last[low], self._first[high]
        self._order.discard(low)

    def _sizes(self) -> list[Pair]:
        return sorted((high - low + 1, low) for low, high in self._last.items())
