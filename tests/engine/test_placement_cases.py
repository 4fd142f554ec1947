"""Cases of identity, of a subnet's edges and of placement from the trackers of others: what `test_cases` leaves out.

Each names its source. Those that need writers and threads are in `tests/service/test_parallel_cases.py`.
"""

from collections import Counter
from itertools import product

import pytest

from tenure.engine.routes import Level, Route, RouteTable, host, hosts
from tenure.engine.state import State
from tenure.errors import Exhausted, InUse, InvalidValue
from tenure.model import uses as u
from tenure.model.answers import Capacity, Count
from tenure.net.addresses import number_of, parse_prefix
from tests.engine import naive
from tests.engine.test_counting import hall
from tests.engine.world import World, site


def counted(world: World) -> tuple[Count, Count]:
    """The network's addresses, v4 and v6; each must add up, and none may be less than none."""
    found = world.do(u.ReadCapacity(network="prod"))
    assert isinstance(found, Capacity)
    for count in (found.v4, found.v6):
        parts = (count.in_use, count.reserved, count.cooling, count.available)
        assert min(parts) >= 0
        assert sum(parts) == count.capacity
    return found.v4, found.v6


# Uniqueness and identity


def test_what_is_held_is_known_before_anything_is_given() -> None:
    """cilium 17277, amazon-vpc-cni-k8s 711: a memory that was lost is read from the rows before the first claim."""
    world = site("10.0.0.0/28", cooldown=3600)
    held = [world.claim(host=f"h{n % 2}-0") for n in range(8)]
    world.release(held.pop())
    busy = {each.addresses[0].ip for each in held}
    world.state = State.load(world.tables, world.now)
    naive.check(world)
    given = {world.ip(host="h1-2") for _ in range(6)}
    assert len(given | busy) == 13  # one of the 14 rests
    with pytest.raises(Exhausted):
        world.ip(host="h1-2")
    assert world.claim(handle=held[0].claim.handle, host="h0-0").claim.id == held[0].claim.id


def test_a_claim_that_found_no_room_is_decided_once_there_is_some() -> None:
    """cluster-api-ipam-provider-in-cluster 179: a full network refuses the binding, not the claim, which waits on."""
    world = site("10.0.0.0/31", cooldown=0)
    first, waiting, _ = world.claim(), world.claim(defer=True), world.claim()
    with pytest.raises(Exhausted):
        world.do(u.BindClaim(claim=waiting.claim.id, host="h0-0"))
    world.release(first)
    bound = world.do(u.BindClaim(claim=waiting.claim.id, host="h0-0"))
    assert bound.addresses[0].ip == first.addresses[0].ip


# Edges of a subnet


@pytest.mark.parametrize("strategy", ["topology", "first_free"])
@pytest.mark.parametrize("cidr", ["10.0.0.0/8", "2001:db8::/64", "2000::/8"])
def test_an_address_from_an_empty_huge_subnet_costs_what_one_from_a_small_one_does(cidr: str, strategy: str) -> None:
    """netbox 14026, 8208: nothing is listed, and pages are made for what is held alone; only levels of tries add."""
    small, huge = hall("10.0.0.0/22", 2, strategy=strategy), hall(cidr, 2, strategy=strategy)
    assert huge.cost(host="h0") <= 8 * small.cost(host="h0")
    assert len(huge.world.space(cidr).pages) <= 3


def test_counts_are_never_negative_and_never_more_than_all() -> None:
    """phpipam 1999, netbox 1953: whatever is set aside around addresses that are held or rest."""
    world = site("10.0.0.0/28", cooldown=600, fields={"use_all_addresses": True})
    held = [world.claim(address=f"10.0.0.{n}") for n in range(8)]
    assert counted(world)[0] == Count(capacity=16, in_use=8, available=8)
    for each in held[3:]:
        world.release(each)
    assert counted(world)[0] == Count(capacity=16, in_use=3, cooling=5, available=8)
    world.do(u.CreateRange(subnet="10.0.0.0/28", start="10.0.0.4", end="10.0.0.7", role="reserved"))
    world.do(u.CreateSubnet(network="prod", cidr="10.0.0.8/29"))
    counted(world)
    for each in held[:3]:
        world.release(each)
    changes = {"use_all_addresses": False, "gateway": "10.0.0.1"}
    world.do(u.ChangeSubnet(subnet="10.0.0.0/28", changes=changes))
    counted(world)
    world.wait(600)
    assert counted(world)[0].in_use == counted(world)[0].cooling == 0
    naive.check(world)


