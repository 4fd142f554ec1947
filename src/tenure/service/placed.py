"""Where addresses are used, by network: what routes follow from, kept in step with the ledger.

A fact is a region (a rack's, site's or region's block), a host's block, or a loose address: one whose holder is
not at the host whose block it lies in. Facts change with few events, and each change is told, so that
whoever keeps a table of them changes one path of it.
"""

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Literal, NamedTuple

from tenure.engine.routes import Kind
from tenure.model import events as e
from tenure.model.addressing import Network, Subnet, Vrf
from tenure.model.holding import Allocation, Claim
from tenure.model.placement import Block
from tenure.model.policy import BlockKind
from tenure.model.topology import Location
from tenure.net.addresses import first_and_length, number_of, width

_REGIONS: Final[tuple[BlockKind, ...]] = ("rack", "site", "region")
"""Where several begin at one prefix, the narrowest location's counts."""


class Area(NamedTuple):
    """One network's addresses of IP version 4 or 6."""

    network: str
    version: int


class Placement(NamedTuple):
    """What a prefix is; `owner` is a location's id, or None for a block that nobody's host is."""

    kind: Kind | Literal["handover"]
    first: int
    length: int
    owner: str | None


class Step(NamedTuple):
    """A fact that came, perhaps in place of another's, or one that went; a hand-over is one for either host."""

    area: Area
    fact: Placement
    there: bool
    instead_of: str | None = None


class Handover(NamedTuple):
    """Addresses that two hosts announce: `host`, and less preferred `leaving`."""

    host: str
    leaving: str
    addresses: frozenset[tuple[Area, int]]


class Facts:
    """The facts of one area.

    Attributes:
        owned: The prefixes of each location, by its id.
    """

    def __init__(self) -> None:
        self._places: dict[tuple[int, int], dict[str, str | None]] = {}
        self._order: list[tuple[int, int]] = []
        self._lengths: Counter[int] = Counter()
        self.owned: dict[str, set[tuple[int, int]]] = {}

    def put(self, kind: str, first: int, length: int, owner: str | None) -> None:
        """Note what a prefix is; `kind` is a block's, or `loose`."""
        place = (first, length)
        if place not in self._places:
            insort(self._order, place)
            self._lengths[length] += 1
        kinds = self._places.setdefault(place, {})
        before = kinds.get(kind)
        kinds[kind] = owner
        self._disown(before, place)
        if owner is not None:
            self.owned.setdefault(owner, set()).add(place)

    def drop(self, kind: str, first: int, length: int) -> None:
        """Forget it, if it was noted."""
        place = (first, length)
        kinds = self._places.get(place, {})
        if kind not in kinds:
            return
        before = kinds.pop(kind)
        self._disown(before, place)
        if not kinds:
            del self._places[place]
            del self._order[bisect_left(self._order, place)]
            self._lengths[length] -= 1
            if not self._lengths[length]:
                del self._lengths[length]

    def _disown(self, owner: str | None, place: tuple[int, int]) -> None:
        if owner is not None and owner not in self._places[place].values():
            self.owned[owner].discard(place)
            if not self.owned[owner]:
                del self.owned[owner]

    def at(self, first: int, length: int) -> Iterator[Placement]:
        """What one prefix is: at most one fact of a kind."""
        kinds = self._places.get((first, length), {})
        region = next((kind for kind in _REGIONS if kind in kinds), None)
        if region is not None:
            yield Placement("region", first, length, kinds[region])
        if "host" in kinds:
            yield Placement("block", first, length, kinds["host"])
        if "loose" in kinds:
            yield Placement("loose", first, length, kinds["loose"])

    def all(self) -> Iterator[Placement]:
        """Every fact, in order of addresses, wider first."""
        for place in self._order:
            yield from self.at(*place)

    def of(self, owners: Iterable[str], bits: int) -> Iterator[Placement]:
        """The facts of some locations, and all that lies in them. Cost: of what is given, and a search for each."""
        own = sorted({place for owner in owners for place in self.owned.get(owner, ())})
        end = -1
        for first, length in own:
            if first > end:
                end = first + (1 << bits - length) - 1
                at = bisect_left(self._order, (first, length))
                for place in self._order[at : bisect_right(self._order, (end, bits))]:
                    yield from self.at(*place)

    def around(self, first: int, length: int, bits: int) -> Iterator[Placement]:
        """What a prefix lies in, itself included, narrowest first. Cost: one look for each length that there is."""
        for wider in sorted((known for known in self._lengths if known <= length), reverse=True):
            shift = bits - wider
            yield from reversed(tuple(self.at(first >> shift << shift, wider)))


