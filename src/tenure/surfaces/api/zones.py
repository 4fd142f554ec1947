"""Zones that Tenure is primary of."""

from typing import Any

import msgspec
from starlette.responses import Response

from tenure.model.dnsdata import Zone
from tenure.store.interface import Page, Reads
from tenure.surfaces.api.backing import Backing
from tenure.surfaces.api.inventory import found, vrf_id
from tenure.surfaces.api.operations import Asked, Noun, answer
from tenure.surfaces.api.schemas import List, Reference, Search
from tenure.surfaces.api.schemas import Page as PageOut

NOUN = Noun("zones")


class ZoneList(List):
    """Filters."""

    vrf: Reference | None = None
    q: Search | None = None


_SHOWN = Zone(id="0a1b2c3d4e5f60718293", vrf="default", name="prod.example.", serial=17)


def _listed(reads: Reads, query: Any) -> Page[Zone]:
    return reads.zones(query.after or "", query.limit, vrf=vrf_id(reads, query.vrf), q=query.q or "")


async def _show(backing: Backing, zones: list[Zone]) -> list[Zone]:
    await backing.names.know(vrfs={each.vrf for each in zones})
    return [msgspec.structs.replace(each, vrf=backing.names.vrfs.get(each.vrf, each.vrf)) for each in zones]


@NOUN.operation(
    "GET",
    "/v1/zones",
    "List zones",
    name="list_zones",
    query=ZoneList,
    gives={200: PageOut[Zone]},
    answers={200: PageOut([_SHOWN])},
    refusals=("not_found",),
)
async def list_(asked: Asked) -> Response:
    """Forward and reverse zones, with their serials."""
    page = await asked.look(_listed, asked.query)
    return answer(PageOut(await _show(asked.backing, page.items), page.next))


@NOUN.operation(
    "GET",
    "/v1/zones/{zone}",
    "Show a zone",
    gives={200: Zone},
    answers={200: _SHOWN},
    refusals=("not_found",),
)
async def show(asked: Asked) -> Response:
    """A zone by id or name."""
    name = asked.path("zone")
    seen = await asked.look(lambda reads: reads.zone(name))
    (zone,) = await _show(asked.backing, [found(seen.value, "zone", name)])
    return answer(zone, revision=zone.revision)