def test_all_of_ipv6_does_not_count_ipv4() -> None:
    """nautobot 3319: a subnet counts its own family, and none is the whole of it."""
    world = site("0a00::/8", "10.0.0.0/24")
    world.ip(family="v4")
    v4, v6 = counted(world)
    assert (v4.capacity, v4.in_use) == (254, 1)
    assert (v6.capacity, v6.in_use, v6.available) == (2**120 - 1, 0, 2**120 - 1)
    with pytest.raises(InvalidValue):
        site("::/0")


@pytest.mark.parametrize("text", ["2001:DB8::/64", "2001:0db8:0000::/64", "2001:db8:0:0:0:0:0:0/64"])
def test_a_subnet_has_one_spelling(text: str) -> None:
    """phpipam 2048: leading zeros and upper case are the same subnet."""
    assert [space.subnet.cidr for space in site(text).state.subnets.values()] == ["2001:db8::/64"]


def test_no_address_stands_with_a_prefix_length() -> None:
    """netbox 3864: a length of 0, or any, is no part of an address."""
    world = site("10.0.0.0/24")
    for text in ("10.0.0.5/0", "10.0.0.5/24", "10.0.0.5/32"):
        with pytest.raises(InvalidValue):
            world.ip(address=text)


def test_a_subnet_that_grows_keeps_its_blocks_and_one_that_shrinks_keeps_its_holders() -> None:
    """NIPAP 515: holders follow a subnet's new prefix, in their blocks; none is left outside."""
    world = site("10.0.0.0/26", block_length_v4=29)
    held = [world.claim(host=f"h{n % 2}-{n % 3}") for n in range(12)]
    before = {each.addresses[0].block for each in held}
    world.do(u.ChangeSubnet(subnet="10.0.0.0/26", changes={"cidr": "10.0.0.0/25"}))
    naive.check(world)
    assert {block.text for block in world.space("10.0.0.0/25").blocks.values()} == before
    world.ip(address="10.0.0.99")
    with pytest.raises(InUse):
        world.do(u.ChangeSubnet(subnet="10.0.0.0/25", changes={"cidr": "10.0.0.0/26"}))


# Placement


@pytest.mark.parametrize("boundary", ["soft", "hard"])
def test_single_address_blocks_have_no_cap(boundary: str) -> None:
    """calico 9462: with blocks of one address a host may have as many as there are."""
    world = site("10.0.0.0/26", boundary=boundary, block_length_v4=32)
    given = {world.ip(host="h0-0") for _ in range(62)}
    assert len(given) == 62
    naive.check(world)


def test_a_soft_boundary_gives_while_there_is_one() -> None:
    """calico 8435: the second host has what the first one's block can spare, to the last address, in few pieces."""
    world = site("10.0.0.0/27", block_length_v4=27)
    first = world.claim(host="h0-0")
    held = [world.claim(host="h1-0") for _ in range(29)]
    with pytest.raises(Exhausted):
        world.ip(host="h1-0")
    assert len({each.addresses[0].ip for each in (first, *held)}) == 30
    for each in held:
        world.release(each)
    world.wait(1000)
    assert len({world.ip(host="h0-0") for _ in range(29)}) == 29
    naive.check(world)


@pytest.mark.parametrize("length", [29, 32])
def test_what_an_idle_host_left_empty_is_had_by_who_needs_it(length: int) -> None:
    """cilium 37746, calico 7987, PR 11149: on a hard boundary too, and down to blocks of one address."""
    world = site("10.0.0.0/27", boundary="hard", block_length_v4=length, cooldown=0)
    for name in ("h0-0", "h0-1", "h1-0", "h1-1"):
        held = []
        with pytest.raises(Exhausted):
            while True:
                held.append(world.claim(host=name))
        assert len(held) == 30
        naive.check(world)
        for each in held:
            world.release(each)


