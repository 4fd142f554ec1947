"""Machines and interfaces as people make, change and delete them."""

from typing import Any

import pytest

from tenure.errors import Conflict, InUse, InvalidValue, NotFound
from tenure.model import uses as u
from tenure.model.answers import MachineWithInterfaces
from tests.engine.lives import discover, holds, kinds, lan, mac, machine, port, ready, step
from tests.engine.world import World


def change(world: World, **changes: Any) -> MachineWithInterfaces:
    told = world.do(u.ChangeMachine(machine="m1", changes=changes))
    assert isinstance(told, MachineWithInterfaces)
    return told


def test_a_machine_says_what_its_interfaces_are() -> None:
    world = lan()
    duid = "00-03-00-01-52-54-00-00-00-01"
    made = machine(
        world,
        "m1",
        port(1, name="eth0", duid=duid, boot=True, allocate="always"),
        port(2, None),
        harvest="never",
        tags=("b", "a", "b"),
        custom={"owner": "alice", "units": 2},
    )
    assert (made.machine.tags, made.machine.custom) == (("a", "b"), {"owner": "alice", "units": 2})
    assert made.machine.harvest == "never"
    first, second = made.interfaces
    assert (first.duid, first.boot, first.allocate) == ("00:03:00:01:52:54:00:00:00:01", True, "always")
    assert first.network == world.state.find("network", "prod")
    assert (second.duid, second.network, second.boot, second.allocate) == (None, None, False, "inherit")


@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        ("mac", "zz", InvalidValue),
        ("duid", "zz", InvalidValue),
        ("network", "nowhere", NotFound),
        ("boot", "yes", InvalidValue),
        ("allocate", "often", InvalidValue),
        ("speed", 10, InvalidValue),
    ],
)
def test_what_an_interface_cannot_be_is_refused_by_its_field(field: str, value: Any, error: Any) -> None:
    world = lan()
    machine(world)
    with pytest.raises(error) as refused:
        change(world, interfaces=[{"mac": mac(16)}, {"mac": mac(17), field: value}])
    assert refused.value.facts["pointer"] == f"/interfaces/1/{field}"


def test_two_interfaces_of_a_machine_are_not_called_alike() -> None:
    world = lan()
    with pytest.raises(InvalidValue):
        machine(world, "m2", port(4, name="eth0"), port(5, name="eth0"))
    machine(world, "m1", port(1, name="eth0"), port(2, name="eth1"))
    with pytest.raises(InvalidValue) as refused:
        change(world, interfaces=[{"mac": mac(1)}, {"mac": mac(2), "name": "eth0"}])  # the first keeps its name
    assert refused.value.facts["value"] == "eth0"
    swapped = change(world, interfaces=[{"mac": mac(1), "name": "eth1"}, {"mac": mac(2), "name": "eth0"}]).interfaces
    assert {each.mac: each.name for each in swapped} == {mac(1): "eth1", mac(2): "eth0"}
    assert len(change(world, interfaces=[{"mac": mac(1), "name": ""}, {"mac": mac(3)}]).interfaces) == 2


def test_what_is_not_said_of_an_interface_stays() -> None:
    world = lan()
    machine(world, "m1", port(1, name="eth0", boot=True, allocate="always", duid="000300015254"))
    before = machine_of(world).interfaces
    told = len(world.events)
    assert change(world, interfaces=[{"mac": mac(1)}]).interfaces == before
    assert kinds(world, told) == ["machine.changed"]
    (after,) = change(world, interfaces=[{"mac": mac(1), "duid": None, "boot": False}]).interfaces
    assert (after.name, after.duid, after.boot, after.allocate) == ("eth0", None, False, "always")


def machine_of(world: World, name: str = "m1") -> MachineWithInterfaces:
    told = world.do(u.SeeMachine(machine=name))
    assert isinstance(told, MachineWithInterfaces)
    return told


