"""What people look at: addresses, why, history, blocks, zones, events, search, counters."""

import asyncio

from tenure.surfaces.api.events import KINDS
from tests.surfaces.api.site import Site, problem


def _claim(site: Site) -> str:
    body = {"network": "prod", "handle": "a", "host": "compute-7", "hostname": "vm-17", "mac": "52:54:00:0a:0b:0c"}
    return str(site.post("/v1/claims", body)["addresses"][0]["ip"])


def test_an_address_tells_who_holds_it(site: Site) -> None:
    ip = _claim(site)
    shown = site.get(f"/v1/addresses/{ip}")
    assert (shown["state"], shown["handle"], shown["host"]) == ("allocated", "a", "compute-7")
    assert shown["name"] == "vm-17.prod.example."
    assert [each["mac"] for each in shown["interfaces"]] == ["52:54:00:0a:0b:0c"]
    assert site.get("/v1/addresses?network=prod&location=rack-3")["items"] == [shown]
    assert site.get("/v1/addresses?q=10.0.3.0/24")["items"] == [shown]
    problem(site.ask("GET", "/v1/addresses/10.0.3.250"), 404, "not_found")
    problem(site.ask("GET", "/v1/addresses/10.0.3"), 422, "invalid_value")
    problem(site.ask("GET", "/v1/addresses/10.0.3.250/why"), 404, "not_found")


def test_a_released_address_is_shown_while_it_rests(site: Site) -> None:
    ip = _claim(site)
    claim = site.get(f"/v1/addresses/{ip}")["claim"]
    site.ask("DELETE", f"/v1/claims/{claim}")
    shown = site.get(f"/v1/addresses/{ip}")
    assert shown["state"] == "cooling"
    assert site.get("/v1/addresses?state=cooling")["items"] == [shown]
    assert site.get("/v1/addresses")["items"] == []


def test_why_says_which_blocks_were_looked_at(site: Site) -> None:
    _claim(site)
    body = {"network": "prod", "host": "compute-7", "purpose": "more than a block has"}
    last = [site.post("/v1/claims", body) for _ in range(16)][-1]
    why = site.get(f"/v1/addresses/{last['addresses'][0]['ip']}/why")
    assert (why["strategy"], why["actor"]) == ("topology", "token:admin")
    assert why["request"]["purpose"] == "more than a block has"
    assert why["blocks"][0]["owner"] == "compute-7"


def test_the_past_is_told_as_it_was(site: Site) -> None:
    """A MAC is replaced, a claim ends, its address is somebody else's, and every name is gone: `at` still says."""
    old, new = "52:54:00:0a:0b:0c", "52:54:00:0a:0b:0d"
    site.clock.pause(10)
    ip = _claim(site)
    site.clock.pause(10)
    for interface in ({"mac": old, "name": "eth0"}, {"mac": new, "name": "eth0"}):
        assert site.ask("PATCH", "/v1/machines/vm-17", {"interfaces": [interface]}).status_code == 200
    claim = site.get(f"/v1/addresses/{ip}")["claim"]
    site.clock.pause(10)
    for path in (f"claims/{claim}", "machines/vm-17", "locations/compute-7"):
        assert site.ask("DELETE", f"/v1/{path}").status_code == 204
    site.clock.pause(3600)
    site.post("/v1/claims", {"network": "prod", "handle": "b", "address": ip})
    for time, mac in (("00:00:15", old), ("00:00:25", new)):
        at = f"at=2026-01-01T{time}Z"
        then = site.get(f"/v1/addresses/{ip}?{at}")
        assert (then["handle"], then["host"], then["state"]) == ("a", "compute-7", "allocated")
        assert (then["machines"], [each["mac"] for each in then["interfaces"]]) == (["vm-17"], [mac])
        assert site.get(f"/v1/addresses?{at}")["items"] == [then]
        assert site.get(f"/v1/addresses?{at}&location=rack-3&network=prod&q={ip}")["items"] == [then]
        assert site.get(f"/v1/addresses?{at}&state=shelved")["items"] == []
    resting = site.get(f"/v1/addresses/{ip}?at=2026-01-01T00:00:35Z")
    assert (resting["state"], resting["handle"]) == ("cooling", "a")
    problem(site.ask("GET", f"/v1/addresses/{ip}?at=2026-01-01T00:30:00Z"), 404, "not_found")
    late = problem(site.ask("GET", f"/v1/addresses/{ip}?at=2999-01-01T00:00:00Z"), 422, "invalid_value")
    assert (late["parameter"], "future" in late["detail"]) == ("at", True)
    lines = site.get(f"/v1/addresses/{ip}/history")["items"]
    assert [(line["kind"][7:], line["holder"]["handle"], line["holder"]["macs"]) for line in lines] == [
        ("address.allocated", "a", [old]),
        ("interface.changed", "a", [new]),
        ("address.released", "a", [new]),
        ("address.allocated", "b", []),
    ]
    page = site.get(f"/v1/addresses/{ip}/history?limit=3")
    assert page["items"] == lines[:3]
    assert site.get(f"/v1/addresses/{ip}/history?limit=3&after={page['next']}") == {"items": lines[3:], "next": None}


