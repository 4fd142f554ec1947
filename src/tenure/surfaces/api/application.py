"""The application: nouns, the gate before them, and what the feed tells it."""

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cache
from typing import Any

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response

from tenure.errors import NotFound
from tenure.model.events import Entry
from tenure.surfaces.api import (
    addresses,
    batches,
    blocks,
    claims,
    events,
    harvests,
    health,
    histories,
    imports,
    labels,
    lives,
    locations,
    machines,
    moves,
    network_config,
    networks,
    observations,
    ranges,
    reassigning,
    records,
    renumbering,
    routes,
    searches,
    secondaries,
    subnets,
    tokens,
    tsig_keys,
    vrfs,
    zone_files,
    zones,
)
from tenure.surfaces.api.auth import Gate
from tenure.surfaces.api.backing import AllFigures, Backing, Committed, Primaries, Readiness, Seal, Submitter
from tenure.surfaces.api.openapi import document
from tenure.surfaces.api.operations import Noun, answer, mount
from tenure.surfaces.api.page import page
from tenure.surfaces.api.problems import MethodNotAllowed, problem_response

NOUNS: tuple[Noun, ...] = (
    claims.NOUN,  # the busiest paths are matched first
    moves.NOUN,
    batches.NOUN,
    addresses.NOUN,
    histories.NOUN,
    reassigning.NOUN,
    observations.NOUN,
    networks.NOUN,
    harvests.NOUN,
    subnets.NOUN,
    renumbering.NOUN,
    ranges.NOUN,
    vrfs.NOUN,
    locations.NOUN,
    machines.NOUN,
    lives.NOUN,
    network_config.NOUN,
    blocks.NOUN,
    routes.NOUN,
    zones.NOUN,
    zone_files.NOUN,
    records.NOUN,
    secondaries.NOUN,
    tsig_keys.NOUN,
    imports.NOUN,
    events.NOUN,
    *labels.NOUNS,
    searches.NOUN,
    tokens.NOUN,
    health.NOUN,
)


def create_api(
    doors: Submitter,
    committed: Committed,
    *,
    clock: Callable[[], datetime],
    seal: Seal,
    primaries: Primaries,
    readiness: Readiness | None = None,
    figures: AllFigures | None = None,
) -> FastAPI:
    """The REST API as an ASGI application.

    `app.state.notice(entries)` is to be called with what the feed brings: tokens and names that changed are
    forgotten, and callers that wait look again. `app.state.forget_token(id)` and `app.state.forget_tokens()`
    forget at once, and `app.state.forget()` all that was read.

    Args:
        doors: The way to the writer.
        committed: The store, for reading only; used from threads of its own.
        clock: The time, UTC.
        seal: Encrypts a secret for the store; from threads of its own.
        primaries: Where DNS answers for the zones of a vrf, by its id; from threads of its own.
        readiness: Why this node cannot allocate, beside what is seen here; and warnings.
        figures: The counters of the node's other processes.
    """
    app = FastAPI(title="Tenure", openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    backing = Backing(doors, committed, clock, seal=seal, primaries=primaries, readiness=readiness, figures=figures)
    for noun in NOUNS:
        for operation in noun.operations:
            mount(app, backing, operation)
    app.add_api_route("/openapi.json", _openapi, include_in_schema=False)
    app.add_api_route("/docs", _docs, include_in_schema=False)
    app.add_exception_handler(HTTPException, _unrouted)
    app.add_middleware(Gate, backing=backing)

    def notice(entries: Iterable[Entry]) -> None:
        for entry in entries:
            _forget(entry, backing)
        backing.bell.ring()

    app.state.notice = notice

    def forget() -> None:
        backing.tokens.forget()
        backing.names.forget()

    app.state.forget = forget
    app.state.forget_token = backing.tokens.forget
    app.state.forget_tokens = backing.tokens.forget
    app.state.backing = backing
    return app


@cache
def described() -> dict[str, Any]:
    """The OpenAPI document."""
    return document(NOUNS)


async def _openapi(request: Request) -> Response:
    return answer(described())


async def _docs(request: Request) -> Response:
    return HTMLResponse(page(described()))


def _forget(entry: Entry, backing: Backing) -> None:
    noun = entry.event.kind.split(".")[1]
    if noun == "token":
        backing.tokens.forget(entry.event.token.id)  # type: ignore[union-attr]
    elif noun in ("vrf", "location", "network"):
        backing.names.forget()
    elif noun == "ledger":
        backing.tokens.forget()
        backing.names.forget()


async def _unrouted(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = sorted(_methods(request.app, request.scope))
        return problem_response(MethodNotAllowed(f"{request.method} is not for this path.", allowed=allowed))
    return problem_response(NotFound("There is nothing at this path.", kind="path", name=request.url.path))


def _methods(app: FastAPI, scope: Any) -> set[str]:
    found: set[str] = set()
    for route in app.router.routes:
        match, _ = route.matches(scope)
        if match.value:
            found |= getattr(route, "methods", set())
    return found
