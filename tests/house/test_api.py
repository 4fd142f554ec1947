"""The API against its own document: every change honours dry_run and If-Match, every POST Idempotency-Key."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tenure.surfaces.api.application import described
from tenure.surfaces.api.events import KINDS
from tests.surfaces.api.documented import validate
from tests.surfaces.api.site import Site, problem

OPERATIONS = {
    operation["operationId"]: (method.upper(), path, operation)
    for path, methods in described()["paths"].items()
    for method, operation in methods.items()
}
CHANGES = sorted(name for name, (method, _, _) in OPERATIONS.items() if method != "GET")
POSTS = sorted(name for name in CHANGES if OPERATIONS[name][0] == "POST")


class Example(NamedTuple):
    """A request that succeeds once on a furnished site."""

    path: str
    body: Any = None


def _claim(site: Site, **more: Any) -> str:
    return str(site.post("/v1/claims", {"network": "prod", "handle": "a", **more})["id"])


def _moved(site: Site) -> str:
    claim = _claim(site, host="compute-7")
    site.post(f"/v1/claims/{claim}/rebind", {"host": "compute-8"})
    return claim


def _ip(site: Site, *, attached: bool = False) -> str:
    """A held address, and an interface to give it to."""
    if "vm-9" not in {each["name"] for each in site.get("/v1/machines")["items"]}:
        site.post("/v1/machines", {"name": "vm-9", "interfaces": [{"mac": _MAC}]})
    claim = site.post("/v1/claims", {"network": "prod", "handle": "ip"})
    ip = str(claim["addresses"][0]["ip"])
    if attached:
        site.post(f"/v1/addresses/{ip}/attach", {"interface": _MAC})
    return ip


def _unseen(site: Site) -> str:
    """A network that harvests what its machine was given long ago."""
    port = {"mac": _MAC, "network": "prod", "boot": True}
    site.post("/v1/machines", {"name": "node-9", "interfaces": [port]})
    site.post("/v1/machines/node-9/ready")
    site.clock.pause(40 * 86400)
    assert site.ask("PATCH", "/v1/networks/prod", {"harvest": True, "harvest_below": 1000}).is_success
    return "prod"


def _renumbered(site: Site, act: str = "") -> str:
    """A subnet whose addresses go to another; `act`: what was done to that."""
    _claim(site)
    path = f"/v1/subnets/{site.subnet}/renumber"
    site.post(path, {"to": _target(site)})
    if act:
        site.post(f"{path}/{act}")
    return path


def _target(site: Site) -> str:
    return str(site.post("/v1/networks/prod/subnets", {"cidr": "10.0.8.0/24"})["id"])


_MAC = "52:54:00:00:00:09"


def _host(site: Site) -> str:
    _claim(site, host="compute-7")
    return "compute-7"


def _range(site: Site) -> str:
    body = {"start": "10.0.3.200", "end": "10.0.3.210", "role": "reserved"}
    return str(site.post(f"/v1/subnets/{site.subnet}/ranges", body)["id"])


def _made(path: str, body: dict[str, Any]) -> Callable[[Site], str]:
    return lambda site: str(site.post(path, body)["id"])


_VRF = _made("/v1/vrfs", {"name": "blue"})
_NETWORK = _made("/v1/networks", {"name": "lab"})
_MACHINE = _made("/v1/machines", {"name": "vm-1"})
_INSTANCE = _made("/v1/machines", {"name": "vm-1", "kind": "instance"})
_LABELS = {"tags": {"add": ["x"]}}
_ZONE = _made("/v1/zones", {"name": "made.example."})
_RECORD = _made("/v1/zones/prod.example./records", {"name": "www", "type": "CNAME", "data": "web"})
_KEY = _made("/v1/tsig-keys", {"name": "ns2"})
_SECONDARY = _made("/v1/secondaries", {"name": "ns2", "address": "192.0.2.54", "unsigned": True})
_TOKEN = _made("/v1/tokens", {"name": "ci", "role": "viewer"})


def _deployed(site: Site) -> str:
    machine = _INSTANCE(site)
    site.post(f"/v1/machines/{machine}/deploy")
    return machine


def _all_of(path: str, made: str) -> str:
    """The path of all, now that there is one."""
    assert made
    return path


EXAMPLES: dict[str, Callable[[Site], Example]] = {
    "create_claims": lambda site: Example("/v1/claims", {"network": "prod"}),
    "create_many_claims": lambda site: Example("/v1/claims/batch", {"claims": [{"network": "prod"}]}),
    "release_many_claims": lambda site: Example("/v1/claims/release-batch", {"releases": [{"id": _claim(site)}]}),
    "release_by_handle_claims": lambda site: Example("/v1/claims/release", {"id": _claim(site), "handle": "a"}),
    "bind_claims": lambda site: Example(f"/v1/claims/{_claim(site, defer=True)}/bind", {"host": "compute-7"}),
    "rebind_claims": lambda site: Example(f"/v1/claims/{_claim(site)}/rebind", {"host": "compute-8"}),
    "settle_claims": lambda site: Example(f"/v1/claims/{_moved(site)}/settle"),
    "release_claims": lambda site: Example(f"/v1/claims/{_claim(site)}/release"),
    "delete_claims": lambda site: Example(f"/v1/claims/{_claim(site)}"),
    "change_claims": lambda site: Example(f"/v1/claims/{_claim(site)}", {"tags": ["a"]}),
    "reassign_addresses": lambda site: Example(f"/v1/addresses/{_ip(site)}/reassign", {"interface": _MAC}),
    "rename_address": lambda site: Example(f"/v1/addresses/{_ip(site)}", {"hostname": "db-1"}),
    "attach_address": lambda site: Example(f"/v1/addresses/{_ip(site)}/attach", {"interface": _MAC}),
    "detach_address": lambda site: Example(f"/v1/addresses/{_ip(site, attached=True)}/detach"),
    "observe_addresses": lambda site: Example("/v1/observations", [{"ip": "10.0.3.99", "mac": _MAC}]),
    "harvest_network": lambda site: Example(f"/v1/networks/{_unseen(site)}/harvest"),
    "renumber_subnet": lambda site: Example(f"/v1/subnets/{site.subnet}/renumber", {"to": _target(site)}),
    "stop_renumbering": lambda site: Example(_renumbered(site) + "/stop"),
    "resume_renumbering": lambda site: Example(_renumbered(site, "stop") + "/resume"),
    "cancel_renumbering": lambda site: Example(_renumbered(site) + "/cancel"),
    "create_vrf": lambda site: Example("/v1/vrfs", {"name": "blue"}),
    "change_vrf": lambda site: Example(f"/v1/vrfs/{_VRF(site)}", {"name": "green"}),
    "delete_vrf": lambda site: Example(f"/v1/vrfs/{_VRF(site)}"),
    "create_location": lambda site: Example("/v1/locations", {"name": "rack-9", "kind": "rack"}),
    "change_location": lambda site: Example("/v1/locations/compute-8", {"name": "compute-88"}),
    "delete_location": lambda site: Example("/v1/locations/compute-8"),
    "evacuate_location": lambda site: Example(f"/v1/locations/{_host(site)}/evacuate", {"to": "compute-8"}),
    "drain_location": lambda site: Example("/v1/locations/compute-8/drain"),
    "create_network": lambda site: Example("/v1/networks", {"name": "lab"}),
    "change_network": lambda site: Example("/v1/networks/prod", {"cooldown": 7}),
    "delete_network": lambda site: Example(f"/v1/networks/{_NETWORK(site)}"),
    "create_subnet": lambda site: Example("/v1/networks/prod/subnets", {"cidr": "10.8.0.0/24"}),
    "change_subnet": lambda site: Example(f"/v1/subnets/{site.subnet}", {"dns_servers": []}),
    "delete_subnet": lambda site: Example(f"/v1/subnets/{site.subnet}"),
    "drain_subnet": lambda site: Example(f"/v1/subnets/{site.subnet}/drain", {"draining": True}),
    "create_range": lambda site: Example(
        f"/v1/subnets/{site.subnet}/ranges", {"start": "10.0.3.100", "end": "10.0.3.110", "role": "dynamic"}
    ),
    "change_range": lambda site: Example(f"/v1/ranges/{_range(site)}", {"note": "kept"}),
    "delete_range": lambda site: Example(f"/v1/ranges/{_range(site)}"),
    "create_machine": lambda site: Example("/v1/machines", {"name": "vm-1"}),
    "change_machine": lambda site: Example(f"/v1/machines/{_MACHINE(site)}", {"name": "vm-2"}),
    "delete_machine": lambda site: Example(f"/v1/machines/{_MACHINE(site)}"),
    "commission_machine": lambda site: Example(f"/v1/machines/{_MACHINE(site)}/commission"),
    "ready_machine": lambda site: Example(f"/v1/machines/{_MACHINE(site)}/ready"),
    "deploy_machine": lambda site: Example(f"/v1/machines/{_INSTANCE(site)}/deploy", {"host": "compute-7"}),
    "release_machine": lambda site: Example(f"/v1/machines/{_deployed(site)}/release"),
    "retire_machine": lambda site: Example(f"/v1/machines/{_MACHINE(site)}/retire"),
    "see_machine": lambda site: Example(f"/v1/machines/{_MACHINE(site)}/seen"),
    "step_machines": lambda site: Example("/v1/machines/batch", {"act": "ready", "machines": [_MACHINE(site)]}),
    "label_networks": lambda site: Example("/v1/networks", _LABELS),
    "label_subnets": lambda site: Example("/v1/subnets", _LABELS),
    "label_machines": lambda site: Example(_all_of("/v1/machines", _MACHINE(site)), _LABELS),
    "label_claims": lambda site: Example(_all_of("/v1/claims", _claim(site)), _LABELS),
    "create_zone": lambda site: Example("/v1/zones", {"name": "made.example."}),
    "change_zone": lambda site: Example(f"/v1/zones/{_ZONE(site)}", {"ttl": 60}),
    "delete_zone": lambda site: Example(f"/v1/zones/{_ZONE(site)}"),
    "create_record": lambda site: Example(
        "/v1/zones/prod.example./records", {"name": "@", "type": "MX", "data": "10 mail"}
    ),
    "change_record": lambda site: Example(f"/v1/zones/prod.example./records/{_RECORD(site)}", {"ttl": 60}),
    "delete_record": lambda site: Example(f"/v1/zones/prod.example./records/{_RECORD(site)}"),
    "create_tsig_key": lambda site: Example("/v1/tsig-keys", {"name": "ns2"}),
    "delete_tsig_key": lambda site: Example(f"/v1/tsig-keys/{_KEY(site)}"),
    "create_secondary": lambda site: Example(
        "/v1/secondaries", {"name": "ns2", "address": "192.0.2.54", "unsigned": True}
    ),
    "change_secondary": lambda site: Example(f"/v1/secondaries/{_SECONDARY(site)}", {"notify": False}),
    "delete_secondary": lambda site: Example(f"/v1/secondaries/{_SECONDARY(site)}"),
    "import_objects": lambda site: Example("/v1/import", {"items": [{"kind": "vrf", "name": "blue"}]}),
    "create_token": lambda site: Example("/v1/tokens", {"name": "ci", "role": "viewer"}),
    "delete_token": lambda site: Example(f"/v1/tokens/{_TOKEN(site)}"),
}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A furnished site."""
    site = Site(tmp_path)
    site.furnish()
    yield site
    site.close()


