"""Databases that earlier releases made, on both databases: each is brought to this release's format."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from alembic import command
from alembic.config import Config
from msgspec.structs import replace
from sqlalchemy import Connection, Engine, create_engine, text

import tenure.store.sql.migrations
from tenure.model import events as e
from tenure.model.dnsdata import Record, Zone, ZoneChange
from tenure.model.machines import Machine
from tenure.model.placement import Block
from tenure.service.replay import differences
from tenure.store.interface import DataRefused, Store
from tenure.store.sql import open_store
from tenure.testing import ledgers as x
from tenure.testing.ledgers import START, Scribe
from tenure.testing.zones_contract import KEY, made, secondary
from tests.lab.postgres import Cluster

_SUBNET: Final = x.SUBNET.id
_RACK: Final = (_SUBNET, "10.0.0.0/24", "r" * 20, True)
_HOST: Final = (_SUBNET, "10.0.0.0/28", "h" * 20, False)
_LOST: Final = (_SUBNET, "10.0.0.16/28", None, False)


_MACHINES: Final = [x.ident(n) for n in (21, 22, 23)]
_CLAIM, _HELD, _ENDED, _PAST = (x.ident(n) for n in (1, 11, 2, 12))
_KINDS: Final = ("managed", "instance", "device")
_EPOCH: Final = "1970-01-01T00:00:00Z"

_BODIES: Final[dict[str, dict[str, Any]]] = {
    "vrf": {"id": x.VRF.id, "name": "default", "revision": 1},
    "network": {"id": x.NETWORK.id, "name": "prod", "vrf": x.VRF.id, "domain": "prod.example.", "revision": 1},
    "subnet": {"id": _SUBNET, "network": x.NETWORK.id, "vrf": x.VRF.id, "cidr": "10.0.0.0/16", "revision": 1},
}
_BODIES_OF_MACHINES: Final[list[dict[str, Any]]] = [
    {"id": id_, "name": f"m{n}", "kind": kind, "location": None, "revision": 1}
    for n, (id_, kind) in enumerate(zip(_MACHINES, _KINDS, strict=True))
]
_BODY_OF_CLAIM: Final[dict[str, Any]] = {
    "id": _CLAIM, "handle": "h", "project": "default", "network": x.NETWORK.id, "since": _EPOCH, "bound": _EPOCH,
    "actor": "token:ci", "request": {"network": x.NETWORK.id, "hostname": "vm", "static": True},
}  # fmt: skip
_BODY_OF_LEASE: Final[dict[str, Any]] = {
    **_BODY_OF_CLAIM, "id": _ENDED, "project": "dhcp", "handle": "dhcp:s:m", "request": {"network": x.NETWORK.id},
}  # fmt: skip
_BODY_OF_HELD: Final[dict[str, Any]] = {
    "id": _HELD, "claim": _CLAIM, "vrf": x.VRF.id, "subnet": _SUBNET, "ip": "10.0.0.5", "length": 32,
    "since": _EPOCH, "hostname": "vm",
}  # fmt: skip
_BODY_OF_PAST: Final[dict[str, Any]] = {
    "id": _PAST, "claim": _ENDED, "vrf": x.VRF.id, "subnet": _SUBNET, "ip": "10.0.0.9", "length": 32,
    "since": _EPOCH, "lease": True,
}  # fmt: skip
_OVER: Final = {"until": _EPOCH}

_BODY_OF_ZONE: Final[dict[str, Any]] = {
    "id": x.ident(31), "vrf": x.VRF.id, "name": "prod.example.", "serial": 1, "ttl": 300, "negative_ttl": 60,
    "name_servers": ["ns1.example."], "floor": 1, "revision": 1,
}  # fmt: skip
_EVENT_OF_ZONE: Final = {"kind": "tenure.zone.created", "zone": _BODY_OF_ZONE}

_EVENTS: Final[list[dict[str, Any]]] = [
    *({"kind": f"tenure.{noun}.created", noun: body} for noun, body in _BODIES.items()),
    *({"kind": "tenure.machine.created", "machine": body} for body in _BODIES_OF_MACHINES),
    {"kind": "tenure.address.allocated", "claim": _BODY_OF_CLAIM, "allocation": _BODY_OF_HELD, "opens": True},
    {"kind": "tenure.address.allocated", "claim": _BODY_OF_LEASE, "allocation": _BODY_OF_PAST, "opens": True},
    {
        "kind": "tenure.address.released", "claim": _BODY_OF_LEASE | _OVER, "closes": True,
        "allocation": _BODY_OF_PAST | _OVER | {"cooling_until": _EPOCH}, "reason": "expired",
    },
]  # fmt: skip
"""As the third release wrote them."""


def _text(body: Any) -> str:
    return msgspec.json.encode(body).decode()


def _claim_row(body: dict[str, Any], **more: Any) -> dict[str, Any]:
    row = {name: body[name] for name in ("id", "project", "handle", "network", "actor")}
    return {**row, "since": 0, "bound": 0, "request": _text(body["request"]), "revision": 1, **more}


def _allocation_row(body: dict[str, Any], **more: Any) -> dict[str, Any]:
    row = {name: body[name] for name in ("id", "claim", "vrf", "subnet", "length")}
    address = bytes(map(int, body["ip"].split(".")))
    return {**row, "address": address, "since": 0, "hostname": body.get("hostname"), "lease": "lease" in body, **more}


def _body(body: dict[str, Any], *columns: str, **more: Any) -> dict[str, Any]:
    return {**{name: body[name] for name in ("id", *columns)}, "body": _text(body), "revision": 1, "since": 0, **more}


_THIRD: Final[dict[str, list[dict[str, Any]]]] = {
    "vrfs": [_body(_BODIES["vrf"], "name")],
    "networks": [_body(_BODIES["network"], "name", "vrf")],
    "subnets": [_body(_BODIES["subnet"], "network", "vrf", prefix=bytes([10, 0, 0, 0, 16]))],
    "machines": [_body(body, "name", "kind", "location") for body in _BODIES_OF_MACHINES],
    "claims": [_claim_row(_BODY_OF_CLAIM), _claim_row(_BODY_OF_LEASE, until=0)],
    "allocations": [_allocation_row(_BODY_OF_HELD), _allocation_row(_BODY_OF_PAST, until=0, cooling_until=0)],
}


_STEPS: Final = [(2, "[]", '[["vm.prod.example.",1,300,"CgAABQ=="]]'), (3, "[]", "[]")]
"""Serials, and what was removed and added."""


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str | Path:
    """Where the store will be: a file, or a database of its own."""
    if request.param == "sqlite":
        return tmp_path / "ledger.db"
    cluster: Cluster = request.getfixturevalue("postgres_cluster")
    return cluster.create_database()


@pytest.fixture
def engine(place: str | Path) -> Iterator[Engine]:
    """The place, without a store."""
    url = f"sqlite:///{place}" if isinstance(place, Path) else place.replace("postgresql:", "postgresql+psycopg:", 1)
    made = create_engine(url)
    yield made
    made.dispose()


@pytest.fixture
def first(place: str | Path, engine: Engine) -> Iterator[Store]:
    """A store in the first format, with blocks in it, that this release opens."""
    with engine.begin() as connection:
        _made_by_the_first_release(connection)
    store = open_store(place, lambda: START)
    yield store
    store.close()


def _upgraded(connection: Connection, number: int) -> None:
    """The schema in an earlier format, empty."""
    config = Config()
    config.set_main_option("script_location", str(Path(tenure.store.sql.migrations.__file__).parent))
    config.attributes["connection"] = connection
    command.upgrade(config, f"{number:04}")
    _insert(connection, "meta", name="format", value=str(number))
    _insert(connection, "meta", name="epoch", value="e1")


def _made_by_the_first_release(connection: Connection) -> None:
    _upgraded(connection, 1)
    blocks = (_RACK, _HOST, _LOST)
    for n, (subnet, cidr, owner, rack) in enumerate(blocks, 1):
        place = "null" if owner is None else f'"{owner}"'
        body = f'{{"subnet":"{subnet}","cidr":"{cidr}","owner":{place},"rack":{str(rack).lower()}}}'
        first, _, length = cidr.partition("/")
        prefix = bytes([*map(int, first.split(".")), int(length)])
        _insert(connection, "blocks", subnet=subnet, prefix=prefix, rack=rack, owner=owner, body=body, since=0)
        _insert(
            connection, "ledger", sequence=n, batch="b1", change=f"b1.{n}", time=0, actor="token:ci", source="",
            request_id="", kind="tenure.block.owned", body=f'{{"kind":"tenure.block.owned","block":{body}}}',
        )  # fmt: skip


def _insert(connection: Connection, table: str, **row: Any) -> None:
    marks = ", ".join(f":{name}" for name in row)
    connection.execute(text(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})"), row)


def test_blocks_of_the_first_release_have_a_kind(first: Store) -> None:
    rack, host, lost = (
        Block(block[0], block[1], block[2], "rack" if block[3] else "host") for block in (_RACK, _HOST, _LOST)
    )
    first.prepare()
    with first.snapshot() as now:
        assert list(now.blocks()) == [rack, host, lost]
        assert now.head.epoch == "e1"
    assert [entry.event for entry in first.entries(0, 10)] == [e.BlockOwned(block=b) for b in (rack, host, lost)]
    scribe = Scribe(first)
    with pytest.raises(DataRefused):
        scribe.write(e.BlockOwned(block=rack))
    scribe.write(e.BlockSurrendered(block=lost), e.BlockResized(before=host, block=Block(_SUBNET, "10.0.0.0/27", "h")))
    with first.snapshot() as now:
        assert [block.cidr for block in now.blocks()] == ["10.0.0.0/24", "10.0.0.0/27"]


@pytest.fixture
def third(place: str | Path, engine: Engine) -> Iterator[Store]:
    """A store in the third format: a site with machines, a claim, a lease that ended, and their ledger."""
    with engine.begin() as connection:
        _upgraded(connection, 3)
        _filled(connection, _THIRD, _EVENTS)
    store = open_store(place, lambda: START)
    yield store
    store.close()


def _filled(connection: Connection, tables: dict[str, list[dict[str, Any]]], events: list[dict[str, Any]]) -> None:
    """Rows, and the ledger that says the same."""
    for table, rows in tables.items():
        for row in rows:
            _insert(connection, table, **row)
    for n, event in enumerate(events, 1):
        _insert(
            connection, "ledger", sequence=n, batch="b1", change=f"b1.{n}", time=n, actor="token:ci", source="",
            request_id="", kind=event["kind"], machine=event.get("machine", {}).get("id"),
            body=msgspec.json.encode(event).decode(),
        )  # fmt: skip


def test_what_the_third_release_kept_is_there_with_nothing_new(third: Store) -> None:
    third.prepare()
    assert [entry.event.kind for entry in third.entries(0, 99)] == [event["kind"] for event in _EVENTS]
    assert differences(third) == []
    scribe = Scribe(third)
    facts = scribe.facts(machines=["m0", "m1", "m2"], claims=[_CLAIM], last=[("dhcp", "dhcp:s:m")])
    assert [facts.machines[id_].lifecycle for id_ in _MACHINES] == ["new", "ready", None]
    claim = facts.claims[_CLAIM]
    assert (claim.kept, claim.harvest, claim.expires, claim.static, claim.tags) == (None, "inherit", None, True, ())
    held = facts.held[_CLAIM][_HELD]
    assert (held.standing, held.behind, held.lender, held.hostname) == ("primary", None, None, "vm")
    assert facts.last["dhcp", "dhcp:s:m"].ip == "10.0.0.9"


def test_machines_of_the_third_release_go_on(third: Store, engine: Engine) -> None:
    third.prepare()
    with engine.begin() as connection:
        states = connection.execute(text("SELECT state FROM machines ORDER BY id")).scalars().all()
    assert states == ["new", "ready", None]
    scribe = Scribe(third)
    machine = Machine(_MACHINES[0], "m0", state="deployed", seen=START, tags=("a",), revision=2)
    shelved = replace(x.allocation(0, x.claim(0), "10.0.0.5"), id=_HELD, claim=_CLAIM, standing="shelved")
    claim = scribe.facts(claims=[_CLAIM]).claims[_CLAIM]
    scribe.write(e.MachineDeployed(machine=machine), e.AddressShelved(claim=claim, allocation=shelved))
    scribe.write(e.MachineChanged(machine=machine))
    assert scribe.facts(machines=["m0"]).machines[machine.id] == machine
    assert scribe.facts(claims=[_CLAIM]).held[_CLAIM][_HELD].standing == "shelved"
    with third.snapshot() as now:
        assert [label.label for label in now.labels()] == ["t:a"]


@pytest.fixture
def fourth(place: str | Path, engine: Engine) -> Iterator[Store]:
    """A store in the fourth format: a network with a zone, and the zone's journal."""
    named = ("vrfs", "networks", "subnets")
    tables = {table: _THIRD[table] for table in named} | {
        "zones": [_body(_BODY_OF_ZONE, "vrf", "name", serial=3)],
        "zone_changes": [
            {"zone": _BODY_OF_ZONE["id"], "sequence": n, "serial": serial, "removed": removed, "added": added}
            for n, (serial, removed, added) in enumerate(_STEPS, 3)
        ],
    }
    with engine.begin() as connection:
        _upgraded(connection, 4)
        _filled(connection, tables, [*_EVENTS[:3], _EVENT_OF_ZONE])
    store = open_store(place, lambda: START)
    yield store
    store.close()


