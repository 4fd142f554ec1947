"""Blocks: which location owns which slice of a subnet, with its use."""

import msgspec
from starlette.responses import Response

from tenure.model.policy import BlockKind
from tenure.store.interface import OwnedBlock, Page, Reads
from tenure.surfaces.api.inventory import location_id, network_id
from tenure.surfaces.api.operations import Asked, Noun, answer
from tenure.surfaces.api.schemas import List, Reference
from tenure.surfaces.api.schemas import Page as PageOut

NOUN = Noun("blocks")


class BlockList(List):
    """Filters."""

    network: Reference | None = None
    location: Reference | None = None


class BlockOut(msgspec.Struct):
    """A block; `owner` is a location, empty for claims without a host, or null where its owner has gone.

    `kind` is the level it is of: hosts' blocks are cut from racks', and those from sites' and regions'.
    """

    block: str
    subnet: str
    owner: str | None
    kind: BlockKind
    in_use: int


def _listed(reads: Reads, query: BlockList) -> Page[OwnedBlock]:
    network, location = network_id(reads, query.network), location_id(reads, query.location)
    return reads.blocks(query.after or "", query.limit, network=network, location=location)


@NOUN.operation(
    "GET",
    "/v1/blocks",
    "List blocks",
    name="list_blocks",
    query=BlockList,
    gives={200: PageOut[BlockOut]},
    answers={200: PageOut([BlockOut("10.0.3.64/28", "0a1b2c3d4e5f60718293", "compute-7", "host", 3)])},
    refusals=("not_found",),
)
async def list_(asked: Asked) -> Response:
    """Who owns which block, and how many of its addresses are held; hosts' blocks are cut from those of kind `rack`."""
    page = await asked.look(_listed, asked.query)
    names = asked.backing.names
    await names.know(locations={each.block.owner for each in page.items if each.block.owner})
    items = [_block_out(each, names.locations) for each in page.items]
    return answer(PageOut(items, page.next))


def _block_out(owned: OwnedBlock, names: dict[str, str]) -> BlockOut:
    block = owned.block
    owner = None if block.owner is None else names.get(block.owner, block.owner)
    return BlockOut(block.cidr, block.subnet, owner, block.kind, owned.in_use)
