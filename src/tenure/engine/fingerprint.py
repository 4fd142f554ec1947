"""What a state or facts say, as plain values that can be compared: the same for all that behave alike.

For tests, and for whoever compares a replayed state with a loaded one. Order,
empty pages, counters at zero and memory that may be lost (offers, what rested longest) are left out.
"""

from collections.abc import Mapping
from typing import Any

from tenure.engine.areas import Area, Slice
from tenure.engine.buddy import Buddy, Piece
from tenure.engine.facts import Facts
from tenure.engine.space import Space
from tenure.engine.state import State

_VALUES = (
    "vrfs", "locations", "networks", "ranges", "zones", "names", "relays", "records", "tsig_keys", "secondaries",
)  # fmt: skip
_COUNTS = ("under", "templates", "claims_of", "claims_at", "waiting", "families")
_ROWS = ("claims", "allocations", "interfaces", "machines", "tokens")
_IDS = ("handles", "addresses", "macs", "machine_names", "token_names", "observations")
_GROUPS = ("held", "named", "attached", "ports", "uses", "pending", "claimed", "standing", "behind")


def fingerprint(state: State) -> dict[str, Any]:
    """All that a state says. Rests that are over must have ended (`State.advance`)."""
    said: dict[str, Any] = {name: dict(getattr(state, name)) for name in _VALUES}
    said["made"] = {zone: {owner: dict(rows) for owner, rows in made.items()} for zone, made in state.made.items()}
    said["aimed"] = {target: set(ids) for target, ids in state.aimed.items()}
    said.update({name: _without(getattr(state, name), 0) for name in _COUNTS})
    said["reverse_made"] = _without(state.reverse_zones.made, 0)
    said["strays"] = set(state.strays)
    said["strangers"] = set(state.strangers)
    said["subnets"] = {id_: of_space(space) for id_, space in state.subnets.items()}
    said["of_network"] = {network: list(ids) for network, ids in state.of_network.items() if ids}
    said["children"] = {place: set(below) for place, below in state.children.items() if below}
    return said


def of_space(space: Space) -> dict[str, Any]:
    """All that a subnet's memory says."""
    return {
        "subnet": space.subnet,
        "ranges": dict(space.ranges),
        "nested": dict(space.nested),
        "held": {n: page.used for n, page in space.pages.items() if page.used},
        "resting": dict(space.resting),
        "woken": dict(space.woken),
        "strangers": dict(space.strangers),
        "loose": dict(space.loose),
        "counts": (space.held, space.in_use, space.cooling, space.available, space.capacity, space.reserved),
        "lengths": (space.block_length, space.rack_length),
        "blocks": {key: _of_block(block) for key, block in space.blocks.items()},
        "regions": {key: region.owner for key, region in space.regions.items()},
        "free": {area.owner: _uncut(space, area) for area in (space.root, *space.areas.values())},
        "indexes": {
            name: {owner: set(slices) for owner, slices in getattr(space, name).items()}
            for name in ("own", "roomy", "borrowed", "borrowed_roomy")
        },
        "lenders": space.lenders.keys(),
        "empties": set(space.empties),
        "idle": {key for key in space.idle if space.is_idle(space.regions[key])},
    }


def _of_block(block: Slice) -> tuple[Any, ...]:
    return block.owner, block.free, block.held, block.area.owner, block.lender and block.lender.key


def _uncut(space: Space, area: Area) -> set[Piece]:
    """What an area has to cut, with what was put aside of it: which pieces were is memory that may be lost."""
    whole = Buddy(space.first, space.length, space.width, empty=True)
    for piece in (*area.free.pieces(), *((s.first, s.length) for s in space.spent() if s.area is area)):
        whole.give(*piece)
    return whole.pieces()


def of_facts(facts: Facts) -> dict[str, Any]:
    """All that facts say; a key that is known to be absent is as one that was never asked for."""
    said: dict[str, Any] = {name: dict(getattr(facts, name)) for name in _ROWS}
    said.update({name: _without(getattr(facts, name), None) for name in _IDS})
    said.update({name: _without(getattr(facts, name), {}) for name in _GROUPS})
    said["net"] = dict(facts.net)
    return said


def _without(things: Mapping[Any, Any], nothing: Any) -> dict[Any, Any]:
    return {key: value for key, value in things.items() if value != nothing}
