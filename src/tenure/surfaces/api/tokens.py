"""Tokens: who may ask. A secret is shown once, when its token is made; only its SHA-256 is kept."""

from datetime import datetime

import msgspec
from starlette.responses import Response

from tenure.model.access import Token
from tenure.model.answers import Made
from tenure.model.policy import Role
from tenure.model.uses import CreateToken, RevokeToken
from tenure.service.access import digest_of, fresh_secret
from tenure.store.interface import Page, Reads
from tenure.surfaces.api.inventory import found
from tenure.surfaces.api.operations import Asked, Noun, answer, gone
from tenure.surfaces.api.schemas import Input, List, Name
from tenure.surfaces.api.schemas import Page as PageOut
from tenure.surfaces.api.shape import LATER

NOUN = Noun("tokens")


class TokenIn(Input):
    """A token to make."""

    name: Name
    role: Role


LATER[TokenIn] = frozenset({"project", "expires"})


class TokenOut(msgspec.Struct, kw_only=True):
    """A token, without its secret."""

    id: str
    name: str
    role: Role
    since: datetime
    revision: int


class NewTokenOut(TokenOut, kw_only=True):
    """A new token. `token` is its secret, shown this once: null in a dry run, and where a key replays the answer."""

    token: str | None


_ID = "0a1b2c3d4e5f60718293"
_SINCE = datetime.fromisoformat("2026-11-24T15:00:00+00:00")
_SHOWN = TokenOut(id=_ID, name="ci", role="admin", since=_SINCE, revision=1)


def _out(token: Token) -> TokenOut:
    return TokenOut(id=token.id, name=token.name, role=token.role, since=token.since, revision=token.revision)


@NOUN.operation(
    "POST",
    "/v1/tokens",
    "Make a token",
    name="create_token",
    body=TokenIn,
    example={"name": "ci", "role": "admin"},
    gives={201: NewTokenOut},
    answers={201: NewTokenOut(id=_ID, name="ci", role="admin", since=_SINCE, revision=1, token="tenure_3q2-7w…")},
    refusals=("conflict",),
    creates=True,
)
async def create(asked: Asked) -> Response:
    """Make a token; its secret is in this answer and nowhere else."""
    secret = fresh_secret()
    reply = await asked.submit(CreateToken(name=asked.body.name, role=asked.body.role, digest=digest_of(secret)))
    assert isinstance(reply.answer, Made)
    token = reply.answer.token
    assert token is not None
    shown = None if reply.replayed or asked.query.dry_run else secret
    out = NewTokenOut(
        id=token.id, name=token.name, role=token.role, since=token.since, revision=token.revision, token=shown
    )
    return answer(out, 201, revision=token.revision, location=f"/v1/tokens/{token.id}", replayed=reply.replayed)


def _listed(reads: Reads, query: List) -> Page[Token]:
    return reads.tokens(query.after or "", query.limit)


@NOUN.operation(
    "GET",
    "/v1/tokens",
    "List tokens",
    name="list_tokens",
    query=List,
    gives={200: PageOut[TokenOut]},
    answers={200: PageOut([_SHOWN])},
)
async def list_(asked: Asked) -> Response:
    """Open tokens, without their secrets."""
    page = await asked.look(_listed, asked.query)
    return answer(PageOut([_out(each) for each in page.items], page.next))


@NOUN.operation(
    "GET",
    "/v1/tokens/{token}",
    "Show a token",
    name="show_token",
    gives={200: TokenOut},
    answers={200: _SHOWN},
    refusals=("not_found",),
)
async def show(asked: Asked) -> Response:
    """A token by name or id, without its secret."""
    name = asked.path("token")
    token = found((await asked.look(lambda reads: reads.token(name))).value, "token", name)
    return answer(_out(token), revision=token.revision)


@NOUN.operation(
    "DELETE",
    "/v1/tokens/{token}",
    "Revoke a token",
    name="delete_token",
    gives={204: None},
    refusals=("not_found", "conflict"),
)
async def delete(asked: Asked) -> Response:
    """Revoke a token at once."""
    await asked.submit(RevokeToken(token=asked.path("token")))
    asked.backing.tokens.forget()
    return gone()
