"""Where an address may be used: what keeps it near its block's owner, and places where nothing new is put."""

from collections.abc import Callable

from tenure.engine.space import Slice, Space
from tenure.engine.state import State
from tenure.engine.strategies.view import everybody
from tenure.errors import Conflict
from tenure.model.addressing import Network
from tenure.model.placement import ROOT
from tenure.model.policy import WIDTHS, Reach, reach_of
from tenure.model.topology import Location


def area(state: State, place: str, reach: Reach) -> str:
    """The nearest place, at or above `place`, that is of the level `reach` or of a wider one; `ROOT` above them all.

    So the hosts of a site without racks are together in one area where racks would be apart.
    """
    path = () if place == ROOT else state.way_up(place)[0]
    return next((up for up in path if WIDTHS[state.locations[up].kind] >= WIDTHS[reach]), ROOT)


def near(state: State, place: str, reach: Reach) -> Callable[[str | None], bool]:
    """Tells of a block's owner whether its addresses may be used at a place; nobody's may be."""
    if reach == "anywhere":
        return everybody
    home = area(state, place, reach)
    return lambda owner: owner is None or area(state, owner, reach) == home


def barrier(state: State, network: Network, space: Space, number: int, host: str | None) -> Slice | None:
    """The block from which a hard boundary does not let an address to a host; None where it may be used there.

    An address in no block, or in one whose owner has gone, is nobody's to keep. Cost: one walk up the tree.
    """
    reach = reach_of(network.boundary)
    block = None if reach == "anywhere" else space.block_at(number)
    return None if block is None or near(state, host or ROOT, reach)(block.owner) else block


def draining(state: State, place: str | None) -> Location | None:
    """The nearest place, at or above this one, that is draining."""
    if place is None or not state.draining:
        return None
    return next((state.locations[up] for up in state.way_up(place)[0] if up in state.draining), None)


def not_draining(state: State, place: str | None, pointer: str = "/host") -> None:
    """Refuse to put anything new at a place.

    Raises:
        Conflict: It, or a place above it, is draining: fact `location` names which.
    """
    found = draining(state, place)
    if found is not None:
        raise Conflict(
            f"{found.kind} {found.name} is draining: nothing new is placed there", location=found.name, pointer=pointer
        )
