"""What is seen on the network: strangers are avoided, holders are no strangers, conflicts name both."""

from datetime import timedelta
from typing import Any

import pytest

from tenure.engine.fingerprint import fingerprint
from tenure.engine.observe import OBSERVED_FOR, TOLD_AGAIN
from tenure.engine.state import State
from tenure.errors import Conflict, Exhausted, InvalidValue, NotFound
from tenure.model import events as e
from tenure.model import uses as u
from tenure.model.answers import Observed, Sight
from tenure.model.leases import Client, Place
from tenure.model.uses import Sighting
from tenure.net.addresses import number_of, text_of
from tests.engine import naive
from tests.engine.world import World, site

POOL = "10.0.0.0/28"
MINE, OTHER, ELSE = "52:54:00:00:00:01", "52:54:00:00:00:02", "52:54:00:00:00:03"
DAY = OBSERVED_FOR.total_seconds()
QUARTER = TOLD_AGAIN.total_seconds()


def pool(cidr: str = POOL, **network: Any) -> World:
    return site(cidr, cooldown=0, strategy="first_free", **network)


def see(world: World, *sightings: tuple[str, str | None]) -> list[Sight]:
    """What came of each; what is remembered is as the tables say, and comes back from them."""
    seen = tuple(Sighting(ip=ip, mac=mac, source="arp-scan") for ip, mac in sightings)
    answer = world.do(u.ObserveAddresses(sightings=seen))
    assert isinstance(answer, Observed)
    settled(world)
    return list(answer.sights)


def settled(world: World) -> None:
    naive.check(world)
    said = fingerprint(world.state)
    replayed = State()
    for event in world.events:
        replayed.reduce(event)
    replayed.advance(world.now)
    assert fingerprint(replayed) == said
    assert fingerprint(State.load(world.tables, world.now)) == said


def outcomes(world: World, *sightings: tuple[str, str | None]) -> list[str]:
    return [sight.outcome for sight in see(world, *sightings)]


def counts(world: World) -> tuple[int, int, int, int, int]:
    c = world.do(u.ReadCapacity(network="prod")).v4
    assert c.capacity == c.in_use + c.reserved + c.cooling + c.available
    return c.capacity, c.in_use, c.reserved, c.cooling, c.available


# Strangers


def test_a_stranger_is_reserved_for_a_day_and_given_to_nobody() -> None:
    world = pool()
    assert counts(world) == (14, 0, 0, 0, 14)
    assert outcomes(world, ("10.0.0.1", MINE), ("10.0.0.2", None)) == ["stranger", "stranger"]
    assert counts(world) == (14, 0, 2, 0, 12)
    assert [world.ip() for _ in range(12)] == [f"10.0.0.{n}" for n in range(3, 15)]
    with pytest.raises(Exhausted):
        world.ip()
    events = len(world.events)
    world.wait(DAY)
    settled(world)
    assert counts(world) == (14, 12, 0, 0, 2)
    assert {world.ip(), world.ip()} == {"10.0.0.1", "10.0.0.2"}
    assert [x.kind for x in world.events[events:]] == ["tenure.address.allocated"] * 2  # it ages without an event


def test_what_was_seen_again_counts_for_longer_and_is_not_told_each_time() -> None:
    world = pool()
    see(world, ("10.0.0.1", MINE))
    events = len(world.events)
    world.wait(QUARTER - 1)
    assert outcomes(world, ("10.0.0.1", MINE), ("10.0.0.1", None)) == ["known", "known"]
    assert len(world.events) == events
    world.wait(1)
    assert outcomes(world, ("10.0.0.1", MINE)) == ["stranger"]
    (seen,) = world.tables.all("observations")
    assert (seen.since, seen.last, seen.until) == (
        world.now - timedelta(seconds=QUARTER),
        world.now,
        world.now + OBSERVED_FOR,
    )
    world.wait(DAY - 1)
    assert counts(world)[2] == 1
    world.wait(1)
    assert counts(world)[2] == 0


