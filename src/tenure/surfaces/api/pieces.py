"""Many things in one call: each with its own result, or all together; in pieces, so that others come between."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeVar

from starlette.responses import Response

from tenure.errors import InvalidValue, KeyReused, TenureError
from tenure.model.answers import Answer, Answers, Failure
from tenure.model.uses import Submission, Together, Use
from tenure.surfaces.api.operations import Asked, answer
from tenure.surfaces.api.problems import REFUSALS, InternalError, Refusal, refusal

T = TypeVar("T")

log = logging.getLogger(__name__)

MOST: Final = 10_000
MOST_ATOMIC: Final = 1_000
_CHUNK: Final = 256
"""Items that the writer gets in one piece, so that DHCP goes between them."""
_AT_ONCE: Final = 4
"""Pieces of one batch that wait for the writer: its queue is for others too."""

UseOf = Callable[[Any, str], Use]
"""The use that an item is; the text leads the pointer of what it raises."""
Show = Callable[[Asked, list[Any]], Awaitable[list[Any]]]
"""What came of each item as it is answered: of an answer of the writer, or a refusal."""


async def each(asked: Asked, things: Sequence[Any], where: str, use_of: UseOf, show: Show, *, atomic: bool) -> Response:
    """Have every item decided: by itself, in order, or `atomic`, all or none.

    Args:
        where: JSON pointer of the list.

    Raises:
        InvalidValue: An atomic batch of more than a thousand.
        KeyReused: The idempotency key came before with another body.
        TenureError: Of an atomic batch: what its first refused item met.
    """
    if atomic:
        return await _together(asked, things, where, use_of, show)
    gate = asyncio.Semaphore(_AT_ONCE)

    async def chunk(first: int) -> list[Any]:
        async with gate:
            return await show(asked, await _decided(asked, things[first : first + _CHUNK], first, use_of))

    chunks = await asyncio.gather(*(chunk(first) for first in range(0, len(things), _CHUNK)), return_exceptions=True)
    items: list[Any] = []
    for found in chunks:
        if isinstance(found, BaseException):
            raise found
        items += found
    return answer({"items": items})


async def _decided(asked: Asked, things: Sequence[Any], first: int, use_of: UseOf) -> list[Answer | Refusal]:
    refused: dict[int, Refusal] = {}
    submissions: list[Submission] = []
    for place, thing in enumerate(things):
        try:
            submissions.append(asked.submission(use_of(thing, ""), item=first + place))
        except REFUSALS as error:
            refused[place] = error
        except Exception as error:  # a bug that one item met is no reason to refuse the others
            log.error("an item of a batch failed", exc_info=error)
            refused[place] = InternalError("A bug of ours stopped this item; it is logged.")
    try:
        answers = [reply.answer for reply in await asked.submit_all(submissions)]
    except TenureError as error:  # the whole chunk met it; the others go on
        return [refused.get(place, error) for place in range(len(things))]
    for one in answers:
        if isinstance(one, Failure) and one.code == KeyReused.code:
            raise refusal(one)  # whoever used the key first has it: of this batch nothing was done
    left = iter(answers)
    return [refused.get(place) or next(left) for place in range(len(things))]


async def _together(asked: Asked, things: Sequence[Any], where: str, use_of: UseOf, show: Show) -> Response:
    if len(things) > MOST_ATOMIC:
        raise InvalidValue(f"An atomic batch has at most {MOST_ATOMIC:,} items, not {len(things):,}.", pointer=where)
    uses = tuple(use_of(thing, f"{where}/{place}") for place, thing in enumerate(things))
    reply = await asked.submit(Together(uses=uses), where)
    assert isinstance(reply.answer, Answers)
    return answer({"items": await show(asked, list(reply.answer.items))}, replayed=reply.replayed)
