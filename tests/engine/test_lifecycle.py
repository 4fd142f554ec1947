"""The steps of a machine's life, and what each gives and takes back."""

from datetime import timedelta
from typing import Any

import pytest

from tenure.errors import Conflict, Exhausted, InvalidValue, NotFound
from tenure.model import uses as u
from tenure.model.holding import MACHINES
from tenure.net.addresses import text_of
from tests.engine.lives import discover, holds, ips, kinds, lan, mac, machine, named, port, ready, reserve, step

HOME, SECOND = "10.0.0.1", "10.0.0.2"


# Steps


def test_a_machine_is_commissioned_made_ready_deployed_released_and_retired() -> None:
    world = lan()
    assert machine(world).machine.lifecycle == "new"
    for done, state in (
        ("commission", "commissioning"),
        ("ready", "ready"),
        ("deploy", "deployed"),
        ("release", "ready"),
        ("commission", "commissioning"),
        ("retire", "retired"),
    ):
        assert step(world, done).machine.lifecycle == state
    assert [kind for kind in kinds(world) if kind.startswith("machine.")] == [
        f"machine.{word}"
        for word in ("created", "commissioned", "readied", "deployed", "released", "commissioned", "retired")
    ]


@pytest.mark.parametrize("done", ["commission", "ready", "deploy", "release", "retire"])
def test_a_step_repeated_records_nothing_and_answers_the_same(done: str) -> None:
    world = lan(interfaces="all")
    machine(world, "m1", port(1), port(2))
    for before in ("commission", "ready", "deploy", "release"):
        if before == done:
            break
        step(world, before)
    first, told = step(world, done), len(world.events)
    again = step(world, done)
    assert (again.machine, again.holdings) == (first.machine, first.holdings)
    assert len(world.events) == told


@pytest.mark.parametrize(
    ("before", "done", "first"),
    [
        ((), "deploy", "commission it first"),
        (("commission",), "deploy", "ready"),
        ((), "release", "commission it first"),
        (("ready", "deploy"), "commission", "release it first"),
        (("ready", "deploy"), "ready", "release it first"),
        (("retire",), "commission", "retired"),
        (("retire",), "release", "retired"),
    ],
)
def test_a_step_out_of_turn_says_which_comes_first(before: tuple[str, ...], done: str, first: str) -> None:
    world = lan()
    machine(world)
    for each in before:
        step(world, each)
    with pytest.raises(Conflict, match=first):
        step(world, done)


def test_a_device_has_no_lifecycle_and_is_seen_all_the_same() -> None:
    world = lan()
    machine(world, kind="device")
    for done in ("commission", "ready", "deploy", "release", "retire"):
        with pytest.raises(Conflict, match="no lifecycle"):
            step(world, done)
    assert step(world, "seen").machine.seen == world.now


def test_an_instance_begins_ready() -> None:
    world = lan(allocate_on="deploy")
    machine(world, kind="instance")
    assert ips(step(world, "deploy")) == [HOME]


def test_a_step_of_a_machine_that_is_not_there_is_refused() -> None:
    with pytest.raises(NotFound):
        step(lan(), "commission")


def test_a_step_honours_the_revision_that_the_caller_saw() -> None:
    world = lan()
    machine(world)
    with pytest.raises(Conflict, match="changed since"):
        world.do(u.CommissionMachine(machine="m1"), if_match=7)
    assert world.do(u.CommissionMachine(machine="m1"), if_match=1).machine.revision == 2


# When an address is decided, and when it is given back


@pytest.mark.parametrize(
    ("allocate_on", "after"),
    [
        ("commission", {"ready": [HOME], "deploy": [HOME], "release": [HOME], "retire": []}),
        ("deploy", {"ready": [], "deploy": [HOME], "release": [], "retire": []}),
        ("boot", {"ready": [], "deploy": [], "release": [], "retire": []}),
        ("binding", {"ready": [], "deploy": [], "release": [], "retire": []}),
    ],
)
def test_the_network_says_when_and_for_how_long(allocate_on: str, after: dict[str, list[str]]) -> None:
    world = lan(allocate_on=allocate_on)
    machine(world)
    for done, held in after.items():
        assert ips(step(world, done)) == held == list(holds(world))


