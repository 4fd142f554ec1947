"""What a dry run of a deletion or a resizing says, and that nothing is recorded by it."""

from typing import Any

import pytest

from tests.surfaces.api.site import Site, problem

NOTHING = {"count": 0, "first": []}


@pytest.fixture
def held(site: Site) -> list[str]:
    """The addresses of 25 claims on a host; the gateway and the DNS server are the subnet's own."""
    claims = [
        site.post("/v1/claims", {"network": "prod", "host": "compute-7", "hostname": f"vm-{number}"})
        for number in range(25)
    ]
    return [claim["addresses"][0]["ip"] for claim in claims]


def tried(site: Site, path: str) -> Any:
    """The answer to a dry run of a deletion."""
    before = site.sequence
    answer = site.ask("DELETE", f"{path}?dry_run=true")
    assert answer.status_code == 200, answer.text
    assert site.sequence == before
    return answer.json()


def test_deleting_a_subnet_names_what_it_holds(site: Site, held: list[str]) -> None:
    told = tried(site, f"/v1/subnets/{site.subnet}")
    found = told["consequences"]
    assert found["addresses"] == {"count": 25, "first": sorted(held, key=lambda ip: int(ip.rpartition(".")[2]))[:20]}
    assert found["names"]["count"] == 25
    assert set(found["names"]["first"]) <= {f"vm-{number}.prod.example." for number in range(25)}
    assert found["zones"] == {"count": 1, "first": ["3.0.10.in-addr.arpa."]}
    assert found["routes"]["count"] > 0
    assert found["leases"] == NOTHING
    assert told["refused"]["code"] == "in_use"
    assert "25" in told["refused"]["detail"]
    refusal = problem(site.ask("DELETE", f"/v1/subnets/{site.subnet}"), 409, "in_use")
    assert refusal["detail"] == told["refused"]["detail"]


def test_an_empty_subnet_takes_its_zone_along(site: Site) -> None:
    told = tried(site, f"/v1/subnets/{site.subnet}")
    assert told["refused"] is None
    assert told["consequences"]["zones"]["first"] == ["3.0.10.in-addr.arpa."]
    assert told["consequences"]["addresses"] == NOTHING
    assert site.ask("DELETE", f"/v1/subnets/{site.subnet}").status_code == 204


def test_a_zone_that_another_subnet_needs_stays(site: Site) -> None:
    for cidr in ("10.8.0.0/25", "10.8.0.128/25"):
        last = site.post("/v1/networks/prod/subnets", {"cidr": cidr, "reverse": "plain"})["id"]
    assert tried(site, f"/v1/subnets/{last}")["consequences"]["zones"] == NOTHING


def test_a_zone_with_records_or_of_a_person_stays(site: Site) -> None:
    site.post("/v1/zones/prod.example./records", {"name": "@", "type": "TXT", "data": "one"})
    site.ask("PATCH", "/v1/zones/3.0.10.in-addr.arpa.", {"kept": True})
    assert tried(site, "/v1/networks/prod")["consequences"]["zones"] == NOTHING
    assert tried(site, f"/v1/subnets/{site.subnet}")["consequences"]["zones"] == NOTHING
    told = tried(site, "/v1/vrfs/default")["consequences"]
    assert told["records"] == {"count": 1, "first": ["prod.example. TXT"]}


@pytest.mark.parametrize(
    ("cidr", "reverse", "zone"),
    [
        ("192.0.2.64/26", "auto", "64-26.2.0.192.in-addr.arpa."),
        ("192.0.2.64/26", "plain", "2.0.192.in-addr.arpa."),
        ("192.0.2.64/26", "off", None),
        ("172.16.9.64/26", "auto", "9.16.172.in-addr.arpa."),
        ("10.0.3.64/26", "auto", None),
        ("10.0.3.64/26", "rfc2317", "64-26.3.0.10.in-addr.arpa."),
        ("2001:db8:0:4::/62", "auto", "4.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa."),
    ],
)
def test_a_subnet_takes_its_own_reverse_zones_along(site: Site, cidr: str, reverse: str, zone: str | None) -> None:
    inside = cidr.startswith("10.")
    network = "inner" if inside else "prod"
    if inside:
        site.post("/v1/vrfs", {"name": "blue"})
        site.post("/v1/networks", {"name": network, "vrf": "blue"})
        site.post(f"/v1/networks/{network}/subnets", {"cidr": "10.0.0.0/16"})
    made = site.post(f"/v1/networks/{network}/subnets", {"cidr": cidr, "reverse": reverse})["id"]
    told = tried(site, f"/v1/subnets/{made}")["consequences"]["zones"]["first"]
    before = {each["name"] for each in site.get("/v1/zones")["items"]}
    assert site.ask("DELETE", f"/v1/subnets/{made}").status_code == 204
    after = {each["name"] for each in site.get("/v1/zones")["items"]}
    assert set(told) == before - after
    assert told[:1] == ([] if zone is None else [zone])


