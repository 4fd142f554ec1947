"""Address spaces."""

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from tenure.model.addressing import Vrf
from tenure.model.uses import ChangeVrf, CreateVrf, DeleteVrf
from tenure.store.interface import Page, Reads
from tenure.store.reads import Extent
from tenure.surfaces.api.backing import Backing
from tenure.surfaces.api.consequences import Loss
from tenure.surfaces.api.inventory import Shelf
from tenure.surfaces.api.operations import Noun
from tenure.surfaces.api.schemas import List, Name, NameServers, Patch, Search

NOUN = Noun("vrfs")


class VrfIn(Patch):
    """An address space to make. `name_servers` serve its zones that name none themselves."""

    name: Name
    name_servers: NameServers | UnsetType = UNSET


class VrfPatch(Patch):
    """What to change."""

    name: Name | UnsetType = UNSET
    name_servers: NameServers | UnsetType = UNSET


class VrfList(List):
    """Filters."""

    q: Search | None = None


def use_of(body: VrfIn) -> CreateVrf:
    """The use that a request for an address space is."""
    return msgspec.convert(body.changes(), CreateVrf)


def _listed(reads: Reads, query: Any, path: dict[str, str]) -> Page[Vrf]:
    return reads.vrfs(query.after or "", query.limit, q=query.q or "")


async def _show(backing: Backing, vrfs: list[Vrf]) -> list[Vrf]:
    return vrfs


def _loss(reads: Reads, vrf: Vrf, changes: dict[str, object] | None) -> Loss | None:
    """What goes with an address space."""
    if changes is not None:
        return None
    return Loss(
        extent=Extent(vrf=vrf.id),
        vrfs=(vrf.id,),
        lost=lambda prefix: True,
        records=True,
        left=lambda networks, subnets: ([], []),
    )


Shelf(
    noun=NOUN,
    one="vrf",
    path="/v1/vrfs",
    into="/v1/vrfs",
    body=VrfIn,
    patch=VrfPatch,
    out=Vrf,
    query=VrfList,
    example={"name": "blue"},
    patch_example={"name": "green"},
    shown=Vrf(id="0a1b2c3d4e5f60718293", name="blue"),
    create=lambda asked: use_of(asked.body),
    change=lambda asked, name: ChangeVrf(vrf=name, changes=asked.body.changes()),
    delete=lambda name: DeleteVrf(vrf=name),
    seen=lambda reads, name: reads.vrf(name),
    listed=_listed,
    show=_show,
    loss=_loss,
).offer()
