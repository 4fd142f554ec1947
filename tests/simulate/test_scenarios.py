"""Every scenario asks what the design asks, of worlds that can be run."""

import pytest

from tenure.simulate.scenarios import NAMES, scenario
from tenure.simulate.workload import Workload
from tenure.simulate.world import World


@pytest.mark.parametrize("name", NAMES)
def test_a_scenario_has_a_question_and_different_worlds_without_cooldown(name: str) -> None:
    found = scenario(name)
    assert found.asks.endswith("?")
    assert len(set(found.worlds)) == len(found.worlds)
    assert {world.policy.cooldown for world in found.worlds} == {0}


@pytest.mark.parametrize("world", {world.load: world for name in NAMES for world in scenario(name).worlds}.values())
def test_every_world_has_events_and_fits_its_subnet(world: World, seed: int) -> None:
    assert next(Workload(world, seed).events()).time < 600
    assert max(map(world.amount, world.load.levels)) <= world.addresses
    assert all(span.end <= world.hours for span in world.spans)


def test_the_reference_is_the_table() -> None:
    rows = [
        (world.policy.strategy, world.policy.block_length, world.policy.boundary, world.subnet, world.site.skew)
        for world in scenario("reference").worlds
    ]
    large, small = "10.0.0.0/16", "10.0.0.0/17"
    assert rows == [
        ("host_block", 26, "soft", large, "skewed"),
        ("host_block", 28, "soft", large, "skewed"),
        ("host_block", 26, "soft", small, "uniform"),
        ("host_block", 26, "hard", small, "uniform"),
        ("topology", None, "soft", large, "skewed"),
        ("topology", None, "soft", small, "skewed"),
        ("topology", 26, "soft", small, "uniform"),
    ]


@pytest.mark.parametrize("name", ["fill", "ramp"])
def test_a_ramp_has_points_two_percent_apart(name: str) -> None:
    for world in scenario(name).worlds:
        assert [round(100 * mark) for mark in world.marks] == list(range(10, 99, 2))
