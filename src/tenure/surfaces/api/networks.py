"""Networks: what workloads ask for; and how much of them is left."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType
from starlette.responses import Response

from tenure.model.addressing import Network
from tenure.model.answers import Capacity, Count, PlaceCount, Room
from tenure.model.policy import (
    AddressMode,
    AllocateOn,
    Boundaries,
    Boundary,
    NetworkModel,
    OnOverride,
    Ports,
    Prefer,
    StrategyName,
    reach_of,
)
from tenure.model.uses import ChangeNetwork, CreateNetwork, DeleteNetwork, ReadCapacity
from tenure.naming.hostnames import parse_domain
from tenure.store.interface import Page, Reads
from tenure.store.reads import Extent
from tenure.surfaces.api.backing import Backing
from tenure.surfaces.api.consequences import Loss
from tenure.surfaces.api.inventory import Shelf, vrf_id
from tenure.surfaces.api.operations import Asked, Noun, answer
from tenure.surfaces.api.schemas import (
    Addresses,
    CustomIn,
    DhcpIn,
    Hostname,
    LabelledList,
    LengthV4,
    LengthV6,
    Name,
    NegativeTtl,
    Patch,
    Read,
    Reference,
    Search,
    Seconds10Years,
    Seconds30Days,
    Tags,
    Template,
    Ttl,
    labels_in,
)
from tenure.surfaces.api.shape import LATER

NOUN = Noun("networks")


RouteBudget = Annotated[int, Meta(ge=1, le=1_000_000, description="Routes.", examples=[500])]
EnlistLimit = Annotated[int, Meta(ge=0, le=100_000, description="Machines a minute and subnet.", examples=[60])]


class BoundaryIn(Patch):
    """A boundary by level: at a hard one an address stops. What is left out is soft."""

    host: Boundary | UnsetType = UNSET
    rack: Boundary | UnsetType = UNSET
    site: Boundary | UnsetType = UNSET
    region: Boundary | UnsetType = UNSET


class _Policies(Patch):
    model: NetworkModel | UnsetType = UNSET
    strategy: StrategyName | UnsetType = UNSET
    boundary: Boundary | BoundaryIn | UnsetType = UNSET
    cooldown: Seconds30Days | UnsetType = UNSET
    domain: Hostname | UnsetType | None = UNSET
    ttl: Ttl | UnsetType = UNSET
    negative_ttl: NegativeTtl | UnsetType = UNSET
    name_template: Template | UnsetType | None = UNSET
    shared_names: bool | UnsetType = UNSET
    overcommit: bool | UnsetType = UNSET
    dhcp: DhcpIn | UnsetType = UNSET
    block_length_v4: LengthV4 | UnsetType | None = UNSET
    block_length_v6: LengthV6 | UnsetType | None = UNSET
    rack_block_length_v4: LengthV4 | UnsetType | None = UNSET
    rack_block_length_v6: LengthV6 | UnsetType | None = UNSET
    prefer: Prefer | UnsetType = UNSET
    route_budget: RouteBudget | UnsetType | None = UNSET
    address_mode: AddressMode | UnsetType = UNSET
    allocate_on: AllocateOn | UnsetType | None = UNSET
    interfaces: Ports | UnsetType = UNSET
    on_override: OnOverride | UnsetType = UNSET
    harvest: bool | UnsetType = UNSET
    harvest_after: Seconds10Years | UnsetType = UNSET
    harvest_below: Addresses | UnsetType = UNSET
    low_threshold: Addresses | UnsetType = UNSET
    enlist: bool | UnsetType = UNSET
    enlist_limit: EnlistLimit | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET
    custom: CustomIn | UnsetType = UNSET

    def policies(self) -> dict[str, object]:
        """The fields that were sent, domain and boundary in their one spelling."""
        changes = self.changes()
        if isinstance(self.boundary, BoundaryIn):
            changes["boundary"] = _boundary(self.boundary)
        if isinstance(self.domain, str):
            changes["domain"] = parse_domain(self.domain, "/domain")
        return changes


class NetworkIn(_Policies, kw_only=True):
    """A network to make."""

    name: Name
    vrf: Reference = "default"


class NetworkPatch(_Policies):
    """What to change."""

    name: Name | UnsetType = UNSET


LATER[NetworkIn] = LATER[NetworkPatch] = frozenset({"project", "vlan_id"})


class NetworkList(LabelledList):
    """Filters."""

    vrf: Reference | None = None
    q: Search | None = None


class CapacityQuery(Read):
    """Whether to count for each location too: `by=location`."""

    by: Literal["location"] | None = None


class CapacityOut(msgspec.Struct, omit_defaults=True):
    """A network's addresses, counted; `locations` where it was asked for."""

    v4: Count
    v6: Count
    locations: list[PlaceCount] | UnsetType = UNSET


