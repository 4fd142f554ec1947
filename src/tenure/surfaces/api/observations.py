"""Observations: what a scanner, a switch or a person saw in use."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from starlette.responses import Response

from tenure.model.answers import Observed, Sight
from tenure.model.observed import Observation
from tenure.model.uses import ObserveAddresses, Sighting
from tenure.net.addresses import parse_address
from tenure.net.identifiers import parse_mac
from tenure.store.interface import KnownAddress, Reads, Seen
from tenure.surfaces.api.bodies import BATCH_LIMIT
from tenure.surfaces.api.inventory import id_named
from tenure.surfaces.api.operations import Asked, Noun, answer
from tenure.surfaces.api.reassigning import AddressChange
from tenure.surfaces.api.schemas import AddressText, Input, MacText

NOUN = Noun("observations")

MOST = 10_000
_CHUNK = 256
"""Sightings that the writer gets in one piece, so that DHCP goes between them."""

Source = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=64,
        pattern=r"^[^\x00-\x1f\x7f]+(?![\s\S])",
        description="who says so, 1 to 64 printable characters",
        examples=["arp-scan"],
    ),
]


class SightingIn(Input):
    """An address that something uses; `mac` is left out where only the address was seen."""

    ip: AddressText
    mac: MacText | None = None
    source: Source = "api"


Sightings = Annotated[list[SightingIn], Meta(max_length=MOST)]

Outcome = Literal["stranger", "holder", "conflict", "known", "elsewhere"]


class HolderOut(msgspec.Struct):
    """Whose address it is that somebody else uses."""

    claim: str
    handle: str
    name: str | None
    machines: list[str]
    macs: list[str]


class SightOut(msgspec.Struct):
    """What came of one sighting.

    `stranger`: nobody holds it, and it is given to nobody while it is seen. `holder`: who uses it holds it.
    `conflict`: somebody else holds it, `holder`. `known`: it is a gateway, a DNS server or an edge of its subnet, where
    somebody is expected. `elsewhere`: it is in no subnet. `since`: when a stranger or a conflict that was known already
    was first seen; null: it is new, and was recorded now.
    """

    ip: str
    mac: str | None
    source: str
    outcome: Outcome
    claim: str | None
    holder: HolderOut | None = None
    since: datetime | None = None


class ObservedOut(msgspec.Struct):
    """What came of each sighting, in order."""

    items: list[SightOut]


_EXAMPLE = [{"ip": "10.0.3.65", "mac": "52:54:00:0a:0b:0c", "source": "arp-scan"}]
_HOLDER = HolderOut("4f1d2c3b4a5968778695", "nova:7f3c/port-1", "vm-17.prod.example.", ["vm-17"], ["52:54:00:00:00:01"])
_ANSWER = ObservedOut(
    [SightOut("10.0.3.65", "52:54:00:0a:0b:0c", "arp-scan", "conflict", "4f1d2c3b4a5968778695", _HOLDER)]
)


@NOUN.operation(
    "POST",
    "/v1/observations",
    "Say what was seen on the network",
    name="observe_addresses",
    query=AddressChange,
    body=Sightings,
    example=_EXAMPLE,
    gives={200: ObservedOut},
    answers={200: _ANSWER},
    refusals=("not_found",),
    creates=True,
    limit=BATCH_LIMIT,
)
async def observe(asked: Asked) -> Response:
    """Report up to 10,000 addresses in use; each is answered in order.

    What nobody holds is avoided for a day after it was last seen; `GET /v1/addresses?state=observed` lists it.
    Sightings of the holder are no news, those of somebody else on a held address are a conflict with both parties. Who
    was reported already, and is still there, is told again, with `since`.
    """
    sightings = [_sighting(each, f"/{place}") for place, each in enumerate(asked.body)]
    sights: list[Sight] = []
    replayed = False
    for number, first in enumerate(range(0, max(len(sightings), 1), _CHUNK)):
        piece = tuple(sightings[first : first + _CHUNK])
        reply = await asked.submit(ObserveAddresses(sightings=piece, vrf=asked.query.vrf), item=number)
        assert isinstance(reply.answer, Observed)
        sights += reply.answer.sights
        replayed = replayed or reply.replayed
    known = await _known_before(asked, sights)
    sights = [_still(sight, known) for sight in sights]
    holders = await _holders(asked, sights)
    return answer(ObservedOut(_shown(sightings, sights, holders, known)), replayed=replayed)


def _sighting(each: SightingIn, where: str) -> Sighting:
    mac = None if each.mac is None else parse_mac(each.mac, where + "/mac")
    return Sighting(str(parse_address(each.ip, where + "/ip")), mac, each.source)


async def _known_before(asked: Asked, sights: Iterable[Sight]) -> dict[str, Observation]:
    """What was known already of addresses on which nothing new was seen."""
    again = {sight.ip for sight in sights if sight.outcome == "known"}
    if not again:
        return {}
    seen = await asked.look(_sighted, asked.query.vrf, sorted(again), asked.backing.clock())
    return {each.ip: each for each in seen.value}


def _sighted(reads: Reads, vrf: str, ips: Sequence[str], now: datetime) -> Seen[list[Observation]]:
    return reads.sighted(id_named(reads.vrf(vrf), "vrf", vrf), ips, now)


def _still(sight: Sight, known: dict[str, Observation]) -> Sight:
    """A sighting that was no news, called by what it is."""
    if sight.outcome != "known" or sight.ip not in known:
        return sight
    return Sight(sight.ip, "stranger" if sight.claim is None else "conflict", sight.claim)


async def _holders(asked: Asked, sights: Iterable[Sight]) -> dict[str, HolderOut]:
    """Who holds the addresses that somebody else uses, by address."""
    disputed = {sight.ip for sight in sights if sight.outcome == "conflict"}
    if not disputed:
        return {}
    seen = await asked.look(_known, asked.query.vrf, sorted(disputed))
    return {known.allocation.ip: _holder(known) for known in seen.value}


def _known(reads: Reads, vrf: str, ips: Sequence[str]) -> Seen[list[KnownAddress]]:
    return reads.holders(id_named(reads.vrf(vrf), "vrf", vrf), ips)


def _holder(known: KnownAddress) -> HolderOut:
    return HolderOut(
        known.claim.id,
        known.claim.handle,
        known.held.name,
        [machine.name for machine in known.machines],
        [interface.mac for interface in known.interfaces],
    )


def _shown(
    sightings: Iterable[Sighting], sights: Iterable[Sight], holders: dict[str, HolderOut], known: dict[str, Observation]
) -> list[SightOut]:
    return [
        SightOut(
            each.ip,
            each.mac,
            each.source,
            sight.outcome,  # type: ignore[arg-type]
            sight.claim,
            holders.get(sight.ip) if sight.outcome == "conflict" else None,
            known[sight.ip].since if sight.ip in known and sight.outcome in ("conflict", "stranger") else None,
        )
        for each, sight in zip(sightings, sights, strict=True)
    ]