def test_every_change_has_an_example_here() -> None:
    assert sorted(EXAMPLES) == CHANGES


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_honours_dry_run_and_if_match(site: Site, name: str) -> None:
    method = OPERATIONS[name][0]
    path, body = EXAMPLES[name](site)
    before = site.sequence
    tried = site.ask(method, f"{path}?dry_run=true", body)
    assert tried.is_success, tried.text
    assert site.sequence == before
    problem(site.ask(method, path, body, headers={"If-Match": '"999"'}), 412, "stale_revision")
    assert site.sequence == before
    done = site.ask(method, path, body)
    told = "consequences" in (tried.json() if tried.content else {})
    assert done.status_code == (204 if method == "DELETE" and told else tried.status_code), done.text
    assert site.sequence > before


@pytest.mark.parametrize("name", POSTS)
def test_a_post_honours_its_idempotency_key(site: Site, name: str) -> None:
    path, body = EXAMPLES[name](site)
    key = {"Idempotency-Key": "once"}
    first = site.ask("POST", path, body, headers=key)
    assert first.is_success, first.text
    before = site.sequence
    again = site.ask("POST", path, body, headers=key)
    assert again.status_code == first.status_code
    assert _without_secret(again.json()) == _without_secret(first.json())
    assert site.sequence == before
    other = site.ask("POST", f"{path}?dry_run=false", body, headers=key)
    assert _codes(other) == {"key_reused"}, other.text
    assert site.sequence == before


