"""Cases from the trackers of others, as far as they show at this level; each names its source."""

from typing import Any

import pytest

from tenure.engine.fingerprint import fingerprint
from tenure.engine.strategies import STRATEGIES
from tenure.errors import AlreadyAllocated, Conflict, Exhausted, InUse, InvalidValue, NotFound, Overlap
from tenure.model import uses as u
from tenure.net.addresses import number_of
from tests.engine import naive
from tests.engine.world import World, site


@pytest.mark.parametrize(
    ("cidr", "fields", "usable"),
    [
        ("10.0.0.0/31", {}, ["10.0.0.0", "10.0.0.1"]),  # netbox 2757
        ("10.0.0.7/32", {}, ["10.0.0.7"]),  # go-ipam 23
        ("2001:db8::/127", {}, ["2001:db8::", "2001:db8::1"]),  # netbox 2757
        ("2001:db8::9/128", {}, ["2001:db8::9"]),
        ("10.0.0.0/30", {}, ["10.0.0.1", "10.0.0.2"]),
        ("10.0.0.0/30", {"use_all_addresses": True}, [f"10.0.0.{n}" for n in range(4)]),  # go-ipam PR 199
        ("2001:db8::/126", {}, ["2001:db8::1", "2001:db8::2", "2001:db8::3"]),  # netbox 4264, phpipam 3676
        ("10.0.0.0/29", {"gateway": "10.0.0.1", "dns_servers": ["10.0.0.2"]}, [f"10.0.0.{n}" for n in range(3, 7)]),
    ],
)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_usable_address_is_given_and_no_other(
    cidr: str, fields: dict[str, object], usable: list[str], strategy: str
) -> None:
    world = site(cidr, strategy=strategy, fields=fields)
    assert sorted(world.ip(host="h0-0") for _ in usable) == sorted(usable)
    with pytest.raises(Exhausted):  # phpipam 3538: never one outside
        world.ip(host="h0-0")
    naive.check(world)


def test_the_first_of_a_slash_64_is_1_and_the_last_is_usable() -> None:  # netbox 4264
    world = site("2001:db8::/64", strategy="first_free")
    assert world.ip() == "2001:db8::1"
    last = "2001:db8::ffff:ffff:ffff:ffff"
    assert world.ip(address=last) == last


def test_switching_back_edges_that_are_held_is_refused() -> None:  # go-ipam PR 199
    world = site("10.0.0.0/30", fields={"use_all_addresses": True})
    world.ip(address="10.0.0.3")
    with pytest.raises(InUse):
        world.do(u.ChangeSubnet(subnet="10.0.0.0/30", changes={"use_all_addresses": False}))


@pytest.mark.parametrize(
    ("cidr", "named"), [("10.0.0.1/24", "10.0.0.0/24"), ("10.0.0.1/0", "0.0.0.0/0")]
)  # go-ipam PR 52, netbox 3864
def test_host_bits_are_refused_with_the_right_prefix(cidr: str, named: str) -> None:
    with pytest.raises(InvalidValue, match=named):
        site(cidr)


def test_resizing_lets_holders_follow() -> None:  # NIPAP 515
    world = site("10.0.0.0/29")
    held = world.claim(host="h0-0")
    world.do(u.ChangeSubnet(subnet="10.0.0.0/29", changes={"cidr": "10.0.0.0/28"}))
    assert world.space("10.0.0.0/28").held == 1
    world.ip(address="10.0.0.7")  # the old broadcast address
    world.release(held)
    naive.check(world)


@pytest.mark.parametrize("cidr", ["10.0.4.0/21", "10.0.6.0/23", "10.1.0.0/22", "2001:db8::/64"])  # phpipam 34
def test_a_misaligned_or_losing_resize_is_refused(cidr: str) -> None:
    world = site("10.0.4.0/22")
    world.ip(address="10.0.4.9")
    with pytest.raises((InvalidValue, InUse)):
        world.do(u.ChangeSubnet(subnet="10.0.4.0/22", changes={"cidr": cidr}))


def test_a_nested_subnet_keeps_its_addresses_from_its_parent() -> None:  # nautobot 6496
    world = site("10.0.0.0/28", "10.0.0.8/29")
    given = {world.ip(subnet="10.0.0.0/28") for _ in range(7)}
    assert given == {f"10.0.0.{n}" for n in range(1, 8)}
    world.do(u.DeleteSubnet(subnet="10.0.0.8/29"))
    assert world.space("10.0.0.0/28").available == 7


