"""What is said of claims and may be changed, strangers, labels, and what machines are given by themselves."""

from datetime import timedelta
from typing import Any

import pytest

from tenure.engine.claims import end, give
from tenure.engine.draft import Draft
from tenure.engine.facts import Wanted
from tenure.engine.plan import Moment
from tenure.errors import Conflict, InvalidValue, NotFound, NotPermitted, StaleRevision, TenureError
from tenure.model import events as e
from tenure.model import uses as u
from tenure.model.answers import Displaced
from tenure.model.holding import MACHINES
from tenure.model.observed import Observation
from tests.engine.world import START, World, site

MAC = "52:54:00:0a:0b:0c"
OTHER = "52:54:00:0a:0b:0d"
SOON = START + timedelta(hours=1)


def change(world: World, holding: Any, *, if_match: int | None = None, **changes: Any) -> Any:
    return world.do(u.ChangeClaim(claim=holding.claim.id, changes=changes), if_match=if_match).claim


# What is said of a claim


def test_what_was_asked_for_is_said_of_the_claim() -> None:
    labels: dict[str, Any] = {"tags": ("b", "a"), "custom": {"n": 1}}
    claim = site("10.0.0.0/24").claim(static=True, harvest="never", expires=SOON, **labels).claim
    assert (claim.static, claim.harvest, claim.expires) == (True, "never", SOON)
    assert (claim.tags, claim.custom) == (("a", "b"), {"n": 1})


def test_it_can_be_said_otherwise_and_the_content_stays() -> None:
    world = site("10.0.0.0/24")
    held = world.claim(handle="a", tags=("old",))
    changes: dict[str, Any] = {"static": True, "harvest": "allowed", "tags": ["z", "b", "z"], "custom": {"rack": "r1"}}
    changed = change(world, held, expires=SOON.isoformat(), **changes)
    assert (changed.tags, changed.custom, changed.expires) == (("b", "z"), {"rack": "r1"}, SOON)
    assert (changed.static, changed.harvest, changed.revision) == (True, "allowed", 2)
    assert world.claim(handle="a", tags=("old",)).claim == changed
    recorded = len(world.events)
    assert change(world, held, **changes) == changed
    assert len(world.events) == recorded
    assert change(world, held, expires=None).expires is None
    assert [type(event) for event in world.events[-2:]] == [e.ClaimChanged, e.ClaimChanged]


def test_another_end_is_told_again() -> None:
    world = site("10.0.0.0/24")
    held = world.claim(expires=SOON)
    warned = e.ClaimExpiring(claim=_with(held.claim, warned=True))
    world.state.reduce(warned)
    world.tables.apply([warned])
    assert change(world, held, tags=["x"]).warned
    assert not change(world, held, expires=(SOON + timedelta(days=9)).isoformat()).warned


def _with(thing: Any, **fields: Any) -> Any:
    return type(thing)(**{name: getattr(thing, name) for name in thing.__struct_fields__} | fields)


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"host": "h0-0"}, "/host"),
        ({"expires": START.isoformat()}, "/expires"),
        ({"expires": "2027-01-01T00:00:00"}, "/expires"),
        ({"harvest": "yes"}, "/harvest"),
        ({"static": "no"}, "/static"),
        ({"tags": ["a b"]}, "/tags/0"),
        ({"tags": [f"t{n}" for n in range(65)]}, "/tags"),
        ({"custom": {f"n{n}": n for n in range(65)}}, "/custom"),
        ({"custom": {"n": "x" * 1025}}, "/custom/n"),
        ({"custom": {"n": 2**60}}, "/custom/n"),
        ({"custom": {"n": [1]}}, "/custom"),
    ],
)
def test_what_cannot_be_said(changes: dict[str, Any], pointer: str) -> None:
    world = site("10.0.0.0/24")
    held = world.claim()
    with pytest.raises(InvalidValue) as refused:
        change(world, held, **changes)
    assert refused.value.facts["pointer"] == pointer


def test_whose_claim_cannot_be_changed() -> None:
    world = site("10.0.0.0/24")
    held = world.claim()
    with pytest.raises(StaleRevision):
        change(world, held, if_match=2, static=True)
    with pytest.raises(NotFound):
        world.do(u.ChangeClaim(claim="nobody", changes={}))
    world.release(held)
    with pytest.raises(Conflict):
        change(world, held, static=True)


# Labels and policies of others


