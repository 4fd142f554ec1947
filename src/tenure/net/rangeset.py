"""Immutable sets of integers (addresses, mostly) as sorted disjoint ranges.

    a          ├────┤   ├────┤  ├──┤
    b             ├───────┤
    a | b      ├─────────────┤  ├──┤     neighbours that touch become one
    a & b         ├─┤   ├─┤
    a - b      ├─┤         ├─┤  ├──┤

A range is its first and last member, both included. Members are never walked: every cost
below is in ranges, so that an IPv6 /64 costs what a /30 does.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

from tenure.errors import InvalidValue

Pair = tuple[int, int]


class RangeSet:
    """A set of integers; equal sets compare and hash equal, however they were made.

    `RangeSet()` is the empty set; `RangeSet.of` makes others.
    """

    __slots__ = ("_firsts", "_lasts")

    def __init__(self, pairs: Iterable[Pair] = ()) -> None:
        """Take pairs in any order; they may touch and overlap.

        Raises:
            InvalidValue: A pair ends before it begins.

        Cost: O(n log n) in pairs.
        """
        firsts: list[int] = []
        lasts: list[int] = []
        for first, last in sorted(pairs):
            if last < first:
                raise InvalidValue(f"a range ends at {last}, before it begins at {first}", first=first, last=last)
            if lasts and first <= lasts[-1] + 1:
                lasts[-1] = max(lasts[-1], last)
            else:
                firsts.append(first)
                lasts.append(last)
        self._firsts = tuple(firsts)
        self._lasts = tuple(lasts)

    @classmethod
    def of(cls, *pairs: Pair) -> "RangeSet":
        """The set of these ranges: `RangeSet.of((10, 19), (30, 30))`."""
        return cls(pairs)

    def __iter__(self) -> Iterator[Pair]:
        """The ranges as (first, last), ascending; no two touch."""
        return zip(self._firsts, self._lasts, strict=True)

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self._firsts, number) - 1
        return at >= 0 and number <= self._lasts[at]

    def __bool__(self) -> bool:
        return bool(self._firsts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RangeSet):
            return NotImplemented
        return self._firsts == other._firsts and self._lasts == other._lasts

    def __hash__(self) -> int:
        return hash((self._firsts, self._lasts))

    def __repr__(self) -> str:
        return f"RangeSet.of({', '.join(map(repr, self))})"

    def __or__(self, other: "RangeSet") -> "RangeSet":
        return RangeSet((*self, *other))

    def __and__(self, other: "RangeSet") -> "RangeSet":
        fewer, more = sorted((self, other), key=lambda ranges: len(ranges._firsts))
        return RangeSet(pair for first, last in fewer for pair in more._clipped(first, last))

    def __sub__(self, other: "RangeSet") -> "RangeSet":
        return RangeSet(pair for first, last in self for pair in other._gaps(first, last))

    @property
    def size(self) -> int:
        """How many members; `len` could not say it beyond `sys.maxsize`."""
        return sum(self._lasts) - sum(self._firsts) + len(self._firsts)

    def overlaps(self, first: int, last: int) -> bool:
        """Whether any member lies in `first` to `last`. Cost: O(log n)."""
        at = bisect_left(self._lasts, first)
        return at < len(self._firsts) and first <= last and self._firsts[at] <= last

    def within(self, first: int, last: int) -> "RangeSet":
        """The members in `first` to `last`. Cost: O(log n + ranges inside)."""
        return RangeSet(self._clipped(first, last))

    def mask(self, first: int, width: int) -> int:
        """The members in `first` to `first + width - 1` as a bitmap: bit i is set if `first + i` is one.

        Cost: O(log n + ranges inside), each on integers of `width` bits.
        """
        bits = 0
        for low, high in self._clipped(first, first + width - 1):
            bits |= ((1 << (high - low + 1)) - 1) << (low - first)
        return bits

    def _clipped(self, first: int, last: int) -> Iterator[Pair]:
        start = bisect_left(self._lasts, first)
        end = bisect_right(self._firsts, last) if first <= last else start
        for at in range(start, end):
            yield max(first, self._firsts[at]), min(last, self._lasts[at])

    def _gaps(self, first: int, last: int) -> Iterator[Pair]:
        """The ranges of `first` to `last` that are not in this set."""
        for low, high in self._clipped(first, last):
            if first < low:
                yield first, low - 1
            first = high + 1
        if first <= last:
            yield first, last
