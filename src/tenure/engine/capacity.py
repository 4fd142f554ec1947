"""How many addresses there are, and in what state: of a network, and at each location what a scheduler places by."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from tenure.engine import resolve
from tenure.engine.draft import Draft
from tenure.engine.placing import Serving, wish_of
from tenure.engine.reach import area, draining
from tenure.engine.space import Slice, Space
from tenure.engine.state import State
from tenure.engine.strategies import STRATEGIES, View
from tenure.model.addressing import Network
from tenure.model.answers import Capacity, Count, PlaceCount, Room
from tenure.model.placement import ROOT
from tenure.model.policy import reach_of
from tenure.model.topology import Location
from tenure.model.uses import ReadCapacity

_NONE: Final = Count()


def read_capacity(use: ReadCapacity, draft: Draft) -> Capacity:
    """Count a network. Cost: one step a subnet; by location, one a block, and one claim's look-up a host."""
    network = resolve.network(draft.state, use.network)
    v4, v6 = (_sum(_whole(s) for s in draft.state.spaces(network.id, version)) for version in (4, 6))
    return Capacity(v4, v6, tuple(_places(draft, network)) if use.by_location else None)


def _whole(space: Space) -> Count:
    """What a draining subnet could still give is kept from everybody: reserved."""
    kept = space.available if space.subnet.draining else 0
    return Count(space.capacity, space.in_use, space.reserved + kept, space.cooling, space.available - kept)


def _sum(counts: Iterable[Count]) -> Count:
    figures = [(c.capacity, c.in_use, c.reserved, c.cooling, c.available) for c in counts]
    return Count(*map(sum, zip(*figures, strict=True))) if figures else _NONE


def _places(draft: Draft, network: Network) -> Iterator[PlaceCount]:
    """Every location that has blocks, or at which a claim could have an address, by name."""
    families = [_Family(draft, network, version) for version in (4, 6)]
    for place in sorted(draft.state.locations.values(), key=lambda place: place.name):
        v4, v6 = (family.at(place) for family in families)
        if v4 != _EMPTY or v6 != _EMPTY:
            yield PlaceCount(place.name, place.kind, v4, v6)


_EMPTY: Final = Room()


class _Family:
    """A network's subnets of one version, by location."""

    def __init__(self, draft: Draft, network: Network, version: int) -> None:
        self._state = draft.state
        self._reach = reach_of(network.boundary)
        self._spread = {s.subnet.id: _Spread(draft.state, s) for s in draft.state.spaces(network.id, version)}
        self._serving: dict[str, dict[str, None]] = {}
        for place in draft.state.locations.values() if self._spread else ():
            if place.kind == "host":
                self._serve(draft, network, version, place)

    def _serve(self, draft: Draft, network: Network, version: int, host: Location) -> None:
        """Note which subnets a claim at a host could be served from, for the host and all that it is in."""
        wish = wish_of(draft, host.id, network)
        serving = Serving(draft, network, version, wish, None)
        view = View(serving, str, draft.moment.now, draft.moment.seed)
        if draining(draft.state, host.id) is None and any(True for _ in STRATEGIES[network.strategy](wish, view)):
            found = dict.fromkeys(space.subnet.id for space in serving)
            for up in wish.path:
                self._serving.setdefault(up, {}).update(found)

    def at(self, place: Location) -> Room:
        """The blocks of a location, counted, and what it could be given."""
        whole = _sum(count for spread in self._spread.values() for count in spread.counts.get(place.id, ()))
        near = ROOT if self._reach == "anywhere" else area(self._state, place.id, self._reach)
        room = sum(self._spread[subnet].room(self._state, near) for subnet in self._serving.get(place.id, ()))
        return Room(**msgspec.structs.asdict(whole), room=room)


class _Spread:
    """One subnet's available addresses, by whose blocks they lie in.

    Attributes:
        counts: The blocks of each location, counted.
        within: Available addresses in blocks of a location and of all below it.
        uncut: Those in a location's own blocks that are in no narrower block.
        nobody: Those in no block.
    """

    def __init__(self, state: State, space: Space) -> None:
        self._space = space
        self.counts: dict[str, list[Count]] = {}
        self.within: Counter[str] = Counter()
        self.uncut: Counter[str] = Counter()
        self.nobody = space.available
        for block, count, alone in _counted(space):
            self.nobody -= alone
            if block.owner is None:
                continue
            self.counts.setdefault(block.owner, []).append(count)
            self.uncut[block.owner] += alone if block.space is not None else 0
            for up in state.way_up(block.owner or None)[0]:
                self.within[up] += alone

    def room(self, state: State, near: str) -> int:
        """What those who may lend to each other could be given: theirs, what is above them, and what is nobody's."""
        if near == ROOT:
            return self._space.available
        path, rack, _ = state.way_up(near)
        above = path[1:] if rack else (*path[1:], ROOT)
        return self.nobody + self.within[near] + sum(self.uncut[up] for up in above)


def _counted(space: Space) -> Iterator[tuple[Slice, Count, int]]:
    """Each block with its count, and how many available addresses of it are in no block inside it."""
    around: list[tuple[Slice, Count, list[int]]] = []
    for block in sorted((*space.regions.values(), *space.blocks.values()), key=lambda block: block.key):
        while around and around[-1][0].first + around[-1][0].size <= block.first:
            yield _alone(*around.pop())
        count = _count(space, block)
        if around:
            around[-1][2].append(count.available)
        around.append((block, count, []))
    while around:
        yield _alone(*around.pop())


def _alone(block: Slice, count: Count, inside: list[int]) -> tuple[Slice, Count, int]:
    return block, count, count.available - sum(inside)


def _count(space: Space, block: Slice) -> Count:
    held, resting, closed = space.counts(block)
    edges = space.edges.within(block.first, block.first + block.size - 1).size
    capacity, reserved = block.size - edges, closed - edges
    return Count(capacity, held, reserved, resting, capacity - held - resting - reserved)
