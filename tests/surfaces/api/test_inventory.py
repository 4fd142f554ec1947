"""The inventory over HTTP: made, read, changed and deleted; names wherever an id is."""

from typing import Any

import pytest

from tests.surfaces.api.site import Site, problem


def test_a_vrf_lives_and_ends(bare: Site) -> None:
    made = bare.ask("POST", "/v1/vrfs", {"name": "blue"})
    assert made.status_code == 201
    where = made.headers["location"]
    assert bare.get("/v1/vrfs/blue") == bare.get(where) == made.json()
    assert bare.ask("PATCH", where, {"name": "green"}).json()["name"] == "green"
    assert bare.ask("DELETE", "/v1/vrfs/green").status_code == 204
    problem(bare.ask("GET", where), 404, "not_found")


def test_a_location_is_in_its_parent_and_known_to_its_relay(site: Site) -> None:
    made = site.post(
        "/v1/locations",
        {"name": "rack-4", "kind": "rack", "relay": {"circuit_id": "0006000A", "remote_id": None}},
    )
    assert made["relay"] == {"circuit_id": "0006000a", "remote_id": None}
    moved = site.ask("PATCH", "/v1/locations/compute-8", {"parent": "rack-4"}).json()
    assert moved["parent"] == "rack-4"
    assert [each["name"] for each in site.get("/v1/locations?parent=rack-4")["items"]] == ["compute-8"]
    bad = site.ask("PATCH", "/v1/locations/rack-4", {"relay": {"circuit_id": "xyz"}})
    assert problem(bad, 422, "invalid_value")["pointer"] == "/relay/circuit_id"


def test_a_network_has_defaults_and_policies(site: Site) -> None:
    shown = site.get("/v1/networks/prod")
    assert shown["vrf"] == "default"
    assert (shown["model"], shown["strategy"], shown["boundary"], shown["cooldown"]) == (
        "flat",
        "topology",
        "soft",
        300,
    )
    dhcp: dict[str, Any] = {
        "enabled": True,
        "lease_time": 600,
        "options": {"ntp_servers": ["10.0.3.4"], "42": "hex:0a000304"},
    }
    changed = site.ask("PATCH", "/v1/networks/prod", {"boundary": "hard", "dhcp": dhcp}).json()
    assert changed["boundary"] == "hard"
    assert changed["dhcp"]["lease_time"] == 600
    assert site.get("/v1/networks/prod") == changed
    for dhcp, pointer in (({"lease_time": 59}, "/dhcp/lease_time"), ({"colour": 1}, "/dhcp/colour")):
        found = problem(site.ask("PATCH", "/v1/networks/prod", {"dhcp": dhcp}), 422, "invalid_value")
        assert found["pointer"] == pointer


def test_a_networks_domain_is_a_name(site: Site) -> None:
    changed = site.ask("PATCH", "/v1/networks/prod", {"domain": "Lab.Example"})
    assert changed.json()["domain"] == "lab.example."
    found = problem(site.ask("PATCH", "/v1/networks/prod", {"domain": "a..b"}), 422, "invalid_value")
    assert found["pointer"] == "/domain"


def test_a_subnet_is_bound_to_locations_and_has_ranges(site: Site) -> None:
    made = site.post("/v1/networks/prod/subnets", {"cidr": "2001:db8::/64", "locations": ["rack-3"], "reverse": "off"})
    assert (made["network"], made["vrf"], made["locations"]) == ("prod", "default", ["rack-3"])
    listed = {each["cidr"] for each in site.get("/v1/networks/prod/subnets")["items"]}
    assert listed == {"10.0.3.0/24", "2001:db8::/64"}
    assert len(site.get("/v1/subnets?network=prod")["items"]) == 2
    path = f"/v1/subnets/{site.subnet}/ranges"
    made = site.post(path, {"start": "10.0.3.200", "end": "10.0.3.250", "role": "dynamic"})
    assert site.get(path)["items"] == [made] == site.get(f"/v1/ranges?subnet={site.subnet}")["items"]
    changed = site.ask("PATCH", f"/v1/ranges/{made['id']}", {"note": "visitors"}).json()
    assert changed["note"] == "visitors"
    assert site.ask("DELETE", f"/v1/ranges/{made['id']}").status_code == 204


