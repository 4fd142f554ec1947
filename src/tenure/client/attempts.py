"""How often one request is sent, decided without sending: only where a repetition is safe."""

from typing import Final

from tenure.client.problems import AnswerLost, Unreachable, error_of
from tenure.client.wire import Request, Response
from tenure.errors import TenureError

_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 5.0
_IN_FLIGHT: Final = "in_flight"


class Attempts:
    """The attempts at one request.

    503 is repeated after its Retry-After, because nothing was changed. An unknown outcome (504, a connection lost
    in the middle) is repeated only if it cannot happen twice: a read, or a change under an idempotency key. A
    service that is not there is waited for only after it was there: its answer is still wanted.

    Args:
        patience: Seconds to wait in all between attempts.
    """

    def __init__(self, request: Request, patience: float) -> None:
        self._repeatable = not request.changes or "idempotency-key" in request.headers
        self._patience = patience
        self._pause = _FIRST_PAUSE
        self._lost: TenureError | None = None

    def heard(self, response: Response) -> float | None:
        """Seconds to wait before the next attempt, or None: this answer is the last word."""
        if response.status == 503 and _retry_after(response) is not None:
            return self._next(_retry_after(response))
        if response.status == 504 and self._repeatable:
            self._lost = error_of(response)
            return self._next(_retry_after(response))
        if response.status == 409 and self._lost is not None and _still_runs(response):
            return self._next(None)  # the attempt that was lost is still at work
        return None

    def failed(self, error: Unreachable | AnswerLost) -> float:
        """Seconds to wait before the next attempt.

        Raises:
            Unreachable: Nothing was ever sent.
            OutcomeUnknown: Something was, and it must not or can no longer be repeated.
        """
        if isinstance(error, AnswerLost):
            self._lost = error
        pause = self._next(None) if self._lost is not None and self._repeatable else None
        if pause is None:
            raise self._lost or error
        return pause

    def _next(self, wanted: float | None) -> float | None:
        pause = max(self._pause, wanted or 0.0)
        if pause > self._patience:
            return None
        self._patience -= pause
        self._pause = min(self._pause * 2, _LONGEST_PAUSE)
        return pause


def _retry_after(response: Response) -> float | None:
    said = response.headers.get("retry-after", "")
    return float(said) if said.isascii() and said.isdigit() else None


def _still_runs(response: Response) -> bool:
    return bool(error_of(response).facts.get(_IN_FLIGHT))
