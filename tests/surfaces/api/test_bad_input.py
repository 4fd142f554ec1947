"""Bad input: each has its answer, names what is wrong, and leaves nothing half done."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.surfaces.api.site import Site, problem

CLAIM = {"network": "prod"}


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"network": "prod", "hots": "compute-7"}, "/hots"),
        ({}, "/network"),
        ({"network": 7}, "/network"),
        ({"network": ""}, "/network"),
        ({"network": "x" * 254}, "/network"),
        ({"network": "a\nb"}, "/network"),
        ({"network": "prod\n"}, "/network"),
        ({"network": "prod", "count": 0}, "/count"),
        ({"network": "prod", "count": 1025}, "/count"),
        ({"network": "prod", "count": 10**30}, "/count"),
        ({"network": "prod", "count": 1.5}, "/count"),
        ({"network": "prod", "count": True}, "/count"),
        ({"network": "prod", "family": "v5"}, "/family"),
        ({"network": "prod", "mac": "52:54:00:0a:0b"}, "/mac"),
        ({"network": "prod", "mac": "ff:ff:ff:ff:ff:ff"}, "/mac"),
        ({"network": "prod", "address": "10.0.3.256"}, "/address"),
        ({"network": "prod", "address": "10.9.9.9"}, "/address"),
        ({"network": "prod", "handle": "dhcp:x"}, "/handle"),
        ({"network": "prod", "handle": "x" * 513}, "/handle"),
        ({"network": "prod", "hostname": "no_underscores"}, "/hostname"),
        ({"network": "prod", "hostname": "a..b"}, "/hostname"),
        ({"network": "prod", "purpose": "x" * 1025}, "/purpose"),
        ({"network": "prod", "purpose": "a\0b"}, "/purpose"),
        ({"network": "prod", "a/b~c": 1}, "/a~1b~0c"),
    ],
)
def test_a_wrong_field_is_named_by_pointer(site: Site, body: Any, pointer: str) -> None:
    before = site.sequence
    found = problem(site.ask("POST", "/v1/claims", body), 422, "invalid_value")
    assert found["pointer"] == pointer
    assert site.sequence == before


def test_what_would_be_right_is_listed(site: Site) -> None:
    found = problem(site.ask("POST", "/v1/claims", {**CLAIM, "family": "v5"}), 422, "invalid_value")
    assert sorted(found["allowed"]) == ["dual", "v4", "v6"]
    found = problem(site.ask("POST", "/v1/claims", {**CLAIM, "hots": 1}), 422, "invalid_value")
    assert "host" in found["allowed"]


def test_every_fault_of_a_body_is_told_at_once(site: Site) -> None:
    found = problem(site.ask("POST", "/v1/claims", {"hots": 1, "count": 0}), 422, "invalid_value")
    assert {each["pointer"] for each in found["errors"]} == {"/hots", "/count", "/network"}


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        *(("/v1/networks", {"name": "n"}, field) for field in ("project", "vlan_id")),
        ("/v1/locations", {"name": "x", "kind": "rack"}, "tags"),
        ("/v1/machines", {"name": "x"}, "dhcp"),
        ("/v1/tokens", {"name": "x", "role": "viewer"}, "expires"),
        ("/v1/tokens", {"name": "x", "role": "viewer"}, "project"),
    ],
)
def test_a_field_of_a_later_release_is_refused_by_name(site: Site, path: str, body: Any, field: str) -> None:
    before = site.sequence
    found = problem(site.ask("POST", path, {**body, field: "inherit"}), 422, "invalid_value")
    assert found["pointer"] == f"/{field}"
    assert "not implemented yet" in found["detail"]
    assert site.sequence == before


@pytest.mark.parametrize(
    ("path", "body", "pointer"),
    [
        ("/v1/networks", {"name": "n", "model": "vlan"}, "/model"),
        ("/v1/tokens", {"name": "n", "role": "operator"}, "/role"),
    ],
)
def test_a_value_of_a_later_release_is_refused_by_name(site: Site, path: str, body: Any, pointer: str) -> None:
    found = problem(site.ask("POST", path, body), 422, "invalid_value")
    assert found["pointer"] == pointer
    assert "not implemented yet" in found["detail"]


@pytest.mark.parametrize(
    "body", [b"{", b"", b"[1,", b'{"network": "\xff"}', b"nul", b'{"network": "a"} x', b"[" * 9999]
)
def test_a_body_that_is_no_json_is_malformed(site: Site, body: bytes) -> None:
    answer = site.ask("POST", "/v1/claims", content=body, headers={"Content-Type": "application/json"})
    problem(answer, 400, "malformed")


def test_a_body_that_is_no_object_is_refused(site: Site) -> None:
    answer = site.ask("POST", "/v1/claims", content=b"[]", headers={"Content-Type": "application/json"})
    assert problem(answer, 422, "invalid_value")["pointer"] == ""


def test_another_media_type_is_refused(site: Site) -> None:
    body = json.dumps(CLAIM).encode()
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        problem(
            site.ask("POST", "/v1/claims", content=body, headers={"Content-Type": kind}), 415, "unsupported_media_type"
        )
    problem(site.ask("POST", "/v1/claims", content=body), 415, "unsupported_media_type")
    packed = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    problem(site.ask("POST", "/v1/claims", content=body, headers=packed), 415, "unsupported_media_type")
    kind = "application/json; charset=utf-8"
    assert site.ask("POST", "/v1/claims", content=body, headers={"Content-Type": kind}).status_code == 201


def test_a_wrong_method_says_which_are_right(site: Site) -> None:
    answer = site.ask("PUT", "/v1/claims", {})
    assert problem(answer, 405, "method_not_allowed")["allowed"] == ["GET", "PATCH", "POST"]
    assert answer.headers["allow"] == "GET, PATCH, POST"


def test_a_path_that_is_not_there_is_not_found(site: Site) -> None:
    problem(site.ask("GET", "/v1/nothing"), 404, "not_found")
    problem(site.ask("GET", "/v1/claims/"), 404, "not_found")


def test_a_nul_in_a_path_or_a_query_is_refused(site: Site) -> None:
    problem(site.ask("GET", "/v1/networks/a%00b"), 422, "invalid_value")
    found = problem(site.ask("GET", "/v1/networks?q=a%00b"), 422, "invalid_value")
    assert found["parameter"] == "q"


class Counted:
    """A body that counts how much of it was asked for."""

    def __init__(self, mebibytes: int) -> None:
        self.mebibytes = mebibytes
        self.sent = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for _ in range(self.mebibytes):
            self.sent += 1
            yield b" " * 2**20


@pytest.mark.parametrize(("path", "limit"), [("/v1/claims", 8), ("/v1/claims/batch", 32), ("/v1/import", 32)])
def test_a_body_of_100_mb_is_refused_before_it_is_read(site: Site, path: str, limit: int) -> None:
    kind = {"Content-Type": "application/json"}
    streamed = Counted(100)
    found = problem(site.runner.run(_stream(site, path, streamed, kind)), 413, "too_large")
    assert found["limit"] == limit * 2**20
    assert streamed.sent == limit + 1
    announced = Counted(100)
    answer = site.runner.run(_stream(site, path, announced, {**kind, "Content-Length": str(100 * 2**20)}))
    problem(answer, 413, "too_large")
    assert answer.headers["connection"] == "close"
    assert announced.sent == 0


async def _stream(site: Site, path: str, body: Counted, headers: dict[str, str]) -> Any:
    """As a server hands a body on: httpx's own transport reads it whole before it asks."""
    sent: list[Any] = []
    parts = body.__aiter__()

    async def receive() -> dict[str, Any]:
        part = await anext(parts, None)
        return {"type": "http.request", "body": part or b"", "more_body": part is not None}

    async def send(message: Any) -> None:
        sent.append(message)

    named = {**headers, "Authorization": "Bearer tenure_admin"}
    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(name.lower().encode(), value.encode()) for name, value in named.items()],
        "client": ("127.0.0.1", 1),
        "server": ("tenure.test", 80),
        "scheme": "http",
        "http_version": "1.1",
        "root_path": "",
    }
    await site.app(scope, receive, send)
    return httpx.Response(sent[0]["status"], headers=sent[0]["headers"], content=sent[1]["body"])


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("limit=many", "limit"),
        ("after=%21", None),
        ("colour=blue", "colour"),
        ("state=odd", "state"),
        ("at_least=soon", "at_least"),
    ],
)
def test_a_wrong_parameter_is_named(site: Site, query: str, parameter: str | None) -> None:
    found = problem(site.ask("GET", f"/v1/claims?{query}"), 422, "invalid_value")
    if parameter is not None:
        assert found["parameter"] == parameter


