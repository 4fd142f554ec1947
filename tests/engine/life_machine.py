"""A state machine over every policy: whatever people ask for, what happens by itself takes nothing from who is safe.

Safe are the addresses of deployed machines, of `static` claims, and those asked for by name. What a person
asked for and time carries out (a claim's own end, a name that follows, a renumbering) is no act of its own.
"""

from contextlib import suppress
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tenure.engine.fingerprint import fingerprint
from tenure.engine.state import State
from tenure.errors import TenureError
from tenure.model import uses as u
from tenure.model.holding import LEASES, Allocation, Claim, ClaimRequest
from tenure.model.leases import Client, Place
from tenure.model.uses import NewInterface
from tenure.net.addresses import number_of
from tests.engine import naive
from tests.engine.world import World

MACHINES = ["m0", "m1", "m2", "m3"]
MACS = {name: f"52:54:00:00:00:0{n}" for n, name in enumerate(MACHINES)}
STRANGERS = ["52:54:00:00:00:0a", "52:54:00:00:00:0b"]
CIDR = "10.0.0.0/27"
ADDRESSES = [f"10.0.0.{n}" for n in range(2, 31)]
HANDLES = ["a", "b", "c", "d", "e"]
LINK = Place(link=number_of("10.0.0.1"))

policies = st.fixed_dictionaries(
    {
        "allocate_on": st.sampled_from([None, "commission", "deploy", "boot", "binding"]),
        "interfaces": st.sampled_from(["boot", "all"]),
        "on_override": st.sampled_from(["shelve", "release", "keep"]),
        "address_mode": st.sampled_from(["dhcp", "dhcp", "static", "slaac"]),
        "model": st.sampled_from(["flat", "flat", "clustered"]),
        "cooldown": st.sampled_from([0, 300]),
        "harvest": st.booleans(),
        "harvest_after": st.sampled_from([3600, 86400]),
        "harvest_below": st.sampled_from([0, 10, 30]),
        "low_threshold": st.sampled_from([0, 5]),
        "enlist": st.booleans(),
    }
)
machines = st.sampled_from(MACHINES)
some_harvest = st.sampled_from(["inherit", "never", "allowed"])


