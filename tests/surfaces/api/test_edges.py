"""What a hostile tester found: subnets that grow, shrink, nest and go while addresses in them are held or rest."""

from typing import Any

import pytest

from tenure.naming import records
from tenure.service.replay import differences
from tests.surfaces.api.site import Site, problem


def _network(site: Site, name: str, **fields: Any) -> str:
    site.post("/v1/networks", {"name": name, "strategy": "first_free", **fields})
    return name


def _subnet(site: Site, network: str, cidr: str, **fields: Any) -> str:
    made: str = site.post(f"/v1/networks/{network}/subnets", {"cidr": cidr, **fields})["id"]
    return made


def _claim(site: Site, network: str, **fields: Any) -> Any:
    return site.post("/v1/claims", {"network": network, **fields})


def _rest(site: Site, network: str, address: str) -> None:
    claim = _claim(site, network, address=address)
    site.post(f"/v1/claims/{claim['id']}/release")


def test_a_subnet_does_not_grow_over_addresses_that_its_parent_holds(site: Site) -> None:
    _network(site, "n")
    _subnet(site, "n", "10.9.0.0/24")
    nested = _subnet(site, "n", "10.9.0.64/26")
    _claim(site, "n", address="10.9.0.10")
    found = problem(site.ask("PATCH", f"/v1/subnets/{nested}", {"cidr": "10.9.0.0/25"}), 409, "in_use")
    assert (found["holders"], found["count"]) == (["10.9.0.10"], 1)


def test_a_subnet_is_not_put_between_two_over_addresses_that_the_outer_one_holds(site: Site) -> None:
    _network(site, "n")
    _subnet(site, "n", "10.9.0.0/22")
    _subnet(site, "n", "10.9.0.0/26")
    _claim(site, "n", address="10.9.0.100")
    answer = site.ask("POST", "/v1/networks/n/subnets", {"cidr": "10.9.0.0/24"})
    found = problem(answer, 409, "in_use")
    assert (found["holders"], found["count"]) == (["10.9.0.100"], 1)


def test_resizing_names_those_that_would_be_outside_and_nobody_else(site: Site) -> None:
    _network(site, "n")
    subnet = _subnet(site, "n", "10.9.0.0/24")
    for _ in range(25):
        _claim(site, "n")
    _claim(site, "n", address="10.9.0.200")
    found = problem(site.ask("PATCH", f"/v1/subnets/{subnet}", {"cidr": "10.9.0.0/25"}), 409, "in_use")
    assert (found["holders"], found["count"]) == (["10.9.0.200"], 1)


def test_a_range_that_grows_names_whom_it_would_cover(site: Site) -> None:
    _network(site, "n")
    subnet = _subnet(site, "n", "10.9.0.0/24")
    reserved = {"start": "10.9.0.100", "end": "10.9.0.110", "role": "reserved"}
    made = site.post(f"/v1/subnets/{subnet}/ranges", reserved)["id"]
    for last in (90, 120):
        _claim(site, "n", address=f"10.9.0.{last}")
    wider = {"start": "10.9.0.80", "end": "10.9.0.130"}
    found = problem(site.ask("PATCH", f"/v1/ranges/{made}", wider), 409, "in_use")
    assert (found["holders"], found["count"]) == (["10.9.0.90", "10.9.0.120"], 2)


def test_a_rest_outlives_the_subnet(site: Site) -> None:
    _network(site, "n", cooldown=3600)
    subnet = _subnet(site, "n", "10.9.0.0/30")
    _rest(site, "n", "10.9.0.1")
    assert site.ask("DELETE", f"/v1/subnets/{subnet}").status_code == 204
    _network(site, "m")
    _subnet(site, "m", "10.9.0.0/29")
    problem(site.ask("POST", "/v1/claims", {"network": "m", "address": "10.9.0.1"}), 409, "conflict")
    assert _claim(site, "m")["addresses"][0]["ip"] == "10.9.0.2"
    assert site.get("/v1/networks/m/capacity")["v4"]["cooling"] == 1
    assert differences(site.store) == []
    _claim(site, "m", address="10.9.0.1", during_cooldown=True)
    assert differences(site.store) == []


