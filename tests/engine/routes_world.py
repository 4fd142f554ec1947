"""A small site to make tables for, and the slow, plain answers that tables are held against."""

import random
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import combinations, product

from tenure.engine.routes import Kind, Level, Route, host, hosts, rack, spine
from tenure.model.topology import Location

Hop = str | None
Fact = tuple[Kind, int, int]
"""Of a dictionary from these to owners."""
Facts = dict[Fact, str | None]


def _site() -> dict[str, Location]:
    places = [Location(id=f"s{site}", name=f"s{site}", kind="site") for site in (1, 2)]
    for site, number in product((1, 2), (1, 2)):
        own = f"r{site}{number}"
        places.append(Location(id=own, name=own, kind="rack", parent=f"s{site}"))
        places += [Location(id=f"h{own[1:]}{at}", name=f"{at}", kind="host", parent=own) for at in (1, 2, 3)]
    places.append(Location(id="lone", name="lone", kind="host", parent="s1"))
    return {place.id: place for place in places}


SITE = _site()
HOSTS = sorted(place.id for place in SITE.values() if place.kind == "host")
OWNERS = sorted(place.id for place in SITE.values() if place.kind != "host")
LEVELS: Mapping[str, Level] = {
    "hosts": hosts(SITE),
    "spine": spine(SITE),
    "rack": rack(SITE, "r11"),
    "host": host("h111"),
}
RANK: Mapping[Kind, int] = {"region": 0, "block": 1, "loose": 2}


def anything(rng: random.Random, width: int, owners: int = 99) -> tuple[Fact, str | None]:
    """Any fact at all, however strange beside the others; few owners make tables that merge."""
    kind: Kind = rng.choice(("region", "block", "loose"))
    length = width if kind == "loose" else rng.randint(0, width)
    first = rng.randrange(1 << length) << (width - length)
    if kind == "region":
        return (kind, first, length), rng.choice(OWNERS[:owners])
    nobody = [None] if kind == "block" else []
    return (kind, first, length), rng.choice([*HOSTS[:owners], *nobody, "r11"])


def accepted(facts: Facts, level: Level, width: int) -> list[frozenset[Hop]]:
    """What each address may be sent to, straight from the rules."""
    hops = {level.hop(owner) for (kind, *_), owner in facts.items() if kind != "region" and owner is not None}
    return [_accepted(facts, level, width, hops - {None}, address) for address in range(1 << width)]


def _accepted(facts: Facts, level: Level, width: int, hops: Iterable[Hop], address: int) -> frozenset[Hop]:
    around = [fact for fact in facts if address >> (width - fact[2]) == fact[1] >> (width - fact[2])]
    around.sort(key=lambda fact: (fact[2], RANK[fact[0]]))
    regions = [fact for fact in around if fact[0] == "region"]
    wild: set[Hop] = {level.default}
    if regions:
        owner = facts[regions[-1]]
        wild |= {hop for hop in hops if hop is not None and hop != level.default and owner in level.within(hop)}
    holders = [facts[fact] for fact in around if fact[0] != "region"]
    if holders and holders[-1] is not None:
        hop = level.hop(holders[-1])
        return frozenset(wild) if hop is None else frozenset([hop])
    return frozenset(wild)


def optimum(accepts: list[frozenset[Hop]], default: Hop) -> int:
    """The fewest routes: the price of each hop for each prefix, by Sankoff's recursion, without sets."""
    hops = sorted(frozenset().union(*accepts) | {default}, key=str)

    @cache
    def prices(first: int, size: int) -> tuple[float, ...]:
        if size == 1:
            return tuple(0 if hop in accepts[first] else float("inf") for hop in hops)
        left, right = prices(first, size // 2), prices(first + size // 2, size // 2)
        return tuple(min(one, min(left) + 1) + min(two, min(right) + 1) for one, two in zip(left, right, strict=True))

    whole = prices(0, len(accepts))
    return int(min(whole[hops.index(default)], min(whole) + 1))


def delivered(routes: Iterable[Route], width: int, default: Hop) -> list[Hop]:
    """Where longest-prefix match sends each address."""
    sent: list[Hop] = [default] * (1 << width)
    for route in sorted(routes, key=lambda route: route.length):
        size = 1 << (width - route.length)
        sent[route.first : route.first + size] = [route.hop] * size
    return sent


def delivers(routes: Iterable[Route], accepts: list[frozenset[Hop]], width: int, default: Hop) -> bool:
    """Whether every address goes where it may."""
    sent = delivered(routes, width, default)
    return all(hop in accept for hop, accept in zip(sent, accepts, strict=True))


def some_table_of(count: int, accepts: list[frozenset[Hop]], width: int, default: Hop) -> bool:
    """Whether any table of so many routes delivers, by trying them all."""
    prefixes = [(first << (width - length), length) for length in range(width + 1) for first in range(1 << length)]
    hops = sorted(frozenset().union(*accepts) | {default}, key=str)
    return any(
        delivers([Route(*place, hop) for place, hop in zip(places, chosen, strict=True)], accepts, width, default)
        for places in combinations(prefixes, count)
        for chosen in product(hops, repeat=count)
    )
