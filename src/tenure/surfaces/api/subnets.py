"""Subnets: prefixes on links."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType
from starlette.responses import Response

from tenure.model.addressing import Subnet
from tenure.model.policy import ReverseMode
from tenure.model.uses import ChangeSubnet, CreateSubnet, DeleteSubnet
from tenure.net.addresses import Prefix, parse_prefix
from tenure.net.rangeset import RangeSet
from tenure.store.interface import Page, Reads
from tenure.store.reads import Extent
from tenure.surfaces.api import drains
from tenure.surfaces.api.backing import Backing
from tenure.surfaces.api.consequences import ConsequencesOut, Loss, RefusalOut, stretches, within
from tenure.surfaces.api.inventory import Shelf, made, network_id, vrf_id
from tenure.surfaces.api.operations import Asked, Noun, answer
from tenure.surfaces.api.schemas import (
    AddressText,
    CustomIn,
    DhcpIn,
    LabelledList,
    Patch,
    PrefixText,
    Reference,
    Tags,
    Template,
    labels_in,
)

NOUN = Noun("subnets")


class _Settings(Patch):
    gateway: AddressText | UnsetType | None = UNSET
    dns_servers: Annotated[list[AddressText], Meta(max_length=16)] | UnsetType = UNSET
    locations: Annotated[list[Reference], Meta(max_length=1000)] | UnsetType = UNSET
    use_all_addresses: bool | UnsetType = UNSET
    reverse: (
        Annotated[
            ReverseMode,
            Meta(
                description="Where its pointers are: in the octet's or nibble's zone (`plain`), longer than /24 in one "
                "of its own (`rfc2317`), nowhere (`off`). `auto` is `plain` up to /24, where the octet's zone is "
                "served here, and where the addresses are private; else `rfc2317`."
            ),
        ]
        | UnsetType
    ) = UNSET
    name_template: Template | UnsetType | None = UNSET
    dhcp: DhcpIn | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET
    custom: CustomIn | UnsetType = UNSET


class SubnetIn(_Settings, kw_only=True):
    """A prefix to put into a network. Without `locations` it is everywhere."""

    cidr: PrefixText


class SubnetPatch(_Settings):
    """What to change; `cidr` resizes."""

    cidr: PrefixText | UnsetType = UNSET


class SubnetList(LabelledList):
    """Filters."""

    network: Reference | None = None
    vrf: Reference | None = None


def use_of(body: SubnetIn, network: str) -> CreateSubnet:
    """The use that a request for a subnet is."""
    fields = body.changes()
    fields.pop("network", None)
    return CreateSubnet(network=network, cidr=str(fields.pop("cidr")), fields=fields)


def _create(asked: Asked) -> CreateSubnet:
    return use_of(asked.body, asked.path("network"))


def listed(reads: Reads, query: Any, path: dict[str, str]) -> Page[Subnet]:
    """A page of the subnets that pass the filters of a `SubnetList`."""
    network = network_id(reads, path.get("network") or query.network)
    vrf = vrf_id(reads, query.vrf)
    return reads.subnets(query.after or "", query.limit, network=network, vrf=vrf, **labels_in(query))


async def _show(backing: Backing, subnets: list[Subnet]) -> list[Subnet]:
    names = backing.names
    await names.know(
        vrfs={each.vrf for each in subnets},
        networks={each.network for each in subnets},
        locations={place for each in subnets for place in each.locations},
    )
    return [
        msgspec.structs.replace(
            each,
            vrf=names.vrfs.get(each.vrf, each.vrf),
            network=names.networks.get(each.network, each.network),
            locations=tuple(names.locations.get(place, place) for place in each.locations),
        )
        for each in subnets
    ]


class SubnetOut(Subnet, frozen=True, kw_only=True):
    """A subnet; of a dry run that resizes it, also what would go, and why it would be refused, if it would."""

    consequences: ConsequencesOut | UnsetType = UNSET
    refused: RefusalOut | UnsetType | None = UNSET


def _loss(reads: Reads, subnet: Subnet, changes: dict[str, object] | None) -> Loss | None:
    """What goes with a subnet, or with the part of it that a new prefix leaves out."""
    if changes is None:
        return Loss(
            extent=Extent(subnet=subnet.id),
            vrfs=(subnet.vrf,),
            network=subnet.network,
            lost=within([subnet.cidr]),
            left=lambda networks, subnets: (networks, [each for each in subnets if each.id != subnet.id]),
        )
    cidr = str(changes.get("cidr", subnet.cidr))
    return None if cidr == subnet.cidr else _resizing(subnet, cidr)


def _resizing(subnet: Subnet, cidr: str) -> Loss:
    old, new = parse_prefix(subnet.cidr), parse_prefix(cidr, "/cidr")
    kept = within([str(new)])
    was = within([subnet.cidr])
    resized = msgspec.structs.replace(subnet, cidr=str(new))
    lost = _addresses(old) - (_addresses(new) if old.version == new.version else RangeSet())
    return Loss(
        extent=Extent(subnet=subnet.id, stretches=stretches(old.version, lost)),
        vrfs=(subnet.vrf,),
        network=subnet.network,
        lost=lambda prefix: was(prefix) and not kept(prefix),
        left=lambda networks, subnets: (networks, [resized if each.id == subnet.id else each for each in subnets]),
    )


def _addresses(prefix: Prefix) -> RangeSet:
    return RangeSet.of((int(prefix.network_address), int(prefix.broadcast_address)))


_SHOWN = Subnet(
    id="0a1b2c3d4e5f60718293",
    network="prod",
    vrf="default",
    cidr="10.0.3.0/24",
    gateway="10.0.3.1",
    dns_servers=("10.0.3.2",),
    locations=("rack-3",),
)

Shelf(
    noun=NOUN,
    one="subnet",
    path="/v1/subnets",
    into="/v1/networks/{network}/subnets",
    everywhere="/v1/subnets",
    body=SubnetIn,
    patch=SubnetPatch,
    out=Subnet,
    query=SubnetList,
    example={"cidr": "10.0.3.0/24", "gateway": "10.0.3.1", "dns_servers": ["10.0.3.2"], "locations": ["rack-3"]},
    patch_example={"dns_servers": ["10.0.3.2", "10.0.3.3"]},
    shown=_SHOWN,
    create=_create,
    change=lambda asked, name: ChangeSubnet(subnet=name, changes=asked.body.changes()),
    delete=lambda name: DeleteSubnet(subnet=name),
    seen=lambda reads, name: reads.subnet(name),
    listed=listed,
    show=_show,
    refusals=("overlap",),
    loss=_loss,
    tried=SubnetOut,
).offer()


class DrainedSubnet(drains.Drained, kw_only=True):
    """A subnet, and who still holds an address of it: the oldest claims, at most 20, and how many there are."""

    subnet: Subnet


@NOUN.operation(
    "POST",
    "/v1/subnets/{subnet}/drain",
    "Drain a subnet",
    name="drain_subnet",
    body=drains.DrainIn,
    optional=True,
    example=drains.EXAMPLE,
    gives={200: DrainedSubnet},
    answers={200: DrainedSubnet(subnet=msgspec.structs.replace(_SHOWN, draining=True), **drains.STILL)},
    refusals=("not_found", "conflict"),
)
async def drain(asked: Asked) -> Response:
    """Give nothing new from a subnet; what is held stays, and who holds it is listed.

    DHCP renews leases here and grants none. What is free here counts as reserved.
    Repeatable: it shows how much is left.
    """
    reply = await asked.submit(ChangeSubnet(subnet=asked.path("subnet"), changes=drains.wanted(asked)))
    (subnet,) = await _show(asked.backing, [made(reply.answer, "subnet")])
    still = await drains.still(asked, subnet, subnet=subnet.id)
    return answer(DrainedSubnet(subnet=subnet, **still), replayed=reply.replayed)
