"""What was seen on the network, over HTTP; and what a harvest takes."""

from datetime import timedelta
from typing import Any

import pytest

from tenure.store.sql.reads import SqlReads
from tenure.surfaces.api.operations import Asked
from tests.surfaces.api.site import Site, problem

HOLDER, STRANGER = "52:54:00:00:00:01", "52:54:00:00:00:99"


def _seen(site: Site, *sightings: tuple[str, str | None], **rest: Any) -> list[Any]:
    body = [{"ip": ip, "mac": mac, "source": "arp-scan"} for ip, mac in sightings]
    items: list[Any] = site.post("/v1/observations", body, **rest)["items"]
    return items


def test_each_sighting_is_answered_in_order(site: Site) -> None:
    claim = site.post("/v1/claims", {"network": "prod", "handle": "a", "mac": HOLDER, "machine": "vm-1"})
    ip = claim["addresses"][0]["ip"]
    seen = _seen(site, ("10.0.3.99", STRANGER), (ip, "5254.0000.0001"), (ip, STRANGER), ("192.0.2.1", None))
    assert [(each["ip"], each["outcome"]) for each in seen] == [
        ("10.0.3.99", "stranger"), (ip, "holder"), (ip, "conflict"), ("192.0.2.1", "elsewhere"),
    ]  # fmt: skip
    assert [each["source"] for each in seen] == ["arp-scan"] * 4
    holder = {"claim": claim["id"], "handle": "a", "name": "vm-1.prod.example.", "machines": ["vm-1"], "macs": [HOLDER]}
    assert [each["holder"] for each in seen] == [None, None, holder, None]
    assert (seen[2]["mac"], seen[2]["claim"]) == (STRANGER, claim["id"])


def test_a_strangers_address_is_avoided_until_it_was_not_seen_for_a_day(site: Site) -> None:
    body = {"network": "prod", "address": "10.0.3.99"}
    _seen(site, ("10.0.3.99", STRANGER))
    found = problem(site.ask("POST", "/v1/claims", body), 409, "conflict")
    assert found["mac"] == STRANGER
    listed = site.get("/v1/addresses?state=observed")["items"]
    assert [each["ip"] for each in listed] == ["10.0.3.99"]
    site.clock.pause(86_401)
    assert site.post("/v1/claims", body)["addresses"][0]["ip"] == "10.0.3.99"


def test_ten_thousand_sightings_are_taken_in_pieces_and_more_are_refused(site: Site) -> None:
    site.post("/v1/networks", {"name": "wide"})
    site.post("/v1/networks/wide/subnets", {"cidr": "10.64.0.0/16"})
    many = [{"ip": f"10.64.{n >> 8}.{n & 255}"} for n in range(1, 10_001)]
    turns = site.sequence
    items = site.post("/v1/observations", many, headers={"Idempotency-Key": "scan"})["items"]
    assert [each["ip"] for each in items] == [each["ip"] for each in many]
    assert {each["outcome"] for each in items} == {"stranger"}
    assert site.sequence == turns + 10_000
    again = site.ask("POST", "/v1/observations", many, headers={"Idempotency-Key": "scan"})
    assert (again.headers["Idempotency-Replayed"], again.json()["items"]) == ("true", items)
    problem(site.ask("POST", "/v1/observations", [*many, many[0]]), 422, "invalid_value")


def test_many_conflicts_are_one_question(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.post("/v1/networks", {"name": "wide"})
    site.post("/v1/networks/wide/subnets", {"cidr": "10.64.0.0/20"})
    claims = [{"network": "wide", "handle": f"h-{n}", "count": 600, "mac": f"{HOLDER[:-1]}{n}"} for n in range(2)]
    made = site.post("/v1/claims/batch", {"claims": claims})["items"]
    held = {address["ip"]: each["claim"]["handle"] for each in made for address in each["claim"]["addresses"]}
    asked: list[str] = []
    look = Asked.look

    async def counted(self: Asked, work: Any, *args: Any, **rest: Any) -> Any:
        asked.append(work)
        return await look(self, work, *args, **rest)

    monkeypatch.setattr(Asked, "look", counted)
    monkeypatch.delattr(SqlReads, "address")  # one by one is what this is not
    seen = _seen(site, *((ip, STRANGER) for ip in held))
    assert [(each["outcome"], each["holder"]["handle"]) for each in seen] == [("conflict", held[ip]) for ip in held]
    assert len(asked) == 1


def test_nothing_seen_is_nothing_said(site: Site) -> None:
    assert _seen(site) == []


def test_a_sighting_that_cannot_be_is_named(site: Site) -> None:
    found = problem(site.ask("POST", "/v1/observations", [{"ip": "10.0.3.5"}, {"ip": "10.0.3"}]), 422, "invalid_value")
    assert found["pointer"] == "/1/ip"
    found = problem(site.ask("POST", "/v1/observations", [{"ip": "10.0.3.5", "port": 7}]), 422, "invalid_value")
    assert found["pointer"] == "/0/port"
    problem(site.ask("POST", "/v1/observations?vrf=none", [{"ip": "10.0.3.5"}]), 404, "not_found")


def test_a_harvest_takes_what_was_not_seen_for_long_and_a_dry_run_only_says_so(site: Site) -> None:
    for n in range(3):
        port = {"mac": f"52:54:00:00:01:0{n}", "network": "prod", "boot": True}
        site.post("/v1/machines", {"name": f"node-{n}", "interfaces": [port]})
        site.post(f"/v1/machines/node-{n}/ready")
        site.clock.pause(60)
    site.clock.pause(timedelta(days=31).total_seconds())
    site.post("/v1/machines/node-0/seen")
    body = {"harvest": True, "harvest_below": 10_000}
    assert site.ask("PATCH", "/v1/networks/prod", body).status_code == 200
    tried = site.post("/v1/networks/prod/harvest?dry_run=true")
    assert [each["machine"] for each in tried["taken"]] == ["node-1", "node-2"]
    assert tried["available"] < 10_000 <= tried["available"] + tried["wanted"]
    assert len(site.get("/v1/claims?kept=life")["items"]) == 3
    done = site.post("/v1/networks/prod/harvest", {"limit": 1})
    assert [each["machine"] for each in done["taken"]] == ["node-1"]
    kept = {each["machine"] for each in site.get("/v1/claims?kept=life")["items"]}
    assert kept == {"node-0", "node-2"}
