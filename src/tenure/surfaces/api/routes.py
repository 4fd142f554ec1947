"""What routers are told: tables of routes, and what would make them smaller."""

from collections.abc import Callable
from typing import Annotated, Any, Final, Literal, TypeVar

import msgspec
from msgspec import Meta, field
from starlette.responses import Response

from tenure.net.addresses import prefix_text, width
from tenure.service.route_answers import Table, TableRoute, Via
from tenure.service.routes import Saving
from tenure.store.interface import Seen
from tenure.surfaces.api.backing import position_of
from tenure.surfaces.api.operations import Asked, Noun, answer
from tenure.surfaces.api.route_forms import Form, text_of
from tenure.surfaces.api.schemas import At, Read, Reference, Wait, seconds_of, then

NOUN = Noun("routes")

TEXT: Final = "text/plain; charset=utf-8"
_SHOWN: Final = 20

T = TypeVar("T")


class _Within(Read):
    network: Reference | None = None
    vrf: Reference | None = None


class RouteQuery(_Within):
    """Whose routes (`fabric` or `spine`: a next hop is a rack; `hosts`: a host; or a rack or host), of what, how."""

    for_: Reference = field(name="for", default="fabric")
    at: At | None = None
    format: Literal["json", "bird", "frr", "exabgp"] = "json"
    wait: Wait | None = None


class RoutesOut(msgspec.Struct):
    """A table. `optimum` is what the smallest one would have; `budget` is what that may have, of a network if named."""

    for_: str = field(name="for")
    sequence: str
    aggregates: int
    host_routes: int
    optimum: int
    budget: int | None
    routes: list[TableRoute]


_EXAMPLE = RoutesOut(
    "fabric",
    "5f1c:4711",
    1,
    1,
    2,
    500,
    [
        TableRoute("10.0.8.0/21", Via("rack-3", "rack", "10.255.0.3"), "aggregate"),
        TableRoute("10.0.9.7/32", Via("rack-4", "rack", "10.255.0.4"), "host"),
    ],
)


@NOUN.operation(
    "GET",
    "/v1/routes",
    "Read the routes to announce somewhere",
    name="list_routes",
    query=RouteQuery,
    gives={200: RoutesOut, 304: None},
    answers={200: _EXAMPLE},
    texts={TEXT: "announce route 10.0.8.0/21 next-hop 10.255.0.3\n"},
    refusals=("not_found",),
)
async def routes(asked: Asked) -> Response:
    """The fewest routes that deliver every address to its holder, and cover nothing outside of the holder's place.

    `format` gives them to BIRD 2, FRR or ExaBGP, with each place's `router` for a next hop. `ETag` says which table
    it is; with `If-None-Match` the same one is 304, and with `wait` that answer is held back until the table changes.
    """
    query = asked.query
    at = then(query.at, asked.backing.clock())
    tag = None if at is not None else await _changed(asked)
    if tag is not None and not _is_news(asked, tag):
        return Response(status_code=304, headers={"ETag": tag})
    table = await _seen(asked, asked.backing.routes.table, query.for_, query.network or "", query.vrf or "", at)
    response = answer(_out(table)) if query.format == "json" else _text(query.format, table)
    if tag is not None:
        response.headers["ETag"] = tag
    return response


async def _seen(asked: Asked, work: Callable[..., Seen[T]], *args: Any) -> T:
    seen = await asked.backing.read(work, *args)
    asked.position = position_of(seen.head)
    asked.backing.advance(asked.position)
    return seen.value


async def _changed(asked: Asked) -> str:
    """The table's tag; if that is the one that the caller knows, as soon as it is another, or the wait is over."""
    query, view, known = asked.query, asked.backing.routes, "if-none-match" in asked.request.headers

    async def look() -> str:
        since: str = await _seen(asked, view.changed, query.for_, query.network or "", query.vrf or "")
        return f'"{since}"'

    return await asked.until(look, lambda tag: _is_news(asked, tag), seconds_of(query.wait) if known else 0.0)


def _is_news(asked: Asked, tag: str) -> bool:
    """Whether a tag is none of those in If-None-Match, which are compared weakly (RFC 9110, 13.1.2).

    A proxy that compresses weakens them, and without that a wait would end at once, each time.
    """
    known = {each.strip().removeprefix("W/") for each in asked.request.headers.get("if-none-match", "").split(",")}
    return known.isdisjoint((tag, "*"))


def _out(table: Table) -> RoutesOut:
    figures = (table.sequence, table.aggregates, table.host_routes, table.optimum, table.budget)
    return RoutesOut(table.place, *figures, table.routes)


def _text(form: Form, table: Table) -> Response:
    return Response(text_of(form, table), media_type=TEXT)


class PlanQuery(_Within):
    """Of what, and how many."""

    limit: Annotated[int, Meta(ge=1, le=100, description="How many at most.", examples=[20])] = 20


class PlannedFact(msgspec.Struct):
    """An address, with the claim that holds it, or a block; and the place that has it."""

    prefix: str
    kind: Literal["address", "block"]
    location: str | None
    claim: str | None = None
    handle: str | None = None


class PlannedMove(msgspec.Struct):
    """What saves `saves` routes if all of it is elsewhere; of `count` things the first 20."""

    saves: int
    network: str
    count: int
    facts: list[PlannedFact]


class PlanOut(msgspec.Struct):
    """Moves, that which saves most for each thing that moves first. They do not add up exactly."""

    items: list[PlannedMove]


@NOUN.operation(
    "GET",
    "/v1/routes/plan",
    "Read which moves would save routes",
    name="plan_routes",
    query=PlanQuery,
    gives={200: PlanOut},
    answers={
        200: PlanOut(
            [
                PlannedMove(
                    1, "prod", 1, [PlannedFact("10.0.9.7/32", "address", "compute-7", "4f1d2c3b4a5968778695", "vm-17")]
                )
            ]
        )
    },
    refusals=("not_found",),
)
async def plan(asked: Asked) -> Response:
    """Addresses to renumber, and small blocks to empty, by what each that moves would save in the fabric's table."""
    query, view = asked.query, asked.backing.routes
    found = await _seen(asked, view.plan, query.limit, query.network or "", query.vrf or "")
    items = [await asked.backing.read(_planned, asked, saving, found.names) for saving in found.savings]
    return answer(PlanOut(items))


def _planned(asked: Asked, saving: Saving, names: dict[str, str]) -> PlannedMove:
    facts = [_fact(asked, saving, fact, names) for fact in saving.facts[:_SHOWN]]
    return PlannedMove(saving.saves, names[saving.area.network], len(saving.facts), facts)


def _fact(asked: Asked, saving: Saving, fact: Any, names: dict[str, str]) -> PlannedFact:
    version = saving.area.version
    prefix = prefix_text(version, fact.first, fact.length)
    location = names.get(fact.owner)
    if fact.kind != "loose":
        return PlannedFact(prefix, "block", location)
    ip = prefix.removesuffix(f"/{width(version)}")
    known = asked.backing.committed.reads.address(saving.vrf, ip, asked.backing.clock()).value
    if known is None:
        return PlannedFact(prefix, "address", location)
    return PlannedFact(prefix, "address", location, known.claim.id, known.claim.handle)
