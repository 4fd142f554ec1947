"""What the allocator remembers.

State holds the inventory, placement and counts; it holds no handles, names of
machines or MACs (see facts). It belongs to the writer's thread. Every change
goes through `reduce`, which returns how to take it back (see `reducers`).
"""

import heapq
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Protocol

from tenure.engine.lengths import block_length, rack_length
from tenure.engine.offers import Lately, Offers
from tenure.engine.page import LOW, PAGE_BITS
from tenure.engine.pages import Ends
from tenure.engine.prefixes import Prefixes
from tenure.engine.reducers import REDUCERS, Undo
from tenure.engine.rooms import Rooms
from tenure.engine.space import Space
from tenure.engine.spines import Spines
from tenure.engine.strategies.view import Level
from tenure.engine.strays import Strays
from tenure.model import events as e
from tenure.model.addressing import Network, Range, Subnet, Vrf
from tenure.model.dnsdata import Secondary, TsigKey, Zone, ZoneRecord
from tenure.model.holding import Claim
from tenure.model.placement import ROOT, Block
from tenure.model.policy import WIDTHS
from tenure.model.topology import Location
from tenure.naming.reverse_zones import ReverseZones
from tenure.net.addresses import first_and_length, parse_prefix


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


WayUp = tuple[tuple[str, ...], str, tuple[Level, ...]]
"""Ids of a location and everything above it; its rack's; and rack, site and region."""


LooseRow = tuple[str, int, str]
"""Subnet id, address, and the id of the host that uses it away from its block's owner."""


StrayRow = tuple[str, int, int, datetime]
"""Vrf id, IP version, address, and the end of its rest, or until when what was seen on it counts."""


class Rows(Protocol):
    """What `State.load` reads: a store's snapshot."""

    @property
    def vrfs(self) -> Iterable[Vrf]:
        """Open ones."""

    @property
    def locations(self) -> Iterable[Location]:
        """Open ones."""

    @property
    def networks(self) -> Iterable[Network]:
        """Open ones."""

    @property
    def subnets(self) -> Iterable[Subnet]:
        """Open ones."""

    @property
    def ranges(self) -> Iterable[Range]:
        """Open ones."""

    @property
    def zones(self) -> Iterable[Zone]:
        """Open ones."""

    @property
    def records(self) -> Iterable[ZoneRecord]:
        """Open ones that people made."""

    @property
    def tsig_keys(self) -> Iterable[tuple[TsigKey, bytes]]:
        """Open ones, each with its sealed secret."""

    @property
    def secondaries(self) -> Iterable[Secondary]:
        """Open ones."""

    def blocks(self) -> Iterable[Block]:
        """Owned blocks, rack blocks first."""

    def held(self, now: datetime) -> Iterable[HeldRow]:
        """Open and resting addresses."""

    def loose(self) -> Iterable[LooseRow]:
        """Addresses used away from their block's owner."""

    def strays(self, now: datetime) -> Iterable[StrayRow]:
        """Resting addresses of subnets that are gone."""

    def strangers(self, now: datetime) -> Iterable[StrayRow]:
        """Addresses on which somebody who does not hold them was seen, as long as that counts."""

    def tallies(self) -> Iterable[TallyRow]:
        """Open claims, counted."""


