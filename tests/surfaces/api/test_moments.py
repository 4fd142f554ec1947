"""Times that callers send: bounded, in UTC, and never more than one request's trouble."""

from urllib.parse import quote

import pytest

from tests.surfaces.api.site import Site, problem

BEYOND = [
    "9999-12-31T23:59:59-23:00",
    "9999-12-31T23:59:59Z",
    "9000-01-01T00:00:00Z",
    "0001-01-01T00:00:00+23:00",
    "1969-12-31T23:59:59Z",
]


@pytest.fixture
def claim(site: Site) -> str:
    """A claim's id."""
    return str(site.post("/v1/claims", {"network": "prod", "handle": "a"})["id"])


@pytest.mark.parametrize("time", BEYOND)
def test_a_time_that_nothing_reckons_with_is_refused_by_its_field(site: Site, claim: str, time: str) -> None:
    site.post("/v1/machines", {"name": "m"})
    before = site.sequence
    for method, path, field in (
        ("PATCH", f"/v1/claims/{claim}", "expires"),
        ("POST", "/v1/claims", "expires"),
        ("POST", "/v1/machines/m/seen", "at"),
    ):
        body = {field: time} | ({"network": "prod"} if path == "/v1/claims" else {})
        assert problem(site.ask(method, path, body), 422, "invalid_value")["pointer"] == f"/{field}"
    assert site.sequence == before
    assert site.get(f"/v1/claims/{claim}")["expires"] is None


@pytest.mark.parametrize("time", BEYOND)
@pytest.mark.parametrize("path", ["/v1/addresses", "/v1/addresses/10.0.3.9", "/v1/routes"])
def test_nobody_looks_back_to_such_a_time(site: Site, path: str, time: str) -> None:
    found = problem(site.ask("GET", f"{path}?at={quote(time)}"), 422, "invalid_value")
    assert found["parameter"] == "at"


def test_a_time_of_another_zone_is_told_in_utc(site: Site, claim: str) -> None:
    changed = site.ask("PATCH", f"/v1/claims/{claim}", {"expires": "8999-12-31T23:00:00+05:30"}).json()
    assert changed["expires"] == "8999-12-31T17:30:00Z"
    asked = {"network": "prod", "handle": "b", "expires": "8999-12-31T23:00:00+05:30"}
    assert site.post("/v1/claims", asked)["expires"] == "8999-12-31T17:30:00Z"
    again = site.ask("POST", "/v1/claims", asked | {"expires": "8999-12-31T17:30:00Z"})
    assert again.status_code == 200  # the same content


def test_one_such_time_in_a_batch_is_one_problem(site: Site) -> None:
    claims = [{"network": "prod", "expires": time} for time in (*BEYOND, "8999-01-01T00:00:00Z")]
    items = site.post("/v1/claims/batch", {"claims": claims})["items"]
    assert [each["status"] for each in items] == [422] * len(BEYOND) + [201]
    assert {each["problem"]["pointer"] for each in items[:-1]} == {"/expires"}
