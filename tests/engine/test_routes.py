"""The smallest routing table, against every table there could be, and against a slow way that is plainly right."""

import random

import pytest

from tenure.engine.routes import FollowedTable, Level, Route, RouteTable
from tests.engine import routes_world as world
from tests.engine.routes_world import LEVELS, Facts


class Walk:
    """Facts that come and go at random, with a table of each kind beside them."""

    def __init__(self, rng: random.Random, width: int, level: Level, owners: int = 99) -> None:
        self.rng = rng
        self.width = width
        self.level = level
        self.owners = owners
        self.facts: Facts = {}
        self.smallest = RouteTable(width, level)
        self.followed = FollowedTable(width, level)

    def step(self) -> None:
        if self.facts and self.rng.random() < len(self.facts) / 12:
            fact = self.rng.choice(sorted(self.facts))
            del self.facts[fact]
            self.smallest.drop(*fact)
            self.followed.drop(*fact)
        else:
            fact, owner = world.anything(self.rng, self.width, self.owners)
            self.facts[fact] = owner
            self.smallest.put(*fact, owner)
            self.followed.put(*fact, owner)

    @property
    def accepts(self) -> list[frozenset[world.Hop]]:
        return world.accepted(self.facts, self.level, self.width)


@pytest.mark.parametrize("level", LEVELS.values(), ids=LEVELS)
@pytest.mark.parametrize("owners", [2, 99])
def test_no_table_is_smaller_and_every_address_arrives(rng: random.Random, level: Level, owners: int) -> None:
    walk = Walk(rng, 6, level, owners)
    for _ in range(400):
        walk.step()
        accepts = walk.accepts
        routes = walk.smallest.routes()
        assert world.delivers(routes, accepts, 6, level.default), walk.facts
        assert len(routes) == walk.smallest.size == world.optimum(accepts, level.default), walk.facts


@pytest.mark.parametrize("level", LEVELS.values(), ids=LEVELS)
@pytest.mark.parametrize("width", [2, 3])
def test_all_smaller_tables_fail(rng: random.Random, level: Level, width: int) -> None:
    walk = Walk(rng, width, level, 3)
    for _ in range(60):
        walk.step()
        size = walk.smallest.size
        if 0 < size <= 3:
            assert not world.some_table_of(size - 1, walk.accepts, width, level.default), walk.facts


@pytest.mark.parametrize("level", LEVELS.values(), ids=LEVELS)
def test_a_followed_table_arrives_too_and_tells_each_change(rng: random.Random, level: Level) -> None:
    walk = Walk(rng, 6, level)
    announced: dict[tuple[int, int], Route] = {}
    for _ in range(400):
        for _ in range(rng.randint(1, 3)):
            walk.step()
        change = walk.followed.changes()
        for route in change.added:
            assert announced.get(route[:2]) != route
            announced[route[:2]] = route
        for route in change.withdrawn:
            assert announced.pop(route[:2]) == route
        assert sorted(announced.values()) == walk.followed.routes()
        assert world.delivers(announced.values(), walk.accepts, 6, level.default), walk.facts
        assert walk.smallest.size <= walk.followed.size
        away = {fact[1] for fact in walk.facts if fact[0] == "loose"}
        for route in (*announced.values(), *walk.smallest.routes()):
            assert route.loose == (route.length == 6 and route.first in away)


@pytest.mark.parametrize("level", LEVELS.values(), ids=LEVELS)
def test_tables_depend_on_the_facts_and_not_on_their_history(rng: random.Random, level: Level) -> None:
    walk = Walk(rng, 6, level)
    for _ in range(200):
        walk.step()
        again = FollowedTable(6, level)
        for fact, owner in rng.sample(sorted(walk.facts.items(), key=str), len(walk.facts)):
            again.put(*fact, owner)
        assert again.routes() == walk.followed.routes()
        assert sorted(again.facts()) == sorted(walk.smallest.facts()) == sorted(walk.followed.facts())
