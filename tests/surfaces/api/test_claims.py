"""Claims over HTTP: shapes, states and repetition, as design's api.md and semantics.md say."""

import asyncio

from tests.surfaces.api.site import Site, problem


def test_a_claim_near_a_host_is_answered_with_its_address(site: Site) -> None:
    answer = site.ask(
        "POST", "/v1/claims", {"network": "prod", "handle": "a", "host": "compute-7", "hostname": "vm-17"}
    )
    assert answer.status_code == 201
    claim = answer.json()
    assert claim["state"] == "bound"
    assert claim["host"] == "compute-7"
    (address,) = claim["addresses"]
    assert address["prefix_length"] == 24
    assert address["gateway"] == "10.0.3.1"
    assert address["dns_servers"] == ["10.0.3.2"]
    assert address["subnet"] == site.subnet
    assert address["name"] == "vm-17.prod.example."
    assert answer.headers["location"] == f"/v1/claims/{claim['id']}"
    assert answer.headers["etag"] == f'"{claim["revision"]}"'
    assert int(answer.headers["tenure-sequence"].partition(":")[2]) == site.sequence
    assert site.get(f"/v1/claims/{claim['id']}") == claim


def test_the_same_handle_gets_the_same_answer_and_another_content_a_conflict(site: Site) -> None:
    body = {"network": "prod", "handle": "a", "host": "compute-7"}
    first = site.ask("POST", "/v1/claims", body)
    again = site.ask("POST", "/v1/claims", body)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    problem(site.ask("POST", "/v1/claims", {**body, "host": "compute-8"}), 409, "conflict")


def test_a_deferred_claim_is_pending_until_it_is_bound(site: Site) -> None:
    pending = site.ask("POST", "/v1/claims", {"network": "prod", "handle": "later", "defer": True})
    assert pending.status_code == 202
    assert pending.json()["state"] == "pending"
    assert pending.json()["addresses"] == []
    bound = site.post(f"{pending.headers['location']}/bind", {"host": "compute-7"})
    assert bound["state"] == "bound"
    assert len(bound["addresses"]) == 1
    assert site.get(pending.headers["location"]) == bound


def test_whoever_waits_for_a_pending_claim_hears_of_its_binding(site: Site) -> None:
    pending = site.ask("POST", "/v1/claims", {"network": "prod", "defer": True})
    where = pending.headers["location"]

    async def both() -> str:
        waiting = asyncio.create_task(site.client.get(where + "?wait=30s"))
        await asyncio.sleep(0)
        await site.client.post(where + "/bind", json={"host": "compute-7"})
        return str((await waiting).json()["state"])

    assert site.runner.run(both()) == "bound"


def test_a_rebound_claim_keeps_its_address_on_a_soft_boundary(site: Site) -> None:
    claim = site.post("/v1/claims", {"network": "prod", "host": "compute-7"})
    moved = site.post(f"/v1/claims/{claim['id']}/rebind", {"host": "compute-8"})
    assert moved["host"] == "compute-8"
    assert [each["ip"] for each in moved["addresses"]] == [each["ip"] for each in claim["addresses"]]


def test_release_answers_the_claim_again_and_again_and_delete_nothing(site: Site) -> None:
    claim = site.post("/v1/claims", {"network": "prod"})
    released = site.post(f"/v1/claims/{claim['id']}/release")
    assert released["state"] == "released"
    assert site.post(f"/v1/claims/{claim['id']}/release")["state"] == "released"
    other = site.post("/v1/claims", {"network": "prod"})
    answer = site.ask("DELETE", f"/v1/claims/{other['id']}")
    assert (answer.status_code, answer.content) == (204, b"")
    assert site.get(f"/v1/claims/{other['id']}")["state"] == "released"


def test_a_late_release_by_handle_frees_nobody_elses_claim(site: Site) -> None:
    first = site.post("/v1/claims", {"network": "prod", "handle": "a"})
    site.post("/v1/claims/release", {"handle": "a", "id": first["id"]})
    second = site.post("/v1/claims", {"network": "prod", "handle": "a"})
    late = site.ask("POST", "/v1/claims/release", {"handle": "a", "id": first["id"]})
    assert late.status_code == 200
    assert site.get(f"/v1/claims/{second['id']}")["state"] == "bound"
    other = site.ask("POST", "/v1/claims/release", {"handle": "b", "id": second["id"]})
    assert other.status_code in (404, 409), other.text
    assert site.get(f"/v1/claims/{second['id']}")["state"] == "bound"


def test_a_host_that_is_no_location_is_not_found_and_named_by_pointer(site: Site) -> None:
    found = problem(site.ask("POST", "/v1/claims", {"network": "prod", "host": "compute-99"}), 404, "not_found")
    assert found["pointer"] == "/host"
    found = problem(site.ask("POST", "/v1/claims", {"network": "prud"}), 404, "not_found")
    assert found["pointer"] == "/network"


def test_an_address_that_another_holds_is_already_allocated(site: Site) -> None:
    site.post("/v1/claims", {"network": "prod", "address": "10.0.3.5"})
    found = problem(
        site.ask("POST", "/v1/claims", {"network": "prod", "address": "10.0.3.5"}), 409, "already_allocated"
    )
    assert found["address"] == "10.0.3.5"


def test_a_full_network_is_exhausted(site: Site) -> None:
    site.post("/v1/networks", {"name": "tiny"})
    site.post("/v1/networks/tiny/subnets", {"cidr": "10.9.0.0/30", "gateway": "10.9.0.1"})
    site.post("/v1/claims", {"network": "tiny"})
    problem(site.ask("POST", "/v1/claims", {"network": "tiny"}), 409, "exhausted")


def test_a_mac_is_taken_in_any_spelling_and_given_in_one(site: Site) -> None:
    claim = site.post("/v1/claims", {"network": "prod", "mac": "5254.000A.0B0C", "machine": "vm-17"})
    assert claim["mac"] == "52:54:00:0a:0b:0c"
    (interface,) = site.get("/v1/machines/vm-17")["interfaces"]
    assert interface["mac"] == "52:54:00:0a:0b:0c"


def test_claims_are_listed_by_page_and_filter(site: Site) -> None:
    made = [site.post("/v1/claims", {"network": "prod", "host": "compute-7"})["id"] for _ in range(5)]
    site.post("/v1/claims", {"network": "prod", "host": "compute-8"})
    found, after = [], ""
    while True:
        page = site.get(f"/v1/claims?host=compute-7&limit=2{after}")
        found += [each["id"] for each in page["items"]]
        if page["next"] is None:
            break
        after = f"&after={page['next']}"
    assert sorted(found) == sorted(made)
    problem(site.ask("GET", "/v1/claims?host=nowhere"), 404, "not_found")
