"""Free aligned pieces of an aligned stretch: split on demand, merged on return.

The classic buddy system (Knowlton, 1965), on prefixes. The free pieces are
always as large as they can be, so that the same blocks leave the same pieces,
in whatever order they were taken.
"""

from collections.abc import Iterator

from tenure.engine.tower import Order

Piece = tuple[int, int]
"""First address and prefix length."""


class Buddy:
    """What is free of one aligned stretch.

    Args:
        first: Its first address. length: Its prefix length. width: 32 or 128.
        empty: Nothing of it is free to begin with.

    Attributes:
        size: Free addresses.

    Cost: every operation takes at most `width` steps, however many pieces there are.
    """

    __slots__ = ("_free", "_orders", "first", "length", "size", "width")

    def __init__(self, first: int, length: int, width: int, *, empty: bool = False) -> None:
        self.first = first
        self.length = length
        self.width = width
        self.size = 0
        self._free: dict[int, set[int]] = {}
        self._orders: dict[int, Order] = {}
        if not empty:
            self._add(first, length)

    @property
    def empty(self) -> bool:
        """Whether nothing is free."""
        return not self._free

    def pieces(self) -> set[Piece]:
        """The free pieces."""
        return {(first, length) for length, firsts in self._free.items() for first in firsts}

    def find_from(self, number: int, length: int) -> int | None:
        """First address of the first free piece of this length that begins at `number` or after it, or None.

        Cost: a look in an `Order` for each length of the free pieces, and one in each change from the first call on;
        that one is linear in the free pieces.
        """
        start = self._start(number + (1 << (self.width - length)) - 1, length)
        orders = {have: self._order(have) for have in self._free if have <= length}  # while there is little in them
        if self.around(start, length) is not None:
            return start
        ahead = (self._ahead(start, have) for have in orders)
        return min((first for first in ahead if first is not None), default=None)

    def largest(self) -> int | None:
        """Length of the largest free pieces, or None."""
        return min(self._free, default=None)

    def some(self, length: int, count: int) -> Iterator[int]:
        """First addresses of the free pieces of exactly this length, ascending, at most `count`. Cost: as `find_from`.

        What is taken while they are asked for is not seen.
        """
        at = self.first
        while count and length in self._free:
            found = self._ahead(at, length)
            if found is None:
                return
            yield found
            at, count = found + (1 << (self.width - length)), count - 1

    def within(self, first: int, length: int) -> list[Piece]:
        """The free pieces inside this piece; the piece alone where all of it is free. Cost: logarithmic, and those."""
        if self.around(first, length) is not None:
            return [(first, length)]
        last = first + (1 << (self.width - length)) - 1
        found: list[Piece] = []
        for have in [have for have in self._free if have > length]:
            at = self._ahead(first, have)
            while at is not None and at <= last:
                found.append((at, have))
                at = self._ahead(at + 1, have)
        return found

    def inside(self, first: int, length: int) -> Piece | None:
        """The lowest of the largest free pieces inside this piece, or None. Cost: a look for each length of theirs."""
        if self.around(first, length) is not None:
            return first, length
        last = first + (1 << (self.width - length)) - 1
        for have in sorted(have for have in self._free if have > length):
            at = self._ahead(first, have)
            if at is not None and at <= last:
                return at, have
        return None

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

    def around(self, first: int, length: int) -> Piece | None:
        """The free piece that this one lies in, or None."""
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
            pieces = (piece >> shift for piece in self._free[length])
            order = self._orders[length] = Order(self.first >> shift, last >> shift, pieces)
        return order

    def _start(self, number: int, length: int) -> int:
        shift = self.width - length
        return number >> shift << shift

    def _add(self, first: int, length: int) -> None:
        self._free.setdefault(length, set()).add(first)
        self.size += 1 << (self.width - length)
        if length in self._orders:
            self._orders[length].add(first >> (self.width - length))

    def _remove(self, first: int, length: int) -> None:
        pieces = self._free[length]
        pieces.discard(first)
        self.size -= 1 << (self.width - length)
        if length in self._orders:
            self._orders[length].discard(first >> (self.width - length))
        if not pieces:
            del self._free[length]
