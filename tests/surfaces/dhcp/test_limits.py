from hypothesis import given
from hypothesis import strategies as st

from tenure.surfaces.dhcp.limits import Buckets


def test_a_burst_then_the_rate() -> None:
    buckets = Buckets(rate=2, burst=3, capacity=10)
    assert [buckets.allow("a", 100) for _ in range(4)] == [True, True, True, False]
    assert buckets.allow("b", 100)
    assert not buckets.allow("a", 100.4)
    assert buckets.allow("a", 100.6)
    assert not buckets.allow("a", 100.6)


def test_a_clock_that_steps_back_adds_nothing() -> None:
    buckets = Buckets(rate=1, burst=1, capacity=10)
    assert buckets.allow("a", 100)
    assert not buckets.allow("a", 50)
    assert not buckets.allow("a", 50.5)
    assert buckets.allow("a", 51.5)


@given(st.lists(st.tuples(st.integers(0, 50), st.floats(0, 3)), max_size=200))
def test_memory_is_bounded_and_no_key_passes_its_rate(steps: list[tuple[int, float]]) -> None:
    buckets, now = Buckets(rate=2, burst=5, capacity=8), 0.0
    granted: list[tuple[int, float]] = []
    for key, pause in steps:
        now += pause
        if buckets.allow(key % 8, now):
            granted.append((key % 8, now))
        buckets.allow(key, now)
        assert len(buckets) <= 8
    everyone = Buckets(rate=2, burst=5, capacity=1)
    assert sum(everyone.allow("x", at) for _, at in granted) <= 5 + 2 * now + 1
