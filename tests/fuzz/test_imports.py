"""Files to import: a plan, or sentences that name the file and the place in it."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from tenure.errors import InvalidValue
from tenure.exchange import files, planning, reading
from tenure.exchange.planning import Wishes
from tenure.exchange.present import Present
from tenure.exchange.reading import Reading
from tests.fuzz.mutation import mutated
from tests.fuzz.rounds import Rounds

pytestmark = pytest.mark.fuzz

SITE = Path(__file__).parents[2] / "examples" / "site"
SMALL = """
[[vrfs]]
name = "default"
[[locations]]
name = "r1"
kind = "rack"
[[networks]]
name = "prod"
domain = "prod.example."
[[networks.subnets]]
cidr = "10.0.0.0/24"
gateway = "10.0.0.1"
dns_servers = ["10.0.0.2"]
[[networks.subnets.ranges]]
start = "10.0.0.50"
end = "10.0.0.60"
role = "dynamic"
[[machines]]
name = "m1"
location = "r1"
interfaces = [{ mac = "52:54:00:0a:0b:0c" }]
[[claims]]
network = "prod"
machine = "m1"
"""
RANGES = b"dhcp-range=set:lan,10.0.0.50,10.0.0.150,255.255.255.0,12h\ndhcp-range=2001:db8::1,2001:db8::ff,64\n"
NAMES = b"dhcp-host=52:54:00:0A:0B:0C,10.0.0.7,vm-7\nhost-record=db,db.x,10.0.0.8,[2001:db8::8]\naddress=/a/10.0.0.9\n"
CORPUS: dict[str, list[bytes]] = {
    "m.csv": [
        (SITE / "machines.csv").read_bytes()[:300],
        b'rack,hostname,ip,mac\nr1,"vm-1",10.0.0.5,5254.000A.0B0C\n',
        b"ip,network,subnet\n10.0.0.9,prod,10.0.0.0/24\n2001:db8::7,new,2001:db8::/64\n",
    ],
    "hosts": [(SITE / "hosts").read_bytes()[:300], b"127.0.0.1 localhost\n10.0.0.5\tdb1.prod.example. db1 # x\n"],
    "dnsmasq.conf": [
        (SITE / "dnsmasq.conf").read_bytes(),
        RANGES,
        NAMES,
        RANGES + NAMES,
        b"dhcp-range=::1,::9\ndhcp-range=10.0.0.1,::9,255.0.0.0\n",
    ],
    "site.toml": [SMALL.encode(), (SITE / "site.toml").read_bytes()[:900], b"networks = [" + b"[" * 2000],
    "site.json": [
        json.dumps(tomllib.loads(SMALL)).encode(),
        b'{"vrfs":' + b"[" * 2000,
        b'{"vrfs":[{"name":"\\ud800"}]}',
    ],
}
VALUES = st.recursive(
    st.sampled_from([None, True, -1, 2**70, 1.5, "", "prod", "10.0.0.0/24", "10.0.0.9", "::/0", "dnsmasq", "site"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["name", "cidr", "kind"]), inner),
    max_leaves=4,
)
PLACES = {"m.csv": r"row \d+", "hosts": r"line \d+", "dnsmasq.conf": r"line \d+"}


def test_imports_of_damaged_files_have_a_plan_or_faults(rounds: Rounds, tmp_path: Path) -> None:
    damaged = [st.tuples(st.just(name), mutated(corpus)) for name, corpus in CORPUS.items()]
    rounds.feed(lambda example: _is_planned(tmp_path / example[0], example[1]), st.one_of(damaged), number=200)


def test_imports_of_odd_sites_have_a_plan_or_faults(rounds: Rounds, tmp_path: Path) -> None:
    sites = _odd(tomllib.loads(SMALL)).map(lambda site: json.dumps(site).encode())
    rounds.feed(lambda octets: _is_planned(tmp_path / "site.json", octets), sites, number=200)


@st.composite
def _odd(draw: st.DrawFn, value: Any) -> Any:
    """A site with some values exchanged, or left out."""
    if draw(st.integers(0, 11)) == 0:
        return draw(VALUES)
    if isinstance(value, dict):
        kept = [key for key in value if draw(st.integers(0, 11))]
        return {key: draw(_odd(value[key])) for key in kept}
    return [draw(_odd(each)) for each in value] if isinstance(value, list) else value


def _is_planned(path: Path, octets: bytes) -> None:
    path.write_bytes(octets)
    try:
        read = reading.joined([files.read(path)])
    except InvalidValue as error:
        _is_said(path, [error.message], "")
        _is_said(path, error.facts.get("errors", []), PLACES.get(path.name, ""))
        return
    for network in (None, "prod"):
        for here in (Present(), _there()):
            _is_decided(path, read, here, Wishes(network=network))


def _is_said(path: Path, faults: list[str], place: str) -> None:
    for fault in faults:
        assert path.name in fault
        assert fault.encode()
        assert re.search(place, fault) or "column" in fault or "header" in fault, fault


def _there() -> Present:
    there = Present(networks={"prod": {"id": "N", "name": "prod", "domain": "prod.example."}})
    there.locations["r1"] = {"id": "L", "name": "r1", "kind": "host"}
    there.add_subnet({"id": "S", "cidr": "10.0.0.0/24", "network": "prod", "gateway": "10.0.0.1", "dns_servers": []})
    return there


def _is_decided(path: Path, read: Reading, here: Present, wishes: Wishes) -> None:
    try:
        plan = planning.plan(read, here, wishes)
    except InvalidValue as error:
        _is_said(path, error.facts["errors"], "")
        return
    assert all(each.encode() for each in plan.notes)
    assert json.dumps([{"kind": item.kind, **item.fields} for item in plan.items])