def test_deleting_a_network_or_a_vrf_counts_all_of_it(site: Site, held: list[str]) -> None:
    for path in ("/v1/networks/prod", "/v1/vrfs/default"):
        told = tried(site, path)
        assert told["refused"]["code"] == "in_use"
        found = told["consequences"]
        assert (found["addresses"]["count"], found["names"]["count"]) == (25, 25)
        assert found["zones"]["first"] == ["3.0.10.in-addr.arpa.", "prod.example."]
        assert found["routes"]["count"] > 0


def test_deleting_a_host_counts_what_is_used_there(site: Site, held: list[str]) -> None:
    other = site.post("/v1/claims", {"network": "prod", "host": "compute-8"})["addresses"][0]["ip"]
    told = tried(site, "/v1/locations/compute-7")
    assert told["refused"]["code"] == "in_use"
    assert told["consequences"]["addresses"]["count"] == 25
    assert told["consequences"]["zones"] == NOTHING
    assert told["consequences"]["routes"]["count"] > 0
    rack = tried(site, "/v1/locations/rack-3")["consequences"]
    assert rack["addresses"]["count"] == 26
    assert other not in told["consequences"]["addresses"]["first"]


def test_a_resizing_tells_what_would_be_left_out(site: Site, held: list[str]) -> None:
    far = site.post("/v1/claims", {"network": "prod", "address": "10.0.3.200", "hostname": "far"})
    before = site.sequence
    told = site.ask("PATCH", f"/v1/subnets/{site.subnet}?dry_run=true", {"cidr": "10.0.3.0/25"}).json()
    assert site.sequence == before
    assert told["cidr"] == "10.0.3.0/24"
    assert told["consequences"]["addresses"] == {"count": 1, "first": ["10.0.3.200"]}
    assert told["consequences"]["names"]["first"] == ["far.prod.example."]
    assert told["refused"]["code"] == "in_use"
    site.post(f"/v1/claims/{far['id']}/release")
    site.clock.pause(86_400)
    told = site.ask("PATCH", f"/v1/subnets/{site.subnet}?dry_run=true", {"cidr": "10.0.3.0/25"}).json()
    assert (told["cidr"], told["refused"]) == ("10.0.3.0/25", None)
    assert told["consequences"]["addresses"] == NOTHING
    grown = site.ask("PATCH", f"/v1/subnets/{site.subnet}?dry_run=true", {"cidr": "10.0.2.0/23"}).json()
    assert (grown["cidr"], grown["refused"], grown["consequences"]["addresses"]) == ("10.0.2.0/23", None, NOTHING)
    assert site.get(f"/v1/subnets/{site.subnet}")["cidr"] == "10.0.3.0/24"


def test_what_is_wrong_is_no_consequence(site: Site) -> None:
    path = f"/v1/subnets/{site.subnet}?dry_run=true"
    problem(site.ask("PATCH", path, {"cidr": "10.0.3.1/25"}), 422, "invalid_value")
    problem(site.ask("PATCH", path, {"cidr": "10.0.3.0/25"}, headers={"If-Match": '"9"'}), 412, "stale_revision")
    problem(site.ask("DELETE", "/v1/subnets/none?dry_run=true"), 404, "not_found")
    told = site.ask("PATCH", path, {"dns_servers": []}).json()
    assert "consequences" not in told


def test_ranges_tell_of_what_is_held_where_they_come_and_go(site: Site, held: list[str]) -> None:
    body = {"start": "10.0.3.200", "end": "10.0.3.210", "role": "dynamic"}
    made = site.post(f"/v1/subnets/{site.subnet}/ranges", body)["id"]
    assert tried(site, f"/v1/ranges/{made}") == {
        "consequences": dict.fromkeys(
            ("addresses", "names", "zones", "routes", "leases", "resting", "records"), NOTHING
        ),
        "refused": None,
    }
    told = site.ask("PATCH", f"/v1/ranges/{made}?dry_run=true", {"start": "10.0.3.4"}).json()
    assert told["start"] == "10.0.3.200"
    assert told["refused"]["code"] == "in_use"
    assert told["consequences"]["addresses"]["count"] > 0
