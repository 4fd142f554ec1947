"""When a request is sent again: only where it cannot happen twice."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.client import AnswerLost, Request, Response, Unreachable
from tenure.client.attempts import Attempts
from tenure.client.requests import change, read
from tenure.errors import OutcomeUnknown

READ = read("/v1/vrfs")
KEYED = change("POST", "/v1/claims", {"network": "prod"})
UNKEYED = change("PATCH", "/v1/networks/prod", {"cooldown": 1})


def _problem(status: int, code: str, **more: object) -> Response:
    body = {"status": status, "code": code, "detail": "A sentence.", **more}
    return Response(status, {"retry-after": "1"} if status in (503, 504) else {}, json.dumps(body).encode())


UNAVAILABLE = _problem(503, "store_unavailable")
UNKNOWN = _problem(504, "outcome_unknown")
DONE = Response(201, {}, b"{}")


@pytest.mark.parametrize("request_", [READ, KEYED, UNKEYED])
def test_unavailable_is_repeated_after_the_time_it_names(request_: Request) -> None:
    attempts = Attempts(request_, 5)
    assert attempts.heard(UNAVAILABLE) == 1.0
    assert attempts.heard(DONE) is None


def test_503_that_names_no_time_is_an_answer() -> None:
    assert Attempts(READ, 5).heard(Response(503, {}, b'{"ready": false}')) is None


def test_an_unknown_outcome_is_repeated_only_if_it_cannot_happen_twice() -> None:
    assert Attempts(KEYED, 5).heard(UNKNOWN) == 1.0
    assert Attempts(READ, 5).heard(UNKNOWN) == 1.0
    assert Attempts(UNKEYED, 5).heard(UNKNOWN) is None


def test_a_service_that_is_not_there_is_not_waited_for() -> None:
    for request_ in (READ, KEYED, UNKEYED):
        with pytest.raises(Unreachable):
            Attempts(request_, 5).failed(Unreachable("Nobody."))


def test_a_service_that_went_away_in_the_middle_is_waited_for() -> None:
    attempts = Attempts(KEYED, 60)
    assert attempts.failed(AnswerLost("Ended.")) > 0
    assert attempts.failed(Unreachable("Nobody.")) > 0
    assert attempts.heard(DONE) is None


def test_at_the_end_of_patience_the_outcome_is_unknown_not_refused() -> None:
    attempts = Attempts(KEYED, 0.25)
    assert attempts.failed(AnswerLost("Ended.")) == 0.1
    with pytest.raises(AnswerLost):
        attempts.failed(Unreachable("Nobody."))


def test_a_change_without_a_key_is_sent_once() -> None:
    with pytest.raises(AnswerLost):
        Attempts(UNKEYED, 60).failed(AnswerLost("Ended."))


def test_while_the_lost_attempt_is_at_work_its_answer_is_waited_for() -> None:
    busy = _problem(409, "conflict", in_flight=True)
    assert Attempts(KEYED, 60).heard(busy) is None  # somebody else's
    attempts = Attempts(KEYED, 60)
    attempts.failed(AnswerLost("Ended."))
    assert attempts.heard(busy) is not None
    assert attempts.heard(_problem(409, "conflict")) is None


@given(st.lists(st.sampled_from(["503", "504", "lost", "nobody"])), st.floats(0, 100))
def test_pauses_never_exceed_patience(happens: list[str], patience: float) -> None:
    attempts, waited = Attempts(KEYED, patience), 0.0
    for each in happens:
        try:
            if each in ("503", "504"):
                pause = attempts.heard(UNAVAILABLE if each == "503" else UNKNOWN)
            else:
                pause = attempts.failed(AnswerLost("Ended.") if each == "lost" else Unreachable("Nobody."))
        except (OutcomeUnknown, Unreachable):
            break
        if pause is None:
            break
        waited += pause
    assert waited <= patience + 1e-9


def test_every_post_has_a_key_of_its_own_and_nothing_else_has() -> None:
    keys = {change("POST", "/v1/claims", {}).headers["idempotency-key"] for _ in range(100)}
    assert len(keys) == 100
    assert change("POST", "/v1/claims", {}, key="mine").headers["idempotency-key"] == "mine"
    for method in ("PATCH", "DELETE"):
        assert "idempotency-key" not in change(method, "/v1/x").headers
