"""What the allocator remembers, and what each event makes of it: one reducer.

State holds the inventory, placement and counts; it holds no handles, names of
machines or MACs (see facts). It belongs to the writer's thread. Every change
goes through `reduce`, which returns how to take it back.
"""

import heapq
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Protocol

from tenure.engine.lengths import block_length, rack_length
from tenure.engine.offers import Offers
from tenure.engine.space import Space
from tenure.model import events as e
from tenure.model.addressing import Network, Range, Subnet, Vrf
from tenure.model.dnsdata import Zone
from tenure.model.holding import Claim
from tenure.model.placement import Block
from tenure.model.topology import Location
from tenure.net.addresses import number_of, parse_prefix, width

Undo = Callable[[], object]


class TallyRow(Protocol):
    """Open claims, counted, as a snapshot streams them."""

    @property
    def network(self) -> str:
        """Network id."""

    @property
    def host(self) -> str | None:
        """Location id."""

    @property
    def pending(self) -> bool:
        """Whether they wait."""

    @property
    def family(self) -> str:
        """What each of them asks for: `v4`, `v6` or `dual`."""

    @property
    def count(self) -> int:
        """Addresses of each family that each of them asks for."""

    @property
    def claims(self) -> int:
        """How many such claims."""


HeldRow = tuple[str, int, bool, datetime | None]
"""Subnet id, address, whether it is a lease, and the end of its rest (None while it is held)."""


class Rows(Protocol):
    """What `State.load` reads: a store's snapshot."""

    vrfs: Any
    locations: Any
    networks: Any
    subnets: Any
    ranges: Any
    zones: Any

    def blocks(self) -> Iterable[Block]:
        """Owned blocks, rack blocks first."""

    def held(self, now: datetime) -> Iterable[HeldRow]:
        """Open and resting addresses."""

    def tallies(self) -> Iterable[TallyRow]:
        """Open claims, counted."""