class Placed:
    """The facts of all networks, and the inventory that gives them names.

    Attributes:
        moved: How often the tree of locations changed its shape.
        listener: Told each step, after it was taken.
    """

    def __init__(self) -> None:
        self.vrfs: dict[str, Vrf] = {}
        self.locations: dict[str, Location] = {}
        self.networks: dict[str, Network] = {}
        self.subnets: dict[str, Subnet] = {}
        self.areas: dict[Area, Facts] = {}
        self.handovers: dict[str, Handover] = {}
        self.moved = 0
        self.listener: Callable[[Step], None] = lambda step: None

    def area_of(self, subnet: str) -> Area | None:
        """The area that a subnet is in; None if it is gone."""
        known = self.subnets.get(subnet)
        return None if known is None else Area(known.network, 6 if ":" in known.cidr else 4)

    def above(self, location: str | None) -> Iterator[str]:
        """A location and all that it is in."""
        while location is not None and location in self.locations:
            yield location
            location = self.locations[location].parent

    def take(self, event: e.Event) -> None:
        """Take in one event; most change nothing here."""
        take = _TAKES.get(type(event))
        if take is not None:
            take(self, event)

    def own(self, block: Block) -> None:
        """A location owns a block."""
        self._set(block.subnet, block.kind, *first_and_length(block.cidr), block.owner or None)

    def surrender(self, block: Block) -> None:
        """It does no longer."""
        self._unset(block.subnet, block.kind, *first_and_length(block.cidr))

    def loosen(self, subnet: str, number: int, host: str) -> None:
        """An address is used at a host other than its block's."""
        area = self.area_of(subnet)
        if area is not None:
            self._set(subnet, "loose", number, width(area.version), host)

    def hand_over(self, claim: str, host: str, leaving: str, addresses: Iterable[tuple[str, int]]) -> None:
        """Two hosts announce these addresses of a claim, given by subnet and number."""
        held = frozenset((area, number) for subnet, number in addresses if (area := self.area_of(subnet)) is not None)
        self._hand_over(claim, host, leaving, held)

    def end_handover(self, claim: str) -> None:
        """One host announces a claim's addresses, if two did."""
        ended = self.handovers.pop(claim, None)
        if ended is not None:
            self._announce(ended, False)

    def _hand_over(self, claim: str, host: str, leaving: str, held: frozenset[tuple[Area, int]]) -> None:
        self.end_handover(claim)
        if held:
            self.handovers[claim] = Handover(host, leaving, held)
            self._announce(self.handovers[claim], True)

    def _announce(self, handover: Handover, there: bool) -> None:
        for area, number in sorted(handover.addresses):
            for host in (handover.host, handover.leaving):
                self.listener(Step(area, Placement("handover", number, width(area.version), host), there))

    def _set(self, subnet: str, kind: str, first: int, length: int, owner: str | None) -> None:
        area = self.area_of(subnet)
        if area is not None:
            facts = self.areas.setdefault(area, Facts())
            self._tell(area, facts, first, length, lambda: facts.put(kind, first, length, owner))

    def _unset(self, subnet: str, kind: str, first: int, length: int) -> None:
        area = self.area_of(subnet)
        facts = None if area is None else self.areas.get(area)
        if area is not None and facts is not None:
            self._tell(area, facts, first, length, lambda: facts.drop(kind, first, length))

    def _tell(self, area: Area, facts: Facts, first: int, length: int, change: Callable[[], None]) -> None:
        before = {fact.kind: fact for fact in facts.at(first, length)}
        change()
        after = {fact.kind: fact for fact in facts.at(first, length)}
        for kind, fact in after.items():
            known = before.pop(kind, None)
            if known != fact:
                self.listener(Step(area, fact, True, known.owner if known else None))
        for fact in before.values():
            self.listener(Step(area, fact, False))

    def _held(self, claim: Claim, allocation: Allocation) -> None:
        host = allocation.away(claim.host)
        if host is not None:
            self.loosen(allocation.subnet, number_of(allocation.ip), host)
        elif not allocation.lease:
            self._let_go(allocation)

    def _let_go(self, allocation: Allocation) -> None:
        self._unset(allocation.subnet, "loose", number_of(allocation.ip), allocation.length)

    def _share(self, claim: Claim, allocation: Allocation) -> None:
        """Two hosts announce it, if they do so for its claim."""
        area = self.area_of(allocation.subnet)
        if claim.leaving is not None and claim.host is not None and area is not None:
            here = self.handovers.get(claim.id)
            others = frozenset[tuple[Area, int]]() if here is None else here.addresses
            self._hand_over(claim.id, claim.host, claim.leaving, others | {(area, number_of(allocation.ip))})

    def _unshare(self, claim: Claim, allocation: Allocation) -> None:
        """One host announces it, if two did for its claim; none does, for a claim that is over."""
        here, number = self.handovers.get(claim.id), number_of(allocation.ip)
        if here is not None:
            goes_on = claim.leaving is not None and claim.until is None
            left = frozenset(each for each in here.addresses if goes_on and each[1] != number)
            self._hand_over(claim.id, here.host, here.leaving, left)