def test_zones_of_the_fourth_release_have_nothing_new(fourth: Store) -> None:
    fourth.prepare()
    assert differences(fourth) == []
    with fourth.snapshot() as now:
        (zone,) = now.zones
        assert (now.records, now.tsig_keys, now.secondaries) == ([], [], [])
        assert (now.networks[0].name_template, now.networks[0].shared_names) == (None, False)
        assert now.subnets[0].name_template is None
    assert (zone.serial, zone.name_servers) == (3, ("ns1.example.",))
    assert (zone.kept, zone.name_template) == (False, None)


def test_zones_of_the_fourth_release_go_on(fourth: Store) -> None:
    fourth.prepare()
    zone = _BODY_OF_ZONE["id"]
    added = Record("vm.prod.example.", 1, 300, bytes([10, 0, 0, 5]))
    told = [ZoneChange(zone, 2, 3, (), (added,)), ZoneChange(zone, 3, 4)]
    assert fourth.reads.changes_since(zone, 1) == told
    record = replace(made(1), zone=zone)
    scribe = Scribe(fourth)
    step = ZoneChange(zone, 4, 7, (), (record.record(Zone(**_BODY_OF_ZONE)),))
    scribe.write(
        e.RecordCreated(record=record), e.TsigKeyCreated(key=KEY), e.SecondaryCreated(secondary=secondary(60, "ns2")),
        sealed={KEY.id: b"s"}, zone_changes=[step],
    )  # fmt: skip
    assert differences(fourth) == []
    assert fourth.reads.changes_since(zone, 2) == [told[1], step]
    assert fourth.prune_journal(START, 1, 10) == 2
    with fourth.snapshot() as now:
        assert (now.records, now.tsig_keys) == ([record], [(KEY, b"s")])


def test_preparing_twice_migrates_once(first: Store) -> None:
    first.prepare()
    head = first.head()
    first.prepare()
    assert first.head() == head