def test_another_mac_on_the_same_address_is_told_at_once() -> None:
    world = pool()
    see(world, ("10.0.0.1", MINE))
    world.wait(1)
    assert outcomes(world, ("10.0.0.1", OTHER)) == ["stranger"]
    (seen,) = world.tables.all("observations")
    assert (seen.mac, seen.since) == (OTHER, world.now)


def test_a_stranger_may_be_given_what_it_uses_if_that_is_asked_for_by_name() -> None:
    world = pool()
    see(world, ("10.0.0.5", MINE), ("10.0.0.6", None))
    for mac in (None, OTHER):
        with pytest.raises(Conflict) as refused:
            world.claim(address="10.0.0.5", mac=mac)
        assert refused.value.facts["mac"] == MINE
    with pytest.raises(Conflict):
        world.claim(address="10.0.0.6", mac=MINE)
    holding = world.claim(address="10.0.0.5", mac=MINE)
    assert counts(world) == (14, 1, 1, 0, 12)
    assert see(world, ("10.0.0.5", MINE)) == [Sight("10.0.0.5", "holder", holding.claim.id)]


def test_a_stranger_in_a_dynamic_range_is_leased_to_nobody() -> None:
    world = pool(cidr="10.0.0.0/28")
    world.do(u.CreateRange(subnet=POOL, start="10.0.0.8", end="10.0.0.9", role="dynamic"))
    before = counts(world)
    assert outcomes(world, ("10.0.0.8", MINE)) == ["stranger"]
    assert counts(world) == before, "what is kept already is not kept twice"
    leased = offered(world, OTHER)
    assert leased == "10.0.0.9"
    commit(world, OTHER, leased)
    assert offered(world, ELSE) is None
    world.wait(DAY)
    assert offered(world, ELSE) == "10.0.0.8"


def offered(world: World, mac: str) -> str | None:
    answer = world.do(u.LeaseOffer(client=Client(mac=mac), place=Place(link=number_of("10.0.0.1"))))
    return None if answer.lease is None else text_of(4, answer.lease.address)


def commit(world: World, mac: str, ip: str) -> None:
    place = Place(link=number_of("10.0.0.1"))
    world.do(u.LeaseCommit(client=Client(mac=mac), place=place, address=number_of(ip), form="selecting"))


def test_gateways_and_reserved_ranges_stay_what_they_are() -> None:
    world = site(POOL, fields={"gateway": "10.0.0.1", "dns_servers": ["10.0.0.2"]})
    world.do(u.CreateRange(subnet=POOL, start="10.0.0.8", end="10.0.0.11", role="reserved"))
    before = counts(world)
    assert outcomes(world, ("10.0.0.1", MINE), ("10.0.0.2", None), ("10.0.0.15", None)) == ["known"] * 3
    assert outcomes(world, ("10.0.0.9", MINE)) == ["stranger"]
    assert counts(world) == before
    assert [r.role for r in world.tables.ranges] == ["reserved"]
    world.wait(DAY)
    settled(world)
    assert counts(world) == before


def test_what_lies_in_no_subnet_is_elsewhere() -> None:
    world = pool()
    events = len(world.events)
    assert outcomes(world, ("192.0.2.1", MINE), ("2001:db8::1", None)) == ["elsewhere"] * 2
    assert len(world.events) == events


@pytest.mark.parametrize(
    ("sighting", "pointer"),
    [
        (Sighting(ip="10.0.0"), "/sightings/1/ip"),
        (Sighting(ip="10.0.0.1", mac="52:54"), "/sightings/1/mac"),
        (Sighting(ip="10.0.0.1", source=""), "/sightings/1/source"),
    ],
)
def test_a_malformed_sighting_refuses_all(sighting: Sighting, pointer: str) -> None:
    world = pool()
    with pytest.raises(InvalidValue) as refused:
        world.do(u.ObserveAddresses(sightings=(Sighting(ip="10.0.0.2"), sighting)))
    assert refused.value.facts["pointer"] == pointer
    with pytest.raises(NotFound):
        world.do(u.ObserveAddresses(sightings=(), vrf="none"))