@pytest.mark.parametrize("query", ["claims?limit=0", "routes/plan?limit=101", "claims?limit=-1"])
def test_a_number_out_of_bounds_is_told_its_bounds(site: Site, query: str) -> None:
    found = problem(site.ask("GET", f"/v1/{query}"), 422, "invalid_value")
    assert found["detail"].endswith("<= 100." if "101" in query else ">= 1.")


def test_a_misspelt_dry_run_does_nothing(site: Site) -> None:
    before = site.sequence
    problem(site.ask("POST", "/v1/claims?dryrun=true", CLAIM), 422, "invalid_value")
    problem(site.ask("POST", "/v1/claims?dry_run=perhaps", CLAIM), 422, "invalid_value")
    assert site.sequence == before


def _subnet(site: Site, cidr: str, network: str = "prod", **fields: Any) -> Any:
    return site.ask("POST", f"/v1/networks/{network}/subnets", {"cidr": cidr, **fields})


def test_a_subnet_with_host_bits_is_refused_never_rounded(site: Site) -> None:
    assert problem(_subnet(site, "10.1.0.1/24"), 422, "invalid_value")["pointer"] == "/cidr"


def test_a_subnet_that_overlaps_or_is_nested_in_another_networks_is_refused(site: Site) -> None:
    site.post("/v1/networks", {"name": "other"})
    for cidr in ("10.0.3.0/24", "10.0.0.0/16", "10.0.3.128/25"):
        found = problem(_subnet(site, cidr, "other"), 409, "overlap")
        assert found["with"]


