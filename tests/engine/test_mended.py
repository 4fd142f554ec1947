"""Faults that hostile tests found: each rule here was broken once."""

from datetime import timedelta
from typing import Any

import pytest

from tenure.errors import AlreadyAllocated, Conflict, Exhausted, StaleRevision
from tenure.model import uses as u
from tenure.model.answers import Holding
from tenure.model.holding import ClaimRequest
from tenure.model.leases import Client, Place
from tests.engine.lives import STEPS, holds, kinds, lan, mac, machine, ready, reserve, step
from tests.engine.world import World

LINK = Place(0x0A000001)
DYNAMIC = 0x0A000014


def dynamic(world: World) -> World:
    world.do(u.CreateRange(subnet="10.0.0.0/27", start="10.0.0.20", end="10.0.0.28", role="dynamic"))
    return world


def offered(world: World, number: int, name: str | None = None) -> int | None:
    lease = world.do(u.LeaseOffer(client=Client(mac(number), hostname=name), place=LINK)).lease
    return None if lease is None else lease.address & 255


def asks(world: World, number: int, last: int, form: str = "renewing", name: str | None = None) -> str:
    client = Client(mac(number), hostname=name)
    told = world.do(u.LeaseCommit(client=client, place=LINK, address=0x0A000000 | last, form=form))
    return "ACK" if told.lease is not None else "NAK" if told.refused is not None else "silence"


def boots(world: World, number: int, name: str | None = None) -> int | None:
    """The last octet of what a client has after DISCOVER and REQUEST."""
    last = offered(world, number, name)
    return last if last is None or asks(world, number, last, "selecting", name) == "ACK" else None


def reassign(world: World, ip: str, **to: Any) -> Holding:
    told = world.do(u.ReassignAddress(vrf="default", ip=ip, **to))
    assert isinstance(told, Holding)
    return told


def claims(world: World) -> dict[str, Any]:
    return {claim.handle: claim for claim in world.tables.open("claims")}


# Reservations


def test_a_claim_that_waits_for_a_reservation_stops_nothing() -> None:
    world = lan()
    machine(world, "m1")
    machine(world, "m2")
    reserve(world, count=1)
    first = world.claim(mac=mac(16), reservation="landscape", handle="first")
    second = world.claim(mac=mac(32), reservation="landscape", handle="second", queue=True)
    assert second.claim.state == "pending"
    world.do(u.Lapse())
    assert offered(world, 32) is None
    with pytest.raises(Exhausted):
        world.do(u.BindClaim(claim=second.claim.id, host="h0-0"))
    world.release(first)
    world.do(u.Lapse())
    assert [a.ip for a in world.tables.open("allocations")] == [first.addresses[0].ip]
    assert claims(world)["second"].state == "bound"


def test_a_reservation_that_is_gone_is_a_refusal() -> None:
    world = lan()
    machine(world, "m1")
    kept = reserve(world, count=1)
    world.claim(mac=mac(16), reservation="landscape", handle="first")
    waiting = world.claim(mac=mac(32), reservation="landscape", handle="second", queue=True)
    world.release(kept)
    with pytest.raises(Conflict, match="released"):
        world.do(u.BindClaim(claim=waiting.claim.id, host="h0-0"))
    world.do(u.Lapse())


def test_an_id_names_its_own_reservation_whatever_others_are_called() -> None:
    world = lan()
    machine(world, "m1")
    mine = reserve(world, count=1)
    reserve(world, mine.claim.id, count=1)
    used = world.claim(mac=mac(16), reservation=mine.claim.id, handle="used")
    assert [a.ip for a in used.addresses] == [mine.addresses[0].ip]


# Promises


