"""Whether a clock can be trusted."""

from tenure.service.clock import CALM, STEP, Steadiness
from tests.service.world import StillClock


def seen(clock: StillClock, steadiness: Steadiness) -> bool:
    """Whether the clock is trusted after one more look."""
    steadiness.see(clock.now(), clock.monotonic())
    return steadiness.trusted


def test_steady_clock_is_trusted() -> None:
    clock, steadiness = StillClock(), Steadiness()
    for _ in range(100):
        assert seen(clock, steadiness)
        clock.pause(3600)


def test_slewing_is_no_step() -> None:
    clock, steadiness = StillClock(), Steadiness()
    for _ in range(1000):
        assert seen(clock, steadiness)
        clock.pause(1000)
        clock.step(0.5)


def test_small_steps_are_none_and_do_not_add_up_in_a_day() -> None:
    clock, steadiness = StillClock(), Steadiness()
    for _ in range(20):
        assert seen(clock, steadiness)
        clock.step(30)
        assert seen(clock, steadiness)
        clock.pause(86400)


def test_many_small_steps_at_once_are_one() -> None:
    clock, steadiness = StillClock(), Steadiness()
    for _ in range(10):
        seen(clock, steadiness)
        clock.step(10)
    assert not steadiness.trusted


def test_step_forwards_shows_at_once_and_is_calm_later() -> None:
    clock, steadiness = StillClock(), Steadiness()
    seen(clock, steadiness)
    clock.step(STEP + 1)
    assert not seen(clock, steadiness)
    assert "+61 s" in steadiness.reason
    clock.pause(CALM - 1)
    assert not seen(clock, steadiness)
    clock.pause(1)
    assert seen(clock, steadiness)


def test_another_step_begins_the_wait_anew() -> None:
    clock, steadiness = StillClock(), Steadiness()
    seen(clock, steadiness)
    clock.step(100)
    seen(clock, steadiness)
    clock.pause(CALM - 1)
    clock.step(-100)
    assert not seen(clock, steadiness)
    clock.pause(CALM - 1)
    assert not seen(clock, steadiness)
    clock.pause(1)
    assert seen(clock, steadiness)


def test_step_backwards_shows_within_two_minutes_though_the_time_stands_still() -> None:
    clock, steadiness = StillClock(), Steadiness()
    seen(clock, steadiness)
    stands = clock.now()
    clock.step(-3600)
    looks = 0
    while steadiness.trusted:
        clock.pause(1)
        steadiness.see(max(clock.now(), stands), clock.monotonic())
        looks += 1
    assert STEP <= looks <= 2 * STEP