def test_what_is_decided_at_boot_is_given_at_the_first_discover_of_a_deployed_machine() -> None:
    world = lan(allocate_on="boot")
    ready(world, "m1", port(1))
    assert discover(world, 1) is None
    step(world, "deploy")
    assert text_of(4, discover(world, 1).address) == HOME
    told = len(world.events)
    assert text_of(4, discover(world, 1).address) == HOME
    assert len(world.events) == told
    assert ips(step(world, "release")) == []


def test_nothing_is_given_at_boot_by_another_network_or_to_an_interface_that_is_not_booted_from() -> None:
    world = lan(allocate_on="boot")
    world.do(u.CreateNetwork(name="other", fields={"allocate_on": "boot"}))
    ready(world, "m1", port(1, boot=True), port(2), port(3, "other", boot=True), port(4, None, boot=True))
    step(world, "deploy")
    assert [discover(world, n) is not None for n in (1, 2, 3, 4)] == [True, False, False, False]


def test_a_machine_that_boots_where_there_is_no_room_is_not_refused() -> None:
    world = lan("10.0.0.0/30", allocate_on="boot")
    world.claim(), world.claim()
    ready(world, "m1", port(1))
    step(world, "deploy")
    assert discover(world, 1) is None


def test_what_is_decided_by_binding_waits_until_the_machine_is_seen_or_bound() -> None:
    world = lan(allocate_on="binding")
    ready(world, "m1", port(1))
    (waiting,) = step(world, "deploy").holdings
    assert (waiting.claim.state, waiting.claim.kept) == ("pending", "deployment")
    assert text_of(4, discover(world, 1).address) == HOME
    step(world, "release")
    (waiting,) = step(world, "deploy").holdings
    assert ips(world.do(u.BindClaim(claim=waiting.claim.id, host="h0-0")) and step(world, "deploy")) == [HOME]
    step(world, "release")
    step(world, "deploy")
    step(world, "release")
    assert not world.tables.open("claims")


@pytest.mark.parametrize("where", ["named", "home"])
def test_what_is_decided_by_binding_is_decided_at_a_host_that_is_known(where: str) -> None:
    world = lan(allocate_on="binding", model="clustered", strategy="topology", fields={"locations": ("s1",)})
    ready(world, "m1", location="h0-1" if where == "home" else "r0")
    (holding,) = step(world, "deploy", host="h0-1" if where == "named" else None).holdings
    assert holding.claim.host == world.state.find("location", "h0-1")
    assert holding.addresses


def test_a_clustered_network_decides_by_binding_unless_it_says_otherwise() -> None:
    world = lan(model="clustered", strategy="topology", fields={"locations": ("s1",)})
    ready(world)
    assert not holds(world)
    (holding,) = step(world, "deploy").holdings
    assert holding.claim.state == "pending"


def test_deploying_at_what_is_no_host_or_drains_is_refused() -> None:
    world = lan(allocate_on="deploy")
    ready(world)
    with pytest.raises(InvalidValue, match="name a host"):
        step(world, "deploy", host="r0")
    world.do(u.ChangeLocation(location="r0", changes={"draining": True}))
    with pytest.raises(Conflict, match="draining"):
        step(world, "deploy", host="h0-0")


# Which interfaces


@pytest.mark.parametrize(
    ("interfaces", "flags", "given"),
    [
        ("boot", ({}, {}, {}), (1,)),
        ("boot", ({}, {"boot": True}, {}), (2,)),
        ("boot", ({"boot": True}, {}, {"boot": True}), (1, 3)),
        ("boot", ({}, {}, {"allocate": "always"}), (1, 3)),
        ("boot", ({"allocate": "never"}, {}, {}), ()),
        ("all", ({}, {}, {}), (1, 2, 3)),
        ("all", ({}, {"allocate": "never"}, {}), (1, 3)),
    ],
)
def test_the_interface_then_the_network_says_which(interfaces: str, flags: Any, given: tuple[int, ...]) -> None:
    world = lan(interfaces=interfaces)
    told = ready(world, "m1", *(port(n, **fields) for n, fields in enumerate(flags, 1)))
    macs = {i.id: i.mac for i in told.interfaces}
    assert {macs[str(h.claim.interface)] for h in told.holdings} == {mac(n) for n in given}


def test_an_interface_of_no_known_network_gets_nothing() -> None:
    world = lan()
    assert not ready(world, "m1", port(1, None, allocate="always")).holdings


