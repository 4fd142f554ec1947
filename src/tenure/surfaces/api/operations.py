"""An operation: one method of one path, as data. What it takes and gives is both served and documented from it."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, Final, TypeVar

import msgspec
from fastapi import FastAPI, Request
from starlette.responses import Response
from starlette.routing import Route

from tenure.errors import EpochChanged, InvalidValue, StaleRevision, StoreUnavailable, TenureError
from tenure.model.access import Token
from tenure.model.answers import Failure, Reply
from tenure.model.uses import Submission, Use
from tenure.service.queue import in_flight, reused
from tenure.store.interface import Head
from tenure.surfaces.api.backing import Backing, epoch_of, place_of, position_of
from tenure.surfaces.api.bodies import LIMIT, Disconnected, check_media_type, decode, read_body
from tenure.surfaces.api.paths import name_in
from tenure.surfaces.api.problems import REFUSALS, problem_response, refusal
from tenure.surfaces.api.schemas import Change, Read
from tenure.surfaces.api.shape import refuse

JSON: Final = "application/json"
_ENCODER = msgspec.json.Encoder()
_CATCH_UP = 10.0
_STEP = 1.0
_LONGEST_KEY = 255
_UNCONDITIONAL = None

T = TypeVar("T")
Run = Callable[["Asked"], Awaitable[Response]]


class Operation(msgspec.Struct, kw_only=True):
    """One method of one path.

    Attributes:
        name: The operationId.
        query: Schema of the query parameters.
        body: Schema of the request's body, or None.
        decoded: What the body is decoded as, where that is not `body` itself (a batch decodes item by item).
        example: A body to show. answers: an example value by status; None is no content.
        gives: Schema of the answer by status.
        refusals: Codes of errors that it may meet, beside those that every operation may.
        creates: Whether it makes something new, so that there is no revision to match.
        optional: Whether the body may be left out.
        texts: Other media types of an answer 200, where the caller chooses, each with an example.
    """

    method: str
    path: str
    name: str
    noun: str
    run: Run
    summary: str
    description: str = ""
    query: type = Read
    body: Any = None
    decoded: Any = None
    example: Any = None
    gives: dict[int, Any] = {}
    answers: dict[int, Any] = {}
    refusals: tuple[str, ...] = ()
    creates: bool = False
    optional: bool = False
    limit: int = LIMIT
    media: str = JSON
    texts: dict[str, str] = {}

    @property
    def changes(self) -> bool:
        """Whether it may change anything."""
        return self.method != "GET"


class Noun:
    """The operations of one noun, in the order in which they are documented."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.operations: list[Operation] = []

    def operation(self, method: str, path: str, summary: str, *, name: str = "", **rest: Any) -> Callable[[Run], Run]:
        """Register what follows as an operation; see `Operation`."""

        def register(run: Run) -> Run:
            rest.setdefault("query", Read if method == "GET" else Change)
            description = (run.__doc__ or "").strip()
            self.operations.append(
                Operation(
                    method=method,
                    path=path,
                    name=name or f"{run.__name__}_{self.name}".replace("-", "_"),
                    noun=self.name,
                    run=run,
                    summary=summary,
                    description=description,
                    **rest,
                )
            )
            return run

        return register


