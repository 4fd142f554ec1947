"""Leases as the engine decides them: what is offered, promised, taken back and remembered."""

from typing import Any
from zlib import crc32

from tenure.model import events as e
from tenure.model import uses as u
from tenure.model.answers import Leased
from tenure.model.leases import Client, Place
from tenure.model.topology import Relay
from tests.engine import naive
from tests.engine.world import World, site

HERE = Place(0x0A000001)
MAC, OTHER = "52:54:00:00:00:01", "52:54:00:00:00:02"


def link(last: str = "10.0.0.19", **network: Any) -> World:
    world = site("10.0.0.0/27", domain="prod.example.", **network)
    world.do(u.CreateRange(subnet="10.0.0.0/27", start="10.0.0.10", end=last, role="dynamic"))
    return world


def offer(world: World, mac: str = MAC, requested: int | None = None, **place: object) -> Leased:
    where = Place(HERE.link, **place)  # type: ignore[arg-type]
    return world.do(u.LeaseOffer(client=Client(mac), place=where, requested=requested))  # type: ignore[no-any-return]


def commit(world: World, address: int, mac: str = MAC, form: str = "selecting", name: str | None = None) -> Leased:
    use = u.LeaseCommit(client=Client(mac, hostname=name), place=HERE, address=address, form=form)
    return world.do(use)  # type: ignore[no-any-return]


def lease(world: World, mac: str = MAC, name: str | None = None) -> int:
    offered = offer(world, mac).lease
    assert offered is not None
    assert commit(world, offered.address, mac, name=name).lease is not None
    naive.check(world)
    return offered.address


def decline(world: World, address: int, mac: str = MAC) -> None:
    world.do(u.LeaseDecline(client=Client(mac), place=HERE, address=address))


def test_clients_whose_hashes_collide_are_offered_different_addresses() -> None:
    place: dict[int, str] = {}
    for n in range(1000):
        mac = f"52:54:00:00:{n >> 8:02x}:{n & 255:02x}"
        if (first := place.setdefault(crc32(mac.encode()) % 10, mac)) != mac:
            world = link()
            a, b = offer(world, first).lease, offer(world, mac).lease
            assert a is not None
            assert b is not None
            assert a.address != b.address
            return


def test_a_full_range_offers_nothing() -> None:  # coredhcp 80
    world = link("10.0.0.11")
    lease(world, MAC)
    lease(world, OTHER)
    assert offer(world, "52:54:00:00:00:03") == Leased()


def test_a_flood_of_offers_costs_nobody_an_address() -> None:
    world = link()
    for n in range(1000):
        assert offer(world, f"52:54:01:00:{n >> 8:02x}:{n & 255:02x}").lease is not None
    mine = offer(world).lease
    assert mine is not None
    for n in range(9):  # a range of ten: the other nine are offered again first
        assert offer(world, f"52:54:02:00:00:{n:02x}").lease != mine
    assert commit(world, mine.address).lease is not None
    naive.check(world)


def test_an_address_is_offered_again_only_when_all_are_offered_and_then_whoever_asks_first_has_it() -> None:
    world = link("10.0.0.11")
    first, second = offer(world, MAC).lease, offer(world, OTHER).lease
    third = offer(world, "52:54:00:00:00:03").lease
    assert first is not None and second is not None and third is not None
    assert first.address == third.address != second.address
    assert commit(world, first.address, MAC).refused
    assert commit(world, third.address, "52:54:00:00:00:03").lease is not None
    assert commit(world, second.address, OTHER).lease is not None
    assert offer(world, MAC) == Leased()


def test_an_address_that_may_not_be_leased_any_more_is_not_offered_again() -> None:
    world = link("10.0.0.11")
    offer(world, MAC)
    offer(world, OTHER)
    world.do(u.DeleteRange(range=next(iter(world.state.ranges))))
    assert offer(world, "52:54:00:00:00:03") == Leased()


def test_an_offer_is_over_after_a_minute() -> None:
    world = link("10.0.0.11")
    first = offer(world, MAC).lease
    assert first is not None
    assert commit(world, first.address, OTHER).refused
    world.wait(61)
    assert commit(world, first.address, OTHER).lease is not None


def test_a_client_that_asks_again_is_offered_the_same_and_costs_one_address() -> None:
    world = link("10.0.0.11")
    first = offer(world).lease
    assert first is not None
    for _ in range(3):
        assert offer(world).lease == first
    other = 0x0A00000A + 0x0A00000B - first.address
    changed = offer(world, requested=other).lease  # takes the place of the first
    assert changed is not None and changed.address == other
    second = offer(world, OTHER).lease
    assert second is not None and second.address == first.address
    assert commit(world, other).lease is not None
    assert commit(world, second.address, OTHER).lease is not None


def test_an_offer_records_nothing() -> None:
    world = link()
    before = len(world.events)
    offer(world)
    assert len(world.events) == before


