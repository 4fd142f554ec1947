"""What time alone does to placement: empty blocks go back, blocks shrink, and budgets are crossed once."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tenure.engine.fingerprint import fingerprint
from tenure.engine.routes import RouteTable, spine
from tenure.engine.state import State
from tenure.errors import TenureError
from tenure.model import events as e
from tenure.model import uses as u
from tenure.model.answers import Number
from tenure.model.policy import Boundaries
from tenure.net.addresses import number_of
from tests.engine import naive
from tests.engine.world import World, site

MINUTE = 60
_KINDS = ("rack", "site", "region")
POOL = "10.0.0.0/22"


def tended(world: World, limit: int = 256) -> list[e.Event]:
    made = world.plan(u.Tend(limit=limit))
    assert made.answer == Number(len(made.events))
    assert len(made.events) <= limit
    return made.events


def after(world: World, minutes: float) -> list[tuple[str, str]]:
    """What goes back when so many minutes have passed: kind and prefix."""
    world.wait(minutes * MINUTE)
    return [shown(event) for event in tended(world)]


def shown(event: Any) -> tuple[str, str]:
    assert isinstance(event, e.BlockSurrendered)
    return event.block.kind, event.block.cidr


def filled(world: World, host: str, count: int) -> list[Any]:
    return [world.claim(host=host) for _ in range(count)]


def emptied(world: World, held: list[Any]) -> None:
    for each in held:
        world.release(each)


def owned(world: World, cidr: str = POOL) -> list[tuple[str, str]]:
    blocks = [*world.space(cidr).blocks.values(), *world.space(cidr).regions.values()]
    return sorted((block.kind, block.text) for block in blocks)


# Blocks


def test_the_last_block_of_a_host_goes_back_after_an_hour_and_then_its_racks() -> None:
    world = site(POOL, cooldown=0)
    emptied(world, filled(world, "h0-0", 1))
    assert [kind for kind, _ in owned(world)] == ["host", "rack", "site"]
    assert after(world, 59) == []
    assert [kind for kind, _ in after(world, 1)] == ["host"]
    assert after(world, 59) == []
    assert [kind for kind, _ in after(world, 1)] == ["rack"]
    assert [kind for kind, _ in after(world, 60)] == ["site"]
    assert owned(world) == []


def test_an_empty_block_goes_back_after_a_quarter_of_an_hour_while_its_host_has_another() -> None:
    world = site("10.0.0.0/27", racks=1, cooldown=0, block_length_v4=29, rack_block_length_v4=27)
    held = [each for host in ("h0-0", "h0-1", "h0-2", "h0-0") for each in filled(world, host, 5)]
    first, second = world.space("10.0.0.0/27").own[world.state.find("location", "h0-0")].values()
    emptied(world, [each for each in held if second.first <= number(each) <= second.last])
    assert after(world, 14) == []
    assert after(world, 1) == [("host", second.text)]
    emptied(world, [each for each in held if first.first <= number(each) <= first.last])
    assert after(world, 59) == []
    assert after(world, 1) == [("host", first.text)]


def number(holding: Any) -> int:
    return number_of(holding.addresses[0].ip)


def test_what_is_used_again_in_time_stays() -> None:
    world = site(POOL, cooldown=0)
    emptied(world, filled(world, "h0-0", 1))
    world.wait(59 * MINUTE)
    kept = filled(world, "h0-0", 1)
    assert after(world, 5) == []
    emptied(world, kept)
    assert after(world, 59) == []
    assert [kind for kind, _ in after(world, 1)] == ["host"]


def test_blocks_go_back_under_every_strategy_and_racks_with_them() -> None:
    world = site(POOL, cooldown=0)
    held = filled(world, "h0-0", 1)
    world.do(u.ChangeNetwork(network="prod", changes={"strategy": "first_free"}))
    emptied(world, held)
    for _ in range(4):
        after(world, 60)
    assert owned(world) == []


def test_host_block_keeps_the_last_block_and_gives_back_the_others() -> None:
    world = site(POOL, cooldown=0, strategy="host_block", block_length_v4=28)
    held = filled(world, "h0-0", 20)
    emptied(world, held)
    assert after(world, 14) == []
    assert len(after(world, 1)) == 1
    assert after(world, 24 * 60) == []
    assert [kind for kind, _ in owned(world)] == ["host"]


def test_the_limit_is_kept_and_the_rest_comes_next() -> None:
    world = site(*(f"10.{n}.0.0/24" for n in range(5)), racks=1, hosts=5, cooldown=0)
    for n in range(5):
        held = [world.claim(host=f"h0-{host}", subnet=f"10.{n}.0.0/24") for host in range(5)]
        emptied(world, held)
    world.wait(60 * MINUTE)
    assert [len(tended(world, 4)) for _ in range(8)] == [4, 4, 4, 4, 4, 4, 1, 0]


def test_subnets_without_an_empty_block_are_not_looked_at() -> None:
    world = site(*(f"10.{n}.0.0/24" for n in range(5)), cooldown=0)
    held = [world.claim(host="h0-0", subnet=f"10.{n}.0.0/24") for n in range(5)]
    after(world, 15)  # their racks' blocks were not cut when they came
    assert set(world.state.emptied) == set()
    world.release(held[3])
    assert [world.state.subnets[s].subnet.cidr for s in world.state.emptied] == ["10.3.0.0/24"]
    for _ in range(5):
        after(world, 60)
    assert set(world.state.emptied) == set()


# Halves


def test_a_grown_block_shrinks_by_halves_as_its_addresses_go() -> None:
    world = site(POOL, cooldown=0)
    held = filled(world, "h0-0", 60)
    (block,) = world.space(POOL).blocks.values()
    assert block.length == 26
    by_address = sorted(held, key=number)
    emptied(world, by_address[17:])
    assert after(world, 15) == []
    emptied(world, by_address[16:17])
    assert after(world, 14) == []
    world.wait(MINUTE)
    (shrunk,) = tended(world)
    assert isinstance(shrunk, e.BlockResized)
    assert (shrunk.before.cidr, shrunk.block.cidr) == (block.text, block.text.replace("/26", "/27"))
    emptied(world, [*by_address[:14], by_address[15]])
    world.wait(15 * MINUTE)
    (shrunk,) = tended(world)
    assert isinstance(shrunk, e.BlockResized) and shrunk.block.cidr.endswith("/28")
    world.wait(15 * MINUTE)
    assert tended(world) == []  # that is how blocks begin


def test_a_block_does_not_shrink_while_its_upper_half_holds_something() -> None:
    world = site(POOL, cooldown=0)
    by_address = sorted(filled(world, "h0-0", 30), key=number)
    emptied(world, by_address[:-1])
    assert after(world, 60) == []
    emptied(world, by_address[-1:])
    assert [kind for kind, _ in after(world, 60)] == ["host"]


# Budgets


def crossings(events: list[Any]) -> list[tuple[bool, int]]:
    return [(x.network.over_budget, x.routes) for x in events if isinstance(x, e.NetworkBudgetCrossed)]


def spine_of(world: World) -> int:
    """The spine's routes of `prod`, from everything that the tables say."""
    state = world.state
    tables = {4: RouteTable(32, spine(state.locations)), 6: RouteTable(128, spine(state.locations))}
    for space in state.spaces(world.state.find("network", "prod") or ""):
        narrowest: dict[tuple[int, int], str | None] = {}
        for first, length, kind in sorted(space.regions, key=lambda key: _KINDS.index(key[2])):
            narrowest.setdefault((first, length), space.regions[first, length, kind].owner)
        for (first, length), owner in narrowest.items():
            if owner:
                tables[space.version].put("region", first, length, owner)
        for block in space.blocks.values():
            tables[space.version].put("block", block.first, block.length, block.owner or None)
        for number, host in space.loose.items():
            tables[space.version].put("loose", number, space.width, host)
    return sum(table.size for table in tables.values())


