"""Whatever is sent, the answer is a documented one, and never a bug."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tenure.surfaces.api.application import described
from tests.surfaces.api.site import Site

CHANGES = [
    (method.upper(), path, operation)
    for path, methods in described()["paths"].items()
    for method, operation in methods.items()
    if method != "get"
]
READS = [(path, methods["get"]) for path, methods in described()["paths"].items() if "get" in methods]
WORDS = st.sampled_from(
    [
        *(
            "prod",
            "default",
            "compute-7",
            "rack-3",
            "host",
            "reserved",
            "dynamic",
            "flat",
            "admin",
            "v4",
            "dual",
            "a" * 300,
        ),
        *("10.0.3.0/24", "10.0.3.7", "2001:db8::/64", "2001:db8::1", "0.0.0.0/0", "255.255.255.255", "10.0.3.9/24"),
        *("52:54:00:0a:0b:0c", "00:00:00:00:00:00", "é.example", "xn--a", "-", ".", "", "\0", "\ud7ff", "a/b", "%2f"),
        *(
            "network",
            "subnet",
            "claim",
            "vrf",
            "device",
            "::",
            "::ffff:10.0.0.1",
            "fe80::1%eth0",
            "1e9",
            "null",
            "a" * 300,
        ),
    ]
)
LEAVES = st.one_of(WORDS, st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=20))


def _values(names: list[str]) -> st.SearchStrategy[Any]:
    keys = st.one_of(st.sampled_from(names), WORDS)
    return st.recursive(
        LEAVES,
        lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(keys, inner, max_size=5)),
        max_leaves=12,
    )


def _names() -> list[str]:
    schemas = described()["components"]["schemas"].values()
    return sorted({"kind", *(name for schema in schemas for name in schema.get("properties", {}))})


def _body(operation: Any) -> st.SearchStrategy[Any]:
    values = _values(_names())
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if content is None:
        return st.none()
    if content["schema"].get("type") == "array":
        (example,) = content["example"]
        return st.one_of(st.lists(_changed(content["schema"]["items"], example), max_size=3), values)
    return st.one_of(_changed(content["schema"], content["example"]), values)


def _changed(reference: Any, example: Any) -> st.SearchStrategy[Any]:
    """An example with other values in some fields."""
    schema = described()["components"]["schemas"][reference["$ref"].rpartition("/")[2]]
    fields = st.dictionaries(st.sampled_from(sorted(schema["properties"])), _values(_names()), max_size=4)
    return fields.map(lambda changed: {**example, **changed})


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One site for all: what came before is part of the input."""
    site = Site(Path(tmp_path_factory.mktemp("api")))
    site.furnish()
    yield site
    site.close()


def _filled(path: str, word: str) -> str:
    for name in ("claim", "vrf", "location", "network", "subnet", "range", "machine", "token", "ip", "zone"):
        path = path.replace("{" + name + "}", word)
    return path


@settings(
    max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_no_body_meets_a_bug(site: Site, data: st.DataObject) -> None:
    method, path, operation = data.draw(st.sampled_from(CHANGES))
    word = data.draw(st.sampled_from(["prod", "default", "compute-8", "nobody", site.subnet, "10.0.3.0%2F24", "%00"]))
    body = data.draw(_body(operation))
    content = None if body is None else json.dumps(body).encode()
    query = data.draw(st.sampled_from(["", "?dry_run=true"]))
    headers = {"Content-Type": "application/json"} if content is not None else {}
    answer = site.ask(method, _filled(path, word) + query, content=content, headers=headers)
    assert answer.status_code < 500, (method, path, body, answer.text)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_no_query_meets_a_bug(site: Site, data: st.DataObject) -> None:
    path, operation = data.draw(st.sampled_from(READS))
    names = [each["name"] for each in operation["parameters"] if each["in"] == "query" and each["name"] != "wait"]
    keys = st.sampled_from([*names, "colour"])
    query = data.draw(st.dictionaries(keys, st.one_of(WORDS, st.integers(-5, 2000).map(str)), max_size=3))
    answer = site.ask("GET", _filled(path, data.draw(st.sampled_from(["prod", "10.0.3.7", "nobody"]))), params=query)
    assert answer.status_code < 500 or path == "/readyz", (path, query, answer.text)
