"""Whatever happens to addresses: what follows is what loads (zones, routes), and what is told of the past was so."""

import random
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pytest

from tenure.model import uses as u
from tenure.model.answers import Failure
from tenure.model.holding import ClaimRequest
from tenure.model.policy import OnOverride
from tenure.service.contents import zone_contents
from tenure.service.planning import INTERNAL
from tenure.service.route_answers import Table
from tenure.service.routes import RouteView
from tenure.store.interface import KnownAddress
from tests.service.test_routes import same
from tests.service.world import Node, World

HOSTS: Final = ("h0-0", "h0-1", "h1-0", "h1-1")
MACHINES: Final = 5
OVERRIDES: Final[tuple[OnOverride, ...]] = ("shelve", "keep", "release")
PLACES: Final = ("fabric", "hosts", "r0", "h1-0")
STEPS: Final = 150


@pytest.fixture
def node(tmp_path: Path, seed: int) -> Iterator[Node]:
    """Two racks of two hosts, a named network in both families, and machines on it that boot from it."""
    world = World(tmp_path, seed)
    node = world.node()
    node.ok(u.CreateVrf(name="default"))
    for rack in range(2):
        node.ok(u.CreateLocation(name=f"r{rack}", kind="rack"))
    for host in HOSTS:
        node.ok(u.CreateLocation(name=host, kind="host", parent=f"r{host[1]}"))
    lengths = {"block_length_v4": 30, "rack_block_length_v4": 27, "block_length_v6": 126, "rack_block_length_v6": 122}
    node.ok(u.CreateNetwork(name="prod", fields={"cooldown": 0, "ttl": 0, "domain": "prod.example.", **lengths}))
    node.ok(u.CreateSubnet(network="prod", cidr="10.0.0.0/25"))
    node.ok(u.CreateSubnet(network="prod", cidr="2001:db8::/64"))
    for n in range(MACHINES):
        port = u.NewInterface(mac=mac_of(n), name="eth0", network="prod", boot=True)
        node.ok(u.CreateMachine(name=f"m{n}", location=HOSTS[n % len(HOSTS)], interfaces=(port,)))
    yield node
    world.close()


def mac_of(machine: int) -> str:
    """The MAC of a machine."""
    return f"52:54:00:00:00:{machine:02x}"


DEEDS: Final = (
    "claim", "claim", "claim", "reserve", "borrow", "release", "release", "rebind", "rebind", "reassign", "reassign",
    "reassign", "rename", "attach", "detach", "live", "live", "live", "replace_mac", "wait",
)  # fmt: skip


