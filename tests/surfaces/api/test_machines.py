"""Machines over the API: their fields, their lives, and what they hold."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.surfaces.api.site import Site, problem

PORT = {"mac": "5254.000A.0B0C", "name": "eth0", "network": "prod", "boot": True}
KEPT = "52:54:00:0a:0b:0c"


@pytest.fixture
def node(site: Site) -> str:
    """A new machine that boots on the network."""
    return str(site.post("/v1/machines", {"name": "node-17", "interfaces": [PORT]})["name"])


def step(site: Site, machine: str, act: str, body: Any = None) -> Any:
    """A step that must succeed."""
    return site.post(f"/v1/machines/{machine}/{act}", body)


def test_a_machine_answers_all_that_was_said_of_it(site: Site) -> None:
    duid = "00:03:00:01:52:54:00:0a:0b:0c"
    said = {"name": "n", "harvest": "never", "tags": ["b", "a", "b"], "custom": {"owner": "alice", "u": 3, "on": True}}
    made = site.post("/v1/machines", {**said, "interfaces": [{**PORT, "duid": duid.upper(), "allocate": "always"}]})
    assert (made["state"], made["seen"], made["addresses"]) == ("new", None, [])
    assert (made["harvest"], made["tags"], made["custom"]) == ("never", ["a", "b"], said["custom"])
    (port,) = made["interfaces"]
    wanted = {"mac": KEPT, "name": "eth0", "duid": duid, "network": "prod", "boot": True, "allocate": "always"}
    assert {name: port[name] for name in wanted} == wanted
    assert site.get("/v1/machines/n") == made


@pytest.mark.parametrize(("kind", "state"), [("managed", "new"), ("instance", "ready"), ("device", None)])
def test_a_kind_begins_in_its_state(site: Site, kind: str, state: str | None) -> None:
    assert site.post("/v1/machines", {"name": "n", "kind": kind})["state"] == state


def test_a_replaced_mac_keeps_what_the_interface_is(site: Site, node: str) -> None:
    step(site, node, "ready")
    held = site.get(f"/v1/machines/{node}")
    new = "52:54:00:00:00:99"
    changed = site.ask("PATCH", f"/v1/machines/{node}", {"interfaces": [{"mac": new, "name": "eth0"}]}).json()
    assert changed["interfaces"] == [{**held["interfaces"][0], "mac": new}]
    assert changed["addresses"] == held["addresses"]


def test_a_life_from_new_to_retired(site: Site, node: str) -> None:
    assert step(site, node, "commission")["state"] == "commissioning"
    ready = step(site, node, "ready")
    (own,) = ready["addresses"]
    assert (own["standing"], own["interface"], own["network"], own["lease"]) == ("primary", "eth0", "prod", False)
    assert own["name"] == "node-17.prod.example."
    assert (ready["state"], ready["displaced"], ready["pending"]) == ("ready", [], [])
    deployed = step(site, node, "deploy")
    assert (deployed["state"], deployed["addresses"]) == ("deployed", [own])
    assert step(site, node, "release")["addresses"] == [own]
    retired = step(site, node, "retire")
    assert (retired["state"], retired["addresses"]) == ("retired", [])
    assert site.get(f"/v1/addresses/{own['ip']}")["state"] == "cooling"


def test_a_step_that_happened_is_answered_and_not_recorded(site: Site, node: str) -> None:
    first = step(site, node, "ready")
    before = site.sequence
    assert step(site, node, "ready") == first
    assert site.sequence == before


def test_a_step_out_of_order_says_which_comes_first(site: Site, node: str) -> None:
    found = problem(site.ask("POST", f"/v1/machines/{node}/deploy"), 409, "conflict")
    assert "commission it first" in found["detail"]


def test_a_device_has_no_lifecycle(site: Site) -> None:
    site.post("/v1/machines", {"name": "switch", "kind": "device"})
    assert "lifecycle" in problem(site.ask("POST", "/v1/machines/switch/ready"), 409, "conflict")["detail"]


def test_a_deployment_with_a_reservation_says_what_became_of_the_own_address(site: Site, node: str) -> None:
    (own,) = step(site, node, "ready")["addresses"]
    reserved = site.post("/v1/claims", {"network": "prod", "handle": "vip"})["addresses"][0]["ip"]
    deployed = step(site, node, "deploy", {"from": "vip"})
    assert [(each["ip"], each["standing"]) for each in deployed["addresses"]] == [
        (reserved, "primary"),
        (own["ip"], "shelved"),
    ]
    assert [(each["ip"], each["became"]) for each in deployed["displaced"]] == [(own["ip"], "shelved")]
    assert site.get(f"/v1/machines/{node}")["addresses"] == deployed["addresses"]
    released = step(site, node, "release")
    assert [(each["ip"], each["standing"]) for each in released["addresses"]] == [(own["ip"], "primary")]
    assert {each["became"] for each in released["displaced"]} == {"restored", "returned"}


def test_a_dry_step_shows_what_would_be(site: Site, node: str) -> None:
    before = site.sequence
    tried = site.post(f"/v1/machines/{node}/ready?dry_run=true")
    assert (tried["state"], len(tried["addresses"])) == ("ready", 1)
    assert site.sequence == before
    assert site.get(f"/v1/machines/{node}")["addresses"] == []


def test_seen_is_now_or_before(site: Site, node: str) -> None:
    now = site.clock.now()
    then = (now - timedelta(days=9)).isoformat().replace("+00:00", "Z")
    assert step(site, node, "seen", {"at": then})["seen"] == then
    assert datetime.fromisoformat(step(site, node, "seen")["seen"]) == now
    late = (now + timedelta(days=1)).isoformat()
    assert problem(site.ask("POST", f"/v1/machines/{node}/seen", {"at": late}), 422, "invalid_value")


def test_a_batch_takes_machines_on_by_themselves(site: Site) -> None:
    names = [f"n-{number}" for number in range(300)]
    for number, name in enumerate(names):
        port = {"mac": f"52:54:00:00:{number >> 8:02x}:{number & 255:02x}", "network": "prod"}
        site.post("/v1/machines", {"name": name, "interfaces": [port]})
    done = site.post("/v1/machines/batch", {"act": "ready", "machines": [*names, "nobody"]})["items"]
    assert [each["status"] for each in done].count(200) == 252  # as many as the subnet has
    assert {each["problem"]["code"] for each in done[:-1] if "problem" in each} == {"exhausted"}
    assert done[-1]["problem"]["code"] == "not_found"
    assert [each["machine"]["name"] for each in done if "machine" in each] == names[:252]
    held = [each["machine"]["addresses"][0]["ip"] for each in done if "machine" in each]
    assert len(set(held)) == 252


def test_an_atomic_batch_is_all_or_nothing(site: Site, node: str) -> None:
    before = site.sequence
    body = {"act": "ready", "machines": [node, "nobody"], "atomic": True}
    found = problem(site.ask("POST", "/v1/machines/batch", body), 404, "not_found")
    assert found["pointer"].startswith("/machines/1")
    assert site.sequence == before
    body["machines"] = [node]
    assert site.post("/v1/machines/batch", body)["items"][0]["machine"]["state"] == "ready"


def test_machines_are_found_by_what_they_are(site: Site, node: str) -> None:
    site.post("/v1/machines", {"name": "vm", "kind": "instance", "tags": ["a", "b"], "custom": {"u": 3, "on": True}})
    site.post("/v1/machines", {"name": "switch", "kind": "device", "tags": ["a"], "custom": {"u": "3"}})

    def named(query: str) -> list[str]:
        return sorted(each["name"] for each in site.get(f"/v1/machines?{query}")["items"])

    assert named("state=new") == [node]
    assert named("state=ready") == ["vm"]
    assert named("kind=device") == ["switch"]
    assert named("tag=a") == ["switch", "vm"]
    assert named("tag=a,b") == ["vm"]
    assert named("custom=u:3") == ["switch", "vm"]
    assert named("custom=u:3,on:true") == ["vm"]
    assert named("tag=a&kind=instance&q=v") == ["vm"]
    step(site, node, "ready")
    assert named("state=ready") == [node, "vm"]
    problem(site.ask("GET", "/v1/machines?tag=A"), 422, "invalid_value")
    problem(site.ask("GET", "/v1/machines?state=gone"), 422, "invalid_value")
