"""What time alone does to placement: hand-overs end, what is idle goes back, routes are held against budgets."""

from collections.abc import Iterator
from itertools import chain, islice

import msgspec

from tenure.engine.draft import Draft
from tenure.engine.moves import settle_due
from tenure.engine.space import Space
from tenure.engine.strategies import IDLE, idle
from tenure.engine.strategies.view import Step
from tenure.model import events as e
from tenure.model.addressing import Network
from tenure.model.answers import Number
from tenure.model.uses import Tend

_SUBNETS = 64
"""Subnets in which one call looks for something idle."""


def tend(use: Tend, draft: Draft) -> Number:
    """Do what is due, at most `limit` changes; how many there were.

    Cost: in what is due, looks at some of the subnets in which something is empty, and a comparison for each network
        with a budget; but see `Spines` for the first.
    """
    done = settle_due(draft, use.limit)
    done += _give_back(draft, use.limit - done)
    done += _hold_against_budgets(draft, use.limit - done)
    return Number(done)


def _give_back(draft: Draft, limit: int) -> int:
    """What is idle in some of the subnets goes back; next time it is the turn of the others."""
    state, done = draft.state, 0
    for subnet in list(islice(state.emptied, _SUBNETS)):
        if done == limit:
            break
        del state.emptied[subnet]
        space = state.subnets.get(subnet)
        if space is None:
            continue
        for step in islice(_idle(draft, space), limit - done):
            draft.record(step)
            done += 1
        if space.empties or space.idle or space.slack:
            state.emptied[subnet] = None
    return done


def _idle(draft: Draft, space: Space) -> Iterator[Step]:
    of_hosts = IDLE[draft.state.networks[space.subnet.network].strategy]
    return chain(of_hosts(space, draft.moment.now), idle.wider(space, draft.moment.now))


def _hold_against_budgets(draft: Draft, limit: int) -> int:
    crossed = ((draft.state.networks[network], _routes(draft, network)) for network in list(draft.state.spines.budgets))
    found = list(islice((each for each in crossed if _is_over(*each) != each[0].over_budget), limit))
    for network, routes in found:
        after = msgspec.structs.replace(network, over_budget=not network.over_budget, revision=network.revision + 1)
        draft.record(e.NetworkBudgetCrossed(network=after, routes=routes))
    return len(found)


def _routes(draft: Draft, network: str) -> int:
    state = draft.state
    return state.spines.routes(network, state.locations, state.spaces(network))


def _is_over(network: Network, routes: int) -> bool:
    return network.route_budget is not None and routes > network.route_budget
