"""What a hostile tester found: subnets that grow, shrink, nest and go while addresses in them are held or rest."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

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
    assert site.ask("DELETE", f"/v1/subnets/{nested}?dry_run=true").json()["refused"] is None
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


@pytest.mark.parametrize("name", ["a/b", "a%2Fb", "a%b", "ü/😀?#", "a//b", "10.0.0.0/8"])
def test_a_name_with_a_slash_is_reached_by_its_path(site: Site, name: str) -> None:
    quoted = quote(name, safe="")
    site.post("/v1/networks", {"name": name})
    assert site.get(f"/v1/networks/{quoted}")["name"] == name
    made = site.post(f"/v1/networks/{quoted}/subnets", {"cidr": "10.9.0.0/24"})
    assert [each["id"] for each in site.get(f"/v1/networks/{quoted}/subnets")["items"]] == [made["id"]]
    assert site.get("/v1/subnets/10.9.0.0%2f24")["id"] == made["id"]
    assert site.ask("DELETE", f"/v1/subnets/{made['id']}").status_code == 204
    assert site.ask("DELETE", f"/v1/networks/{quoted}").status_code == 204
    problem(site.ask("GET", "/v1/networks/x%2F%00"), 422, "invalid_value")


def _bounds(site: Site) -> Iterator[tuple[str, Any]]:
    """Values at the bounds that the document says, of a network's and a claim's fields."""
    schemas = site.get("/openapi.json")["components"]["schemas"]
    for body in ("NetworkIn", "ClaimIn"):
        for field, schema in schemas[body]["properties"].items():
            for part in (schema, *schema.get("anyOf", ())):
                for bound in ("minimum", "maximum"):
                    if bound in part:
                        yield f"{body}/{field}", part[bound]
                if "maxLength" in part and field in ("handle", "purpose", "project", "name"):
                    yield f"{body}/{field}", "x" * part["maxLength"]


def test_what_the_document_says_is_within_bounds_is(site: Site) -> None:
    """One bound in the schema and another where it is planned would be a promise that is not kept."""
    seen = set()
    site.post("/v1/networks/prod/subnets", {"cidr": "10.64.0.0/20"})
    for field, value in _bounds(site):
        body, name = field.split("/")
        path, rest = ("/v1/networks", {"name": "n"}) if body == "NetworkIn" else ("/v1/claims", {"network": "prod"})
        site.post(path + "?dry_run=true", rest | {name: value})
        seen.add(field)
    bounded = {"negative_ttl", "block_length_v6", "rack_block_length_v6", "cooldown", "ttl", "name"}
    assert {f"NetworkIn/{field}" for field in bounded} <= seen
    assert {f"ClaimIn/{field}" for field in ("handle", "purpose", "project", "count")} <= seen


def test_a_dry_run_gives_what_comes_next(site: Site) -> None:
    tried: list[str] = []
    for more in ({}, {}, {"address": "10.0.3.200"}, {"count": 3}, {"host": "compute-7"}):
        answer = site.post("/v1/claims?dry_run=true", {"network": "prod", **more})
        tried.append(answer["addresses"][0]["ip"])
    assert tried[0] == tried[1] == tried[3]
    assert _claim(site, "prod", host="compute-7")["addresses"][0]["ip"] == tried[4]


def test_a_refused_batch_uses_no_address_up(site: Site) -> None:
    first = site.post("/v1/claims?dry_run=true", {"network": "prod"})["addresses"][0]["ip"]
    atomic = {"claims": [{"network": "prod"}, {"network": "prod", "address": "10.0.3.1"}], "atomic": True}
    problem(site.ask("POST", "/v1/claims/batch", atomic), 409, "conflict")
    assert _claim(site, "prod")["addresses"][0]["ip"] == first


def test_a_fully_qualified_host_name_is_read_in_its_zone_and_refused_in_another(site: Site) -> None:
    made = site.post("/v1/claims", {"network": "prod", "hostname": "Bücher.prod.example."})
    assert (made["hostname"], made["addresses"][0]["name"]) == ("xn--bcher-kva", "xn--bcher-kva.prod.example.")
    answer = site.ask("POST", "/v1/claims", {"network": "prod", "hostname": "vm.example."})
    found = problem(answer, 422, "invalid_value")
    assert found["pointer"] == "/hostname"
    assert "another zone" in found["detail"]


def test_a_field_with_an_endless_name_is_not_repeated(site: Site) -> None:
    answer = site.ask("POST", "/v1/claims", {"network": "prod", "y" * 2**20: 1})
    problem(answer, 422, "invalid_value")
    assert len(answer.content) < 2000


def test_a_machine_is_the_same_content_by_id_and_by_name(site: Site) -> None:
    machine = site.post("/v1/machines", {"name": "vm-17"})["id"]
    made = _claim(site, "prod", handle="h", machine=machine)
    assert made["machine"] == "vm-17"
    again = site.ask("POST", "/v1/claims", {"network": "prod", "handle": "h", "machine": "vm-17"})
    assert (again.status_code, again.json()["id"]) == (200, made["id"])
