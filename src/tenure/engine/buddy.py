"""Free aligned pieces of an aligned stretch: split on demand, merged on return.

The classic buddy system (Knowlton, 1965), on prefixes. The free pieces are
always as large as they can be, so that the same blocks leave the same pieces,
in whatever order they were taken.
"""

import heapq
from collections.abc import Iterator

from tenure.engine.tower import Order

_SLACK = 64


class Buddy:
    """What is free of one aligned stretch.

    Args:
        first: Its first address. length: Its prefix length. width: 32 or 128.

    Cost: every operation takes at most `width` steps, however many pieces there are.
    """

    __slots__ = ("_free", "_heaps", "_orders", "first", "length", "width")

    def __init__(self, first: int, length: int, width: int) -> None:
        self.first = first
        self.length = length
        self.width = width
        self._free: dict[int, set[int]] = {length: {first}}
        self._heaps: dict[int, list[int]] = {length: [first]}
        self._orders: dict[int, Order] = {}

    @property
    def empty(self) -> bool:
        """Whether nothing is free."""
        return not self._free

    def pieces(self) -> set[tuple[int, int]]:
        """The free pieces as (first, length)."""
        return {(first, length) for length, firsts in self._free.items() for first in firsts}

    def find(self, length: int) -> int | None:
        """First address of a free piece of this length: the lowest of the tightest that fit, or None."""
        for have in range(length, self.length - 1, -1):
            if have in self._free:
                return self._lowest(have)
        return None

    def find_from(self, number: int, length: int) -> int | None:
        """First address of the first free piece of this length that begins at `number` or after it, or None.

        Cost: a look in a `Tower` for each length of the free pieces, and one in each change from the first call on;
        that one is linear in the free pieces.
        """
        start = self._start(number + (1 << (self.width - length)) - 1, length)
        if self.around(start, length) is not None:
            return start
        ahead = (self._ahead(start, have) for have in self._free if have <= length)
        return min((first for first in ahead if first is not None), default=None)

    def largest(self) -> int | None:
        """Length of the largest free piece, or None."""
        return min(self._free, default=None)

    def carve(self, first: int, length: int) -> None:
        """Take exactly this piece.

        Raises:
            AssertionError: Some of it is not free.
        """
        around = self.around(first, length)
        if around is None:
            raise AssertionError(f"{first}/{length} is not free in {self.first}/{self.length}")
        start, have = around
        self._remove(start, have)
        while have < length:
            have += 1
            half = self._start(first, have)
            self._add(half ^ (1 << (self.width - have)), have)

    def shut(self, first: int, length: int) -> None:
        """Take whatever of this piece is free. Cost: up to a look at every free piece."""
        start = self.around(first, length)
        if start is not None:
            self.carve(first, length)
            return
        last = first + (1 << (self.width - length)) - 1
        for piece, have in self.pieces():
            if have > length and first <= piece <= last:
                self._remove(piece, have)

    def give(self, first: int, length: int) -> None:
        """Take a piece back, and merge it with its buddy as far as that goes."""
        while length > self.length:
            buddy = first ^ (1 << (self.width - length))
            if buddy not in self._free.get(length, ()):
                break
            self._remove(buddy, length)
            first = min(first, buddy)
            length -= 1
        self._add(first, length)

    def aligned(self, first: int, last: int, longest: int) -> Iterator[tuple[int, int]]:
        """The aligned pieces, none longer than `longest`, that lie wholly within first…last and this stretch."""
        step = 1 << (self.width - longest)
        at = (first + step - 1) // step * step
        while at + step - 1 <= last:
            length = longest
            while length > self.length and self._fits(at, length - 1, last):
                length -= 1
            yield at, length
            at += 1 << (self.width - length)

    def around(self, first: int, length: int) -> tuple[int, int] | None:
        """The free piece that this one lies in, as (first, length), or None."""
        for have in range(length, self.length - 1, -1):
            start = self._start(first, have)
            if start in self._free.get(have, ()):
                return start, have
        return None

    def _ahead(self, number: int, length: int) -> int | None:
        shift = self.width - length
        found = self._order(length).next(-(-number >> shift))
        return None if found is None else found << shift

    def _order(self, length: int) -> Order:
        """The free pieces of one length in order, kept from when they are first asked for."""
        order = self._orders.get(length)
        if order is None:
            shift = self.width - length
            last = self.first + (1 << (self.width - self.length)) - 1
            order = self._orders[length] = Order(self.first >> shift, last >> shift)
            for piece in self._free[length]:
                order.add(piece >> shift)
        return order

    def _fits(self, at: int, length: int, last: int) -> bool:
        size = 1 << (self.width - length)
        return at % size == 0 and at + size - 1 <= last

    def _start(self, number: int, length: int) -> int:
        shift = self.width - length
        return number >> shift << shift

    def _lowest(self, length: int) -> int:
        heap, free = self._heaps[length], self._free[length]
        while heap[0] not in free:
            heapq.heappop(heap)
        return heap[0]

    def _add(self, first: int, length: int) -> None:
        free = self._free.setdefault(length, set())
        heap = self._heaps.setdefault(length, [])
        free.add(first)
        heapq.heappush(heap, first)
        if length in self._orders:
            self._orders[length].add(first >> (self.width - length))
        if len(heap) > 2 * len(free) + _SLACK:
            heap[:] = sorted(free)

    def _remove(self, first: int, length: int) -> None:
        pieces = self._free[length]
        pieces.discard(first)
        if length in self._orders:
            self._orders[length].discard(first >> (self.width - length))
        if not pieces:
            # Stale entries of the heap go with the last piece, so that it cannot grow for ever.
            del self._free[length]
            del self._heaps[length]
