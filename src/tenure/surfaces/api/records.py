"""Records that people make. Those of addresses follow from who holds what, and are in the zone's file."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType
from starlette.responses import Response

from tenure.errors import InvalidValue
from tenure.model.dnsdata import Zone, ZoneRecord
from tenure.model.policy import RecordType
from tenure.model.uses import ChangeRecord, CreateRecord, DeleteRecord
from tenure.naming.hostnames import display, parse_hostname
from tenure.naming.rdata import LONGEST_TEXT
from tenure.store.interface import Page, Reads, Seen
from tenure.surfaces.api.inventory import found, made
from tenure.surfaces.api.operations import Asked, Noun, answer, gone
from tenure.surfaces.api.schemas import PRINTABLE, Input, List, Patch, Reference, Search
from tenure.surfaces.api.schemas import Page as PageOut
from tenure.surfaces.api.zones import ZoneEdit, ZoneRead, seen_zone, target

NOUN = Noun("records")

Owner = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=1012,
        pattern=PRINTABLE,
        description="a name relative to the zone, or absolute with its dot; `@` is the zone itself",
        examples=["www"],
    ),
]
Data = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=LONGEST_TEXT,
        pattern=r"^[^\x00-\x08\x0a-\x1f\x7f]+(?![\s\S])",
        description="what a zone file has after the type, on one line",
        examples=["10 mail.prod.example."],
    ),
]
RecordTtl = Annotated[int, Meta(ge=0, le=2**31 - 1, description="Seconds; null follows the zone.", examples=[3600])]


class RecordIn(Input):
    """A record to make. Names in `data` are relative to the zone unless they end with a dot."""

    name: Owner
    type: RecordType
    data: Data
    ttl: RecordTtl | None = None


class RecordPatch(Patch):
    """What to change."""

    data: Data | UnsetType = UNSET
    ttl: RecordTtl | UnsetType | None = UNSET


class RecordList(List):
    """Filters: `q` is what a name begins with. `vrf` says whose zone is meant, where several have one of that name."""

    vrf: Reference | None = None
    type: RecordType | None = None
    q: Search | None = None


class RecordOut(msgspec.Struct, kw_only=True):
    """A record. `display` is its name in Unicode, null where that is the same; a `ttl` of null follows the zone."""

    id: str
    zone: str
    name: str
    display: str | None
    type: RecordType
    data: str
    ttl: int | None
    revision: int


_SHOWN = RecordOut(
    id="4f1d2c3b4a5968778695",
    zone="prod.example.",
    name="prod.example.",
    display=None,
    type="MX",
    data="10 mail.prod.example.",
    ttl=None,
    revision=1,
)


def use_of(body: RecordIn, zone: str) -> CreateRecord:
    """The use that a request for a record of a zone is."""
    return CreateRecord(zone=zone, name=body.name, type=body.type, data=body.data, ttl=body.ttl)


def _out(record: ZoneRecord, zone: str) -> RecordOut:
    shown = display(record.owner)
    return RecordOut(
        id=record.id,
        zone=zone,
        name=record.owner,
        display=None if shown == record.owner else shown,
        type=record.type,
        data=record.data,
        ttl=record.ttl,
        revision=record.revision,
    )


async def _shown(asked: Asked, record: ZoneRecord) -> RecordOut:
    zone: Zone | None = (await asked.backing.read(asked.backing.committed.reads.zone, record.zone)).value
    return _out(record, record.zone if zone is None else zone.name)


def _listed(reads: Reads, name: str, query: RecordList) -> Page[RecordOut]:
    zone = seen_zone(reads, name, query.vrf).value
    words = _spelled(query.q or "")
    page = reads.records(query.after or "", query.limit, zone=zone.id, type_=query.type or "", q=words)
    return Page([_out(each, zone.name) for each in page.items], page.next, page.head)


def _spelled(words: str) -> str:
    """The beginning of a name as names are kept; what can be none begins none."""
    if words.isascii():
        return words.lower()
    try:
        return parse_hostname(words)
    except InvalidValue:
        return words


def _seen(reads: Reads, name: str, vrf: str | None, record: str) -> Seen[RecordOut]:
    zone = seen_zone(reads, name, vrf).value
    seen = reads.record(record)
    known = seen.value if seen.value is not None and seen.value.zone == zone.id else None
    return Seen(_out(found(known, "record", record), zone.name), seen.head)


async def _named(asked: Asked) -> RecordOut:
    """The record in the path.

    Raises:
        NotFound: The zone has none with this id, or there is no such zone.
    """
    record: RecordOut = (await asked.look(_seen, asked.path("zone"), asked.query.vrf, asked.path("record"))).value
    return record


@NOUN.operation(
    "POST",
    "/v1/zones/{zone}/records",
    "Make a record",
    name="create_record",
    query=ZoneEdit,
    body=RecordIn,
    example={"name": "@", "type": "MX", "data": "10 mail"},
    gives={201: RecordOut},
    answers={201: _SHOWN},
    refusals=("not_found", "conflict"),
    creates=True,
)
async def create(asked: Asked) -> Response:
    """Make a record beside the automatic ones. No allocation, lease or release ever touches it.

    Names may have underscores and a leading `*`. One name's records of one type have one TTL, and where an address
    has a record of that name and type, that is the zone's. Name servers of the zone itself are the zone's setting.
    """
    reply = await asked.submit(use_of(asked.body, await target(asked)))
    record = await _shown(asked, made(reply.answer, "record"))
    where = f"/v1/zones/{made(reply.answer, 'record').zone}/records/{record.id}"
    return answer(record, 201, revision=record.revision, location=where, replayed=reply.replayed)


@NOUN.operation(
    "GET",
    "/v1/zones/{zone}/records",
    "List records",
    name="list_records",
    query=RecordList,
    gives={200: PageOut[RecordOut]},
    answers={200: PageOut([_SHOWN])},
    refusals=("not_found",),
)
async def list_(asked: Asked) -> Response:
    """The records of a zone that people made. `GET …/file` has all."""
    page = await asked.look(_listed, asked.path("zone"), asked.query)
    return answer(PageOut(page.items, page.next))


@NOUN.operation(
    "GET",
    "/v1/zones/{zone}/records/{record}",
    "Show a record",
    name="show_record",
    query=ZoneRead,
    gives={200: RecordOut},
    answers={200: _SHOWN},
    refusals=("not_found",),
)
async def show(asked: Asked) -> Response:
    """A record by its id."""
    record = await _named(asked)
    return answer(record, revision=record.revision)


@NOUN.operation(
    "PATCH",
    "/v1/zones/{zone}/records/{record}",
    "Change a record",
    name="change_record",
    query=ZoneEdit,
    body=RecordPatch,
    example={"data": "20 mail"},
    gives={200: RecordOut},
    answers={200: _SHOWN},
    refusals=("not_found", "conflict"),
)
async def change(asked: Asked) -> Response:
    """Change what a record says, or for how long it may be remembered."""
    known = await _named(asked)
    reply = await asked.submit(ChangeRecord(record=known.id, changes=asked.body.changes()))
    record = _out(made(reply.answer, "record"), known.zone)
    return answer(record, revision=record.revision)


@NOUN.operation(
    "DELETE",
    "/v1/zones/{zone}/records/{record}",
    "Delete a record",
    name="delete_record",
    query=ZoneEdit,
    gives={204: None},
    refusals=("not_found", "conflict"),
)
async def delete(asked: Asked) -> Response:
    """Remove this record and no other; what an address says beside it stays."""
    await asked.submit(DeleteRecord(record=(await _named(asked)).id))
    return gone()
