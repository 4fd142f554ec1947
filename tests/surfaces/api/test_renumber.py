"""Renumbering a subnet over HTTP, with the waves that time makes."""

from typing import Any

import pytest

from tenure.model.uses import Lapse
from tests.surfaces.api.site import Site, problem


@pytest.fixture
def target(site: Site) -> str:
    """A second subnet of the network, and claims in the first: one of them written down by hand."""
    subnet = str(site.post("/v1/networks/prod/subnets", {"cidr": "10.0.8.0/24"})["id"])
    for n in range(3):
        claim = {"network": "prod", "handle": f"h-{n}", "subnet": site.subnet, "static": n == 0, "hostname": f"h-{n}"}
        site.post("/v1/claims", claim)
    return subnet


def _wave(site: Site) -> None:
    site.submit(Lapse())
    site.clock.pause(60)


def _path(site: Site, *verb: str) -> str:
    return "/".join((f"/v1/subnets/{site.subnet}/renumber", *verb))


def _of(out: Any, *names: str) -> tuple[Any, ...]:
    return tuple(out[name] for name in names)


def test_a_subnet_is_renumbered_wave_by_wave_and_who_is_stuck_is_told(site: Site, target: str) -> None:
    begun = site.post(_path(site), {"to": target, "wave": 1, "lease_time": 300})
    assert _of(begun, "state", "to", "wave", "lease_time", "moved", "left") == (
        "running", "10.0.8.0/24", 1, 300, 0, 3,
    )  # fmt: skip
    assert [each["handle"] for each in begun["stuck"]] == ["h-0"]
    assert begun["stuck_count"] == 1
    _wave(site)
    assert _of(site.get(_path(site)), "state", "moved", "left") == ("running", 1, 2)
    _wave(site)
    over = site.get(_path(site) + "?wait=30s")
    assert _of(over, "state", "to", "left", "stuck_count") == ("none", None, 1, 1)
    moved = [site.get(f"/v1/claims?handle=h-{n}")["items"][0]["addresses"][0] for n in range(3)]
    assert [each["subnet"] for each in moved] == [site.subnet, target, target]
    assert [each["name"] for each in moved] == [f"h-{n}.prod.example." for n in range(3)]


def test_static_claims_move_when_that_is_acknowledged(site: Site, target: str) -> None:
    begun = site.post(_path(site), {"to": target, "static_acknowledged": True})
    assert _of(begun, "static_acknowledged", "stuck", "stuck_count") == (True, [], 0)
    _wave(site)
    assert _of(site.get(_path(site)), "state", "left") == ("none", 0)


def test_a_renumbering_is_stopped_resumed_and_cancelled(site: Site, target: str) -> None:
    site.post(_path(site), {"to": target, "wave": 1})
    for _ in range(2):
        assert site.post(_path(site, "stop"))["state"] == "stopped"
    _wave(site)
    assert _of(site.get(_path(site) + "?wait=30s"), "state", "moved", "left") == ("stopped", 0, 3)
    assert site.post(_path(site, "resume"))["state"] == "running"
    _wave(site)
    for _ in range(2):
        assert _of(site.post(_path(site, "cancel")), "state", "left") == ("none", 2)
    problem(site.ask("POST", _path(site, "resume")), 409, "conflict")
    problem(site.ask("POST", _path(site, "stop")), 409, "conflict")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/to"),
        ({"to": "10.0.3.0/24"}, "/to"),
        ({"to": "10.0.8.0/24", "wave": 0}, "/wave"),
        ({"to": "10.0.8.0/24", "wave": 257}, "/wave"),
        ({"to": "10.0.8.0/24", "lease_time": 5}, "/lease_time"),
    ],
)
def test_what_cannot_be_is_refused_by_field(site: Site, target: str, body: dict[str, Any], pointer: str) -> None:
    assert problem(site.ask("POST", _path(site), body), 422, "invalid_value")["pointer"] == pointer
    assert site.get(_path(site))["state"] == "none"


def test_what_is_not_said_again_stays(site: Site, target: str) -> None:
    said = {"to": target, "wave": 256, "lease_time": 300, "static_acknowledged": True}
    site.post(_path(site), said)
    again = site.post(_path(site), {"to": target})
    assert _of(again, "wave", "lease_time", "static_acknowledged", "revision") == (256, 300, True, 2)
    changed = site.post(_path(site), {"to": target, "wave": 7})
    assert _of(changed, "wave", "lease_time", "static_acknowledged") == (7, 300, True)


@pytest.mark.parametrize("verb", ["stop", "resume"])
def test_a_key_brings_the_answer_back_after_the_end(site: Site, target: str, verb: str) -> None:
    site.post(_path(site), {"to": target})
    key = {"Idempotency-Key": "k"}
    if verb == "resume":
        site.post(_path(site, "stop"))
    site.post(_path(site, verb), headers=key)
    site.post(_path(site, "cancel"))
    again = site.ask("POST", _path(site, verb), headers=key)
    assert (again.status_code, again.headers["Idempotency-Replayed"]) == (200, "true")
    problem(site.ask("POST", _path(site, verb)), 409, "conflict")


def test_a_subnet_without_room_for_all_is_refused(site: Site, target: str) -> None:
    small = site.post("/v1/networks/prod/subnets", {"cidr": "10.0.9.0/31"})["id"]
    found = problem(site.ask("POST", _path(site), {"to": small, "static_acknowledged": True}), 409, "exhausted")
    assert (found["needed"], found["available"]) == (3, 2)


def test_no_subnet_is_no_renumbering(site: Site) -> None:
    problem(site.ask("GET", "/v1/subnets/none/renumber"), 404, "not_found")
    problem(site.ask("POST", "/v1/subnets/none/renumber/stop"), 404, "not_found")
    assert problem(site.ask("POST", _path(site), {"to": "none"}), 404, "not_found")["pointer"] == "/to"


def test_it_says_why_nothing_moves_and_its_target_stays(site: Site, target: str) -> None:
    small = site.post("/v1/networks/prod/subnets", {"cidr": "10.0.9.0/29"})["id"]
    assert site.post(_path(site), {"to": small})["reason"] is None
    problem(site.ask("POST", f"/v1/subnets/{small}/drain"), 409, "conflict")
    problem(site.ask("PATCH", f"/v1/subnets/{small}", {"cidr": "10.0.9.0/30"}), 409, "conflict")
    for _ in range(6):
        site.post("/v1/claims", {"network": "prod", "subnet": small})
    for _ in range(6):
        _wave(site)
    assert "10.0.9.0/29 has no room" in site.get(_path(site))["reason"]
    assert site.post(_path(site, "stop"))["reason"] is None
