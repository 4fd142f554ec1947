"""Batches and imports: results in order, one wrong among thousands, all or nothing."""

import asyncio
from typing import Any

import httpx
import pytest

from tenure.model.events import AddressAllocated
from tests.surfaces.api.site import Site, problem


def _wide(site: Site) -> None:
    site.post("/v1/networks", {"name": "wide", "strategy": "first_free"})
    site.post("/v1/networks/wide/subnets", {"cidr": "10.64.0.0/16"})


def test_each_item_of_a_batch_has_its_own_result_in_order(site: Site) -> None:
    claims: list[Any] = [
        {"network": "prod", "handle": "a"},
        {"network": "nowhere"},
        {"network": "prod", "count": 0},
        {"network": "prod", "purpose": "a\0b"},
        {"network": "prod", "defer": True},
        {"network": "prod", "handle": "a"},
        7,
    ]
    items = site.post("/v1/claims/batch", {"claims": claims})["items"]
    assert [each["status"] for each in items] == [201, 404, 422, 422, 202, 200, 422]
    assert items[5]["claim"] == items[0]["claim"]
    assert items[1]["problem"]["pointer"] == "/network"
    assert items[2]["problem"]["pointer"] == "/count"
    assert items[3]["problem"]["pointer"] == "/purpose"


