"""Routing tables that people can check by hand, what a change costs, and what is worth moving."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest

from bench.routes import WORLDS
from tenure.engine.routes import (
    Fact,
    FollowedTable,
    Kind,
    Level,
    Move,
    Route,
    RouteTable,
    host,
    hosts,
    moves,
    rack,
    spine,
    tally,
)
from tenure.engine.routes.trie import Node
from tenure.model.topology import Location
from tenure.net.addresses import parse_prefix, prefix_text
from tests.engine.routes_world import SITE


def at(text: str) -> tuple[int, int]:
    """A prefix, or one address, in numbers."""
    prefix = parse_prefix(text if "/" in text else f"{text}/32")
    return int(prefix.network_address), prefix.prefixlen


def put(table: RouteTable | FollowedTable, *facts: str) -> None:
    """Facts such as `region 10.0.0.0/21 r11`; `-` is nobody."""
    for fact in facts:
        kind, prefix, owner = fact.split()
        table.put(kind, *at(prefix), None if owner == "-" else owner)  # type: ignore[arg-type]


def drop(table: RouteTable | FollowedTable, kind: Kind, prefix: str) -> None:
    table.drop(kind, *at(prefix))


def told(routes: list[Route]) -> list[str]:
    return [f"{prefix_text(4, route.first, route.length)} {route.hop or 'unreachable'}" for route in routes]


RACKS = (
    "region 10.0.0.0/21 r11",
    "block 10.0.0.0/26 h111",
    "block 10.0.4.0/26 h112",
    "region 10.0.8.0/21 r12",
    "block 10.0.8.0/26 h121",
)
EACH = ("region", "block", "loose")


def tables(level: Level, *facts: str) -> tuple[RouteTable, FollowedTable]:
    both = RouteTable(32, level), FollowedTable(32, level)
    for table in both:
        put(table, *facts)
    return both


def agreed(level: Level, *facts: str) -> list[str]:
    """The table, where both kinds are the same."""
    smallest, followed = tables(level, *facts)
    assert told(smallest.routes()) == told(followed.routes())
    return told(followed.routes())


def test_a_rack_is_one_route_for_each_region_at_the_spine() -> None:
    assert agreed(spine(SITE), *RACKS) == ["10.0.0.0/21 r11", "10.0.8.0/21 r12"]


def test_a_rack_without_a_block_has_no_route_and_nobody_else_covers_its_space() -> None:
    bare = "region 10.0.0.0/21 r11", "region 10.0.8.0/21 r12", "block 10.0.8.0/26 h121"
    assert agreed(spine(SITE), *bare) == ["10.0.8.0/21 r12"]


def test_buddies_of_one_rack_are_one_route() -> None:
    facts = (*RACKS[:3], "region 10.0.8.0/21 r11", "block 10.0.8.0/26 h113")
    assert agreed(spine(SITE), *facts) == ["10.0.0.0/20 r11"]


def test_a_borrowed_address_is_a_route_of_its_own_at_the_spine() -> None:
    facts = (*RACKS, "loose 10.0.0.9 h121")
    assert agreed(spine(SITE), *facts) == ["10.0.0.0/21 r11", "10.0.0.9/32 r12", "10.0.8.0/21 r12"]
    assert tally(tables(spine(SITE), *facts)[0].routes()) == (2, 1)


def test_an_address_lent_inside_the_rack_costs_the_spine_nothing() -> None:
    assert agreed(spine(SITE), *RACKS, "loose 10.0.0.9 h112") == ["10.0.0.0/21 r11", "10.0.8.0/21 r12"]


def test_a_host_covers_free_space_of_its_own_rack_only() -> None:
    smallest, followed = tables(hosts(SITE), *RACKS)
    assert smallest.size == followed.size == 3
    for table in smallest, followed:
        assert all(route.first >> 11 == route.first + (1 << 32 - route.length) - 1 >> 11 for route in table.routes())


def test_outside_of_every_region_a_block_is_its_own_route_and_buddies_merge() -> None:
    facts = "block 10.0.0.0/26 h111", "block 10.0.0.64/26 h111", "block 10.0.0.192/26 h111", "block 10.0.1.0/26 h121"
    assert agreed(hosts(SITE), *facts) == ["10.0.0.0/25 h111", "10.0.0.192/26 h111", "10.0.1.0/26 h121"]


def test_a_block_without_an_owner_is_like_free_space() -> None:
    assert agreed(spine(SITE), "block 10.0.0.0/26 -") == []
    facts = "region 10.0.0.0/21 r11", "block 10.0.0.0/26 -", "block 10.0.4.0/26 h111", "loose 10.0.0.1 h111"
    assert agreed(spine(SITE), *facts) == ["10.0.0.0/21 r11"]
    assert agreed(hosts(SITE), *facts) == ["10.0.0.0/21 h111"]


def test_a_block_that_spans_two_regions_of_its_rack_is_its_owners() -> None:
    facts = "region 10.0.0.0/30 r11", "region 10.0.0.4/30 r11", "block 10.0.0.0/29 h111"
    for order in (facts, facts[::-1]):
        assert agreed(hosts(SITE), *order) == ["10.0.0.0/29 h111"]
        assert agreed(spine(SITE), *order) == ["10.0.0.0/29 r11"]
        assert agreed(host("h111"), *order) == ["10.0.0.0/29 local"]


def test_a_rack_switch_knows_its_hosts_and_what_its_own_routes_would_swallow() -> None:
    facts = (*RACKS, "loose 10.0.4.9 h121", "loose 10.0.8.9 h111")
    smallest, followed = tables(rack(SITE, "r11"), *facts)
    assert {(route.hop, route.loose) for route in smallest.routes()} >= {("up", True), ("h111", True), ("h112", False)}
    assert smallest.size == followed.size == 4
    assert agreed(rack(SITE, "r21"), *facts) == []


def test_a_host_knows_its_own_blocks_and_no_more() -> None:
    facts = (*RACKS, "loose 10.0.4.9 h121", "loose 10.0.8.9 h111", "loose 10.0.0.5 h112")
    assert agreed(host("h111"), *facts) == ["10.0.0.0/26 local", "10.0.0.5/32 up", "10.0.8.9/32 local"]


def test_a_host_without_a_rack_is_its_own_hop_at_the_spine() -> None:
    assert agreed(spine(SITE), "block 10.0.0.0/26 lone", "loose 10.0.0.1 h111") == [
        "10.0.0.0/26 lone",
        "10.0.0.1/32 r11",
    ]


def test_a_rack_or_a_site_is_the_hop_of_what_it_holds_itself() -> None:
    facts = ("block 10.0.0.0/26 h111", "block 10.0.1.0/26 r11", "block 10.2.0.0/26 s1", "loose 10.0.0.1 r11")
    assert {"10.0.1.0/26 r11", "10.2.0.0/26 s1", "10.0.0.1/32 r11"} <= {*agreed(hosts(SITE), *facts)}
    assert agreed(spine(SITE), "block 10.0.0.0/26 r11", "block 10.2.0.0/26 s1") == [
        "10.0.0.0/26 r11",
        "10.2.0.0/26 s1",
    ]
    assert {"10.0.1.0/26 local", "10.0.0.1/32 local"} <= {*agreed(rack(SITE, "r11"), *facts)}
    assert not [route for route in agreed(rack(SITE, "r11"), *facts) if route.startswith("10.2.")]


def test_a_block_that_grows_into_free_space_changes_no_route() -> None:
    _, followed = tables(hosts(SITE), *RACKS)
    followed.changes()
    put(followed, "block 10.0.0.0/25 h111")
    drop(followed, "block", "10.0.0.0/26")
    assert followed.changes() == ([], [])


def test_an_address_that_leaves_and_comes_home_is_announced_and_withdrawn() -> None:
    _, followed = tables(spine(SITE), *RACKS)
    assert told(followed.changes().added) == ["10.0.0.0/21 r11", "10.0.8.0/21 r12"]
    put(followed, "loose 10.0.0.9 h121")
    away = Route(*at("10.0.0.9"), "r12", loose=True)
    assert followed.changes() == ([away], [])
    put(followed, "loose 10.0.0.9 h111")
    assert followed.changes() == ([], [away])


@pytest.mark.parametrize("kind", EACH)
def test_what_is_not_here_is_not_dropped(kind: Kind) -> None:
    smallest, followed = tables(spine(SITE), *RACKS)
    for table in smallest, followed:
        for prefix in ("10.0.0.8/32", "10.0.0.0/23", "10.0.0.0/8"):
            with pytest.raises(KeyError):
                drop(table, kind, prefix)
        assert told(table.routes()) == ["10.0.0.0/21 r11", "10.0.8.0/21 r12"]


class Counted(RouteTable):
    """Counts the nodes that are weighed."""

    steps = 0

    def _weigh(self, node: Node) -> bool:
        self.steps += 1
        return super()._weigh(node)


@pytest.mark.parametrize("number", range(4), ids=[world.name for world in WORLDS[:4]])
def test_a_change_weighs_one_path_however_wide_the_addresses(rng: random.Random, number: int) -> None:
    world = WORLDS[number]
    facts = dict(world.facts(rng))
    table = Counted(world.width, hosts(world.locations()))
    for fact, owner in facts.items():
        table.put(*fact, owner)
    steps = Counter[int]()
    for fact in rng.sample([fact for fact in facts if fact[0] == "loose"], 100):
        before = table.steps
        table.drop(*fact)
        middle = table.steps
        table.put(*fact, facts[fact])
        steps.update((middle - before, table.steps - middle))
    assert max(steps) <= 32
    assert sum(number * times for number, times in steps.items()) / steps.total() < 12
    nodes = sum(1 for _ in table._nodes())
    assert nodes <= 2 * len(facts) + 1


def test_a_region_that_grows_does_not_look_at_its_blocks() -> None:
    table = Counted(32, hosts(SITE))
    put(table, "region 10.0.0.0/17 r11", *(f"block 10.0.{at}.0/26 h11{at % 3 + 1}" for at in range(100)))
    before = table.steps
    put(table, "region 10.0.0.0/16 r11")
    drop(table, "region", "10.0.0.0/17")
    assert table.steps - before < 10


def test_hosts_that_come_seldom_make_their_regions_be_looked_at() -> None:
    table = Counted(32, hosts({}))
    for at in range(2_000):
        table.put("block", at << 8, 26, f"h{at}")
    assert table.steps < 20 * 2_000
    assert table.size == 2_000


@pytest.mark.parametrize("number", range(4), ids=[world.name for world in WORLDS[:4]])
def test_a_followed_table_has_few_routes_more_than_the_fewest(rng: random.Random, number: int) -> None:
    world = WORLDS[number]
    facts = dict(world.facts(rng))
    for level, most in (hosts(world.locations()), 1.15), (spine(world.locations()), 1.01):
        smallest, followed = RouteTable(world.width, level), FollowedTable(world.width, level)
        for fact, owner in facts.items():
            smallest.put(*fact, owner)
            followed.put(*fact, owner)
        assert smallest.size == len(smallest.routes())
        assert smallest.size <= followed.size == len(followed.routes()) <= most * smallest.size


@pytest.mark.parametrize("view", [hosts, spine])
def test_where_nothing_is_lent_no_followed_route_reaches_around_another(
    rng: random.Random, view: Callable[[dict[str, Location]], Level]
) -> None:
    world = replace(WORLDS[2], lent=0.0, loose=0)
    followed = FollowedTable(32, view(world.locations()))
    for fact, owner in world.facts(rng):
        followed.put(*fact, owner)
    routes = followed.routes()
    assert len(routes) >= world.racks
    assert all(one.first + (1 << 32 - one.length) <= two.first for one, two in pairwise(routes))


def test_after_everything_is_dropped_nothing_is_left(rng: random.Random) -> None:
    world = WORLDS[0]
    facts = dict(world.facts(rng))
    smallest, followed = RouteTable(32, hosts(world.locations())), FollowedTable(32, hosts(world.locations()))
    for table in smallest, followed:
        for fact, owner in facts.items():
            table.put(*fact, owner)
        for fact in rng.sample(sorted(facts), len(facts)):
            table.drop(*fact)
        assert table.size == 0
        assert len(list(table._nodes())) == 1
    assert followed.changes() == ([], [])


def test_the_moves_that_save_most_come_first_and_the_table_stays() -> None:
    facts = (
        *RACKS,
        "loose 10.0.0.9 h121",
        "loose 10.0.4.2 h121",
        "loose 10.0.4.3 h121",
        "loose 10.0.0.20 h112",
        "block 10.0.2.16/28 h122",
    )
    table, _ = tables(spine(SITE), *facts)
    before = table.routes()
    alone, block = Fact("loose", *at("10.0.0.9"), "r12"), Fact("block", *at("10.0.2.16/28"), "r12")
    pair = Fact("loose", *at("10.0.4.2"), "r12"), Fact("loose", *at("10.0.4.3"), "r12")
    assert moves(table, 9, block_length=28) == [Move((alone,), 1), Move((block,), 1), Move(pair, 1)]
    assert moves(table, 1, block_length=32) == [Move((alone,), 1)]
    assert moves(table, 9, block_length=32, most=2) == [Move((alone,), 1)]
    assert table.routes() == before


def test_what_a_move_saves_is_what_the_table_loses(rng: random.Random) -> None:
    world = WORLDS[1]
    table = RouteTable(32, spine(world.locations()))
    for fact, owner in world.facts(rng):
        table.put(*fact, owner)
    for move in moves(table, 20, block_length=28, most=300):
        before = table.size
        assert table.saving(move.facts) == move.saves
        for gone in move.facts:
            table.drop(gone.kind, gone.first, gone.length)
        assert table.size == before - move.saves
