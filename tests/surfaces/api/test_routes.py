"""Routes over HTTP: the table, its forms, its tag, the wait for another one; the plan; figures and warnings."""

import asyncio
import random
from collections.abc import Iterable
from ipaddress import ip_network
from typing import Any

import msgspec
import pytest

from tenure.model import events as e
from tenure.service.route_answers import Table, TableRoute, Via
from tenure.surfaces.api.route_forms import text_of
from tenure.testing.ledgers import Scribe
from tests.surfaces.api.site import Site, problem


@pytest.fixture
def rows(bare: Site) -> Site:
    """Two racks with routers, each of two hosts with routers, and a network with an address at each host."""
    bare.post("/v1/vrfs", {"name": "default"})
    bare.post("/v1/networks", {"name": "prod"})
    bare.post("/v1/networks/prod/subnets", {"cidr": "10.0.0.0/16", "gateway": "10.0.0.1"})
    for rack in (3, 4):
        bare.post("/v1/locations", {"name": f"rack-{rack}", "kind": "rack", "router": f"10.255.0.{rack}"})
        for host in (1, 2):
            place = {"name": f"host-{rack}{host}", "kind": "host", "parent": f"rack-{rack}"}
            bare.post("/v1/locations", {**place, "router": f"10.255.{rack}.{host}"})
            bare.post("/v1/claims", {"network": "prod", "host": place["name"], "handle": place["name"]})
    return bare


def test_a_host_that_is_deleted_during_a_hand_over_is_announced_no_longer(rows: Site) -> None:
    """Evacuated and then deleted: else an id without a router would stand in the table, and no file be written."""
    rows.post("/v1/locations/host-31/evacuate", {"to": "host-42", "handover": 86400})
    ip = rows.get("/v1/claims?handle=host-31")["items"][0]["addresses"][0]["ip"]
    assert len([r for r in rows.get("/v1/routes")["routes"] if r["prefix"] == f"{ip}/32"]) == 2
    tag = rows.ask("GET", "/v1/routes").headers["etag"]
    assert rows.ask("DELETE", "/v1/locations/host-31").status_code == 204
    response = rows.ask("GET", "/v1/routes", headers={"If-None-Match": tag})
    found = [(r["via"]["name"], r["preferred"]) for r in response.json()["routes"] if r["prefix"] == f"{ip}/32"]
    assert found == [("rack-4", True)]
    assert rows.ask("GET", "/v1/routes?for=hosts&format=bird").status_code == 200
    claim = rows.get("/v1/claims?handle=host-31")["items"][0]
    assert (claim["host"], claim["leaving"], claim["settles"]) == ("host-42", None, None)


def test_a_rack_sends_what_it_holds_itself_to_no_black_hole(rows: Site) -> None:
    held = rows.post("/v1/claims", {"network": "prod", "host": "rack-3", "handle": "console"})
    assert held["state"] == "bound"
    kinds = {route["via"]["kind"] for route in rows.get("/v1/routes?for=rack-3")["routes"]}
    assert kinds == {"host", "local"}
    for form in ("bird", "frr"):
        text = rows.ask("GET", f"/v1/routes?for=rack-3&format={form}").text
        assert "10.255.3.1" in text
        assert "blackhole" not in text


def moved(site: Site) -> str:
    """A claim of rack 3 moves to rack 4, and both announce it; its address."""
    held = site.post("/v1/claims", {"network": "prod", "host": "host-31", "handle": "vm-1"})
    site.post(f"/v1/claims/{held['id']}/rebind", {"host": "host-42"})
    return str(held["addresses"][0]["ip"])


def test_a_fabric_has_a_route_for_each_rack(rows: Site) -> None:
    table = rows.get("/v1/routes?network=prod")
    assert [route["via"] for route in table["routes"]] == [
        {"name": f"rack-{rack}", "kind": "rack", "router": f"10.255.0.{rack}"} for rack in (3, 4)
    ]
    assert (table["for"], table["aggregates"], table["host_routes"], table["optimum"]) == ("fabric", 2, 0, 2)
    assert table["budget"] is None
    assert table["sequence"] == rows.ask("GET", "/v1/routes").headers["tenure-sequence"]
    hosts = rows.get("/v1/routes?for=hosts")
    assert [route["via"]["kind"] for route in hosts["routes"]] == ["host"] * 4
    assert [route["via"]["kind"] for route in rows.get("/v1/routes?for=host-31")["routes"]] == ["local"]


