"""TSIG keys: who may transfer zones. A secret is shown once, when its key is made; it is kept encrypted."""

import secrets
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from datetime import datetime
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta
from starlette.responses import Response

from tenure.errors import InvalidValue
from tenure.model.dnsdata import TsigKey
from tenure.model.policy import TsigAlgorithm
from tenure.model.uses import CreateTsigKey, DeleteTsigKey
from tenure.naming.hostnames import parse_name
from tenure.store.interface import Page, Reads
from tenure.surfaces.api.backing import Backing
from tenure.surfaces.api.inventory import found, made
from tenure.surfaces.api.operations import Asked, Noun, answer, gone
from tenure.surfaces.api.schemas import Hostname, Input, List, Reference
from tenure.surfaces.api.schemas import Page as PageOut

NOUN = Noun("tsig-keys")

_BYTES: Final[dict[TsigAlgorithm, int]] = {"hmac-sha256": 32, "hmac-sha512": 64}
"""As long as what the algorithm makes. Source: RFC 8945 section 8."""
_SHORTEST: Final = 16

Secret = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=1024,
        description="Base64 of at least 16 octets; left out, one is made.",
        examples=["R4SnTCwY0bO1xzOnsXxLHUdJc4CzcZ2hcT0mJ9BE2kM="],
    ),
]


class TsigKeyIn(Input):
    """A key to make; both sides call it by this name. Who signs with it sees the zones of `vrf`."""

    name: Hostname
    algorithm: TsigAlgorithm = "hmac-sha256"
    vrf: Reference | None = None
    secret: Secret | None = None


class TsigKeyOut(msgspec.Struct, kw_only=True):
    """A key, without its secret. A `vrf` of null: of the listener that is asked."""

    id: str
    name: str
    algorithm: TsigAlgorithm
    vrf: str | None
    since: datetime
    revision: int


class NewTsigKeyOut(TsigKeyOut, kw_only=True):
    """A new key. `secret`, base64, is shown this once: null in a dry run, and where a key replays the answer."""

    secret: str | None


_SHOWN: Final[dict[str, Any]] = {
    "id": "0a1b2c3d4e5f60718293",
    "name": "ns2.",
    "algorithm": "hmac-sha256",
    "vrf": None,
    "since": datetime.fromisoformat("2026-11-24T15:00:00+00:00"),
    "revision": 1,
}


async def _show(backing: Backing, keys: list[TsigKey]) -> list[dict[str, Any]]:
    """The fields of each as they are answered."""
    await backing.names.know(vrfs={each.vrf for each in keys if each.vrf is not None})
    return [
        {
            "id": each.id,
            "name": each.name,
            "algorithm": each.algorithm,
            "vrf": None if each.vrf is None else backing.names.vrfs.get(each.vrf, each.vrf),
            "since": each.since,
            "revision": each.revision,
        }
        for each in keys
    ]


def called(name: str) -> str:
    """What a key is called inside: with its last dot, in A-labels. What is no name is given back as it is."""
    try:
        return parse_name(name if name.endswith(".") else name + ".")
    except InvalidValue:
        return name


def _octets(body: TsigKeyIn) -> bytes:
    """The secret that a key is made with.

    Raises:
        InvalidValue: It is not base64, or too short to be one.
    """
    if body.secret is None:
        return secrets.token_bytes(_BYTES[body.algorithm])
    try:
        octets = b64decode(body.secret, validate=True)
    except NotBase64:
        raise InvalidValue("/secret must be base64; left out, a good one is made.", pointer="/secret") from None
    if len(octets) < _SHORTEST:
        raise InvalidValue(
            f"/secret must have at least {_SHORTEST} octets, and has {len(octets)}; left out, a good one is made.",
            pointer="/secret",
        )
    return octets


@NOUN.operation(
    "POST",
    "/v1/tsig-keys",
    "Make a TSIG key",
    name="create_tsig_key",
    body=TsigKeyIn,
    example={"name": "ns2"},
    gives={201: NewTsigKeyOut},
    answers={201: NewTsigKeyOut(**_SHOWN, secret="R4SnTCwY0bO1xzOnsXxLHUdJc4CzcZ2hcT0mJ9BE2kM=")},
    refusals=("not_found", "conflict"),
    creates=True,
)
async def create(asked: Asked) -> Response:
    """Make a key; its secret is in this answer and nowhere else."""
    body: TsigKeyIn = asked.body
    octets = _octets(body)
    sealed = await asked.backing.read(asked.backing.seal, octets)
    use = CreateTsigKey(name=body.name, algorithm=body.algorithm, sealed=sealed, vrf=body.vrf)
    reply = await asked.submit(use)
    key: TsigKey = made(reply.answer, "tsig_key")
    (fields,) = await _show(asked.backing, [key])
    shown = None if reply.replayed or asked.query.dry_run else b64encode(octets).decode("ascii")
    out = NewTsigKeyOut(**fields, secret=shown)
    return answer(out, 201, revision=key.revision, location=f"/v1/tsig-keys/{key.id}", replayed=reply.replayed)


def _listed(reads: Reads, query: List) -> Page[TsigKey]:
    return reads.tsig_keys(query.after or "", query.limit)


@NOUN.operation(
    "GET",
    "/v1/tsig-keys",
    "List TSIG keys",
    name="list_tsig_keys",
    query=List,
    gives={200: PageOut[TsigKeyOut]},
    answers={200: PageOut([TsigKeyOut(**_SHOWN)])},
)
async def list_(asked: Asked) -> Response:
    """Keys that are good, without their secrets."""
    page = await asked.look(_listed, asked.query)
    return answer(PageOut([TsigKeyOut(**each) for each in await _show(asked.backing, page.items)], page.next))


@NOUN.operation(
    "GET",
    "/v1/tsig-keys/{tsig_key}",
    "Show a TSIG key",
    name="show_tsig_key",
    gives={200: TsigKeyOut},
    answers={200: TsigKeyOut(**_SHOWN)},
    refusals=("not_found",),
)
async def show(asked: Asked) -> Response:
    """A key by name or id, without its secret."""
    name = asked.path("tsig_key")
    seen = await asked.look(lambda reads: key_named(reads, name))
    (fields,) = await _show(asked.backing, [found(seen.value, "TSIG key", name)])
    return answer(TsigKeyOut(**fields), revision=fields["revision"])


def key_named(reads: Reads, name: str) -> Any:
    """A read of a key by its id, else by its name, however it is written."""
    seen = reads.tsig_key(name)
    return seen if seen.value is not None else reads.tsig_key(called(name))


@NOUN.operation(
    "DELETE",
    "/v1/tsig-keys/{tsig_key}",
    "Delete a TSIG key",
    name="delete_tsig_key",
    gives={204: None},
    refusals=("not_found", "in_use"),
)
async def delete(asked: Asked) -> Response:
    """End a key that no secondary has: nothing signed with it is believed any more."""
    name = asked.path("tsig_key")
    key: TsigKey = found((await asked.look(lambda reads: key_named(reads, name))).value, "TSIG key", name)
    await asked.submit(DeleteTsigKey(key=key.id))
    return gone()
