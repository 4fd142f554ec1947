"""No table is smaller than the bound: tried against the smallest table of small subnets, whatever is held where."""

from functools import cache
from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.simulate.bounds import fewest_routes

Holders = tuple[int, ...]
NOBODY = 0


@cache
def smallest(holders: Holders, above: int = NOBODY) -> int:
    """Fewest routes with which longest match brings each address to its holder; what nobody holds may go anywhere.

    `above` is the next hop of the longest route around. Plainly: at each prefix, no route, or one for any hop.
    """
    if len(holders) == 1:
        return int(holders[0] not in (NOBODY, above))
    half = len(holders) // 2
    hops = {above, *holders} - {NOBODY}
    return min((hop != above) + smallest(holders[:half], hop) + smallest(holders[half:], hop) for hop in {above, *hops})


def held(holders: Holders) -> list[int]:
    return [holders.count(hop) for hop in range(1, max(holders) + 1)]


@given(st.lists(st.integers(0, 3), min_size=16, max_size=16))
def test_no_table_is_smaller(holders: list[int]) -> None:
    assert fewest_routes(held(tuple(holders)), 16) <= smallest(tuple(holders))


@given(st.data())
def test_no_table_is_smaller_where_each_hop_keeps_together(data: st.DataObject) -> None:
    """Long runs are what a good policy makes, and come close to the bound."""
    runs = data.draw(st.lists(st.integers(1, 13), min_size=1, max_size=6))
    holders = [hop for hop, run in enumerate(runs, start=1) for _ in range(run)][:32]
    holders += [NOBODY] * (32 - len(holders))
    assert fewest_routes(held(tuple(holders)), 32) <= smallest(tuple(holders))


def test_no_way_to_place_them_beats_it() -> None:
    """Every placement of every demand in eight addresses; and for many demands one meets the bound."""
    best: dict[tuple[int, ...], int] = {}
    for holders in product(range(4), repeat=8):
        demand = tuple(sorted(holders.count(hop) for hop in (1, 2, 3)))
        best[demand] = min(best.get(demand, 8), smallest(holders))
    for demand, routes in best.items():
        assert fewest_routes(demand, 8) <= routes, demand
    assert sum(fewest_routes(demand, 8) == routes for demand, routes in best.items()) > len(best) * 3 / 4


@pytest.mark.parametrize(
    ("demand", "addresses", "routes"),
    [
        ([], 256, 0),
        ([0, 0], 256, 0),
        ([1], 1, 1),
        ([3, 5], 8, 3),  # neither fits beside the other with a route each
        ([4, 4], 8, 2),
        ([64] * 500, 1 << 15, 500),
        ([65] * 500, 1 << 15, 988),  # 512 pieces of 64 for 1,000 that are wanted
        ([65] * 500, 1 << 16, 500),
        ([1] * 500, 1 << 64, 500),
    ],
)
def test_examples(demand: list[int], addresses: int, routes: int) -> None:
    assert fewest_routes(demand, addresses) == routes


def test_more_is_never_fewer(rng: Random) -> None:
    demand = [rng.randrange(1, 100) for _ in range(300)]
    bounds = [fewest_routes(demand[:count], 1 << 14) for count in range(0, 300, 10)]
    assert bounds == sorted(bounds)