# Holders


def test_the_holder_is_no_stranger_and_is_seen() -> None:
    world = pool()
    holding = world.claim(machine="web", mac=MINE)
    events = len(world.events)
    assert see(world, (holding.addresses[0].ip, MINE)) == [Sight(holding.addresses[0].ip, "holder", holding.claim.id)]
    assert [x.kind for x in world.events[events:]] == ["tenure.machine.seen"]
    (machine,) = world.tables.all("machines")
    assert machine.seen == world.now
    assert counts(world) == (14, 1, 0, 0, 13)


def test_any_interface_of_the_holders_machine_may_answer_for_it() -> None:
    world = pool()
    world.do(u.CreateMachine(name="web", interfaces=(u.NewInterface(mac=MINE), u.NewInterface(mac=OTHER, name="eth1"))))
    ip = world.ip(machine="web", mac=MINE)
    assert outcomes(world, (ip, OTHER), (ip, ELSE)) == ["holder", "conflict"]


def test_an_address_alone_is_its_holders_and_makes_the_machine_seen() -> None:
    world = pool()
    ip = world.ip(machine="web", mac=MINE)
    kept = world.ip(purpose="for later")
    assert outcomes(world, (ip, None), (kept, OTHER)) == ["holder", "holder"], "whoever a reservation is kept for"
    (machine,) = world.tables.all("machines")
    assert machine.seen == world.now


def test_a_machine_that_uses_anothers_address_is_in_conflict_and_seen() -> None:
    world = pool()
    ip = world.ip(machine="web", mac=MINE)
    world.ip(machine="db", mac=OTHER)
    assert outcomes(world, (ip, OTHER)) == ["conflict"]
    seen = {machine.name: machine.seen for machine in world.tables.all("machines")}
    assert seen == {"web": None, "db": world.now}


def test_a_conflict_names_both_and_the_holder_keeps_its_address() -> None:
    world = pool()
    holding = world.claim(machine="web", mac=MINE)
    ip = holding.addresses[0].ip
    assert see(world, (ip, OTHER)) == [Sight(ip, "conflict", holding.claim.id)]
    event = world.events[-1]
    assert isinstance(event, e.AddressDisputed)
    assert event.claim.id == holding.claim.id and event.observed is not None
    assert (event.observed.mac, event.observed.claim) == (OTHER, holding.claim.id)
    assert counts(world) == (14, 1, 0, 0, 13)
    assert outcomes(world, (ip, OTHER)) == ["known"]


def test_a_leases_client_is_its_holder() -> None:
    world = pool()
    world.do(u.ChangeNetwork(network="prod", changes={"enlist": False}))
    world.do(u.CreateRange(subnet=POOL, start="10.0.0.8", end="10.0.0.9", role="dynamic"))
    ip = offered(world, MINE)
    assert ip is not None
    commit(world, MINE, ip)
    assert outcomes(world, (ip, MINE), (ip, OTHER)) == ["holder", "conflict"]


def test_a_virtual_router_answers_for_a_shared_address() -> None:
    world = pool()
    ip = world.ip(machine="r1", mac=MINE, shared=True)
    assert outcomes(world, (ip, "00:00:5e:00:01:07"), (ip, OTHER)) == ["holder", "conflict"]


# Strangers and holders, one after the other


def test_a_released_address_on_which_a_stranger_is_seen_is_given_to_nobody() -> None:
    world = pool()
    holding = world.claim(machine="web", mac=MINE)
    ip = holding.addresses[0].ip
    see(world, (ip, OTHER))
    world.release(holding)
    settled(world)
    assert counts(world) == (14, 0, 1, 0, 13)
    assert world.ip() != ip
    assert outcomes(world, (ip, OTHER)) == ["stranger"], "nobody holds it now"
    world.wait(DAY)
    settled(world)
    assert counts(world)[2] == 0