def test_what_is_taken_out_of_its_rest_is_given_to_no_client_before_the_last_promise_ends() -> None:
    world = lan(allocate_on="deploy")
    ready(world, "m1")
    machine(world, "m2")
    step(world, "deploy")
    assert boots(world, 16) == 1
    step(world, "release")
    world.do(u.ChangeNetwork(network="prod", changes={"dhcp": {"lease_time": 600}}))
    taken = world.claim(mac=mac(32), address="10.0.0.1", during_cooldown=True)
    assert offered(world, 32) is None and asks(world, 32, 1) == "silence"
    world.release(taken)
    step(world, "deploy")
    assert (boots(world, 16), offered(world, 32)) == (2, None), "m2 had it after m1, so that it is not m1's own rest"


def test_who_had_it_takes_it_out_of_its_rest_at_once() -> None:
    world = lan()
    machine(world, "m1")
    kept = world.claim(mac=mac(16))
    assert boots(world, 16) == 1
    world.release(kept)
    world.claim(mac=mac(16), address="10.0.0.1", during_cooldown=True)
    assert (boots(world, 16), asks(world, 16, 1)) == (1, "ACK")


def test_a_machine_is_deployed_again_with_the_address_that_it_had() -> None:
    world = lan()
    ready(world, "m1")
    for _ in range(2):
        step(world, "deploy", address="10.0.0.9")
        assert boots(world, 16) == 9
        step(world, "release")
    ready(world, "m2")
    with pytest.raises(Conflict, match="rests"):
        step(world, "deploy", "m2", address="10.0.0.9")


# DHCP


def test_a_pending_claim_that_cannot_be_bound_is_in_no_clients_way() -> None:
    world = dynamic(lan())
    machine(world, "m1")
    world.claim(mac=mac(16), hostname="web", defer=True, handle="stuck")
    world.claim(hostname="web", handle="quicker")
    assert boots(world, 16) is not None
    world.claim(mac=mac(16), defer=True, handle="later")
    assert boots(world, 16) == 2
    assert {handle: claims(world)[handle].state for handle in ("stuck", "later")} == {
        "stuck": "pending",
        "later": "bound",
    }


def test_what_the_client_will_be_is_bound_before_what_stands_beside_it() -> None:
    world = dynamic(lan())
    machine(world, "m1")
    world.claim(mac=mac(16), handle="beside", alias=True, defer=True)
    world.claim(mac=mac(16), handle="itself", defer=True)
    assert boots(world, 16) == 1
    assert claims(world)["itself"].state == "bound"


def test_a_reservation_made_between_offer_and_request_is_followed_by_a_valid_ack() -> None:
    """Kea 3555: never two holders, and the client has an address in this round, its own in the next."""
    world = dynamic(lan(enlist=False))
    last = offered(world, 16)
    assert last is not None
    given = world.claim(mac=mac(16), handle="own")
    assert asks(world, 16, last, "selecting") == "ACK"
    assert sorted(a.ip for a in world.tables.open("allocations")) == ["10.0.0.1", f"10.0.0.{last}"]
    assert asks(world, 16, last) == "NAK" and boots(world, 16) == 1
    assert given.addresses[0].ip == "10.0.0.1"


def test_an_offer_that_another_took_is_refused() -> None:
    world = dynamic(lan(enlist=False))
    last = offered(world, 16)
    assert last is not None
    world.claim(mac=mac(16), handle="own")
    assert asks(world, 17, last, "selecting") == "NAK"
    world.wait(61)
    assert asks(world, 17, last, "selecting") == "ACK" and asks(world, 16, last, "selecting") == "NAK"


def test_a_dynamic_lease_is_not_moved_to_be_another_address() -> None:
    world = dynamic(lan())
    assert boots(world, 16) is not None
    lease = next(claim for claim in world.tables.open("claims") if claim.project == "dhcp")
    for renumber in (False, True):
        with pytest.raises(Conflict, match="dynamic lease"):
            world.do(u.RebindClaim(claim=lease.id, host="h0-0", renumber=renumber))


def test_a_name_that_a_client_said_bars_nobody() -> None:
    world = dynamic(lan(enlist=False))
    last = boots(world, 99, "web")
    assert last is not None
    since = len(world.events)
    assert world.claim(hostname="web").addresses[0].name == "web.prod.example."
    assert kinds(world, since) == ["address.moved", "address.allocated"]
    assert asks(world, 99, last, name="web") == "ACK", "the lease stays"
    assert {a.ip: a.hostname for a in world.tables.open("allocations")} == {"10.0.0.1": "web", f"10.0.0.{last}": None}