class State:
    """The allocator's memory.

    Attributes:
        vrfs, locations, networks, ranges, zones: Values by id. subnets: `Space` by id.
        children: Location ids below a location (`None`: the top). of_network: Subnet ids of a network.
        claims_of, claims_at: Open claims of a network, and at a location.
        waiting: Addresses that pending claims of (network, version) will need.
    """

    def __init__(self) -> None:
        self.vrfs: dict[str, Vrf] = {}
        self.locations: dict[str, Location] = {}
        self.networks: dict[str, Network] = {}
        self.subnets: dict[str, Space] = {}
        self.ranges: dict[str, Range] = {}
        self.zones: dict[str, Zone] = {}
        self.children: dict[str | None, dict[str, None]] = {}
        self.of_network: dict[str, dict[str, None]] = {}
        self.bound_to: dict[str, dict[str, None]] = {}
        self.claims_of: Counter[str] = Counter()
        self.claims_at: Counter[str] = Counter()
        self.waiting: Counter[tuple[str, int]] = Counter()
        self.names: dict[tuple[str, str], str] = {}
        self.offers = Offers()
        self._cidrs: dict[str, dict[str, None]] = {}
        self._prefixes: dict[tuple[str, int, int, int], str] = {}
        self._prefix_lengths: dict[int, Counter[int]] = {4: Counter(), 6: Counter()}
        self._order: dict[tuple[str, int], list[tuple[int, int, str]]] = {}
        self.relays: dict[tuple[str | None, str | None], str] = {}
        self._ends: list[tuple[datetime, int, str]] = []

    # Questions

    def find(self, kind: str, name: str) -> str | None:
        """The id behind an id or a name of a `vrf`, `location` or `network`, or None.

        A `range` has only an id; a `subnet`'s prefix serves as its name where one subnet alone has it.
        """
        things: dict[str, Any] = getattr(self, kind + "s")
        if name in things:
            return name
        if kind == "subnet":
            same = self._cidrs.get(name, {})
            return next(iter(same)) if len(same) == 1 else None
        return self.names.get((kind, name))

    def path(self, location: str | None) -> list[Location]:
        """A location and everything above it, nearest first."""
        found: list[Location] = []
        while location is not None:
            place = self.locations[location]
            found.append(place)
            location = place.parent
        return found

    def zone_named(self, vrf: str, name: str) -> Zone | None:
        """The zone of this name in a vrf."""
        found = self.names.get(("zone" + vrf, name))
        return None if found is None else self.zones[found]

    def forward_zone(self, network: str) -> Zone | None:
        """The zone that a network's names are in."""
        value = self.networks[network]
        return None if value.domain is None else self.zone_named(value.vrf, value.domain)

    def spaces(self, network: str, version: int | None = None) -> list[Space]:
        """A network's subnets of one family (None: both), in the order in which they were made."""
        found = (self.subnets[s] for s in self.of_network.get(network, ()))
        return [space for space in found if version is None or space.version == version]

    def space_at(self, vrf: str, version: int, number: int) -> Space | None:
        """The innermost subnet of a vrf that an address lies in. Cost: one look for each length in use."""
        bits = width(version)
        for length in sorted(self._prefix_lengths[version], reverse=True):
            found = self._prefixes.get((vrf, version, number >> (bits - length) << (bits - length), length))
            if found is not None:
                return self.subnets[found]
        return None

    def crossing(self, vrf: str, version: int, first: int, length: int) -> list[Space]:
        """The subnets of a vrf that hold this prefix or lie in it. Cost: logarithmic, and those found."""
        bits = width(version)
        around = (
            self._prefixes.get((vrf, version, first >> (bits - above) << (bits - above), above))
            for above in self._prefix_lengths[version]
            if above <= length
        )
        order = self._order.get((vrf, version), [])
        low = bisect_left(order, (first, length + 1, ""))
        inside: list[str] = []
        last = first + (1 << (bits - length)) - 1
        for start, below, subnet in order[low:]:
            if start > last:
                break
            if below > length:
                inside.append(subnet)
        return [self.subnets[s] for s in (*(a for a in around if a is not None), *inside)]

    def place_of_relay(self, circuit_id: str | None, remote_id: str | None) -> str | None:
        """The location that a relay's option 82 names; the more it says, the better."""
        for key in ((circuit_id, remote_id), (circuit_id, None), (None, remote_id)):
            found = self.relays.get(key)
            if found is not None and key != (None, None):
                return found
        return None

    # Change

    def reduce(self, event: e.Event) -> Undo:
        """Make of the state what `event` says; what comes back takes it back, while it is the latest change."""
        return _REDUCERS[type(event)](self, event)

    def advance(self, now: datetime) -> None:
        """End the rests that are over at `now`; time never goes back. Amortized O(log n) for each."""
        while self._ends and self._ends[0][0] <= now:
            until, number, subnet = heapq.heappop(self._ends)
            space = self.subnets.get(subnet)
            if space is not None and space.resting.get(number) == until:
                space.unrest(number)

    @classmethod
    def load(cls, rows: Rows, now: datetime) -> "State":
        """Remember what the rows say; equal to replaying the ledger. Cost: linear in the rows."""
        state = cls()
        for vrf in rows.vrfs:
            state.reduce(e.VrfCreated(vrf=vrf))
        for location in rows.locations:
            state._put_location(location)
        for network in rows.networks:
            state.reduce(e.NetworkCreated(network=network))
        for subnet in rows.subnets:
            state._add_space(subnet)
        for range_ in rows.ranges:
            state.ranges[range_.id] = range_
            state.subnets[range_.subnet].ranges[range_.id] = range_
        for space in state.subnets.values():
            state._nest(space)
            space.reshape()
        for zone in rows.zones:
            state.reduce(e.ZoneCreated(zone=zone))
        for block in rows.blocks():
            state.reduce(e.BlockOwned(block=block))
        state._load_held(rows.held(now))
        state._load_tallies(rows.tallies())
        return state

    def _load_held(self, rows: Iterable[HeldRow]) -> None:
        for subnet, number, _, cooling_until in rows:
            space = self.subnets.get(subnet)
            if space is None:
                continue
            if cooling_until is None:
                space.take(number)
            else:
                space.rest(number, cooling_until)

    def _load_tallies(self, rows: Iterable[TallyRow]) -> None:
        for row in rows:
            self.claims_of[row.network] += row.claims
            if row.host is not None:
                self.claims_at[row.host] += row.claims
            if row.pending:
                for version in versions(row.family):
                    self.waiting[row.network, version] += row.count * row.claims

    # Parts of the reducer

    def _put_location(self, location: Location) -> None:
        self.locations[location.id] = location
        self.names["location", location.name] = location.id
        self.children.setdefault(location.parent, {})[location.id] = None
        if location.relay is not None:
            self.relays[location.relay.circuit_id, location.relay.remote_id] = location.id

    def _drop_location(self, location: Location) -> None:
        del self.locations[location.id]
        del self.names["location", location.name]
        del self.children[location.parent][location.id]
        if location.relay is not None:
            self.relays.pop((location.relay.circuit_id, location.relay.remote_id), None)

    def _add_space(self, subnet: Subnet) -> Space:
        network = self.networks[subnet.network]
        prefix = parse_prefix(subnet.cidr)
        space = Space(subnet, *_lengths(network, prefix.version, prefix.prefixlen), self._ends)
        self.subnets[subnet.id] = space
        self.of_network.setdefault(subnet.network, {})[subnet.id] = None
        self._bind(subnet)
        return space

    def _bind(self, subnet: Subnet) -> None:
        prefix = parse_prefix(subnet.cidr)
        first, length = int(prefix.network_address), prefix.prefixlen
        self._prefixes[subnet.vrf, prefix.version, first, length] = subnet.id
        self._prefix_lengths[prefix.version][length] += 1
        insort(self._order.setdefault((subnet.vrf, prefix.version), []), (first, length, subnet.id))
        self._cidrs.setdefault(subnet.cidr, {})[subnet.id] = None
        for location in subnet.locations:
            self.bound_to.setdefault(location, {})[subnet.id] = None

    def _unbind(self, subnet: Subnet) -> None:
        prefix = parse_prefix(subnet.cidr)
        first, length = int(prefix.network_address), prefix.prefixlen
        del self._prefixes[subnet.vrf, prefix.version, first, length]
        _less(self._prefix_lengths[prefix.version], length)
        self._order[subnet.vrf, prefix.version].remove((first, length, subnet.id))
        _without(self._cidrs, subnet.cidr, subnet.id)
        for location in subnet.locations:
            _without(self.bound_to, location, subnet.id)

    def _nest(self, space: Space) -> None:
        """Tell a subnet which others lie inside it."""
        space.nested = {
            other.subnet.id: (other.first, other.last)
            for other in self.spaces(space.subnet.network, space.version)
            if other is not space and space.first <= other.first and other.last <= space.last
        }

    def _renest(self, network: str, around: Space) -> None:
        for other in self.spaces(network, around.version):
            if other is not around and other.first <= around.last and around.first <= other.last:
                self._nest(other)
                other.reshape()

    def _count_claim(self, claim: Claim, step: int) -> None:
        self.claims_of[claim.network] += step
        if claim.host is not None:
            self.claims_at[claim.host] += step

    def _count_waiting(self, claim: Claim, step: int) -> None:
        for version in versions(claim.request.family):
            self.waiting[claim.network, version] += step * claim.request.count


