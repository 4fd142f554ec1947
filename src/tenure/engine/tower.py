"""Where the next page with something free is, however many full ones lie before it.

A trie of bitmaps, 256 children a node (the idea is van Emde Boas's, 1975, with
Python's long integers as words). A node exists only where a page has become
full; what is shut for good is worked out from its ranges.
"""

from collections.abc import Callable

from tenure.net.rangeset import RangeSet

BITS = 8
FANOUT = 1 << BITS
FULL = (1 << FANOUT) - 1


class Tower:
    """Which of the pages `first` to `last` are full.

    Args:
        shut: Pages between them that are full for good.

    Cost: at most two steps a level for every call; a level is 8 bits of a page's number.
    """

    __slots__ = ("_levels", "_root", "_shut")

    def __init__(self, first: int, last: int, shut: RangeSet) -> None:
        height = 1
        while first >> (BITS * height) != last >> (BITS * height):
            height += 1
        self._root = first >> (BITS * height)
        span = self._root << (BITS * height), (self._root + 1 << (BITS * height)) - 1
        self._shut = RangeSet.of(span) - RangeSet.of((first, last)) | shut
        self._levels: list[dict[int, int]] = [{} for _ in range(height)]

    def mark(self, page: int, *, full: bool) -> None:
        """A page has become full, or is full no longer."""
        child = page
        for level, nodes in enumerate(self._levels):
            node, bit = child >> BITS, 1 << (child & (FANOUT - 1))
            before = self._bits(level, node)
            nodes[node] = after = before | bit if full else before & ~bit
            full = after == FULL
            if full == (before == FULL):
                return
            child = node

    def next(self, page: int) -> int | None:
        """The first page from `page` on that is not full, or None."""
        at = page
        for level in range(len(self._levels)):
            node = at >> BITS
            if not self._under_root(level, node):
                return None
            room = FULL & ~self._bits(level, node) & -(1 << (at & (FANOUT - 1)))
            if room:
                return self._down(level, node << BITS | _lowest(room), _lowest)
            at = node + 1
        return None

    def previous(self, page: int) -> int | None:
        """The last page up to `page` that is not full, or None."""
        at = page
        for level in range(len(self._levels)):
            node = at >> BITS
            if not self._under_root(level, node):
                return None
            room = FULL & ~self._bits(level, node) & (2 << (at & (FANOUT - 1))) - 1
            if room:
                return self._down(level, node << BITS | _highest(room), _highest)
            at = node - 1
        return None

    def _under_root(self, level: int, node: int) -> bool:
        return node >> BITS * (len(self._levels) - 1 - level) == self._root

    def _down(self, level: int, child: int, end: Callable[[int], int]) -> int:
        for below in range(level - 1, -1, -1):
            child = child << BITS | end(FULL & ~self._bits(below, child))
        return child

    def _bits(self, level: int, node: int) -> int:
        known = self._levels[level].get(node)
        return self._shut_children(level, node) if known is None else known

    def _shut_children(self, level: int, node: int) -> int:
        """The children of which every page is shut for good."""
        size, base, bits = 1 << (BITS * level), node << BITS, 0
        for first, last in self._shut.within(base * size, (base + FANOUT) * size - 1):
            low, high = -(-first // size) - base, (last + 1) // size - base
            if high > low:
                bits |= ((1 << high) - 1) & ~((1 << low) - 1)
        return bits


class Order:
    """A set of numbers from `first` to `last` that can be asked for the neighbour of any number.

    A `Tower` in which the members alone have room. Cost of every call: as there.
    """

    __slots__ = ("_first", "_last", "_tower")

    def __init__(self, first: int, last: int) -> None:
        self._first = first
        self._last = last
        self._tower = Tower(first, last, RangeSet.of((first, last)))

    def add(self, number: int) -> None:
        """It is a member."""
        self._tower.mark(number, full=False)

    def discard(self, number: int) -> None:
        """It is a member no longer, if it was one."""
        self._tower.mark(number, full=True)

    def next(self, number: int) -> int | None:
        """The lowest member from `number` on, or None."""
        return self._tower.next(max(number, self._first))

    def previous(self, number: int) -> int | None:
        """The highest member up to `number`, or None."""
        return self._tower.previous(min(number, self._last))


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


def _highest(bits: int) -> int:
    return bits.bit_length() - 1