def test_a_moved_address_has_two_routes_one_of_them_preferred(rows: Site) -> None:
    ip = moved(rows)
    table = rows.get("/v1/routes")
    found = [(r["via"]["name"], r["kind"], r["preferred"]) for r in table["routes"] if r["prefix"] == f"{ip}/32"]
    assert found == [("rack-4", "host", True), ("rack-3", "host", False)]
    assert (table["aggregates"], table["host_routes"], table["optimum"]) == (2, 2, 3)


def test_bird_reads_a_protocol_a_family_and_one_for_what_is_being_left(rows: Site) -> None:
    ip = moved(rows)
    lines = text(rows, "fabric", "bird").splitlines()
    preferred = lines.index(f"\troute {ip}/32 via 10.255.0.4;  # rack-4")
    left = lines.index(f"\troute {ip}/32 via 10.255.0.3 {{ bgp_local_pref = 50; }};  # rack-3")
    assert lines.index("protocol static tenure_ipv4 {") < preferred < lines.index("protocol static tenure_ipv4_left {")
    assert lines[left - 1] == "\tipv4 { preference 190; };"
    assert "protocol static tenure_ipv6 {" in lines


def test_frr_is_given_the_preferred_one_alone(rows: Site) -> None:
    ip = moved(rows)
    remark, *lines = text(rows, "fabric", "frr").splitlines()
    assert [line for line in lines if f"{ip}/32" in line] == [f"ip route {ip}/32 10.255.0.4"]
    assert remark.startswith("! 3 routes for fabric")
    assert [line.split()[-1] for line in text(rows, "host-41", "frr").splitlines()[1:]] == ["blackhole"]


def test_exabgp_announces_one_next_hop_a_prefix_and_of_a_host_its_own(rows: Site) -> None:
    ip = moved(rows)
    fabric = text(rows, "fabric", "exabgp").splitlines()
    assert f"announce route {ip}/32 next-hop 10.255.0.4" in fabric
    assert len(fabric) == len({line.split()[2] for line in fabric}) == 3
    assert f"announce route {ip}/32 next-hop 10.255.4.2" in text(rows, "host-42", "exabgp").splitlines()
    leaving = text(rows, "host-31", "exabgp").splitlines()
    assert leaving[1:] == [f"announce route {ip}/32 next-hop 10.255.3.1 local-preference 50"]
    rows.ask("PATCH", "/v1/locations/host-42", {"router": None})
    assert f"announce route {ip}/32 next-hop self" in text(rows, "host-42", "exabgp").splitlines()


def text(site: Site, place: str, form: str) -> str:
    """A table as text."""
    answer = site.ask("GET", f"/v1/routes?for={place}&format={form}")
    assert answer.status_code == 200, answer.text
    return answer.text


@pytest.mark.parametrize("form", ["bird", "frr", "exabgp"])
def test_a_form_names_the_places_that_have_no_router(rows: Site, form: str) -> None:
    rows.ask("PATCH", "/v1/locations/rack-3", {"router": None})
    rows.ask("PATCH", "/v1/locations/rack-4", {"router": "2001:db8::4"})
    refused = problem(rows.ask("GET", f"/v1/routes?format={form}"), 422, "invalid_value")
    assert (refused["locations"], refused["count"], refused["parameter"]) == (["rack-3", "rack-4"], 2, "format")
    assert "rack-3, rack-4" in refused["detail"]
    moved(rows)
    refused = problem(rows.ask("GET", f"/v1/routes?for=rack-3&format={form}"), 422, "invalid_value")
    assert refused["locations"] == ["the place above rack-3"]
    assert "tenure location set rack-3 --parent NAME" in refused["detail"]
    rows.post("/v1/locations", {"name": "hall", "kind": "site"})
    rows.ask("PATCH", "/v1/locations/rack-3", {"parent": "hall"})
    rows.ask("PATCH", "/v1/locations/rack-3", {"router": "10.255.0.3"})
    refused = problem(rows.ask("GET", f"/v1/routes?for=rack-3&format={form}"), 422, "invalid_value")
    assert "tenure location set hall --router IP" in refused["detail"]


