"""Disjoint stretches of addresses in order: which one does an address lie in?"""

from bisect import bisect_left, bisect_right
from typing import Generic, Protocol, TypeVar


class Stretch(Protocol):
    """First and last address, both included."""

    @property
    def first(self) -> int:
        """The first."""

    @property
    def last(self) -> int:
        """The last."""


S = TypeVar("S", bound=Stretch)


class Spans(Generic[S]):
    """Stretches that do not overlap.

    Cost: a question is logarithmic in them; a change moves the references behind it, 8 bytes each.
    """

    __slots__ = ("_firsts", "_stretches")

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._stretches: list[S] = []

    def __len__(self) -> int:
        return len(self._firsts)

    def at(self, number: int) -> S | None:
        """The stretch that an address lies in."""
        place = bisect_right(self._firsts, number) - 1
        if place < 0:
            return None
        found = self._stretches[place]
        return found if number <= found.last else None

    def between(self, first: int, last: int) -> list[S]:
        """Those that begin from `first` to `last`."""
        low = bisect_left(self._firsts, first)
        return self._stretches[low : bisect_right(self._firsts, last, low)]

    def any(self, first: int, last: int) -> bool:
        """Whether one begins from `first` to `last`."""
        place = bisect_left(self._firsts, first)
        return place < len(self._firsts) and self._firsts[place] <= last

    def add(self, stretch: S) -> None:
        """Have another, which overlaps none that is there."""
        place = bisect_left(self._firsts, stretch.first)
        self._firsts.insert(place, stretch.first)
        self._stretches.insert(place, stretch)

    def drop(self, stretch: S) -> None:
        """Have one of them no longer."""
        place = bisect_left(self._firsts, stretch.first)
        if self._stretches[place] is not stretch:
            raise AssertionError(f"no stretch begins at {stretch.first}")
        del self._firsts[place]
        del self._stretches[place]