def _kept(table: str, field: str) -> Callable[[Placed, Any], None]:
    def take(placed: Placed, event: Any) -> None:
        thing = getattr(event, field)
        getattr(placed, table)[thing.id] = thing

    return take


def _gone(table: str, field: str) -> Callable[[Placed, Any], None]:
    def take(placed: Placed, event: Any) -> None:
        getattr(placed, table).pop(getattr(event, field).id, None)

    return take


def _network_deleted(placed: Placed, event: e.NetworkDeleted) -> None:
    placed.networks.pop(event.network.id, None)
    for version in (4, 6):
        placed.areas.pop(Area(event.network.id, version), None)


def _location_changed(placed: Placed, event: e.LocationChanged) -> None:
    before = placed.locations.get(event.location.id)
    placed.locations[event.location.id] = event.location
    if before is None or before.parent != event.location.parent:
        placed.moved += 1


def _resized(placed: Placed, event: e.BlockResized) -> None:
    placed.own(event.block)  # before the old one goes, so that no space is nobody's in between
    placed.surrender(event.before)


def _used(placed: Placed, event: e.AddressAllocated | e.AddressAliased | e.AddressRestored | e.AddressMoved) -> None:
    placed._held(event.claim, event.allocation)
    if event.allocation.standing != "shelved":
        placed._share(event.claim, event.allocation)


def _aliased(placed: Placed, event: e.AddressAliased) -> None:
    """It comes off its shelf; one that stood on none is used as it was."""
    if event.before == "shelved":
        _used(placed, event)


def _unused(placed: Placed, event: e.AddressReleased | e.AddressShelved) -> None:
    placed._let_go(event.allocation)
    placed._unshare(event.claim, event.allocation)


def _moved(placed: Placed, event: e.AddressMoved) -> None:
    placed._unshare(event.giver, event.left)
    _used(placed, event)


def _rebound(placed: Placed, event: e.ClaimRebound) -> None:
    claim = event.claim
    for allocation in event.allocations:
        placed._held(claim, allocation)
    if claim.leaving is not None and claim.host is not None:
        used = (each for each in event.allocations if each.standing != "shelved")
        held = [(each.subnet, number_of(each.ip)) for each in used]
        placed.hand_over(claim.id, claim.host, claim.leaving, held)
    else:
        placed.end_handover(claim.id)


def _ended(placed: Placed, event: e.ClaimSettled | e.ClaimReleased) -> None:
    placed.end_handover(event.claim.id)


_TAKES: Final[dict[type, Callable[[Placed, Any], None]]] = {
    e.VrfCreated: _kept("vrfs", "vrf"),
    e.VrfChanged: _kept("vrfs", "vrf"),
    e.VrfDeleted: _gone("vrfs", "vrf"),
    e.LocationCreated: _kept("locations", "location"),
    e.LocationChanged: _location_changed,
    e.LocationDeleted: _gone("locations", "location"),
    e.NetworkCreated: _kept("networks", "network"),
    e.NetworkChanged: _kept("networks", "network"),
    e.NetworkBudgetCrossed: _kept("networks", "network"),
    e.NetworkDeleted: _network_deleted,
    e.SubnetCreated: _kept("subnets", "subnet"),
    e.SubnetChanged: _kept("subnets", "subnet"),
    e.SubnetDeleted: _gone("subnets", "subnet"),
    e.BlockOwned: lambda placed, event: placed.own(event.block),
    e.BlockSurrendered: lambda placed, event: placed.surrender(event.block),
    e.BlockResized: _resized,
    e.AddressAllocated: _used,
    e.AddressReleased: _unused,
    e.AddressMoved: _moved,
    e.AddressShelved: _unused,
    e.AddressAliased: _aliased,
    e.AddressRestored: _used,
    e.ClaimRebound: _rebound,
    e.ClaimSettled: _ended,
    e.ClaimReleased: _ended,
}