def table(world: World, level: Level, cidr: str) -> list[Route]:
    """A router's smallest table for one subnet."""
    space, made = world.space(cidr), RouteTable(32, level)
    for block in world.tables.blocks():
        first, length = int(parse_prefix(block.cidr).network_address), parse_prefix(block.cidr).prefixlen
        made.put("block" if block.kind == "host" else "region", first, length, block.owner)
    for number, holder in space.loose.items():
        made.put("loose", number, 32, holder)
    return made.routes()


def hop(routes: list[Route], ip: str, default: str | None) -> str | None:
    """Where the longest match sends an address."""
    matching = [route for route in routes if (number_of(ip) ^ route.first) >> (32 - route.length) == 0]
    return max(matching, key=lambda route: route.length).hop if matching else default


def test_a_moved_or_borrowed_address_is_reached_from_its_blocks_owner_too() -> None:
    """calico 3246, 4287: the owner's own aggregate does not swallow what is used elsewhere."""
    world = site("10.0.0.0/28", block_length_v4=29, rack_block_length_v4=28)
    held = [world.claim(host="h0-0") for _ in range(3)]
    world.do(u.RebindClaim(claim=held[1].claim.id, host="h1-0"))
    owner, moved = (str(world.state.find("location", name)) for name in ("h0-0", "h1-0"))
    stayed, away = held[0].addresses[0].ip, held[1].addresses[0].ip
    near, fabric = (table(world, level, "10.0.0.0/28") for level in (host(owner), hosts(world.state.locations)))
    assert [hop(near, ip, "up") for ip in (stayed, away)] == ["local", "up"]
    assert [hop(fabric, ip, None) for ip in (stayed, away)] == [owner, moved]


def test_single_address_blocks_have_no_black_hole() -> None:
    """calico 2624, 9462: whatever is unreachable between blocks of one address, each that is held arrives."""
    world = site("10.0.0.0/27", block_length_v4=32)
    held = [world.claim(host=f"h{n % 2}-{n % 3}") for n in range(24)]
    for each in held[::3]:
        world.release(each)
    fabric = table(world, hosts(world.state.locations), "10.0.0.0/27")
    for each in (one for at, one in enumerate(held) if at % 3):
        assert hop(fabric, each.addresses[0].ip, None) == each.claim.host
        assert hop(table(world, host(each.claim.host), "10.0.0.0/27"), each.addresses[0].ip, "up") == "local"


def test_racks_beyond_the_usual_number_begin_with_as_much_as_each_other() -> None:
    """48 racks in a subnet that has 32 rack blocks of the usual length: none is left to what others lend."""
    world = site("10.0.0.0/18", racks=48)
    for rack in range(48):
        for at in range(3):
            world.claim(host=f"h{rack}-{at}")
    space = world.space("10.0.0.0/18")
    assert [(region.kind, region.length) for region in space.regions.values() if region.kind == "rack"] == (
        [("rack", 24)] * 48
    )
    assert len(space.blocks) == 48 * 3
    assert not space.borrowed


def test_sites_beside_each_other_begin_with_as_much_as_each_other_and_their_racks_with_parts_of_that() -> None:
    world = site("10.0.0.0/16", racks=0)
    for at in range(2, 5):
        world.do(u.CreateLocation(name=f"s{at}", kind="site"))
    for at in range(1, 5):
        for rack in range(16):
            world.do(u.CreateLocation(name=f"r{at}-{rack}", kind="rack", parent=f"s{at}"))
            world.do(u.CreateLocation(name=f"h{at}-{rack}", kind="host", parent=f"r{at}-{rack}"))
    for at, rack in product(range(1, 5), range(16)):
        world.claim(host=f"h{at}-{rack}")
    lengths = Counter((region.kind, region.length) for region in world.space("10.0.0.0/16").regions.values())
    assert lengths == {("site", 18): 4, ("rack", 22): 64}
