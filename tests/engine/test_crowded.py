"""No name has more records of one type, nor more aliases in a row, than every secondary and resolver takes."""

from typing import Any

import pytest

from tenure.engine.beside import MOST_OCTETS
from tenure.engine.names import MOST_OF_TYPE
from tenure.errors import Conflict
from tenure.model import uses as u
from tenure.model.leases import Client, Place
from tenure.naming.records import LONGEST_CHAIN
from tenure.net.addresses import number_of
from tests.engine.test_records import REVERSE, ZONE, make, refusal, zoned
from tests.engine.world import World


def crowd(world: World, type_: Any, texts: list[str], *, name: str = "many", zone: str = ZONE) -> None:
    uses = [u.CreateRecord(zone=zone, name=name, type=type_, data=text) for text in texts]
    world.do(u.Together(uses=tuple(uses)))


def addresses(count: int) -> list[str]:
    return [f"192.0.2.{at}" for at in range(count)]


def lease(world: World, number: int, hostname: str) -> None:
    client, place = Client(mac=f"02:00:00:00:00:{number:02x}", hostname=hostname), Place(link=number_of("10.0.0.1"))
    offer = world.do(u.LeaseOffer(client=client, place=place)).lease
    world.do(u.LeaseCommit(client=client, place=place, address=offer.address, form="selecting"))


def called(world: World, hostname: str) -> list[Any]:
    return [row for row in world.tables.open("allocations") if row.hostname == hostname]


def test_bind_refuses_a_zone_with_more_than_a_hundred_records_of_one_name_and_type() -> None:
    world = zoned()
    crowd(world, "A", addresses(MOST_OF_TYPE))
    assert refusal(world, "many", "A", "192.0.2.200").facts == {"name": f"many.{ZONE}", "pointer": "/data"}
    make(world, "many", "AAAA", "2001:db8::1")
    make(world, "other", "A", "192.0.2.200")
    last = world.state.made[next(iter(world.state.made))][f"many.{ZONE}"]
    world.do(u.ChangeRecord(record=next(iter(last)), changes={"data": "192.0.2.200"}))


def test_of_allocations_and_records_together_bind_takes_a_hundred() -> None:
    world = zoned("10.0.0.0/24", shared_names=True)
    crowd(world, "A", addresses(MOST_OF_TYPE - 2))
    first = world.ip(hostname="many")
    make(world, "many", "A", first)
    world.claim(hostname="many")
    assert isinstance(refusal(world, "many", "A", "192.0.2.200"), Conflict)
    with pytest.raises(Conflict, match="100 A records") as caught:
        world.claim(hostname="many")
    assert caught.value.facts == {"name": f"many.{ZONE}", "pointer": "/hostname"}
    world.claim(hostname="few")


def test_a_hundred_holders_share_a_name_and_no_more() -> None:
    world = zoned("10.0.0.0/24", "2001:db8::/64", shared_names=True)
    holdings = [world.claim(hostname="many", family="v4") for _ in range(MOST_OF_TYPE)]
    with pytest.raises(Conflict):
        world.claim(hostname="many", family="v4")
    with pytest.raises(Conflict):
        world.do(u.RenameAddress(vrf="default", ip=world.ip(hostname="few", family="v4"), hostname="many"))
    world.claim(hostname="many", family="v6")
    world.release(holdings[0])
    world.claim(hostname="many", family="v4")


def test_a_lease_is_not_called_as_a_hundred_are_and_gives_way_to_the_hundredth() -> None:
    world = zoned("10.0.0.0/24", dhcp={"enabled": True}, shared_names=True)
    world.do(u.CreateRange(subnet="10.0.0.0/24", start="10.0.0.128", end="10.0.0.254", role="dynamic"))
    crowd(world, "A", addresses(MOST_OF_TYPE - 1))
    lease(world, 1, "many")
    assert called(world, "many")
    make(world, "many", "A", "192.0.2.200")
    assert not called(world, "many")
    lease(world, 2, "many")
    assert not called(world, "many") and len(world.tables.open("allocations")) == 2


def test_pointers_of_one_address_are_counted_too() -> None:
    world = zoned("10.0.0.0/24")
    crowd(world, "PTR", [f"n{at}.example." for at in range(MOST_OF_TYPE)], name="9", zone=REVERSE)
    with pytest.raises(Conflict, match="100 PTR records"):
        world.claim(hostname="nine", address="10.0.0.9")
    world.claim(hostname="ten", address="10.0.0.10")
    crowd(world, "PTR", [f"n{at}.example." for at in range(MOST_OF_TYPE - 1)], name="10", zone=REVERSE)
    assert isinstance(refusal(world, "10", "PTR", "x.example.", zone=REVERSE), Conflict)
    make(world, "10", "PTR", f"ten.{ZONE}", zone=REVERSE)


def test_bind_has_no_space_for_a_set_of_records_beyond_a_message() -> None:
    world = zoned()
    text = " ".join(['"' + "q" * 250 + '"'] * 15)
    count = MOST_OCTETS // (15 * 251 + 4)
    crowd(world, "TXT", [f'{text} "{at:03}"' for at in range(count)])
    assert "49152 octets" in refusal(world, "many", "TXT", f'{text} "999"').message
    make(world, "other", "TXT", text)


@pytest.mark.parametrize("backwards", [False, True])
def test_resolvers_follow_so_many_aliases_wherever_they_grow(backwards: bool) -> None:
    world = zoned()
    links = [(f"n{at}", f"n{at + 1}") for at in range(LONGEST_CHAIN)]
    for name, target in reversed(links) if backwards else links:
        make(world, name, "CNAME", target)
    assert "more than 8" in refusal(world, f"n{LONGEST_CHAIN}", "CNAME", "end").message
    assert "more than 8" in refusal(world, "start", "CNAME", "n0").message
    make(world, f"n{LONGEST_CHAIN}", "A", "192.0.2.1")
    make(world, "beside", "CNAME", "n1")


def test_two_rows_of_aliases_are_not_joined_beyond_what_is_followed() -> None:
    world = zoned()
    half = LONGEST_CHAIN // 2
    for row in "ab":
        for at in range(half):
            make(world, f"{row}{at}", "CNAME", f"{row}{at + 1}")
    assert "more than 8" in refusal(world, f"a{half}", "CNAME", "b0").message
    last = make(world, f"a{half}", "CNAME", "b1")
    with pytest.raises(Conflict, match="more than 8"):
        world.do(u.ChangeRecord(record=last.id, changes={"data": "b0"}))


def test_an_alias_of_another_vrf_is_not_in_the_row() -> None:
    world = zoned()
    world.do(u.CreateVrf(name="blue"))
    other = world.do(u.CreateZone(name=ZONE, vrf="blue")).zone
    for at in range(LONGEST_CHAIN):
        make(world, f"n{at}", "CNAME", f"n{at + 1}", zone=other.id)
    mine = next(zone.id for zone in world.state.zones.values() if zone.name == ZONE and zone.id != other.id)
    make(world, f"n{LONGEST_CHAIN}", "CNAME", "end", zone=mine)
