"""tenure.net.rangeset against the naive model: a Python set of integers."""

import sys
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.errors import InvalidValue
from tenure.net.rangeset import RangeSet

SPAN = 80
bounds = st.integers(0, SPAN)
pairs = st.lists(st.tuples(bounds, bounds).map(lambda pair: (min(pair), max(pair))), max_size=8)


def members(ranges: RangeSet) -> set[int]:
    return {number for first, last in ranges for number in range(first, last + 1)}


def model(of: list[tuple[int, int]]) -> set[int]:
    return {number for first, last in of for number in range(first, last + 1)}


def assert_canonical(ranges: RangeSet) -> None:
    """Sorted, disjoint, not touching: so that equal sets have one form."""
    listed = list(ranges)
    assert all(first <= last for first, last in listed)
    assert all(a[1] + 1 < b[0] for a, b in pairwise(listed))


@given(pairs, pairs)
def test_algebra_is_that_of_sets(left: list[tuple[int, int]], right: list[tuple[int, int]]) -> None:
    a, b, x, y = RangeSet.of(*left), RangeSet(right), model(left), model(right)
    for made, expected in ((a, x), (a | b, x | y), (a & b, x & y), (a - b, x - y)):
        assert members(made) == expected
        assert_canonical(made)
        assert made.size == len(expected)
        assert bool(made) == bool(expected)
    assert (a == b) == (x == y)
    if x == y:
        assert hash(a) == hash(b)
    assert a | b == b | a
    assert (a - b) | (a & b) == a


@given(pairs, st.integers(-3, SPAN + 3), st.integers(-3, SPAN + 3))
def test_questions_are_those_of_sets(of: list[tuple[int, int]], first: int, last: int) -> None:
    ranges, expected = RangeSet(of), model(of)
    inside = {number for number in expected if first <= number <= last}
    assert (first in ranges) == (first in expected)
    assert ranges.overlaps(first, last) == bool(inside)
    assert members(ranges.within(first, last)) == inside


@given(pairs, bounds, st.integers(0, 40))
def test_mask_has_a_bit_for_each_member(of: list[tuple[int, int]], first: int, bits: int) -> None:
    expected = sum(1 << at for at in range(bits) if first + at in model(of))
    assert RangeSet(of).mask(first, bits) == expected


def test_the_drawing() -> None:
    a = RangeSet.of((0, 5), (9, 14), (17, 20))
    b = RangeSet.of((3, 11))
    assert list(a | b) == [(0, 14), (17, 20)]
    assert list(a & b) == [(3, 5), (9, 11)]
    assert list(a - b) == [(0, 2), (12, 14), (17, 20)]


def test_neighbours_become_one() -> None:
    assert RangeSet.of((5, 9), (0, 4)) == RangeSet.of((0, 9))
    assert repr(RangeSet.of((5, 9), (0, 4))) == "RangeSet.of((0, 9))"


def test_ipv6_costs_no_more_than_ipv4() -> None:
    """netbox 8208, 14026: members are never walked."""
    slash_48 = RangeSet.of((2**100, 2**100 + 2**80 - 1))
    assert slash_48.size == 2**80 > sys.maxsize
    holes = slash_48 - RangeSet.of(*((2**100 + at * 2**40, 2**100 + at * 2**40) for at in range(100)))
    assert holes.size == 2**80 - 100
    assert holes.mask(2**100, 256) == 2**256 - 2


def test_a_range_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(InvalidValue):
        RangeSet.of((5, 4))


def test_compared_with_other_things() -> None:
    assert RangeSet() != ()
    assert not RangeSet()
    assert RangeSet.of((1, 1)) in {RangeSet.of((1, 1))}


class CountingInts:
    """A range set's bounds, counting how many of them were looked at."""

    def __init__(self, numbers: tuple[int, ...]) -> None:
        self.numbers = numbers
        self.looked_at = 0

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, at: int) -> int:
        self.looked_at += 1
        return self.numbers[at]


def test_a_mask_of_one_page_does_not_look_at_the_others() -> None:
    """Cost by counting: O(log n + ranges inside), with 100,000 ranges outside the page."""
    ranges = RangeSet((at * 10, at * 10 + 4) for at in range(100_000))
    firsts, lasts = CountingInts(ranges._firsts), CountingInts(ranges._lasts)
    ranges._firsts, ranges._lasts = firsts, lasts  # type: ignore[assignment]
    ranges.mask(500_000, 256)
    assert firsts.looked_at + lasts.looked_at < 2 * 17 + 2 * 27