def test_capacity_sums_exactly(site: Site) -> None:
    site.post("/v1/claims", {"network": "prod", "host": "compute-7"})
    counted = site.get("/v1/networks/prod/capacity")
    assert set(counted) == {"v4", "v6"}
    v4 = counted["v4"]
    assert v4["in_use"] == 1
    assert v4["capacity"] == v4["in_use"] + v4["reserved"] + v4["cooling"] + v4["available"]
    places = site.get("/v1/networks/prod/capacity?by=location")["locations"]
    assert {"compute-7"} <= {each["name"] for each in places}
    found = problem(site.ask("GET", "/v1/networks/prod/capacity?by=planet"), 422, "invalid_value")
    assert found["allowed"] == ["location"]


def test_a_machine_has_interfaces(site: Site) -> None:
    body: dict[str, Any] = {"name": "vm-17", "kind": "instance", "location": "compute-7"}
    made = site.post("/v1/machines", {**body, "interfaces": [{"mac": "52-54-00-0A-0B-0C", "name": "eth0"}]})
    assert made["location"] == "compute-7"
    assert [(each["mac"], each["name"]) for each in made["interfaces"]] == [("52:54:00:0a:0b:0c", "eth0")]
    changed = site.ask("PATCH", "/v1/machines/vm-17", {"interfaces": [{"mac": "52:54:00:00:00:02"}]}).json()
    assert [each["mac"] for each in changed["interfaces"]] == ["52:54:00:00:00:02"]
    assert site.get("/v1/machines?location=compute-7")["items"] == [changed]
    bad = {"name": "x", "interfaces": [{"mac": "52:54:00:00:00:03"}, {"mac": "01:00:5e:00:00:01"}]}
    assert problem(site.ask("POST", "/v1/machines", bad), 422, "invalid_value")["pointer"] == "/interfaces/1/mac"
    assert site.ask("DELETE", "/v1/machines/vm-17").status_code == 204


@pytest.mark.parametrize("path", ["vrfs", "locations", "networks", "machines", "tokens"])
def test_a_name_is_taken_once(site: Site, path: str) -> None:
    more = {"locations": {"kind": "rack"}, "tokens": {"role": "viewer"}}.get(path, {})
    site.post(f"/v1/{path}", {"name": "twice", **more})
    problem(site.ask("POST", f"/v1/{path}", {"name": "twice", **more}), 409, "conflict")


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ({"rack": "hard"}, {"rack": "hard"}),
        ({"rack": "hard", "site": "soft"}, {"rack": "hard"}),
        ({"host": "hard", "site": "hard"}, "hard"),
        ({}, "soft"),
    ],
)
def test_a_boundary_by_level_has_one_spelling(site: Site, sent: Any, kept: Any) -> None:
    changed = site.ask("PATCH", "/v1/networks/prod", {"boundary": sent}).json()
    assert changed["boundary"] == site.get("/v1/networks/prod")["boundary"] == kept
    asked = site.ask("PATCH", "/v1/networks/prod", {"boundary": {"rack": "firm"}})
    assert problem(asked, 422, "invalid_value")["pointer"] == "/boundary/rack"


def test_a_network_has_a_route_budget_and_only_tenure_says_whether_it_is_over_it(site: Site) -> None:
    changed = site.ask("PATCH", "/v1/networks/prod", {"route_budget": 500, "prefer": "fabric"}).json()
    assert (changed["route_budget"], changed["prefer"], changed["over_budget"]) == (500, "fabric", False)
    asked = site.ask("PATCH", "/v1/networks/prod", {"over_budget": True})
    assert problem(asked, 422, "invalid_value")["pointer"] == "/over_budget"
    assert site.ask("PATCH", "/v1/networks/prod", {"route_budget": None}).json()["route_budget"] is None


def test_a_location_has_a_router_in_one_spelling(site: Site) -> None:
    changed = site.ask("PATCH", "/v1/locations/rack-3", {"router": "2001:DB8:0::3"}).json()
    assert changed["router"] == "2001:db8::3"
    made = site.post("/v1/locations", {"name": "rack-9", "kind": "rack", "router": "10.255.0.9"})
    assert site.ask("PATCH", "/v1/locations/rack-9", {"name": "rack-10"}).json()["router"] == made["router"]
    for name, text in (
        ("router", "rack-3.example"),
        ("router", "0.0.0.0"),
        ("router_v6", "ff02::1"),
        ("router_v6", "10.255.0.3"),
    ):
        asked = site.ask("PATCH", "/v1/locations/rack-3", {name: text})
        assert problem(asked, 422, "invalid_value")["pointer"] == f"/{name}"
    assert site.ask("PATCH", "/v1/locations/rack-3", {"router": None}).json()["router"] is None
