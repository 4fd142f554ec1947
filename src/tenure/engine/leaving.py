"""What becomes of the blocks of a location that goes."""

from collections.abc import Iterator

from tenure.engine.space import Space
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
        yield e.BlockSurrendered(block=value(space, region))


def emptied(space: Space, number: int) -> Iterator[e.BlockSurrendered]:
    """After an address was released: a loan, and a block whose owner has gone, go back with their last address."""
    block = space.block_at(number)
    while block is not None and block.is_empty and (block.owner is None or block.lender is not None):
        lender = block.lender
        yield e.BlockSurrendered(block=value(space, block))
        block = lender