class Asked:
    """One request, decoded: what an operation is given.

    Attributes:
        query: The query parameters, as the operation's `query`.
        body: The body, as the operation's `body`; None without one.
        position: Place in the ledger that the answer reflects.
    """

    __slots__ = ("_digest", "_if_match", "_key", "backing", "body", "operation", "position", "query", "request")

    def __init__(self, request: Request, backing: Backing, operation: Operation) -> None:
        self.request = request
        self.backing = backing
        self.operation = operation
        self.query: Any = None
        self.body: Any = None
        self.position = ""
        self._key = ""
        self._digest = b""
        self._if_match: int | None = _UNCONDITIONAL

    @property
    def token(self) -> Token:
        """Whose request it is."""
        token: Token = self.request.scope["token"]
        return token

    def path(self, name: str) -> str:
        """A parameter of the path."""
        value = name_in(self.request.scope, self.operation.path, name, self.request.path_params[name])
        if "\0" in value:
            raise InvalidValue(f"{name} in the path must not contain a NUL character.", parameter=name)
        return value

    def submission(self, use: Use, item: int = 0) -> Submission:
        """`use` with this request's circumstances."""
        scope = self.request.scope
        return Submission(
            use=use,
            actor="token:" + self.token.name,
            source=scope["client"][0] if scope.get("client") else "",
            request_id=self.request.headers.get("x-request-id", "")[:64],
            dry_run=self.query.dry_run if self.operation.changes else False,
            if_match=self._if_match,
            key=self._key,
            item=item,
            digest=self._digest,
        )

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep the request's idempotency key from others while it is worked on: a batch is many submissions.

        Raises:
            Conflict: The same request is being worked on.
            KeyReused: Another one with this key is.
        """
        if not self._key or self.query.dry_run:
            yield
            return
        keys, key = self.backing.keys, (self.token.name, self._key)
        if key in keys:
            raise in_flight() if keys[key] == self._digest else reused()
        keys[key] = self._digest
        try:
            yield
        finally:
            del keys[key]

    async def submit(self, use: Use, where: str = "", item: int = 0) -> Reply:
        """Have one use decided; its reply is no failure.

        `where` leads the pointer of a refusal that names an item of `Together`; `item` is its place in a batch.

        Raises:
            TenureError: The writer refused it.
        """
        (reply,) = await self.submit_all([self.submission(use, item)])
        if isinstance(reply.answer, Failure):
            raise _placed(refusal(reply.answer), where)
        return reply

    async def submit_all(self, submissions: list[Submission]) -> list[Reply]:
        """Have them decided; a refused one's reply carries a `Failure`."""
        replies = await self.backing.doors.submit(submissions)
        places = [reply.sequence for reply in replies if reply.sequence]  # none while the writer has to load again
        if places:
            self.position = max(places, key=place_of)
            self.backing.advance(self.position)
        if replies:
            self.backing.bell.ring()
        return replies

    async def look(self, work: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """Read committed state: what a method of `Reads` gives, which is a `Seen` or a `Page`.

        `work` gets the reads and what follows, in a thread of its own.
        """
        seen = await self.backing.read(partial(work, self.backing.committed.reads, *args, **named))
        self.position = position_of(seen.head)
        self.backing.advance(self.position)
        return seen

    async def until(self, look: Callable[[], Awaitable[T]], content: Callable[[T], bool], seconds: float) -> T:
        """What `look` sees as soon as that is what the caller waits for, or at the end of `seconds`."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while True:
            rang = self.backing.bell.next()  # before looking: what happens meanwhile is not missed
            seen = await look()
            left = end - loop.time()
            if left <= 0 or content(seen):
                return seen
            await rang.wait(min(_STEP, left))

    async def prepare(self) -> None:
        """Decode query, headers and body; wait for `at_least`."""
        self._read_query()
        if self.operation.changes:
            await self._read_change()
        elif self.query.at_least is not None:
            await self._catch_up(self.query.at_least)

    def _read_query(self) -> None:
        shape = self.operation.query
        if not self.request.scope["query_string"] and not any(f.required for f in _fields(shape)):
            self.query = shape()
            return
        sent = dict(self.request.query_params)
        try:
            self.query = msgspec.convert(sent, shape, strict=False)
        except msgspec.ValidationError:
            error = refuse(shape, _loosened(sent, shape))
            parameter = str(error.facts.pop("pointer", "")).lstrip("/")
            raise InvalidValue(
                "In the query, " + error.message.lstrip("/"), parameter=parameter, **error.facts
            ) from None
        for name, value in sent.items():
            if "\0" in value:
                raise InvalidValue(f"In the query, {name} must not contain a NUL character.", parameter=name)

    async def _read_change(self) -> None:
        headers = self.request.headers
        operation = self.operation
        body = await read_body(self.request.receive, headers.get("content-length"), operation.limit)
        if operation.body is not None and (body or not operation.optional):
            check_media_type(headers.get("content-type"), headers.get("content-encoding"))
            self.body = decode(body, _decoder(operation), operation.body, whole=operation.decoded is None)
        elif body and operation.body is None:
            raise InvalidValue("This operation takes no body.", pointer="")
        self._if_match = _if_match(headers.get("if-match"), operation)
        self._key = _key(headers.get("idempotency-key"))
        if self._key:
            self._digest = self._digest_of(body)

    def _digest_of(self, body: bytes) -> bytes:
        scope = self.request.scope
        asked = f"{scope['method']} {scope['path']}?".encode() + scope["query_string"] + b"\n"
        return hashlib.sha256(asked + body).digest()

    async def head(self) -> Head:
        """The end of the ledger now."""
        head = await self.backing.locate()
        self.position = position_of(head)
        return head

    async def _catch_up(self, wanted: str) -> None:
        async def look() -> Head:
            head = await self.head()
            if head.epoch != epoch_of(wanted):
                raise EpochChanged("The ledger started a new epoch: start over from the present.", epoch=head.epoch)
            return head

        head = await self.until(look, lambda head: head.sequence >= place_of(wanted), _CATCH_UP)
        if head.sequence < place_of(wanted):
            raise StoreUnavailable(f"This node has not caught up with {wanted}.", sequence=position_of(head))


def mount(app: FastAPI, backing: Backing, operation: Operation) -> None:
    """Serve an operation."""

    async def endpoint(request: Request) -> Response:
        request.scope["operation"] = operation.path
        asked = Asked(request, backing, operation)
        try:
            await asked.prepare()
            with asked.alone():
                response = await operation.run(asked)
        except REFUSALS as error:
            response = problem_response(error)
        except Disconnected:
            response = Response(status_code=400)
        if operation.changes and asked.query is not None and asked.query.dry_run and "location" in response.headers:
            del response.headers["location"]  # nothing was made
        if asked.position:
            response.headers["Tenure-Sequence"] = asked.position
        return response

    # A plain route: FastAPI's own would look for parameters and dependencies in every request, and find none.
    route = Route(operation.path, endpoint, name=operation.name, include_in_schema=False)
    route.methods = {operation.method}
    app.router.routes.append(route)


def answer(
    value: Any, status: int = 200, *, revision: int | None = None, location: str | None = None, replayed: bool = False
) -> Response:
    """A value as JSON."""
    headers = {}
    if revision is not None:
        headers["ETag"] = f'"{revision}"'
    if location is not None:
        headers["Location"] = location
    if replayed:
        headers["Idempotency-Replayed"] = "true"
    return Response(_ENCODER.encode(value), status, headers, JSON)


def gone() -> Response:
    """204: it is done, and there is nothing to show."""
    return Response(status_code=204)


def _placed(error: TenureError, where: str) -> TenureError:
    item = error.facts.get("item")
    if where and item is not None:
        error.facts["pointer"] = f"{where}/{item}{error.facts.get('pointer', '')}"
    return error


@cache
def _fields(shape: type) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(shape)


_DECODERS: dict[str, msgspec.json.Decoder[Any]] = {}


def _decoder(operation: Operation) -> msgspec.json.Decoder[Any]:
    decoder = _DECODERS.get(operation.name)
    if decoder is None:
        decoder = _DECODERS[operation.name] = msgspec.json.Decoder(operation.decoded or operation.body)
    return decoder


def _loosened(sent: dict[str, str], shape: type) -> dict[str, Any]:
    """The parameters that can be read one by one as what they should be; the others stay text."""
    types = {field.encode_name: field.type for field in _fields(shape)}
    return {name: _lax(value, types[name]) if name in types else value for name, value in sent.items()}


def _lax(value: str, shape: Any) -> Any:
    for loose in (bool, int):
        try:
            found = msgspec.convert(value, loose, strict=False)
        except msgspec.ValidationError:
            continue
        if _is_of(found, shape):
            return found
    return value


def _is_of(value: Any, shape: Any) -> bool:
    """Whether a value is of the right type, if perhaps out of bounds."""
    try:
        msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        return ", got `" not in str(error)
    return True


def _if_match(header: str | None, operation: Operation) -> int | None:
    if header is None:
        return None
    tag = header.strip()
    if operation.creates:
        raise StaleRevision("There is nothing here yet that If-Match could match.")
    if tag == "*":
        return None
    if "," in tag:
        raise InvalidValue("Send one revision in If-Match.", header="If-Match")
    number = tag.removeprefix('"').removesuffix('"')
    if not (number.isascii() and number.isdecimal() and len(number) <= 15 and tag == f'"{number}"'):
        raise StaleRevision(f"{tag[:64]} is no revision of this; revisions are as in ETag.")
    return int(number)


def _key(header: str | None) -> str:
    if header is None:
        return ""
    if not (0 < len(header) <= _LONGEST_KEY and header.isascii() and header.isprintable()):
        raise InvalidValue(
            f"Idempotency-Key must have 1 to {_LONGEST_KEY} printable ASCII characters.", header="Idempotency-Key"
        )
    return header
