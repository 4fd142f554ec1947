"""tenure.naming.serial: the circle of RFC 1982."""

import dns.serial
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tenure.naming.serial import halfway, later, leap, step, steps

TOP = 2**32 - 1
serials = st.integers(0, TOP)
distances = st.integers(1, 2**31 - 1)


@pytest.mark.parametrize(
    ("a", "b"),
    [(1, 0), (44, 0), (100, 0), (100, 44), (200, 100), (255, 200), (0, 255), (100, 255), (0, 200), (44, 200)],
)
def test_the_examples_of_the_rfc(a: int, b: int) -> None:
    """RFC 1982 section 5.2, whose eight bits stand here as the top eight of thirty-two."""
    assert later(a << 24, b << 24)
    assert not later(b << 24, a << 24)


def test_opposite_serials_are_not_ordered() -> None:
    """RFC 1982 section 3.2: undefined, so false both ways."""
    assert not later(0, 2**31)
    assert not later(2**31, 0)


@given(serials, serials)
def test_later_agrees_with_dnspython(a: int, b: int) -> None:
    if (a - b) % 2**32 != 2**31:
        assert later(a, b) == (dns.serial.Serial(a) > dns.serial.Serial(b))


@given(serials, distances)
def test_later_holds_half_way_round(serial: int, distance: int) -> None:
    assert later((serial + distance) % 2**32, serial)
    assert not later(serial, (serial + distance) % 2**32)
    assert not later(serial, serial)


@given(serials | st.integers(TOP - 3, TOP))
def test_a_step_is_later_and_never_zero(serial: int) -> None:
    assert later(step(serial), serial)
    assert 0 < step(serial) <= TOP
    assert (step(serial) - serial) % 2**32 in (1, 2)


def test_steps_across_the_wrap() -> None:
    assert step(TOP - 1) == TOP
    assert step(TOP) == 1
    assert step(0) == 1


@given(serials | st.integers(TOP - 20, TOP), st.integers(0, 20))
def test_steps_are_counted_and_zero_which_is_passed_is_one(serial: int, count: int) -> None:
    last = serial
    for _ in range(count):
        last = step(last)
    passed = count > 0 and (TOP - serial) < count
    assert steps(serial, last) == count + passed


@given(serials, st.integers(0, 2**28 - 1))
def test_a_leap_is_later_than_all_that_was_lost(restored: int, lost: int) -> None:
    """The serials that a restore forgot were seen by secondaries; none may come again."""
    leapt = leap(restored)
    assert 0 < leapt <= TOP
    assert later(leapt, (restored + lost) % 2**32)


@given(serials)
def test_seven_leaps_in_a_row_are_still_later(serial: int) -> None:
    leapt = serial
    for _ in range(7):
        leapt = leap(leapt)
        assert later(leapt, serial)


def test_a_leap_across_the_wrap_is_not_zero() -> None:
    assert leap(2**32 - 2**28) == 1


@given(serials | st.just(2**31 + 1), serials | st.integers(2**31 - 2, 2**31 + 2))
def test_whatever_is_not_later_is_reached_by_way_of_one_that_is(first: int, last: int) -> None:
    """RFC 1982 section 7; from just before the first it takes one more."""
    assume(first and last and first != last and not later(last, first))
    by_way_of = []
    while not later(last, first):
        assert later(halfway(first, last), first)
        by_way_of.append(first := halfway(first, last))
    assert all(by_way_of) and len(by_way_of) <= 2


@given(serials)
def test_half_way_leaves_room_for_changes_in_the_meantime(first: int) -> None:
    last = (first + 2**31) % 2**32
    assume(first and last)
    assert steps(halfway(first, last), last) >= 2**30
