"""The client against the real API in process: results, errors with their facts, pages, repetition."""

import pytest

from tenure import errors
from tenure.client import AnswerLost, Client, Response
from tenure.client.problems import error_of
from tests.client.in_process import InProcess, client_of
from tests.surfaces.api.site import VIEWER, Site


def test_a_claim_is_made_shown_bound_moved_and_released(site: Site) -> None:
    client = client_of(site)
    pending = client.claims.create(network="prod", handle="a", defer=True)
    assert pending["state"] == "pending"
    bound = client.claims.bind(pending["id"], "compute-7")
    assert client.claims.wait(bound["id"]) == client.claims.show(bound["id"]) == bound
    moved = client.claims.rebind(bound["id"], "compute-8")
    assert [each["ip"] for each in moved["addresses"]] == [each["ip"] for each in bound["addresses"]]
    assert client.claims.release(bound["id"])["state"] == "released"


def test_things_are_made_listed_changed_and_deleted(site: Site) -> None:
    client = client_of(site)
    made = client.locations.create(name="compute-9", kind="host", parent="rack-3")
    assert made["parent"] == "rack-3"
    assert client.locations.show("compute-9") == made
    assert [each["name"] for each in client.locations.list(q="compute-9")] == ["compute-9"]
    assert client.locations.change("compute-9", {"parent": None}, if_match=made["revision"])["parent"] is None
    with pytest.raises(errors.StaleRevision) as stale:
        client.locations.delete("compute-9", if_match=made["revision"])
    assert stale.value.facts["revision"] == 2
    client.locations.delete("compute-9")
    with pytest.raises(errors.NotFound):
        client.locations.show("compute-9")


def test_subnets_and_ranges_are_made_in_their_owners(site: Site) -> None:
    client = client_of(site)
    subnet = client.subnets.create("prod", cidr="10.0.4.0/24", gateway="10.0.4.1")
    assert subnet["network"] == "prod"
    made = client.ranges.create("10.0.4.0/24", start="10.0.4.9", end="10.0.4.19", role="reserved")
    assert list(client.ranges.list(subnet=subnet["id"])) == [made]
    assert client.subnets.show("10.0.4.0/24") == subnet
    with pytest.raises(errors.NotFound):
        client.subnets.delete("10.0.5.0/24")
    client.vrfs.create(name="blue")
    client.networks.create(name="other", vrf="blue")
    client.subnets.create("other", cidr="10.0.4.0/24")
    with pytest.raises(errors.Conflict):
        client.subnets.show("10.0.4.0/24")


def test_a_refusal_is_the_services_error_with_its_facts(site: Site) -> None:
    client = client_of(site)
    client.claims.create(network="prod", address="10.0.3.9")
    with pytest.raises(errors.AlreadyAllocated) as taken:
        client.claims.create(network="prod", address="10.0.3.9")
    assert taken.value.facts["address"] == "10.0.3.9"
    with pytest.raises(errors.NotFound) as missing:
        client.claims.create(network="prod", host="nowhere")
    assert missing.value.facts["pointer"] == "/host"
    with pytest.raises(errors.InvalidValue) as wrong:
        client.networks.create(name="x", cooldown=-1)
    assert wrong.value.facts["pointer"] == "/cooldown"
    with pytest.raises(errors.InUse) as held:
        client.networks.delete("prod")
    assert held.value.facts["holders"]


def test_a_code_that_only_http_knows_is_the_nearest_error() -> None:
    body = b'{"status": 413, "code": "too_large", "detail": "Too much.", "limit": 8}'
    error = error_of(Response(413, {}, body))
    assert type(error) is errors.RequestError
    assert (error.message, error.facts) == ("Too much.", {"limit": 8, "code": "too_large", "status": 413})
    assert type(error_of(Response(502, {}, b"<html>"))) is errors.TenureError


def test_strangers_and_viewers_are_not_permitted(site: Site) -> None:
    with Client(InProcess(site, "wrong")) as stranger, pytest.raises(errors.NotPermitted):
        next(stranger.vrfs.list())
    with Client(InProcess(site, VIEWER)) as viewer, pytest.raises(errors.NotPermitted):
        viewer.vrfs.create(name="blue")


