"""Tags and custom fields: kept in order, found by lists, and changed many at once."""

from typing import Any

import pytest

from tests.surfaces.api.site import Site, problem


@pytest.fixture
def racked(site: Site) -> Site:
    """Three machines with labels, one without; a network, a subnet and a claim."""
    for number in range(3):
        body = {"name": f"node-{number}", "tags": ["spare"], "custom": {"owner": "bob"}}
        site.post("/v1/machines", body)
    site.post("/v1/machines", {"name": "other"})
    return site


def labelled(site: Site, noun: str, query: str, body: Any) -> Any:
    """A change of many that must succeed."""
    answer = site.ask("PATCH", f"/v1/{noun}?{query}", body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_many_machines_get_and_lose_labels(racked: Site) -> None:
    body = {"tags": {"add": ["rack-a"], "remove": ["spare"]}, "custom": {"owner": None, "height": 3}}
    before = racked.sequence
    tried = labelled(racked, "machines", "tag=spare&dry_run=true", body)
    assert racked.sequence == before
    assert (tried["count"], tried["changed"], sorted(tried["first"])) == (3, 3, ["node-0", "node-1", "node-2"])
    assert labelled(racked, "machines", "tag=spare", body) == tried
    found = racked.get("/v1/machines?tag=rack-a")["items"]
    assert [(each["tags"], each["custom"]) for each in found] == [(["rack-a"], {"height": 3})] * 3
    assert racked.get("/v1/machines/other")["tags"] == []
    assert labelled(racked, "machines", "tag=rack-a", body)["changed"] == 0


def test_networks_subnets_and_claims_have_labels_too(racked: Site) -> None:
    claim = racked.post("/v1/claims", {"network": "prod", "handle": "a", "tags": ["b"]})
    for noun, query, named in (
        ("networks", "q=prod", "prod"),
        ("subnets", "network=prod", "10.0.3.0/24"),
        ("claims", "handle=a", "a"),
    ):
        done = labelled(racked, noun, query, {"tags": {"add": ["x"]}, "custom": {"on": True}})
        assert (done["count"], done["first"]) == (1, [named])
        (found,) = racked.get(f"/v1/{noun}?tag=x&custom=on:true")["items"]
        assert found["custom"] == {"on": True}
    assert racked.get(f"/v1/claims/{claim['id']}")["tags"] == ["b", "x"]


def test_one_that_cannot_be_changed_stops_nobody_else(racked: Site) -> None:
    racked.ask("PATCH", "/v1/machines/node-1", {"tags": [f"t-{number}" for number in range(64)]})
    done = labelled(racked, "machines", "custom=owner:bob", {"tags": {"add": ["one-more"]}})
    assert (done["count"], done["changed"], done["refused_count"]) == (3, 2, 1)
    assert done["refused"][0]["name"] == "node-1"
    assert done["refused"][0]["code"] == "invalid_value"


@pytest.mark.parametrize(
    ("path", "body", "pointer"),
    [
        ("/v1/machines", {"tags": {"add": ["Rack A"]}}, "/tags/add/0"),
        ("/v1/machines", {"custom": {"a b": 1}}, "/custom"),
        ("/v1/machines", {"custom": {"a": {"b": 1}}}, "/custom"),
        ("/v1/machines", {"labels": []}, "/labels"),
    ],
)
def test_what_is_no_label_is_refused(racked: Site, path: str, body: Any, pointer: str) -> None:
    before = racked.sequence
    found = problem(racked.ask("PATCH", path, body), 422, "invalid_value")
    assert found["pointer"].startswith(pointer)
    assert racked.sequence == before


def test_a_filter_that_the_list_does_not_know_is_refused(racked: Site) -> None:
    problem(racked.ask("PATCH", "/v1/machines?network=prod", {}), 422, "invalid_value")
    problem(racked.ask("PATCH", "/v1/machines?location=nowhere", {}), 404, "not_found")
    problem(racked.ask("PATCH", "/v1/machines?limit=3", {}), 422, "invalid_value")


def test_more_than_a_page_is_changed_whole(site: Site) -> None:
    items = [{"kind": "instance", "name": f"vm-{number}"} for number in range(1203)]
    site.post("/v1/import", {"items": items})
    done = labelled(site, "machines", "kind=instance", {"tags": {"add": ["x"]}})
    assert (done["count"], done["changed"], len(done["first"])) == (1203, 1203, 20)
    page = site.get("/v1/machines?tag=x&limit=1000")
    assert len(page["items"]) + len(site.get(f"/v1/machines?tag=x&after={page['next']}&limit=1000")["items"]) == 1203


@pytest.mark.parametrize("noun", ["networks", "subnets", "machines"])
def test_tags_are_sorted_and_each_is_once(site: Site, noun: str) -> None:
    path, body = {
        "networks": ("/v1/networks", {"name": "n"}),
        "subnets": ("/v1/networks/prod/subnets", {"cidr": "10.8.0.0/24"}),
        "machines": ("/v1/machines", {"name": "n"}),
    }[noun]
    made = site.post(path, {**body, "tags": ["b", "a", "b"]})
    assert made["tags"] == ["a", "b"]
    changed = site.ask("PATCH", f"/v1/{noun}/{made['id']}", {"tags": ["z", "c"], "custom": {"k": 1.5}}).json()
    assert (changed["tags"], changed["custom"]) == (["c", "z"], {"k": 1.5})


def test_a_key_keeps_no_thing_from_being_changed(racked: Site) -> None:
    """Things have no places that stay the same: the change is repeatable without the key."""
    for changed in (3, 0):
        answer = racked.ask(
            "PATCH", "/v1/machines?tag=spare", {"tags": {"add": ["x"]}}, headers={"Idempotency-Key": "once"}
        )
        found = answer.json()
        assert (answer.status_code, found["count"], found["changed"], found["refused_count"]) == (200, 3, changed, 0)
    assert len(racked.get("/v1/machines?tag=x")["items"]) == 3


@pytest.mark.parametrize(
    ("value", "said"),
    [("x,y", r"x\,y"), ("a:b", "a:b"), (r"c\d", r"c\\d"), (r"e\,", r"e\\\,"), ("", "")],
)
def test_every_value_can_be_asked_for(racked: Site, value: str, said: str) -> None:
    site_fields = {"owner": "bob", "note": value}
    racked.ask("PATCH", "/v1/machines/other", {"custom": site_fields})
    (found,) = racked.get("/v1/machines", params={"custom": f"note:{said},owner:bob"})["items"]
    assert (found["name"], found["custom"]) == ("other", site_fields)
    done = racked.ask("PATCH", "/v1/machines", {"tags": {"add": ["y"]}}, params={"custom": f"note:{said}-"}).json()
    assert (done["count"], done["changed"]) == (0, 0)


@pytest.mark.parametrize("custom", [{"a:b": "c"}, {"a": "b\nc"}, {"a": "\x7f"}, {"a": "b\tc"}])
def test_what_no_filter_can_say_is_no_field(racked: Site, custom: Any) -> None:
    for method, path, body in (
        ("POST", "/v1/machines", {"name": "n", "custom": custom}),
        ("PATCH", "/v1/machines/other", {"custom": custom}),
        ("PATCH", "/v1/machines", {"custom": custom}),
    ):
        found = problem(racked.ask(method, path, body), 422, "invalid_value")
        assert found["pointer"].startswith("/custom")


@pytest.mark.parametrize("said", [r"a:b\c", "a:b\\", "a"])
def test_a_filter_that_is_none_is_refused(racked: Site, said: str) -> None:
    problem(racked.ask("GET", "/v1/machines", params={"custom": said}), 422, "invalid_value")
