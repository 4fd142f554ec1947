"""What strategies search in: an order of numbers, free pieces after a place, gaps by size. Against slow sets."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tenure.engine.buddy import Buddy
from tenure.engine.gaps import Gaps
from tenure.engine.page import FULL, nth_bit, runs
from tenure.engine.pages import Ends, Occupancy
from tenure.engine.tower import Order
from tenure.net.rangeset import RangeSet
from tests.engine.test_counting import lines_of


@given(
    st.sampled_from([(0, 255), (10, 700), ((1 << 32) - 70_000, (1 << 32) - 1), (1 << 100, (1 << 100) + (1 << 24) - 1)]),
    st.data(),
)
def test_an_order_knows_the_neighbours_of_every_number(ends: tuple[int, int], data: st.DataObject) -> None:
    order, members = Order(*ends), set[int]()
    numbers = st.integers(*ends) | st.sampled_from([ends[0], ends[1]])
    for number, joins in data.draw(st.lists(st.tuples(numbers, st.booleans()), max_size=30)):
        (order.add if joins else order.discard)(number)
        (members.add if joins else members.discard)(number)
    for asked in [*ends, *members, *data.draw(st.lists(st.integers(ends[0] - 2, ends[1] + 2), max_size=10))]:
        assert order.next(asked) == min((n for n in members if n >= asked), default=None)
        assert order.previous(asked) == max((n for n in members if n <= asked), default=None)


@given(st.integers(0, (1 << 256) - 1))
def test_runs_and_places_of_bits(mask: int) -> None:
    bits = [bit for bit in range(256) if mask >> bit & 1]
    assert [bit for low, high in runs(mask) for bit in range(low, high + 1)] == bits
    assert [nth_bit(mask, n) for n in range(len(bits))] == bits


class Pieces(RuleBasedStateMachine):
    """A buddy of 64 addresses, beside the set of its free ones."""

    @initialize(asked=st.booleans())
    def begin(self, asked: bool) -> None:
        self.buddy = Buddy(640, 26, 32)
        self.free = set(range(640, 704))
        if asked:  # from the beginning, or when it has changed already
            self.buddy.find_from(650, 32)

    @rule(at=st.integers(640, 703), length=st.integers(26, 32))
    def carve_or_give(self, at: int, length: int) -> None:
        size = 1 << (32 - length)
        piece = set(range(at // size * size, at // size * size + size))
        if piece <= self.free:
            self.buddy.carve(min(piece), length)
            self.free -= piece
        elif not piece & self.free:
            self.buddy.give(min(piece), length)
            self.free |= piece

    @rule(at=st.integers(630, 710), length=st.integers(26, 32))
    def ask(self, at: int, length: int) -> None:
        size = 1 << (32 - length)
        fits = (n for n in range(640, 704, size) if n >= at and set(range(n, n + size)) <= self.free)
        assert self.buddy.find_from(at, length) == min(fits, default=None)


class Holes(RuleBasedStateMachine):
    """Gaps of 100 addresses, beside the set of the free ones."""

    @initialize(free=st.sets(st.integers(500, 599)))
    def begin(self, free: set[int]) -> None:
        self.free = free
        self.gaps = Gaps(500, 599, self.pairs())

    @rule(number=st.integers(500, 599))
    def change(self, number: int) -> None:
        (self.gaps.take if number in self.free else self.gaps.give)(number)
        self.free ^= {number}

    @invariant()
    def they_are_those_of_the_set(self) -> None:
        if hasattr(self, "free"):
            assert self.gaps.pairs() == self.pairs()
            smallest = min(((high - low, low) for low, high in self.pairs()), default=(0, None))
            assert self.gaps.smallest() == smallest[1]

    def pairs(self) -> list[tuple[int, int]]:
        lows = sorted(n for n in self.free if n - 1 not in self.free)
        highs = sorted(n for n in self.free if n + 1 not in self.free)
        return list(zip(lows, highs, strict=True))


TestPieces: Any = Pieces.TestCase
TestHoles: Any = Holes.TestCase


def test_the_nth_free_address_costs_the_pages_up_to_it() -> None:
    """A /12 in which every page that is not full has one free address."""
    pages = Occupancy("", 0, (1 << 20) - 1, 32, Ends())
    pages.fill({at: FULL if at % 4 else FULL ^ 1 << at % 256 for at in range(4096)})
    pages.close(RangeSet(), RangeSet())
    assert [pages.nth_free(n) for n in (0, 7, 1023, 1024)] == [0, 28 * 256 + 28, 4092 * 256 + 252, None]
    assert lines_of(lambda: pages.nth_free(999)) < 40 * 1000


def test_many_pieces_and_gaps_cost_what_few_do() -> None:
    """A /8 of single addresses, with every second one taken at its beginning."""
    costs = []
    for taken in (64, 16_384):
        buddy, gaps = Buddy(0, 8, 32), Gaps(0, (1 << 24) - 1, [(0, (1 << 24) - 1)])
        buddy.find_from(0, 32)
        for n in range(taken):
            buddy.carve(2 * n, 32)
            gaps.take(2 * n)

        def act(buddy: Buddy = buddy, gaps: Gaps = gaps) -> None:
            assert buddy.find_from(12, 28) is not None
            buddy.carve(65, 32)
            buddy.give(65, 32)
            gaps.take(16_000_000)
            gaps.give(16_000_000)
            assert gaps.smallest() == 1

        costs.append(lines_of(act))
    assert costs[1] <= 1.5 * costs[0]
