"""Moving claims: titles, boundaries by level, hand-overs, evacuated hosts, and places that drain."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.engine.fingerprint import fingerprint
from tenure.engine.moves import MOST_EVACUATED, settle_due
from tenure.engine.plan import Draft, Moment
from tenure.engine.state import State
from tenure.engine.wants import wanted
from tenure.errors import Conflict, Exhausted, InUse, InvalidValue, TenureError
from tenure.model import events as e
from tenure.model import uses as u
from tenure.model.leases import Client, Place
from tenure.net.addresses import number_of
from tests.engine import naive
from tests.engine.world import World, site

LINK = Place(link=0x0A000001)


def move(world: World, holding: Any, host: str, **how: Any) -> Any:
    return world.do(u.RebindClaim(claim=holding.claim.id, host=host, **how))


def named(world: World, location: str | None) -> str | None:
    return None if location is None else world.state.locations[location].name


def loose(world: World, cidr: str = "10.0.0.0/24") -> dict[str, str | None]:
    numbers = world.space(cidr).loose
    return {f"10.0.0.{number & 255}": named(world, host) for number, host in numbers.items()}


def settled(world: World, limit: int = 256) -> int:
    """What upkeep does with hand-overs that are over, recorded."""
    facts = world.tables.facts(wanted(u.Tend(limit=limit), world.state), world.now)
    asked = u.Submission(use=u.Tend(limit=limit), actor="upkeep")
    draft = Draft(asked, world.state, facts, Moment(now=world.now, ids=world.ids))
    count = settle_due(draft, limit)
    world.tables.apply(draft.events)
    world.events.extend(draft.events)
    return count


# Keeping


def test_a_moved_address_is_borrowed_and_at_home_again_it_is_own() -> None:
    world = site("10.0.0.0/24")
    held = world.claim(host="h0-0")
    ip = held.addresses[0].ip
    assert loose(world) == {}
    away = move(world, held, "h1-0")
    assert [(a.ip, a.title) for a in away.addresses] == [(ip, "borrowed")]
    assert loose(world) == {ip: "h1-0"}
    home = move(world, held, "h0-0")
    assert [(a.ip, a.title) for a in home.addresses] == [(ip, "own")]
    assert loose(world) == {}
    naive.check(world)


def test_a_borrowed_address_that_comes_to_its_blocks_owner_is_own() -> None:
    world = site("10.0.0.0/29", block_length_v4=29, fields={"use_all_addresses": True})
    owner = world.claim(host="h0-0")
    lent = world.claim(host="h0-1", address="10.0.0.7")
    assert lent.addresses[0].title == "borrowed"
    assert loose(world, "10.0.0.0/29") == {lent.addresses[0].ip: "h0-1"}
    assert move(world, lent, "h0-0").addresses[0].title == "own"
    assert loose(world, "10.0.0.0/29") == {}
    assert owner.claim.host == world.state.find("location", "h0-0")


def test_a_pinned_address_in_no_block_is_loose_and_released_it_is_forgotten() -> None:
    world = site("10.0.0.0/24")
    pinned = world.claim(host="h0-0", address="10.0.0.200")
    assert loose(world) == {"10.0.0.200": "h0-0"}
    assert move(world, pinned, "h1-1").addresses[0].title is None
    assert loose(world) == {"10.0.0.200": "h1-1"}
    world.release(pinned)
    assert loose(world) == {}


def test_an_address_of_no_block_at_all_keeps_its_title() -> None:
    world = site("10.0.0.0/24", strategy="first_free", boundary="hard")
    held = world.claim(host="h0-0")
    assert move(world, held, "h1-0").addresses[0].title == held.addresses[0].title


def test_a_lease_is_never_loose() -> None:
    world = site("10.0.0.0/24")
    world.do(u.CreateRange(subnet="10.0.0.0/24", start="10.0.0.40", end="10.0.0.60", role="dynamic"))
    world.do(u.LeaseCommit(client=Client("52:54:00:00:00:01"), place=LINK, address=0x0A00002A, form="selecting"))
    assert len(world.tables.open("allocations")) == 1
    assert loose(world) == {}


@pytest.mark.parametrize(
    ("boundary", "allowed"),
    [
        ("soft", ["h0-1", "h1-0", "h2-0"]),
        ("hard", []),
        ({"host": "hard"}, []),
        ({"rack": "hard"}, ["h0-1"]),
        ({"site": "hard"}, ["h0-1", "h1-0"]),
        ({"region": "hard"}, ["h0-1", "h1-0", "h2-0"]),
    ],
)
def test_a_boundary_keeps_an_address_at_its_level(boundary: Any, allowed: list[str]) -> None:
    """Rack, site and region of h0-0 differ from those of h0-1, h1-0 and h2-0 one by one; all are in region `e`."""
    world = site("10.0.0.0/24", boundary=boundary)
    world.do(u.CreateLocation(name="e", kind="region"))
    world.do(u.CreateLocation(name="s2", kind="site", parent="e"))
    world.do(u.CreateLocation(name="r2", kind="rack", parent="s2"))
    world.do(u.CreateLocation(name="h2-0", kind="host", parent="r2"))
    world.do(u.ChangeLocation(location="s1", changes={"parent": "e"}))
    held = world.claim(host="h0-0")
    for host in ("h0-1", "h1-0", "h2-0"):
        if host in allowed:
            assert move(world, held, host).addresses == move(world, held, host).addresses
            move(world, held, "h0-0")
        else:
            with pytest.raises(Conflict, match="hard boundary") as refused:
                move(world, held, host)
            assert refused.value.facts["address"] == held.addresses[0].ip
            with pytest.raises(Conflict, match="hard"):
                world.claim(host=host, address=free_in_block_of(world, held))


def free_in_block_of(world: World, holding: Any) -> str:
    """An address of the same block that nobody has."""
    space = world.space("10.0.0.0/24")
    block = space.block_at(number_of(holding.addresses[0].ip))
    found = space.next_free(block.first, block.first + block.size - 1)
    return f"10.0.0.{found & 255}"


def test_hosts_without_racks_are_one_area() -> None:
    world = site("10.0.0.0/24", boundary={"rack": "hard"})
    for name in ("a", "b"):
        world.do(u.CreateLocation(name=name, kind="host", parent="s1"))
    held = world.claim(host="a")
    assert move(world, held, "b").addresses[0].ip == held.addresses[0].ip
    with pytest.raises(Conflict, match="cannot leave its rack"):
        move(world, held, "h0-0")


def test_an_address_whose_blocks_owner_has_gone_may_go_anywhere() -> None:
    world = site("10.0.0.0/24", boundary={"rack": "hard"})
    held = world.claim(host="h0-0")
    move(world, held, "h0-1")
    world.do(u.DeleteLocation(location="h0-0"))
    assert move(world, held, "h1-0").addresses[0].title == "borrowed"
    naive.check(world)


def test_an_address_does_not_go_where_its_subnet_is_not() -> None:
    world = site("10.0.0.0/24", fields={"locations": ["r0"]})
    held = world.claim(host="h0-0")
    before = fingerprint(world.state)
    with pytest.raises(Conflict, match="does not reach"):
        move(world, held, "h1-0")
    assert fingerprint(world.state) == before


# Hand-overs


def test_for_a_while_both_hosts_announce_it_and_the_new_one_is_the_claims() -> None:  # calico 8663, kubevirt 14320
    world = site("10.0.0.0/24")
    held = world.claim(host="h0-0")
    claim = move(world, held, "h1-0", handover=60).claim
    assert (named(world, claim.host), named(world, claim.leaving)) == ("h1-0", "h0-0")
    assert (claim.settles - world.now).total_seconds() == 60
    again = move(world, held, "h0-0").claim
    assert (named(world, again.host), named(world, again.leaving)) == ("h0-0", "h1-0")
    assert move(world, held, "h1-1", handover=0).claim.leaving is None


def test_a_hand_over_settles_when_it_is_told_to_or_its_time_is_over() -> None:
    world = site("10.0.0.0/24")
    held = [world.claim(host="h0-0") for _ in range(4)]
    for each in held:
        move(world, each, "h1-0", handover=30)
    assert world.do(u.SettleClaim(claim=held[0].claim.id)).claim.leaving is None
    length = len(world.events)
    assert world.do(u.SettleClaim(claim=held[0].claim.id)).claim.settles is None
    assert len(world.events) == length
    move(world, held[1], "h1-1", handover=300)
    world.wait(29)
    assert settled(world) == 0
    world.wait(1)
    assert (settled(world, 1), settled(world), settled(world)) == (1, 1, 0)
    assert [type(event) for event in world.events[-2:]] == [e.ClaimSettled, e.ClaimSettled]
    leaving = {claim.id for claim in world.tables.open("claims") if claim.leaving is not None}
    assert leaving == {held[1].claim.id}


@pytest.mark.parametrize("how", ["release", "renumber"])
def test_the_end_of_its_addresses_is_the_end_of_a_hand_over(how: str) -> None:
    world = site("10.0.0.0/24")
    held = world.claim(host="h0-0")
    move(world, held, "h1-0")
    after = world.release(held) if how == "release" else move(world, held, "h1-1", renumber=True)
    assert (after.claim.leaving, after.claim.settles) == (None, None)
    world.wait(60)
    assert settled(world) == 0


def test_a_hand_over_ended_by_another_use_of_the_batch_is_not_ended_again() -> None:
    world = site("10.0.0.0/24")
    held = world.claim(host="h0-0")
    move(world, held, "h1-0")
    world.wait(60)
    facts = world.tables.facts(wanted(u.Tend(), world.state), world.now)
    draft = Draft(u.Submission(use=u.Tend(), actor="upkeep"), world.state, facts, Moment(world.now, world.ids))
    assert (settle_due(draft, 9), settle_due(draft, 9)) == (1, 0)
    draft.unwind()
    assert settle_due(draft, 9) == 1
    draft.unwind()


@pytest.mark.parametrize("handover", [-1, 86_401])
def test_a_hand_over_has_bounds(handover: int) -> None:
    world = site("10.0.0.0/24")
    held = world.claim(host="h0-0")
    for use in (
        u.RebindClaim(claim=held.claim.id, host="h1-0", handover=handover),
        u.EvacuateHost(host="h0-0", to="h1-0", handover=handover),
    ):
        with pytest.raises(InvalidValue) as refused:
            world.do(use)
        assert refused.value.facts["pointer"] == "/handover"


# Renumbering


@pytest.mark.parametrize("cooldown", [0, 300])
def test_renumbered_it_has_other_addresses_near_the_new_host(cooldown: int) -> None:
    world = site("10.0.0.0/24", cooldown=cooldown)
    held = world.claim(host="h0-0", count=3)
    after = move(world, held, "h1-0", renumber=True)
    assert not {a.ip for a in after.addresses} & {a.ip for a in held.addresses}
    assert {a.title for a in after.addresses} <= {"own", "new"}
    assert loose(world) == {}
    naive.check(world)


def test_where_there_is_nothing_else_nothing_is_renumbered() -> None:
    world = site("10.0.0.0/30", cooldown=0)
    held = world.claim(host="h0-0", count=2)
    with pytest.raises(Exhausted):
        move(world, held, "h1-0", renumber=True)
    assert world.do(u.RebindClaim(claim=held.claim.id, host="h0-0")).addresses == held.addresses


# Evacuating


def test_a_host_is_evacuated_in_one_go_and_what_waits_stays() -> None:
    world = site("10.0.0.0/24")
    held = [world.claim(host="h0-0", count=2) for _ in range(5)]
    waiting = world.claim(host="h0-0", defer=True)
    other = world.claim(host="h0-1")
    answers = world.do(u.EvacuateHost(host="h0-0", to="h1-0", handover=7)).items
    assert [a.claim.id for a in answers] == [h.claim.id for h in held]
    assert [[x.ip for x in a.addresses] for a in answers] == [[x.ip for x in h.addresses] for h in held]
    assert {named(world, a.claim.leaving) for a in answers} == {"h0-0"}
    places = {claim.id: named(world, claim.host) for claim in world.tables.open("claims")}
    assert (places[waiting.claim.id], places[other.claim.id]) == ("h0-0", "h0-1")
    assert world.do(u.EvacuateHost(host="h0-0", to="h1-0")).items == ()
    naive.check(world)


def test_one_claim_that_cannot_move_keeps_all_and_is_named() -> None:
    world = site("10.0.0.0/24")
    world.do(u.CreateSubnet(network="prod", cidr="10.0.1.0/24", fields={"locations": ["r0"]}))
    for handle in ("a", "b"):
        world.claim(handle=handle, host="h0-0", subnet="10.0.0.0/24")
    tied = world.claim(handle="tied", host="h0-0", subnet="10.0.1.0/24")
    before = fingerprint(world.state)
    with pytest.raises(Conflict, match="claim 'tied': ") as refused:
        world.do(u.EvacuateHost(host="h0-0", to="h1-0"))
    assert refused.value.facts["claim"] == tied.claim.id
    assert fingerprint(world.state) == before
    assert len(world.do(u.EvacuateHost(host="h0-0", to="h0-1")).items) == 3


def test_an_evacuated_host_may_be_renumbered() -> None:
    world = site("10.0.0.0/24", boundary="hard", domain="prod.example.")
    held = [world.claim(host="h0-0", hostname=f"n{n}") for n in range(3)]
    with pytest.raises(Conflict, match="hard"):
        world.do(u.EvacuateHost(host="h0-0", to="h1-0"))
    answers = world.do(u.EvacuateHost(host="h0-0", to="h1-0", renumber=True)).items
    assert [a.addresses[0].name for a in answers] == [h.addresses[0].name for h in held]
    naive.check(world)


def test_what_cannot_be_evacuated_is_said() -> None:
    world = site("10.0.0.0/24")
    with pytest.raises(InvalidValue) as itself:
        world.do(u.EvacuateHost(host="h0-0", to="h0-0"))
    assert itself.value.facts["pointer"] == "/to"
    h0 = world.state.find("location", "h0-0")
    assert h0 is not None
    world.state.claims_at[h0] += MOST_EVACUATED + 1
    assert wanted(u.EvacuateHost(host="h0-0", to="h1-0"), world.state).hosts == set()
    with pytest.raises(Conflict, match="10,000 can be moved at once; rebind some"):
        world.do(u.EvacuateHost(host="h0-0", to="h1-0"))


def test_a_host_that_got_its_name_in_the_same_batch_is_asked_for_again() -> None:
    world = site("10.0.0.0/24")
    world.claim(host="h0-0")
    rename = u.ChangeLocation(location="h0-0", changes={"name": "new"})
    with pytest.raises(Conflict, match="ask again"):
        world.do(u.Together(uses=(rename, u.EvacuateHost(host="new", to="h1-0"))))
    assert len(world.do(u.EvacuateHost(host="h0-0", to="h1-0")).items) == 1


# Draining


def drain(world: World, location: str, draining: bool = True) -> None:
    world.do(u.ChangeLocation(location=location, changes={"draining": draining}))


@pytest.mark.parametrize("place", ["h0-0", "r0", "s1"])
def test_nothing_new_is_placed_where_it_drains_and_what_is_there_stays(place: str) -> None:
    world = site("10.0.0.0/24", racks=3)
    world.do(u.CreateLocation(name="x", kind="host"))
    held = world.claim(handle="held", host="h0-0")
    waiting = world.claim(handle="waiting", defer=True)
    elsewhere = world.claim(handle="else", host="x")
    drain(world, place)
    asked: list[Callable[[], Any]] = [
        lambda: world.claim(host="h0-0"),
        lambda: world.claim(host="h0-0", defer=True),
        lambda: world.do(u.BindClaim(claim=waiting.claim.id, host="h0-0")),
        lambda: move(world, elsewhere, "h0-0"),
        lambda: move(world, elsewhere, "h0-0", renumber=True),
        lambda: world.do(u.EvacuateHost(host="x", to="h0-0")),
    ]
    for use in asked:
        with pytest.raises(Conflict, match="is draining") as refused:
            use()
        assert refused.value.facts["location"] == place
    assert world.claim(handle="held", host="h0-0").addresses == held.addresses
    assert move(world, held, "h0-0").addresses == held.addresses
    assert move(world, held, "x").addresses[0].ip == held.addresses[0].ip
    drain(world, place, draining=False)
    assert move(world, held, "h0-0").addresses[0].title == "own"


def test_draining_what_drains_already_changes_nothing() -> None:
    world = site("10.0.0.0/24")
    for use in (
        u.ChangeLocation(location="r0", changes={"draining": True}),
        u.ChangeSubnet(subnet="10.0.0.0/24", changes={"draining": True}),
    ):
        first, length = world.do(use), len(world.events)
        assert world.do(use) == first
        assert len(world.events) == length


def test_a_draining_subnet_gives_nothing_and_takes_no_name() -> None:
    world = site("10.0.0.0/24", "10.0.1.0/24")
    held = world.claim(handle="held", host="h0-0", subnet="10.0.0.0/24")
    whole = world.do(u.ReadCapacity(network="prod")).v4
    world.do(u.ChangeSubnet(subnet="10.0.0.0/24", changes={"draining": True}))
    assert world.ip(host="h0-0").startswith("10.0.1.")
    for fields in ({"subnet": "10.0.0.0/24"}, {"address": "10.0.0.77"}):
        with pytest.raises(Conflict, match="subnet 10.0.0.0/24 is draining"):
            world.claim(host="h0-0", **fields)
    assert world.claim(handle="held", host="h0-0", subnet="10.0.0.0/24").addresses == held.addresses
    assert move(world, held, "h0-1").addresses[0].ip == held.addresses[0].ip
    count = world.do(u.ReadCapacity(network="prod")).v4
    assert count.capacity == whole.capacity == count.in_use + count.reserved + count.cooling + count.available
    assert count.available == world.space("10.0.1.0/24").available
    naive.check(world)
    world.release(held)
    world.do(u.ChangeSubnet(subnet="10.0.0.0/24", changes={"draining": False}))
    assert world.ip(host="h0-0", subnet="10.0.0.0/24").startswith("10.0.0.")
    naive.check(world)


def test_a_network_whose_subnets_all_drain_is_exhausted_for_those_that_wait_too() -> None:
    world = site("10.0.0.0/24")
    world.do(u.ChangeSubnet(subnet="10.0.0.0/24", changes={"draining": True}))
    for fields in ({"host": "h0-0"}, {"defer": True}):
        with pytest.raises(Exhausted):
            world.claim(**fields)


def test_renumbering_in_place_leaves_a_draining_subnet() -> None:
    world = site("10.0.0.0/24", "10.0.1.0/24")
    held = world.claim(host="h0-0")
    assert held.addresses[0].ip.startswith("10.0.0.")
    world.do(u.ChangeSubnet(subnet="10.0.0.0/24", changes={"draining": True}))
    assert move(world, held, "h0-0", renumber=True).addresses[0].ip.startswith("10.0.1.")


def test_dhcp_renews_in_a_draining_subnet_and_grants_nothing_new() -> None:
    world = site("10.0.0.0/24")
    world.do(u.CreateRange(subnet="10.0.0.0/24", start="10.0.0.40", end="10.0.0.60", role="dynamic"))
    old, new = Client("52:54:00:00:00:01"), Client("52:54:00:00:00:02")
    world.do(u.LeaseCommit(client=old, place=LINK, address=0x0A00002A, form="selecting"))
    waiting = world.claim(mac="52:54:00:00:00:03", defer=True)
    world.do(u.ChangeSubnet(subnet="10.0.0.0/24", changes={"draining": True}))
    renewed = world.do(u.LeaseCommit(client=old, place=LINK, address=0x0A00002A, form="renewing"))
    assert renewed.lease.address == 0x0A00002A
    assert world.do(u.LeaseOffer(client=old, place=LINK)).lease.address == 0x0A00002A
    assert world.do(u.LeaseOffer(client=new, place=LINK)).lease is None
    refused = world.do(u.LeaseCommit(client=new, place=LINK, address=0x0A00002B, form="selecting"))
    assert refused.lease is None
    assert world.do(u.LeaseOffer(client=Client("52:54:00:00:00:03"), place=LINK)).lease is None
    assert world.state.waiting
    assert waiting.claim.state == "pending"


def test_dhcp_binds_no_claim_at_a_place_that_drains() -> None:
    world = site("10.0.0.0/24")
    world.do(u.ChangeLocation(location="h0-0", changes={"relay": {"circuit_id": "aa"}}))
    waiting = world.claim(mac="52:54:00:00:00:03", defer=True)
    seen = u.LeaseOffer(client=Client("52:54:00:00:00:03"), place=Place(link=0x0A000001, circuit_id="aa"))
    drain(world, "r0")
    assert world.do(seen).lease is None
    drain(world, "r0", draining=False)
    assert world.do(seen).lease is not None
    assert named(world, world.tables.rows["claims"][waiting.claim.id,].host) == "h0-0"


# A subnet's places


def bind(*places: str) -> u.ChangeSubnet:
    return u.ChangeSubnet(subnet="10.0.0.0/24", changes={"locations": list(places)})


def test_a_subnet_does_not_leave_its_holders() -> None:
    world = site("10.0.0.0/24", racks=3)
    held = [world.claim(host=host) for host in ("h0-0", "h0-0", "h1-1")]
    world.claim()
    with pytest.raises(InUse) as refused:
        world.do(bind("r1", "r2"))
    assert refused.value.facts["count"] == 2
    assert refused.value.facts["holders"] == [f"{held[0].addresses[0].ip} at h0-0"]
    world.do(bind("r0", "h1-1"))
    world.do(bind("r0", "r1"))
    with pytest.raises(InUse):
        world.do(bind("r0"))
    move(world, held[2], "h0-1")
    world.do(bind("r0"))
    world.do(bind())


def test_a_subnet_does_not_leave_who_came_to_it_in_the_same_batch() -> None:
    world = site("10.0.0.0/24")
    held = world.claim(host="h0-0")
    with pytest.raises(InUse, match="at h1-0"):
        world.do(u.Together(uses=(u.RebindClaim(claim=held.claim.id, host="h1-0"), bind("r0"))))
    world.do(bind("r0"))


# What is remembered


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5), st.integers(0, 99)), max_size=25), st.booleans())
def test_whatever_moves_what_is_loose_is_what_the_rows_say(steps: list[tuple[int, int, int]], small: bool) -> None:
    """The naive model looks at `loose` after each step; a replay and a load remember the same."""
    world = site("10.0.0.0/27" if small else "10.0.0.0/25", block_length_v4=30, cooldown=0)
    hosts = [f"h{rack}-{host}" for rack in range(2) for host in range(3)]
    held: list[Any] = []
    for kind, host, pick in steps:
        try:
            if kind < 4 or not held:
                held.append(world.claim(host=hosts[host], count=1 + pick % 3))
            elif kind < 7:
                move(world, held[pick % len(held)], hosts[host], renumber=kind == 6, handover=pick % 2 * 30)
            elif kind == 7:
                world.do(u.EvacuateHost(host=hosts[host], to=hosts[pick % 6]))
            elif kind == 8:
                world.release(held.pop(pick % len(held)))
            else:
                drain(world, hosts[host], draining=bool(pick % 2))
        except TenureError:
            pass
        naive.check(world)
    replayed = State()
    for event in world.events:
        replayed.reduce(event)
    said = fingerprint(world.state)
    assert fingerprint(replayed) == said == fingerprint(State.load(world.tables, world.now))