def test_the_way_up_leads_to_the_next_place_with_a_router(rows: Site) -> None:
    rows.post("/v1/locations", {"name": "hall", "kind": "site", "router": "10.255.255.1"})
    rows.post("/v1/locations", {"name": "row", "kind": "site"})
    rows.ask("PATCH", "/v1/locations/rack-3", {"parent": "hall"})
    ip = moved(rows)
    (up,) = [
        route
        for route in rows.get("/v1/routes?for=rack-3")["routes"]
        if route["prefix"] == f"{ip}/32" and route["preferred"]
    ]
    assert up["via"] == {"name": "hall", "kind": "up", "router": "10.255.255.1"}


def test_no_routes_are_asked_for_what_is_not_there(rows: Site) -> None:
    rows.post("/v1/locations", {"name": "hall", "kind": "site"})
    assert problem(rows.ask("GET", "/v1/routes?for=rack-9"), 404, "not_found")["parameter"] == "for"
    assert problem(rows.ask("GET", "/v1/routes?network=lab"), 404, "not_found")["parameter"] == "network"
    assert problem(rows.ask("GET", "/v1/routes?for=hall"), 422, "invalid_value")["parameter"] == "for"
    assert problem(rows.ask("GET", "/v1/routes?at=yesterday"), 422, "invalid_value")["parameter"] == "at"
    assert problem(rows.ask("GET", "/v1/routes?at=2026-01-01T00:00:00"), 422, "invalid_value")["parameter"] == "at"


def test_the_same_table_is_304_and_another_one_is_waited_for(rows: Site) -> None:
    first = rows.ask("GET", "/v1/routes")
    known = {"If-None-Match": first.headers["etag"]}
    assert rows.ask("GET", "/v1/routes", headers=known).status_code == 304
    rows.post("/v1/claims", {"network": "prod", "host": "host-31"})
    assert rows.ask("GET", "/v1/routes", headers=known).status_code == 304, "an address in its block is no route"

    async def both() -> Any:
        waiting = asyncio.create_task(rows.client.get("/v1/routes?wait=60s", headers=known))
        made = await rows.client.post("/v1/claims", json={"network": "prod", "host": "host-32", "handle": "vm-2"})
        await rows.client.post(f"/v1/claims/{made.json()['id']}/rebind", json={"host": "host-41"})
        return await waiting

    changed = rows.runner.run(both())
    assert changed.status_code == 200
    assert changed.headers["etag"] != first.headers["etag"]
    assert len(changed.json()["routes"]) > len(first.json()["routes"])


def test_a_tag_is_known_as_proxies_pass_it_on(rows: Site) -> None:
    tag = rows.ask("GET", "/v1/routes").headers["etag"]
    for known in (f"W/{tag}", f'"other", W/{tag}', "*"):
        assert rows.ask("GET", "/v1/routes", headers={"If-None-Match": known}).status_code == 304
    for other in ('"other"', "", tag.strip('"')):
        assert rows.ask("GET", "/v1/routes?wait=60s", headers={"If-None-Match": other}).status_code == 200


def test_a_table_of_the_past_is_as_it_was(rows: Site) -> None:
    before = rows.get("/v1/routes?for=hosts")
    then = rows.clock.now()
    rows.clock.pause(60)
    moved(rows)
    past = rows.ask("GET", "/v1/routes?for=hosts&at=" + then.isoformat().replace("+00:00", "Z"))
    assert past.json()["routes"] == before["routes"] != rows.get("/v1/routes?for=hosts")["routes"]
    assert "etag" not in past.headers
    early = problem(rows.ask("GET", "/v1/routes?at=2001-01-01T00:00:00Z"), 404, "not_found")
    assert early["detail"].startswith("Nothing was recorded before 20")
    late = problem(rows.ask("GET", "/v1/routes?at=2999-01-01T00:00:00Z"), 422, "invalid_value")
    assert (late["parameter"], "future" in late["detail"]) == ("at", True)


def test_a_plan_names_the_claim_that_would_save_a_route(rows: Site) -> None:
    assert rows.get("/v1/routes/plan") == {"items": []}
    ip = moved(rows)
    ((move,),) = [rows.get("/v1/routes/plan?network=prod&limit=5")["items"]]
    assert (move["saves"], move["network"], move["count"]) == (1, "prod", 1)
    (fact,) = move["facts"]
    assert (fact["prefix"], fact["kind"], fact["location"], fact["handle"]) == (
        f"{ip}/32",
        "address",
        "host-42",
        "vm-1",
    )