def test_each_interface_gets_one_in_its_own_network_of_both_families_or_neither() -> None:
    world = lan("10.0.0.0/27", "2001:db8::/124", interfaces="all")
    world.do(
        u.CreateNetwork(name="storage", fields={"interfaces": "all", "allocate_on": "deploy", "strategy": "first_free"})
    )
    world.do(u.CreateSubnet(network="storage", cidr="10.9.0.0/28"))
    assert ips(ready(world, "m1", port(1), port(2, "storage"))) == [HOME, "2001:db8::1"]
    assert ips(step(world, "deploy")) == [HOME, "2001:db8::1", "10.9.0.1"]
    assert ips(step(world, "release")) == [HOME, "2001:db8::1"]


def test_a_later_step_gives_what_is_missing_and_changes_nothing_that_is_there() -> None:
    world = lan(interfaces="all")
    ready(world, "m1", port(1), port(2, None))
    plugged = [{"mac": mac(2), "network": "prod"}, {"mac": mac(3), "network": "prod", "name": "eth2"}]
    world.do(u.ChangeMachine(machine="m1", changes={"interfaces": [{"mac": mac(1)}, *plugged]}))
    assert list(holds(world)) == [HOME]
    assert ips(step(world, "ready")) == [HOME, SECOND, "10.0.0.3"]
    fourth = {"mac": mac(4), "network": "prod"}
    kept = [{"mac": mac(n)} for n in (1, 2, 3)]
    step(world, "deploy")
    world.do(u.ChangeMachine(machine="m1", changes={"interfaces": [*kept, fourth]}))
    assert ips(step(world, "deploy")) == [HOME, SECOND, "10.0.0.3", "10.0.0.4"]
    assert len(ips(step(world, "release"))) == 4


def test_an_interface_that_has_an_address_by_a_claim_needs_no_other() -> None:
    world = lan()
    machine(world, "m1", port(1))
    asked = world.ip(mac=mac(1), address="10.0.0.20")
    assert ips(step(world, "ready")) == [asked]


def test_a_lease_or_an_alias_is_no_address_of_its_own() -> None:
    world = lan()
    world.do(u.CreateRange(subnet="10.0.0.0/27", start="10.0.0.20", end="10.0.0.25", role="dynamic"))
    machine(world, "m1", port(1))
    world.claim(mac=mac(1), alias=True, hostname="alias")
    lease = discover(world, 1)
    assert lease.dynamic
    step(world, "ready")
    assert sorted(holds(world).values()) == ["alias", "primary"]


# All or nothing


def test_a_step_that_cannot_give_an_interface_its_address_is_refused_as_a_whole() -> None:
    world = lan("10.0.0.0/30", interfaces="all")
    machine(world, "m1", port(1), port(2), port(3))
    with pytest.raises(Exhausted, match=f"interface {mac(3)} of m1 gets no address in network prod") as refused:
        step(world, "ready")
    assert (refused.value.facts["interface"], refused.value.facts["network"]) == (mac(3), "prod")
    assert not holds(world)
    assert world.tables.all("machines")[0].lifecycle == "new"


def test_a_name_that_another_has_refuses_the_step() -> None:
    world = lan()
    world.claim(hostname="m1")
    machine(world, "m1")
    with pytest.raises(Conflict, match="m1.prod.example"):
        step(world, "ready")


def test_steps_together_are_one_change() -> None:
    world = lan("10.0.0.0/30")
    for n in (1, 2, 3):
        machine(world, f"m{n}")
    steps = tuple(u.ReadyMachine(machine=f"m{n}") for n in (1, 2, 3))
    with pytest.raises(Exhausted) as refused:
        world.do(u.Together(uses=steps))
    assert refused.value.facts["item"] == 2
    assert not world.tables.open("claims")
    world.do(u.Together(uses=steps[:2]))
    assert holds(world, "m1") == {HOME: "primary"}
    assert holds(world, "m2") == {SECOND: "primary"}


# The end