class Lives:
    """Everything that people, machines and time do to addresses, by chance; what is refused changes nothing.

    Attributes:
        done: How often each deed was not refused.
    """

    deeds: Sequence[str] = DEEDS

    def __init__(self, node: Node, chance: random.Random) -> None:
        self.node = node
        self.chance = chance
        self.done: dict[str, int] = {}
        self._names = 0

    def step(self) -> None:
        """One of them, a second later."""
        self.node.world.clock.pause(1)
        deed = self.chance.choice(self.deeds)
        use = getattr(self, deed)()
        answer = None if use is None else self.node.answer(use)
        if isinstance(answer, Failure):
            assert answer.code != INTERNAL, (use, answer)
        elif answer is not None:
            self.done[deed] = self.done.get(deed, 0) + 1

    def claim(self) -> u.Use:
        """Somebody asks for an address on a machine that may have one."""
        self._names += 1
        some = self.chance.random()
        request = ClaimRequest(
            network="prod",
            host=self.chance.choice((*HOSTS, None)),
            mac=mac_of(self.chance.randrange(MACHINES)),
            hostname=f"n{self._names}" if some < 0.7 else None,
            family=self.chance.choice(("v4", "v4", "v6", "dual")),
            on_override=self.chance.choice((*OVERRIDES, None)),
            alias=some < 0.2,
            static=some > 0.9,
        )
        return u.ClaimAddresses(request=request)

    def reserve(self) -> u.Use:
        """A reservation, perhaps of several, perhaps shared."""
        self._names += 1
        count, shared = self.chance.choice((1, 1, 3)), self.chance.random() < 0.3
        request = ClaimRequest(network="prod", hostname=f"n{self._names}", family="v4", count=count, shared=shared)
        return u.ClaimAddresses(request=request)

    def borrow(self) -> u.Use | None:
        """A machine uses a reservation's address."""
        reserved = [claim for claim in self._claims() if claim.request.mac is None and claim.machine is None]
        if not reserved:
            return None
        lender = self.chance.choice(reserved).id
        mac = mac_of(self.chance.randrange(MACHINES))
        request = ClaimRequest(network="prod", mac=mac, family="v4", reservation=lender, host=self.chance.choice(HOSTS))
        return u.ClaimAddresses(request=request)

    def release(self) -> u.Use | None:
        """A claim ends."""
        claims = self._claims()
        return u.ReleaseClaim(claim=self.chance.choice(claims).id) if claims else None

    def rebind(self) -> u.Use | None:
        """A claim moves, with a hand-over or without."""
        claims = self._claims()
        host, handover = self.chance.choice(HOSTS), self.chance.choice((0, 20))
        return u.RebindClaim(claim=self.chance.choice(claims).id, host=host, handover=handover) if claims else None

    def reassign(self) -> u.Use | None:
        """An address goes to another interface, machine or claim, or its holder gets another one."""
        held, claims = self._held(), self._claims()
        if not held:
            return None
        to: dict[str, Any] = self.chance.choice(
            (
                {"interface": mac_of(self.chance.randrange(MACHINES))},
                {"machine": f"m{self.chance.randrange(MACHINES)}"},
                {"claim": self.chance.choice(claims).id},
                {"address": f"10.0.0.{self.chance.randrange(1, 127)}"},
            )
        )
        on_override, sure = self.chance.choice((*OVERRIDES, None)), self.chance.random() < 0.8
        return u.ReassignAddress(
            vrf="default", ip=self._one(held), on_override=on_override, static_acknowledged=sure, **to
        )

    def rename(self) -> u.Use | None:
        """An address is called otherwise."""
        self._names += 1
        name = f"n{self._names}" if self.chance.random() < 0.8 else None
        held = self._held()
        return u.RenameAddress(vrf="default", ip=self._one(held), hostname=name) if held else None

    def attach(self) -> u.Use | None:
        """An interface uses an address."""
        held, port = self._held(), mac_of(self.chance.randrange(MACHINES))
        return u.AttachAddress(vrf="default", ip=self._one(held), interface=port) if held else None

    def detach(self) -> u.Use | None:
        """An interface uses it no longer."""
        held = [each for each in self._held() if each.interfaces]
        if not held:
            return None
        known = self.chance.choice(held)
        return u.DetachAddress(vrf="default", ip=known.allocation.ip, interface=known.interfaces[0].id)

    def live(self) -> u.Use:
        """A machine takes a step of its life."""
        machine = f"m{self.chance.randrange(MACHINES)}"
        if self.chance.random() < 0.3:
            host = self.chance.choice((*HOSTS, None))
            return u.DeployMachine(machine=machine, host=host, on_override=self.chance.choice((*OVERRIDES, None)))
        step = self.chance.choice((u.CommissionMachine, u.ReadyMachine, u.ReadyMachine, u.ReleaseMachine))
        return step(machine=machine)

    def replace_mac(self) -> u.Use:
        """A machine gets another network card, with the same port, and its old one again."""
        n = self.chance.randrange(MACHINES)
        mac = self.chance.choice((mac_of(n), mac_of(n + 100)))
        return u.ChangeMachine(machine=f"m{n}", changes={"interfaces": [{"mac": mac, "name": "eth0"}]})

    def wait(self) -> u.Use:
        """Time passes, and does what it does."""
        self.node.world.clock.pause(self.chance.choice((5, 40)))
        return u.Together(uses=(u.Lapse(), u.Tend()))

    def _claims(self) -> list[Any]:
        return [each.claim for each in self.node.store.reads.claims(limit=1000).items if each.claim.bound is not None]

    def _held(self) -> list[KnownAddress]:
        now = self.node.world.clock.now()
        return self.node.store.reads.addresses(limit=1000, now=now).items

    def _one(self, held: list[KnownAddress]) -> str:
        return self.chance.choice(held).allocation.ip


