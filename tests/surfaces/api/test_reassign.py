"""Addresses given to somebody else, renamed, attached and detached over HTTP."""

from typing import Any

import pytest

from tests.surfaces.api.site import Site, problem

ONE, TWO = "52:54:00:00:00:01", "52:54:00:00:00:02"


@pytest.fixture
def site(site: Site) -> Site:
    """Two machines, each with an interface."""
    for name, mac in (("vm-1", ONE), ("vm-2", TWO)):
        site.post("/v1/machines", {"name": name, "kind": "instance", "interfaces": [{"mac": mac}]})
    return site


def _claim(site: Site, handle: str, **more: Any) -> tuple[Any, str]:
    claim = site.post("/v1/claims", {"network": "prod", "handle": handle, **more})
    return claim, claim["addresses"][0]["ip"]


def _names(claim: Any) -> list[tuple[str, str | None]]:
    return [(address["ip"], address["name"]) for address in claim["addresses"]]


@pytest.mark.parametrize("to", [{"interface": "5254.0000.0002"}, {"machine": "vm-2"}])
def test_an_address_goes_to_another_machine_with_its_name_at_once(site: Site, to: dict[str, str]) -> None:
    claim, ip = _claim(site, "a", mac=ONE)
    moved = site.post(f"/v1/addresses/{ip}/reassign", to)
    assert (moved["machine"], moved["mac"], moved["effective_by"]) == ("vm-2", TWO, None)
    assert _names(moved) == [(ip, "vm-2.prod.example.")]
    assert site.get(f"/v1/addresses/{ip}")["machines"] == ["vm-2"]
    assert moved["id"] == claim["id"]


def test_an_address_goes_to_another_claim_and_overrides_what_that_has(site: Site) -> None:
    _, ip = _claim(site, "a", mac=ONE)
    other, displaced = _claim(site, "b", mac=TWO)
    moved = site.post(f"/v1/addresses/{ip}/reassign", {"claim": other["id"], "on_override": "keep"})
    assert moved["id"] == other["id"]
    assert {each["ip"]: each["standing"] for each in moved["addresses"]} == {ip: "primary", displaced: "alias"}
    assert [(each["ip"], each["became"]) for each in moved["displaced"]] == [(displaced, "kept")]


def test_a_holder_gets_another_address_and_the_old_one_rests(site: Site) -> None:
    claim, ip = _claim(site, "a", mac=ONE)
    moved = site.post(f"/v1/addresses/{ip}/reassign", {"address": "10.0.3.77"}, headers={"If-Match": '"1"'})
    assert (moved["id"], _names(moved)) == (claim["id"], [("10.0.3.77", "vm-1.prod.example.")])
    assert site.get(f"/v1/addresses/{ip}")["state"] == "cooling"


def test_what_was_written_by_hand_needs_to_be_acknowledged(site: Site) -> None:
    _, ip = _claim(site, "a", mac=ONE, static=True)
    found = problem(site.ask("POST", f"/v1/addresses/{ip}/reassign", {"machine": "vm-2"}), 409, "conflict")
    assert found["pointer"] == "/static_acknowledged"
    moved = site.post(f"/v1/addresses/{ip}/reassign", {"machine": "vm-2", "static_acknowledged": True})
    assert moved["machine"] == "vm-2"


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, ""),
        ({"machine": "vm-2", "interface": TWO}, "/machine"),
        ({"address": "10.0.3.300"}, "/address"),
        ({"interface": "01:00:5e:00:00:01"}, "/interface"),
        ({"machine": "vm-2", "dns": "later"}, "/dns"),
    ],
)
def test_who_gets_it_is_said_once_and_right(site: Site, body: dict[str, str], pointer: str) -> None:
    _, ip = _claim(site, "a", mac=ONE)
    found = problem(site.ask("POST", f"/v1/addresses/{ip}/reassign", body), 422, "invalid_value")
    assert found["pointer"] == pointer


def test_what_nobody_holds_cannot_be_given_on(site: Site) -> None:
    for verb in ("reassign", "attach"):
        found = site.ask("POST", f"/v1/addresses/10.0.3.99/{verb}", {"interface": TWO})
        problem(found, 404, "not_found")
    problem(site.ask("PATCH", "/v1/addresses/10.0.3.99", {"hostname": "x"}), 404, "not_found")


def test_an_address_is_renamed_and_named_by_its_machine_again(site: Site) -> None:
    _, ip = _claim(site, "a", mac=ONE)
    path = f"/v1/addresses/{ip}"
    assert _names(site.ask("PATCH", path, {"hostname": "DB-1"}).json()) == [(ip, "db-1.prod.example.")]
    assert site.get(path)["name"] == "db-1.prod.example."
    assert _names(site.ask("PATCH", path, {"hostname": None}).json()) == [(ip, "vm-1.prod.example.")]
    problem(site.ask("PATCH", path, {}), 422, "invalid_value")
    problem(site.ask("PATCH", path, {"hostname": "a b"}), 422, "invalid_value")


def test_an_address_floats_from_interface_to_interface(site: Site) -> None:
    _, ip = _claim(site, "vip", hostname="vip")
    path = f"/v1/addresses/{ip}"
    assert site.post(path + "/attach", {"interface": ONE})["machine"] == "vm-1"
    assert site.post(path + "/attach", {"interface": TWO})["machine"] == "vm-2"
    assert [each["mac"] for each in site.get(path)["interfaces"]] == [TWO]
    assert site.post(path + "/detach")["machine"] is None
    assert site.get(path)["interfaces"] == []


def test_a_shared_address_is_used_by_several_and_detached_from_one(site: Site) -> None:
    _, ip = _claim(site, "vrrp", shared=True)
    path = f"/v1/addresses/{ip}"
    for mac in (ONE, TWO):
        site.post(path + "/attach", {"interface": mac})
    assert {each["mac"] for each in site.get(path)["interfaces"]} == {ONE, TWO}
    problem(site.ask("POST", path + "/detach"), 409, "conflict")
    site.post(path + "/detach", {"interface": ONE})
    assert [each["mac"] for each in site.get(path)["interfaces"]] == [TWO]


def test_an_address_is_of_its_vrf(site: Site) -> None:
    site.post("/v1/vrfs", {"name": "blue"})
    _, ip = _claim(site, "a", mac=ONE)
    problem(site.ask("POST", f"/v1/addresses/{ip}/reassign?vrf=blue", {"machine": "vm-2"}), 404, "not_found")
    problem(site.ask("POST", f"/v1/addresses/{ip}/reassign?vrf=none", {"machine": "vm-2"}), 404, "not_found")
