"""Addresses that move while their clients have leases: who is told no, who waits, and when names follow."""

from datetime import timedelta
from typing import Any

import pytest

from tenure.errors import Conflict
from tenure.model import events as e
from tenure.model import uses as u
from tenure.model.answers import Leased
from tenure.model.holding import ClaimRequest
from tenure.model.leases import Client, Place
from tenure.net.addresses import number_of
from tests.engine import naive
from tests.engine.test_leases import decline, lease, link
from tests.engine.test_reassign import VRF, A, B, boot, kinds, move, offered, rows, two, users
from tests.engine.world import World

PROMISED = timedelta(seconds=2 * 3600)
"""Two lease lengths: promises are written ahead."""
MARGIN = timedelta(seconds=5)
FORMS = ("renewing", "rebinding", "init-reboot")


def leased(**network: Any) -> tuple[World, str]:
    """Machine `a` uses its address by DHCP."""
    world = two(**network)
    ip = world.ip(machine="a", handle="a")
    assert boot(world, A, ip).lease is not None
    return world, ip


def takes(world: World, ip: str) -> None:
    world.do(u.ClaimAddresses(request=ClaimRequest(network="prod", address=ip)))


@pytest.mark.parametrize("form", FORMS)
def test_a_client_whose_address_was_replaced_is_told_no_and_gets_the_new_one(form: str) -> None:
    world, old = leased()
    moved = move(world, old, address="10.0.0.77")
    assert moved.effective_by == world.now + PROMISED + MARGIN
    assert {a.ip: (a.standing, a.name) for a in moved.addresses} == {
        old: ("alias", "a.prod.example."),
        "10.0.0.77": ("primary", None),
    }
    assert boot(world, A, old, form).refused is not None
    assert offered(world, A) == number_of("10.0.0.77")
    assert rows(world)[old].hostname == "a", "an offer is not an ACK"
    assert boot(world, A, "10.0.0.77").lease.hostname == "a"
    held = rows(world)
    assert old not in held and held["10.0.0.77"].hostname == "a"
    naive.check(world)


def test_a_name_follows_with_its_pointer_in_one_change() -> None:
    world, old = leased()
    move(world, old, address="10.0.0.77")
    before = len(world.events)
    boot(world, A, "10.0.0.77")
    told = [event for event in world.events[before:] if isinstance(event, e.AddressNamed | e.AddressReleased)]
    assert [type(event) for event in told] == [e.AddressNamed, e.AddressReleased]
    named, gone = told
    assert isinstance(named, e.AddressNamed) and isinstance(gone, e.AddressReleased)
    assert (named.allocation.hostname, gone.allocation.hostname, gone.reason) == ("a", "a", "renumbered")
    assert not gone.closes
    assert gone.allocation.cooling_until == world.now + PROMISED + MARGIN


def test_names_follow_at_once_if_somebody_says_so() -> None:
    world, old = leased()
    moved = move(world, old, address="10.0.0.77", dns="now")
    assert moved.effective_by is None
    assert [(a.ip, a.name) for a in moved.addresses] == [("10.0.0.77", "a.prod.example.")]
    assert boot(world, A, old, "renewing").refused is not None
    with pytest.raises(Conflict, match="rests"):
        takes(world, old)


def test_names_follow_at_once_where_no_lease_is_active() -> None:
    world, old = leased()
    world.wait(PROMISED.total_seconds())
    assert move(world, old, address="10.0.0.77", dns="when_acked").effective_by is None


def test_a_name_that_waits_goes_along_when_the_address_moves_again() -> None:
    world, old = leased()
    move(world, old, address="10.0.0.77")
    again = move(world, "10.0.0.77", address="10.0.0.78")
    assert again.effective_by is None, "nobody was promised the second"
    assert [(a.ip, a.name) for a in again.addresses] == [("10.0.0.78", "a.prod.example.")]


def test_what_is_being_replaced_is_left_alone() -> None:
    world, old = leased()
    move(world, old, address="10.0.0.77")
    for use in (
        u.ReassignAddress(vrf=VRF, ip=old, machine="b"),
        u.RenameAddress(vrf=VRF, ip=old, hostname="c"),
        u.DetachAddress(vrf=VRF, ip=old),
    ):
        with pytest.raises(Conflict, match=r"replaced by 10\.0\.0\.77"):
            world.do(use)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("authoritative", [True, False])
def test_a_client_whose_address_went_to_another_is_told_no(form: str, authoritative: bool) -> None:
    world, ip = leased(dhcp={"authoritative": authoritative})
    move(world, ip, machine="b")
    assert boot(world, A, ip, form).refused is not None


def test_nobody_else_is_given_an_address_before_its_promise_has_ended() -> None:
    world, ip = leased(cooldown=0, ttl=0)
    move(world, ip, machine="b")
    assert rows(world)[ip].waits_until == world.now + PROMISED + MARGIN
    world.wait(PROMISED.total_seconds() + 4)
    assert offered(world, B) is None
    assert boot(world, B, ip) == Leased()
    assert boot(world, B, ip, "init-reboot") == Leased()
    assert boot(world, B, "10.9.9.9", "init-reboot").refused is not None, "that is of another link"
    world.wait(1)
    assert offered(world, B) == number_of(ip)
    assert boot(world, B, ip).lease is not None


