"""Which address: one small file a strategy, each a generator of candidates, best first.

A strategy sees only what this module shows (`Wish`, `View`, `Candidate`), as a
site's own would. It decides nothing: the engine checks each candidate, takes
the first that is free, and looks at no more than 64.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from tenure.engine.space import Space
from tenure.engine.strategies import first_free, host_block, idle, random_window, smallest_gap, topology
from tenure.engine.strategies.view import MOST_CANDIDATES, Candidate, Step, View, Wish

Strategy = Callable[[Wish, View], Iterator[Candidate]]

STRATEGIES: dict[str, Strategy] = {
    "topology": topology.candidates,
    "host_block": host_block.candidates,
    "first_free": first_free.candidates,
    "smallest_gap": smallest_gap.candidates,
    "random_window": random_window.candidates,
}

Idle = Callable[[Space, datetime], Iterator[Step]]

IDLE: Mapping[str, Idle] = dict.fromkeys(STRATEGIES, idle.blocks) | {"host_block": host_block.idle}
"""Which host blocks go back after a while; each step is taken before the next is asked for."""

__all__ = ["IDLE", "MOST_CANDIDATES", "STRATEGIES", "Candidate", "Strategy", "View", "Wish"]
