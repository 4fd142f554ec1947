"""Addresses that interfaces make of their MACs."""

from datetime import timedelta

import pytest

from tenure.engine.slaac import eui64
from tenure.errors import AlreadyAllocated, Conflict
from tenure.model import events as e
from tenure.model import uses as u
from tenure.model.observed import Observation
from tests.engine.world import World, site

MAC = "52:54:00:0a:0b:0c"
MADE = "2001:db8::5054:ff:fe0a:b0c"


@pytest.mark.parametrize(
    ("mac", "half"),
    [
        ("34:56:78:9a:bc:de", 0x365678FFFE9ABCDE),  # RFC 4291 appendix A, with the bit turned
        ("02:00:00:00:00:00", 0x000000FFFE000000),
        (MAC, 0x505400FFFE0A0B0C),
    ],
)
def test_the_lower_half(mac: str, half: int) -> None:
    assert eui64(mac) == half


def slaac(*cidrs: str) -> World:
    return site(*(cidrs or ("10.0.0.0/24", "2001:db8::/64")), address_mode="slaac")


def test_an_interface_gets_what_it_makes_of_its_mac() -> None:
    world = slaac()
    held = world.claim(mac=MAC, host="h0-0")
    assert [a.ip for a in held.addresses][1] == MADE
    chose = [event.strategy for event in world.events if isinstance(event, e.AddressAllocated)]
    assert chose == ["topology", "eui64"]


def test_it_gets_the_same_at_once_after_a_release() -> None:
    world = slaac()
    world.release(world.claim(mac=MAC))
    assert world.claim(mac=MAC).addresses[1].ip == MADE


def test_a_claim_without_interface_and_a_subnet_of_another_length_are_as_elsewhere() -> None:
    world = slaac("2001:db8::/64")
    assert world.ip() != MADE
    assert slaac("2001:db8::/80").ip(mac=MAC) == "2001:db8::1"
    assert site("2001:db8::/64").ip(mac=MAC) != MADE


def test_an_alias_beside_it_is_chosen() -> None:
    world = slaac("2001:db8::/64")
    world.claim(mac=MAC)
    held = world.claim(mac=MAC, alias=True, count=2)
    assert MADE not in {a.ip for a in held.addresses}


def test_what_another_has_or_is_kept_is_refused() -> None:
    world = slaac("2001:db8::/64")
    other = world.claim(address=MADE)
    with pytest.raises(AlreadyAllocated) as refused:
        world.claim(mac=MAC)
    assert refused.value.facts == {"address": MADE, "pointer": "/mac"}
    world.release(other)
    world.wait(301)
    world.do(u.CreateRange(subnet="2001:db8::/64", start=MADE, end=MADE, role="reserved"))
    with pytest.raises(Conflict, match="reserved range"):
        world.claim(mac=MAC)


def test_being_seen_there_is_no_obstacle() -> None:
    world = slaac("2001:db8::/64")
    subnet = world.space("2001:db8::/64").subnet
    now = world.now
    seen = Observation(
        vrf=subnet.vrf,
        subnet=subnet.id,
        ip=MADE,
        mac=MAC,
        source="neighbours",
        since=now,
        last=now,
        until=now + timedelta(days=1),
    )
    event = e.AddressObserved(observation=seen)
    world.state.reduce(event)
    world.tables.apply([event])
    assert world.ip(mac=MAC) == MADE
