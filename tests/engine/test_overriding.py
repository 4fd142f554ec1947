"""A deployment with another address than the machine's own, or with a reservation's."""

from typing import Any

import pytest

from tenure.errors import Conflict, InvalidValue, NotFound, NotPermitted
from tenure.model import uses as u
from tenure.net.addresses import text_of
from tests.engine.lives import discover, holds, ips, kinds, lan, mac, machine, named, port, ready, reserve, step
from tests.engine.world import World

HOME, SECOND = "10.0.0.1", "10.0.0.2"


@pytest.mark.parametrize(
    ("on_override", "meanwhile", "after"),
    [
        ("shelve", {HOME: "shelved", "10.0.0.20": "primary"}, {HOME: "primary"}),
        ("keep", {HOME: "alias", "10.0.0.20": "primary"}, {HOME: "primary"}),
        ("release", {"10.0.0.20": "primary"}, {}),
    ],
)
@pytest.mark.parametrize("said", ["network", "call"])
def test_an_address_replaces_what_the_boot_interface_has(
    on_override: str, meanwhile: dict[str, str], after: dict[str, str], said: str
) -> None:
    world = lan(on_override=on_override if said == "network" else "shelve")
    ready(world)
    told = step(world, "deploy", address="10.0.0.20", on_override=on_override if said == "call" else None)
    words = {"shelve": "shelved", "keep": "kept", "release": "released"}
    assert [(d.ip, d.became) for d in told.displaced] == [(HOME, words[on_override])]
    assert holds(world) == meanwhile
    back = step(world, "release")
    assert [(d.ip, d.became) for d in back.displaced] == [(ip, "restored") for ip in after]
    assert holds(world) == after


@pytest.mark.parametrize("name", ["handle", "id"])
def test_a_reservation_lends_its_address_for_the_deployment(name: str) -> None:
    world = lan()
    lender = reserve(world, address="10.0.0.20").claim
    ready(world)
    before = named(world)
    told = step(world, "deploy", reservation="landscape" if name == "handle" else lender.id)
    assert [(d.ip, d.became) for d in told.displaced] == [(HOME, "shelved")]
    assert holds(world) == {HOME: "shelved", "10.0.0.20": "primary"}
    assert named(world)["landscape"] == set()
    back = step(world, "release")
    assert {(d.ip, d.became) for d in back.displaced} == {(HOME, "restored"), ("10.0.0.20", "returned")}
    assert named(world) == before


def test_what_a_deployment_brings_needs_no_address_beside_it() -> None:
    world = lan("10.0.0.0/30", allocate_on="deploy")
    kept = reserve(world, count=2).addresses
    ready(world)
    assert ips(step(world, "deploy", reservation="landscape")) == [kept[0].ip]
    assert ips(step(world, "release")) == []


def test_only_one_family_replaced_leaves_the_other() -> None:
    world = lan("10.0.0.0/27", "2001:db8::/124", allocate_on="deploy")
    ready(world)
    step(world, "deploy", address="10.0.0.20")
    assert holds(world) == {HOME: "shelved", "2001:db8::1": "primary", "10.0.0.20": "primary"}
    assert ips(step(world, "release")) == []
    assert "address.restored" not in kinds(world)


@pytest.mark.parametrize(
    ("fields", "error", "said"),
    [
        ({"reservation": "nobody"}, NotFound, "no reservation"),
        ({"reservation": "blue"}, NotFound, "no reservation"),
        ({"reservation": "landscape", "address": "10.0.0.20"}, InvalidValue, "not both"),
        ({"on_override": "keep"}, InvalidValue, "on_override"),
        ({"address": "10.0.0.300"}, InvalidValue, "10.0.0.300"),
        ({"address": "10.0.0.0"}, Conflict, "edge"),
        ({"address": "192.0.2.7"}, InvalidValue, "not in any subnet"),
        ({"address": SECOND}, Conflict, "belongs to"),
        ({"reservation": "theirs"}, Conflict, "no reservation"),
        ({"reservation": "apart"}, Conflict, "plugged into network prod"),
    ],
)
def test_what_cannot_be_used_instead_refuses_the_deployment(fields: dict[str, str], error: Any, said: str) -> None:
    world = lan()
    world.do(u.CreateNetwork(name="other", fields={}))
    world.do(u.CreateSubnet(network="other", cidr="10.8.0.0/28"))
    ready(world)
    ready(world, "m2")
    reserve(world, address="10.0.0.20")
    reserve(world, "blue", project="blue")
    reserve(world, "theirs", mac=mac(99))
    world.claim("other", "apart")
    before = named(world)
    with pytest.raises(error, match=said):
        step(world, "deploy", **fields)
    assert named(world) == before


def test_another_projects_reservation_is_refused() -> None:
    world = lan()
    theirs = reserve(world, project="blue").claim.id
    ready(world)
    with pytest.raises(NotPermitted):
        step(world, "deploy", reservation=theirs)


def test_an_override_needs_an_interface_in_a_network_that_is_known() -> None:
    world = lan()
    ready(world, "m1", port(1, None))
    with pytest.raises(Conflict, match="plugged into no network"):
        step(world, "deploy", address="10.0.0.20")
    machine(world, "m2")
    world.do(u.ChangeMachine(machine="m2", changes={"interfaces": []}))
    step(world, "ready", "m2")
    with pytest.raises(Conflict, match="no interface"):
        step(world, "deploy", "m2", address="10.0.0.20")


def test_the_same_deployment_repeated_is_the_same_and_another_is_a_conflict() -> None:
    world = lan()
    ready(world)
    reserve(world, address="10.0.0.22")
    step(world, "deploy", address="10.0.0.20")
    told = len(world.events)
    assert holds(world) == {HOME: "shelved", "10.0.0.20": "primary"}
    step(world, "deploy", address="10.0.0.20")
    step(world, "deploy")
    assert len(world.events) == told
    for other in ({"address": "10.0.0.21"}, {"reservation": "landscape"}):
        with pytest.raises(Conflict, match="deployed already"):
            step(world, "deploy", **other)
    step(world, "release")
    step(world, "deploy", reservation="landscape")
    step(world, "deploy", reservation="landscape")
    assert holds(world) == {HOME: "shelved", "10.0.0.22": "primary"}


def test_what_waited_stands_behind_what_was_asked_for_since() -> None:
    """A claim that is bound when its machine boots does not displace the address that a person named meanwhile."""
    world = lan("10.0.0.0/27", "2001:db8::/124", allocate_on="binding")
    ready(world, "m1", port(1))
    step(world, "deploy", address="10.0.0.20")
    assert text_of(4, discover(world, 1).address) == "10.0.0.20"
    world.do(u.BindClaim(claim=_waiting(world), host="h0-0"))
    assert holds(world) == {"10.0.0.20": "primary", HOME: "shelved", "2001:db8::1": "primary"}
    assert ips(step(world, "release")) == []


def _waiting(world: World) -> str:
    return next(str(c.id) for c in world.tables.open("claims") if c.bound is None)