@pytest.mark.parametrize(
    "use",
    [
        u.CreateNetwork(name="n", fields={"tags": ["A"]}),
        u.ChangeNetwork(network="prod", changes={"tags": ["A"]}),
        u.CreateSubnet(network="prod", cidr="10.1.0.0/24", fields={"tags": ["A"]}),
        u.ChangeSubnet(subnet="10.0.0.0/24", changes={"tags": ["A"]}),
        u.CreateMachine(name="m", tags=("A",)),
        u.ChangeMachine(machine="there", changes={"tags": ["A"]}),
    ],
)
def test_labels_have_one_rule(use: Any) -> None:
    world = site("10.0.0.0/24")
    world.do(u.CreateMachine(name="there"))
    with pytest.raises(InvalidValue) as refused:
        world.do(use)
    assert refused.value.facts["pointer"] == "/tags/0"


def test_labels_are_in_order() -> None:
    world = site("10.0.0.0/24")
    network = world.do(u.ChangeNetwork(network="prod", changes={"tags": ["b", "a", "b"], "custom": {"x": 1.5}})).network
    assert (network.tags, network.custom) == (("a", "b"), {"x": 1.5})
    subnet = world.do(u.ChangeSubnet(subnet="10.0.0.0/24", changes={"tags": ["b", "a"]})).subnet
    machine = world.do(u.CreateMachine(name="m", tags=("b", "a"))).machine
    assert (subnet.tags, machine.tags) == (("a", "b"), ("a", "b"))


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"allocate_on": "never"}, "/allocate_on"),
        ({"address_mode": "magic"}, "/address_mode"),
        ({"on_override": "drop"}, "/on_override"),
        ({"interfaces": "none"}, "/interfaces"),
        ({"harvest_after": -1}, "/harvest_after"),
        ({"harvest_below": -1}, "/harvest_below"),
        ({"low_threshold": 2**33}, "/low_threshold"),
        ({"enlist_limit": 100_001}, "/enlist_limit"),
        ({"depleted": True}, "/depleted"),
        ({"over_budget": True}, "/over_budget"),
    ],
)
def test_policies_have_bounds(fields: dict[str, Any], pointer: str) -> None:
    world = site("10.0.0.0/24")
    for use in (u.CreateNetwork(name="n", fields=fields), u.ChangeNetwork(network="prod", changes=fields)):
        with pytest.raises(InvalidValue) as refused:
            world.do(use)
        assert refused.value.facts["pointer"] == pointer


def test_a_renumbering_is_no_field_of_a_subnet() -> None:
    world = site("10.0.0.0/24")
    with pytest.raises(InvalidValue, match="renumber the subnet"):
        world.do(u.ChangeSubnet(subnet="10.0.0.0/24", changes={"renumbering": None}))


# Strangers


def see(world: World, ip: str, mac: str | None) -> None:
    """Somebody was seen there, and it is not known to hold it."""
    subnet, now = world.space("10.0.0.0/29").subnet, world.now
    observation = Observation(
        vrf=subnet.vrf,
        subnet=subnet.id,
        ip=ip,
        mac=mac,
        source="arp-scan",
        since=now,
        last=now,
        until=now + timedelta(days=1),
    )
    event = e.AddressObserved(observation=observation)
    world.state.reduce(event)
    world.tables.apply([event])


@pytest.mark.parametrize("field", ["address", "addresses"])
@pytest.mark.parametrize(("seen", "asks"), [(OTHER, MAC), (None, MAC), (MAC, None)])
def test_a_stranger_is_not_given_over(field: str, seen: str | None, asks: str | None) -> None:
    world = site("10.0.0.0/29")
    see(world, "10.0.0.5", seen)
    wanted: Any = "10.0.0.5" if field == "address" else ("10.0.0.4", "10.0.0.5")
    with pytest.raises(Conflict, match="was seen in use by"):
        world.claim(mac=asks, **{field: wanted})
    given = {world.ip() for _ in range(5)}
    assert "10.0.0.5" not in given
    assert len(given) == 5


def test_the_one_that_was_seen_is_no_stranger() -> None:
    world = site("10.0.0.0/29")
    see(world, "10.0.0.5", MAC)
    assert world.ip(mac=MAC, address="10.0.0.5") == "10.0.0.5"


def test_a_stranger_is_forgotten_in_time() -> None:
    world = site("10.0.0.0/29")
    see(world, "10.0.0.5", OTHER)
    world.wait(86400)
    assert world.ip(address="10.0.0.5") == "10.0.0.5"


# What machines are given by themselves


