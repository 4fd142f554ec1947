"""How addresses are called: where their names and pointers are, and what is computed for those that nobody named.

The same questions are asked of the allocator's state, by what follows the ledger (`Links`), and of a snapshot, by
what loads zones (`service.contents`): both answer with what is here.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from tenure.engine.space import Space
from tenure.engine.state import State
from tenure.model import events as e
from tenure.model.addressing import Network, Range, Subnet
from tenure.model.dnsdata import Zone
from tenure.naming.hostnames import fqdn
from tenure.naming.reverse_zones import ReverseZones
from tenure.naming.templates import Stretch, template_for
from tenure.net.addresses import number_of, parse_prefix
from tenure.net.rangeset import Pair, RangeSet

SHAPING: Final = frozenset(
    {
        e.VrfCreated,
        e.VrfChanged,
        e.VrfDeleted,
        e.NetworkCreated,
        e.NetworkChanged,
        e.NetworkDeleted,
        e.SubnetCreated,
        e.SubnetChanged,
        e.SubnetDeleted,
        e.RangeCreated,
        e.RangeChanged,
        e.RangeDeleted,
        e.ZoneCreated,
        e.ZoneReshaped,
        e.ZoneDeleted,
    }
)
"""Events after which addresses may be called otherwise."""

ZoneNamed = Callable[[str, str], Zone | None]
"""The zone of a vrf with a name, or None."""


class PointerZones:
    """The zone that the pointer of each address is in: the innermost one.

    Args:
        where: Which zones there are. zones: Them by id, as they are.
    """

    def __init__(self, where: ReverseZones, zones: Mapping[str, Zone]) -> None:
        self._where = where
        self._zones = zones

    def at(self, vrf: str, version: int, number: int) -> Zone | None:
        """That of one address; None where there is none. Cost: one look for each length of zones in use."""
        found = self._where.innermost(vrf, version, number)
        return None if found is None else self._zones[found]

    def within(self, vrf: str, version: int, first: int, last: int) -> Iterator[tuple[int, int, Zone]]:
        """Those of the addresses from `first` to `last`: pieces of that, in order, each with its zone."""
        for low, high, found in self._where.over(vrf, version, first, last):
            yield low, high, self._zones[found]


def stretches(
    subnet: Subnet,
    network: Network,
    zone: Zone | None,
    *,
    nested: Iterable[Pair],
    ranges: Iterable[Range],
    pointers: PointerZones,
) -> Iterator[Stretch]:
    """The names that are computed for a subnet's addresses: all but those of subnets in it and of reserved ranges.

    Args:
        zone: The network's forward zone; without one there are no names.
        nested: First and last address of each subnet in this one, of any network.
        ranges: The subnet's, of any role.
        pointers: The reverse zones as they are.

    Returns:
        Forward ones in the order of addresses, each followed by its pointers, cut where the reverse zones are.

    Cost: nothing without a template; else some µs a stretch.
    """
    template = template_for(subnet, network, zone)
    if zone is None or template is None:
        return
    version, area = _area(subnet, nested, ranges)
    for first, last in area:
        yield Stretch(version, first, last, template, zone.name, zone.name, False, zone.ttl)
        if subnet.reverse != "off":
            for low, high, home in pointers.within(subnet.vrf, version, first, last):
                yield Stretch(version, low, high, template, zone.name, home.name, True, home.ttl)


def _area(subnet: Subnet, nested: Iterable[Pair], ranges: Iterable[Range]) -> tuple[int, RangeSet]:
    version, first, last = span_of(subnet)
    return version, RangeSet.of((first, last)) - RangeSet(nested) - reserved(ranges)


def reserved(ranges: Iterable[Range]) -> RangeSet:
    """What nothing is computed for: the addresses of reserved ranges."""
    return RangeSet((number_of(each.start), number_of(each.end)) for each in ranges if each.role == "reserved")


def span_of(subnet: Subnet) -> tuple[int, int, int]:
    """Version, first and last address of a subnet."""
    prefix = parse_prefix(subnet.cidr)
    return prefix.version, int(prefix.network_address), int(prefix.broadcast_address)


def stretches_of(state: State, subnet_id: str, pointers: PointerZones) -> Iterator[Stretch]:
    """What `stretches` says of a subnet of the state as it is now. Cost: the subnets in it."""
    space = state.subnets[subnet_id]
    subnet, network = space.subnet, state.networks[space.subnet.network]
    zone = None if network.domain is None else state.zone_named(subnet.vrf, network.domain)
    nested = ((other.first, other.last) for other in _inside(state, space) if other is not space)
    return stretches(subnet, network, zone, nested=nested, ranges=space.ranges.values(), pointers=pointers)


def _inside(state: State, space: Space) -> Iterator[Space]:
    """A subnet and those in it, of any network; looked for only when somebody reads on."""
    for other in state.crossing(space.subnet.vrf, space.version, space.first, space.prefix_length):
        if other.prefix_length >= space.prefix_length:
            yield other


class Ahead:
    """The computed names of an address, among those of one vrf and version that are listed."""

    def __init__(self, given: Iterable[Stretch]) -> None:
        listed = [each for each in given if each.listed]
        self._sides = [_Side(each for each in listed if each.pointers is side) for side in (False, True)]
        self.any = bool(listed)

    def at(self, number: int) -> list[Stretch]:
        """Its forward stretch and the one of its pointer, as far as there are such."""
        return [found for side in self._sides if (found := side.at(number)) is not None]


class _Side:
    def __init__(self, given: Iterable[Stretch]) -> None:
        self._stretches = sorted(given, key=lambda stretch: stretch.first)
        self._firsts = [stretch.first for stretch in self._stretches]

    def at(self, number: int) -> Stretch | None:
        place = bisect_right(self._firsts, number) - 1
        found = self._stretches[place] if place >= 0 else None
        return found if found is not None and number <= found.last else None


class Link(NamedTuple):
    """How the addresses of one subnet are called, and where.

    Attributes:
        forward: The zone of its domain.
        reverse: Whether they have pointers.
        ahead: What is computed for addresses of its prefix, if anything is.
    """

    vrf: str
    domain: str
    forward: Zone | None
    version: int
    reverse: bool
    ahead: Ahead | None = None

    def name(self, hostname: str) -> str:
        """The absolute name of a host here."""
        return fqdn(hostname, self.domain)


def link(subnet: Subnet, network: Network, named: ZoneNamed) -> Link | None:
    """How addresses of `subnet` are called; None where they have no names. What is computed is left out."""
    if network.domain is None:
        return None
    zone = named(subnet.vrf, network.domain)
    return Link(subnet.vrf, network.domain, zone, 6 if ":" in subnet.cidr else 4, subnet.reverse != "off")


class Links:
    """How addresses are called by the state as it is, remembered from one transaction to the next.

    Whoever reduces events that `SHAPING` holds says so (`shaped`), and what they change is looked up again, then
    and at the beginning of the next transaction: the last one may have been taken back.
    """

    def __init__(self, state: State) -> None:
        self.state = state
        self.pointers = PointerZones(state.reverse_zones, state.zones)
        self._stale = False
        self.forget()

    def begin(self) -> None:
        """A transaction begins."""
        if self._stale:
            self._stale = False
            self.forget()

    def shaped(self) -> None:
        """The inventory is not what it was, and may be again what it was."""
        self._stale = True
        self.forget()

    def forget(self) -> None:
        """Look everything up again."""
        self._links: dict[str, Link | None] = {}

    def of(self, subnet_id: str, events: Sequence[e.Event]) -> Link | None:
        """How the addresses of a subnet are called; one that `events`, the latest ones, deleted is found there."""
        if subnet_id not in self._links:
            self._links[subnet_id] = self._found(subnet_id, events)
        return self._links[subnet_id]

    def _found(self, subnet_id: str, events: Sequence[e.Event]) -> Link | None:
        space = self.state.subnets.get(subnet_id)
        subnet = _deleted_subnet(subnet_id, events) if space is None else space.subnet
        network = self.state.networks.get(subnet.network) or _deleted_network(subnet.network, events)
        found = link(subnet, network, self.state.zone_named)
        if found is None or space is None:
            return found
        inside = (other.subnet.id for other in _inside(self.state, space))
        ahead = Ahead(each for id_ in inside for each in stretches_of(self.state, id_, self.pointers))
        return found._replace(ahead=ahead) if ahead.any else found


def _deleted_subnet(subnet_id: str, events: Sequence[e.Event]) -> Subnet:
    return next(each.subnet for each in events if isinstance(each, e.SubnetDeleted) and each.subnet.id == subnet_id)


def _deleted_network(network_id: str, events: Sequence[e.Event]) -> Network:
    return next(each.network for each in events if isinstance(each, e.NetworkDeleted) and each.network.id == network_id)
