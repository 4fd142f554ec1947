"""How many addresses there are, and in what state: of a network, and in the blocks of each location."""

from tenure.engine import resolve
from tenure.engine.draft import Draft
from tenure.engine.space import Slice, Space
from tenure.model.answers import Capacity, Count, PlaceCount
from tenure.model.uses import ReadCapacity


def read_capacity(use: ReadCapacity, draft: Draft) -> Capacity:
    """Count a network. Cost: one step a subnet; by location, one a block."""
    network = resolve.network(draft.state, use.network)
    v4, v6 = (_sum([_whole(s) for s in draft.state.spaces(network.id, version)]) for version in (4, 6))
    return Capacity(v4, v6, _places(draft, network.id) if use.by_location else None)


def _whole(space: Space) -> Count:
    """What a draining subnet could still give is kept from everybody: reserved."""
    kept = space.available if space.subnet.draining else 0
    return Count(space.capacity, space.in_use, space.reserved + kept, space.cooling, space.available - kept)


def _sum(counts: list[Count]) -> Count:
    return Count(
        sum(c.capacity for c in counts),
        sum(c.in_use for c in counts),
        sum(c.reserved for c in counts),
        sum(c.cooling for c in counts),
        sum(c.available for c in counts),
    )


def _places(draft: Draft, network: str) -> tuple[PlaceCount, ...]:
    """What the blocks of each location hold: a host's own blocks, a rack's rack blocks."""
    found: dict[tuple[str, int], list[Count]] = {}
    for space in draft.state.spaces(network):
        for slices in (space.regions, space.blocks):
            for block in slices.values():
                if block.owner:
                    found.setdefault((block.owner, space.version), []).append(_block(space, block))
    owners = sorted({owner for owner, _ in found}, key=lambda o: draft.state.locations[o].name)
    return tuple(
        PlaceCount(draft.state.locations[o].name, _sum(found.get((o, 4), [])), _sum(found.get((o, 6), [])))
        for o in owners
    )


def _block(space: Space, block: Slice) -> Count:
    held, resting, closed = space.counts(block)
    edges = space.edges.within(block.first, block.first + block.size - 1).size
    capacity, reserved = block.size - edges, closed - edges
    return Count(capacity, held, reserved, resting, capacity - held - resting - reserved)
