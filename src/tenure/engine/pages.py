"""Addresses as bits: which are held, resting, offered or closed, in pages of 256 that exist only where something is.

Nothing here walks addresses or pages: a page that becomes full, or is full no
longer, says so to a `Tower`, which knows the next that is not.
"""

import heapq
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from tenure.engine.gaps import Gaps
from tenure.engine.page import (
    FULL,
    LOW,
    PAGE,
    PAGE_BITS,
    Page,
    avoided,
    free,
    leasable,
    lowest_bit,
    nth_bit,
    runs,
    span,
)
from tenure.engine.tower import Tower
from tenure.net.rangeset import Pair, RangeSet


class Ends(list[tuple[datetime, int, str]]):
    """Heap of the ends of rests: when, which number, of which subnet; and the time that it is.

    Attributes:
        now: The latest time that anybody said.
        emptied: Ids of subnets in which there may be a block that nobody uses.
    """

    now = datetime.min.replace(tzinfo=UTC)

    def __init__(self) -> None:
        super().__init__()
        self.emptied: dict[str, None] = {}


class Occupancy:
    """What is held and what rests from `first` to `last`, both included.

    Attributes:
        name: Id of the subnet, for the heap of ends. width: 32 or 128.
        resting: Ends of rests. woken: Ends that rests would have had, of addresses that are held again all the same.
        strangers: When what was seen on an address by somebody who does not hold it is too old to count.
        avoided: Strangers' addresses that are neither closed nor held nor resting: nobody is given them.
        closed: Addresses that no claim is given. unleased: Addresses that no lease is given.
        held: Addresses that somebody holds. in_use, cooling: Held and resting ones that are not closed.
        available: Addresses that a claim could have now.
    """

    def __init__(self, name: str, first: int, last: int, width: int, ends: Ends) -> None:
        self.name = name
        self.first = first
        self.last = last
        self.width = width
        self.pages: dict[int, Page] = {}
        self._numbers: list[int] = []
        self.resting: dict[int, datetime] = {}
        self.woken: dict[int, datetime] = {}
        self.strangers: dict[int, datetime] = {}
        self._ends = ends
        self.held = self.in_use = self.cooling = self.avoided = 0
        self.available = last - first + 1
        self.closed = RangeSet()
        self.unleased = RangeSet.of((first, last))
        self._dynamic: tuple[Pair, ...] = ()
        self._room = self._tower(self.closed)
        self._lease_room = self._tower(self.unleased)
        self._gaps: Gaps | None = None

    def close(self, closed: RangeSet, unleased: RangeSet) -> None:
        """Say anew what is never given by a claim, and by a lease. Cost: linear in the pages there are."""
        self.closed, self.unleased = closed, unleased
        self._gaps = None
        self._dynamic = tuple(RangeSet.of((self.first, self.last)) - unleased)
        self._room, self._lease_room = self._tower(closed), self._tower(unleased)
        for number, page in self.pages.items():
            page.closed, page.never = self._masks(number)
            if not free(page):
                self._room.mark(number, full=True)
            if not leasable(page):
                self._lease_room.mark(number, full=True)
        self.cooling = sum(1 for n in self.resting if n not in closed)
        self.in_use = sum((page.used & ~page.closed).bit_count() for page in self.pages.values())
        self.avoided = sum(avoided(page).bit_count() for page in self.pages.values())
        self.available = self.last - self.first + 1 - closed.size - self.in_use - self.cooling - self.avoided
        self._turned()

    def fill(self, masks: dict[int, int]) -> None:
        """Addresses are held, many at once: a mask for each page's number; `close` must follow."""
        for number, mask in masks.items():
            self.page(number << PAGE_BITS).used |= mask
            self.held += mask.bit_count()

    def adopt_pages(self, old: "Occupancy") -> None:
        """Remember what `old`, the same subnet under another prefix, remembers; `close` must follow."""
        self.pages, self._numbers = old.pages, old._numbers
        self.resting, self.woken, self.held = old.resting, old.woken, old.held
        self.strangers = old.strangers

    def _turned(self) -> None:
        """There is an address available now where there was none, or the other way round."""

    def _tower(self, shut: RangeSet) -> Tower:
        whole = ((-(-first >> PAGE_BITS), (last + 1 >> PAGE_BITS) - 1) for first, last in self._to_edges(shut))
        return Tower(
            self.first >> PAGE_BITS, self.last >> PAGE_BITS, RangeSet((low, high) for low, high in whole if low <= high)
        )

    def _to_edges(self, shut: RangeSet) -> RangeSet:
        """What is shut, and what the outermost pages hold beyond the subnet."""
        below = self.first & ~LOW
        above = self.last | LOW
        return RangeSet.of((below, above)) - RangeSet.of((self.first, self.last)) | shut

    def _masks(self, number: int) -> Pair:
        base = number << PAGE_BITS
        outside = FULL & ~span(number, self.first, self.last)
        return self.closed.mask(base, PAGE) | outside, self.unleased.mask(base, PAGE) | outside

    def page(self, number: int) -> Page:
        """The page of an address, made if it is not there yet."""
        at = number >> PAGE_BITS
        page = self.pages.get(at)
        if page is None:
            page = self.pages[at] = Page(*self._masks(at))
            insort(self._numbers, at)
        return page

    def pages_between(self, first: int, last: int) -> list[int]:
        """Numbers of the pages that are there from one address to another. Cost: logarithmic, and those found."""
        low = bisect_left(self._numbers, first >> PAGE_BITS)
        return self._numbers[low : bisect_right(self._numbers, last >> PAGE_BITS, low)]

    # Questions

    def is_free(self, number: int) -> bool:
        """Whether a claim could have this address now."""
        if not self.first <= number <= self.last:
            return False
        page = self.pages.get(number >> PAGE_BITS)
        if page is None:
            return number not in self.closed
        return bool(free(page) >> (number & LOW) & 1)

    def is_used(self, number: int) -> bool:
        """Whether somebody holds this address."""
        page = self.pages.get(number >> PAGE_BITS)
        return page is not None and bool(page.used >> (number & LOW) & 1)

    def is_dynamic(self, number: int) -> bool:
        """Whether an address lies in a dynamic range, and is not kept within it."""
        return self.first <= number <= self.last and number not in self.unleased

    def is_free_dynamic(self, number: int) -> bool:
        """Whether a lease could have this address now, offers not considered."""
        if not self.is_dynamic(number):
            return False
        page = self.page(number)
        return not (page.used | page.resting | page.strange) >> (number & LOW) & 1

    def held_between(self, first: int, last: int) -> int:
        """How many addresses from `first` to `last` are held. Cost: linear in the pages there are between them."""
        found = self.pages_between(first, last)
        return sum((self.pages[n].used & span(n, first, last)).bit_count() for n in found)

    def lowest_free(self) -> int | None:
        """The lowest free address of the subnet."""
        return self.next_free(self.first, self.last)

    def next_free(self, first: int, last: int) -> int | None:
        """The lowest free address from `first` to `last`, or None. Cost: see `Tower`."""
        page = self.pages.get(first >> PAGE_BITS)
        if page is not None:
            mask = free(page) & span(first >> PAGE_BITS, first, last)
            if mask:
                return (first & ~LOW) + lowest_bit(mask)
        return self._ahead(self._room, free, first, last)

    def nth_free(self, n: int) -> int | None:
        """The free address that `n` lower ones precede, or None. Cost: the pages that they lie on."""
        at = self._room.next(self.first >> PAGE_BITS)
        while at is not None:
            mask = free(self.page(at << PAGE_BITS))
            if n < mask.bit_count():
                return (at << PAGE_BITS) + nth_bit(mask, n)
            n -= mask.bit_count()
            at = self._room.next(at + 1)
        return None

    def smallest_gap(self) -> int | None:
        """First address of the smallest stretch of free ones, the lowest among equals, or None.

        Cost: logarithmic, in each change from the first call on; that one is linear in what is not free.
        """
        if self._gaps is None:
            busy = (pair for number in self._numbers for pair in self._busy(number))
            free_ones = RangeSet.of((self.first, self.last)) - (RangeSet(busy) | self.closed)
            self._gaps = Gaps(self.first, self.last, free_ones)
        return self._gaps.smallest()

    def forget_gaps(self) -> None:
        """Nobody will ask for the smallest gap, for now: changes cost nothing more for it."""
        self._gaps = None

    def _busy(self, number: int) -> Iterator[Pair]:
        page, base = self.pages[number], number << PAGE_BITS
        return ((base + low, base + high) for low, high in runs(page.used | page.resting | page.strange))

    def free_dynamic(self, start: int) -> int | None:
        """A free address of the dynamic ranges that is offered to nobody, from the `start`-th on (any number will do).

        Cost: see `Tower`.
        """
        if not self._dynamic:
            return None
        first, last = self._dynamic[start % len(self._dynamic)]
        begin = first + start // len(self._dynamic) % (last - first + 1)
        found = self._ahead(self._lease_room, leasable, begin, self.last)
        return self._ahead(self._lease_room, leasable, self.first, begin - 1) if found is None else found

    def _ahead(self, tower: Tower, room: Callable[[Page], int], first: int, last: int) -> int | None:
        at = first
        while at <= last:
            number = tower.next(at >> PAGE_BITS)
            if number is None or number << PAGE_BITS > last:
                return None
            page = self.page(number << PAGE_BITS)
            mask = room(page) & span(number, at, last)
            if mask:
                return (number << PAGE_BITS) + lowest_bit(mask)
            # Only the first page and the last can have room that is not between `first` and `last`.
            at = number + 1 << PAGE_BITS
        return None

    # Change

    def take(self, number: int, woken: datetime | None = None) -> datetime | None:
        """An address is held from now on; returns the end of its rest, if it was resting.

        `woken`: When its rest would have ended, where that is known from elsewhere.
        """
        page = self.page(number)
        bit = 1 << (number & LOW)
        if page.used & bit:
            raise AssertionError(f"{number} of subnet {self.name} is held twice")
        rest = self.unrest(number) if page.resting & bit else None
        if (woken := woken or rest) is not None:
            self.woken[number] = woken
        page.used |= bit
        self.held += 1
        if not page.closed & bit:
            self.in_use += 1
            self._left(number, page)
        if not page.never & bit:
            self._mark_lease(number, page)
        return rest

    def untake(self, number: int) -> datetime | None:
        """An address is held no longer, and rests not at all; returns what `woken` said of it."""
        page = self.pages[number >> PAGE_BITS]
        bit = 1 << (number & LOW)
        if not page.used & bit:
            raise AssertionError(f"{number} of subnet {self.name} is not held")
        page.used &= ~bit
        self.held -= 1
        if not page.closed & bit:
            self.in_use -= 1
            self._back(number, page)
        if not page.never & bit:
            self._mark_lease(number, page)
        return self.woken.pop(number, None)

    def rest(self, number: int, until: datetime) -> None:
        """A free address rests until `until`."""
        page = self.page(number)
        bit = 1 << (number & LOW)
        page.resting |= bit
        self.resting[number] = until
        heapq.heappush(self._ends, (until, number, self.name))
        if not page.closed & bit:
            self.cooling += 1
            self._left(number, page)
        if not page.never & bit:
            self._mark_lease(number, page)

    def rested(self, number: int, until: datetime) -> None:
        """A row says that an address would rest until then: it may be held all the same, or rest for longer."""
        if self.is_used(number):
            self.woken[number] = later = max(until, self.woken.get(number, until))
            heapq.heappush(self._ends, (later, number, self.name))
        elif number not in self.resting:
            self.rest(number, until)
        elif self.resting[number] < until:
            self.unrest(number)
            self.rest(number, until)

    def unrest(self, number: int) -> datetime | None:
        """End an address's rest; returns when it would have ended, or None if it was not resting."""
        until = self.resting.pop(number, None)
        if until is not None:
            page = self.pages[number >> PAGE_BITS]
            bit = 1 << (number & LOW)
            page.resting &= ~bit
            if not page.closed & bit:
                self.cooling -= 1
                self._back(number, page)
            if not page.never & bit:
                self._mark_lease(number, page)
        return until

    def avoid(self, number: int, until: datetime) -> datetime | None:
        """Somebody who does not hold an address was seen on it: it is given to nobody until then.

        Whoever holds it keeps it. Returns until when that was said before.
        """
        before = self.strangers.get(number)
        self.strangers[number] = until
        heapq.heappush(self._ends, (until, number, self.name))
        if before is None:
            page, bit = self.page(number), 1 << (number & LOW)
            unused = not (page.used | page.resting | page.closed) & bit
            page.strange |= bit
            if unused:
                self.avoided += 1
                self._lost(number, page)
            if not page.never & bit:
                self._mark_lease(number, page)
        return before

    def trust(self, number: int) -> datetime | None:
        """What was seen on an address counts no longer; returns until when it would have."""
        until = self.strangers.pop(number, None)
        if until is not None:
            page, bit = self.pages[number >> PAGE_BITS], 1 << (number & LOW)
            if avoided(page) & bit:
                self.avoided -= 1
            page.strange &= ~bit
            if free(page) & bit:
                self._gained(number, page)
            if not page.never & bit:
                self._mark_lease(number, page)
        return until

    def end(self, number: int, until: datetime) -> None:
        """What was to last until then for an address is over: its rest, and what was seen on it."""
        if self.resting.get(number) == until:
            self.unrest(number)
        if self.woken.get(number) == until:
            del self.woken[number]
        if self.strangers.get(number) == until:
            self.trust(number)

    def worn(self, number: int) -> bool:
        """Whether an address was held before."""
        page = self.pages.get(number >> PAGE_BITS)
        return page is not None and bool(page.worn >> (number & LOW) & 1)

    def unwear(self, number: int, *, worn: bool) -> None:
        """An address was not held after all, so that a dry run's answer is what comes next."""
        self.pages[number >> PAGE_BITS].unwear(number & LOW, worn=worn)

    def offer(self, number: int, *, open_: bool) -> None:
        """A DHCP offer of this address is open, or is open no longer."""
        if self.first <= number <= self.last:
            page = self.page(number)
            bit = 1 << (number & LOW)
            page.offered = page.offered | bit if open_ else page.offered & ~bit
            self._mark_lease(number, page)

    def _mark_lease(self, number: int, page: Page) -> None:
        self._lease_room.mark(number >> PAGE_BITS, full=not leasable(page))

    def _left(self, number: int, page: Page) -> None:
        """An address that was free, or avoided, is so no longer."""
        if page.strange >> (number & LOW) & 1:
            self.avoided -= 1
        else:
            self._lost(number, page)

    def _back(self, number: int, page: Page) -> None:
        """An address is free again, or avoided."""
        if page.strange >> (number & LOW) & 1:
            self.avoided += 1
        else:
            self._gained(number, page)

    def _lost(self, number: int, page: Page) -> None:
        """An address that was free is free no longer."""
        self.available -= 1
        page.hold(number & LOW)
        if self._gaps is not None:
            self._gaps.take(number)
        if not free(page):
            self._room.mark(number >> PAGE_BITS, full=True)
            if not self.available:
                self._turned()

    def _gained(self, number: int, page: Page) -> None:
        """An address is free again."""
        self.available += 1
        if self._gaps is not None:
            self._gaps.give(number)
        page.wear(number & LOW)
        mask = free(page)
        if not mask & (mask - 1):  # it is the only one of its page
            self._room.mark(number >> PAGE_BITS, full=False)
            if self.available == 1:
                self._turned()
