"""Zones that Tenure is primary of."""

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType
from starlette.responses import Response

from tenure.errors import InvalidValue
from tenure.model.dnsdata import Zone
from tenure.model.uses import ChangeZone, CreateZone, DeleteZone
from tenure.naming.hostnames import parse_name
from tenure.store.interface import Page, Reads, Seen
from tenure.surfaces.api.backing import Backing
from tenure.surfaces.api.consequences import EXAMPLE as TRIED
from tenure.surfaces.api.consequences import TriedOut, tried_on_zone
from tenure.surfaces.api.inventory import found, made, vrf_id
from tenure.surfaces.api.operations import Asked, Noun, answer, gone
from tenure.surfaces.api.schemas import (
    Change,
    Hostname,
    List,
    NameServers,
    NegativeTtl,
    Patch,
    Read,
    Reference,
    Search,
    Serial,
    Template,
    Ttl,
)
from tenure.surfaces.api.schemas import Page as PageOut

NOUN = Noun("zones")


class ZoneRead(Read):
    """Whose zone is meant, where several address spaces have one of that name."""

    vrf: Reference | None = None


class ZoneEdit(Change):
    """Whose zone is meant, where several address spaces have one of that name."""

    vrf: Reference | None = None


class ZoneList(List):
    """Filters."""

    vrf: Reference | None = None
    q: Search | None = None


class _Settings(Patch):
    ttl: Ttl | UnsetType = UNSET
    negative_ttl: NegativeTtl | UnsetType = UNSET
    name_servers: NameServers | UnsetType = UNSET
    name_template: Template | UnsetType | None = UNSET
    serial: Serial | UnsetType = UNSET


class ZoneIn(_Settings, kw_only=True):
    """A zone to make; it stays without a network or subnet that needs it."""

    name: Hostname
    vrf: Reference = "default"


class ZonePatch(_Settings):
    """What to change; `kept` says whether the zone stays without a network or subnet that needs it."""

    kept: bool | UnsetType = UNSET


def use_of(body: ZoneIn) -> CreateZone:
    """The use that a request for a zone is."""
    fields = body.changes()
    return CreateZone(name=str(fields.pop("name")), vrf=str(fields.pop("vrf")), fields=fields)


def called(name: str) -> str:
    """What a zone is called inside: with its last dot, in A-labels. An id is given back as it is."""
    if "." not in name:
        return name
    try:
        return parse_name(name if name.endswith(".") else name + ".")
    except InvalidValue:
        return name  # no zone is called so, which is what will be said of it


def known_zone(reads: Reads, name: str, vrf: str | None = None) -> Seen[Zone | None]:
    """The zone that a request means, if there is one.

    Raises:
        InvalidValue: Several address spaces have one, and the request does not say whose is meant.
    """
    wanted, of = called(name), vrf_id(reads, vrf)
    seen = reads.zone(wanted, of)
    if seen.value is None and not of:
        holders = [each.vrf for each in reads.zones(limit=1000, q=wanted).items if each.name == wanted]
        if holders:
            names = sorted(reads.called(set(holders)).values())
            raise InvalidValue(
                f"Several address spaces have a zone {wanted}: say whose with `vrf`.", parameter="vrf", allowed=names
            )
    return seen


def seen_zone(reads: Reads, name: str, vrf: str | None = None) -> Seen[Zone]:
    """The zone that a request means.

    Raises:
        NotFound: There is none.
        InvalidValue: As of `known_zone`.
    """
    seen = known_zone(reads, name, vrf)
    return Seen(found(seen.value, "zone", name), seen.head)


async def target(asked: Asked) -> str:
    """How the zone in the path of a change is named to the writer, which knows what is gone by now."""
    name = asked.path("zone")
    zone: Zone | None = (await asked.look(known_zone, name, asked.query.vrf)).value
    return called(name) if zone is None else zone.id


SHOWN = Zone(id="0a1b2c3d4e5f60718293", vrf="default", name="prod.example.", serial=17, kept=True)


def _listed(reads: Reads, query: Any) -> Page[Zone]:
    return reads.zones(query.after or "", query.limit, vrf=vrf_id(reads, query.vrf), q=query.q or "")