def test_lists_are_read_page_by_page(site: Site) -> None:
    client = client_of(site)
    for number in range(7):
        client.vrfs.create(name=f"vrf-{number}")
    first = client.vrfs.page(limit=3)
    second = client.vrfs.page(limit=100, after=first["next"])
    names = [each["name"] for each in first["items"] + second["items"]]
    assert sorted(names) == sorted(each["name"] for each in client.vrfs.list())
    assert len(names) == 8


def test_names_are_escaped_in_paths(site: Site) -> None:
    client = client_of(site)
    client.vrfs.create(name="a?b=c#d e%")
    assert client.vrfs.show("a?b=c#d e%")["name"] == "a?b=c#d e%"


def test_a_dry_run_changes_nothing(site: Site) -> None:
    client = client_of(site)
    before = client.now()
    assert client.claims.create(network="prod", dry_run=True)["state"] == "bound"
    client.networks.change("prod", {"cooldown": 1}, dry_run=True)
    assert client.now() == before


def test_a_lost_answer_is_asked_for_again_under_the_same_key(site: Site) -> None:
    transport = InProcess(site)
    client = Client(transport, pause=lambda seconds: None)
    transport.lose = 2
    claim = client.claims.create(network="prod")
    assert len(list(client.events(kinds="tenure.address.allocated"))) == 1
    sent = [each.headers["idempotency-key"] for each in transport.sent if each.changes]
    assert len(sent) == 3
    assert len(set(sent)) == 1
    assert [each["id"] for each in client.claims.list()] == [claim["id"]]


def test_a_change_without_a_key_is_not_repeated(site: Site) -> None:
    transport = InProcess(site)
    client = Client(transport, pause=lambda seconds: None)
    transport.lose = 1
    with pytest.raises(AnswerLost):
        client.networks.change("prod", {"cooldown": 1})
    assert len(transport.sent) == 1
    assert client.networks.show("prod")["cooldown"] == 1


def test_batches_answer_item_by_item(site: Site) -> None:
    client = client_of(site)
    items = client.claims.batch([{"network": "prod", "host": "compute-7"}, {"network": "nowhere"}])
    assert [item["status"] for item in items] == [201, 404]
    released = client.claims.release_batch([{"id": items[0]["claim"]["id"]}, {"id": "0" * 20}])
    assert [item["status"] for item in released] == [200, 404]


def test_why_history_search_and_capacity(site: Site) -> None:
    client = client_of(site)
    ip = client.claims.create(network="prod", host="compute-7", hostname="vm-17")["addresses"][0]["ip"]
    assert client.addresses.why(ip)["strategy"] == "topology"
    assert [each["kind"] for each in client.addresses.history(ip)] == ["tenure.address.allocated"]
    assert client.search("vm-17")
    counts = client.capacity("prod", by_location=True)
    assert counts["v4"]["in_use"] == 1
    assert {each["name"] for each in counts["locations"]} >= {"compute-7"}


def test_events_end_and_following_goes_on(site: Site) -> None:
    client = client_of(site)
    assert [each["sequence"] for each in client.events()] == list(range(1, site.sequence + 1))
    feed = client.follow(client.now())
    client.vrfs.create(name="blue")
    assert next(feed)["kind"] == "tenure.vrf.created"
    with pytest.raises(errors.EpochChanged):
        next(client.follow("another:1"))


def test_an_import_is_all_or_nothing(site: Site) -> None:
    client = client_of(site)
    before = site.sequence
    with pytest.raises(errors.NotFound) as refused:
        client.import_objects(
            [{"kind": "vrf", "name": "blue"}, {"kind": "subnet", "network": "x", "cidr": "10.9.0.0/24"}]
        )
    assert str(refused.value.facts["pointer"]).startswith("/items/1")
    assert site.sequence == before


def test_readiness_is_an_answer_either_way(site: Site) -> None:
    client = client_of(site)
    assert client.ready()["ready"]
    site.doors.open = False
    assert client.ready()["reasons"] == ["the ledger's process is not there"]
