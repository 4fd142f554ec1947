"""What may be said of a claim besides who and where: several addresses, an end, reservations, tags; and changes."""

from datetime import timedelta
from typing import Any

import pytest

from tests.surfaces.api.site import Site, problem

MAC = "52:54:00:0a:0b:0c"
OTHER = "52:54:00:00:00:99"


def _claim(site: Site, handle: str, **more: Any) -> Any:
    return site.post("/v1/claims", {"network": "prod", "handle": handle, **more})


def _ips(claim: Any) -> list[str]:
    return [address["ip"] for address in claim["addresses"]]


def test_a_claim_answers_all_that_was_said_of_it_alone_in_a_batch_and_in_an_import(site: Site) -> None:
    said = {
        "expires": "2026-12-24T16:00:00+01:00",
        "harvest": "never",
        "tags": ["b", "a", "b"],
        "custom": {"u": 3},
        "shared": True,
        "static": True,
        "queue": True,
    }
    wanted = {**said, "expires": "2026-12-24T15:00:00Z", "tags": ["a", "b"], "kept": None, "from": None}
    alone = _claim(site, "alone", **said)
    batch = site.post("/v1/claims/batch", {"claims": [{"network": "prod", "handle": "b", **said}]})
    imported = site.post("/v1/import", {"items": [{"kind": "claim", "network": "prod", "handle": "i", **said}]})
    for claim in (alone, batch["items"][0]["claim"], imported["items"][0]["claim"]):
        assert {name: claim[name] for name in wanted} == wanted
    assert site.get(f"/v1/claims/{alone['id']}") == alone


def test_a_claim_by_several_addresses_gets_exactly_these(site: Site) -> None:
    assert _ips(_claim(site, "a", addresses=["10.0.3.77", "10.0.3.70"])) == ["10.0.3.70", "10.0.3.77"]
    found = problem(
        site.ask("POST", "/v1/claims", {"network": "prod", "addresses": ["10.0.3.9", "10.0.3.x"]}), 422, "invalid_value"
    )
    assert found["pointer"] == "/addresses/1"


def test_addresses_side_by_side(site: Site) -> None:
    ips = _ips(_claim(site, "a", count=5, contiguous=True))
    last = [int(ip.rpartition(".")[2]) for ip in ips]
    assert last == list(range(last[0], last[0] + 5))


@pytest.mark.parametrize("named", ["id", "handle"])
def test_a_claim_takes_the_address_of_a_reservation_and_gives_it_back(site: Site, named: str) -> None:
    reserved = _claim(site, "landscape", purpose="landscape")
    (ip,) = _ips(reserved)
    used = _claim(site, "used", mac=MAC, **{"from": reserved[named]})
    assert (_ips(used), used["from"]) == ([ip], reserved["id"])
    assert _ips(site.get(f"/v1/claims/{reserved['id']}")) == []
    released = site.post(f"/v1/claims/{used['id']}/release")
    assert released["displaced"] == [{"ip": ip, "became": "returned", "claim": reserved["id"]}]
    assert _ips(site.get(f"/v1/claims/{reserved['id']}")) == [ip]


def test_another_projects_reservation_is_refused(site: Site) -> None:
    reserved = _claim(site, "theirs", project="blue")
    body = {"network": "prod", "mac": MAC, "from": reserved["id"]}
    problem(site.ask("POST", "/v1/claims", body), 403, "not_permitted")


@pytest.mark.parametrize(
    ("on_override", "became", "standing"),
    [("shelve", "shelved", "shelved"), ("keep", "kept", "alias"), ("release", "released", None)],
)
def test_an_override_says_what_became_of_the_old_address(
    site: Site, on_override: str, became: str, standing: str | None
) -> None:
    old = _claim(site, "old", mac=MAC)
    new = _claim(site, "new", mac=MAC, on_override=on_override)
    assert new["displaced"] == [{"ip": _ips(old)[0], "became": became, "claim": old["id"]}]
    assert new["addresses"][0]["standing"] == "primary"
    left = site.get(f"/v1/claims/{old['id']}")["addresses"]
    assert [each["standing"] for each in left] == ([] if standing is None else [standing])