def test_retiring_ends_everything_that_a_machine_holds_names_and_waiting_claims_too() -> None:
    world = lan()
    world.do(u.CreateRange(subnet="10.0.0.0/27", start="10.0.0.20", end="10.0.0.25", role="dynamic"))
    ready(world, "m1", port(1))
    ready(world, "m2")
    others = {holder: held for holder, held in named(world).items() if holder == "m2"}
    world.claim(mac=mac(1), hostname="www", alias=True)
    world.claim(machine="m1", hostname="later", defer=True)
    world.claim(machine="m1", address="10.0.0.9")
    step(world, "deploy", address="10.0.0.10")
    before = len(world.events)
    assert step(world, "retire").holdings == ()
    assert named(world) == others
    reasons = [getattr(event, "reason", None) for event in world.events[before:]]
    assert set(reasons) == {"retired", None}
    assert "address.restored" not in kinds(world, before)
    assert world.claim(hostname="www").addresses


def test_retiring_returns_what_was_lent_and_takes_shared_addresses_off() -> None:
    world = lan()
    reserve(world, address="10.0.0.20")
    shared = world.claim(mac=mac(98), shared=True, hostname="vip", address="10.0.0.21")
    ready(world, "m1", port(1))
    world.do(u.AttachAddress(vrf="default", ip="10.0.0.21", interface=mac(1)))
    step(world, "deploy", reservation="landscape")
    told = step(world, "retire")
    assert ("10.0.0.20", "returned") in {(d.ip, d.became) for d in told.displaced}
    worn = [a for a in world.tables.open("attachments") if a.interface == told.interfaces[0].id]
    assert not worn
    assert world.tables.rows["claims"][shared.claim.id,].until is None


def test_a_retired_machine_gets_nothing_and_can_be_deleted() -> None:
    world = lan(allocate_on="boot")
    ready(world, "m1", port(1))
    step(world, "deploy")
    step(world, "retire")
    assert discover(world, 1) is None
    world.do(u.DeleteMachine(machine="m1"))
    assert machine(world, "m1", port(1)).machine.lifecycle == "new"


# Seen


def test_a_machine_is_said_to_be_seen_once_an_hour() -> None:
    world = lan()
    machine(world)
    for _ in range(4):
        step(world, "seen")
        world.wait(1200)
    assert kinds(world).count("machine.seen") == 2
    assert step(world, "seen").machine.revision == 1


def test_a_machine_that_is_plugged_in_nowhere_is_said_to_be_seen_once_an_hour_too() -> None:
    world = lan()
    machine(world, "m1", port(1, None))
    told = len(world.events)
    for minutes in (0, 59, 1):
        world.wait(60 * minutes)
        step(world, "seen")
    assert kinds(world, told) == ["machine.seen"] * 2


def test_a_machine_was_seen_at_a_time_that_is_past() -> None:
    world = lan()
    machine(world)
    earlier = world.now - timedelta(hours=5)
    assert step(world, "seen", at=earlier).machine.seen == earlier
    assert step(world, "seen", at=earlier - timedelta(hours=5)).machine.seen == earlier
    with pytest.raises(InvalidValue, match="still to come"):
        step(world, "seen", at=world.now + timedelta(seconds=1))


# Harvested machines


def test_a_machine_without_its_address_gets_it_again_at_deploy_if_it_is_available() -> None:
    world = lan(cooldown=3600)
    for n in (1, 2):
        (held,) = ready(world, f"m{n}").holdings
        assert held.claim.project == MACHINES
        world.do(u.ReleaseClaim(claim=held.claim.id))
    assert world.ip() == "10.0.0.3", "both rest"
    assert ips(step(world, "deploy", "m2")) == [SECOND]
    assert ips(step(world, "release", "m2")) == [SECOND], "it is its own again"
    assert world.ip(address=HOME, during_cooldown=True) == HOME
    assert ips(step(world, "ready", "m1")) == ["10.0.0.4"]


# Cost


def test_a_step_looks_at_nobody_else() -> None:
    """What is read for a batch of steps is theirs, however many other machines there are."""
    world = lan("10.0.0.0/24")
    for n in range(1, 41):
        machine(world, f"m{n}")
    together = u.Together(uses=tuple(u.ReadyMachine(machine=f"m{n}") for n in range(1, 41)))
    made = world.plan(together)
    assert len(made.events) == 80
    assert len(made.draft.facts.machines) == 40
    made = world.plan(u.DeployMachine(machine="m7"))
    assert len(made.draft.facts.machines) == 1
    assert len(made.draft.facts.claims) == 1
