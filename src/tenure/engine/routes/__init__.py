"""The fewest routes that deliver every address to whoever holds it, and nothing to anybody else.

`levels` says whose table it is, `table` keeps the smallest one, `followed` keeps
one that changes little, `moves` says what to renumber to make it smaller.

A table is a choice of hop for every prefix, where a prefix without a route of its
own has the hop of the one around it. So the smallest table is the labelling of a
binary tree with the fewest changes along its edges. It is found from the bottom by
sets: what both halves accept, or, when they accept nothing in common, what either
does, at the price of one route.

Source: Draves, King, Venkatachary and Zill, "Constructing Optimal IP Routing Tables",
INFOCOM 1999, which is Fitch's parsimony (Systematic Zoology 20, 1971) on prefixes.
Space that nobody owns accepts several hops, which Fitch's proof allows for.
"""

from tenure.engine.routes.followed import Change, FollowedTable
from tenure.engine.routes.levels import Level, host, hosts, rack, spine
from tenure.engine.routes.moves import Move, moves
from tenure.engine.routes.places import Fact, Kind, Route, Tally, tally
from tenure.engine.routes.table import RouteTable

__all__ = [
    "Change",
    "Fact",
    "FollowedTable",
    "Kind",
    "Level",
    "Move",
    "Route",
    "RouteTable",
    "Tally",
    "host",
    "hosts",
    "moves",
    "rack",
    "spine",
    "tally",
]