# Machines


def test_a_host_name_joins_no_machine() -> None:
    world = lan()
    ready(world, "m1")
    with pytest.raises(Conflict) as refused:
        world.claim(project="other", hostname="m1", mac=mac(99))
    assert refused.value.facts["pointer"] == "/hostname"
    assert world.claim(project="other", machine="m1", mac=mac(99)).claim.machine is not None


def test_a_retired_machine_has_no_address_any_more() -> None:
    world = dynamic(lan())
    ready(world, "m1")
    world.claim(machine="m1", defer=True, handle="waiting")
    step(world, "retire")
    for fields in (
        {"mac": mac(16)},
        {"machine": "m1"},
        {"machine": "m1", "defer": True},
        {"machine": "m1", "mac": mac(5)},
    ):
        with pytest.raises(Conflict, match="retired"):
            world.claim(**fields)
    assert boots(world, 16) is not None, "as every client that nobody knows"
    lease = next(iter(world.tables.open("claims")))
    assert (lease.project, lease.machine) == ("dhcp", None)


def test_a_deployment_that_waits_is_bound_where_it_is_repeated() -> None:
    world = lan(allocate_on="binding")
    ready(world, "m1")
    step(world, "deploy")
    assert holds(world) == {}
    before = step(world, "deploy").machine.revision
    told = step(world, "deploy", host="h0-1")
    assert holds(world) == {"10.0.0.1": "primary"} and told.machine.revision == before + 1
    assert step(world, "deploy", host="h0-1").machine.revision == before + 1, "it is repeated"
    with pytest.raises(Conflict, match="h0-1"):
        step(world, "deploy", host="h0-0")


def test_a_deployment_is_another_if_what_it_replaces_becomes_another_thing() -> None:
    world = lan()
    ready(world, "m1")
    step(world, "deploy", address="10.0.0.9", on_override="keep")
    step(world, "deploy", address="10.0.0.9", on_override="keep")
    with pytest.raises(Conflict, match="otherwise"):
        step(world, "deploy", address="10.0.0.9", on_override="release")


@pytest.mark.parametrize("again", ["commission", "ready", "deploy", "release", "retire"])
def test_a_repeated_step_looks_at_the_revision_too(again: str) -> None:
    world = lan()
    machine(world, "m1")
    before = {"ready": ["ready"], "commission": ["commission"], "retire": ["retire"], "deploy": ["ready", "deploy"]}
    for each in before.get(again, ["ready", "deploy", "release"]):
        step(world, each)
    with pytest.raises(StaleRevision):
        world.do(STEPS[again](machine="m1"), if_match=1)


def test_what_a_repeated_step_gives_is_a_change_of_the_machine() -> None:
    world = lan()
    machine(world, "m1", u.NewInterface(mac=mac(16)))
    before = step(world, "ready").machine.revision
    interfaces = [{"mac": mac(16), "network": "prod"}]
    world.do(u.ChangeMachine(machine="m1", changes={"interfaces": interfaces}))
    since = next(m for m in world.tables.all("machines")).revision
    assert step(world, "ready").machine.revision == since + 1 > before
    assert step(world, "ready").machine.revision == since + 1


def test_a_release_of_what_was_released_looks_at_the_revision_too() -> None:
    world = lan()
    kept = world.claim()
    world.release(kept)
    with pytest.raises(StaleRevision):
        world.do(u.ReleaseClaim(claim=kept.claim.id), if_match=1)


# Claims


def test_what_a_machine_was_given_by_itself_has_no_end_of_its_own() -> None:
    world = lan(allocate_on="deploy")
    ready(world, "m1")
    step(world, "deploy")
    given = next(iter(world.tables.open("claims")))
    with pytest.raises(Conflict, match="deployment"):
        world.do(u.ChangeClaim(claim=given.id, changes={"expires": world.now + timedelta(days=1)}))
    world.do(u.ChangeClaim(claim=given.id, changes={"harvest": "never"}))


