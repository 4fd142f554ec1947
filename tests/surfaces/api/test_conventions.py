"""The conventions of every operation: tokens, sequences, revisions, keys, dry runs, pages, waiting."""

import asyncio
import re

import pytest

from tenure.model.events import TokenRevoked
from tenure.model.uses import RevokeToken
from tests.surfaces.api.site import VIEWER, Site, problem


def test_without_a_token_nothing_is_told(site: Site) -> None:
    stranger = site.client_with(None)
    for path in ("/v1/claims", "/v1/nothing", "/metrics"):
        answer = site.ask("GET", path, client=stranger)
        problem(answer, 401, "not_permitted")
        assert answer.headers["www-authenticate"] == "Bearer"
    problem(site.ask("POST", "/v1/claims", {"network": "prod"}, client=stranger), 401, "not_permitted")
    problem(site.ask("GET", "/v1/claims", client=site.client_with("tenure_guess")), 401, "not_permitted")
    basic = {"Authorization": "Basic dGVudXJlOmFkbWlu"}
    problem(site.ask("GET", "/v1/claims", client=stranger, headers=basic), 401, "not_permitted")


def test_health_needs_no_token(site: Site) -> None:
    stranger = site.client_with(None, host="192.0.2.7")
    assert site.ask("GET", "/healthz", client=stranger).json() == {"status": "ok"}
    assert site.ask("GET", "/readyz", client=stranger).json()["ready"] is True
    site.doors.open = False
    answer = site.ask("GET", "/readyz", client=stranger)
    assert answer.status_code == 503
    assert answer.json()["reasons"] == ["the ledger's process is not there"]


def test_documents_are_open_on_loopback_only(site: Site) -> None:
    for path, kind in (("/docs", "text/html"), ("/openapi.json", "application/json")):
        for host in ("127.0.0.1", "::1", "127.3.2.1"):
            answer = site.ask("GET", path, client=site.client_with(None, host=host))
            assert answer.status_code == 200
            assert answer.headers["content-type"].startswith(kind)
        problem(site.ask("GET", path, client=site.client_with(None, host="192.0.2.7")), 401, "not_permitted")
        assert site.ask("GET", path, client=site.client_with(VIEWER, host="192.0.2.7")).status_code == 200


def test_a_viewer_may_only_read(site: Site) -> None:
    eyes = site.client_with(VIEWER)
    assert site.ask("GET", "/v1/claims", client=eyes).status_code == 200
    assert site.ask("GET", "/metrics", client=eyes).status_code == 200
    before = site.sequence
    for method, path in (("POST", "/v1/claims"), ("PATCH", "/v1/networks/prod"), ("DELETE", "/v1/networks/prod")):
        problem(site.ask(method, path, client=eyes), 403, "not_permitted")
    assert site.sequence == before


def test_a_new_token_is_shown_once_and_a_revoked_one_ends_at_once(site: Site) -> None:
    made = site.post("/v1/tokens", {"name": "ci", "role": "viewer"})
    client = site.client_with(made["token"])
    assert site.ask("GET", "/v1/claims", client=client).status_code == 200
    shown = site.get("/v1/tokens/ci")
    assert "token" not in shown
    assert "token" not in site.get("/v1/tokens")["items"][-1]
    assert made["token"].encode() not in site.store.head().batch.encode()
    assert site.ask("DELETE", f"/v1/tokens/{made['id']}").status_code == 204
    problem(site.ask("GET", "/v1/claims", client=client), 401, "not_permitted")


def test_the_feed_makes_a_token_that_another_node_revoked_forgotten(site: Site) -> None:
    made = site.post("/v1/tokens", {"name": "ci", "role": "viewer"})
    client = site.client_with(made["token"])
    assert site.ask("GET", "/v1/claims", client=client).status_code == 200
    before = site.sequence
    site.submit(RevokeToken(token="ci"))
    entries = site.store.entries(before, 100)
    assert isinstance(entries[-1].event, TokenRevoked)
    site.app.state.notice(entries)
    problem(site.ask("GET", "/v1/claims", client=client), 401, "not_permitted")


def test_the_feed_makes_a_name_that_another_node_changed_forgotten(site: Site) -> None:
    claim = site.post("/v1/claims", {"network": "prod", "host": "compute-7"})
    site.post("/v1/claims", {"network": "prod", "host": "compute-7"})
    site.ask("PATCH", "/v1/locations/compute-7", {"name": "compute-77"})
    assert site.get(f"/v1/claims/{claim['id']}")["host"] == "compute-77"


def test_no_secret_is_in_the_ledger(site: Site) -> None:
    secret = site.post("/v1/tokens", {"name": "ci", "role": "viewer"})["token"]
    assert secret not in site.ask("GET", "/v1/events?limit=1000").text


def test_every_answer_carries_its_place_in_the_ledger(site: Site) -> None:
    for method, path, body in (
        ("GET", "/v1/claims", None),
        ("GET", "/v1/nothing", None),
        ("PUT", "/v1/claims", None),
        ("POST", "/v1/claims", {"network": "nowhere"}),
        ("POST", "/v1/claims", {"network": "prod"}),
        ("GET", "/healthz", None),
        ("GET", "/metrics", None),
    ):
        answer = site.ask(method, path, body)
        assert re.fullmatch(r"\S+:\d+", answer.headers["tenure-sequence"]), path
        assert int(answer.headers["tenure-sequence"].partition(":")[2]) == site.sequence
    stranger = site.ask("GET", "/v1/claims", client=site.client_with(None))
    assert stranger.headers["tenure-sequence"]