def _without(index: dict[str, dict[str, None]], key: str, value: str) -> None:
    index[key].pop(value)
    if not index[key]:
        del index[key]


def _less(counts: Counter[int], key: int) -> None:
    counts[key] -= 1
    if not counts[key]:
        del counts[key]


def versions(family: str | None) -> tuple[int, ...]:
    """The IP versions of a family; a request says which by the time that it is recorded."""
    return {"v4": (4,), "v6": (6,), "dual": (4, 6)}[family or "v4"]


def _lengths(network: Network, version: int, prefix_length: int) -> tuple[int, int]:
    return block_length(network, version, prefix_length), rack_length(network, version, prefix_length)


def _put(kind: str) -> Callable[[State, Any], Undo]:
    """Reducer of `<Kind>Created` and `<Kind>Changed` of a thing that only has to be known."""

    def reduce(state: State, event: Any) -> Undo:
        new = getattr(event, kind)
        things = getattr(state, kind + "s")
        old = things.get(new.id)
        _name(state, kind, old, new)
        things[new.id] = new
        return lambda: _put_back(state, kind, old, new)

    return reduce


def _put_back(state: State, kind: str, old: Any, new: Any) -> None:
    things = getattr(state, kind + "s")
    _name(state, kind, new, old)
    if old is None:
        del things[new.id]
    else:
        things[new.id] = old


def _drop(kind: str) -> Callable[[State, Any], Undo]:
    def reduce(state: State, event: Any) -> Undo:
        old = getattr(state, kind + "s").pop(getattr(event, kind).id)
        _name(state, kind, old, None)
        return lambda: _put_back(state, kind, old, old)

    return reduce


def _name(state: State, kind: str, old: Any, new: Any) -> None:
    if old is not None:
        state.names.pop(_name_key(kind, old), None)
    if new is not None:
        state.names[_name_key(kind, new)] = new.id


