"""Moving claims, evacuating hosts and draining over HTTP."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.surfaces.api.site import Site, problem


def _claim(site: Site, handle: str, **more: Any) -> Any:
    return site.post("/v1/claims", {"network": "prod", "handle": handle, "host": "compute-7", **more})


def test_a_moved_claim_says_whom_it_leaves_until_when(site: Site) -> None:
    claim = _claim(site, "a")
    assert (claim["leaving"], claim["settles"]) == (None, None)
    moved = site.post(f"/v1/claims/{claim['id']}/rebind", {"host": "compute-8", "handover": 90})
    assert (moved["host"], moved["leaving"], moved["addresses"][0]["title"]) == ("compute-8", "compute-7", "borrowed")
    assert datetime.fromisoformat(moved["settles"]) == site.clock.now() + timedelta(seconds=90)
    assert site.get(f"/v1/claims/{claim['id']}") == moved
    for _ in range(2):
        settled = site.post(f"/v1/claims/{claim['id']}/settle")
        assert (settled["leaving"], settled["settles"], settled["revision"]) == (None, None, 3)
    assert site.get(f"/v1/claims/{claim['id']}") == settled


def test_a_hand_over_is_thirty_seconds_or_what_is_said_or_none(site: Site) -> None:
    claim = _claim(site, "a")
    path = f"/v1/claims/{claim['id']}/rebind"
    usual = site.post(path, {"host": "compute-8"})
    assert datetime.fromisoformat(usual["settles"]) == site.clock.now() + timedelta(seconds=30)
    assert site.post(path, {"host": "compute-7", "handover": 0})["leaving"] is None
    found = problem(site.ask("POST", path, {"host": "compute-8", "handover": -1}), 422, "invalid_value")
    assert found["pointer"] == "/handover"


def test_a_hard_boundary_says_which_level_keeps_the_address(site: Site) -> None:
    site.ask("PATCH", "/v1/networks/prod", {"boundary": "hard"})
    claim = _claim(site, "a")
    found = problem(site.ask("POST", f"/v1/claims/{claim['id']}/rebind", {"host": "compute-8"}), 409, "conflict")
    assert (found["boundary"], found["reach"], found["address"]) == ("hard", "host", claim["addresses"][0]["ip"])


def test_a_host_is_evacuated_whole_or_not_at_all(site: Site) -> None:
    held = [_claim(site, f"h{n}") for n in range(3)]
    waiting = _claim(site, "waiting", defer=True)
    done = site.post("/v1/locations/compute-7/evacuate", {"to": "compute-8"})
    assert [each["id"] for each in done["claims"]] == [each["id"] for each in held]
    assert done["count"] == 3
    assert {each["host"] for each in done["claims"]} == {"compute-8"}
    assert site.get(f"/v1/claims/{waiting['id']}")["host"] == "compute-7"
    site.post("/v1/locations/compute-7/drain")
    found = problem(site.ask("POST", "/v1/locations/compute-8/evacuate", {"to": "compute-7"}), 409, "conflict")
    assert (found["location"], found["pointer"]) == ("compute-7", "/to")
    assert {each["host"] for each in site.get("/v1/claims?state=bound")["items"]} == {"compute-8"}


def test_a_refused_evacuation_names_the_claim(site: Site) -> None:
    _claim(site, "free")
    site.post("/v1/networks/prod/subnets", {"cidr": "10.0.4.0/24", "locations": ["compute-7"]})
    tied = _claim(site, "tied", subnet="10.0.4.0/24")
    found = problem(site.ask("POST", "/v1/locations/compute-7/evacuate", {"to": "compute-8"}), 409, "conflict")
    assert found["claim"] == tied["id"]
    assert "'tied'" in found["detail"]
    assert {each["host"] for each in site.get("/v1/claims")["items"]} == {"compute-7"}


@pytest.mark.parametrize("place", ["compute-7", "rack-3"])
def test_a_drained_place_lists_what_is_left_until_it_is_empty(site: Site, place: str) -> None:
    claim = _claim(site, "a")
    drained = site.post(f"/v1/locations/{place}/drain")
    assert (drained["draining"], drained["location"]["name"], drained["count"]) == (True, place, 1)
    assert drained["claims"] == [claim]
    assert site.get(f"/v1/locations/{place}")["draining"] is True
    found = problem(site.ask("POST", "/v1/claims", {"network": "prod", "host": "compute-7"}), 409, "conflict")
    assert (found["location"], found["pointer"]) == (place, "/host")
    site.post(f"/v1/claims/{claim['id']}/release")
    before = site.sequence
    assert site.post(f"/v1/locations/{place}/drain")["count"] == 0
    assert site.sequence == before
    again = site.post(f"/v1/locations/{place}/drain", {"draining": False})
    assert again["draining"] is False
    _claim(site, "b")


def test_the_first_twenty_are_shown_and_all_are_counted(site: Site) -> None:
    held = [_claim(site, f"h{n}")["id"] for n in range(23)]
    drained = site.post("/v1/locations/compute-7/drain")
    assert [each["id"] for each in drained["claims"]] == sorted(held)[:20]
    assert drained["count"] == 23


def test_a_drained_subnet_gives_nothing_and_lists_its_holders(site: Site) -> None:
    claim = _claim(site, "a")
    before = site.get("/v1/networks/prod/capacity")["v4"]
    tried = site.post(f"/v1/subnets/{site.subnet}/drain?dry_run=true")
    assert (tried["draining"], tried["count"]) == (True, 1)
    drained = site.post(f"/v1/subnets/{site.subnet}/drain")
    assert (drained["subnet"]["cidr"], drained["claims"], drained["count"]) == ("10.0.3.0/24", [claim], 1)
    problem(site.ask("POST", "/v1/claims", {"network": "prod"}), 409, "exhausted")
    count = site.get("/v1/networks/prod/capacity")["v4"]
    assert (count["capacity"], count["available"]) == (before["capacity"], 0)
    assert count["capacity"] == count["in_use"] + count["reserved"] + count["cooling"]


def test_a_drain_honours_the_revision(site: Site) -> None:
    revision = site.get("/v1/locations/compute-7")["revision"]
    site.ask("PATCH", "/v1/locations/compute-7", {"relay": {"circuit_id": "aa"}})
    late = site.ask("POST", "/v1/locations/compute-7/drain", headers={"If-Match": f'"{revision}"'})
    problem(late, 412, "stale_revision")


def test_a_subnet_is_not_taken_from_where_its_holders_are(site: Site) -> None:
    claim = _claim(site, "a")
    found = problem(site.ask("PATCH", f"/v1/subnets/{site.subnet}", {"locations": ["compute-8"]}), 409, "in_use")
    assert found["holders"] == [f"{claim['addresses'][0]['ip']} at compute-7"]
    assert site.ask("PATCH", f"/v1/subnets/{site.subnet}", {"locations": ["rack-3"]}).status_code == 200


def test_a_drained_place_tells_what_it_still_announces(site: Site) -> None:
    claim = _claim(site, "a")
    site.post("/v1/locations/compute-7/drain")
    moved = site.post("/v1/locations/compute-7/evacuate", {"to": "compute-8"})["claims"]
    drained = site.post("/v1/locations/compute-7/drain")
    assert (drained["count"], drained["leaving"], drained["leaving_count"]) == (0, moved, 1)
    site.post(f"/v1/claims/{claim['id']}/settle")
    drained = site.post("/v1/locations/compute-7/drain")
    assert (drained["leaving"], drained["leaving_count"]) == ([], 0)


@pytest.mark.parametrize(("verb", "defer"), [("bind", True), ("rebind", False)])
def test_a_claim_is_bound_and_moved_to_hosts_only(site: Site, verb: str, defer: bool) -> None:
    claim = _claim(site, "a", defer=defer)
    found = problem(site.ask("POST", f"/v1/claims/{claim['id']}/{verb}", {"host": "rack-3"}), 422, "invalid_value")
    assert (found["kind"], found["pointer"], found["detail"]) == ("rack", "/host", "rack-3 is a rack; name a host")
    found = problem(site.ask("POST", "/v1/locations/compute-7/evacuate", {"to": "rack-3"}), 422, "invalid_value")
    assert found["pointer"] == "/to"


def test_a_deleted_host_ends_its_hand_overs(site: Site) -> None:
    claim = _claim(site, "a")
    moved = site.post(f"/v1/claims/{claim['id']}/rebind", {"host": "compute-8", "handover": 90})
    assert moved["leaving"] == "compute-7"
    assert site.ask("DELETE", "/v1/locations/compute-7").status_code == 204
    after = site.get(f"/v1/claims/{claim['id']}")
    assert (after["host"], after["leaving"], after["settles"]) == ("compute-8", None, None)
