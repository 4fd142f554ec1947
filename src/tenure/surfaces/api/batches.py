"""Many claims, or many releases, in one call."""

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from starlette.responses import Response

from tenure.errors import TenureError
from tenure.model.answers import Answer, Failure, Holding
from tenure.model.uses import ClaimAddresses, ReleaseClaim
from tenure.surfaces.api.bodies import BATCH_LIMIT, decode
from tenure.surfaces.api.claims import BOUND, EXAMPLE, RELEASED, ClaimIn, ClaimOut, ReleaseIn, shown, status_of, use_of
from tenure.surfaces.api.operations import Asked, Noun
from tenure.surfaces.api.pieces import MOST, each
from tenure.surfaces.api.problems import HttpError, Problem, Refusal, problem_of
from tenure.surfaces.api.schemas import Input

NOUN = Noun("claims")


class BatchIn(Input):
    """Claims to make, up to 10,000; each has its own result. `atomic`: all or none, up to 1,000."""

    claims: Annotated[list[ClaimIn], Meta(max_length=MOST)]
    atomic: bool = False


class ReleasesIn(Input):
    """Claims to release, up to 10,000; each has its own result. `atomic`: all or none, up to 1,000."""

    releases: Annotated[list[ReleaseIn], Meta(max_length=MOST)]
    atomic: bool = False


class _RawClaims(Input):
    claims: Annotated[list[msgspec.Raw], Meta(max_length=MOST)]
    atomic: bool = False


class _RawReleases(Input):
    releases: Annotated[list[msgspec.Raw], Meta(max_length=MOST)]
    atomic: bool = False


class ItemOut(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What came of one item: a claim, or a problem."""

    status: int
    claim: ClaimOut | None = None
    problem: Problem | None = None


class _Item(msgspec.Struct, kw_only=True, omit_defaults=True):
    status: int
    claim: ClaimOut | None = None
    problem: dict[str, Any] | None = None


class BatchOut(msgspec.Struct):
    """Results in the order of the items."""

    items: list[ItemOut]


_ANSWER = BatchOut([ItemOut(status=201, claim=BOUND)])


@NOUN.operation(
    "POST",
    "/v1/claims/batch",
    "Claim many addresses",
    body=BatchIn,
    decoded=_RawClaims,
    example={"claims": [EXAMPLE], "atomic": False},
    gives={200: BatchOut},
    answers={200: _ANSWER},
    refusals=("not_found", "conflict", "already_allocated", "exhausted"),
    creates=True,
    limit=BATCH_LIMIT,
)
async def create_many(asked: Asked) -> Response:
    """Make up to 10,000 claims. Each item has its own result or problem, in order; `atomic` is all or nothing.

    In a dry run items see what those before them would do, within 256 at a time, and within an `atomic` batch.
    """
    return await each(asked, asked.body.claims, "/claims", _claim_of, _items, atomic=asked.body.atomic)


@NOUN.operation(
    "POST",
    "/v1/claims/release-batch",
    "Release many claims",
    body=ReleasesIn,
    decoded=_RawReleases,
    example={"releases": [{"id": "4f1d2c3b4a5968778695"}], "atomic": False},
    gives={200: BatchOut},
    answers={200: BatchOut([ItemOut(status=200, claim=RELEASED)])},
    refusals=("not_found", "conflict"),
    creates=True,
    limit=BATCH_LIMIT,
)
async def release_many(asked: Asked) -> Response:
    """Release up to 10,000 claims. Each item has its own result or problem, in order; `atomic` is all or nothing."""
    return await each(asked, asked.body.releases, "/releases", _release_of, _items, atomic=asked.body.atomic)


_CLAIM = msgspec.json.Decoder(ClaimIn)
_RELEASE = msgspec.json.Decoder(ReleaseIn)


def _claim_of(raw: msgspec.Raw, where: str) -> ClaimAddresses:
    return use_of(decode(bytes(raw), _CLAIM, ClaimIn, where), where)


def _release_of(raw: msgspec.Raw, where: str) -> ReleaseClaim:
    body = decode(bytes(raw), _RELEASE, ReleaseIn, where)
    return ReleaseClaim(claim=body.id, handle=body.handle, project=body.project)


async def _items(asked: Asked, results: list[Any]) -> list["_Item"]:
    claims = iter(await shown(asked, [each for each in results if isinstance(each, Holding)]))
    creating = asked.operation.body is BatchIn
    return [_item(each, claims, creating) for each in results]


def _item(result: Answer | Refusal, claims: Iterator[ClaimOut], creating: bool) -> "_Item":
    if isinstance(result, TenureError | HttpError | Failure):
        problem = problem_of(result)
        return _Item(status=problem["status"], problem=problem)
    assert isinstance(result, Holding)
    return _Item(status=status_of(result) if creating else 200, claim=next(claims))
