"""Who asks: a bearer token before anything else, on every path but the few that are open."""

import ipaddress
import logging
from contextlib import suppress
from time import perf_counter

from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tenure.errors import NotPermitted, StoreUnavailable
from tenure.surfaces.api.backing import Backing
from tenure.surfaces.api.paths import routed
from tenure.surfaces.api.problems import REFUSALS, InternalError, problem_response

_log = logging.getLogger(__name__)

OPEN = frozenset({"/healthz", "/readyz"})
OPEN_ON_LOOPBACK = frozenset({"/docs", "/openapi.json"})
_READING = frozenset({"GET", "HEAD", "OPTIONS"})


class Gate:
    """The outermost part: knows the caller, stamps `Tenure-Sequence`, counts, and catches what is broken."""

    def __init__(self, app: ASGIApp, backing: Backing) -> None:
        self._app = app
        self._backing = backing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope["path"] = routed(scope)
        began = perf_counter()
        status = 0

        async def stamped(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                self._stamp(message)
            await send(message)

        try:
            await self._serve(scope, receive, stamped)
        except Exception:
            _log.exception("a request met a bug: %s %s", scope["method"], scope["path"])
            if status:
                raise
            await problem_response(InternalError("This is a bug; the log has the whole of it."))(
                scope, receive, stamped
            )
        finally:
            self._backing.meter.count(scope, status, perf_counter() - began)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._admit(scope)
        except REFUSALS as refused:
            response: Response = problem_response(refused)
            response.headers["Connection"] = "close"  # a stranger's body is not read
            await response(scope, receive, send)
            return
        await self._app(scope, receive, send)

    async def _admit(self, scope: Scope) -> None:
        path = scope["path"]
        if not self._backing.position and path != "/healthz":  # which asks no database
            with suppress(StoreUnavailable):
                await self._backing.locate()
        if path in OPEN or (path in OPEN_ON_LOOPBACK and on_loopback(scope)):
            return
        token = await self._backing.tokens.bearer(_authorization(scope))
        if token.role != "admin" and scope["method"] not in _READING:
            raise NotPermitted(f"The token {token.name} may only read.", role=token.role)
        scope["token"] = token

    def _stamp(self, message: Message) -> None:
        headers = MutableHeaders(scope=message)
        if "tenure-sequence" not in headers and self._backing.position:
            headers["Tenure-Sequence"] = self._backing.position


def on_loopback(scope: Scope) -> bool:
    """Whether the caller is on this machine: over loopback, or over a Unix socket."""
    client = scope.get("client")
    if not client or not client[0]:
        return True
    try:
        return ipaddress.ip_address(client[0]).is_loopback
    except ValueError:
        return False


def _authorization(scope: Scope) -> str | None:
    for name, value in scope["headers"]:
        if name == b"authorization":
            return str(value.decode("latin-1"))
    return None
