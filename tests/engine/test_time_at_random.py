"""Time, scans and people at random on a small site: every step can be taken back, and all comes back from the tables.

What a world asserts of each step (a refusal or an undo leaves everything as it was) and what the naive model says.
"""

import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

from tenure.engine.fingerprint import fingerprint
from tenure.engine.state import State
from tenure.errors import TenureError
from tenure.model import uses as u
from tenure.model.holding import ClaimRequest
from tenure.model.leases import Client, Place
from tenure.model.uses.asking import Asking
from tenure.net.addresses import number_of
from tests.engine import naive
from tests.engine.world import World, site

MACS = [f"52:54:00:00:00:{n:02x}" for n in range(1, 9)]
CIDRS = ["10.0.0.0/28", "10.0.1.0/28", "10.0.0.8/29", "10.0.0.0/27", "2001:db8::/124"]
WAITS = [0, 1, 60, 60, 400, 4000, 7 * 3600, 90_000]
MUST_HAPPEN = {
    "tenure.address.observed",
    "tenure.address.disputed",
    "tenure.claim.expiring",
    "tenure.network.depleted",
    "tenure.network.replenished",
    "expired",
    "harvested",
}


class Life:
    """One site, and what may happen to it."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.happened: Counter[str] = Counter()
        self.world = site(
            *CIDRS[:2],
            racks=1,
            cooldown=chance.choice([0, 300]),
            harvest=True,
            harvest_after=3600,
            harvest_below=chance.choice([5, 20, 40]),
            low_threshold=chance.choice([10, 18]),
            domain="prod.example.",
        )
        self.world.do(u.CreateRange(subnet=CIDRS[0], start="10.0.0.4", end="10.0.0.6", role="dynamic"))
        for n, mac in enumerate(MACS[:5]):
            port = u.NewInterface(mac=mac, network="prod", boot=True)
            self.world.do(u.CreateMachine(name=f"m{n}", interfaces=(port,)))

    def step(self) -> None:
        world, chance = self.world, self.chance
        world.wait(chance.choice(WAITS))
        with suppress(TenureError):
            made = world.plan(chance.choices(USES, WEIGHTS)[0](self))
            for event in made.events:
                self.happened[event.kind] += 1
                self.happened[getattr(event, "reason", "")] += 1
        naive.check(world)

    def claim(self) -> Asking:
        chance, expires = self.chance, None
        if chance.random() < 0.3:
            expires = self.world.now + timedelta(seconds=chance.choice(WAITS[1:]) + 1)
        request = ClaimRequest(
            network="prod",
            host=chance.choice([None, "h0-0", "h0-1"]),
            mac=chance.choice([None, *MACS]),
            count=chance.choice([1, 1, 3, 6]),
            static=chance.random() < 0.1,
            queue=chance.random() < 0.7,
            family=chance.choice(["v4", "v4", None]),
            expires=expires,
        )
        return u.ClaimAddresses(request=request)

    def by_name(self) -> Asking:
        chance = self.chance
        return u.ClaimAddresses(
            request=ClaimRequest(network="prod", address=f"10.0.0.{chance.randrange(16)}", mac=chance.choice(MACS))
        )

    def release(self) -> Asking:
        claims = [c.id for c in self.world.tables.open("claims")] or ["none"]
        return u.ReleaseClaim(claim=self.chance.choice(claims))

    def observe(self) -> Asking:
        chance = self.chance
        ips = [f"10.0.{n}.{chance.randrange(20)}" for n in (0, 1)] + [f"2001:db8::{chance.randrange(16):x}"]
        return u.ObserveAddresses(sightings=tuple(u.Sighting(ip=ip, mac=chance.choice([None, *MACS])) for ip in ips))

    def machine(self) -> Asking:
        name = f"m{self.chance.randrange(5)}"
        step = self.chance.choice(
            [u.CommissionMachine, u.ReadyMachine, u.ReadyMachine, u.DeployMachine, u.ReleaseMachine]
        )
        return step(machine=name)

    def lease(self) -> Asking:
        chance = self.chance
        held = [a.ip for a in self.world.tables.open("allocations") if ":" not in a.ip]
        ip = chance.choice([*held, "10.0.0.4", "10.0.0.5"])
        place = Place(link=number_of(ip))
        client = Client(mac=chance.choice(MACS))
        if chance.random() < 0.2:
            return u.LeaseDecline(client=client, place=place, address=number_of(ip))
        return u.LeaseCommit(client=client, place=place, address=number_of(ip), form="selecting")

    def subnet(self) -> Asking:
        chance = self.chance
        cidr, other = chance.sample(CIDRS, 2)
        return chance.choice(
            [
                u.CreateSubnet(network="prod", cidr=cidr),
                u.CreateSubnet(network="prod", cidr=cidr),
                u.DeleteSubnet(subnet=cidr),
                u.ChangeSubnet(subnet=cidr, changes={"cidr": other}),
                u.CancelRenumbering(subnet=cidr),
            ]
        )

    def renumber(self) -> Asking:
        chance = self.chance
        old, new = chance.sample(CIDRS[:2], 2)
        if chance.random() < 0.4:
            return u.ChangeSubnet(subnet=old, changes={"draining": False})
        fields: dict[str, object] = {"wave": chance.choice([1, 4]), "stopped": chance.random() < 0.2}
        return u.RenumberSubnet(subnet=old, to=chance.choice([None, new, new]), fields=fields)

    def lapse(self) -> Asking:
        return u.Lapse(limit=self.chance.choice([1, 3, 256]))

    def others(self) -> Asking:
        return self.chance.choice([u.Tend(), u.ExpireLeases(), u.HarvestNetwork(network="prod", limit=2)])


USES: list[Callable[[Life], Any]] = [
    Life.claim, Life.by_name, Life.release, Life.observe, Life.machine, Life.lease, Life.subnet, Life.renumber,
    Life.lapse, Life.others,
]  # fmt: skip
WEIGHTS = [6, 2, 6, 6, 4, 3, 1, 5, 10, 2]


def rebuilt(world: World) -> None:
    """The ledger and the tables each give the same memory."""
    replayed = State()
    for event in world.events:
        replayed.reduce(event)
    replayed.advance(world.now)
    assert fingerprint(replayed) == fingerprint(world.state)
    assert fingerprint(State.load(world.tables, world.now)) == fingerprint(world.state)


def test_whatever_time_and_scans_do_what_is_remembered_stays_true(seed: int) -> None:
    chance = random.Random(seed)
    happened: Counter[str] = Counter()
    for _ in range(10):
        life = Life(chance)
        for _ in range(120):
            life.step()
        rebuilt(life.world)
        happened += life.happened
    assert all(happened[what] for what in MUST_HAPPEN), "the test does not look where it should"
