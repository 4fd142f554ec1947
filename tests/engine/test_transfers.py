"""TSIG keys and secondaries."""

from typing import Any

import pytest

from tenure.errors import Conflict, InUse, InvalidValue, NotFound, StaleRevision
from tenure.model import uses as u
from tenure.model.dnsdata import Secondary, TsigKey
from tests.engine.world import World, site


def key(world: World, name: str = "xfer", vrf: str | None = None) -> TsigKey:
    made = world.do(u.CreateTsigKey(name=name, algorithm="hmac-sha256", sealed=b"sealed", vrf=vrf)).tsig_key
    assert isinstance(made, TsigKey)
    return made


def secondary(world: World, name: str = "b", **fields: Any) -> Secondary:
    made = world.do(u.CreateSecondary(name=name, fields={"address": "192.0.2.53"} | fields)).secondary
    assert isinstance(made, Secondary)
    return made


def lab() -> World:
    world = site()
    world.do(u.CreateVrf(name="lab"))
    return world


def test_a_key_is_made_and_deleted_by_either_name() -> None:
    world = lab()
    made = key(world, "Xfer_1.Example")
    assert (made.name, made.algorithm, made.vrf, made.since) == ("xfer_1.example.", "hmac-sha256", None, world.now)
    with pytest.raises(Conflict) as caught:
        key(world, "xfer_1.example.")
    assert (caught.value.facts["id"], caught.value.facts["pointer"]) == (made.id, "/name")
    with pytest.raises(StaleRevision):
        world.do(u.DeleteTsigKey(key=made.id), if_match=2)
    world.do(u.DeleteTsigKey(key="XFER_1.example"))
    assert not world.state.tsig_keys
    with pytest.raises(NotFound):
        world.do(u.DeleteTsigKey(key=made.id))


@pytest.mark.parametrize("name", ["", ".", "a b", "a..b", "*", "a" * 64, "x." * 127 + "x", "\0"])
def test_a_key_is_called_by_a_domain_name(name: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        key(lab(), name)
    assert caught.value.facts["pointer"] == "/name"


def test_a_key_of_a_vrf_that_is_not_there() -> None:
    with pytest.raises(NotFound) as caught:
        key(lab(), vrf="none")
    assert caught.value.facts["pointer"] == "/vrf"


def test_a_key_that_secondaries_have_is_in_use() -> None:
    world = lab()
    made = key(world)
    for n in range(25):
        secondary(world, f"s{n:02}", port=n + 1, key="xfer")
    with pytest.raises(InUse) as caught:
        world.do(u.DeleteTsigKey(key="xfer"))
    assert (caught.value.facts["count"], caught.value.facts["holders"][0]) == (25, "secondary s00")
    assert len(caught.value.facts["holders"]) == 20
    for n in range(25):
        world.do(u.ChangeSecondary(secondary=f"s{n:02}", changes={"key": None}))
    world.do(u.DeleteTsigKey(key=made.id))


def test_a_secondary_is_made_changed_and_deleted() -> None:
    world = lab()
    made = secondary(
        world, address="2001:DB8:0::1", key=key(world).id, transfer_from=["2001:db8::/64", "192.0.2.1/32"], notify=False
    )
    assert (made.address, made.port, made.notify) == ("2001:db8::1", 53, False)
    assert made.transfer_from == ("2001:db8::/64", "192.0.2.1/32")
    changed = world.do(u.ChangeSecondary(secondary="b", changes={"name": "c", "port": 5300}), if_match=1).secondary
    assert (changed.name, changed.port, changed.revision) == ("c", 5300, 2)
    assert world.plan(u.ChangeSecondary(secondary=made.id, changes={"port": 5300, "key": "XFER."})).events == []
    with pytest.raises(StaleRevision):
        world.do(u.DeleteSecondary(secondary="c"), if_match=1)
    world.do(u.DeleteSecondary(secondary="c"))
    assert not world.state.secondaries
    with pytest.raises(NotFound):
        world.do(u.ChangeSecondary(secondary="c", changes={}))


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"address": "0.0.0.0"}, "/address"),
        ({"address": "::"}, "/address"),
        ({"address": "224.0.0.1"}, "/address"),
        ({"address": "192.0.2.256"}, "/address"),
        ({"address": "ns.example."}, "/address"),
        ({"address": None}, "/address"),
        ({"address": 5}, "/address"),
        ({"port": 0}, "/port"),
        ({"port": 65536}, "/port"),
        ({"port": "53"}, "/port"),
        ({"key": 5}, "/key"),
        ({"notify": "yes"}, "/notify"),
        ({"transfer_from": "10.0.0.0/8"}, "/transfer_from"),
        ({"transfer_from": ["10.0.0.1/8"]}, "/transfer_from/0"),
        ({"transfer_from": ["10.0.0.0/8", "x"]}, "/transfer_from/1"),
        ({"transfer_from": ["10.0.0.0/8", 5]}, "/transfer_from/1"),
        ({"transfer_from": ["10.0.0.0/8", "10.0.0.0/8"]}, "/transfer_from/1"),
        ({"transfer_from": [f"10.0.{n}.0/24" for n in range(65)]}, "/transfer_from"),
        ({"colour": "red"}, "/colour"),
        ({"id": "x"}, "/id"),
        ({"vrf": "lab"}, "/vrf"),
    ],
)
def test_what_cannot_be_a_secondary_is_refused(fields: dict[str, Any], pointer: str) -> None:
    world = lab()
    with pytest.raises(InvalidValue) as caught:
        secondary(world, **fields)
    assert caught.value.facts["pointer"] == pointer
    secondary(world)
    with pytest.raises(InvalidValue) as changing:
        world.do(u.ChangeSecondary(secondary="b", changes=fields))
    assert changing.value.facts["pointer"] == pointer


@pytest.mark.parametrize("name", ["", "x" * 254, "a\nb"])
def test_a_secondary_has_a_name_that_can_be_shown(name: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        secondary(lab(), name)
    assert caught.value.facts["pointer"] == "/name"


def test_two_secondaries_are_neither_called_alike_nor_at_one_place() -> None:
    world = lab()
    first = secondary(world)
    with pytest.raises(Conflict) as caught:
        secondary(world, "b", port=54)
    assert caught.value.facts == {"kind": "secondary", "id": first.id, "pointer": "/name"}
    with pytest.raises(Conflict) as place:
        secondary(world, "c")
    assert place.value.facts == {"id": first.id, "pointer": "/address"}
    secondary(world, "c", port=54)
    with pytest.raises(Conflict):
        world.do(u.ChangeSecondary(secondary="c", changes={"port": 53}))
    world.do(u.CreateSecondary(name="lab-b", vrf="lab", fields={"address": "192.0.2.53"}))


def test_a_key_of_one_vrf_signs_for_no_other() -> None:
    world = lab()
    made = key(world, vrf="lab")
    with pytest.raises(Conflict) as caught:
        secondary(world, key="xfer")
    assert caught.value.facts == {"key": made.id, "pointer": "/key"}
    world.do(u.CreateSecondary(name="b", vrf="lab", fields={"address": "192.0.2.53", "key": "xfer"}))
    with pytest.raises(NotFound) as missing:
        secondary(world, "c", key="none")
    assert missing.value.facts["pointer"] == "/key"


def test_a_dry_run_makes_neither() -> None:
    world = lab()
    world.plan(u.CreateTsigKey(name="k", algorithm="hmac-sha512", sealed=b"x"), dry_run=True)
    world.plan(u.CreateSecondary(name="b", fields={"address": "192.0.2.53"}), dry_run=True)
    assert not world.state.tsig_keys and not world.state.secondaries