def test_a_promise_outlives_two_moves_and_a_release() -> None:
    world, ip = leased(cooldown=0, ttl=0)
    end = world.now + PROMISED + MARGIN
    move(world, ip, machine="b")
    world.wait(60)
    moved = move(world, ip, machine="a")
    assert rows(world)[ip].waits_until == end, "it is not known who still uses it"
    world.release(moved)
    world.wait((end - world.now).total_seconds() - 1)
    with pytest.raises(Conflict, match="rests"):
        takes(world, ip)
    world.wait(1)
    takes(world, ip)


def test_one_that_waits_may_use_what_it_was_promised_itself() -> None:
    world, ip = leased()
    other = world.ip(machine="b")
    assert boot(world, B, other).lease is not None
    move(world, ip, machine="b")
    assert boot(world, B, other, "renewing") == Leased(), "a NAK would leave it without any"


def test_a_rename_keeps_the_promise_and_the_client() -> None:
    world, ip = leased()
    world.do(u.RenameAddress(vrf=VRF, ip=ip, hostname="printer"))
    assert rows(world)[ip].held_until == world.now + PROMISED
    assert rows(world)[ip].waits_until is None
    assert boot(world, A, ip, "renewing").lease.hostname == "printer"


def test_a_shelved_address_answers_to_nobody() -> None:
    world, ip = leased()
    spare = world.claim(machine="a")
    assert boot(world, A, ip, "renewing").refused is not None
    assert offered(world, A) == number_of(spare.addresses[0].ip)
    world.release(spare)
    assert boot(world, A, ip, "init-reboot").lease is not None


def test_a_shared_address_and_an_alias_are_not_given_by_dhcp() -> None:
    world = two()
    world.claim(mac=A, alias=True)
    shared = world.ip(shared=True)
    world.do(u.AttachAddress(vrf=VRF, ip=shared, interface=A))
    assert offered(world, A) is None
    assert users(world, shared) == {"a"}


def test_a_network_of_static_addresses_serves_no_dhcp_unless_it_says_so() -> None:
    world = two(address_mode="static")
    ip = world.ip(machine="a")
    assert offered(world, A) is None
    world.do(u.ChangeNetwork(network="prod", changes={"dhcp": {"enabled": True}}))
    assert offered(world, A) == number_of(ip)


def test_a_dynamic_lease_is_not_reassigned() -> None:
    world = two()
    world.do(u.CreateRange(subnet="10.0.0.0/24", start="10.0.0.100", end="10.0.0.120", role="dynamic"))
    number = offered(world, "52:54:00:00:00:0c")
    assert number is not None
    boot(world, "52:54:00:00:00:0c", f"10.0.0.{number & 255}")
    with pytest.raises(Conflict, match="dynamic lease"):
        move(world, f"10.0.0.{number & 255}", machine="a")


def test_declines_take_an_eighth_of_a_range_at_most() -> None:
    world = link("10.0.0.25")  # sixteen
    for n in range(40):
        mac = f"52:54:00:00:02:{n:02x}"
        decline(world, lease(world, mac), mac)
        world.wait(301)
    rests = [a.cooling_until - a.until for a in world.tables.all("allocations") if a.until is not None]
    assert rests.count(timedelta(days=1)) == 2


def test_a_plan_says_what_it_does() -> None:
    world, old = leased()
    plan = world.plan(u.ReassignAddress(vrf=VRF, ip=old, address="10.0.0.77"))
    assert kinds(plan) == ["address.allocated", "address.aliased"]


def test_a_client_of_a_subnet_that_is_left_gets_its_address_of_the_other() -> None:
    world, old = leased()
    world.do(u.CreateSubnet(network="prod", cidr="10.0.1.0/24", fields={"gateway": "10.0.1.1"}))
    world.do(u.RenumberSubnet(subnet="10.0.0.0/24", to="10.0.1.0/24", fields={"lease_time": 90}))
    renewed = boot(world, A, old, "renewing").lease
    assert renewed.lease_time == 90, "so that it asks again soon"
    move(world, old, address="10.0.1.7")
    assert boot(world, A, old, "renewing").refused is not None
    offer = world.do(u.LeaseOffer(client=Client(A), place=Place(number_of("10.0.0.1")))).lease
    assert (offer.address, offer.gateway) == (number_of("10.0.1.7"), number_of("10.0.1.1"))
    assert offer.lease_time == 3600
    assert boot(world, A, "10.0.1.7").lease.hostname == "a"
    world.do(u.CancelRenumbering(subnet="10.0.0.0/24"))
    assert offered(world, A) == number_of("10.0.1.7"), "the relay still says where it was"


def test_an_address_elsewhere_is_not_given_here() -> None:
    world = two()
    world.do(u.CreateSubnet(network="prod", cidr="10.0.1.0/24"))
    world.ip(machine="a", subnet="10.0.1.0/24")
    assert offered(world, A) is None
    assert boot(world, A, "10.0.1.1").refused is not None


def test_what_was_lent_goes_back_where_another_replaces_it() -> None:
    world = two()
    kept = world.claim(handle="spare")
    lent = world.claim(machine="a", reservation="spare")
    assert lent.addresses[0].ip == kept.addresses[0].ip
    plan = world.plan(u.ReassignAddress(vrf=VRF, ip=lent.addresses[0].ip, address="10.0.0.77"))
    assert kinds(plan) == ["address.allocated", "address.moved"]
    assert rows(world)[kept.addresses[0].ip].claim == kept.claim.id
    naive.check(world)