def test_overlap_is_refused_in_one_vrf_and_fine_in_two() -> None:  # MAAS LP 1964644, whereabouts 133
    world = site("10.0.0.0/24")
    world.do(u.CreateVrf(name="blue"))
    world.do(u.CreateNetwork(name="other"))
    world.do(u.CreateNetwork(name="far", vrf="blue"))
    for cidr in ("10.0.0.0/24", "10.0.0.0/25", "10.0.0.0/16"):
        with pytest.raises(Overlap, match="choose another prefix, or another vrf"):
            world.do(u.CreateSubnet(network="other", cidr=cidr))
    world.do(u.CreateSubnet(network="far", cidr="10.0.0.0/24"))
    assert world.ip(network="far", address="10.0.0.9") == world.ip(address="10.0.0.9")


def test_ranges_are_kept_and_do_not_cross() -> None:  # netbox 6934, 17358, 20794
    world = site("10.0.0.0/28")
    world.do(u.CreateRange(subnet="10.0.0.0/28", start="10.0.0.1", end="10.0.0.12", role="reserved"))
    with pytest.raises(Overlap):
        world.do(u.CreateRange(subnet="10.0.0.0/28", start="10.0.0.12", end="10.0.0.13", role="dynamic"))
    assert {world.ip(), world.ip()} == {"10.0.0.13", "10.0.0.14"}
    with pytest.raises(Exhausted):
        world.ip()


def test_a_subnet_in_use_names_its_holders() -> None:  # MAAS LP 2138223
    world = site("10.0.0.0/28")
    ip = world.ip()
    with pytest.raises(InUse) as refused:
        world.do(u.DeleteSubnet(subnet="10.0.0.0/28"))
    assert refused.value.facts == {"holders": [ip], "count": 1}


def test_the_same_handle_has_the_same_answer_when_the_network_is_full() -> None:  # whereabouts 291
    world = site("10.0.0.0/31")
    first = world.claim(handle="a")
    world.claim(handle="b")
    assert world.claim(handle="a").addresses == first.addresses
    with pytest.raises(Conflict) as refused:  # netbox-operator 82
        world.claim(handle="a", count=2)
    assert refused.value.facts["differs"] == {"count": [1, 2]}
    world.release(first)
    world.wait(1000)
    assert world.claim(handle="a", project="other").claim.id != first.claim.id  # netbox-operator 500


def test_a_family_that_was_not_said_stays_what_it_was() -> None:
    world = site("10.0.0.0/24")
    first = world.claim(handle="a")
    world.do(u.CreateSubnet(network="prod", cidr="2001:db8::/64"))
    assert world.claim(handle="a").claim.id == first.claim.id
    assert len(world.claim(handle="b").addresses) == 2


def test_a_late_release_does_not_free_the_next_holder() -> None:  # calico 7192, azure-container-networking 885
    world = site("10.0.0.0/31", cooldown=0)
    old = world.claim(handle="pod")
    world.release(old)
    new = world.claim(handle="pod")
    assert world.release(old).claim.until is not None
    assert world.claim(handle="pod").claim.id == new.claim.id
    with pytest.raises(Conflict):
        world.release(new, handle="other")


def test_all_or_none() -> None:  # kube-controllers 901
    world = site("10.0.0.0/30", "2001:db8::/128")
    world.ip(family="v6")
    for fields in ({"family": "dual"}, {"family": "v4", "count": 3}):
        with pytest.raises(Exhausted):  # the world asserts that nothing was left
            world.claim(**fields)
    assert world.space("10.0.0.0/30").held == 0


def test_named_addresses_are_given_or_refused_at_once() -> None:  # netbox 10282, LP 1695740
    world = site("10.0.0.0/28", fields={"gateway": "10.0.0.1"}, model="clustered")
    held = world.claim(address="10.0.0.5", defer=True)
    assert held.addresses[0].ip == "10.0.0.5"
    with pytest.raises(AlreadyAllocated):
        world.claim(address="10.0.0.5")
    for address, error in (("10.0.0.1", Conflict), ("10.0.0.0", Conflict), ("10.9.0.1", InvalidValue)):
        with pytest.raises(error):
            world.claim(address=address)
    world.release(held)
    with pytest.raises(Conflict, match="during_cooldown"):
        world.claim(address="10.0.0.5")
    assert world.ip(address="10.0.0.5", during_cooldown=True) == "10.0.0.5"


