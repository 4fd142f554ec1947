"""What a deletion or a resizing would take along, and whether it would be refused: the answer to a dry run of it."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

import msgspec

from tenure.errors import Conflict, EpochChanged, StaleRevision
from tenure.model.addressing import Network, Subnet
from tenure.model.answers import Answer
from tenure.model.uses import Use
from tenure.naming.reverse import zones_for
from tenure.net.addresses import parse_prefix, text_of
from tenure.net.rangeset import RangeSet
from tenure.service.routes import RouteView
from tenure.store.interface import Page, Reads, Seen
from tenure.store.reads import Affected, Extent, Some
from tenure.surfaces.api.operations import Asked

_FIRST: Final = 20
_PAGE: Final = 1000

T = TypeVar("T")


class SomeOut(msgspec.Struct):
    """How many there are, and the first 20."""

    count: int
    first: list[str]


class ConsequencesOut(msgspec.Struct):
    """What would go, or has to go first: held addresses, names, zones, routes (of the fabric), leases, resting ones."""

    addresses: SomeOut
    names: SomeOut
    zones: SomeOut
    routes: SomeOut
    leases: SomeOut
    resting: SomeOut


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
        left: The networks and subnets of its vrf as they would be; None: they stay, and so do the zones.
    """

    extent: Extent
    vrfs: tuple[str, ...] = ()
    network: str = ""
    table: str = "fabric"
    lost: Callable[[str], bool] | None = None
    left: Callable[[list[Network], list[Subnet]], tuple[list[Network], list[Subnet]]] | None = None


async def tried(asked: Asked, loss: Loss, refused: RefusalOut | None) -> TriedOut:
    """The answer to a dry run."""
    seen: Seen[Affected] = await asked.look(lambda reads: reads.affected(loss.extent, asked.backing.clock()))
    zones = await asked.backing.read(_zones, asked.backing.committed.reads, loss)
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


def _zones(reads: Reads, loss: Loss) -> list[str]:
    """The zones that nobody would need any more."""
    if loss.left is None:
        return []
    (vrf,) = loss.vrfs
    networks = list(_all(lambda after: reads.networks(after, _PAGE, vrf=vrf)))
    subnets = list(_all(lambda after: reads.subnets(after, _PAGE, vrf=vrf)))
    return sorted(_needed(networks, subnets) - _needed(*loss.left(networks, subnets)))


def _needed(networks: Iterable[Network], subnets: Iterable[Subnet]) -> set[str]:
    names = {network.domain for network in networks if network.domain is not None}
    for subnet in subnets:
        if subnet.reverse != "off":
            names.update(name for name, _, _ in zones_for(parse_prefix(subnet.cidr)))
    return names


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
