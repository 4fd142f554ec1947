"""Where what strangers were seen on is remembered, as subnets come, go and change their size.

Each sighting is kept by the innermost subnet around its address, and by nobody
where there is none any more: a subnet that is made there later takes it.
"""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from tenure.engine.space import Space

if TYPE_CHECKING:
    from tenure.engine.state import State

Undo = Callable[[], object]


class Carried(NamedTuple):
    """A sighting that goes from one subnet (None: from none) to another (None: to none)."""

    giver: Space | None
    taker: Space | None
    number: int
    until: datetime


def resettle(state: "State", space: Space) -> Undo:
    """After a subnet came, went or has another size: what was seen in and around it goes to where it lies now.

    Cost: linear in what was seen in that subnet, in those around and inside it, and in none.
    """
    carried = [each for each in _carried(state, space) if each.giver is not each.taker]
    for each in carried:
        _carry(state, space, each)

    def undo() -> None:
        for each in reversed(carried):
            _carry(state, space, each._replace(giver=each.taker, taker=each.giver))

    return undo


def _carried(state: "State", space: Space) -> list[Carried]:
    vrf, version = space.subnet.vrf, space.version
    around = {id(each): each for each in (space, *state.crossing(vrf, version, space.first, space.prefix_length))}
    seen = [(each, *pair) for each in around.values() for pair in each.strangers.items()]
    nowhere = [(None, *pair) for pair in state.strangers.inside(space)]
    return [Carried(giver, state.space_at(vrf, version, n), n, until) for giver, n, until in (*seen, *nowhere)]


def _carry(state: "State", space: Space, seen: Carried) -> None:
    vrf, version = space.subnet.vrf, space.version
    if seen.giver is None:
        state.strangers.drop(vrf, version, seen.number)
    else:
        seen.giver.trust(seen.number)
    if seen.taker is None:
        state.put_stranger(vrf, version, seen.number, seen.until)
    else:
        seen.taker.avoid(seen.number, seen.until)