def told(world: World) -> int:
    state = world.state
    network = state.find("network", "prod") or ""
    return state.spines.routes(network, state.locations, state.spaces(network))


def test_a_budget_is_crossed_once_up_and_once_down() -> None:
    world = site(POOL, racks=4, route_budget=2, cooldown=0)
    held = [world.claim(host=f"h{rack}-0") for rack in range(2)]
    assert crossings(tended(world)) == []
    more = [world.claim(host=f"h{rack}-0") for rack in (2, 3)]
    assert crossings(tended(world)) == [(True, 4)]
    assert tended(world) == []
    held += [world.claim(host=f"h{rack}-1") for rack in range(4)]
    assert tended(world) == []
    emptied(world, more + held[2:])
    for _ in range(3):
        world.wait(60 * MINUTE)
        if found := crossings(tended(world)):
            break
    assert found == [(False, 2)]
    assert tended(world) == []


def test_a_restart_and_a_replay_keep_what_was_said() -> None:
    world = site(POOL, racks=4, route_budget=2)
    for rack in range(4):
        world.claim(host=f"h{rack}-0")
    tended(world)
    replayed = State()
    for event in world.events:
        replayed.reduce(event)
    replayed.advance(world.now)
    loaded = State.load(world.tables, world.now)
    for state in (replayed, loaded):
        assert fingerprint(state) == fingerprint(world.state)
        world.state = state
        assert tended(world) == []
        assert told(world) == 4