def _name_key(kind: str, thing: Any) -> tuple[str, str]:
    """Names are unique in their kind; a zone's only in its vrf."""
    return (kind + thing.vrf, thing.name) if kind == "zone" else (kind, thing.name)


def _location_put(state: State, event: e.LocationCreated | e.LocationChanged) -> Undo:
    new = event.location
    old = state.locations.get(new.id)
    if old is not None:
        state._drop_location(old)
    state._put_location(new)

    def undo() -> None:
        state._drop_location(new)
        if old is not None:
            state._put_location(old)

    return undo


def _location_dropped(state: State, event: e.LocationDeleted) -> Undo:
    old = state.locations[event.location.id]
    state._drop_location(old)
    return lambda: state._put_location(old)


def _network_changed(state: State, event: e.NetworkChanged) -> Undo:
    undo = _put("network")(state, event)
    _retune(state, event.network.id)

    def back() -> None:
        undo()
        _retune(state, event.network.id)

    return back


def _retune(state: State, network: str) -> None:
    """Blocks of the new lengths from now on; those that are owned stay as they are."""
    for space in state.spaces(network):
        lengths = _lengths(state.networks[network], space.version, space.prefix_length)
        if lengths != (space.block_length, space.rack_length):
            space.block_length, space.rack_length = lengths
            space.reshape()


def _subnet_created(state: State, event: e.SubnetCreated) -> Undo:
    subnet = event.subnet
    space = state._add_space(subnet)
    state._renest(subnet.network, space)
    return lambda: _remove_space(state, space)


def _remove_space(state: State, space: Space) -> None:
    subnet = space.subnet
    del state.subnets[subnet.id]
    del state.of_network[subnet.network][subnet.id]
    state._unbind(subnet)
    state._renest(subnet.network, space)


def _subnet_changed(state: State, event: e.SubnetChanged) -> Undo:
    space = state.subnets[event.subnet.id]
    old = space.subnet
    _reshape_space(state, event.subnet)
    return lambda: _reshape_space(state, old)


def _reshape_space(state: State, subnet: Subnet) -> None:
    space = state.subnets[subnet.id]
    state._unbind(space.subnet)
    if subnet.cidr != space.subnet.cidr:
        space = _resized(state, space, subnet)
    else:
        space.subnet = subnet
        space.reshape()
    state._bind(subnet)


def _resized(state: State, old: Space, subnet: Subnet) -> Space:
    prefix = parse_prefix(subnet.cidr)
    new = Space(subnet, *_lengths(state.networks[subnet.network], prefix.version, prefix.prefixlen), state._ends)
    new.adopt(old)
    state.subnets[subnet.id] = new
    state._nest(new)
    new.reshape()
    state._renest(subnet.network, old if old.prefix_length < new.prefix_length else new)
    return new


def _subnet_dropped(state: State, event: e.SubnetDeleted) -> Undo:
    space = state.subnets[event.subnet.id]
    order = list(state.of_network[space.subnet.network])
    _remove_space(state, space)

    def undo() -> None:
        state.subnets[event.subnet.id] = space
        state.of_network[space.subnet.network] = dict.fromkeys(order)
        state._bind(space.subnet)
        state._renest(space.subnet.network, space)

    return undo


def _range_put(state: State, event: e.RangeCreated | e.RangeChanged) -> Undo:
    new = event.range
    old = state.ranges.get(new.id)
    _set_range(state, new.id, new)
    return lambda: _set_range(state, new.id, old)


def _range_dropped(state: State, event: e.RangeDeleted) -> Undo:
    old = state.ranges[event.range.id]
    _set_range(state, old.id, None)
    return lambda: _set_range(state, old.id, old)


def _set_range(state: State, id_: str, value: Range | None) -> None:
    subnet = (value or state.ranges[id_]).subnet
    space = state.subnets[subnet]
    for ranges in (state.ranges, space.ranges):
        if value is None:
            del ranges[id_]
        else:
            ranges[id_] = value
    space.reshape()


def _block_owned(state: State, event: e.BlockOwned) -> Undo:
    block = event.block
    _own(state, block)
    return lambda: _lose(state, block)


def _block_surrendered(state: State, event: e.BlockSurrendered) -> Undo:
    block = event.block
    _lose(state, block)
    return lambda: _own(state, block)


def _own(state: State, block: Block) -> None:
    space = state.subnets[block.subnet]
    prefix = parse_prefix(block.cidr)
    own = space.own_region if block.rack else space.own_block
    own(int(prefix.network_address), prefix.prefixlen, block.owner)