class Life(RuleBasedStateMachine):
    """People and machines ask; time and strangers do what they do; nobody who is safe loses anything by it."""

    world: World
    fixed: ClassVar[dict[str, object]] = {}
    """Policies that are not drawn."""

    @initialize(policy=policies)
    def begin(self, policy: dict[str, object]) -> None:
        """A small network, with a range for strangers."""
        self.world = World()
        self._do(u.CreateVrf(name="default"))
        self._do(u.CreateLocation(name="r", kind="rack"))
        for host in ("h0", "h1"):
            self._do(u.CreateLocation(name=host, kind="host", parent="r"))
        self._do(u.CreateNetwork(name="prod", fields={"domain": "prod.example.", **policy, **self.fixed}))
        self._do(u.CreateSubnet(network="prod", cidr=CIDR, fields={"gateway": "10.0.0.1"}))
        self._do(u.CreateSubnet(network="prod", cidr="10.0.1.0/27", fields={}))
        self._do(u.CreateRange(subnet=CIDR, start="10.0.0.24", end="10.0.0.27", role="dynamic"))
        for name in MACHINES:
            port = NewInterface(mac=MACS[name], name="eth0", network="prod")
            self._do(u.CreateMachine(name=name, interfaces=(port,)))

    # What people ask for

    @rule(name=machines, step=st.sampled_from([u.CommissionMachine, u.ReadyMachine, u.ReleaseMachine, u.SeeMachine]))
    def step(self, name: str, step: Any) -> None:
        self._try(step(machine=name))

    @rule(
        name=machines,
        host=st.sampled_from([None, "h0", "h1"]),
        address=st.none() | st.none() | st.sampled_from(ADDRESSES),
        on_override=st.sampled_from([None, "shelve", "release", "keep"]),
    )
    def deploy(self, name: str, **how: Any) -> None:
        self._try(u.ReadyMachine(machine=name))
        if how["address"] is None:
            how["on_override"] = None
        self._try(u.DeployMachine(machine=name, **how))

    @rule(name=machines)
    def goes_to_work(self, name: str) -> None:
        """What mostly happens to a machine."""
        self._try(u.ReadyMachine(machine=name))
        self._try(u.DeployMachine(machine=name))
        self.discover(MACS[name], take=True)

    @rule(name=machines)
    def is_written_by_hand(self, name: str) -> None:
        """What it was given is in its configuration."""
        self._try(u.ReadyMachine(machine=name))
        ids = {machine.id for machine in self.world.tables.all("machines") if machine.name == name}
        for claim in self.world.tables.open("claims"):
            if claim.machine in ids and claim.project != LEASES:
                self._try(u.ChangeClaim(claim=claim.id, changes={"static": True}))

    @rule(name=machines, luck=st.integers(0, 9))
    def retire(self, name: str, luck: int) -> None:
        if not luck:
            self._try(u.RetireMachine(machine=name))

    @rule(
        handle=st.sampled_from(HANDLES),
        name=st.none() | machines,
        address=st.none() | st.none() | st.sampled_from(ADDRESSES),
        host=st.sampled_from([None, "h0", "h1"]),
        static=st.booleans(),
        alias=st.booleans(),
        harvest=some_harvest,
        on_override=st.sampled_from([None, "shelve", "release", "keep"]),
        queue=st.booleans(),
    )
    def claim(self, handle: str, name: str | None, **request: Any) -> None:
        mac = None if name is None else MACS[name]
        alias = request.pop("alias") and name is not None
        made = ClaimRequest(network="prod", machine=name, mac=mac, family="v4", alias=alias, **request)
        self._try(u.ClaimAddresses(handle=handle, request=made))

    @rule(handle=st.sampled_from(HANDLES))
    def release(self, handle: str) -> None:
        for claim in self.world.tables.open("claims"):
            if claim.handle == handle:
                self._try(u.ReleaseClaim(claim=claim.id))

    @rule(at=st.integers(0, 20), name=machines, acknowledged=st.booleans())
    def reassign(self, at: int, name: str, acknowledged: bool) -> None:
        ip = self._some_held(at)
        self._try(u.ReassignAddress(vrf="default", ip=ip, machine=name, static_acknowledged=acknowledged))

    @rule(at=st.integers(0, 20), address=st.sampled_from(ADDRESSES), dns=st.sampled_from([None, "now", "when_acked"]))
    def replace(self, at: int, address: str, dns: Any) -> None:
        ip = self._some_held(at)
        self._try(u.ReassignAddress(vrf="default", ip=ip, address=address, static_acknowledged=True, dns=dns))

    @rule(at=st.integers(0, 20), static=st.booleans(), harvest=some_harvest)
    def say_of_a_claim(self, at: int, static: bool, harvest: str) -> None:
        claims = [claim for claim in self.world.tables.open("claims") if claim.project != LEASES]
        if claims:
            claim = claims[at % len(claims)]
            self._try(u.ChangeClaim(claim=claim.id, changes={"static": static, "harvest": harvest}))

    @rule(name=machines, harvest=some_harvest)
    def spare(self, name: str, harvest: str) -> None:
        self._try(u.ChangeMachine(machine=name, changes={"harvest": harvest}))

    @rule(policy=policies)
    def change_policy(self, policy: dict[str, object]) -> None:
        changes = {name: value for name, value in (policy | self.fixed).items() if name != "model"}
        self._try(u.ChangeNetwork(network="prod", changes=changes))

    # What happens by itself

    @rule(use=st.sampled_from([u.Lapse(), u.Tend(), u.ExpireLeases(), u.HarvestNetwork(network="prod")]))
    def time_acts(self, use: u.Use) -> None:
        self._by_itself(use)

    @rule(seconds=st.sampled_from([10, 400, 4000, 90000]))
    def wait(self, seconds: int) -> None:
        self.world.wait(seconds)
        for use in (u.ExpireLeases(), u.Tend(), u.Lapse()):
            self._by_itself(use)

    @rule(mac=st.sampled_from([*MACS.values(), *STRANGERS]), take=st.booleans())
    def discover(self, mac: str, take: bool) -> None:
        offered = self._by_itself(u.LeaseOffer(client=Client(mac=mac), place=LINK))
        if take and offered is not None and offered.lease is not None:
            self._by_itself(
                u.LeaseCommit(client=Client(mac=mac), place=LINK, address=offered.lease.address, form="selecting")
            )

    @rule(
        mac=st.sampled_from([*MACS.values(), *STRANGERS]),
        ip=st.none() | st.sampled_from(ADDRESSES),
        form=st.integers(0, 4),
    )
    def says(self, mac: str, ip: str | None, form: int) -> None:
        client, address = Client(mac=mac), number_of(ip or self._used_by(mac))
        if form == 0:
            self._by_itself(u.LeaseRelease(client=client, place=LINK, address=address))
        elif form == 1:
            self._by_itself(u.LeaseDecline(client=client, place=LINK, address=address))
        else:
            said = ("selecting", "init-reboot", "renewing")[form - 2]
            self._by_itself(u.LeaseCommit(client=client, place=LINK, address=address, form=said))

    @rule(mac=st.sampled_from([None, *MACS.values(), *STRANGERS]), ip=st.sampled_from([*ADDRESSES, "10.9.9.9"]))
    def sighting(self, mac: str | None, ip: str) -> None:
        self._by_itself(u.ObserveAddresses(sightings=(u.Sighting(ip=ip, mac=mac),)))

    # What must be true

    @invariant()
    def state_is_what_the_rows_say(self) -> None:
        """The allocator's memory is that of the ledger, and its counts are exact."""
        naive.check(self.world)
        loaded = State.load(self.world.tables, self.world.now)
        assert fingerprint(loaded) == fingerprint(self.world.state)

    @invariant()
    def one_primary(self) -> None:
        """An interface has one primary address of a version on a network, and no address has two holders."""
        held = [a for a in self.world.tables.open("allocations") if not a.lease]
        assert len({a.ip for a in self.world.tables.open("allocations")}) == len(self.world.tables.open("allocations"))
        waiting = {a.replaces for a in held if a.replaces is not None}
        primaries = [a for a in held if a.standing == "primary" and a.id not in waiting]
        ports = {x.allocation: x.interface for x in self.world.tables.open("attachments")}
        on_ports = [(ports[a.id], ":" in a.ip) for a in primaries if a.id in ports]
        assert len(set(on_ports)) == len(on_ports), "an interface has two primary addresses"

    # Words

    def _do(self, use: u.Use) -> Any:
        return self.world.do(use)

    def _try(self, use: u.Use) -> None:
        with suppress(TenureError):
            self._do(use)

    def _some_held(self, at: int) -> str:
        """One of the addresses that are held, or one that is not."""
        held = [a.ip for a in self.world.tables.open("allocations")]
        return str(held[at % len(held)]) if held else ADDRESSES[0]

    def _used_by(self, mac: str) -> str:
        """An IPv4 address of an interface, or one that it has not."""
        ports = {port.id for port in self.world.tables.all("interfaces") if port.mac == mac}
        worn = {x.allocation for x in self.world.tables.open("attachments") if x.interface in ports}
        mine = [a.ip for a in self.world.tables.open("allocations") if a.id in worn and ":" not in a.ip]
        return str(mine[0]) if mine else ADDRESSES[0]

    def _by_itself(self, use: u.Use) -> Any:
        """Something happens that no person asked for."""
        before = self._safe()
        answer = None
        with suppress(TenureError):
            answer = self._do(use)
        after = self.world.tables.rows.get("allocations", {})
        for id_, held in before.items():
            now = after[(id_,)]
            assert now.until is None, f"{use} took {held.ip}, which was safe"
            same = (now.ip, now.standing, now.hostname) == (held.ip, held.standing, held.hostname)
            assert same, f"{use} changed {held.ip}, which was safe"
        return answer

    def _safe(self) -> dict[str, Allocation]:
        """Open allocations that nothing automatic may change, by id."""
        tables = self.world.tables
        claims = {claim.id: claim for claim in tables.open("claims")}
        deployed = {m.id for m in tables.all("machines") if m.lifecycle == "deployed"}
        held = [a for a in tables.open("allocations") if not a.lease]
        asked = {a.replaces for a in held if a.replaces is not None} | {a.id for a in held if a.replaces is not None}
        return {a.id: a for a in held if a.id not in asked and _safe(claims[a.claim], deployed)}


def _safe(claim: Claim, deployed: set[str]) -> bool:
    return claim.machine in deployed or claim.static or claim.by_name