@pytest.mark.parametrize(("budget", "over"), [(9, False), (None, False), (1, True)])
def test_a_changed_budget_is_looked_at_next(budget: int | None, over: bool) -> None:
    world = site(POOL, racks=4, route_budget=2)
    for rack in range(4):
        world.claim(host=f"h{rack}-0")
    tended(world)
    world.do(u.ChangeNetwork(network="prod", changes={"route_budget": budget}))
    assert crossings(tended(world)) == ([] if over else [(False, 4)])
    assert world.state.networks[world.state.find("network", "prod") or ""].over_budget is over
    assert tended(world) == []


def test_what_a_network_without_a_budget_has_is_not_counted() -> None:
    world = site(POOL, route_budget=2)
    world.claim(host="h0-0")
    tended(world)
    assert world.space(POOL).watch is not None
    world.do(u.ChangeNetwork(network="prod", changes={"route_budget": None}))
    assert world.space(POOL).watch is None
    assert tended(world) == []
    assert world.space(POOL).watch is None


def test_a_host_that_moves_to_another_rack_is_counted_there() -> None:
    world = site(POOL, racks=2, hosts=4, route_budget=2)
    for host in ("h0-0", "h1-0", "h1-1", "h1-2", "h1-3"):
        world.claim(host=host)
    assert (crossings(tended(world)), told(world)) == ([], 2)
    for rack, crossed in (("r0", (True, 3)), ("r1", (False, 2))):
        world.do(u.ChangeLocation(location="h1-0", changes={"parent": rack}))
        assert crossings(tended(world)) == [crossed]
        assert told(world) == spine_of(world)


HOSTS = [f"h{rack}-{host}" for rack in range(3) for host in range(3)]
moves = st.one_of(
    st.tuples(st.just("claim"), st.sampled_from(HOSTS)),
    st.tuples(st.just("claim"), st.sampled_from(HOSTS)),
    st.tuples(st.just("release"), st.integers(0, 99)),
    st.tuples(st.just("move"), st.tuples(st.integers(0, 99), st.sampled_from(HOSTS))),
    st.tuples(st.just("wait"), st.sampled_from([60, 900, 3600])),
    st.tuples(st.just("place"), st.tuples(st.sampled_from(HOSTS), st.sampled_from(["r0", "r1", "r2"]))),
    st.tuples(st.just("leave"), st.sampled_from(HOSTS)),
    st.tuples(st.just("subnet"), st.sampled_from(["10.0.1.0/27", "2001:db8::/120", "10.0.0.0/25"])),
    st.tuples(st.just("budget"), st.sampled_from([None, 1, 3, 50])),
)


def do(world: World, what: str, how: Any) -> None:
    claims = [c.id for c in world.tables.open("claims")] or ["none"]
    if what == "claim":
        world.claim(host=how, family="v4")
    elif what == "release":
        world.do(u.ReleaseClaim(claim=claims[how % len(claims)]))
    elif what == "move":
        world.do(u.RebindClaim(claim=claims[how[0] % len(claims)], host=how[1]))
    elif what == "place":
        world.do(u.ChangeLocation(location=how[0], changes={"parent": how[1]}))
    elif what == "leave":
        world.do(u.DeleteLocation(location=how))
    elif what == "subnet":
        resizes = how.endswith("/25")
        world.do(
            u.ChangeSubnet(subnet="10.0.0.0/26", changes={"cidr": how})
            if resizes
            else u.CreateSubnet(network="prod", cidr=how, fields={})
        )
    elif what == "budget":
        world.do(u.ChangeNetwork(network="prod", changes={"route_budget": how}))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(moves, min_size=5, max_size=40),
    st.sampled_from([29, 30, 32]),
    st.sampled_from(["soft", "hard", Boundaries(rack="hard")]),
)
def test_whatever_happens_the_count_is_that_of_all_facts(asked: list[Any], length: int, boundary: Any) -> None:
    world = site("10.0.0.0/26", racks=3, route_budget=2, cooldown=0, block_length_v4=length, boundary=boundary)
    for what, how in asked:
        if what == "wait":
            world.wait(how)
        with suppress(TenureError):
            do(world, what, how)
        tended(world, 3)
        naive.check(world)
        network = world.state.networks[world.state.find("network", "prod") or ""]
        if network.route_budget is not None:
            assert told(world) == spine_of(world)