def _without_secret(body: Any) -> Any:
    """The secret of a token or key is shown once, and a replay is no second time."""
    return {name: value for name, value in body.items() if name not in ("token", "secret")}


def _codes(answer: Any) -> set[str]:
    body = answer.json()
    items = [each["problem"] for each in body["items"]] if "items" in body else [body]
    return {each["code"] for each in items}


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_an_operation_has_a_summary_and_true_examples(name: str) -> None:
    method, _, operation = OPERATIONS[name]
    assert operation["summary"]
    assert operation["summary"][0].isupper()
    if method in ("POST", "PATCH") and "requestBody" in operation:
        (content,) = operation["requestBody"]["content"].values()
        validate(content["schema"], content["example"])
    for answer in operation["responses"].values():
        assert answer["description"]
        for content in answer.get("content", {}).values():
            examples = content.get("examples") or {"": {"value": content["example"]}}
            for example in examples.values():
                validate(content["schema"], example["value"])


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_documents_what_every_change_honours(name: str) -> None:
    method, _, operation = OPERATIONS[name]
    parameters = {each["name"] for each in operation["parameters"]}
    assert {"dry_run", "If-Match"} <= parameters
    assert ("Idempotency-Key" in parameters) == (method == "POST")
    assert {"401", "403", "412", "422"} <= set(operation["responses"])


