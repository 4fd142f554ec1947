"""What a deletion or a resizing would take along, and whether it would be refused: the answer to a dry run of it."""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final, TypeVar

import msgspec

from tenure.errors import Conflict, EpochChanged, StaleRevision
from tenure.model.addressing import Network, Subnet
from tenure.model.answers import Answer
from tenure.model.dnsdata import Zone
from tenure.model.policy import ReverseMode
from tenure.model.uses import Use
from tenure.naming.reverse import classless_zone, is_private, zones_for
from tenure.net.addresses import Prefix, parse_prefix, text_of
from tenure.net.rangeset import RangeSet
from tenure.service.routes import RouteView
from tenure.store.interface import Page, Reads, Seen
from tenure.store.reads import Affected, Extent, Some
from tenure.surfaces.api.operations import Asked

_FIRST: Final = 20
_PAGE: Final = 1000
_OCTET: Final = 24
"""The longest IPv4 prefix that has a zone on an octet for itself."""

T = TypeVar("T")


class SomeOut(msgspec.Struct):
    """How many there are, and the first 20."""

    count: int
    first: list[str]


class ConsequencesOut(msgspec.Struct):
    """What would go, or has to go first: held addresses, names, zones, routes (of the fabric), leases, resting ones.

    `records` are those that people made; a zone with some does not go along with networks and subnets.
    """

    addresses: SomeOut
    names: SomeOut
    zones: SomeOut
    routes: SomeOut
    leases: SomeOut
    resting: SomeOut
    records: SomeOut


class RefusalOut(msgspec.Struct):
    """Why it would be refused: the problem's code, and its sentence."""

    code: str
    detail: str


class TriedOut(msgspec.Struct, kw_only=True):
    """A dry run: what would go, and why it would be refused, if it would."""

    consequences: ConsequencesOut
    refused: RefusalOut | None


_NONE = SomeOut(0, [])
EXAMPLE = TriedOut(
    consequences=ConsequencesOut(
        SomeOut(1, ["10.0.3.65"]),
        SomeOut(1, ["vm-17.prod.example."]),
        SomeOut(1, ["3.0.10.in-addr.arpa."]),
        SomeOut(1, ["10.0.3.64/28"]),
        _NONE,
        SomeOut(1, ["10.0.3.70"]),
        _NONE,
    ),
    refused=RefusalOut("in_use", "subnet 10.0.3.0/24 still holds 1: 10.0.3.65"),
)


class Loss(msgspec.Struct, kw_only=True):
    """What a change of one thing would take away.

    Attributes:
        extent: The addresses.
        vrfs: Of the routes and zones. network: of the routes, if they are of one.
        table: Whose routes.
        lost: Whether a route is for what would go; None: none is, except by way of a place that goes.
        records: Whether the records that people made in its vrfs have to go first.
        left: The networks and subnets of its vrf as they would be; None: they stay, and so do the zones.
    """

    extent: Extent
    vrfs: tuple[str, ...] = ()
    network: str = ""
    table: str = "fabric"
    lost: Callable[[str], bool] | None = None
    records: bool = False
    left: Callable[[list[Network], list[Subnet]], tuple[list[Network], list[Subnet]]] | None = None


async def tried(asked: Asked, loss: Loss, refused: RefusalOut | None) -> TriedOut:
    """The answer to a dry run."""
    seen: Seen[Affected] = await asked.look(lambda reads: reads.affected(loss.extent, asked.backing.clock()))
    zones = await asked.backing.read(_zones, asked.backing.committed.reads, loss)
    records = await asked.backing.read(_records, asked.backing.committed.reads, loss)
    routes = await asked.backing.read(_routes, asked.backing.routes, loss, seen.value.places)
    found = seen.value
    return TriedOut(
        consequences=ConsequencesOut(
            _out(found.addresses),
            _out(found.names),
            _listed(zones),
            _listed(routes),
            _out(found.leases),
            _out(found.resting),
            records,
        ),
        refused=refused,
    )


async def attempted(asked: Asked, use: Use) -> tuple[Answer | None, RefusalOut | None]:
    """What a dry run of a use answers, or why it would be refused for what is there.

    Raises:
        TenureError: It is refused for another reason: what is asked is wrong, or not of this revision.
    """
    try:
        return (await asked.submit(use)).answer, None
    except (StaleRevision, EpochChanged):
        raise
    except Conflict as error:
        return None, RefusalOut(error.code, error.message)


def _out(some: Some) -> SomeOut:
    return SomeOut(some.total, list(some.first))


def _listed(texts: Iterable[str]) -> SomeOut:
    found = list(texts)
    return SomeOut(len(found), found[:_FIRST])