class Home:
    """A machine with one interface, given and taken back as the steps of its life do."""

    def __init__(self, world: World) -> None:
        self.world = world
        made = world.do(u.CreateMachine(name="m1", interfaces=(u.NewInterface(mac=MAC),)))
        self.interface = made.interfaces[0]
        self.handle = f"{MACHINES}:{self.interface.id}"

    def _draft(self, *claims: str) -> Draft:
        world, key = self.world, (MACHINES, self.handle)
        world.state.advance(world.now)
        facts = world.tables.facts(Wanted(machines={"m1"}, claims=set(claims), handles={key}, last={key}), world.now)
        asked = u.Submission(use=u.ReadyMachine(machine="m1"), actor="token:ci")
        return Draft(asked, world.state, facts, Moment(now=world.now, ids=world.ids))

    def _kept(self, draft: Draft, act: Any) -> Any:
        """What `act` answers; what it recorded is written, or taken back where it was refused."""
        try:
            answer = act()
        except TenureError:
            draft.unwind()
            raise
        self.world.tables.apply(draft.events)
        self.world.events.extend(draft.events)
        return answer

    def give(self, **fields: Any) -> Any:
        draft = self._draft(*(fields[name] for name in ("reservation",) if name in fields))
        network = next(iter(self.world.state.networks.values()))
        how = {"handle": self.handle, "kept": "life", "host": None} | fields
        return self._kept(draft, lambda: give(draft, self.interface, network, **how))

    def end(self, holding: Any, reason: str, because: str = "") -> Any:
        draft = self._draft()
        return self._kept(draft, lambda: end(draft, draft.facts.claims[holding.claim.id], reason, because))


def test_a_machine_is_given_an_address_once() -> None:
    home = Home(site("10.0.0.0/24", domain="prod.example."))
    held = home.give()
    assert (held.created, held.claim.project, held.claim.kept, held.addresses[0].name) == (
        True,
        MACHINES,
        "life",
        "m1.prod.example.",
    )
    assert home.give().addresses == held.addresses
    with pytest.raises(NotPermitted):
        home.world.release(held, project="default")


def test_it_is_given_the_same_again_though_that_rests() -> None:
    home = Home(site("10.0.0.0/24", "2001:db8::/64"))
    first = home.give()
    home.end(first, "harvested", "fewer than 10 addresses were available")
    for _ in range(3):
        home.world.ip(family="v4")
    assert [a.ip for a in home.give().addresses] == [a.ip for a in first.addresses]
    released = [event for event in home.world.events if isinstance(event, e.AddressReleased)]
    assert {(event.reason, event.because) for event in released} == {
        ("harvested", "fewer than 10 addresses were available")
    }


def test_it_is_given_another_where_somebody_has_it_or_was_seen_there() -> None:
    home = Home(site("10.0.0.0/29"))
    first = home.give()
    home.end(first, "harvested")
    taken = home.world.claim(address=first.addresses[0].ip, during_cooldown=True)
    second = home.give()
    assert second.addresses[0].ip != taken.addresses[0].ip
    home.end(second, "harvested")
    see(home.world, second.addresses[0].ip, OTHER)
    assert home.give().addresses[0].ip not in {first.addresses[0].ip, second.addresses[0].ip}


def test_a_deployment_overrides_and_gives_back() -> None:
    home = Home(site("10.0.0.0/24"))
    own = home.give()
    spare = home.world.claim(handle="spare")
    deploy = f"{home.handle}:deploy"
    held = home.give(handle=deploy, kept="deployment", reservation=spare.claim.id, on_override="keep")
    assert held.displaced == (Displaced(own.addresses[0].ip, "kept", own.claim.id),)
    assert [a.ip for a in held.addresses] == [a.ip for a in spare.addresses]
    ended = home.end(held, "released")
    assert {each.became for each in ended.displaced} == {"returned", "restored"}


def test_one_that_is_decided_later_waits() -> None:
    home = Home(site("10.0.0.0/24"))
    waits = home.give(defer=True)
    assert (waits.claim.state, waits.addresses) == ("pending", ())
    bound = home.world.do(u.BindClaim(claim=waits.claim.id, host="h0-0"))
    assert len(bound.addresses) == 1


# Repeating


def test_a_repeated_claim_says_what_differs_in_the_callers_words() -> None:
    world = site("10.0.0.0/24")
    world.claim(handle="a", expires=SOON)
    assert not world.claim(handle="a", expires=SOON).created
    with pytest.raises(Conflict) as refused:
        world.claim(handle="a", tags=("x",))
    assert refused.value.facts["differs"] == {"expires": ["2026-11-01T13:00:00Z", None], "tags": [[], ["x"]]}
    world.wait(7200)  # nobody has released it yet
    assert not world.claim(handle="a", expires=SOON).created
