"""Two ways to drive the engine, strategies and blocks alone or whole plans: the same events, the same figures."""

from typing import get_args

import pytest

from tenure.engine.routes import RouteTable, hosts, spine
from tenure.engine.strategies import host_block
from tenure.errors import InvalidValue
from tenure.model.policy import Boundaries, Boundary, StrategyName
from tenure.simulate import blocks, plans
from tenure.simulate.blocks import BlocksAlone
from tenure.simulate.plans import WholePlans
from tenure.simulate.replay import Result, replay
from tenure.simulate.workload import Workload
from tenure.simulate.world import Level, Load, Policy, Site, World

CAP = host_block.CAP
FULL = World(
    Policy(cooldown=60),
    "10.0.0.0/23",
    Site(24, 4, "skewed"),
    Load(levels=(Level(0, 0.9),), populated=True, migration=0.2),
    hours=12.0,
    warm_up=2.0,
)
RESTLESS = Load(
    levels=(Level(0, 0.7),), populated=True, migration=0.1, replaced=(2.0, 4.0), rack_added=5.0, rack_removed=8.0
)


def both(world: World, seed: int) -> tuple[Result, Result, BlocksAlone, WholePlans]:
    alone, whole = blocks.drive(world), plans.drive(world)
    events = list(Workload(world, seed).events())
    return replay(world, events, alone), replay(world, events, whole), alone, whole


def figures(result: Result) -> list[tuple[int, ...]]:
    """All but the updates: an address in no block is announced anew when it moves, and counted once or twice."""
    return [sample.figures[:-1] for sample in result.samples]


def held(drive: BlocksAlone | WholePlans) -> list[int]:
    space = drive.space
    return [number for number in range(space.first, space.last + 1) if space.is_used(number)]


def blocks_of(drive: BlocksAlone | WholePlans) -> list[tuple[int, int, str | None]]:
    """Blocks, and their owners by name: ids are another thing in each."""
    space, locations = drive.space, drive.state.locations
    found = (
        (*block.key, None if block.owner is None else locations[block.owner].name.partition(" ")[0].partition("-")[0])
        for block in (*space.blocks.values(), *space.regions.values())
    )
    return sorted(found, key=str)


@pytest.mark.parametrize("strategy", get_args(StrategyName))
@pytest.mark.parametrize("load", [FULL.load, FULL.load._replace(renumber=True), RESTLESS], ids=["kept", "new", "hosts"])
def test_whole_plans_do_what_strategies_and_blocks_alone_do(strategy: StrategyName, load: Load, seed: int) -> None:
    world = FULL._replace(policy=Policy(strategy, cap=CAP, cooldown=60), load=load, drained=True)
    one, other, alone, whole = both(world, seed)
    assert one.whole == other.whole
    assert figures(one) == figures(other)
    assert (held(alone), blocks_of(alone)) == (held(whole), blocks_of(whole))
    assert one.drained is not None
    assert other.drained is not None
    assert one.drained[:-1] == other.drained[:-1]
    assert (one.drained.live, one.drained.loose) == (0, 0)


@pytest.mark.parametrize("boundary", [Boundaries(rack="hard"), Boundaries(site="hard")], ids=["rack", "site"])
@pytest.mark.parametrize("strategy", ["topology", "host_block"])
def test_boundaries_are_the_same_where_hosts_and_racks_come_and_go(
    boundary: Boundaries, strategy: StrategyName, seed: int
) -> None:
    world = FULL._replace(policy=Policy(strategy, boundary=boundary, cap=CAP), load=RESTLESS)
    one, other, alone, whole = both(world, seed)
    assert one.whole == other.whole
    assert figures(one) == figures(other)
    assert (held(alone), blocks_of(alone)) == (held(whole), blocks_of(whole))


@pytest.mark.parametrize("boundary", ["hard", Boundaries(rack="hard")], ids=["hard", "rack"])
@pytest.mark.parametrize("strategy", ["topology", "host_block"])
def test_boundaries_are_the_same(boundary: Boundary | Boundaries, strategy: StrategyName, seed: int) -> None:
    one, other, alone, whole = both(FULL._replace(policy=Policy(strategy, boundary=boundary, cap=CAP)), seed)
    assert one.whole == other.whole
    assert one.whole.stuck > 0
    assert figures(one) == figures(other)
    assert blocks_of(alone) == blocks_of(whole)


def test_addresses_are_the_same_in_the_midst_of_it(seed: int) -> None:
    one, other, alone, whole = both(FULL, seed)
    assert len(held(alone)) > 400
    assert (held(alone), blocks_of(alone)) == (held(whole), blocks_of(whole))
    assert alone.space.loose.keys() == whole.space.loose.keys()
    assert one.samples[-1].figures == other.samples[-1].figures


@pytest.mark.parametrize("load", [FULL.load, RESTLESS], ids=["moves", "hosts"])
def test_tables_that_are_followed_are_those_that_are_made_anew(load: Load, seed: int) -> None:
    drive = blocks.drive(world := FULL._replace(load=load))
    result = replay(world, Workload(world, seed).events(), drive)
    space, sizes = drive.space, []
    for level in hosts(drive.state.locations), spine(drive.state.locations):
        table = RouteTable(space.width, level)
        for (first, length, _), region in space.regions.items():
            table.put("region", first, length, region.owner)
        for block in space.blocks.values():
            table.put("block", *block.key, block.owner)
        for number, host in space.loose.items():
            table.put("loose", number, space.width, host)
        sizes.append(table.size)
    last = result.samples[-1].figures
    assert [last.least_fabric, last.least_spine] == sizes
    assert last.least_fabric <= last.fabric
    assert last.least_spine <= last.spine


def test_what_was_released_is_forgotten_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "_REMEMBERED", 10)
    drive = plans.drive(FULL)
    for workload in range(100):
        assert drive.claim(workload, workload % 24)
        assert drive.release(workload)
        assert not drive.release(workload)  # stale: known still, and nothing is released
    assert not drive.release(0)
    assert len(drive._rows.claims) == len(drive._claims) == 10


def test_a_stale_release_does_not_touch_who_has_the_address_now() -> None:
    for drive in blocks.drive(FULL._replace(policy=Policy())), plans.drive(FULL._replace(policy=Policy())):
        assert drive.claim(0, 0)
        drive.replace(0)
        assert drive.release(0)
        assert drive.claim(1, 0)
        assert not drive.release(0)
        assert drive.figures().live == 1


def test_whole_plans_say_which_cap_they_can_have() -> None:
    with pytest.raises(InvalidValue, match="20 blocks"):
        plans.drive(World(Policy("host_block")))