def test_a_rest_in_no_subnet_ends_in_its_time(site: Site) -> None:
    _network(site, "n", cooldown=600)
    subnet = _subnet(site, "n", "10.9.0.0/30")
    _rest(site, "n", "10.9.0.1")
    site.ask("DELETE", f"/v1/subnets/{subnet}")
    assert differences(site.store) == []
    site.clock.pause(601)
    _network(site, "m")
    _subnet(site, "m", "10.9.0.0/29")
    assert _claim(site, "m")["addresses"][0]["ip"] == "10.9.0.1"
    assert differences(site.store) == []


def test_a_rest_waits_for_a_subnet_that_grows_over_it(site: Site) -> None:
    _network(site, "n", cooldown=3600)
    gone = _subnet(site, "n", "10.9.0.4/30")
    grows = _subnet(site, "n", "10.9.0.0/30")
    _rest(site, "n", "10.9.0.5")
    assert site.ask("DELETE", f"/v1/subnets/{gone}").status_code == 204
    path = f"/v1/subnets/{grows}"
    assert site.ask("PATCH", path + "?dry_run=true", {"cidr": "10.9.0.0/29"}).status_code == 200
    assert site.ask("PATCH", path, {"cidr": "10.9.0.0/29"}).status_code == 200
    problem(site.ask("POST", "/v1/claims", {"network": "n", "address": "10.9.0.5"}), 409, "conflict")
    assert differences(site.store) == []


def test_a_rest_outlives_a_nested_subnet(site: Site) -> None:
    _network(site, "n", cooldown=3600)
    _subnet(site, "n", "10.9.0.0/24")
    nested = _subnet(site, "n", "10.9.0.0/30")
    _rest(site, "n", "10.9.0.1")
    assert site.ask("DELETE", f"/v1/subnets/{nested}?dry_run=true").status_code == 204
    problem(site.ask("POST", "/v1/claims", {"network": "n", "address": "10.9.0.1"}), 409, "conflict")
    assert site.ask("DELETE", f"/v1/subnets/{nested}").status_code == 204
    problem(site.ask("POST", "/v1/claims", {"network": "n", "address": "10.9.0.1"}), 409, "conflict")
    assert _claim(site, "n")["addresses"][0]["ip"] == "10.9.0.2"


@pytest.mark.parametrize("domain", ["in-addr.arpa.", "ip6.arpa.", "arpa.", "2.0.192.in-addr.arpa."])
def test_a_domain_is_not_where_pointers_are(site: Site, domain: str) -> None:
    found = problem(site.ask("POST", "/v1/networks", {"name": "n", "domain": domain}), 422, "invalid_value")
    assert found["pointer"] == "/domain"


def test_a_domain_leaves_room_for_the_names_that_its_zone_needs(site: Site) -> None:
    def domain(octets: int) -> str:
        return "a" * (octets - 192) + ("." + "b" * 63) * 3 + "."

    too_long = {"name": "n", "domain": domain(243)}
    found = problem(site.ask("POST", "/v1/networks", too_long), 422, "invalid_value")
    assert (found["pointer"], found["maximum"]) == ("/domain", 242)
    site.post("/v1/networks", {"name": "n", "domain": domain(242)})
    (zone,) = [zone for zone in site.get("/v1/zones")["items"] if zone["name"] == domain(242)]
    assert records.soa(zone["name"], "ns." + zone["name"], "hostmaster." + zone["name"], zone["serial"]).rdata


@pytest.mark.parametrize("server", ["0.0.0.0", "255.255.255.255", "224.0.0.1", "::", "ff02::fb"])
def test_a_dns_server_is_one_host(site: Site, server: str) -> None:
    subnet = {"cidr": "10.9.0.0/24", "dns_servers": ["10.0.0.53", server]}
    found = problem(site.ask("POST", "/v1/networks/prod/subnets", subnet), 422, "invalid_value")
    assert found["pointer"] == "/dns_servers/1"


def test_a_dns_server_or_a_location_stands_once(site: Site) -> None:
    for field, twice in (("dns_servers", ["10.0.0.53", "10.0.0.53"]), ("locations", ["rack-3", "rack-3"])):
        answer = site.ask("POST", "/v1/networks/prod/subnets", {"cidr": "10.9.0.0/24", field: twice})
        assert problem(answer, 422, "invalid_value")["pointer"] == f"/{field}/1"
