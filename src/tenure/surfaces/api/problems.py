"""The one table from error to HTTP's word, and the problem that carries it (RFC 9457)."""

from typing import Any

import msgspec
from starlette.responses import Response

from tenure import errors
from tenure.model.answers import Failure

PROBLEM = "application/problem+json"


class HttpError(errors.RequestError):
    """Something that HTTP alone knows; never leaves this surface."""


class Malformed(HttpError):
    """The body is no JSON."""


class TooLarge(HttpError):
    """The body is longer than this path takes; fact `limit` in bytes."""


class UnsupportedMediaType(HttpError):
    """The body is of another kind than JSON."""


class MethodNotAllowed(HttpError):
    """This path knows other methods; fact `allowed`."""


class Unauthenticated(HttpError):
    """No token, or one that is not known."""


class InternalError(HttpError):
    """A broken invariant: a bug of Tenure's."""


STATUS: dict[type[errors.TenureError], int] = {
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
    "unauthenticated": "A token is needed",
    "method_not_allowed": "This path knows other methods",
    "too_large": "The body is too large",
    "unsupported_media_type": "The body must be JSON",
    "internal_error": "A bug of Tenure's",
}

_RETRY_AFTER = {"store_unavailable": "1", "outcome_unknown": "1"}
_CLASSES = errors.error_classes()


def status_of(code: str) -> int:
    """The HTTP status of an error's code; a code that the table does not know is a bug, 500."""
    cls: Any = _CLASSES.get(code, InternalError)
    while cls not in STATUS:
        if cls is errors.TenureError:
            return 500
        cls = cls.__mro__[1]
    return STATUS[cls]


def problem_of(error: errors.TenureError | Failure) -> dict[str, Any]:
    """The problem's members: RFC 9457's, the code, and the error's facts."""
    status = status_of(error.code)
    code = error.code if error.code in TITLES else InternalError.code
    reserved = {
        "type": "urn:tenure:problem:" + code.replace("_", "-"),
        "title": TITLES[code],
        "status": status,
        "detail": error.message,
        "code": code,
    }
    return reserved | {name: fact for name, fact in error.facts.items() if name not in reserved}


def problem_response(error: errors.TenureError | Failure) -> Response:
    """The error as an answer of HTTP, with the headers that its status wants."""
    headers = {}
    if error.code in _RETRY_AFTER:
        headers["Retry-After"] = str(error.facts.get("retry_after", _RETRY_AFTER[error.code]))
    if error.code == "unauthenticated":
        headers["WWW-Authenticate"] = "Bearer"
    if error.code == "method_not_allowed":
        headers["Allow"] = ", ".join(error.facts.get("allowed", ()))  # type: ignore[arg-type]
    if error.code == "too_large":
        headers["Connection"] = "close"  # the rest of the body is not read
    body = msgspec.json.encode(problem_of(error), enc_hook=str)
    return Response(body, status_of(error.code), headers, PROBLEM)


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
