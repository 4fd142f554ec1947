"""Where the next page with something free is, however many full ones lie before it.

A trie of bitmaps, 256 children a node (the idea is van Emde Boas's, 1975, with
Python's long integers as words). A node exists only where a page has become
full; what is shut for good is worked out from its ranges.
"""

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
        at, top = page, len(self._levels) - 1
        for level in range(top + 1):
            node = at >> BITS
            if level == top and node != self._root:
                return None
            room = FULL & ~self._bits(level, node) & -(1 << (at & (FANOUT - 1)))
            if room:
                return self._down(level, node << BITS | (room & -room).bit_length() - 1)
            at = node + 1
        return None

    def _down(self, level: int, child: int) -> int:
        for below in range(level - 1, -1, -1):
            room = FULL & ~self._bits(below, child)
            child = child << BITS | (room & -room).bit_length() - 1
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