def test_an_alias_overrides_nothing(site: Site) -> None:
    _claim(site, "old", mac=MAC)
    alias = _claim(site, "new", mac=MAC, alias=True)
    assert (alias["displaced"], alias["addresses"][0]["standing"]) == ([], "alias")


def test_a_full_network_refuses_or_queues(site: Site) -> None:
    site.post("/v1/networks", {"name": "small", "cooldown": 0})
    site.post("/v1/networks/small/subnets", {"cidr": "10.0.9.0/31"})
    holders = [site.post("/v1/claims", {"network": "small"}) for _ in range(2)]
    problem(site.ask("POST", "/v1/claims", {"network": "small"}), 409, "exhausted")
    answer = site.ask("POST", "/v1/claims", {"network": "small", "queue": True})
    assert (answer.status_code, answer.json()["state"]) == (202, "pending")
    assert holders[0]["state"] == "bound"


def test_what_is_said_of_a_claim_is_changed(site: Site) -> None:
    claim = _claim(site, "a", tags=["old"], custom={"owner": "alice"}, expires="2030-01-01T00:00:00Z")
    path = f"/v1/claims/{claim['id']}"
    said = {"static": True, "harvest": "allowed", "tags": ["new"], "custom": {}, "expires": None}
    changed = site.ask("PATCH", path, said, headers={"If-Match": '"1"'}).json()
    assert changed == {**claim, **said, "revision": 2}
    assert site.get(path) == changed
    problem(site.ask("PATCH", path, {"tags": []}, headers={"If-Match": '"1"'}), 412, "stale_revision")
    problem(site.ask("PATCH", path, {"purpose": "x"}), 422, "invalid_value")


@pytest.mark.parametrize("said", ["tomorrow", "2026-12-24", "2026-12-24T15:00:00", 7])
def test_an_end_is_a_time_with_its_zone(site: Site, said: Any) -> None:
    found = problem(site.ask("POST", "/v1/claims", {"network": "prod", "expires": said}), 422, "invalid_value")
    assert found["detail"] == "/expires must be a time with its zone (RFC 3339), as 2026-11-24T15:00:00Z."


def test_an_end_in_the_past_is_refused(site: Site) -> None:
    past = (site.clock.now() - timedelta(seconds=1)).isoformat()
    found = problem(site.ask("POST", "/v1/claims", {"network": "prod", "expires": past}), 422, "invalid_value")
    assert found["pointer"] == "/expires"


def test_claims_are_listed_by_tag_field_and_how_long_they_are_kept(site: Site) -> None:
    _claim(site, "a", tags=["x", "y"], custom={"owner": "alice"})
    _claim(site, "b", tags=["x"])
    port = {"mac": MAC, "network": "prod", "boot": True}
    site.post("/v1/machines", {"name": "node-1", "interfaces": [port]})
    site.post("/v1/machines/node-1/ready")

    def handles(query: str) -> list[str]:
        return sorted(each["handle"].partition(":")[0] for each in site.get("/v1/claims?" + query)["items"])

    assert handles("tag=x") == ["a", "b"]
    assert handles("tag=x,y") == ["a"]
    assert handles("custom=owner:alice") == ["a"]
    assert handles("kept=life") == ["machine"]
    assert handles("kept=deployment") == []


def test_a_claim_says_who_uses_it_now(site: Site) -> None:
    site.post("/v1/machines", {"name": "vm-1", "kind": "instance", "interfaces": [{"mac": MAC}]})
    site.post("/v1/machines", {"name": "vm-2", "kind": "instance", "interfaces": [{"mac": OTHER}]})
    claim = _claim(site, "a", mac=MAC)
    assert (claim["machine"], claim["mac"]) == ("vm-1", MAC)
    moved = site.post(f"/v1/addresses/{_ips(claim)[0]}/reassign", {"interface": OTHER})
    assert (moved["id"], moved["machine"], moved["mac"]) == (claim["id"], "vm-2", OTHER)
    assert site.get(f"/v1/claims/{claim['id']}") == {**moved, "displaced": [], "effective_by": None}