def test_an_address_may_rest_and_be_a_strangers_and_counts_once() -> None:
    world = site(POOL, cooldown=300, strategy="first_free")
    holding = world.claim(machine="web", mac=MINE)
    ip = holding.addresses[0].ip
    world.release(holding)
    assert outcomes(world, (ip, MINE)) == ["stranger"], "who holds it no longer is one"
    assert counts(world) == (14, 0, 0, 1, 13)
    world.wait(300)
    settled(world)
    assert counts(world) == (14, 0, 1, 0, 13)
    world.wait(DAY)
    settled(world)
    assert counts(world) == (14, 0, 0, 0, 14)


def test_a_rest_that_lasts_longer_than_what_was_seen_goes_on() -> None:
    world = site(POOL, cooldown=3 * int(DAY), strategy="first_free")
    holding = world.claim()
    world.release(holding)
    see(world, (holding.addresses[0].ip, MINE))
    world.wait(DAY)
    settled(world)
    assert counts(world) == (14, 0, 0, 1, 13)


def test_a_declined_address_is_disputed_once_in_a_while_and_avoided_when_it_is_released() -> None:
    world = pool()
    holding = world.claim(machine="web", mac=MINE)
    number, place = number_of(holding.addresses[0].ip), Place(link=number_of("10.0.0.1"))
    for _ in range(3):
        world.do(u.LeaseDecline(client=Client(mac=MINE), place=place, address=number))
    disputes = [x for x in world.events if isinstance(x, e.AddressDisputed)]
    assert [(x.observed.source, x.observed.mac) for x in disputes if x.observed] == [("decline", None)]
    world.release(holding)
    settled(world)
    assert counts(world) == (14, 0, 1, 0, 13)
    world.wait(DAY)
    assert counts(world) == (14, 0, 0, 0, 14)


# Subnets that come, go and change


def test_a_subnet_that_is_gone_and_comes_back_knows_its_strangers() -> None:
    world = pool()
    see(world, ("10.0.0.5", MINE))
    world.do(u.DeleteSubnet(subnet=POOL))
    settled(world)
    world.do(u.CreateSubnet(network="prod", cidr="10.0.0.0/29"))
    settled(world)
    assert counts(world) == (6, 0, 1, 0, 5)
    world.do(u.DeleteSubnet(subnet="10.0.0.0/29"))
    world.wait(DAY)
    settled(world)
    assert not set(world.state.strangers)


def test_strangers_go_with_the_innermost_subnet() -> None:
    world = pool(cidr="10.0.0.0/27")
    see(world, ("10.0.0.5", MINE), ("10.0.0.20", OTHER))
    world.do(u.CreateSubnet(network="prod", cidr="10.0.0.16/28"))
    settled(world)
    assert set(world.space("10.0.0.16/28").strangers) == {number_of("10.0.0.20")}
    world.do(u.DeleteSubnet(subnet="10.0.0.16/28"))
    settled(world)
    world.do(u.ChangeSubnet(subnet="10.0.0.0/27", changes={"cidr": "10.0.0.0/28"}))
    settled(world)
    assert set(world.state.strangers)
    world.do(u.ChangeSubnet(subnet="10.0.0.0/28", changes={"cidr": "10.0.0.0/26"}))
    settled(world)
    assert len(world.space("10.0.0.0/26").strangers) == 2
    world.do(u.ChangeSubnet(subnet="10.0.0.0/26", changes={"cidr": "10.0.0.0/28"}))
    world.wait(DAY)
    settled(world)
    assert not set(world.state.strangers), "what lies in no subnet any more ages too"


def test_strangers_are_those_of_their_vrf() -> None:
    world = pool()
    world.do(u.CreateVrf(name="blue"))
    world.do(u.CreateNetwork(name="lab", vrf="blue"))
    world.do(u.CreateSubnet(network="lab", cidr=POOL))
    world.do(u.ObserveAddresses(vrf="blue", sightings=(Sighting(ip="10.0.0.5", mac=MINE),)))
    settled(world)
    assert counts(world) == (14, 0, 0, 0, 14)
    assert world.do(u.ReadCapacity(network="lab")).v4.reserved == 1