def test_the_first_answer_of_a_process_knows_its_place_too(bare: Site) -> None:
    answer = bare.ask("GET", "/v1/claims", client=bare.client_with(None))
    assert int(answer.headers["tenure-sequence"].partition(":")[2]) == bare.sequence


def test_a_read_waits_until_the_node_has_caught_up(site: Site) -> None:
    epoch, _, place = site.ask("GET", "/v1/claims").headers["tenure-sequence"].partition(":")
    site.get(f"/v1/claims?at_least={epoch}:{place}")

    async def both() -> int:
        waiting = asyncio.create_task(site.client.get(f"/v1/claims?at_least={epoch}:{int(place) + 1}"))
        await asyncio.sleep(0)
        await site.client.post("/v1/claims", json={"network": "prod", "host": "compute-7"})
        return len((await waiting).json()["items"])

    assert site.runner.run(both()) == 1
    found = problem(site.ask("GET", f"/v1/claims?at_least=another:{place}"), 410, "epoch_changed")
    assert found["epoch"] == epoch


def test_a_change_names_the_revision_it_was_made_for(site: Site) -> None:
    answer = site.ask("GET", "/v1/networks/prod")
    assert answer.headers["etag"] == '"1"'
    changed = site.ask("PATCH", "/v1/networks/prod", {"cooldown": 600}, headers={"If-Match": '"1"'})
    assert changed.status_code == 200
    assert changed.headers["etag"] == '"2"'
    late = site.ask("PATCH", "/v1/networks/prod", {"cooldown": 700}, headers={"If-Match": '"1"'})
    assert problem(late, 412, "stale_revision")["revision"] == 2
    for odd in ("1", 'W/"2"', '"two"', '"-2"'):
        problem(site.ask("DELETE", "/v1/networks/prod", headers={"If-Match": odd}), 412, "stale_revision")
    assert site.get("/v1/networks/prod")["cooldown"] == 600
    any_ = site.ask("PATCH", "/v1/networks/prod", {"cooldown": 700}, headers={"If-Match": "*"})
    assert any_.status_code == 200


def test_a_key_brings_the_same_answer_back(site: Site) -> None:
    key = {"Idempotency-Key": "k-1"}
    first = site.ask("POST", "/v1/claims", {"network": "prod"}, headers=key)
    before = site.sequence
    again = site.ask("POST", "/v1/claims", {"network": "prod"}, headers=key)
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert again.headers["idempotency-replayed"] == "true"
    other = site.ask("POST", "/v1/claims", {"network": "prod", "count": 2}, headers=key)
    problem(other, 422, "key_reused")
    problem(site.ask("POST", "/v1/claims?dry_run=false", {"network": "prod"}, headers=key), 422, "key_reused")
    assert site.sequence == before


def test_a_replay_reports_a_claim_that_was_released_since(site: Site) -> None:
    key = {"Idempotency-Key": "k-1"}
    claim = site.ask("POST", "/v1/claims", {"network": "prod"}, headers=key).json()
    site.post(f"/v1/claims/{claim['id']}/release")
    again = site.ask("POST", "/v1/claims", {"network": "prod"}, headers=key).json()
    assert (again["id"], again["state"]) == (claim["id"], "released")


def test_a_dry_run_answers_what_would_happen_and_records_nothing(site: Site) -> None:
    before = site.sequence
    tried = site.ask("POST", "/v1/claims?dry_run=true", {"network": "prod", "host": "compute-7"})
    assert tried.status_code == 201
    assert "location" not in tried.headers
    assert site.sequence == before
    made = site.post("/v1/claims", {"network": "prod", "host": "compute-7"})
    assert made["addresses"][0]["ip"] == tried.json()["addresses"][0]["ip"]


@pytest.mark.parametrize("path", ["/v1/locations", "/v1/vrfs", "/v1/networks", "/v1/machines", "/v1/tokens"])
def test_lists_go_by_page_and_never_grow(bare: Site, path: str) -> None:
    more = {"/v1/locations": {"kind": "rack"}, "/v1/tokens": {"role": "viewer"}}.get(path, {})
    if path == "/v1/networks":
        bare.post("/v1/vrfs", {"name": "default"})
    made = {bare.post(path, {"name": f"thing-{number}", **more})["name"] for number in range(7)}
    found: list[str] = []
    after = ""
    for _ in range(20):
        page = bare.get(f"{path}?limit=3{after}")
        assert len(page["items"]) <= 3
        found += [each["name"] for each in page["items"]]
        if page["next"] is None:
            break
        after = f"&after={page['next']}"
    assert made <= set(found)
    assert len(found) == len(set(found))


def test_a_bug_is_told_as_a_problem_without_its_insides(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    site.doors.writer = None  # type: ignore[assignment]
    answer = site.ask("POST", "/v1/claims", {"network": "prod"})
    problem(answer, 500, "internal_error")
    assert "NoneType" not in answer.text
    assert "NoneType" in caplog.text
