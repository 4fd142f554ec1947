"""Numbers in order: the next member from a place on, however many there are and however far it is.

A trie of bitmaps, 256 children a node (the idea is van Emde Boas's, 1975, with
Python's long integers as words). A bit says that there is a member below it.
"""

from collections.abc import Callable, Iterable

from tenure.net.rangeset import RangeSet

BITS = 8
FANOUT = 1 << BITS
FULL = (1 << FANOUT) - 1


class Order:
    """A set of numbers from `first` to `last` that can be asked for the neighbour of any number.

    Args:
        members: Those there are to begin with, in any order.

    Cost: at most two steps a level for every call; a level is 8 bits of the difference of `first` and `last`. Linear in
    the members to begin with.
    """

    __slots__ = ("_first", "_last", "_levels", "_root")

    def __init__(self, first: int, last: int, members: Iterable[int] = ()) -> None:
        self._first = first
        self._last = last
        height = 1
        while first >> (BITS * height) != last >> (BITS * height):
            height += 1
        self._root = first >> (BITS * height)
        self._levels: list[dict[int, int]] = [{} for _ in range(height)]
        for nodes in self._levels:
            for number in members:
                node = number >> BITS
                nodes[node] = nodes.get(node, 0) | 1 << (number & (FANOUT - 1))
            members = nodes.keys()

    def add(self, number: int) -> None:
        """It is a member."""
        self._set(number, member=True)

    def discard(self, number: int) -> None:
        """It is a member no longer, if it was one."""
        self._set(number, member=False)

    def next(self, number: int) -> int | None:
        """The lowest member from `number` on, or None."""
        at = max(number, self._first)
        for level in range(len(self._levels)):
            node = at >> BITS
            if not self._under_root(level, node):
                return None
            found = self._bits(level, node) & -(1 << (at & (FANOUT - 1)))
            if found:
                return self._down(level, node << BITS | _lowest(found), _lowest)
            at = node + 1
        return None

    def previous(self, number: int) -> int | None:
        """The highest member up to `number`, or None."""
        at = min(number, self._last)
        for level in range(len(self._levels)):
            node = at >> BITS
            if not self._under_root(level, node):
                return None
            found = self._bits(level, node) & (2 << (at & (FANOUT - 1))) - 1
            if found:
                return self._down(level, node << BITS | _highest(found), _highest)
            at = node - 1
        return None

    def _set(self, number: int, *, member: bool) -> None:
        child = number
        for level, nodes in enumerate(self._levels):
            node, bit = child >> BITS, 1 << (child & (FANOUT - 1))
            before = self._bits(level, node)
            after = before | bit if member else before & ~bit
            if after:
                nodes[node] = after
            else:
                self._emptied(nodes, node)
            member = after != 0
            if member == (before != 0):
                return
            child = node

    def _emptied(self, nodes: dict[int, int], node: int) -> None:
        nodes.pop(node, None)

    def _bits(self, level: int, node: int) -> int:
        return self._levels[level].get(node, 0)

    def _under_root(self, level: int, node: int) -> bool:
        return node >> BITS * (len(self._levels) - 1 - level) == self._root

    def _down(self, level: int, child: int, end: Callable[[int], int]) -> int:
        for below in range(level - 1, -1, -1):
            child = child << BITS | end(self._bits(below, child))
        return child


class Tower(Order):
    """Which of the pages `first` to `last` are not full: all but those that are marked.

    Args:
        shut: Pages between them that are full for good.

    A node exists only where somebody has looked; till then what is shut for good is in its ranges.
    """

    __slots__ = ("_shut",)

    def __init__(self, first: int, last: int, shut: RangeSet) -> None:
        super().__init__(first, last)
        shift = BITS * len(self._levels)
        span = self._root << shift, (self._root + 1 << shift) - 1
        self._shut = RangeSet.of(span) - RangeSet.of((first, last)) | shut

    def mark(self, page: int, *, full: bool) -> None:
        """A page has become full, or is full no longer."""
        self._set(page, member=not full)

    def _emptied(self, nodes: dict[int, int], node: int) -> None:
        nodes[node] = 0

    def _bits(self, level: int, node: int) -> int:
        known = self._levels[level].get(node)
        return self._first_seen(level, node) if known is None else known

    def _first_seen(self, level: int, node: int) -> int:
        """All children of a node but those of which every page is shut for good; kept from now on."""
        size, base, bits = 1 << (BITS * level), node << BITS, FULL
        for first, last in self._shut.within(base * size, (base + FANOUT) * size - 1):
            low, high = -(-first // size) - base, (last + 1) // size - base
            if high > low:
                bits &= ~(((1 << high) - 1) & ~((1 << low) - 1))
        self._levels[level][node] = bits
        return bits


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


def _highest(bits: int) -> int:
    return bits.bit_length() - 1
