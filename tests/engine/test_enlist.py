"""Unknown clients that get a lease become new machines; so many a minute and link, and no more."""

from typing import Any

from tenure.model import uses as u
from tenure.model.answers import Leased
from tenure.model.leases import Client, Place
from tests.engine.lives import discover, holds, ips, kinds, lan, mac, machine, ready, step
from tests.engine.world import World

LINKS = 0x0A000001, 0x0A010001


def links(limit: int = 60, **network: Any) -> World:
    """Two links of one network, each with a range for strangers."""
    world = lan("10.0.0.0/24", "10.1.0.0/24", enlist_limit=limit, **network)
    for n in (0, 1):
        world.do(u.CreateRange(subnet=f"10.{n}.0.0/24", start=f"10.{n}.0.100", end=f"10.{n}.0.199", role="dynamic"))
    return world


def boot(world: World, number: int, link: int = LINKS[0], name: str | None = None, **place: Any) -> Any:
    """DISCOVER and REQUEST; the lease."""
    client, where = Client(mac(number), hostname=name), Place(link, **place)
    offered = world.do(u.LeaseOffer(client=client, place=where)).lease
    told = world.do(u.LeaseCommit(client=client, place=where, address=offered.address, form="selecting"))
    assert isinstance(told, Leased)
    return told.lease


def machines(world: World) -> dict[str, Any]:
    return {m.name: m for m in world.tables.all("machines")}


def test_an_unknown_client_becomes_a_new_machine_with_the_interface_that_it_boots_from() -> None:
    world = links()
    assert discover(world, 1).dynamic
    assert not machines(world), "an offer makes none"
    assert boot(world, 1).dynamic
    made = machines(world)["machine-525400000001"]
    assert (made.kind, made.lifecycle) == ("managed", "new")
    (interface,) = world.tables.all("interfaces")
    assert (interface.machine, interface.mac, interface.boot) == (made.id, mac(1), True)
    assert interface.network == world.state.find("network", "prod")
    (claim,) = world.tables.open("claims")
    assert (claim.machine, claim.interface) == (made.id, interface.id)
    assert kinds(world)[-4:-1] == ["machine.enlisted", "interface.created", "address.allocated"]


def test_it_is_enlisted_once_however_often_it_boots() -> None:
    world = links()
    for _ in range(3):
        boot(world, 1)
        world.wait(20000)
        world.do(u.ExpireLeases())
    assert kinds(world).count("machine.enlisted") == 1


def test_where_the_relay_saw_it_is_where_it_is() -> None:
    world = links()
    world.do(u.ChangeLocation(location="r1", changes={"relay": {"circuit_id": "0a", "remote_id": None}}))
    boot(world, 1, circuit_id="0a")
    assert machines(world)["machine-525400000001"].location == world.state.find("location", "r1")


def test_a_flood_is_no_ledger_but_everybody_gets_a_lease() -> None:
    world = links(limit=5)
    for n in range(1, 21):
        assert boot(world, n) is not None
    assert len(machines(world)) == 5
    for n in range(21, 31):
        boot(world, n, LINKS[1])
    assert len(machines(world)) == 10, "each link has its own"
    world.wait(59)
    boot(world, 31)
    assert len(machines(world)) == 10
    world.wait(1)
    boot(world, 32)
    assert len(machines(world)) == 11


def test_who_was_over_the_limit_is_enlisted_when_it_gets_another_lease() -> None:
    world = links(limit=1)
    boot(world, 1), boot(world, 2)
    assert len(machines(world)) == 1
    world.wait(20000)
    world.do(u.ExpireLeases())
    boot(world, 2)
    assert set(machines(world)) == {"machine-525400000001", "machine-525400000002"}


def test_a_network_may_enlist_nobody() -> None:
    for world in (links(enlist=False), links(limit=0)):
        assert boot(world, 1).dynamic
        assert not machines(world)


def test_a_machine_that_is_known_is_not_enlisted() -> None:
    world = links()
    machine(world, "m1")
    assert boot(world, 16).dynamic
    assert set(machines(world)) == {"m1"}


def test_a_name_that_somebody_has_is_not_taken() -> None:
    """A MAC was replaced, and the old card is in another machine now."""
    world = links()
    boot(world, 1)
    (first,) = machines(world)
    world.do(u.ReleaseClaim(claim=world.tables.open("claims")[0].id))
    interface = world.tables.all("interfaces")[0]
    world.do(u.ChangeMachine(machine=first, changes={"interfaces": [{"mac": mac(9), "name": interface.name}]}))
    boot(world, 1)
    assert len(machines(world)) == 2
    (second,) = machines(world).keys() - {first}
    assert second.startswith("machine-")


def test_a_person_names_it_while_it_has_a_lease_and_commissions_it() -> None:
    world = links()
    boot(world, 1, name="localhost")
    world.do(u.ChangeMachine(machine="machine-525400000001", changes={"name": "m7", "location": "r0"}))
    told = step(world, "ready", "m7")
    named = {h.claim.project: h.addresses[0].name for h in told.holdings}
    assert named == {"dhcp": "localhost.prod.example.", "machine": "m7.prod.example."}
    assert discover(world, 1).dynamic is False
    step(world, "retire", "m7")
    assert not holds(world, "m7")


def test_enlisting_changes_nobody_elses_addresses() -> None:
    world = links()
    before = ips(ready(world, "m1"))
    boot(world, 1)
    assert list(holds(world, "m1")) == before
