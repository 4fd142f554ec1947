"""What must not get out, and what must not get in: insides of a bug, and words that are meant for the database."""

import msgspec
import pytest

from tenure.service import planning
from tests.surfaces.api.site import Site, problem

_MARK = "the-inside-of-a-bug"


@pytest.fixture
def broken(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every plan meets a bug."""

    def bug(*_: object) -> None:
        raise ZeroDivisionError(_MARK)

    monkeypatch.setattr(planning, "plan", bug)


@pytest.mark.usefixtures("broken")
def test_a_bug_of_the_writer_is_a_problem_without_its_insides(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    for method, path, body in (
        ("POST", "/v1/claims", {"network": "prod", "purpose": "x"}),
        ("POST", "/v1/claims/batch", {"claims": [{"network": "prod"}], "atomic": True}),
        ("POST", "/v1/vrfs", {"name": "x"}),
        ("PATCH", "/v1/networks/prod", {"cooldown": 1}),
        ("DELETE", "/v1/networks/prod", None),
        ("POST", "/v1/import", {"items": [{"kind": "rack", "name": "r"}]}),
    ):
        caplog.clear()
        answer = site.ask(method, path, body)
        problem(answer, 500, "internal_error")
        assert _clean(answer.text)
        assert _MARK in caplog.text


@pytest.mark.usefixtures("broken")
def test_a_bug_in_an_item_of_a_batch_is_its_problem(site: Site) -> None:
    answer = site.ask("POST", "/v1/claims/batch", {"claims": [{"network": "prod"}, {"network": "prod"}]})
    assert [(each["status"], each["problem"]["code"]) for each in answer.json()["items"]] == [
        (500, "internal_error")
    ] * 2
    assert _clean(answer.text)


def test_a_read_that_meets_a_bug_is_a_problem(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def bug(*_: object, **__: object) -> None:
        raise ZeroDivisionError(_MARK)

    monkeypatch.setattr(type(site.store.reads), "networks", bug)
    answer = site.ask("GET", "/v1/networks")
    problem(answer, 500, "internal_error")
    assert _clean(answer.text)


def _clean(text: str) -> bool:
    return not [word for word in (_MARK, "Traceback", "ZeroDivision", "tenure/", "sqlite", ".py") if word in text]


HOSTILE = [
    "'",
    "x'); DROP TABLE claims; --",
    '"; DELETE FROM allocations WHERE "1"="1',
    "%s %(x)s ? ?1 :x $1 {x} \\",
    "%_*?[a-z]",
    "/* */ -- \u2019\u02bc",
]


@pytest.mark.parametrize("words", HOSTILE)
def test_words_are_never_statements(site: Site, words: str) -> None:
    """In every place where a text is kept or looked for, it is that text and nothing else."""
    kept = {"handle": words, "purpose": words, "project": "default"}
    made = site.ask("POST", "/v1/claims", {"network": "prod", **kept}, headers={"Idempotency-Key": "k"})
    assert made.status_code in (201, 422), made.text
    others = [site.post("/v1/claims", {"network": "prod", "handle": f"other-{n}"})["id"] for n in range(3)]
    found = site.ask("GET", "/v1/claims", params={"handle": words}).json()["items"]
    assert [each["id"] for each in found] == ([made.json()["id"]] if made.status_code == 201 else [])
    hits = site.ask("GET", "/v1/search", params={"q": words}).json()["items"]
    assert not {each["id"] for each in hits} & {*others}
    for path, name in (
        ("/v1/networks", "q"),
        ("/v1/machines", "q"),
        ("/v1/locations", "q"),
        ("/v1/vrfs", "q"),
        ("/v1/zones", "q"),
        ("/v1/addresses", "q"),
        ("/v1/claims", "after"),
        ("/v1/events", "kinds"),
        ("/v1/networks", "vrf"),
        ("/v1/claims", "host"),
    ):
        answer = site.ask("GET", path, params={name: words})
        assert answer.status_code in (200, 404, 410, 422), answer.text
        assert answer.status_code != 200 or answer.json()["items"] == []
    for key in ("k" + words.encode("ascii", "ignore").decode(), "?"):
        answer = site.ask("POST", "/v1/claims", {"network": "prod"}, headers={"Idempotency-Key": key})
        assert answer.status_code in (201, 422), answer.text
    assert {each["id"] for each in site.get("/v1/claims?limit=1000")["items"]} >= {*others}
    named = site.ask("POST", "/v1/networks", {"name": words})
    assert named.status_code in (201, 422), named.text
    listed = site.ask("GET", "/v1/networks", params={"q": words}).json()["items"]
    assert [each["name"] for each in listed] == ([words] if named.status_code == 201 else [])


def test_numbers_and_depths_beyond_all_bounds_are_refused(site: Site) -> None:
    for path in (
        f"/v1/claims?limit={2**70}",
        "/v1/claims?limit=-1",
        f"/v1/addresses/10.0.3.1/history?after={msgspec.json.encode([2**63]).hex()}",
    ):
        problem(site.ask("GET", path), 422, "invalid_value")
    epoch = site.store.head().epoch
    assert site.ask("GET", f"/v1/events?after={epoch}:{10**18 * 9 + 10**18 // 2}").status_code in (200, 422)
    for body in ({"network": "prod", "count": 2**70}, {"network": "prod", "count": -(2**70)}):
        problem(site.ask("POST", "/v1/claims", body), 422, "invalid_value")
    for deep in (b"[" * 200_000 + b"]" * 200_000, b'{"a":' * 200_000 + b"1" + b"}" * 200_000):
        for path in ("/v1/claims", "/v1/claims/batch", "/v1/import"):
            answer = site.ask("POST", path, content=deep, headers={"content-type": "application/json"})
            assert answer.status_code in (400, 422), answer.text
