"""A world of machines, and what they hold, for whoever tests their lives."""

from typing import Any

from tenure.model import uses as u
from tenure.model.answers import MachineWithInterfaces
from tenure.model.leases import Client, Place
from tests.engine import naive
from tests.engine.world import World, site

STEPS: dict[str, Any] = {
    "commission": u.CommissionMachine,
    "ready": u.ReadyMachine,
    "deploy": u.DeployMachine,
    "release": u.ReleaseMachine,
    "retire": u.RetireMachine,
    "seen": u.SeeMachine,
}


def mac(number: int) -> str:
    return f"52:54:00:00:{number >> 8:02x}:{number & 255:02x}"


def lan(*cidrs: str, **network: Any) -> World:
    """A world with a network `prod` that machines are plugged into."""
    given = {"domain": "prod.example.", "strategy": "first_free", "cooldown": 0, "ttl": 0, **network}
    return site(*(cidrs or ("10.0.0.0/27",)), **given)


def port(number: int, network: str | None = "prod", **fields: Any) -> u.NewInterface:
    return u.NewInterface(mac=mac(number), network=network, **fields)


def machine(world: World, name: str = "m1", *ports: u.NewInterface, **fields: Any) -> MachineWithInterfaces:
    number = int(name[1:]) * 16
    made = world.do(u.CreateMachine(name=name, interfaces=ports or (port(number),), **fields))
    assert isinstance(made, MachineWithInterfaces)
    return made


def step(world: World, step: str, name: str = "m1", **fields: Any) -> MachineWithInterfaces:
    """A step of a machine's life; what it answers is what is there then."""
    told = world.do(STEPS[step](machine=name, **fields))
    assert isinstance(told, MachineWithInterfaces)
    naive.check(world)
    return told


def ready(world: World, name: str = "m1", *ports: u.NewInterface, **fields: Any) -> MachineWithInterfaces:
    """A machine that passed commissioning."""
    machine(world, name, *ports, **fields)
    return step(world, "ready", name)


def reserve(world: World, handle: str = "landscape", **fields: Any) -> Any:
    return world.claim(handle=handle, purpose="landscape", **fields)


def holds(world: World, name: str = "m1") -> dict[str, str]:
    """A machine's addresses, and how they stand."""
    machines = {m.name: m.id for m in world.tables.all("machines")}
    mine = {c.id for c in world.tables.open("claims") if c.machine == machines[name]}
    return {a.ip: a.standing for a in world.tables.open("allocations") if a.claim in mine}


def named(world: World) -> dict[str, set[tuple[str, str | None, str]]]:
    """Of each machine or handle: addresses, names and how they stand."""
    machines = {m.id: m.name for m in world.tables.all("machines")}
    claims = {c.id: machines.get(c.machine or "", c.handle) for c in world.tables.open("claims")}
    found: dict[str, set[tuple[str, str | None, str]]] = {holder: set() for holder in claims.values()}
    for a in world.tables.open("allocations"):
        found[claims[a.claim]].add((a.ip, a.hostname, a.standing))
    return found


def kinds(world: World, since: int = 0) -> list[str]:
    return [event.kind.removeprefix("tenure.") for event in world.events[since:]]


def ips(told: MachineWithInterfaces) -> list[str]:
    """Addresses as a step answers them."""
    return [address.ip for holding in told.holdings for address in holding.addresses]


def discover(world: World, number: int, link: int = 0x0A000001) -> Any:
    return world.do(u.LeaseOffer(client=Client(mac(number)), place=Place(link))).lease