def test_a_gateway_outside_its_subnet_is_refused(site: Site) -> None:
    assert problem(_subnet(site, "10.1.0.0/24", gateway="10.2.0.1"), 422, "invalid_value")["pointer"] == "/gateway"


def test_a_range_that_crosses_is_refused(site: Site) -> None:
    path = f"/v1/subnets/{site.subnet}/ranges"
    site.post(path, {"start": "10.0.3.100", "end": "10.0.3.150", "role": "dynamic"})
    crossing = {"start": "10.0.3.140", "end": "10.0.3.160", "role": "reserved"}
    problem(site.ask("POST", path, crossing), 409, "overlap")
    outside = {"start": "10.0.3.250", "end": "10.0.4.4", "role": "reserved"}
    assert problem(site.ask("POST", path, outside), 422, "invalid_value")["pointer"] in ("/start", "/end")
    backwards = {"start": "10.0.3.240", "end": "10.0.3.230", "role": "reserved"}
    assert problem(site.ask("POST", path, backwards), 422, "invalid_value")["pointer"] in ("/start", "/end")


def test_deleting_what_is_in_use_names_the_holders(site: Site) -> None:
    for number in range(25):
        site.post("/v1/claims", {"network": "prod", "handle": f"vm-{number}", "host": "compute-7"})
    before = site.sequence
    for path in (f"/v1/subnets/{site.subnet}", "/v1/networks/prod", "/v1/locations/compute-7", "/v1/vrfs/default"):
        found = problem(site.ask("DELETE", path), 409, "in_use")
        assert found["holders"], path
        assert found["count"] >= len(found["holders"])
        assert len(found["holders"]) <= 20
    assert problem(site.ask("DELETE", f"/v1/subnets/{site.subnet}"), 409, "in_use")["count"] == 25
    assert site.sequence == before


def test_a_release_of_anothers_claim_is_refused(site: Site) -> None:
    claim = site.post("/v1/claims", {"network": "prod", "handle": "mine", "project": "blue"})
    other = {"id": claim["id"], "handle": "mine", "project": "red"}
    answer = site.ask("POST", "/v1/claims/release", other)
    assert answer.status_code in (403, 404, 409), answer.text
    assert site.get(f"/v1/claims/{claim['id']}")["state"] == "bound"
    problem(site.ask("POST", "/v1/claims/00000000000000000000/release"), 404, "not_found")


@pytest.mark.parametrize("value", ['"5"', "*", '"0"'])
def test_if_match_on_what_is_not_there_yet_never_matches(site: Site, value: str) -> None:
    before = site.sequence
    problem(site.ask("POST", "/v1/vrfs", {"name": "x"}, headers={"If-Match": value}), 412, "stale_revision")
    assert site.sequence == before


def test_a_key_that_cannot_be_one_is_refused(site: Site) -> None:
    for key in ("", "x" * 256):
        found = problem(site.ask("POST", "/v1/claims", CLAIM, headers={"Idempotency-Key": key}), 422, "invalid_value")
        assert found["header"] == "Idempotency-Key"
