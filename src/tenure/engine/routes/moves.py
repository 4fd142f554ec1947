"""What to renumber so that a table becomes smaller."""

from collections.abc import Iterator
from itertools import groupby, islice
from typing import NamedTuple

from tenure.engine.routes.places import Fact
from tenure.engine.routes.table import RouteTable

MOST = 10_000


class Move(NamedTuple):
    """Facts that would save routes by not being there, such as a borrowed address whose holder gets another.

    Attributes:
        facts: Addresses or blocks of one hop, side by side in address order.
        saves: Routes.
    """

    facts: tuple[Fact, ...]
    saves: int


def moves(table: RouteTable, count: int, block_length: int, most: int = MOST) -> list[Move]:
    """The moves that would save most routes for each fact that has to go, best first.

    An address or block saves at most one route by itself. Neighbours with one hop may share a route, and save it
    together: those of them that save nothing alone are looked at as one move. Moves do not add up exactly.

    Args:
        count: Of moves, at most.
        block_length: The widest host block that is thought of.
        most: Facts looked at, in address order.

    Cost: O(facts) to look for candidates, and two changes of the table for each of `most` of them, twice at worst;
        the table is then as it was.
    """
    movable = (fact for fact in table.facts() if _movable(fact, block_length))
    found: list[Move] = []
    for _, run in groupby(islice(movable, most), lambda fact: (fact.kind, fact.hop)):
        found += _worthwhile(table, tuple(run))
    return sorted(found, key=_worth)[:count]


def _movable(fact: Fact, block_length: int) -> bool:
    return fact.hop is not None and (fact.kind == "loose" or (fact.kind == "block" and fact.length >= block_length))


def _worthwhile(table: RouteTable, run: tuple[Fact, ...]) -> Iterator[Move]:
    alone = {fact: saves for fact in run if (saves := table.saving([fact])) > 0}
    for fact, saves in alone.items():
        yield Move((fact,), saves)
    rest = tuple(fact for fact in run if fact not in alone)
    if len(rest) > 1 and (saves := table.saving(rest)) > 0:
        yield Move(rest, saves)


def _worth(move: Move) -> tuple[float, int, int]:
    return -move.saves / len(move.facts), -move.saves, move.facts[0].first