class State:
    """The allocator's memory.

    Attributes:
        vrfs, locations, networks, ranges, zones: Values by id. subnets: `Space` by id.
        records: What people made, by id; `made` the same by zone, owner and id. tsig_keys, secondaries: By id.
        under: How many of them a zone has below a name. aimed: Ids of CNAME, MX, NS, SRV, and zones, by where to.
        templates: How many networks, subnets and zones of a vrf have a name template.
        children: Location ids below a location (`None`: the top). of_network: Subnet ids of a network.
        families: How many subnets of each version a network has. rooms: Those with an address available.
        claims_of, claims_at: Open claims of a network, and at a location.
        enlisted: How many machines lately were, on each subnet. changed_macs: On which addresses one MAC was seen
            after another. queues: How many of the groups that wait in a network were looked at in vain.
        waiting: Addresses that pending claims of (network, version) will need.
        strays: Rests of addresses whose subnet is gone. strangers: What was seen on such.
        relays: Location by (circuit id, remote id). names: Ids by (kind, name).
        draining: Ids of locations that say so of themselves.
        spines: How many routes networks with a budget have.
    """

    def __init__(self) -> None:
        self.vrfs: dict[str, Vrf] = {}
        self.locations: dict[str, Location] = {}
        self.networks: dict[str, Network] = {}
        self.subnets: dict[str, Space] = {}
        self.ranges: dict[str, Range] = {}
        self.zones: dict[str, Zone] = {}
        self.records: dict[str, ZoneRecord] = {}
        self.made: dict[str, dict[str, dict[str, ZoneRecord]]] = {}
        self.under: Counter[tuple[str, str]] = Counter()
        self.aimed: dict[str, dict[str, None]] = {}
        self.templates: Counter[str] = Counter()
        self.tsig_keys: dict[str, TsigKey] = {}
        self.secondaries: dict[str, Secondary] = {}
        self._things: dict[str, dict[str, Any]] = {
            "vrf": self.vrfs,
            "location": self.locations,
            "network": self.networks,
            "subnet": self.subnets,
            "range": self.ranges,
            "zone": self.zones,
        }
        self.names: dict[tuple[str, str], str] = {}
        self.children: dict[str | None, dict[str, None]] = {}
        self.of_network: dict[str, dict[str, None]] = {}
        self.families: Counter[tuple[str, int]] = Counter()
        self.prefixes = Prefixes()
        self.reverse_zones = ReverseZones()
        self.rooms: Rooms[Space] = Rooms()
        self.claims_of: Counter[str] = Counter()
        self.claims_at: Counter[str] = Counter()
        self.waiting: Counter[tuple[str, int]] = Counter()
        self.offers = Offers(self.subnets)
        self.enlisted = Lately(timedelta(minutes=1))
        self.declines = Lately(timedelta(days=1))
        self.changed_macs = Lately(timedelta(hours=1))
        self.queues: dict[str, int] = {}
        self.strays = Strays()
        self.strangers = Strays()
        self.relays: dict[tuple[str | None, str | None], str] = {}
        self.draining: set[str] = set()
        self.spines = Spines()
        self._ways: dict[str | None, WayUp] = {}
        self._siblings: Counter[tuple[str | None, str]] = Counter()
        self._ends = Ends()
        self._made = 0

    # Questions

    @property
    def now(self) -> datetime:
        """The latest time that `advance` was told."""
        return self._ends.now

    @property
    def emptied(self) -> dict[str, None]:
        """Ids of subnets in which there may be a block that nobody uses; whoever looks crosses off what is not so."""
        return self._ends.emptied

    def find(self, kind: str, name: str) -> str | None:
        """The id behind an id or a name of a `vrf`, `location` or `network`, or None.

        A `range` has only an id; a `subnet`'s prefix serves as its name where one subnet alone has it.
        """
        if name in self._things[kind]:
            return name
        if kind == "subnet":
            same = self.prefixes.named.get(name, {})
            return next(iter(same)) if len(same) == 1 else None
        return self.names.get((kind, name))

    def known(self, kind: str, id_: str) -> Any:
        """The value of a `vrf`, `location`, `network`, `subnet`, `range` or `zone`, or None."""
        found = self._things[kind].get(id_)
        return found.subnet if isinstance(found, Space) else found

    def path(self, location: str | None) -> list[Location]:
        """A location and everything above it, nearest first."""
        found: list[Location] = []
        while location is not None:
            place = self.locations[location]
            found.append(place)
            location = place.parent
        return found

    def way_up(self, location: str | None) -> WayUp:
        """Ids of a location and everything above it, nearest first; its rack ("" if none); its areas. Kept at hand."""
        found = self._ways.get(location)
        if found is None:
            path = self.path(location)
            rack = next((place.id for place in path if place.kind == "rack"), ROOT)
            areas = tuple([self._level(place) for place in path if place.kind != "host"])
            found = self._ways[location] = (tuple([place.id for place in path]), rack, areas)
        return found

    def _level(self, place: Location) -> Level:
        return Level(place.kind, place.id, self._siblings[place.parent, place.kind])

    def zone_named(self, vrf: str, name: str) -> Zone | None:
        """The zone of this name in a vrf."""
        found = self.names.get(("zone" + vrf, name))
        return None if found is None else self.zones[found]

    def spaces(self, network: str, version: int | None = None) -> list[Space]:
        """A network's subnets of one family (None: both), in the order in which they were made."""
        found = (self.subnets[s] for s in self.of_network.get(network, ()))
        return [space for space in found if version is None or space.version == version]

    def space_at(self, vrf: str, version: int, number: int) -> Space | None:
        """The innermost subnet of a vrf that an address lies in. Cost: one look for each length in use."""
        found = self.prefixes.innermost(vrf, version, number)
        return None if found is None else self.subnets[found]

    def crossing(self, vrf: str, version: int, first: int, length: int) -> list[Space]:
        """The subnets of a vrf that hold this prefix or lie in it. Cost: logarithmic, and those found."""
        return [self.subnets[s] for s in self.prefixes.crossing(vrf, version, first, length)]

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
        return REDUCERS[type(event)](self, event)

    def advance(self, now: datetime) -> None:
        """End the rests, sightings and offers that are over at `now`; time never goes back.

        Cost: amortized O(log n) for each.
        """
        self._ends.now = max(self._ends.now, now)
        while self._ends and self._ends[0][0] <= now:
            until, number, subnet = heapq.heappop(self._ends)
            space = self.subnets.get(subnet)
            if space is None:
                self.strays.end(number, until)
                self.strangers.end(number, until)
            else:
                space.end(number, until)
        self.offers.expire(now)

    @classmethod
    def load(cls, rows: Rows, now: datetime) -> "State":
        """Remember what the rows say; equal to replaying the ledger. Cost: linear in the rows."""
        state = cls()
        state._ends.now = now
        for vrf in rows.vrfs:
            state.reduce(e.VrfCreated(vrf=vrf))
        for location in rows.locations:
            state.put_location(location)
        for network in rows.networks:
            state.reduce(e.NetworkCreated(network=network))
        for subnet in rows.subnets:
            state.put_space(state.new_space(subnet))
        for range_ in rows.ranges:
            state.ranges[range_.id] = range_
            state.subnets[range_.subnet].ranges[range_.id] = range_
        resting = state._load_held(rows.held(now))
        for space in state.subnets.values():
            state.nest(space)
            space.reshape()
        state._load_zones(rows)
        for block in sorted(rows.blocks(), key=_width_of):
            state.reduce(e.BlockOwned(block=block))
        for space, number, until in resting:
            space.rested(number, until)
        for subnet_id, number, host in rows.loose():
            state.subnets[subnet_id].loose[number] = host
        state._load_strays(rows.strays(now))
        state._load_strangers(rows.strangers(now))
        state._load_tallies(rows.tallies())
        return state

    def _load_zones(self, rows: Rows) -> None:
        for zone in rows.zones:
            self.reduce(e.ZoneCreated(zone=zone))
        for record in rows.records:
            self.reduce(e.RecordCreated(record=record))
        for key, _ in rows.tsig_keys:
            self.reduce(e.TsigKeyCreated(key=key))
        for secondary in rows.secondaries:
            self.reduce(e.SecondaryCreated(secondary=secondary))

    def _load_held(self, rows: Iterable[HeldRow]) -> list[tuple[Space, int, datetime]]:
        """Fill the pages with what is held, whole pages at a time; what rests comes back for later."""
        pages: dict[str, dict[int, int]] = {subnet: {} for subnet in self.subnets}
        resting: list[tuple[Space, int, datetime]] = []
        for subnet, number, _, cooling_until in rows:
            masks = pages.get(subnet)
            if masks is None:
                continue
            if cooling_until is not None:
                resting.append((self.subnets[subnet], number, cooling_until))
                continue
            bit = 1 << (number & LOW)
            mask = masks.get(number >> PAGE_BITS, 0)
            if mask & bit:
                raise AssertionError(f"{number} of subnet {subnet} is held twice")
            masks[number >> PAGE_BITS] = mask | bit
        for subnet, masks in pages.items():
            self.subnets[subnet].fill(masks)
        return [each for each in resting if each[0].first <= each[1] <= each[0].last]

    def _load_strays(self, rows: Iterable[StrayRow]) -> None:
        for vrf, version, number, cooling_until in rows:
            home = self.space_at(vrf, version, number)
            if home is not None:
                home.rested(number, cooling_until)
            else:
                self.strays.put(vrf, version, number, cooling_until)
                heapq.heappush(self._ends, (cooling_until, number, ""))

    def _load_strangers(self, rows: Iterable[StrayRow]) -> None:
        for vrf, version, number, until in rows:
            home = self.space_at(vrf, version, number)
            if home is not None:
                home.avoid(number, until)
            else:
                self.put_stranger(vrf, version, number, until)

    def _load_tallies(self, rows: Iterable[TallyRow]) -> None:
        for row in rows:
            self.claims_of[row.network] += row.claims
            if row.host is not None:
                self.claims_at[row.host] += row.claims
            if row.pending:
                for version in versions(row.family):
                    self.waiting[row.network, version] += row.count * row.claims

    # What the reducers do it with

    def put_stranger(self, vrf: str, version: int, number: int, until: datetime) -> None:
        """Somebody was seen on an address that is in no subnet; that counts until then."""
        self.strangers.put(vrf, version, number, until)
        heapq.heappush(self._ends, (until, number, ""))

    def put_location(self, location: Location) -> None:
        """Know a location."""
        self._ways.clear()
        self.locations[location.id] = location
        self.names["location", location.name] = location.id
        self.children.setdefault(location.parent, {})[location.id] = None
        self._siblings[location.parent, location.kind] += 1
        if location.draining:
            self.draining.add(location.id)
        if location.relay is not None:
            self.relays[location.relay.circuit_id, location.relay.remote_id] = location.id

    def drop_location(self, location: Location) -> None:
        """Know a location no longer."""
        self._ways.clear()
        del self.locations[location.id]
        del self.names["location", location.name]
        del self.children[location.parent][location.id]
        self._siblings[location.parent, location.kind] -= 1
        self.draining.discard(location.id)
        if location.relay is not None:
            self.relays.pop((location.relay.circuit_id, location.relay.remote_id), None)

    def new_space(self, subnet: Subnet, order: int | None = None) -> Space:
        """A subnet's memory, not known here yet. `order`: where it stands among the others; None is last."""
        if order is None:
            self._made += 1
            order = self._made
        prefix = parse_prefix(subnet.cidr)
        lengths = self.lengths_of(subnet.network, prefix.version, prefix.prefixlen)
        return Space(subnet, lengths, self._ends, self.rooms, order)

    def put_space(self, space: Space) -> None:
        """Know a subnet."""
        subnet = space.subnet
        self.subnets[subnet.id] = space
        mine = self.of_network.setdefault(subnet.network, {})
        mine[subnet.id] = None
        if space.order < self._made:
            self.of_network[subnet.network] = dict.fromkeys(sorted(mine, key=lambda s: self.subnets[s].order))
        self.families[subnet.network, space.version] += 1
        self.templates[subnet.vrf] += subnet.name_template is not None
        self.prefixes.put(subnet)
        self.rooms.add(space)
        self.spines.forget(subnet.network)

    def drop_space(self, space: Space) -> None:
        """Know a subnet no longer."""
        subnet = space.subnet
        self.spines.forget(subnet.network)
        self.rooms.drop(space)
        self.prefixes.drop(subnet)
        self.templates[subnet.vrf] -= subnet.name_template is not None
        self.families[subnet.network, space.version] -= 1
        del self.of_network[subnet.network][subnet.id]
        del self.subnets[subnet.id]

    def nest(self, space: Space) -> None:
        """Tell a subnet which others lie inside it."""
        inside = self.crossing(space.subnet.vrf, space.version, space.first, space.prefix_length)
        space.nested = {
            other.subnet.id: (other.first, other.last)
            for other in inside
            if other.prefix_length > space.prefix_length and other.subnet.network == space.subnet.network
        }

    def renest(self, around: Space) -> None:
        """Tell the subnets that hold this one, or held it, what lies in them now."""
        for other in self.crossing(around.subnet.vrf, around.version, around.first, around.prefix_length):
            if other.prefix_length < around.prefix_length:
                self.nest(other)
                other.reshape()

    def lengths_of(self, network: str, version: int, prefix_length: int) -> tuple[int, int]:
        """Lengths of host blocks and rack blocks of a network's subnet."""
        value = self.networks[network]
        return block_length(value, version, prefix_length), rack_length(value, version, prefix_length)

    def count_claim(self, claim: Claim, step: int) -> None:
        """A claim was opened or ended."""
        self.claims_of[claim.network] += step
        if claim.host is not None:
            self.claims_at[claim.host] += step

    def count_waiting(self, claim: Claim, step: int) -> None:
        """A claim waits, or waits no longer."""
        for version in versions(claim.request.family):
            self.waiting[claim.network, version] += step * claim.request.count


def _width_of(block: Block) -> tuple[int, int]:
    """Wider blocks first, so that each is cut from what is there already."""
    return -WIDTHS[block.kind], first_and_length(block.cidr)[1]


def versions(family: str | None) -> tuple[int, ...]:
    """The IP versions of a family; a request says which by the time that it is recorded."""
    return _VERSIONS[family or "v4"]


_VERSIONS = {"v4": (4,), "v6": (6,), "dual": (4, 6)}