def test_a_rest_that_was_cut_short_is_not_forgotten() -> None:
    world = site("10.0.0.0/30", cooldown=3600)
    world.release(world.claim(address="10.0.0.1"))
    world.do(u.ChangeNetwork(network="prod", changes={"cooldown": 0}))
    world.release(world.claim(address="10.0.0.1", during_cooldown=True))
    assert not world.space("10.0.0.0/30").is_free(0x0A000001)
    world.wait(3600)
    assert world.space("10.0.0.0/30").is_free(0x0A000001)


def test_the_same_address_is_not_reused_while_others_rested_longer() -> None:  # calico 6968, whereabouts 288
    world = site("10.0.0.0/24", cooldown=0)
    seen = []
    for _ in range(14):
        held = world.claim(host="h0-0")
        seen.append(held.addresses[0].ip)
        world.release(held)
    assert len(set(seen)) == 14


def test_a_rest_lasts_until_the_latest_of_its_reasons() -> None:
    world = site("10.0.0.0/24", cooldown=10, ttl=600, domain="prod.example.")
    plain, named = world.claim(), world.claim(hostname="web")
    world.release(plain)
    world.release(named)
    assert world.space("10.0.0.0/24").cooling == 2
    world.wait(10)
    assert world.space("10.0.0.0/24").cooling == 1
    world.wait(590)
    assert world.space("10.0.0.0/24").cooling == 0


def test_a_hard_boundary_names_itself_and_what_is_free_elsewhere() -> None:  # calico 8435
    hard, soft = (site("10.0.0.0/28", boundary=boundary, block_length_v4=28) for boundary in ("hard", "soft"))
    for world in (hard, soft):
        world.ip(host="h0-0")
    with pytest.raises(Exhausted) as refused:
        hard.ip(host="h1-0")
    assert refused.value.facts["boundary"] == "hard"
    assert refused.value.facts["available_elsewhere"] == 13
    lent = soft.claim(host="h1-0").addresses[0]
    assert soft.space("10.0.0.0/28").block_at(number_of(lent.ip)).lender.text == "10.0.0.0/28"


def test_forty_hosts_have_forty_blocks_and_one_host_one() -> None:  # libcalico-go 785, calicoctl 1378
    world = site("10.0.0.0/20", racks=4, hosts=10)
    blocks = {world.claim(host=f"h{r}-{h}").addresses[0].block for r in range(4) for h in range(10)}
    assert len(blocks) == 40
    assert len({world.claim(host="h0-0").addresses[0].block for _ in range(10)}) == 1


@pytest.mark.parametrize("lengths", [(28, 30), (30, 28), (32, 27), (26, 32)])
def test_blocks_never_overlap_and_a_soft_claim_never_fails(lengths: tuple[int, int]) -> None:  # libcalico-go 1377
    world = site("10.0.0.0/25", block_length_v4=lengths[0])
    for n in range(20):
        world.ip(host=f"h{n % 2}-{n % 3}")
    world.do(u.ChangeNetwork(network="prod", changes={"block_length_v4": lengths[1]}))
    naive.check(world)
    free = [n for n in range(0x0A000002, 0x0A00007E) if all(map(world.space("10.0.0.0/25").is_free, (n, n + 1)))]
    start, end = (f"10.0.0.{n & 127}" for n in (free[-1], free[-1] + 1))
    world.do(u.CreateRange(subnet="10.0.0.0/25", start=start, end=end, role="reserved"))
    while world.space("10.0.0.0/25").available:
        world.ip(host="h1-1")
        naive.check(world)


def test_a_host_that_leaves_gives_its_blocks_back() -> None:
    world = site("10.0.0.0/24")
    held = world.claim(host="h0-0")
    with pytest.raises(InUse):
        world.do(u.DeleteLocation(location="h0-0"))
    world.do(u.RebindClaim(claim=held.claim.id, host="h0-1"))
    world.do(u.DeleteLocation(location="h0-0"))
    space = world.space("10.0.0.0/24")
    assert [block.owner for block in space.blocks.values()] == [None]
    world.release(held)
    assert not space.blocks
    naive.check(world)


def test_waiting_claims_are_counted_and_bound_near_their_host() -> None:
    world = site("10.0.0.0/30")
    first = world.claim(defer=True)
    world.claim(defer=True)
    with pytest.raises(Exhausted) as refused:
        world.claim(defer=True)
    assert refused.value.facts["waiting"] == 2
    bound = world.do(u.BindClaim(claim=first.claim.id, host="h1-0"))
    assert bound.claim.state == "bound"
    assert len(bound.addresses) == 1
    assert world.do(u.BindClaim(claim=first.claim.id, host="h1-0")) == bound
    with pytest.raises(Conflict):
        world.do(u.BindClaim(claim=first.claim.id, host="h0-0"))


