"""What becomes of the blocks of a location that goes."""

from collections.abc import Iterator

from tenure.engine.space import Slice, Space
from tenure.engine.strategies.view import Step, value
from tenure.model import events as e
from tenure.model.placement import Block


def leaving(space: Space, owner: str) -> Iterator[Step]:
    """Give a location's blocks back; those in which others hold addresses stay, ownerless, until they are empty.

    Each step must be taken before the next is asked for. Cost: linear in the location's blocks.
    """
    for index in (space.borrowed, space.own):
        for block in list(index.get(owner, {}).values()):
            stays = not block.is_empty
            yield e.BlockSurrendered(block=value(space, block))
            if stays:
                yield e.BlockOwned(block=Block(space.subnet.id, block.text, None))
    area = space.areas.get(owner)
    for region in [] if area is None else list(area.pieces.values()):
        yield from _fitted(space, region)
        yield e.BlockSurrendered(block=value(space, region))


def _fitted(space: Space, region: Slice) -> Iterator[Step]:
    """Host blocks that reach beyond a wider block are halved until none does.

    When their owner's wider blocks have gone, these two may be others': what is cut lies in one of them.
    """
    for edge in (region.first, region.last):
        while (block := space.host_block_at(edge)) is not None and block.size > region.size:
            yield e.BlockSurrendered(block=value(space, block))
            size, length = block.size // 2, block.length + 1
            for first in (block.first, block.first + size):
                if space.held_between(first, first + size - 1) and (first, length) not in space.blocks:
                    yield e.BlockOwned(block=value(space, block, first, length))


def emptied(space: Space, number: int) -> Iterator[e.BlockSurrendered]:
    """After an address was released: a loan, and a block whose owner has gone, go back with their last address."""
    block = space.block_at(number)
    while block is not None and block.is_empty and (block.owner is None or block.lender is not None):
        lender = block.lender
        yield e.BlockSurrendered(block=value(space, block))
        block = lender