def test_a_bug_that_an_item_meets_is_its_own_problem(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(text: str, pointer: str = "") -> str:
        raise ZeroDivisionError(text)

    monkeypatch.setattr("tenure.surfaces.api.claims.parse_mac", parse)
    claims = [{"network": "prod"}, {"network": "prod", "mac": "52:54:00:00:00:01"}, {"network": "prod"}]
    items = site.post("/v1/claims/batch", {"claims": claims})["items"]
    assert [each["status"] for each in items] == [201, 500, 201]
    assert items[1]["problem"]["code"] == "internal_error"


def test_the_items_of_a_dry_run_see_each_other_and_nobody_sees_them(site: Site) -> None:
    claims = [{"network": "prod", "address": "10.0.3.9"}, {"network": "prod"}, {"network": "prod"}]
    claims += [{"network": "prod", "address": "10.0.3.9"}] * 3
    before = site.sequence
    tried = site.post("/v1/claims/batch?dry_run=true", {"claims": claims})["items"]
    assert [each["status"] for each in tried] == [201, 201, 201, 409, 409, 409]
    assert len({each["claim"]["addresses"][0]["ip"] for each in tried[:3]}) == 3
    assert site.post("/v1/claims/batch?dry_run=true", {"claims": claims})["items"][0]["status"] == 201
    assert site.sequence == before
    done = site.post("/v1/claims/batch", {"claims": claims})["items"]
    assert [each["status"] for each in done] == [201, 201, 201, 409, 409, 409]


def test_ten_thousand_items_with_one_wrong(site: Site) -> None:
    _wide(site)
    claims: list[Any] = [{"network": "wide", "handle": f"h-{number}"} for number in range(10_000)]
    claims[5_000] = {"network": "wide", "handle": "h-5000", "count": "one"}
    items = site.post("/v1/claims/batch", {"claims": claims})["items"]
    assert len(items) == 10_000
    assert [place for place, each in enumerate(items) if each["status"] != 201] == [5_000]
    assert items[5_000]["problem"]["pointer"] == "/count"
    assert len({each["claim"]["addresses"][0]["ip"] for each in items if "claim" in each}) == 9_999
    assert items[9_999]["claim"]["handle"] == "h-9999"


def test_a_batch_of_more_than_ten_thousand_is_refused(site: Site) -> None:
    claims = [{"network": "prod"}] * 10_001
    before = site.sequence
    assert (
        problem(site.ask("POST", "/v1/claims/batch", {"claims": claims}), 422, "invalid_value")["pointer"] == "/claims"
    )
    assert site.sequence == before


def test_an_atomic_batch_is_all_or_nothing(site: Site) -> None:
    claims: list[Any] = [{"network": "prod", "handle": f"h-{number}"} for number in range(100)]
    before = site.sequence
    wrong = [*claims[:60], {"network": "nowhere"}, *claims[60:]]
    found = problem(site.ask("POST", "/v1/claims/batch", {"claims": wrong, "atomic": True}), 404, "not_found")
    assert found["pointer"] == "/claims/60/network"
    wrong[60] = {"network": "prod", "count": 0}
    found = problem(site.ask("POST", "/v1/claims/batch", {"claims": wrong, "atomic": True}), 422, "invalid_value")
    assert found["pointer"] == "/claims/60/count"
    assert site.sequence == before
    items = site.post("/v1/claims/batch", {"claims": claims, "atomic": True})["items"]
    assert [each["status"] for each in items] == [201] * 100


def test_an_atomic_batch_has_at_most_a_thousand_items(site: Site) -> None:
    claims = [{"network": "prod"}] * 1_001
    found = problem(site.ask("POST", "/v1/claims/batch", {"claims": claims, "atomic": True}), 422, "invalid_value")
    assert found["pointer"] == "/claims"


def test_many_are_released_in_one_call(site: Site) -> None:
    made = [site.post("/v1/claims", {"network": "prod", "handle": f"h-{number}"}) for number in range(3)]
    releases = [
        {"id": made[0]["id"]},
        {"id": made[1]["id"], "handle": "another"},
        {"id": "00000000000000000000"},
        {"id": made[2]["id"], "handle": "h-2"},
    ]
    items = site.post("/v1/claims/release-batch", {"releases": releases})["items"]
    assert [each["status"] for each in items][::3] == [200, 200]
    assert items[0]["claim"]["state"] == "released"
    assert items[1]["status"] in (404, 409)
    assert items[2]["status"] == 404
    assert site.get(f"/v1/claims/{made[1]['id']}")["state"] == "bound"


def test_a_batch_repeated_under_its_key_gives_the_same_answer(site: Site) -> None:
    _wide(site)
    body = {"claims": [{"network": "wide"} for _ in range(600)]}
    key = {"Idempotency-Key": "batch-1"}
    first = site.ask("POST", "/v1/claims/batch", body, headers=key)
    before = site.sequence
    assert site.ask("POST", "/v1/claims/batch", body, headers=key).json() == first.json()
    assert site.sequence == before


@pytest.mark.parametrize("other", [603, 500, 1], ids=["longer", "shorter", "one"])
def test_a_key_that_comes_with_another_batch_is_refused_whole(site: Site, other: int) -> None:
    _wide(site)
    key = {"Idempotency-Key": "batch-1"}
    claims = [{"network": "wide"} for _ in range(600)]
    site.ask("POST", "/v1/claims/batch", {"claims": claims}, headers=key)
    before = site.sequence
    claims = [{"network": "wide"} for _ in range(other)]
    again = site.ask("POST", "/v1/claims/batch", {"claims": claims}, headers=key)
    problem(again, 422, "key_reused")
    assert site.sequence == before


def test_a_key_is_of_the_items_in_their_order_and_of_the_path(site: Site) -> None:
    key = {"Idempotency-Key": "batch-1"}
    claims = [{"network": "prod", "handle": "a"}, {"network": "prod", "handle": "b"}, {"network": "nowhere"}]
    site.ask("POST", "/v1/claims/batch", {"claims": claims}, headers=key)
    before = site.sequence
    for path, body in (
        ("/v1/claims/batch", {"claims": claims[::-1]}),
        ("/v1/claims/batch", {"claims": [*claims[:2], {"network": "prod"}]}),
        ("/v1/claims/batch", {"claims": claims, "atomic": True}),
        ("/v1/claims", {"network": "prod"}),
    ):
        problem(site.ask("POST", path, body, headers=key), 422, "key_reused")
    assert site.sequence == before


def test_a_batch_of_which_nothing_was_done_leaves_its_key_free(site: Site) -> None:
    key = {"Idempotency-Key": "batch-1"}
    site.ask("POST", "/v1/claims/batch", {"claims": [{"network": "nowhere"}]}, headers=key)
    (made,) = site.post("/v1/claims/batch", {"claims": [{"network": "prod"}]}, headers=key)["items"]
    assert made["status"] == 201


def test_two_batches_under_one_key_at_once_are_one(site: Site) -> None:
    """The first is in its first chunk when the others come: nothing of them is done, whatever items they have."""
    _wide(site)
    claims = [{"network": "wide"} for _ in range(600)]
    before = site.sequence

    async def at_once() -> list[httpx.Response]:
        waiting = [
            site.client.post("/v1/claims/batch", json={"claims": some}, headers={"Idempotency-Key": "batch-1"})
            for some in (claims, claims, [*claims, {"network": "prod"}], claims[:1])
        ]
        return await asyncio.gather(*waiting)

    answers = site.runner.run(at_once())
    codes = [each.json().get("code") for each in answers]
    assert codes == [None, "conflict", "key_reused", "key_reused"]
    assert answers[1].json()["in_flight"] is True
    events = [entry.event for entry in site.store.entries(before, 10_000)]
    assert sum(isinstance(each, AddressAllocated) for each in events) == 600
    assert site.app.state.backing.keys == {}


SITE: list[dict[str, Any]] = [
    {"kind": "rack", "name": "rack-9"},
    {"kind": "host", "name": "compute-90", "parent": "rack-9"},
    {"kind": "vrf", "name": "blue"},
    {"kind": "network", "name": "lab", "vrf": "blue"},
    {"kind": "subnet", "network": "lab", "cidr": "10.0.3.0/24"},
    {"kind": "range", "subnet": "10.77.0.0/24", "start": "10.77.0.10", "end": "10.77.0.20", "role": "reserved"},
    {"kind": "device", "name": "switch-1", "location": "rack-9", "interfaces": [{"mac": "52:54:00:00:00:01"}]},
    {"kind": "claim", "network": "lab", "machine": "switch-1", "mac": "52:54:00:00:00:01", "address": "10.0.3.9"},
]


def test_an_import_makes_objects_of_many_kinds_in_one_transaction(site: Site) -> None:
    site.post("/v1/networks/prod/subnets", {"cidr": "10.77.0.0/24"})
    before = site.sequence
    tried = site.post("/v1/import?dry_run=true", {"items": SITE})["items"]
    assert site.sequence == before
    items = site.post("/v1/import", {"items": SITE})["items"]
    assert [each["kind"] for each in items] == [each["kind"] for each in tried] == [each["kind"] for each in SITE]
    assert {each["status"] for each in items} == {201}
    assert items[-1]["claim"]["addresses"][0]["ip"] == "10.0.3.9"
    assert site.get("/v1/machines/switch-1")["kind"] == "device"
    batches = {entry.batch for entry in site.store.entries(before, 1000)}
    assert len(batches) == 1


def test_an_import_with_one_wrong_item_makes_nothing(site: Site) -> None:
    before = site.sequence
    for wrong, pointer in (
        ({"kind": "planet", "name": "x"}, "/items/2/kind"),
        ({"name": "x"}, "/items/2/kind"),
        ({"kind": "host", "name": "x", "colour": "red"}, "/items/2/colour"),
        ({"kind": "claim", "network": "nowhere"}, "/items/2/network"),
        ({"kind": "network", "name": "n", "vlan_id": 7}, "/items/2/vlan_id"),
    ):
        answer = site.ask("POST", "/v1/import", {"items": [*SITE[:2], wrong, *SITE[3:4]]})
        assert answer.status_code in (404, 422), answer.text
        assert answer.json()["pointer"] == pointer
    assert site.sequence == before
