"""One page of addresses as bits, and arithmetic of such bits."""

from collections import OrderedDict
from collections.abc import Iterator

from tenure.net.rangeset import Pair

PAGE_BITS = 8
PAGE = 1 << PAGE_BITS
LOW = PAGE - 1
FULL = (1 << PAGE) - 1


class Page:
    """256 addresses: bit i is the page's i-th address.

    Attributes:
        used: Held by somebody, leases included.
        resting: Released and cooling.
        offered: Offered to a DHCP client lately.
        strange: Seen in use lately by somebody who does not hold it.
        closed: Never given by a claim (outside the subnet included).
        never: Never given by a lease: all but the dynamic ranges, and what is kept within them.
        worn: Were held once. Memory that may be lost.
        order: Those of `worn` that are free, by when they became so, the longest first; None while there were none.
    """

    __slots__ = ("closed", "never", "offered", "order", "resting", "strange", "used", "worn")

    def __init__(self, closed: int, never: int) -> None:
        self.used = 0
        self.resting = 0
        self.offered = 0
        self.strange = 0
        self.closed = closed
        self.never = never
        self.worn = 0
        self.order: OrderedDict[int, None] | None = None

    def wear(self, low: int) -> None:
        """An address has become free: it is the last to be used again."""
        self.worn |= 1 << low
        if self.order is None:
            self.order = OrderedDict()
        self.order[low] = None
        self.order.move_to_end(low)

    def unwear(self, low: int, *, worn: bool) -> None:
        """An address was not held after all: it is the first to be used again, as it was."""
        if not worn:
            self.worn &= ~(1 << low)
            self.hold(low)
        elif self.order is not None and low in self.order:
            self.order.move_to_end(low, last=False)

    def hold(self, low: int) -> None:
        """An address is free no longer."""
        if self.order is not None:
            self.order.pop(low, None)

    def longest_rested(self, mask: int) -> int:
        """Of some free addresses the lowest that was never held, or else that which has been free longest."""
        if not mask & ~self.worn:
            for low in self.order or ():
                if mask >> low & 1:
                    return low
        return lowest_bit(mask & ~self.worn or mask)


def free(page: Page) -> int:
    """The addresses of a page that a claim could have."""
    return FULL & ~(page.used | page.resting | page.closed | page.strange)


def avoided(page: Page) -> int:
    """The addresses of a page that a claim could have, if no stranger had been seen on them."""
    return page.strange & ~(page.used | page.resting | page.closed)


def leasable(page: Page) -> int:
    """The addresses of a page that a lease could have, and that are offered to nobody."""
    return FULL & ~(page.used | page.resting | page.offered | page.never | page.strange)


def span(page: int, first: int, last: int) -> int:
    """Mask of the addresses of a page from `first` to `last`."""
    base = page << PAGE_BITS
    low = max(first - base, 0)
    high = min(last - base, LOW)
    return ((1 << (high + 1)) - 1) & ~((1 << low) - 1) if high >= low else 0


def runs(mask: int) -> Iterator[Pair]:
    """The stretches of ones in a mask, as (first, last) bit."""
    at = 0
    while mask:
        zeros = lowest_bit(mask)
        mask >>= zeros
        ones = (~mask & mask + 1).bit_length() - 1
        yield at + zeros, at + zeros + ones - 1
        mask >>= ones
        at += zeros + ones


def lowest_bit(mask: int) -> int:
    """Place of the lowest bit of a mask that is not 0."""
    return (mask & -mask).bit_length() - 1


def nth_bit(mask: int, n: int) -> int:
    """Place of the bit of a page's mask that `n` lower ones precede; there must be one."""
    at, half = 0, PAGE // 2
    while half:
        below = (mask >> at & (1 << half) - 1).bit_count()
        if n >= below:
            n -= below
            at += half
        half //= 2
    return at