def test_promises_are_written_ahead() -> None:
    world = link()
    address = lease(world)
    written = len(world.events)
    for _ in range(3):
        world.wait(1000)
        renewed = commit(world, address, form="renewing").lease
        assert renewed is not None
        assert renewed.held_until is not None
        assert renewed.held_until >= world.now
    assert len(world.events) == written
    world.wait(1000)
    commit(world, address, form="renewing")
    assert [type(event) for event in world.events[written:]] == [e.MachineSeen, e.LeasePromised]


def test_an_expired_lease_is_free_again_and_comes_back_to_its_client() -> None:  # coredhcp 148, Kea 1409
    world = link()
    address = lease(world, name="web")
    world.wait(7200 + 6)
    assert world.do(u.ExpireLeases()).value == 1
    naive.check(world)
    assert lease(world, name="web") == address


def test_release_and_decline_are_the_holders_only() -> None:  # Kea 3565, 4547
    world = link()
    address = lease(world)
    world.do(u.LeaseDecline(client=Client(OTHER), place=HERE, address=address))
    world.do(u.LeaseRelease(client=Client(OTHER), place=HERE, address=address))
    assert world.space("10.0.0.0/27").held == 1
    for _ in range(2):
        world.do(u.LeaseRelease(client=Client(MAC), place=HERE, address=address))
    assert world.space("10.0.0.0/27").held == 0
    address = lease(world)
    world.do(u.LeaseDecline(client=Client(MAC), place=HERE, address=address))
    world.wait(86000)
    assert lease(world) != address


def test_a_name_that_is_taken_is_dropped_and_the_lease_is_given() -> None:  # Kea 4557
    world = link()
    world.claim(hostname="web")
    for n, name in enumerate(("web", "WEB", "a..b")):
        lease(world, f"52:54:00:00:01:0{n}", name=name)
    names = {a.hostname for a in world.tables.open("allocations") if a.lease}
    assert names == {None}


def test_the_second_of_two_forms_is_refused_or_met_with_silence() -> None:
    world = link()
    address = lease(world)
    assert commit(world, address + 1, form="init-reboot").refused is not None
    assert commit(world, address, OTHER).refused is not None
    assert commit(world, 0x0A000063, OTHER, "init-reboot").refused is not None
    world.do(u.ChangeNetwork(network="prod", changes={"dhcp": {"authoritative": False}}))
    assert commit(world, 0x0A000063, OTHER, "init-reboot") == Leased()


def test_a_known_client_has_its_allocation_whatever_it_asks() -> None:
    world = link()
    ip = world.ip(mac=MAC)
    offered = offer(world, requested=0x0A00000C).lease
    assert offered is not None
    assert ip == f"10.0.0.{offered.address & 255}"
    assert not offered.dynamic
    world.do(u.LeaseRelease(client=Client(MAC), place=HERE, address=offered.address))
    assert world.space("10.0.0.0/27").held == 1


def test_a_pending_claim_is_bound_once_where_it_was_seen() -> None:
    world = link()
    world.do(u.ChangeLocation(location="r1", changes={"relay": {"circuit_id": "0a", "remote_id": None}}))
    assert world.state.place_of_relay("0a", "ff") == world.state.find("location", "r1")
    assert Relay("0a") == world.state.locations[str(world.state.find("location", "r1"))].relay
    waiting = world.claim(mac=MAC, defer=True)
    first = offer(world, circuit_id="0a", remote_id="ff").lease
    written = len(world.events)
    assert offer(world, circuit_id="0a", remote_id="ff").lease == first
    assert len(world.events) == written
    claim = next(c for c in world.tables.open("claims") if c.id == waiting.claim.id)
    assert claim.host == world.state.find("location", "r1")
    assert claim.state == "bound"


def test_a_released_allocation_rests_for_as_long_as_was_promised() -> None:
    world = link(cooldown=0, ttl=0)
    held = world.claim(mac=MAC)
    number = 0x0A000000 | int(held.addresses[0].ip.rsplit(".", 1)[1])
    commit(world, number, form="init-reboot")
    world.release(held)
    world.wait(7200 + 4)
    assert not world.space("10.0.0.0/27").is_free(number)
    world.wait(1)
    assert world.space("10.0.0.0/27").is_free(number)


def test_a_claim_by_machine_is_for_its_only_interface() -> None:
    world = site("10.0.0.0/24")
    world.do(u.CreateMachine(name="one", interfaces=(u.NewInterface(mac="52:54:00:00:00:01"),)))
    world.do(u.CreateMachine(name="none"))
    two = (u.NewInterface(mac="52:54:00:00:00:02"), u.NewInterface(mac="52:54:00:00:00:03"))
    world.do(u.CreateMachine(name="two", interfaces=two))
    claims = {name: world.claim(machine=name).claim for name in ("one", "none", "two")}
    assert claims["one"].interface is not None
    assert claims["none"].interface is claims["two"].interface is None
