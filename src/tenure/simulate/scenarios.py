"""The questions that every allocator is asked, each with the worlds that answer it."""

from collections.abc import Callable, Iterable
from itertools import product
from typing import Final, NamedTuple

from tenure.model.policy import Boundaries, Boundary, StrategyName
from tenure.simulate.world import FOREVER, MIXED, SKEWS, Level, Load, Policy, Site, Span, World

_CAP: Final = 20
"""Blocks that Calico gives a host at most, unless told otherwise."""

_MIXED_BOUNDARY: Final = Boundaries(rack="hard")
"""Hosts of a rack lend to each other; racks do not."""

_CALICO_BLOCK: Final = 26
_MARKS: Final = tuple(percent / 100 for percent in range(10, 99, 2))
_LARGE, _SMALL = "10.0.0.0/16", "10.0.0.0/17"
_ROOMY: Final = Policy(block_length=26)
"""Where hosts need about one such block each, smaller first blocks only make more of them."""

_FULL_LOAD: Final = Load(levels=(Level(0.0, 29_000.0),))


class Scenario(NamedTuple):
    """A question, and the worlds to look at.

    Attributes:
        asks: The question in words.
        worlds: One a row; each states its site, hours, policy and cooldown (0 in all of them).
    """

    asks: str
    worlds: tuple[World, ...]


def _calico(block_length: int, boundary: Boundary = "soft") -> Policy:
    return Policy("host_block", block_length, boundary=boundary, cap=_CAP)


def _reference() -> Iterable[World]:
    full = World(subnet=_SMALL, site=Site(skew="uniform"), load=_FULL_LOAD, hours=72.0)
    yield World(_calico(_CALICO_BLOCK), _LARGE)
    yield World(_calico(28), _LARGE)
    yield full._replace(policy=_calico(_CALICO_BLOCK))
    yield full._replace(policy=_calico(_CALICO_BLOCK, "hard"))
    yield World(Policy(), _LARGE)
    yield World(Policy(), _SMALL)
    yield full._replace(policy=_ROOMY)


def _churn() -> Iterable[World]:
    policies = [
        *(Policy("topology", length, boundary=boundary) for length in (26, 28) for boundary in ("soft", "hard")),
        *(Policy("topology", length, boundary=_MIXED_BOUNDARY) for length in (26, 28)),
        *(_calico(length, boundary) for length in (26, 28) for boundary in ("soft", "hard")),
    ]
    for policy, subnet, skew in product(policies, (_LARGE, _SMALL), SKEWS):
        yield World(policy, subnet, Site(skew=skew))
    for policy in (Policy(), _calico(_CALICO_BLOCK)):
        yield World(policy, load=Load(lifetime=MIXED, populated=True), note="mixed lifetimes")
        yield World(policy, load=Load(burst=20.0), note="deployments of 20")


def _fill() -> Iterable[World]:
    load = Load(levels=(Level(0.0, 0.08), Level(23.0, 1.0)), lifetime=FOREVER, populated=True)
    filling = World(site=Site(skew="uniform"), load=load, hours=24.0, warm_up=0.0, marks=_MARKS)
    strategies: tuple[StrategyName, ...] = ("first_free", "smallest_gap", "random_window")
    for policy in (Policy(), _ROOMY, _calico(_CALICO_BLOCK), *map(Policy, strategies)):
        yield filling._replace(policy=policy, subnet=_SMALL)
    for policy in (Policy(), _calico(_CALICO_BLOCK)):
        yield filling._replace(policy=policy, subnet=_LARGE)


def _ramp() -> Iterable[World]:
    load = Load(levels=(Level(0.0, 0.08), Level(184.0, 1.0)), populated=True)
    for subnet, policy in product((_SMALL, _LARGE), (Policy(), _ROOMY, _calico(_CALICO_BLOCK))):
        yield World(policy, subnet, Site(skew="uniform"), load, hours=200.0, warm_up=0.0, marks=_MARKS)


def _replacement() -> Iterable[World]:
    spans = Span("before", 16.0, 24.0), Span("meanwhile", 24.0, 40.0), Span("after", 64.0, 72.0)
    for policy in (Policy(), _calico(_CALICO_BLOCK)):
        load = Load(replaced=(24.0, 40.0), populated=True)
        yield World(policy, _LARGE, load=load, hours=72.0, spans=spans, drained=True)


def _first_requests() -> Iterable[World]:
    policies = Policy(), _calico(_CALICO_BLOCK), _calico(28)
    for policy, subnet in product(policies, (_LARGE, _SMALL)):
        site = Site(hosts=1000, racks=40, skew="uniform")
        yield World(policy, subnet, site, Load(first_requests=True), hours=1.0, warm_up=0.0)


def _migration() -> Iterable[World]:
    for share, renumber in product((0.01, 0.05, 0.2), (False, True)):
        note = f"{share:.0%} move, {'renumbered' if renumber else 'with their addresses'}"
        yield World(Policy(), _LARGE, load=Load(migration=share, renumber=renumber), note=note)


def _lengths() -> Iterable[World]:
    policies = Policy(), Policy("host_block"), Policy("host_block", cap=_CAP)
    for policy, length in product(policies, range(24, 33)):
        yield World(policy._replace(block_length=length), _LARGE)


def _racks() -> Iterable[World]:
    levels = Level(0.0, 0.89), Level(96.0, 0.89), Level(112.0, 0.96)
    spans = (
        Span("before", 16.0, 24.0),
        Span("a rack more", 40.0, 56.0),
        Span("a rack less", 80.0, 96.0),
        Span("fuller", 120.0, 136.0),
    )
    load = Load(levels=levels, populated=True, rack_added=24.0, rack_removed=56.0)
    for policy in (Policy(), Policy(boundary=_MIXED_BOUNDARY), _calico(_CALICO_BLOCK)):
        yield World(policy, _SMALL, Site(skew="uniform"), load, hours=136.0, spans=spans, drained=True)


_MADE: Final[dict[str, tuple[str, Callable[[], Iterable[World]]]]] = {
    "reference": ("How do the strategies compare in the worlds that the goals are stated for?", _reference),
    "churn": ("What does steady churn cost, whatever the subnet, the blocks, the skew and the boundary?", _churn),
    "fill": ("Nobody leaves: how many routes are there as the subnet fills from 10 to 98 %?", _fill),
    "ramp": ("Where does borrowing begin as the subnet fills from 10 to 98 %, and how steep is it after?", _ramp),
    "replacement": ("Every host is replaced, one by one, under the same names: is anything left behind?", _replacement),
    "first-requests": ("1,000 hosts ask for their first address at once: has each one block?", _first_requests),
    "migration": ("1, 5 and 20 % of the workloads move: how many host routes, and how many go home?", _migration),
    "lengths": ("Which block length, from /24 to /32, with a cap on blocks and without?", _lengths),
    "racks": ("A rack is added when all is given out, another removed: is any space stranded?", _racks),
}

NAMES: Final = tuple(_MADE)
"""Every scenario."""


def scenario(name: str) -> Scenario:
    """A scenario by its name, one of `NAMES`."""
    asks, made = _MADE[name]
    return Scenario(asks, tuple(made()))