def test_what_was_seen_is_listed_beside(site: Site) -> None:
    site.post("/v1/observations", [{"ip": "10.0.3.77", "mac": "52:54:00:00:00:77", "source": "arp-scan"}])
    (seen,) = site.get("/v1/addresses?state=observed&network=prod&q=10.0.3.0/24")["items"]
    assert (seen["ip"], seen["mac"], seen["source"], seen["claim"]) == (
        "10.0.3.77",
        "52:54:00:00:00:77",
        "arp-scan",
        None,
    )
    assert site.get("/v1/addresses/10.0.3.77") == seen
    assert site.get("/v1/addresses")["items"] == []
    problem(site.ask("GET", "/v1/addresses/10.0.3.77/why"), 404, "not_found")
    for more in ("at=2026-01-01T00:00:00Z", "location=rack-3"):
        found = problem(site.ask("GET", f"/v1/addresses?state=observed&{more}"), 422, "invalid_value")
        assert found["parameter"] == more.partition("=")[0]


def test_why_tells_of_moves(site: Site) -> None:
    ip = _claim(site)
    site.ask("PATCH", f"/v1/addresses/{ip}", {"hostname": "other"})
    why = site.get(f"/v1/addresses/{ip}/why")
    assert (why["strategy"], [(move["reason"], move["giver"]) for move in why["moves"]]) == (
        "topology",
        [("renamed", "a")],
    )
    assert [line["holder"]["name"] for line in site.get(f"/v1/addresses/{ip}/history")["items"]] == [
        "vm-17.prod.example.", "other.prod.example.",
    ]  # fmt: skip


def test_history_goes_on_after_release(site: Site) -> None:
    ip = _claim(site)
    claim = site.get(f"/v1/addresses/{ip}")["claim"]
    site.ask("DELETE", f"/v1/claims/{claim}")
    kinds = [each["kind"] for each in site.get(f"/v1/addresses/{ip}/history")["items"]]
    assert kinds == ["tenure.address.allocated", "tenure.address.released"]


def test_blocks_tell_their_owner_and_use(site: Site) -> None:
    _claim(site)
    (block,) = site.get("/v1/blocks?location=compute-7")["items"]
    assert (block["owner"], block["kind"], block["in_use"]) == ("compute-7", "host", 1)


def test_zones_are_listed(site: Site) -> None:
    _claim(site)
    names = {each["name"] for each in site.get("/v1/zones")["items"]}
    assert names == {"prod.example.", "3.0.10.in-addr.arpa."}
    assert site.get("/v1/zones/prod.example.")["vrf"] == "default"


def test_the_ledger_is_read_in_order_and_without_gaps(site: Site) -> None:
    _claim(site)
    found, after = [], ""
    while True:
        page = site.get(f"/v1/events?limit=3{after}")
        found += page["items"]
        if page["next"] is None:
            break
        after = f"&after={page['next']}"
    assert [each["sequence"] for each in found] == list(range(1, site.sequence + 1))
    assert {each["kind"] for each in found} <= set(KINDS)
    (given,) = site.get("/v1/events?kinds=tenure.address.allocated")["items"]
    assert given["actor"] == "token:admin"
    assert given["subject"]["vrf"] == "default"
    assert given["subject"]["ip"]
    found = problem(site.ask("GET", "/v1/events?kinds=tenure.address.lost"), 422, "invalid_value")
    assert found["allowed"] == list(KINDS)
    problem(site.ask("GET", "/v1/events?after=another:1"), 410, "epoch_changed")