async def tried_on_zone(asked: Asked, zone: Zone, use: Use) -> TriedOut:
    """The answer to a dry run of a zone's deletion: whether it goes, and the records that have to go first."""
    _, refused = await attempted(asked, use)
    reads = asked.backing.committed.reads
    gone = [] if await asked.backing.read(_is_needed, reads, zone) else [zone.name]
    records = await asked.backing.read(records_of, reads, [zone])
    consequences = ConsequencesOut(_NONE, _NONE, _listed(gone), _NONE, _NONE, _NONE, records)
    return TriedOut(consequences=consequences, refused=refused)


def records_of(reads: Reads, zones: Iterable[Zone]) -> SomeOut:
    """The records that people made in these zones. Cost: a read a thousand."""
    return _listed(
        f"{each.owner} {each.type}"
        for zone in zones
        for each in _all(lambda after, zone=zone: reads.records(after, _PAGE, zone=zone.id))  # type: ignore[misc]
    )


def _records(reads: Reads, loss: Loss) -> SomeOut:
    if not loss.records:
        return _NONE
    return records_of(reads, (zone for vrf in loss.vrfs for zone in _zones_of(reads, vrf)))


def _zones(reads: Reads, loss: Loss) -> list[str]:
    """The zones that nobody would need any more, and that have no records of people's."""
    if loss.left is None:
        return []
    (vrf,) = loss.vrfs
    networks, subnets = _inventory(reads, vrf)
    zones = list(_zones_of(reads, vrf))
    kept = {zone.name for zone in zones if zone.kept}
    lost = _needed(networks, subnets, kept) - _needed(*loss.left(networks, subnets), kept) - kept
    return sorted(each.name for each in zones if each.name in lost and not reads.records(limit=1, zone=each.id).items)


def _is_needed(reads: Reads, zone: Zone) -> bool:
    """Whether networks or subnets need a zone, whoever made it."""
    kept = {each.name for each in _zones_of(reads, zone.vrf) if each.kept and each.id != zone.id}
    return zone.name in _needed(*_inventory(reads, zone.vrf), kept)


def _inventory(reads: Reads, vrf: str) -> tuple[list[Network], list[Subnet]]:
    networks = list(_all(lambda after: reads.networks(after, _PAGE, vrf=vrf)))
    return networks, list(_all(lambda after: reads.subnets(after, _PAGE, vrf=vrf)))


def _zones_of(reads: Reads, vrf: str) -> Iterator[Zone]:
    return _all(lambda after: reads.zones(after, _PAGE, vrf=vrf))


def _needed(networks: Iterable[Network], subnets: Iterable[Subnet], kept: Collection[str]) -> set[str]:
    """The names of the zones that these want, beside those that people keep."""
    names = {network.domain for network in networks if network.domain is not None}
    pointing = {parse_prefix(each.cidr): each.reverse for each in subnets if each.reverse != "off"}
    for prefix, reverse in pointing.items():
        names.update(_pointer_zones(prefix, reverse, pointing, kept))
    return names


def _pointer_zones(
    prefix: Prefix, reverse: ReverseMode, others: Collection[Prefix], kept: Collection[str]
) -> list[str]:
    """The reverse zones of a subnet, as `tenure.engine.pointing` says."""
    octets = [name for name, _, _ in zones_for(prefix)]
    if prefix.version == 6 or prefix.prefixlen <= _OCTET:
        return octets
    around = [length for length in range(prefix.prefixlen) if prefix.supernet(new_prefix=length) in others]
    served = octets[0] in kept or any(length <= _OCTET for length in around) or is_private(int(prefix[0]))
    if reverse == "rfc2317" or (reverse == "auto" and not served):
        return [classless_zone(int(prefix.network_address), prefix.prefixlen)]
    return [] if around else octets


def _all(page_after: Callable[[str], Page[T]]) -> Iterator[T]:
    after = ""
    while True:
        page = page_after(after)
        yield from page.items
        if page.next is None:
            return
        after = page.next


def _routes(view: RouteView, loss: Loss, places: tuple[str, ...]) -> list[str]:
    """Prefixes that would go from the fabric's table: of what goes, or by way of a place that goes."""
    if loss.lost is None and not places:
        return []
    found: dict[str, None] = {}
    for vrf in loss.vrfs:
        for route in view.table(loss.table, loss.network, vrf).value.routes:
            if route.via.name in places or (loss.lost is not None and loss.lost(route.prefix)):
                found[route.prefix] = None
    return list(found)


def within(cidrs: Iterable[str]) -> Callable[[str], bool]:
    """Whether a prefix lies in one of these."""
    nets = [parse_prefix(cidr) for cidr in cidrs]

    def inside(prefix: str) -> bool:
        one = parse_prefix(prefix)
        return any(one.version == net.version and one.subnet_of(net) for net in nets)  # type: ignore[arg-type]

    return inside


def stretches(version: int, ranges: RangeSet) -> tuple[tuple[str, str], ...]:
    """The stretches of a set of addresses, as an extent has them."""
    return tuple((text_of(version, first), text_of(version, last)) for first, last in ranges)