def told(known: KnownAddress) -> tuple[Any, ...]:
    """What is said of an address, of now or of then."""
    allocation, claim = known.allocation, known.claim
    ports, machines = [port.mac for port in known.interfaces], [machine.name for machine in known.machines]
    of_it = (
        allocation.ip,
        allocation.id,
        allocation.standing,
        allocation.title,
        known.held.name,
        allocation.held_until,
    )
    return (*of_it, claim.id, claim.host, sorted(ports), sorted(machines))


def table(node: Node, at: datetime | None = None) -> list[tuple[Any, ...]]:
    """The whole table, of now or of then."""
    reads, now = node.store.reads, node.world.clock.now()
    pages = [reads.addresses(limit=7, now=now, at=at)]
    while pages[-1].next is not None:
        pages.append(reads.addresses(pages[-1].next, 7, now=now, at=at))
    return sorted(told(each) for page in pages for each in page.items)


def followed_is_loaded(node: Node, view: RouteView) -> dict[str, Table]:
    """Assert that zones and routes which follow are those that are loaded; the routes."""
    with node.store.snapshot() as snapshot:
        assert node.names.zones == {zone.id: set(records) for zone, *_, records in zone_contents(snapshot)}
    fresh = RouteView(node.store)
    tables = {place: view.table(place).value for place in PLACES}
    assert tables == {place: fresh.table(place).value for place in PLACES}
    return {place: same(each) for place, each in tables.items()}


def test_what_follows_is_what_loads_and_what_was_is_told_as_it_was(node: Node, seed: int) -> None:
    chance = random.Random(seed)
    lives, view = Lives(node, chance), RouteView(node.store)
    before: list[tuple[datetime, list[tuple[Any, ...]], dict[str, Table]]] = []
    for _ in range(STEPS):
        lives.step()
        if chance.random() < 0.3:
            before.append((node.world.clock.now(), table(node), followed_is_loaded(node, view)))
    node.check()
    for time, then, routes in chance.sample(before, 12):
        assert table(node, time) == then
        assert {place: same(view.table(place, at=time).value) for place in PLACES} == routes
        for line in then:
            known = node.store.reads.address_at(node.store.reads.vrf("default").value.id, line[0], time).value  # type: ignore[union-attr]
            assert known is not None and told(known) == line
    assert len(lives.done) >= 8, lives.done


def test_a_time_line_says_of_each_moment_who_held_it_then(node: Node, seed: int) -> None:
    """Its last line that is not after a time tells the holder of then, in pages of any size.

    (But for the machine that a claim names, which another address of it may have changed.)
    """
    chance = random.Random(seed + 1)
    lives = Lives(node, chance)
    before = []
    for _ in range(STEPS // 2):
        lives.step()
        before.append((node.world.clock.now(), {line[0]: line for line in table(node)}))
    reads = node.store.reads
    vrf = reads.vrf("default").value
    assert vrf is not None
    ips = sorted({ip for _, held in before for ip in held})
    for ip in chance.sample(ips, min(8, len(ips))):
        lines = _lines(node, vrf.id, ip, 1000)
        assert lines == _lines(node, vrf.id, ip, chance.randrange(1, 5))
        for time, held in before:
            past = [line for line in lines if line.entry.time <= time]
            holder = past[-1].holder if past else None
            still = holder is not None and holder.allocation.until is None
            assert still == (ip in held)
            if holder is not None and still:
                assert told(holder)[:-1] == held[ip][:-1]


def _lines(node: Node, vrf: str, ip: str, limit: int) -> list[Any]:
    pages = [node.store.reads.history(vrf, ip, "", limit)]
    while pages[-1].next is not None:
        pages.append(node.store.reads.history(vrf, ip, pages[-1].next, limit))
    return [line for page in pages for line in page.items]