def test_replacing_a_mac_keeps_addresses_and_everything_that_was_said() -> None:
    world = lan()
    ready(world, "m1", port(1, name="eth0", boot=True))
    before = holds(world)
    (old,) = machine_of(world).interfaces
    (new,) = change(world, interfaces=[{"mac": mac(2), "name": "eth0"}]).interfaces
    assert (new.id, new.mac, new.network, new.boot) == (old.id, mac(2), old.network, True)
    assert holds(world) == before
    assert discover(world, 1) is None
    assert discover(world, 2) is not None
    told = len(world.events)
    step(world, "ready")
    assert len(world.events) == told


def test_a_mac_that_another_machine_has_is_refused() -> None:
    world = lan()
    machine(world, "m1", port(1))
    machine(world, "m2", port(2))
    with pytest.raises(Conflict, match="m2"):
        change(world, interfaces=[{"mac": mac(2)}])


def test_an_interface_that_was_given_an_address_is_not_plugged_in_elsewhere() -> None:
    world = lan(allocate_on="binding")
    world.do(u.CreateNetwork(name="other", fields={}))
    ready(world, "m1", port(1))
    change(world, interfaces=[{"mac": mac(1), "network": "other"}])
    change(world, interfaces=[{"mac": mac(1), "network": "prod"}])
    (waiting,) = step(world, "deploy").holdings
    for elsewhere in ("other", None):
        with pytest.raises(InUse, match=waiting.claim.id):
            change(world, interfaces=[{"mac": mac(1), "network": elsewhere}])
    discover(world, 1)
    with pytest.raises(InUse, match="10.0.0.1"):
        change(world, interfaces=[{"mac": mac(1), "network": "other"}])
    step(world, "release")
    change(world, interfaces=[{"mac": mac(1), "network": "other"}])


def test_an_interface_that_holds_an_address_is_not_left_out() -> None:
    world = lan()
    ready(world, "m1", port(1), port(2))
    with pytest.raises(InUse, match="10.0.0.1"):
        change(world, interfaces=[{"mac": mac(2)}])
    assert len(change(world, interfaces=[{"mac": mac(1)}]).interfaces) == 1


@pytest.mark.parametrize("field", ["state", "seen", "lifecycle", "id", "revision"])
def test_its_life_is_not_set(field: str) -> None:
    world = lan()
    machine(world)
    with pytest.raises(InvalidValue) as refused:
        change(world, **{field: "ready"})
    assert refused.value.facts["pointer"] == f"/{field}"


@pytest.mark.parametrize(
    ("kind", "steps", "to", "state"),
    [
        ("managed", (), "instance", "new"),
        ("managed", ("commission",), "instance", "commissioning"),
        ("managed", ("ready",), "instance", "ready"),
        ("instance", (), "managed", "ready"),
        ("managed", (), "device", None),
        ("device", (), "managed", "new"),
        ("device", (), "instance", "ready"),
    ],
)
def test_another_kind_has_another_life(kind: Any, steps: tuple[str, ...], to: str, state: str | None) -> None:
    world = lan()
    machine(world, "m1", port(1, allocate="never"), kind=kind)
    for each in steps:
        step(world, each)
    assert change(world, kind=to).machine.lifecycle == state


def test_a_machine_in_use_or_retired_stays_what_it_is() -> None:
    world = lan()
    ready(world)
    with pytest.raises(InUse, match="10.0.0.1"):
        change(world, kind="device")
    assert change(world, kind="instance").machine.lifecycle == "ready"
    step(world, "deploy")
    with pytest.raises(Conflict, match="it stays an instance"):
        change(world, kind="managed")
    step(world, "retire")
    with pytest.raises(Conflict, match="retired"):
        change(world, kind="device")
    assert change(world, tags=["scrap"]).machine.lifecycle == "retired"


def test_a_machine_whose_addresses_have_its_name_is_not_renamed() -> None:
    world = lan()
    ready(world)
    with pytest.raises(InUse, match="name of machine m1"):
        change(world, name="db")
    step(world, "retire")
    assert change(world, name="db").machine.name == "db"


def test_a_machine_is_deleted_when_it_holds_nothing() -> None:
    world = lan()
    ready(world)
    with pytest.raises(InUse):
        world.do(u.DeleteMachine(machine="m1"))
    step(world, "retire")
    world.do(u.DeleteMachine(machine="m1"))
    assert not world.tables.all("interfaces")
