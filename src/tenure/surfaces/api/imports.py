"""Import: objects of many kinds in one transaction, all or none."""

import asyncio
import typing
from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from starlette.responses import Response

from tenure.errors import InvalidValue
from tenure.model.answers import Answer, Answers, Holding, MachineWithInterfaces, Made
from tenure.model.policy import LocationKind, MachineKind
from tenure.model.uses import Together, Use
from tenure.surfaces.api import claims, locations, machines, networks, ranges, records, subnets, vrfs, zones
from tenure.surfaces.api.bodies import BATCH_LIMIT, decode
from tenure.surfaces.api.claims import ClaimOut
from tenure.surfaces.api.operations import Asked, Noun, answer
from tenure.surfaces.api.schemas import Input, Reference
from tenure.surfaces.api.shape import LATER

NOUN = Noun("import")

MOST = 10_000
_PAUSE = 256
"""Items after which others get a turn."""


class VrfItem(vrfs.VrfIn, tag_field="kind", tag="vrf"):
    """An address space."""


class NetworkItem(networks.NetworkIn, tag_field="kind", tag="network"):
    """A network."""


class SubnetItem(subnets.SubnetIn, tag_field="kind", tag="subnet", kw_only=True):
    """A subnet of `network`."""

    network: Reference


class RangeItem(ranges.RangeIn, tag_field="kind", tag="range", kw_only=True):
    """A range of `subnet`: its id, or its prefix."""

    subnet: Reference


class ClaimItem(claims.ClaimIn, tag_field="kind", tag="claim"):
    """A claim."""


class ZoneItem(zones.ZoneIn, tag_field="kind", tag="zone"):
    """A zone."""


class RecordItem(records.RecordIn, tag_field="kind", tag="record", kw_only=True):
    """A record of `zone`: its id, or its name."""

    zone: Reference


LATER[NetworkItem] = LATER[networks.NetworkIn]

SHAPES: dict[str, Any] = {
    "vrf": VrfItem,
    "network": NetworkItem,
    "subnet": SubnetItem,
    "range": RangeItem,
    "claim": ClaimItem,
    "zone": ZoneItem,
    "record": RecordItem,
    **dict.fromkeys(typing.get_args(LocationKind), locations.LocationIn),
    **dict.fromkeys(typing.get_args(MachineKind), machines.MachineIn),
}
"""What an item of each kind is: locations and machines have a `kind` of their own, which tells them apart here."""


class ImportIn(Input):
    """Objects as they are made one by one, each with its `kind`; each may name those before it."""

    items: Annotated[list[dict[str, Any]], Meta(max_length=MOST)]


class _RawImport(Input):
    items: Annotated[list[msgspec.Raw], Meta(max_length=MOST)]


class _Kind(msgspec.Struct):
    kind: str


class ImportedOut(msgspec.Struct, omit_defaults=True):
    """What was made of one item."""

    status: int
    kind: str
    id: str
    claim: ClaimOut | None = None


class ImportOut(msgspec.Struct):
    """What was made, in the order of the items."""

    items: list[ImportedOut]


def _vrf(item: VrfItem, where: str) -> Use:
    return vrfs.use_of(item)


def _network(item: NetworkItem, where: str) -> Use:
    return networks.use_of(item)


def _subnet(item: SubnetItem, where: str) -> Use:
    return subnets.use_of(item, item.network)


def _range(item: RangeItem, where: str) -> Use:
    return ranges.use_of(item, item.subnet)


def _zone(item: ZoneItem, where: str) -> Use:
    return zones.use_of(item)


def _record(item: RecordItem, where: str) -> Use:
    return records.use_of(item, zones.called(item.zone))


def _location(item: locations.LocationIn, where: str) -> Use:
    return locations.use_of(item)


_USES: dict[Any, Callable[[Any, str], Use]] = {
    VrfItem: _vrf,
    NetworkItem: _network,
    SubnetItem: _subnet,
    RangeItem: _range,
    ClaimItem: claims.use_of,
    ZoneItem: _zone,
    RecordItem: _record,
    locations.LocationIn: _location,
    machines.MachineIn: machines.use_of,
}
_DECODERS = {shape: msgspec.json.Decoder(shape) for shape in _USES}
_KIND = msgspec.json.Decoder(_Kind)


@NOUN.operation(
    "POST",
    "/v1/import",
    "Import many objects at once",
    name="import_objects",
    body=ImportIn,
    decoded=_RawImport,
    example={
        "items": [
            {"kind": "network", "name": "prod", "domain": "prod.example."},
            {"kind": "subnet", "network": "prod", "cidr": "10.0.3.0/24", "gateway": "10.0.3.1"},
            {"kind": "host", "name": "compute-7"},
            {"kind": "claim", "network": "prod", "address": "10.0.3.65", "hostname": "vm-17"},
        ]
    },
    gives={200: ImportOut},
    answers={200: ImportOut([ImportedOut(201, "network", "0a1b2c3d4e5f60718293")])},
    refusals=("not_found", "conflict", "already_allocated", "overlap", "in_use", "exhausted"),
    creates=True,
    limit=BATCH_LIMIT,
)
async def import_objects(asked: Asked) -> Response:
    """Make up to 10,000 objects in one transaction: all, or none and the pointer of the first that is refused."""
    uses, kinds = [], []
    for place, raw in enumerate(asked.body.items):
        kind, use = _use_of(bytes(raw), f"/items/{place}")
        kinds.append(kind)
        uses.append(use)
        if place % _PAUSE == _PAUSE - 1:
            await asyncio.sleep(0)
    reply = await asked.submit(Together(uses=tuple(uses)), "/items")
    assert isinstance(reply.answer, Answers)
    items = await _imported(asked, kinds, reply.answer.items)
    return answer(ImportOut(items), replayed=reply.replayed)


def _use_of(raw: bytes, where: str) -> tuple[str, Use]:
    kind = decode(raw, _KIND, _Kind, where).kind
    if kind not in SHAPES:
        raise InvalidValue(
            f"{where}/kind must be one of {', '.join(SHAPES)}.", pointer=f"{where}/kind", allowed=list(SHAPES)
        )
    shape = SHAPES[kind]
    try:
        return kind, _USES[shape](decode(raw, _DECODERS[shape], shape, where), where)
    except InvalidValue as error:
        raise _inside(error, where) from None


def _inside(error: InvalidValue, where: str) -> InvalidValue:
    pointer = str(error.facts.get("pointer", ""))
    if not pointer.startswith(where):
        error.facts["pointer"] = where + pointer
    return error


async def _imported(asked: Asked, kinds: list[str], results: tuple[Answer, ...]) -> list[ImportedOut]:
    shown = iter(await claims.shown(asked, [each for each in results if isinstance(each, Holding)]))
    items = []
    for kind, result in zip(kinds, results, strict=True):
        if isinstance(result, Holding):
            items.append(ImportedOut(claims.status_of(result), kind, result.claim.id, next(shown)))
        elif isinstance(result, MachineWithInterfaces):
            items.append(ImportedOut(201, kind, result.machine.id))
        else:
            assert isinstance(result, Made)
            items.append(ImportedOut(201, kind, _made(result).id))
    return items


def _made(result: Made) -> Any:
    things = (getattr(result, name) for name in result.__struct_fields__)
    return next(thing for thing in things if thing is not None)
