"""Ranges: stretches of a subnet that are set aside."""

from typing import Any

from msgspec import UNSET, UnsetType

from tenure.model.addressing import Range
from tenure.model.policy import RangeRole
from tenure.model.uses import ChangeRange, CreateRange, DeleteRange
from tenure.net.addresses import parse_address
from tenure.net.rangeset import RangeSet
from tenure.store.interface import Page, Reads
from tenure.store.reads import Extent
from tenure.surfaces.api.backing import Backing
from tenure.surfaces.api.consequences import ConsequencesOut, Loss, RefusalOut, stretches
from tenure.surfaces.api.inventory import Shelf, id_named
from tenure.surfaces.api.operations import Asked, Noun
from tenure.surfaces.api.schemas import AddressText, Input, List, Note, Patch, Reference

NOUN = Noun("ranges")


class RangeIn(Input):
    """A range to set aside; both ends are in it."""

    start: AddressText
    end: AddressText
    role: RangeRole
    note: Note = ""


class RangePatch(Patch):
    """What to change."""

    start: AddressText | UnsetType = UNSET
    end: AddressText | UnsetType = UNSET
    role: RangeRole | UnsetType = UNSET
    note: Note | UnsetType = UNSET


class RangeList(List):
    """Filters."""

    subnet: Reference | None = None


def use_of(body: RangeIn, subnet: str) -> CreateRange:
    """The use that a request for a range is."""
    return CreateRange(subnet=subnet, start=body.start, end=body.end, role=body.role, note=body.note)


def _create(asked: Asked) -> CreateRange:
    return use_of(asked.body, asked.path("subnet"))


def _listed(reads: Reads, query: Any, path: dict[str, str]) -> Page[Range]:
    name = path.get("subnet") or query.subnet
    subnet = id_named(reads.subnet(name), "subnet", name) if name else ""
    return reads.ranges(query.after or "", query.limit, subnet=subnet)


async def _show(backing: Backing, ranges: list[Range]) -> list[Range]:
    return ranges


class RangeOut(Range, frozen=True, kw_only=True):
    """A range; of a dry run that moves its ends, also what would go, and why it would be refused, if it would."""

    consequences: ConsequencesOut | UnsetType = UNSET
    refused: RefusalOut | UnsetType | None = UNSET


def _loss(reads: Reads, range_: Range, changes: dict[str, object] | None) -> Loss | None:
    """What is held where a range is, or where it comes to be or ceases to be when its ends move."""
    old = _covered(range_.start, range_.end)
    if changes is None:
        moved = old
    elif {"start", "end"} & changes.keys():
        new = _covered(str(changes.get("start", range_.start)), str(changes.get("end", range_.end)))
        moved = (old - new) | (new - old)
    else:
        return None
    version = parse_address(range_.start).version
    return Loss(extent=Extent(subnet=range_.subnet, stretches=stretches(version, moved)))


def _covered(start: str, end: str) -> RangeSet:
    first, last = int(parse_address(start, "/start")), int(parse_address(end, "/end"))
    return RangeSet.of((first, last)) if first <= last else RangeSet.of()


Shelf(
    noun=NOUN,
    one="range",
    path="/v1/ranges",
    into="/v1/subnets/{subnet}/ranges",
    everywhere="/v1/ranges",
    body=RangeIn,
    patch=RangePatch,
    out=Range,
    query=RangeList,
    example={"start": "10.0.3.200", "end": "10.0.3.250", "role": "dynamic", "note": "visitors"},
    patch_example={"end": "10.0.3.240"},
    shown=Range(
        id="0a1b2c3d4e5f60718293",
        subnet="4f1d2c3b4a5968778695",
        start="10.0.3.200",
        end="10.0.3.250",
        role="dynamic",
        note="visitors",
    ),
    create=_create,
    change=lambda asked, name: ChangeRange(range=name, changes=asked.body.changes()),
    delete=lambda name: DeleteRange(range=name),
    seen=lambda reads, name: reads.range(name),
    listed=_listed,
    show=_show,
    refusals=("overlap", "in_use"),
    loss=_loss,
    tried=RangeOut,
).offer()