def test_figures_tell_each_table_and_its_budget(rows: Site) -> None:
    rows.ask("PATCH", "/v1/networks/prod", {"route_budget": 7})
    figures = rows.ask("GET", "/metrics").text.splitlines()
    assert 'tenure_routes{network="prod",table="fabric"} 2.0' in figures
    assert 'tenure_routes{network="prod",table="hosts"} 4.0' in figures
    assert 'tenure_route_budget{network="prod"} 7.0' in figures
    assert rows.get("/v1/routes?network=prod")["budget"] == 7
    assert rows.get("/v1/routes?for=spine&network=prod") == rows.get("/v1/routes?network=prod")


def random_table(rng: random.Random) -> list[TableRoute]:
    """Routes of a /26 to three next hops, or to nobody."""
    found = {}
    for _ in range(rng.randrange(1, 9)):
        length = rng.randrange(26, 33)
        first = rng.randrange(64) >> 32 - length << 32 - length
        prefix = f"10.0.0.{first}/{length}"
        hop = rng.choice(["a", "b", "c", None])
        via = Via(hop, "rack", f"10.255.0.{ord(hop)}") if hop else Via(None, "unreachable")
        found[prefix] = TableRoute(prefix, via, "aggregate")
    return sorted(
        found.values(), key=lambda route: (ip_network(route.prefix).network_address, ip_network(route.prefix).prefixlen)
    )


def delivered(routes: Iterable[tuple[str, str | None]]) -> list[str | None]:
    """The next hop of each address of the /26."""
    nets = sorted(((ip_network(prefix), hop) for prefix, hop in routes), key=lambda pair: pair[0].prefixlen)
    found = []
    for address in ip_network("10.0.0.0/26"):
        found.append(next((hop for net, hop in reversed(nets) if address in net), None))
    return found


def test_what_cannot_be_announced_as_unreachable_is_left_out_of_what_is(rng: random.Random) -> None:
    for _ in range(300):
        routes = random_table(rng)
        table = Table(
            place="fabric",
            where="fabric",
            routes=routes,
            aggregates=0,
            host_routes=0,
            optimum=0,
            budget=None,
            sequence="e:1",
        )
        lines = [line.split() for line in text_of("exabgp", table).splitlines()]
        assert len(lines) == len({line[2] for line in lines})
        told = [(line[2], line[4]) for line in lines]
        assert delivered(told) == delivered([(route.prefix, route.via.router) for route in routes])


def test_a_network_over_its_budget_is_a_note_of_readiness(rows: Site) -> None:
    rows.ask("PATCH", "/v1/networks/prod", {"route_budget": 1})
    moved(rows)  # four routes with those of the hand-over, which no budget counts
    assert rows.get("/readyz")["notes"] == []
    assert rows.get("/v1/routes?network=prod")["optimum"] == 3
    network = rows.store.reads.network("prod").value
    assert network is not None
    over = msgspec.structs.replace(network, over_budget=True)
    Scribe(rows.store).write(e.NetworkBudgetCrossed(network=over, routes=3))
    assert rows.get("/readyz") == {
        "ready": True,
        "reasons": [],
        "notes": ["network prod in the fabric: the smallest table has 3; the budget is 1"],
    }


def test_a_place_has_a_router_for_each_family(rows: Site) -> None:
    rows.post("/v1/networks/prod/subnets", {"cidr": "2001:db8::/64"})
    rows.post("/v1/claims", {"network": "prod", "host": "host-31", "family": "v6"})
    assert "for IPv6: rack-3" in problem(rows.ask("GET", "/v1/routes?format=frr"), 422, "invalid_value")["detail"]
    rows.ask("PATCH", "/v1/locations/rack-3", {"router_v6": "2001:db8:f::3"})
    written = text(rows, "fabric", "frr").splitlines()
    assert written[1].split()[0::3] == ["ip", "10.255.0.3"]
    assert written[-1].split()[0::3] == ["ipv6", "2001:db8:f::3"]
    lines = text(rows, "fabric", "bird").splitlines()
    assert [line.split()[-1] for line in lines[lines.index("protocol static tenure_ipv6 {") + 2 : -1]] == ["rack-3"]
