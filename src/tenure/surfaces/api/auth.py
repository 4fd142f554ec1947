"""Who asks: a bearer token before anything else, on every path but the few that are open."""

import hashlib
import ipaddress
import logging
from time import perf_counter

from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tenure.errors import NotPermitted, TenureError
from tenure.model.access import Token
from tenure.surfaces.api.backing import Backing
from tenure.surfaces.api.metrics import Meter
from tenure.surfaces.api.problems import InternalError, Unauthenticated, problem_response

_log = logging.getLogger(__name__)

OPEN = frozenset({"/healthz", "/readyz"})
OPEN_ON_LOOPBACK = frozenset({"/docs", "/openapi.json"})
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_MOST_TOKENS = 4096


class Tokens:
    """Tokens by the SHA-256 of their secrets, remembered until the feed says that they changed."""

    def __init__(self, backing: Backing) -> None:
        self._backing = backing
        self._known: dict[bytes, Token] = {}
        self._generation = 0

    async def bearer(self, authorization: str | None) -> Token:
        """The token that a request carries.

        Raises:
            Unauthenticated: None, or one that is not known; which of the two is not told by its timing:
                digests are looked up, never secrets.
        """
        scheme, _, secret = (authorization or "").partition(" ")
        if scheme.lower() != "bearer" or not secret.strip():
            raise Unauthenticated("Send Authorization: Bearer and a token.")
        digest = hashlib.sha256(secret.strip().encode()).digest()
        known = self._known.get(digest)
        return known if known is not None else await self._look_up(digest)

    def forget(self, token: str | None = None) -> None:
        """Forget one token by its id, or all: the next request reads them again."""
        self._generation += 1
        self._known = {} if token is None else {d: t for d, t in self._known.items() if t.id != token}

    async def _look_up(self, digest: bytes) -> Token:
        generation = self._generation
        token = await self._backing.read(self._backing.committed.reads.token_by_digest, digest)
        if token is None:
            raise Unauthenticated("This token is not known here; it may have been revoked.")
        if generation == self._generation:  # a revocation may have passed the read
            if len(self._known) >= _MOST_TOKENS:
                self._known.clear()
            self._known[digest] = token
        return token


class Gate:
    """The outermost part: knows the caller, stamps `Tenure-Sequence`, counts, and catches what is broken."""

    def __init__(self, app: ASGIApp, backing: Backing, tokens: Tokens, meter: Meter) -> None:
        self._app = app
        self._backing = backing
        self._tokens = tokens
        self._meter = meter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
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
            self._meter.count(scope, status, perf_counter() - began)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._admit(scope)
        except TenureError as refused:
            response: Response = problem_response(refused)
            response.headers["Connection"] = "close"  # a stranger's body is not read
            await response(scope, receive, send)
            return
        await self._app(scope, receive, send)

    async def _admit(self, scope: Scope) -> None:
        path = scope["path"]
        if path in OPEN or (path in OPEN_ON_LOOPBACK and on_loopback(scope)):
            return
        token = await self._tokens.bearer(_authorization(scope))
        if token.role != "admin" and scope["method"] not in _READING:
            raise NotPermitted(f"The token {token.name} may only read.", role=token.role)
        scope["token"] = token

    def _stamp(self, message: Message) -> None:
        headers = MutableHeaders(scope=message)
        if "tenure-sequence" not in headers:
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
