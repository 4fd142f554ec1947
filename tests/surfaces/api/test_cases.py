"""Cases from the trackers of others, as callers of the API meet them; each names where it was told."""

from tenure.model.uses import Lapse
from tests.surfaces.api.site import Site, problem


def test_a_subnet_cannot_be_brought_into_another_vrf_unseen(site: Site) -> None:  # phpipam 421
    """A network stays in its vrf, so that nothing of it can come to lie over another's; a new one is checked."""
    site.post("/v1/vrfs", {"name": "blue"})
    site.post("/v1/networks", {"name": "copy", "vrf": "blue"})
    site.post("/v1/networks/copy/subnets", {"cidr": "10.0.3.0/24"})
    refused = problem(site.ask("PATCH", "/v1/networks/copy", {"vrf": "default"}), 422, "invalid_value")
    assert refused["pointer"] == "/vrf"
    site.post("/v1/networks", {"name": "other"})
    problem(site.ask("POST", "/v1/networks/other/subnets", {"cidr": "10.0.3.128/25"}), 409, "overlap")


def test_history_outlives_everything_that_it_tells_of(site: Site) -> None:  # phpipam 97
    claim = {"network": "prod", "handle": "a", "mac": "52:54:00:00:00:01", "hostname": "web"}
    made = site.post("/v1/claims", claim)
    (ip,) = (address["ip"] for address in made["addresses"])
    machine = site.get("/v1/machines")["items"][0]["name"]
    site.post(f"/v1/claims/{made['id']}/release")
    for path in (f"/v1/machines/{machine}", f"/v1/subnets/{site.subnet}", "/v1/networks/prod"):
        assert site.ask("DELETE", path).status_code == 204
    told = site.get(f"/v1/addresses/{ip}/history")["items"]
    kinds = [entry["kind"] for entry in told]
    assert kinds[0] == "tenure.address.allocated" and "tenure.address.released" in kinds


def test_what_the_api_changes_is_in_the_history_with_who_did_it(site: Site) -> None:  # phpipam 800
    made = site.post("/v1/claims", {"network": "prod", "handle": "a", "hostname": "web"})
    (ip,) = (address["ip"] for address in made["addresses"])
    site.ask("PATCH", f"/v1/addresses/{ip}", {"hostname": "www"}).raise_for_status()
    told = site.get(f"/v1/addresses/{ip}/history")["items"]
    assert [entry["kind"] for entry in told] == ["tenure.address.allocated", "tenure.address.moved"]
    assert {entry["actor"] for entry in told} == {"token:admin"}


def test_a_scan_removes_nothing(site: Site) -> None:  # phpipam 4541
    """What is reserved stays reserved, whether it was seen or not, and what is held stays held."""
    site.post(f"/v1/subnets/{site.subnet}/ranges", {"start": "10.0.3.10", "end": "10.0.3.12", "role": "reserved"})
    held = site.post("/v1/claims", {"network": "prod", "handle": "a", "address": "10.0.3.20"})
    before = site.get("/v1/networks/prod/capacity")["v4"]
    seen = [{"ip": ip, "mac": "52:54:00:00:00:99", "source": "scan"} for ip in ("10.0.3.10", "10.0.3.20")]
    site.post("/v1/observations", seen)
    assert site.get("/v1/networks/prod/capacity")["v4"] == before
    assert site.get(f"/v1/claims/{held['id']}")["addresses"] == held["addresses"]
    assert len(site.get(f"/v1/subnets/{site.subnet}/ranges")["items"]) == 1


def test_an_update_that_names_the_host_may_change_the_mac_too(site: Site) -> None:  # LP 1811905
    made = site.post("/v1/claims", {"network": "prod", "handle": "p", "mac": "52:54:00:00:00:01", "defer": True})
    machine = site.get("/v1/machines")["items"][0]["id"]
    for mac in ("52:54:00:00:00:01", "52:54:00:00:00:02"):  # named first, so that the second is known to replace it
        port = {"name": "eth0", "mac": mac}
        site.ask("PATCH", f"/v1/machines/{machine}", {"interfaces": [port]}).raise_for_status()
    bound = site.post(f"/v1/claims/{made['id']}/bind", {"host": "compute-7"})
    assert bound["state"] == "bound" and len(bound["addresses"]) == 1


def test_who_waits_gets_what_is_freed_without_asking_again(site: Site) -> None:  # cluster-api in-cluster 179
    site.post("/v1/networks", {"name": "tiny", "cooldown": 0})
    site.post("/v1/networks/tiny/subnets", {"cidr": "10.7.0.0/31"})
    held = [site.post("/v1/claims", {"network": "tiny", "handle": handle}) for handle in "ab"]
    waits = site.post("/v1/claims", {"network": "tiny", "handle": "c", "queue": True})
    assert (waits["state"], waits["addresses"]) == ("pending", [])
    site.post(f"/v1/claims/{held[0]['id']}/release")
    site.clock.pause(10)
    site.submit(Lapse())
    got = site.get(f"/v1/claims/{waits['id']}")
    assert got["state"] == "bound" and got["addresses"][0]["ip"] == held[0]["addresses"][0]["ip"]