def test_a_follower_waits_for_the_next_event(site: Site) -> None:
    position = site.get("/v1/events?limit=1000")["position"]

    async def both() -> list[str]:
        waiting = asyncio.create_task(site.client.get(f"/v1/events?after={position}&wait=30s"))
        await asyncio.sleep(0)
        await site.client.post("/v1/vrfs", json={"name": "blue"})
        return [each["kind"] for each in (await waiting).json()["items"]]

    assert site.runner.run(both()) == ["tenure.vrf.created"]


def test_anything_is_found(site: Site) -> None:
    ip = _claim(site)
    site.post("/v1/zones/prod.example./records", {"name": "www", "type": "TXT", "data": "one"})
    site.post("/v1/tsig-keys", {"name": "xfr"})
    site.post("/v1/secondaries", {"name": "ns2", "address": "192.0.2.54", "key": "xfr"})
    for words, understood, kind in (
        ("www.prod", "name", "record"),
        ("xfr", "name", "tsig_key"),
        ("ns2", "name", "secondary"),
        (ip, "address", "address"),
        ("52540 00a0b0c".replace(" ", ""), "mac", "machine"),
        ("compute-7", "name", "location"),
        ("10.0.3.0/24", "prefix", "subnet"),
    ):
        answer = site.get("/v1/search", params={"q": words})
        assert answer["understood_as"] == understood, words
        assert kind in {each["kind"] for each in answer["items"]}, (words, answer)
        for each in answer["items"]:
            assert site.ask("GET", each["url"]).status_code == 200, each
    found = problem(site.ask("GET", "/v1/search"), 422, "invalid_value")
    assert found["parameter"] == "q"


def test_counters_are_for_prometheus(site: Site) -> None:
    _claim(site)
    answer = site.ask("GET", "/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'tenure_api_requests_total{method="POST",route="/v1/claims",status="201"} 1.0' in answer.text
    assert f"tenure_ledger_sequence {float(site.sequence)}" in answer.text


def test_the_table_of_a_time_is_asked_for_by_the_names_of_then(site: Site) -> None:
    for n, vrf in enumerate(("red", "blue")):
        site.post("/v1/vrfs", {"name": vrf})
        network = site.post("/v1/networks", {"name": f"{vrf}-net", "vrf": vrf})["id"]
        subnet = site.post(f"/v1/networks/{network}/subnets", {"cidr": "10.9.0.0/24"})["id"]
        claim = site.post("/v1/claims", {"network": network, "address": "10.9.0.9"})["id"]
        if n == 0:
            site.clock.pause(10)
            gone = (f"claims/{claim}", f"subnets/{subnet}", f"networks/{network}", f"vrfs/{vrf}")
    at = site.clock.now().strftime("at=%Y-%m-%dT%H:%M:%SZ")
    assert len(site.get("/v1/addresses?q=10.9.0.9")["items"]) == 2
    site.clock.pause(10)
    for path in gone:
        assert site.ask("DELETE", f"/v1/{path}").status_code == 204, path
    for asked in ("network=red-net", "vrf=red", "vrf=red&network=red-net"):
        (then,) = site.get(f"/v1/addresses?{at}&{asked}")["items"]
        assert (then["ip"], then["vrf"], then["network"]) == ("10.9.0.9", "red", "red-net"), asked
        problem(site.ask("GET", f"/v1/addresses?{asked}"), 404, "not_found")
    for more in ("", f"&{at}"):
        assert [each["vrf"] for each in site.get(f"/v1/addresses?vrf=blue{more}")["items"]] == ["blue"]
    problem(site.ask("GET", "/v1/addresses?at=2020-01-01T00:00:00Z&vrf=blue"), 404, "not_found")