def test_every_number_and_text_of_a_request_has_bounds() -> None:
    schemas = described()["components"]["schemas"]
    sent = {name: content["schema"] for name, (_, _, operation) in OPERATIONS.items() for content in _bodies(operation)}
    sent |= {name: schemas[name] for schema in sent.values() for name in _named(schema)}
    assert [(name, where) for name, schema in sent.items() for where in _unbounded(schema)] == []


def _bodies(operation: Any) -> list[Any]:
    return list(operation.get("requestBody", {}).get("content", {}).values())


def _named(schema: Any) -> set[str]:
    """The schemas that one refers to."""
    return set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(schema)))


def _unbounded(schema: Any, where: str = "") -> Iterator[str]:
    if schema.get("type") == "integer" and not {"minimum", "maximum"} <= set(schema):
        yield where
    if schema.get("type") == "string" and "maxLength" not in schema:
        yield where
    if schema.get("type") == "array":
        if "maxItems" not in schema:
            yield where
        yield from _unbounded(schema.get("items", {}), where + "/[]")
    for name, part in schema.get("properties", {}).items():
        yield from _unbounded(part, f"{where}/{name}")
    for part in schema.get("anyOf", ()):
        yield from _unbounded(part, where)


def test_the_reference_is_made_from_the_document_of_today() -> None:
    from docs.make_reference import api_page, events_page

    reference = Path(__file__).parents[2] / "docs" / "reference"
    assert (reference / "api.md").read_text() == api_page(), "run: python -m docs.make_reference"
    assert (reference / "events.md").read_text() == events_page(), "run: python -m docs.make_reference"


def test_every_path_and_every_kind_of_event_is_in_the_reference() -> None:
    reference = Path(__file__).parents[2] / "docs" / "reference"
    api = (reference / "api.md").read_text()
    assert [name for name, (method, path, _) in OPERATIONS.items() if f"`{method} {path}`" not in api] == []
    rows = re.findall(r"^\| `(tenure\.\S+)` \|", (reference / "events.md").read_text(), re.MULTILINE)
    assert rows == list(KINDS)


def test_the_document_is_json_and_says_which_openapi() -> None:
    document = json.loads(json.dumps(described()))
    assert document["openapi"].startswith("3.1")
    assert all(re.fullmatch(r"/[\w{}/-]+", path) for path in document["paths"])