@pytest.mark.parametrize("how", ["shelve", "release"])
def test_a_static_address_is_displaced_only_if_somebody_changes_it_in_the_machine(how: str) -> None:
    world = lan(on_override=how)
    ready(world, "m1")
    world.claim(mac=mac(16), static=True, handle="by-hand", on_override="keep")
    for deed in (
        lambda **said: world.claim(mac=mac(16), handle="other", **said),
        lambda **said: step(world, "deploy", address="10.0.0.9", **said),
    ):
        with pytest.raises(Conflict) as refused:
            deed()
        assert refused.value.facts["pointer"] == "/static_acknowledged"
    first = world.claim(mac=mac(16), handle="other", static_acknowledged=True)
    assert world.claim(mac=mac(16), handle="other").claim.id == first.claim.id, "that is no content"


def test_a_static_address_that_stays_beside_needs_nobody() -> None:
    world = lan(on_override="keep")
    machine(world, "m1")
    world.claim(mac=mac(16), static=True, handle="by-hand")
    world.claim(mac=mac(16), handle="other")
    assert holds(world) == {"10.0.0.1": "alias", "10.0.0.2": "primary"}


def test_a_former_user_is_not_answered_with_what_another_has() -> None:
    world = lan()
    machine(world, "m1")
    machine(world, "m2")
    given = world.claim(mac=mac(16), handle="A")
    reassign(world, given.addresses[0].ip, interface=mac(32))
    with pytest.raises(Conflict, match="m2"):
        world.claim(mac=mac(16), handle="A")


def test_a_replaced_mac_still_asks_for_its_own() -> None:
    world = lan()
    machine(world, "m1", u.NewInterface(mac=mac(16), network="prod", name="e0"))
    given = world.claim(mac=mac(16), handle="A")
    world.do(u.ChangeMachine(machine="m1", changes={"interfaces": [{"mac": mac(99), "name": "e0"}]}))
    assert world.claim(mac=mac(16), handle="A").claim.id == given.claim.id


# Harvest


def unseen() -> World:
    """A machine that nobody has seen, with an address of its own, in a network that lacks addresses."""
    world = lan("10.0.0.0/28", harvest=True, harvest_below=14, harvest_after=3600)
    ready(world, "m1")
    return world


def test_what_a_machine_was_given_by_itself_is_harvested() -> None:
    world = unseen()
    world.wait(7200)
    world.do(u.Lapse())
    assert holds(world) == {}


def test_an_address_that_a_person_named_is_not_harvested() -> None:
    world = unseen()
    reassign(world, "10.0.0.1", address="10.0.0.9")
    world.wait(7200)
    world.do(u.Lapse())
    assert holds(world) == {"10.0.0.9": "primary"}


def test_an_address_that_a_person_put_into_a_machines_own_claim_is_not_harvested() -> None:
    world = unseen()
    world.claim(handle="other", address="10.0.0.7")
    own = next(claim for claim in world.tables.open("claims") if claim.project == "machine")
    reassign(world, "10.0.0.7", claim=own.id)
    world.wait(7200)
    world.do(u.Lapse())
    assert "10.0.0.7" in holds(world)


def test_what_was_taken_back_with_a_refusal_leaves_no_rest() -> None:
    world = lan(cooldown=60)
    use = ClaimRequest(network="prod", address="10.0.0.3", during_cooldown=True)
    kept = world.claim(address="10.0.0.3")
    world.release(kept)
    tried = u.Together(uses=(u.ClaimAddresses(request=use, handle="a"), u.ClaimAddresses(request=use, handle="b")))
    both = u.Together(uses=(tried, u.ClaimAddresses(request=use, handle="c")))
    with pytest.raises(AlreadyAllocated):
        world.do(both)
    assert world.do(u.ClaimAddresses(request=use, handle="c")).addresses[0].ip == "10.0.0.3"
