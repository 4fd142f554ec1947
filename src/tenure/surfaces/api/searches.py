"""Search: anything by address, prefix, MAC, name, handle or id."""

from urllib.parse import quote

import msgspec
from starlette.responses import Response

from tenure.store.interface import Findings, Found, Seen
from tenure.surfaces.api.operations import Asked, Noun, answer
from tenure.surfaces.api.schemas import Limit, Read, Search

NOUN = Noun("search")

_PATHS = {
    "vrf": "/v1/vrfs/",
    "location": "/v1/locations/",
    "network": "/v1/networks/",
    "subnet": "/v1/subnets/",
    "range": "/v1/ranges/",
    "machine": "/v1/machines/",
    "claim": "/v1/claims/",
    "zone": "/v1/zones/",
    "token": "/v1/tokens/",
    "secondary": "/v1/secondaries/",
    "tsig_key": "/v1/tsig-keys/",
}

_BY_LABEL = {
    "address": "/v1/addresses?q=",
    "observation": "/v1/addresses?state=observed&q=",
    "interface": "/v1/search?q=",
}
"""Where to look for what has no path by its id: an address may be held in several vrfs."""


class SearchQuery(Read, kw_only=True):
    """What to look for."""

    q: Search
    limit: Limit = 100


class FoundOut(msgspec.Struct):
    """A thing that was found, and where it is."""

    kind: str
    id: str
    label: str
    url: str


class SearchOut(msgspec.Struct):
    """What the words were understood as, and what was found: exact matches first."""

    understood_as: str
    items: list[FoundOut]
    next: str | None = None


@NOUN.operation(
    "GET",
    "/v1/search",
    "Find anything",
    name="search",
    query=SearchQuery,
    gives={200: SearchOut},
    answers={
        200: SearchOut(
            "address", [FoundOut("address", "0a1b2c3d4e5f60718293", "10.0.3.65", "/v1/addresses?q=10.0.3.65")]
        )
    },
)
async def search(asked: Asked) -> Response:
    """Open things by address, prefix, MAC in any spelling, name, handle or id."""
    seen: Seen[Findings] = await asked.look(lambda reads: reads.search(asked.query.q, asked.query.limit))
    return answer(SearchOut(seen.value.understood_as, [_found_out(each) for each in seen.value.items]))


def _found_out(found: Found) -> FoundOut:
    return FoundOut(found.kind, found.id, found.label, _url(found))


def _url(found: Found) -> str:
    if found.kind == "record":
        return f"/v1/zones/{found.zone}/records/{found.id}"
    if found.kind in _PATHS:
        return _PATHS[found.kind] + found.id
    return _BY_LABEL[found.kind] + quote(found.label, safe="")
