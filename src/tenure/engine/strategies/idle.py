"""What goes back after a while, because nobody uses it: empty blocks, halves of blocks, and space of racks and sites.

A place keeps what it has left longest: a host that is idle for some minutes,
or a rack, finds its last block again, and no route changes.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice, takewhile

from tenure.engine.areas import Slice
from tenure.engine.space import Space
from tenure.engine.strategies.view import Step, value
from tenure.model import events as e

GRACE = timedelta(minutes=15)
"""So long a place keeps what it does not use while it has other space in the subnet."""

LAST_GRACE = timedelta(hours=1)
"""So long it keeps the last that it has there."""

_LOOKED_AT = 256


def blocks(space: Space, now: datetime) -> Iterator[Step]:
    """The host blocks to give back, or to halve, at `now`.

    Each step must be taken before the next is asked for.

    Cost: a look at 256 blocks at most. What more is due comes later, but when it is the last of its owner's, or those
    before it are, within an hour.
    """
    due = takewhile(lambda block: _since(block.emptied, GRACE, now), space.empties.values())
    for block in list(islice(due, _LOOKED_AT)):
        if not _is_last(space, block) or _since(block.emptied, LAST_GRACE, now):
            yield e.BlockSurrendered(block=value(space, block))
    noted = takewhile(lambda entry: _since(entry[1], GRACE, now), space.slack.items())
    for key, _ in list(islice(noted, _LOOKED_AT)):
        del space.slack[key]  # it is noted again when more is released
        slack = space.blocks.get(key)
        if slack is not None and space.has_slack(slack) and not space.held_between(*_upper_half(slack)):
            yield e.BlockResized(before=value(space, slack), block=value(space, slack, slack.first, slack.length + 1))


def wider(space: Space, now: datetime) -> Iterator[Step]:
    """The blocks of racks, sites and regions to give back at `now`; else as `blocks`."""
    due = takewhile(lambda entry: _since(entry[1], GRACE, now), space.idle.items())
    for key, since in list(islice(due, _LOOKED_AT)):
        region = space.regions[key]
        if not space.is_idle(region):
            del space.idle[key]
        elif len(space.areas[region.owner].pieces) > 1 or _since(since, LAST_GRACE, now):
            yield e.BlockSurrendered(block=value(space, region))


def _since(then: datetime | None, wait: timedelta, now: datetime) -> bool:
    return then is not None and then + wait <= now


def _is_last(space: Space, block: Slice) -> bool:
    return block.owner is not None and block.lender is None and len(space.own[block.owner]) == 1


def _upper_half(block: Slice) -> tuple[int, int]:
    return block.first + block.size // 2, block.last