def test_a_claim_bound_where_its_subnet_does_not_reach_is_refused() -> None:  # LP 1865891's neighbour
    world = site(model="clustered")
    world.do(u.CreateSubnet(network="prod", cidr="10.0.0.0/24", fields={"locations": ["r0"]}))
    waiting = world.claim()
    before = fingerprint(world.state)
    with pytest.raises(Exhausted):
        world.do(u.BindClaim(claim=waiting.claim.id, host="h1-0"))
    assert fingerprint(world.state) == before
    assert len(world.do(u.BindClaim(claim=waiting.claim.id, host="h0-0")).addresses) == 1


def test_a_subnet_deleted_under_a_waiting_claim_fails_cleanly() -> None:  # LP 1865891
    world = site("10.0.0.0/24", "10.0.1.0/24")
    waiting = world.claim(subnet="10.0.0.0/24", defer=True)
    world.do(u.DeleteSubnet(subnet="10.0.0.0/24"))
    with pytest.raises(Conflict, match="gone"):
        world.do(u.BindClaim(claim=waiting.claim.id, host="h0-0"))


def test_names_are_taken_once_but_shared_by_one_machine() -> None:
    world = site("10.0.0.0/24", domain="prod.example.")
    world.claim(hostname="web")
    with pytest.raises(Conflict) as refused:
        world.claim(hostname="web")
    assert refused.value.facts["name"] == "web.prod.example."
    world.do(u.CreateMachine(name="Box"))
    names = {world.claim(machine="Box").addresses[0].name for _ in range(2)}
    assert names == {"box.prod.example."}
    with pytest.raises(Conflict):
        world.claim(hostname="box")
    waiting = world.claim(hostname="late", defer=True)
    world.claim(hostname="late")
    with pytest.raises(Conflict):
        world.do(u.BindClaim(claim=waiting.claim.id, host="h0-0"))


@pytest.mark.parametrize(
    ("fields", "error", "pointer"),
    [
        ({"host": ""}, NotFound, "/host"),
        ({"subnet": ""}, NotFound, "/subnet"),
        ({"mac": ""}, InvalidValue, "/mac"),
        ({"hostname": "a\0b"}, InvalidValue, "/hostname"),
        ({"hostname": "-a"}, InvalidValue, "/hostname"),
        ({"machine": "x\0"}, InvalidValue, "/machine"),
        ({"count": 0}, InvalidValue, "/count"),
        ({"count": 1025}, InvalidValue, "/count"),
        ({"address": "10.0.0.09"}, InvalidValue, "/address"),
    ],
)
def test_malformed_requests_name_the_field(fields: dict[str, Any], error: type[Exception], pointer: str) -> None:
    world = site("10.0.0.0/24")
    with pytest.raises(error) as refused:
        world.claim(**fields)
    assert getattr(refused.value, "facts")["pointer"] == pointer  # noqa: B009


def moved(world: World, renumber: bool) -> tuple[str, str]:
    held = world.claim(host="h0-0")
    after = world.do(u.RebindClaim(claim=held.claim.id, host="h1-0", renumber=renumber))
    return held.addresses[0].ip, after.addresses[0].ip


def test_rebind_keeps_or_renumbers() -> None:
    before, after = moved(site("10.0.0.0/24"), renumber=False)
    assert before == after
    before, after = moved(site("10.0.0.0/24"), renumber=True)
    assert before != after
    with pytest.raises(Conflict, match="hard"):
        moved(site("10.0.0.0/24", boundary="hard"), renumber=False)


def test_an_ipv6_gateway_may_be_a_link_local_address() -> None:
    world = site("2001:db8::/64", fields={"gateway": "fe80::1"})
    assert world.ip() == "2001:db8::1"
    with pytest.raises(InvalidValue):
        site("10.0.0.0/24", fields={"gateway": "169.254.0.1"})


def test_a_claim_waits_only_where_a_subnet_could_ever_serve_it() -> None:
    world = site("10.0.0.0/24", model="clustered")
    for defer in (False, True):
        with pytest.raises(Exhausted, match="no locations") as refused:
            world.claim(defer=defer)
        assert refused.value.facts["available"] == 0
    assert world.claim(defer=True, subnet="10.0.0.0/24").claim.state == "pending", "it names where"
    world.do(u.CreateSubnet(network="prod", cidr="10.0.1.0/30", fields={"locations": ["r0"]}))
    assert world.claim().claim.state == "pending"
    with pytest.raises(Exhausted) as refused:
        world.claim()
    assert refused.value.facts["available"] == 2 and "no locations" not in str(refused.value)
