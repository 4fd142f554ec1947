"""Whatever is moved, attached, displaced, renamed and booted: nobody is promised another's address."""

import random
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import pytest

from tenure.errors import TenureError
from tenure.model import uses as u
from tenure.model.leases import Client, Place
from tenure.net.addresses import number_of, text_of
from tests.engine import naive
from tests.engine.test_reassign import VRF
from tests.engine.world import site

MACS = [f"52:54:00:00:00:{n:02x}" for n in range(1, 5)]
LINK = Place(number_of("10.0.0.1"))
STEPS = 60
MARGIN = timedelta(seconds=5)


class Site:
    """Three machines, the last with two interfaces, and what DHCP promised to whom."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        network = {"cooldown": chance.choice([0, 300]), "ttl": 0, "on_override": self._how()}
        self.world = site("10.0.0.0/27", domain="prod.example.", **network)
        self.world.do(u.CreateRange(subnet="10.0.0.0/27", start="10.0.0.28", end="10.0.0.30", role="dynamic"))
        for n, macs in enumerate((MACS[:1], MACS[1:2], MACS[2:])):
            ports = tuple(u.NewInterface(mac=mac, network="prod") for mac in macs)
            self.world.do(u.CreateMachine(name=f"m{n}", interfaces=ports))
        self.promises: dict[int, tuple[str, datetime]] = {}

    def step(self) -> None:
        """Something happens, or is refused; then all is as it must be."""
        steps: list[Callable[[], object]] = [
            self._claim, self._release, self._reassign, self._rename, self._attach, self._detach, self._boot,
            self._boot, self._renew, self._wait,
        ]  # fmt: skip
        with suppress(TenureError):  # that nothing changes then, `World.plan` asserts
            self.chance.choice(steps)()
        self.check()

    def check(self) -> None:
        naive.check(self.world)
        tables = self.world.tables
        open_ = {a.id: a for a in tables.open("allocations")}
        claims = {c.id: c for c in tables.open("claims")}
        primaries = [x.interface for x in tables.open("attachments") if self._is_primary(open_[x.allocation])]
        assert len(primaries) == len(set(primaries)), "an interface has two primary addresses"
        assert all(a.claim in claims for a in open_.values())
        assert all(a.behind in claims for a in open_.values() if a.behind is not None), "behind a claim that is gone"
        users: dict[str, set[str]] = {}
        for a in open_.values():
            users.setdefault(a.hostname or a.id, set()).add(claims[a.claim].machine or a.claim)
        assert all(len(found) == 1 for found in users.values()), "two have one name"

    def _is_primary(self, allocation: Any) -> bool:
        return allocation.standing == "primary" and not allocation.lease

    def _how(self) -> Any:
        return self.chance.choice(["shelve", "release", "keep"])

    def _ip(self) -> str:
        held = [a.ip for a in self.world.tables.open("allocations")]
        return str(self.chance.choice([*held, "10.0.0.20"]))

    def _mac(self) -> str:
        return self.chance.choice(MACS)

    def _claim(self) -> None:
        fields: dict[str, Any] = self.chance.choice([
            {"mac": self._mac()}, {"mac": self._mac(), "alias": True}, {"shared": True}, {"count": 2},
            {"mac": self._mac(), "count": 2}, {"hostname": f"n{self.chance.randrange(4)}"}, {},
        ])  # fmt: skip
        self.world.claim(**fields, on_override=self.chance.choice([None, self._how()]))

    def _release(self) -> None:
        claims = self.world.tables.open("claims")
        if claims:
            self.world.do(u.ReleaseClaim(claim=self.chance.choice(claims).id))

    def _reassign(self) -> None:
        claims = [c.id for c in self.world.tables.open("claims")]
        to: dict[str, Any] = self.chance.choice([
            {"interface": self._mac()}, {"machine": f"m{self.chance.randrange(3)}"},
            {"address": f"10.0.0.{self.chance.randrange(1, 28)}"}, {"claim": self.chance.choice([*claims, "none"])},
        ])  # fmt: skip
        dns: Any = self.chance.choice([None, "now", "when_acked"])
        self.world.do(u.ReassignAddress(vrf=VRF, ip=self._ip(), on_override=self._how(), dns=dns, **to))

    def _rename(self) -> None:
        name = self.chance.choice([None, f"n{self.chance.randrange(4)}"])
        self.world.do(u.RenameAddress(vrf=VRF, ip=self._ip(), hostname=name))

    def _attach(self) -> None:
        self.world.do(u.AttachAddress(vrf=VRF, ip=self._ip(), interface=self._mac()))

    def _detach(self) -> None:
        self.world.do(u.DetachAddress(vrf=VRF, ip=self._ip(), interface=self.chance.choice([None, self._mac()])))

    def _boot(self) -> None:
        mac = self._mac()
        offer = self.world.do(u.LeaseOffer(client=Client(mac), place=LINK)).lease
        if offer is not None:
            self._ask(mac, offer.address, "selecting")

    def _renew(self) -> None:
        number = self.chance.choice([*self.promises, number_of("10.0.0.20")])
        self._ask(self.promises.get(number, (MACS[0],))[0], number, self.chance.choice(["renewing", "init-reboot"]))

    def _ask(self, mac: str, number: int, form: str) -> None:
        use = u.LeaseCommit(client=Client(mac), place=LINK, address=number, form=form)
        lease = self.world.do(use).lease
        if lease is not None:
            other, until = self.promises.get(number, (mac, self.world.now))
            assert other == mac or until + MARGIN <= self.world.now, f"{text_of(4, number)} is promised to {other}"
            self.promises[number] = (mac, lease.held_until)

    def _wait(self) -> None:
        self.world.wait(self.chance.choice([1, 301, 3600, 7206]))
        self.world.do(u.Lapse())
        self.world.do(u.ExpireLeases())


@pytest.mark.parametrize("run", range(8))
def test_nobody_is_promised_what_another_was(rng: random.Random, run: int) -> None:
    here = Site(random.Random(rng.random()))
    for _ in range(STEPS):
        here.step()