def use_of(body: NetworkIn) -> CreateNetwork:
    """The use that a request for a network is.

    Raises:
        InvalidValue: The domain is no name.
    """
    fields = body.policies()
    return CreateNetwork(name=str(fields.pop("name")), vrf=str(fields.pop("vrf")), fields=fields)


def _boundary(sent: BoundaryIn) -> object:
    """Its hard levels; soft where there is none, and hard where that is the host's."""
    hard = {level: "hard" for level, said in sent.changes().items() if said == "hard"}
    if not hard:
        return "soft"
    return "hard" if reach_of(msgspec.convert(hard, Boundaries)) == "host" else hard


def listed(reads: Reads, query: Any, path: dict[str, str]) -> Page[Network]:
    """A page of the networks that pass the filters of a `NetworkList`."""
    vrf = vrf_id(reads, query.vrf)
    return reads.networks(query.after or "", query.limit, vrf=vrf, q=query.q or "", **labels_in(query))


async def _show(backing: Backing, networks: list[Network]) -> list[Network]:
    await backing.names.know(vrfs={each.vrf for each in networks})
    return [msgspec.structs.replace(each, vrf=backing.names.vrfs.get(each.vrf, each.vrf)) for each in networks]


def _loss(reads: Reads, network: Network, changes: dict[str, object] | None) -> Loss | None:
    """What goes with a network."""
    if changes is not None:
        return None
    return Loss(
        extent=Extent(network=network.id),
        vrfs=(network.vrf,),
        network=network.id,
        lost=lambda prefix: True,
        left=lambda networks, subnets: (
            [each for each in networks if each.id != network.id],
            [each for each in subnets if each.network != network.id],
        ),
    )


Shelf(
    noun=NOUN,
    one="network",
    path="/v1/networks",
    into="/v1/networks",
    body=NetworkIn,
    patch=NetworkPatch,
    out=Network,
    query=NetworkList,
    example={"name": "prod", "domain": "prod.example.", "boundary": "soft", "cooldown": 300},
    patch_example={"cooldown": 600},
    shown=Network(id="0a1b2c3d4e5f60718293", name="prod", vrf="default", domain="prod.example."),
    create=lambda asked: use_of(asked.body),
    change=lambda asked, name: ChangeNetwork(network=name, changes=asked.body.policies()),
    delete=lambda name: DeleteNetwork(network=name),
    seen=lambda reads, name: reads.network(name),
    listed=listed,
    show=_show,
    loss=_loss,
).offer()

_COUNT = Count(capacity=254, in_use=1, reserved=2, cooling=0, available=251)
_PLACE = PlaceCount("compute-7", "host", Room(capacity=16, in_use=1, available=15, room=251), Room())


@NOUN.operation(
    "GET",
    "/v1/networks/{network}/capacity",
    "Count the addresses of a network",
    query=CapacityQuery,
    gives={200: CapacityOut},
    answers={200: CapacityOut(v4=_COUNT, v6=Count(), locations=[_PLACE])},
    refusals=("not_found",),
)
async def capacity(asked: Asked) -> Response:
    """Of the whole, and with `by=location` of the blocks of each location too. The figures sum exactly.

    By location, an address counts at the owner of its block, whoever uses it.
    A scheduler places by `room`: what claims at a location could be given now, at most, were nobody else to claim.
    Where it is 0, or the location is not listed, a claim is refused; rooms overlap, so they do not add up.
    """
    reply = await asked.submit(ReadCapacity(network=asked.path("network"), by_location=asked.query.by == "location"))
    counts = reply.answer
    assert isinstance(counts, Capacity)
    return answer(CapacityOut(counts.v4, counts.v6, UNSET if counts.locations is None else list(counts.locations)))
