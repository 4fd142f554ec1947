"""What a made-up site does: the same for the same seed, and on average what was asked for."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean

import pytest

from tenure.simulate.workload import AddRack, Arrive, Event, Leave, Move, RemoveRack, Repeat, Replace, Workload
from tenure.simulate.world import HOUR, MIXED, Level, Lifetime, Load, Site, World

SMALL = World(site=Site(50, 5, "skewed"), load=Load(levels=(Level(0, 1000.0),), populated=True), hours=24.0)


def events(world: World, seed: int) -> list[Event]:
    return list(Workload(world, seed).events())


def alive(happened: Sequence[Event], until: float) -> int:
    past = [event for event in happened if event.time <= until]
    return sum(isinstance(event, Arrive) for event in past) - sum(isinstance(event, Leave) for event in past)


def test_a_seed_is_a_stream(seed: int) -> None:
    assert events(SMALL, seed) == events(SMALL, seed)
    assert events(SMALL, seed) != events(SMALL, seed + 1)


@pytest.mark.parametrize(
    "load",
    [
        SMALL.load,
        SMALL.load._replace(populated=False, burst=20.0),
        SMALL.load._replace(lifetime=MIXED),
        SMALL.load._replace(migration=0.5),
        SMALL.load._replace(replaced=(4.0, 8.0), rack_added=9.0, rack_removed=12.0),
        SMALL.load._replace(levels=(Level(0, 0.01), Level(24, 0.05))),
    ],
    ids=["steady", "bursts", "mixed", "moves", "hosts", "ramp"],
)
def test_events_are_in_order_and_each_life_is_whole(load: Load, seed: int) -> None:
    happened = events(SMALL._replace(load=load), seed)
    assert all(early.time <= late.time for early, late in pairwise(happened))
    assert happened[-1].time <= 24 * HOUR
    live: set[int] = set()
    for event in happened:
        if isinstance(event, Arrive):
            assert event.workload not in live
            live.add(event.workload)
        elif isinstance(event, Leave):
            live.remove(event.workload)
        elif isinstance(event, Move):
            assert event.workload in live
        elif isinstance(event, Repeat):
            assert event.workload not in live


@pytest.mark.parametrize("lifetime", [Lifetime(), MIXED], ids=["exponential", "mixed"])
def test_as_many_live_as_shall(lifetime: Lifetime, seed: int) -> None:
    """Steadily and on the way up; a Poisson number is rarely five roots away from its mean."""
    levels = Level(0, 2000.0), Level(12, 2000.0), Level(36, 4000.0)
    load = Load(levels=levels, lifetime=lifetime, populated=True)
    happened = events(World(load=load, hours=48.0), seed)
    for hour, wanted in ((6, 2000), (12, 2000), (24, 3000), (36, 4000), (48, 4000)):
        assert abs(alive(happened, hour * HOUR) - wanted) < 5 * wanted**0.5, hour


def test_an_empty_site_fills_in_a_few_lifetimes(seed: int) -> None:
    happened = events(SMALL._replace(load=SMALL.load._replace(populated=False), hours=40.0), seed)
    assert not alive(happened, 0.0)
    assert abs(alive(happened, 40 * HOUR) - 1000 * (1 - 2.71828**-5)) < 160


def test_most_arrivals_of_a_mixture_are_short_and_most_that_live_are_not(seed: int) -> None:
    happened = events(SMALL._replace(load=SMALL.load._replace(lifetime=MIXED), hours=96.0), seed)
    came = {event.workload: event.time for event in happened if isinstance(event, Arrive) and event.time}
    left = {event.workload: event.time for event in happened if isinstance(event, Leave)}
    lives = [left.get(workload, 96 * HOUR) - time for workload, time in came.items() if time < 90 * HOUR]
    assert fmean(life < HOUR for life in lives) > 0.7
    midway = [name for name, time in came.items() if time < 48 * HOUR < left.get(name, 96 * HOUR)]
    assert fmean(left.get(name, 96 * HOUR) - came[name] > 12 * HOUR for name in midway) > 0.7


def test_hosts_are_drawn_by_weight(seed: int) -> None:
    even, skewed = (
        Counter(event.host for event in events(SMALL._replace(site=site), seed) if isinstance(event, Arrive))
        for site in (Site(50, 5, "uniform"), Site(50, 5, "skewed"))
    )
    assert len(even) == 50
    assert max(even.values()) < 2 * min(even.values())
    assert max(skewed.values()) > 3 * min(skewed.values())


def test_deployments_come_at_one_moment(seed: int) -> None:
    happened = events(SMALL._replace(load=SMALL.load._replace(populated=False, burst=20.0), hours=200.0), seed)
    sizes = Counter(event.time for event in happened if isinstance(event, Arrive))
    assert 17 < fmean(sizes.values()) < 23


def test_the_share_moves_and_half_of_it_comes_home(seed: int) -> None:
    happened = events(SMALL._replace(load=SMALL.load._replace(migration=0.2), hours=200.0), seed)
    home = {event.workload: event.host for event in happened if isinstance(event, Arrive)}
    moves = [event for event in happened if isinstance(event, Move)]
    movers = {event.workload for event in moves}
    assert 0.17 < len(movers) / len(home) < 0.21
    assert 0.4 < sum(event.host == home[event.workload] for event in moves[1:]) / len(movers) < 0.6
    assert not any(event.renumber for event in moves)


def test_every_host_is_replaced_once_and_its_releases_come_late_and_twice(seed: int) -> None:
    happened = events(SMALL._replace(load=SMALL.load._replace(replaced=(4.0, 8.0)), hours=12.0), seed)
    times = {event.host: event.time for event in happened if isinstance(event, Replace)}
    assert sorted(times) == list(range(50))
    home = {event.workload: event.host for event in happened if isinstance(event, Arrive)}
    came = {event.workload: event.time for event in happened if isinstance(event, Arrive)}
    left = {event.workload: event.time for event in happened if isinstance(event, Leave)}
    for event in happened:
        if isinstance(event, Repeat):
            replaced = times[home[event.workload]]
            assert came[event.workload] <= replaced < left[event.workload] <= replaced + HOUR < event.time
    assert sum(isinstance(event, Repeat) for event in happened) > 300


def test_racks_come_and_go(seed: int) -> None:
    happened = events(SMALL._replace(load=SMALL.load._replace(rack_added=6.0, rack_removed=12.0)), seed)
    assert AddRack(6 * HOUR, 5, tuple(range(50, 60))) in happened
    assert RemoveRack(12 * HOUR, 0) in happened
    arrivals = [event for event in happened if isinstance(event, Arrive)]
    assert {event.host for event in arrivals if event.time < 6 * HOUR} == set(range(50))
    assert {event.host for event in arrivals if event.time > 12 * HOUR} == set(range(10, 60))


def test_first_requests_are_one_of_each_host_at_once(seed: int) -> None:
    happened = events(SMALL._replace(load=Load(first_requests=True)), seed)
    assert {event.time for event in happened} == {0.0}
    assert sorted(event.host for event in happened if isinstance(event, Arrive)) == list(range(50))
