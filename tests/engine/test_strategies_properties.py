"""The strategies named after other allocators, whatever was asked before: what they propose can be had."""

from contextlib import suppress
from itertools import groupby, islice
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tenure.engine.strategies import MOST_CANDIDATES, STRATEGIES, Candidate, View, Wish
from tenure.engine.strategies.host_block import idle
from tenure.errors import TenureError
from tenure.model import events as e
from tenure.model.placement import ROOT
from tenure.model.policy import Reach
from tenure.net.addresses import parse_prefix
from tests.engine import naive
from tests.engine.test_properties import begin, filled, steps
from tests.engine.world import World

CHOICES = ["host_block", "smallest_gap", "random_window"]


@pytest.mark.parametrize("strategy", CHOICES)
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(asked=st.lists(steps, min_size=5, max_size=25), boundary=st.sampled_from(["soft", "hard"]))
def test_what_is_proposed_can_be_had(strategy: str, asked: list[Any], boundary: str) -> None:
    world = begin(boundary, strategy=strategy, block_length_v4=29)
    for use, at, seconds in asked:
        world.wait(seconds)
        with suppress(TenureError):
            world.do(filled(use, world, at))
        naive.check(world)
        for space in world.state.subnets.values():
            check_numbers(space)
            check_idle(world, space)
            for host in [None, "h0-0", "h1-0"] if space.available else []:
                check_proposals(world, space, host)


def check_numbers(space: Any) -> None:
    free = [n for n in range(space.first, space.last + 1) if space.is_free(n)]
    rows = [[n for _, n in row] for _, row in groupby(enumerate(free), lambda each: each[1] - each[0])]
    assert space.smallest_gap() == (min(rows, key=len)[0] if rows else None)
    assert [space.nth_free(n) for n in range(0, len(free) + 1, 7)] == [*free, None][::7]


def check_idle(world: World, space: Any) -> None:
    for event in idle(space, world.now):
        prefix = parse_prefix(event.block.cidr)
        assert not space.held_between(int(prefix[0]), int(prefix[-1]))
        assert len(space.own[event.block.owner]) > 1


def check_proposals(world: World, space: Any, host: str | None) -> None:
    for strategy in CHOICES:
        for candidate in proposed(world, space, strategy, host, "anywhere"):
            check(space, candidate)
    owner = owner_of(world, host)
    for candidate in proposed(world, space, "host_block", host, "host"):
        block = None if candidate.number is None else space.block_at(candidate.number)
        assert owner == (candidate.steps[-1].block.owner if block is None else block.owner)


def proposed(world: World, space: Any, strategy: str, host: str | None, reach: Reach) -> list[Candidate]:
    wish = Wish(owner_of(world, host), "", (), reach, host or "")
    view = View([space], str, world.now, seed=len(world.events))
    return list(islice(STRATEGIES[strategy](wish, view), MOST_CANDIDATES))


def owner_of(world: World, host: str | None) -> str:
    return ROOT if host is None else world.state.find("location", host) or "nobody"


def check(space: Any, candidate: Candidate) -> None:
    """A free address; or a block with one, that crosses none but the one that is given back for it."""
    if candidate.number is not None:
        assert space.is_free(candidate.number)
        return
    prefix = parse_prefix(candidate.steps[-1].block.cidr)
    first, last = int(prefix[0]), int(prefix[-1])
    assert space.next_free(first, last) is not None
    crossed = [b.text for b in space.blocks.values() if b.first <= last and first <= b.first + b.size - 1]
    given_back = [step.block.cidr for step in candidate.steps if isinstance(step, e.BlockSurrendered)]
    assert crossed == given_back
