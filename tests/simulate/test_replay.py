"""A run: what is asked of the allocator, what is counted, and when figures are taken."""

import pytest

from tenure.simulate.replay import Result, replay
from tenure.simulate.scenarios import scenario
from tenure.simulate.workload import AddRack, Arrive, Event, Leave, Move, RemoveRack, Repeat, Replace, Workload
from tenure.simulate.world import HOUR, Level, Load, Policy, Site, World
from tests.simulate.fixed_blocks import FixedBlocks

TINY = World(Policy(block_length=30), "10.0.0.0/29", Site(4, 2, "uniform"), hours=2.0, warm_up=1.0)
SMALL = World(
    Policy(block_length=28),
    "10.0.0.0/20",
    Site(50, 5, "skewed"),
    Load(levels=(Level(0, 0.5),), populated=True),
    hours=24.0,
)


def told(*events: Event, world: World = TINY) -> tuple[Result, FixedBlocks]:
    drive = FixedBlocks(world)
    return replay(world, events, drive), drive


def test_figures_are_taken_every_hour_after_upkeep_every_minute() -> None:
    result, drive = told(Arrive(10.0, 0, 0), Arrive(HOUR + 1, 1, 1))
    assert [(each.time / HOUR, each.figures.live) for each in result.samples] == [(0, 0), (1, 1), (2, 2)]
    assert drive.ticks == [60.0 * minute for minute in range(121)]


def test_a_sample_has_the_bounds_of_what_is_held() -> None:
    result, _ = told(*(Arrive(1.0, number, host) for number, host in enumerate((0, 0, 0, 1, 1, 1, 1, 1))))
    assert [(each.fabric_bound, each.spine_bound) for each in result.samples] == [(0, 0), (3, 1), (3, 1)]


def test_counts_begin_after_the_warm_up() -> None:
    result, _ = told(Arrive(1.0, 0, 0), Arrive(HOUR - 1, 1, 0), Arrive(HOUR + 1, 2, 1), Leave(HOUR + 2, 2))
    assert (result.counts.arrived, result.whole.arrived) == (1, 3)
    assert (result.counts.events, result.whole.events) == (2, 4)


def test_a_refusal_counts_and_its_leave_asks_nothing() -> None:
    hard = TINY._replace(policy=Policy(block_length=30, boundary="hard"), warm_up=2.0)
    crowd = [Arrive(1.0, number, 0) for number in range(7)]
    others = [Arrive(2.0, 10 + host, host) for host in (1, 2)]
    result, drive = told(*crowd, *others, Leave(3.0, 6), Leave(4.0, 11), world=hard)
    assert (result.whole.refused, result.whole.refused_with_room) == (2, 2)
    assert sorted(drive.holds) == [0, 1, 2, 3, 4, 5]
    assert result.samples[-1].figures.live == 6


def test_a_full_subnet_refuses_without_room() -> None:
    result, _ = told(*(Arrive(1.0, number, number % 4) for number in range(9)), world=TINY._replace(warm_up=0.0))
    assert (result.whole.refused, result.whole.refused_with_room) == (1, 0)


def test_moves_are_counted_and_those_that_come_home() -> None:
    happened = Arrive(1.0, 0, 0), Move(2.0, 0, 1, False), Move(3.0, 0, 1, False), Move(4.0, 0, 0, False), Leave(5.0, 0)
    result, drive = told(*happened, Move(6.0, 0, 1, False))
    assert (result.whole.moved, result.whole.returned, result.whole.stuck) == (2, 1, 0)
    assert not drive.holds


def test_a_stale_release_must_release_nothing() -> None:
    result, _ = told(Arrive(1.0, 0, 0), Replace(2.0, 0), Leave(3.0, 0), Repeat(4.0, 0))
    assert (result.whole.stale, result.whole.stale_accepted) == (1, 0)

    class Forgetful(FixedBlocks):
        def release(self, workload: int) -> bool:
            super().release(workload)
            return True

    spoilt = replay(TINY, [Arrive(1.0, 0, 0), Leave(3.0, 0), Repeat(4.0, 0)], Forgetful(TINY))
    assert spoilt.whole.stale_accepted == 1


def test_racks_are_told() -> None:
    happened = AddRack(1.0, 2, (4, 5)), Arrive(2.0, 0, 5), Leave(3.0, 0), RemoveRack(4.0, 0)
    result, drive = told(*happened)
    assert drive.rack_of == {2: 1, 3: 1, 4: 2, 5: 2}
    assert result.samples[-1].spine_bound == 0


def test_marks_are_sampled_as_they_are_reached_and_the_last_ends_the_run() -> None:
    marked = TINY._replace(marks=(0.25, 0.5), hours=100.0)
    result, _ = told(*(Arrive(HOUR * number, number, 0) for number in range(8)), world=marked)
    assert [(each.mark, each.figures.live) for each in result.samples if each.mark] == [(0.25, 2), (0.5, 4)]
    assert result.samples[-1].time == 3 * HOUR


def test_everybody_leaves_a_drained_world() -> None:
    world = SMALL._replace(drained=True, load=SMALL.load._replace(replaced=(4.0, 8.0), rack_removed=12.0))
    result = replay(world, Workload(world, 1).events(), FixedBlocks(world))
    assert result.drained is not None
    assert (result.drained.live, result.drained.loose, result.drained.free) == (0, 0, 4096)
    assert len(result.samples) == 25


@pytest.mark.parametrize("load", [SMALL.load, SMALL.load._replace(migration=0.3)], ids=["churn", "moves"])
def test_what_is_counted_is_what_the_allocator_holds(load: Load, seed: int) -> None:
    world = SMALL._replace(load=load)
    drive = FixedBlocks(world)
    hours: list[int] = []
    result = replay(world, Workload(world, seed).events(), drive, hours.append)
    assert hours == [1] * 24
    for sample in result.samples[1:]:
        assert sample.figures.fabric >= sample.fabric_bound
        assert sample.figures.spine >= sample.spine_bound
    left = len(drive.holds)
    assert result.samples[-1].figures.live == left
    assert result.whole.arrived - result.whole.refused - left == result.whole.events - result.whole.arrived - (
        result.whole.moved + result.whole.stuck + _idle(world, seed)
    )


def _idle(world: World, seed: int) -> int:
    """Moves to where the workload is."""
    here: dict[int, int] = {}
    idle = 0
    for event in Workload(world, seed).events():
        if isinstance(event, Arrive | Move):
            idle += isinstance(event, Move) and here[event.workload] == event.host
            here[event.workload] = event.host
    return idle


def test_the_worlds_of_the_table_are_as_it_says(seed: int) -> None:
    """Rows three and four of the design's table: 203k arrivals after the warm-up; one seed of a plain allocator."""
    soft, hard = scenario("reference").worlds[2:4]
    assert soft.load == hard.load
    arrived = sum(isinstance(event, Arrive) and event.time >= 16 * HOUR for event in Workload(soft, seed).events())
    assert abs(arrived - 203_000) < 2_500
    result = replay(hard, Workload(hard, seed).events(), FixedBlocks(hard))
    assert 6_500 < result.counts.refused < 10_500
    assert result.samples[-1].figures.fabric <= 512