def test_blocks_do_not_offer_what_strangers_use() -> None:
    world = site("10.0.0.0/26", cooldown=0, block_length_v4=29)
    first = world.claim(host="h0-0").addresses[0]
    (block,) = world.space("10.0.0.0/26").blocks.values()
    others = [n for n in range(block.first, block.last + 1) if text_of(4, n) != first.ip]
    see(world, *((text_of(4, n), MINE) for n in others if n not in world.space("10.0.0.0/26").closed))
    second = world.claim(host="h0-0").addresses[0]
    assert second.block != first.block
    settled(world)


# Who was a stranger, and is none any more


def test_what_was_seen_of_whom_an_address_is_given_to_is_over() -> None:
    world = pool()
    see(world, ("10.0.0.5", MINE))
    holding = world.claim(address="10.0.0.5", mac=MINE)
    settled(world)
    assert [seen.until for seen in world.tables.all("observations")] == [world.now]
    world.release(holding)
    settled(world)
    assert counts(world) == (14, 0, 0, 0, 14), "nobody else is kept from it"
    assert world.ip(address="10.0.0.5", mac=OTHER) == "10.0.0.5"


def test_a_machine_gets_its_former_address_again_though_it_was_seen_on_it() -> None:
    world = pool(allocate_on="deploy")
    port = u.NewInterface(mac=MINE, network="prod", boot=True)
    world.do(u.CreateMachine(name="web", interfaces=(port,)))
    world.do(u.ReadyMachine(machine="web"))
    ip = deployed(world)
    world.do(u.ReleaseMachine(machine="web"))
    for mac, expected in ((MINE, True), (OTHER, False)):
        assert outcomes(world, (ip, mac)) == ["stranger"]
        assert (deployed(world) == ip) is expected
        settled(world)
        world.do(u.ReleaseMachine(machine="web"))


def deployed(world: World) -> str:
    world.do(u.DeployMachine(machine="web"))
    (held,) = world.tables.open("allocations")
    return str(held.ip)


def test_who_was_in_conflict_and_is_given_the_address_is_its_holder() -> None:
    world = pool()
    holding = world.claim(machine="web", mac=MINE)
    ip = holding.addresses[0].ip
    world.do(u.CreateMachine(name="db", interfaces=(u.NewInterface(mac=OTHER),)))
    assert outcomes(world, (ip, OTHER)) == ["conflict"]
    world.do(u.ReassignAddress(vrf="default", ip=ip, interface=OTHER))
    assert outcomes(world, (ip, OTHER)) == ["holder"]
    assert [seen.until for seen in world.tables.all("observations")] == [world.now]
    assert outcomes(world, (ip, OTHER), (ip, MINE)) == ["holder", "conflict"], "who had it before is in conflict now"


def test_a_machine_without_interfaces_does_not_bring_back_who_asked() -> None:
    world = pool()
    ip = world.ip(machine="web", mac=MINE)
    world.do(u.CreateMachine(name="db"))
    world.do(u.ReassignAddress(vrf="default", ip=ip, machine="db"))
    assert outcomes(world, (ip, MINE), (ip, ELSE)) == ["conflict", "holder"]


@pytest.mark.parametrize("held", [False, True])
def test_two_that_take_turns_are_told_of_once_an_hour(held: bool) -> None:
    world = pool()
    ip = world.ip(mac=ELSE) if held else "10.0.0.1"
    events = len(world.events)
    for _ in range(25):
        see(world, (ip, MINE), (ip, OTHER))
        world.wait(10)
    assert len(world.events) == events + 2
    world.wait(3600)
    assert outcomes(world, (ip, MINE), (ip, OTHER))[1] == "known"
    assert len(world.events) == events + 3
