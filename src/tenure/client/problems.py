"""From a response to its result, or to the error that its problem (RFC 9457) tells of."""

import json
from typing import Any

from tenure import errors
from tenure.client.wire import Response

_CLASSES = {code: cls for code, cls in errors.error_classes().items() if cls.__module__ == errors.__name__}
_BY_STATUS = {
    401: errors.NotPermitted,
    403: errors.NotPermitted,
    404: errors.NotFound,
    409: errors.Conflict,
    422: errors.InvalidValue,
    503: errors.StoreUnavailable,
    504: errors.OutcomeUnknown,
}
_OWN = ("type", "title", "status", "detail", "code")


class Unreachable(errors.StoreUnavailable):
    """Nobody answers at the service's address; nothing was sent. Fact `url`."""


class AnswerLost(errors.OutcomeUnknown):
    """The connection ended, or the time did, before there was an answer. Fact `url`."""


def result_of(response: Response) -> Any:
    """The value that a response carries; None without content.

    Raises:
        TenureError: The error of the service, with its facts.
    """
    if response.status >= 400:
        raise error_of(response)
    return json.loads(response.body) if response.body else None


def error_of(response: Response) -> errors.TenureError:
    """The error that a response tells of.

    A code that is no error of ours (`malformed`, `unauthenticated`, one of a newer release) becomes the
    nearest error of its status, and is a fact of it.
    """
    problem = _problem(response)
    code = str(problem.get("code", ""))
    facts = {name: value for name, value in problem.items() if name not in _OWN}
    cls = _CLASSES.get(code)
    if cls is None:
        facts |= {"code": code, "status": response.status}
        cls = _BY_STATUS.get(response.status) or _by_class(response.status)
    return cls(str(problem.get("detail") or f"The service answered {response.status}."), **facts)


def problem_error(problem: dict[str, Any]) -> errors.TenureError:
    """The error of one item of a batch, from its problem."""
    return error_of(Response(int(problem["status"]), {}, json.dumps(problem).encode()))


def _by_class(status: int) -> type[errors.TenureError]:
    return errors.RequestError if status < 500 else errors.TenureError


def _problem(response: Response) -> dict[str, Any]:
    """The problem, or nothing: whatever stands between may answer with a page of its own."""
    try:
        problem = json.loads(response.body)
    except ValueError:
        return {}
    return problem if isinstance(problem, dict) else {}
