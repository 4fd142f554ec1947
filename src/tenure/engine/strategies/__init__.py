"""Which address: one small file a strategy, each a generator of candidates, best first.

A strategy sees only what this module shows (`Wish`, `View`, `Candidate`), as a
site's own would. It decides nothing: the engine checks each candidate, takes
the first that is free, and looks at no more than 64.
"""

from collections.abc import Callable, Iterator

from tenure.engine.strategies import first_free, topology
from tenure.engine.strategies.view import MOST_CANDIDATES, Candidate, View, Wish

Strategy = Callable[[Wish, View], Iterator[Candidate]]

STRATEGIES: dict[str, Strategy] = {
    "topology": topology.candidates,
    "first_free": first_free.candidates,
}

__all__ = ["MOST_CANDIDATES", "STRATEGIES", "Candidate", "Strategy", "View", "Wish"]