async def _show(backing: Backing, zones: list[Zone]) -> list[Zone]:
    await backing.names.know(vrfs={each.vrf for each in zones})
    return [msgspec.structs.replace(each, vrf=backing.names.vrfs.get(each.vrf, each.vrf)) for each in zones]


async def _stamped(asked: Asked, zone: Zone) -> Zone:
    """A zone that a change answered, with the serial that it got when that was recorded."""
    (shown,) = await _show(asked.backing, [zone])
    if asked.query.dry_run and asked.body.serial is not UNSET:
        return shown
    recorded = (await asked.backing.read(asked.backing.committed.reads.zone, zone.id)).value or zone
    return msgspec.structs.replace(shown, serial=recorded.serial, floor=recorded.floor)


@NOUN.operation(
    "POST",
    "/v1/zones",
    "Make a zone",
    name="create_zone",
    body=ZoneIn,
    example={"name": "prod.example.", "ttl": 300, "name_servers": ["ns1.example.net.", "ns2.example.net."]},
    gives={201: Zone},
    answers={201: SHOWN},
    refusals=("not_found", "conflict"),
    creates=True,
)
async def create(asked: Asked) -> Response:
    """Make a zone that stays. Networks and subnets make theirs by themselves."""
    reply = await asked.submit(use_of(asked.body))
    zone = await _stamped(asked, made(reply.answer, "zone"))
    where = f"/v1/zones/{zone.id}"
    return answer(zone, 201, revision=zone.revision, location=where, replayed=reply.replayed)


@NOUN.operation(
    "GET",
    "/v1/zones",
    "List zones",
    name="list_zones",
    query=ZoneList,
    gives={200: PageOut[Zone]},
    answers={200: PageOut([SHOWN])},
    refusals=("not_found",),
)
async def list_(asked: Asked) -> Response:
    """Forward and reverse zones, with their serials. Of an address space with secondaries also its catalog."""
    page = await asked.look(_listed, asked.query)
    return answer(PageOut(await _show(asked.backing, page.items), page.next))


@NOUN.operation(
    "GET",
    "/v1/zones/{zone}",
    "Show a zone",
    name="show_zone",
    query=ZoneRead,
    gives={200: Zone},
    answers={200: SHOWN},
    refusals=("not_found",),
)
async def show(asked: Asked) -> Response:
    """A zone by id or name."""
    seen = await asked.look(seen_zone, asked.path("zone"), asked.query.vrf)
    (zone,) = await _show(asked.backing, [seen.value])
    return answer(zone, revision=zone.revision)


@NOUN.operation(
    "PATCH",
    "/v1/zones/{zone}",
    "Change a zone",
    name="change_zone",
    query=ZoneEdit,
    body=ZonePatch,
    example={"name_template": "ip-{ip-dashed}"},
    gives={200: Zone},
    answers={200: msgspec.structs.replace(SHOWN, name_template="ip-{ip-dashed}")},
    refusals=("not_found", "conflict"),
)
async def change(asked: Asked) -> Response:
    """Change its TTLs, name servers, name template or serial, or whether it stays. Whoever follows it takes it whole.

    `serial` makes servers follow that know a later one of another primary. It must be later than the zone's own (RFC
    1982); the refusal of any other says in two steps how to get to it.
    """
    reply = await asked.submit(ChangeZone(zone=await target(asked), changes=asked.body.changes()))
    zone = await _stamped(asked, made(reply.answer, "zone"))
    return answer(zone, revision=zone.revision)


@NOUN.operation(
    "DELETE",
    "/v1/zones/{zone}",
    "Delete a zone",
    name="delete_zone",
    query=ZoneEdit,
    gives={204: None, 200: TriedOut},
    answers={200: TRIED},
    refusals=("not_found", "in_use", "conflict"),
)
async def delete(asked: Asked) -> Response:
    """Close a zone without hand-made records; one that networks or subnets need as well stays as long as they do.

    A dry run answers 200 with what would go, and why it would be refused, if it would.
    """
    use = DeleteZone(zone=await target(asked))
    if not asked.query.dry_run:
        await asked.submit(use)
        return gone()
    zone = (await asked.look(seen_zone, asked.path("zone"), asked.query.vrf)).value
    return answer(await tried_on_zone(asked, zone, use))
