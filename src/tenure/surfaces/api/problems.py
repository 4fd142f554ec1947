"""The one table from error to HTTP's word, and the problem that carries it (RFC 9457)."""

from typing import Any, ClassVar

import msgspec
from starlette.responses import Response

from tenure import errors
from tenure.model.answers import Failure

PROBLEM = "application/problem+json"


class HttpError(Exception):
    """Something that HTTP alone knows; it is no error of Tenure's tree and never leaves this surface."""

    code: ClassVar[str]

    def __init__(self, message: str, /, **facts: Any) -> None:
        super().__init__(message)
        self.message = message
        self.facts = facts


class Malformed(HttpError):
    """The body is no JSON."""

    code = "malformed"


class TooLarge(HttpError):
    """The body is longer than this path takes; fact `limit` in bytes."""

    code = "too_large"


class UnsupportedMediaType(HttpError):
    """The body is of another kind than JSON."""

    code = "unsupported_media_type"


class MethodNotAllowed(HttpError):
    """This path knows other methods; fact `allowed`."""

    code = "method_not_allowed"


class Unauthenticated(HttpError):
    """No token, or one that is not known: not permitted, as long as nobody says who asks."""

    code = "not_permitted"


class InternalError(HttpError):
    """A broken invariant: a bug of Tenure's."""

    code = "internal_error"


REFUSALS = (errors.TenureError, HttpError)
"""Whatever is answered as a problem."""

Refusal = errors.TenureError | HttpError

STATUS: dict[type[Refusal], int] = {
    errors.InvalidValue: 422,
    errors.KeyReused: 422,
    errors.NotFound: 404,
    errors.NotPermitted: 403,
    errors.Conflict: 409,
    errors.AlreadyAllocated: 409,
    errors.InUse: 409,
    errors.Overlap: 409,
    errors.EpochChanged: 410,
    errors.StaleRevision: 412,
    errors.Exhausted: 409,
    errors.OutcomeUnknown: 504,
    errors.StoreUnavailable: 503,
    Malformed: 400,
    Unauthenticated: 401,
    MethodNotAllowed: 405,
    TooLarge: 413,
    UnsupportedMediaType: 415,
    InternalError: 500,
}
"""What each error is in HTTP. Nothing else chooses a status for an error."""

TITLES = {
    "invalid_value": "A value is malformed or outside its bounds",
    "key_reused": "The idempotency key came before with another request",
    "not_found": "The thing named is not here",
    "not_permitted": "This token may not do this here",
    "conflict": "Something stands in the way",
    "already_allocated": "The address belongs to another handle",
    "in_use": "It still holds something",
    "overlap": "The prefix or range crosses one that is here",
    "epoch_changed": "The ledger started a new epoch: start over",
    "stale_revision": "It changed since it was read",
    "exhausted": "There is no room here",
    "outcome_unknown": "It may or may not have happened: repeat it under the same handle or key",
    "store_unavailable": "Ask again later: nothing was changed",
    "malformed": "The body is not JSON",
    "method_not_allowed": "This path knows other methods",
    "too_large": "The body is too large",
    "unsupported_media_type": "The body must be JSON",
    "internal_error": "A bug of Tenure's",
}

_RETRY_AFTER = {"store_unavailable": "1", "outcome_unknown": "1"}
_CLASSES = errors.error_classes()
_HTTP_CLASSES = {cls.code: cls for cls in HttpError.__subclasses__() if cls is not Unauthenticated}


def status_of(code: str) -> int:
    """The HTTP status of an error's code; a code that the table does not know is a bug, 500."""
    cls: Any = _CLASSES.get(code) or _HTTP_CLASSES.get(code, InternalError)
    known = (each for each in cls.__mro__ if each in STATUS)
    return STATUS[next(known, InternalError)]


def problem_of(error: Refusal | Failure) -> dict[str, Any]:
    """The problem's members: RFC 9457's, the code, and the error's facts."""
    status = STATUS[type(error)] if isinstance(error, HttpError) else status_of(error.code)
    code = error.code if error.code in TITLES else InternalError.code
    reserved = {
        "type": "urn:tenure:problem:" + code.replace("_", "-"),
        "title": TITLES[code],
        "status": status,
        "detail": error.message,
        "code": code,
    }
    return reserved | {name: fact for name, fact in error.facts.items() if name not in reserved}


def problem_response(error: Refusal | Failure) -> Response:
    """The error as an answer of HTTP, with the headers that its status wants."""
    headers = {}
    if error.code in _RETRY_AFTER:
        headers["Retry-After"] = str(error.facts.get("retry_after", _RETRY_AFTER[error.code]))
    if isinstance(error, Unauthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, MethodNotAllowed):
        headers["Allow"] = ", ".join(error.facts["allowed"])
    if isinstance(error, TooLarge):
        headers["Connection"] = "close"  # the rest of the body is not read
    problem = problem_of(error)
    return Response(msgspec.json.encode(problem, enc_hook=str), problem["status"], headers, PROBLEM)


def refusal(failure: Failure) -> errors.TenureError:
    """The error that a `Failure` carried across a process border."""
    cls = _CLASSES.get(failure.code, errors.TenureError)
    return cls(failure.message, **failure.facts)


class Problem(msgspec.Struct, kw_only=True):
    """An error (RFC 9457). Members beyond these are the error's facts."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    pointer: str | msgspec.UnsetType = msgspec.UNSET
    """JSON pointer (RFC 6901) of the field that is wrong."""
    allowed: list[str] | msgspec.UnsetType = msgspec.UNSET
    """The values that would be right, where they can be listed."""