def _lose(state: State, block: Block) -> None:
    space = state.subnets[block.subnet]
    prefix = parse_prefix(block.cidr)
    lose = space.lose_region if block.rack else space.lose_block
    lose(int(prefix.network_address), prefix.prefixlen)


def _claim_deferred(state: State, event: e.ClaimDeferred) -> Undo:
    claim = event.claim
    state._count_claim(claim, 1)
    state._count_waiting(claim, 1)

    def undo() -> None:
        state._count_claim(claim, -1)
        state._count_waiting(claim, -1)

    return undo


def _claim_bound(state: State, event: e.ClaimBound) -> Undo:
    claim, before = event.claim, event.before
    state._count_waiting(claim, -1)
    _move_count(state, before, claim.host)

    def undo() -> None:
        state._count_waiting(claim, 1)
        _move_count(state, claim.host, before)

    return undo


def _claim_rebound(state: State, event: e.ClaimRebound) -> Undo:
    claim, before = event.claim, event.before
    _move_count(state, before, claim.host)
    return lambda: _move_count(state, claim.host, before)


def _move_count(state: State, old: str | None, new: str | None) -> None:
    if old is not None:
        state.claims_at[old] -= 1
    if new is not None:
        state.claims_at[new] += 1


def _claim_released(state: State, event: e.ClaimReleased) -> Undo:
    claim = event.claim
    waits = claim.bound is None
    state._count_claim(claim, -1)
    if waits:
        state._count_waiting(claim, -1)

    def undo() -> None:
        state._count_claim(claim, 1)
        if waits:
            state._count_waiting(claim, 1)

    return undo


def _allocated(state: State, event: e.AddressAllocated) -> Undo:
    allocation = event.allocation
    number = number_of(allocation.ip)
    space = state.subnets[allocation.subnet]
    rest = space.take(number)
    if event.opens:
        state._count_claim(event.claim, 1)

    def undo() -> None:
        space.untake(number)
        if rest is not None:
            space.rest(number, rest)
        if event.opens:
            state._count_claim(event.claim, -1)

    return undo


def _released(state: State, event: e.AddressReleased) -> Undo:
    allocation = event.allocation
    number = number_of(allocation.ip)
    space = state.subnets[allocation.subnet]
    space.untake(number)
    cooling = allocation.cooling_until
    rests = cooling is not None and allocation.until is not None and cooling > allocation.until
    if rests and cooling is not None:
        space.rest(number, cooling)
    if event.closes:
        state._count_claim(event.claim, -1)

    def undo() -> None:
        if rests:
            space.unrest(number)
        space.take(number)
        if event.closes:
            state._count_claim(event.claim, 1)

    return undo


def _nothing(state: State, event: e.Event) -> Undo:
    return lambda: None


_REDUCERS: dict[type, Callable[[State, Any], Undo]] = {
    e.VrfCreated: _put("vrf"),
    e.VrfChanged: _put("vrf"),
    e.VrfDeleted: _drop("vrf"),
    e.LocationCreated: _location_put,
    e.LocationChanged: _location_put,
    e.LocationDeleted: _location_dropped,
    e.NetworkCreated: _put("network"),
    e.NetworkChanged: _network_changed,
    e.NetworkDeleted: _drop("network"),
    e.SubnetCreated: _subnet_created,
    e.SubnetChanged: _subnet_changed,
    e.SubnetDeleted: _subnet_dropped,
    e.RangeCreated: _range_put,
    e.RangeChanged: _range_put,
    e.RangeDeleted: _range_dropped,
    e.MachineCreated: _nothing,
    e.MachineChanged: _nothing,
    e.MachineDeleted: _nothing,
    e.InterfaceCreated: _nothing,
    e.InterfaceChanged: _nothing,
    e.InterfaceDeleted: _nothing,
    e.ZoneCreated: _put("zone"),
    e.ZoneReshaped: _put("zone"),
    e.ZoneDeleted: _drop("zone"),
    e.BlockOwned: _block_owned,
    e.BlockSurrendered: _block_surrendered,
    e.ClaimDeferred: _claim_deferred,
    e.ClaimBound: _claim_bound,
    e.ClaimRebound: _claim_rebound,
    e.ClaimReleased: _claim_released,
    e.AddressAllocated: _allocated,
    e.AddressReleased: _released,
    e.AddressDisputed: _nothing,
    e.LeasePromised: _nothing,
    e.TokenCreated: _nothing,
    e.TokenRevoked: _nothing,
    e.EpochStarted: _nothing,
}
