"""How the addresses of an interface stand to each other, and what comes back."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tenure.errors import Conflict
from tenure.model import events as e
from tenure.model import uses as u
from tenure.model.answers import Displaced
from tenure.model.leases import Client, Place
from tenure.net.addresses import number_of
from tests.engine.world import World, site

MAC = "52:54:00:0a:0b:0c"


def standing(world: World, *ips: str) -> list[str]:
    """How open addresses stand, `-` for one that is not held."""
    now = {a.ip: a.standing for a in world.tables.open("allocations")}
    return [now.get(ip, "-") for ip in ips]


def over(world: World, **fields: Any) -> Any:
    return world.claim(mac=MAC, **fields)


@pytest.mark.parametrize(
    ("how", "became", "stands", "comes_back"),
    [
        ("shelve", "shelved", "shelved", ("restored",)),
        ("keep", "kept", "alias", ("restored",)),
        ("release", "released", "-", ()),
    ],
)
@pytest.mark.parametrize("per", ["network", "call"])
def test_what_becomes_of_the_old_address(
    how: str, became: str, stands: str, comes_back: tuple[str, ...], per: str
) -> None:
    network: dict[str, Any] = (
        {"on_override": how} if per == "network" else {"on_override": "keep" if how == "shelve" else "shelve"}
    )
    world = site("10.0.0.0/24", **network)
    old = over(world, host="h0-0")
    new = over(world, host="h0-0", on_override=None if per == "network" else how)
    first, second = old.addresses[0].ip, new.addresses[0].ip
    assert new.displaced == (Displaced(first, became, old.claim.id),)
    assert standing(world, first, second) == [stands, "primary"]
    assert world.space("10.0.0.0/24").held == (1 if how == "release" else 2)
    ended = world.release(new)
    assert tuple(each.became for each in ended.displaced) == comes_back
    assert standing(world, first, second) == ["primary" if comes_back else "-", "-"]


def test_a_released_one_rests_and_its_claim_ends() -> None:
    world = site("10.0.0.0/24", on_override="release")
    old = over(world)
    over(world)
    closed = next(c for c in world.tables.all("claims") if c.id == old.claim.id)
    assert closed.state == "released"
    assert world.space("10.0.0.0/24").cooling == 1
    said = [event for event in world.events if isinstance(event, e.AddressReleased)]
    assert [(event.reason, event.closes) for event in said] == [("displaced", True)]


def test_the_same_handle_has_the_same_answer_after_it_displaced_another() -> None:
    world = site("10.0.0.0/24")
    over(world)
    new = over(world, handle="again")
    recorded = len(world.events)
    again = over(world, handle="again")
    assert (again.claim, again.addresses, again.created) == (new.claim, new.addresses, False)
    assert len(world.events) == recorded


def test_a_chain_unwinds_from_its_end() -> None:
    world = site("10.0.0.0/24")
    a, b, c = (over(world) for _ in range(3))
    ips = [held.addresses[0].ip for held in (a, b, c)]
    assert standing(world, *ips) == ["shelved", "shelved", "primary"]
    world.release(c)
    assert standing(world, *ips) == ["shelved", "primary", "-"]
    world.release(b)
    assert standing(world, *ips) == ["primary", "-", "-"]


def test_what_ends_in_the_middle_of_a_chain_restores_nothing() -> None:
    world = site("10.0.0.0/24")
    a, b, c = (over(world) for _ in range(3))
    ips = [held.addresses[0].ip for held in (a, b, c)]
    assert world.release(b).displaced == ()
    assert standing(world, *ips) == ["shelved", "-", "primary"]
    assert world.release(c).displaced == (Displaced(ips[0], "restored", a.claim.id),)
    assert standing(world, *ips) == ["primary", "-", "-"]


def test_what_a_released_one_had_displaced_comes_back_after_its_successor() -> None:
    world = site("10.0.0.0/24")
    a, b = over(world), over(world)
    c = over(world, on_override="release")
    ips = [held.addresses[0].ip for held in (a, b, c)]
    assert standing(world, *ips) == ["shelved", "-", "primary"]
    world.release(c)
    assert standing(world, *ips) == ["primary", "-", "-"]


def test_each_family_stands_for_itself() -> None:
    world = site("10.0.0.0/24", "2001:db8::/64")
    both = over(world, family="dual")
    v4, v6 = (held.ip for held in both.addresses)
    new = over(world, family="v4")
    assert standing(world, v4, v6) == ["shelved", "primary"]
    assert world.release(both).displaced == ()
    assert standing(world, v4, v6, new.addresses[0].ip) == ["-", "-", "primary"]


def test_networks_do_not_displace_each_other() -> None:
    world = site("10.0.0.0/24")
    world.do(u.CreateNetwork(name="other"))
    world.do(u.CreateSubnet(network="other", cidr="10.1.0.0/24"))
    assert [over(world).displaced, over(world, network="other").displaced] == [(), ()]


def test_aliases_stand_beside_and_leave_the_rest() -> None:
    world = site("10.0.0.0/24", "10.0.1.0/24")
    main = over(world)
    aliases = [over(world, alias=True, subnet=cidr) for cidr in ("10.0.0.0/24", "10.0.1.0/24")]
    several = over(world, alias=True, count=3)
    assert [held.displaced for held in (*aliases, several)] == [(), (), ()]
    ips = [a.ip for held in (main, *aliases, several) for a in held.addresses]
    assert standing(world, *ips) == ["primary", *["alias"] * 5]
    world.release(aliases[0])
    assert standing(world, *ips) == ["primary", "-", *["alias"] * 4]
    world.release(main)
    assert standing(world, *ips) == ["-", "-", *["alias"] * 4]


def test_of_several_for_an_interface_one_is_primary() -> None:
    world = site("10.0.0.0/24", "2001:db8::/64")
    held = over(world, count=3, family="dual")
    by_family = [[a.standing for a in held.addresses if (":" in a.ip) == v6] for v6 in (False, True)]
    assert [sorted(each) for each in by_family] == [["alias", "alias", "primary"]] * 2
    assert {a.standing for a in world.claim(count=3, family="v4").addresses} == {"primary"}


def test_a_shared_address_displaces_nothing_and_is_displaced_by_nothing() -> None:
    world = site("10.0.0.0/24")
    main, vip = over(world), over(world, shared=True)
    new = over(world)
    assert vip.displaced == ()
    assert new.displaced == (Displaced(main.addresses[0].ip, "shelved", main.claim.id),)
    assert standing(world, vip.addresses[0].ip) == ["alias"]


def test_a_shelved_name_is_kept_from_others_and_shared_with_its_machine() -> None:
    world = site("10.0.0.0/24", domain="prod.example.")
    old = over(world, hostname="web")
    new = over(world, hostname="web")
    with pytest.raises(Conflict, match="web.prod.example"):
        world.claim(hostname="web")
    world.release(new)
    world.release(old)
    assert world.claim(hostname="web").addresses[0].name == "web.prod.example."


def test_a_pending_claim_displaces_when_it_is_bound() -> None:
    world = site("10.0.0.0/24")
    old = over(world)
    waits = over(world, defer=True)
    assert waits.displaced == ()
    bound = world.do(u.BindClaim(claim=waits.claim.id, host="h0-0"))
    assert bound.displaced == (Displaced(old.addresses[0].ip, "shelved", old.claim.id),)


def test_what_is_renumbered_stands_as_it_did() -> None:
    world = site("10.0.0.0/24")
    old, new = over(world, host="h0-0"), over(world, host="h0-0")
    moved = world.do(u.RebindClaim(claim=old.claim.id, host="h1-0", renumber=True))
    assert [a.standing for a in moved.addresses] == ["shelved"]
    assert world.release(new).displaced == (Displaced(moved.addresses[0].ip, "restored", old.claim.id),)


STEPS = st.lists(
    st.tuples(st.sampled_from(["shelve", "keep", "release", "alias", "end", "end"]), st.integers(0, 9)), max_size=24
)


@settings(max_examples=60, deadline=None)
@given(steps=STEPS)
def test_one_primary_at_most_and_what_was_displaced_comes_back(steps: list[tuple[str, int]]) -> None:
    """Beside a stack that is kept by hand: each is behind one that is open, and the first is primary in the end."""
    world = site("10.0.0.0/24", racks=1, hosts=1)
    stack: list[Any] = []  # displaced ones first, the primary one last
    aliases: list[Any] = []
    for how, n in steps:
        if how == "end" and stack + aliases:
            gone = (stack + aliases)[n % len(stack + aliases)]
            world.release(gone)
            stack, aliases = [c for c in stack if c is not gone], [c for c in aliases if c is not gone]
        elif how == "alias":
            aliases.append(over(world, alias=True))
        elif how != "end":
            stack = stack[:-1] if how == "release" else stack
            stack.append(over(world, on_override=how))
        open_ = {c.id: c for c in world.tables.open("claims")}
        now = {a.claim: a for a in world.tables.open("allocations")}
        assert set(now) == set(open_) == {held.claim.id for held in stack + aliases}
        for below, above in pairwise(stack):
            assert now[below.claim.id].behind == above.claim.id
        primary = [held for held in stack if now[held.claim.id].standing == "primary"]
        assert primary == stack[-1:]
        assert all((now[c.claim.id].standing, now[c.claim.id].behind) == ("alias", None) for c in aliases)


def test_a_claim_that_is_bound_late_stands_where_it_was_asked_for() -> None:
    world = site("10.0.0.0/24")
    a, b, c = over(world), over(world, defer=True), over(world)
    b = world.do(u.BindClaim(claim=b.claim.id, host="h0-0"))
    ips = [held.addresses[0].ip for held in (a, b, c)]
    behind = {x.ip: x.behind for x in world.tables.open("allocations")}
    assert [behind[ip] for ip in ips] == [b.claim.id, c.claim.id, None]
    world.release(c)
    assert standing(world, *ips) == ["shelved", "primary", "-"]
    world.release(b)
    assert standing(world, *ips) == ["primary", "-", "-"]


def test_of_two_that_were_bound_late_the_later_one_comes_back() -> None:
    world = site("10.0.0.0/24")
    a, b, c, d = (over(world, defer=later) for later in (False, True, True, False))
    late = {held.claim.id: world.do(u.BindClaim(claim=held.claim.id, host="h0-0")) for held in (c, b)}
    b, c = (late[held.claim.id] for held in (b, c))
    ips = [held.addresses[0].ip for held in (a, b, c, d)]
    world.release(d)
    assert standing(world, *ips) == ["shelved", "shelved", "primary", "-"]
    world.release(c)
    assert standing(world, *ips) == ["shelved", "primary", "-", "-"]
    world.release(b)
    assert standing(world, *ips) == ["primary", "-", "-", "-"]


def test_one_that_is_bound_late_releases_what_it_overrides() -> None:
    world = site("10.0.0.0/24")
    a, b, c = over(world), over(world, defer=True, on_override="release"), over(world)
    bound = world.do(u.BindClaim(claim=b.claim.id, host="h0-0"))
    assert [d.became for d in bound.displaced] == ["released"]
    world.release(c)
    assert standing(world, a.addresses[0].ip, bound.addresses[0].ip) == ["-", "primary"]


def test_what_is_released_takes_what_it_replaces_along() -> None:
    world = site("10.0.0.0/24", domain="prod.example.", cooldown=0, ttl=0)
    old = over(world)
    ip = old.addresses[0].ip
    lease = u.LeaseCommit(client=Client(MAC), place=Place(0x0A000001), address=number_of(ip), form="selecting")
    assert world.do(lease).lease is not None
    world.do(u.ReassignAddress(vrf="default", ip=ip, address="10.0.0.9"))
    assert standing(world, ip, "10.0.0.9") == ["alias", "primary"]
    over(world, address="10.0.0.5", on_override="release")
    assert standing(world, ip, "10.0.0.9", "10.0.0.5") == ["-", "-", "primary"]
    assert next(c for c in world.tables.all("claims") if c.id == old.claim.id).state == "released"


def test_what_comes_off_its_shelf_as_an_alias_is_routed_again() -> None:
    world = site("10.0.0.0/24")
    free = world.claim(host="h0-0").addresses[0]
    number = number_of(free.ip) + 1  # in the block of h0-0, and used at another host
    held = over(world, host="h1-0", address=f"10.0.0.{number & 255}")
    claim, allocation = held.claim, next(a for a in world.tables.open("allocations") if a.claim == held.claim.id)
    loose = world.space("10.0.0.0/24").loose
    assert loose == {number: claim.host}
    shelved = replace(allocation, standing="shelved")
    world.state.reduce(e.AddressShelved(claim=claim, allocation=shelved))
    assert loose == {}
    alias = replace(allocation, standing="alias")
    undo = world.state.reduce(e.AddressAliased(claim=claim, allocation=alias, before="shelved"))
    assert loose == {number: claim.host}
    undo()
    assert loose == {}
