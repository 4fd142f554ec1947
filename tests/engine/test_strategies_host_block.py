"""Blocks of one size by host, as Calico gives them."""

from itertools import islice
from typing import Any

import pytest

from tenure.engine.strategies import Candidate, View, Wish, host_block
from tenure.errors import Exhausted
from tenure.model import events as e
from tenure.model import uses as u
from tenure.model.holding import ClaimRequest
from tenure.model.placement import ROOT
from tenure.model.policy import Boundaries, Reach
from tenure.net.addresses import number_of
from tests.engine import naive
from tests.engine.test_counting import SLACK, hall
from tests.engine.world import World, site

HOSTS = [f"h{rack}-{n}" for rack in range(2) for n in range(20)]


def calico(cidr: str, **network: Any) -> World:
    """Forty hosts, and nothing rests."""
    return site(cidr, hosts=20, strategy="host_block", **{"cooldown": 0, **network})


def block_of(holding: Any) -> str:
    return str(holding.addresses[0].block)


def blocks(world: World, host: str | None = None) -> list[str]:
    owner = None if host is None else world.state.find("location", host)
    return [b.cidr for b in world.tables.all("blocks") if owner in (None, b.owner)]


def proposed(world: World, cidr: str, host: str | None, cap: int | None, reach: Reach = "anywhere") -> list[Candidate]:
    """All that the strategy would propose to a host, with a cap of its own."""
    owner = ROOT if host is None else str(world.state.find("location", host))
    wish = Wish(owner, "", (), reach, host or "")
    return list(host_block.capped(cap)(wish, View([world.space(cidr)], str, world.now)))


def test_forty_hosts_at_once_take_forty_blocks() -> None:  # libcalico-go 785
    world = calico("10.0.0.0/20", block_length_v4=26)
    found = [world.claim(host=host) for host in HOSTS]
    assert len({block_of(holding) for holding in found}) == len(blocks(world)) == 40
    assert {holding.addresses[0].title for holding in found} == {"new"}


def test_the_first_requests_of_one_host_take_one_block() -> None:  # calicoctl 1378
    world = calico("10.0.0.0/20", block_length_v4=26)
    uses = tuple(u.ClaimAddresses(request=r, handle=f"n{n}") for n, r in enumerate([request_of("h0-0")] * 50))
    world.do(u.Together(uses=uses))
    assert len(blocks(world)) == 1


def request_of(host: str) -> ClaimRequest:
    return ClaimRequest(network="prod", host=host)


def test_a_host_begins_where_its_name_says_and_goes_on_from_there() -> None:
    """In a crowded subnet it takes the first block from there on that nobody has, around the end."""
    crowded = calico("10.0.0.0/22", block_length_v4=28)
    starts = []
    for host in HOSTS:
        alone = calico("10.0.0.0/22", block_length_v4=28)
        starts.append(place(alone.claim(host=host)))
        taken = {at(cidr) for cidr in blocks(crowded)}
        assert place(crowded.claim(host=host)) == next(
            n % 64 for n in range(starts[-1], starts[-1] + 64) if n % 64 not in taken
        )
    assert len(set(starts)) > 20


def at(cidr: str) -> int:
    """A /28's place in 10.0.0.0/22."""
    third, fourth = cidr.partition("/")[0].split(".")[2:]
    return (int(third) * 256 + int(fourth)) // 16


def place(holding: Any) -> int:
    return at(block_of(holding))


def test_names_are_spread_over_a_large_ipv6_subnet() -> None:
    world = calico("2001:db8::/64", block_length_v6=122)
    upper = [number_of(str(world.claim(host=host, family="v6").addresses[0].ip)) >> 63 & 1 for host in HOSTS]
    assert 0 < sum(upper) < len(HOSTS)


def test_own_blocks_are_filled_in_the_order_of_their_texts() -> None:
    world = calico("10.0.0.0/24", block_length_v4=26)
    held = {str(h.addresses[0].ip): h for h in (world.claim(host="h0-0") for _ in range(254))}
    for ip in ("10.0.0.70", "10.0.0.150", "10.0.0.250"):
        world.release(held[ip])
    assert [world.ip(host="h0-0") for _ in range(3)] == ["10.0.0.150", "10.0.0.250", "10.0.0.70"]


def test_in_a_block_the_longest_rested_comes_first() -> None:
    world = calico("10.0.0.0/24", block_length_v4=26)
    held = [world.claim(host="h0-0") for _ in range(3)]
    world.release(held[0])
    assert world.ip(host="h0-0") not in {str(h.addresses[0].ip) for h in held}


def test_a_host_has_twenty_blocks_and_then_borrows_nothing() -> None:  # calico 9462
    world = calico("10.0.0.0/24", block_length_v4=32)
    for _ in range(host_block.CAP):
        world.claim(host="h0-0")
    with pytest.raises(Exhausted):
        world.claim(host="h0-0")
    assert len(blocks(world, "h0-0")) == host_block.CAP == 20
    world.claim(host="h0-1")
    assert proposed(world, "10.0.0.0/24", "h0-0", 20) == []
    assert proposed(world, "10.0.0.0/24", "h0-0", 21)[0].title == "new"
    assert proposed(world, "10.0.0.0/24", "h0-0", None)[0].title == "new"


def test_a_host_at_the_cap_still_fills_its_blocks() -> None:
    world = calico("10.0.0.0/22", block_length_v4=31)
    held = [world.claim(host="h0-0") for _ in range(2 * host_block.CAP)]
    world.release(held[7])
    assert world.ip(host="h0-0") == str(held[7].addresses[0].ip)


def test_claims_without_a_host_are_not_capped() -> None:
    world = calico("10.0.0.0/24", block_length_v4=32)
    assert len({world.ip() for _ in range(30)}) == 30


def test_an_empty_block_is_left_alone_for_a_minute_and_then_taken() -> None:  # cilium 37746, calico 7987
    world = calico("10.0.0.0/26", block_length_v4=28, boundary="hard")
    first, second, *_ = [world.claim(host=host) for host in HOSTS[:4]]
    world.release(second)
    world.wait(1)
    world.release(first)
    world.wait(58)
    with pytest.raises(Exhausted):
        world.claim(host="h1-0")
    world.wait(1)
    taken = world.claim(host="h1-0")
    assert [type(event) for event in world.events[-3:]] == [e.BlockSurrendered, e.BlockOwned, e.AddressAllocated]
    assert (block_of(taken), taken.addresses[0].title) == (block_of(second), "new")
    assert blocks(world, HOSTS[1]) == []
    with pytest.raises(Exhausted):  # that of the first has been empty for 59 s
        world.claim(host="h1-1")
    naive.check(world)


def test_stranded_empties_of_single_addresses_are_reclaimed() -> None:  # calico 2624, PR 11149
    world = calico("10.0.0.0/28", block_length_v4=32, boundary="hard")
    for holding in [world.claim(host="h0-0") for _ in range(14)]:
        world.release(holding)
    world.wait(60)
    assert len({world.ip(host="h0-1") for _ in range(14)}) == 14
    assert blocks(world, "h0-0") == []


def test_an_empty_block_whose_addresses_all_rest_is_of_no_use_to_anybody() -> None:
    world = calico("10.0.0.0/30", block_length_v4=31, boundary="hard", cooldown=300)
    held = [world.claim(host=host) for host in HOSTS[:2]]
    world.release(held[0])
    world.wait(60)
    assert proposed(world, "10.0.0.0/30", "h1-0", None, "host") == []
    world.wait(240)
    assert world.ip(host="h1-0") == str(held[0].addresses[0].ip)


def test_an_address_is_borrowed_by_the_same_walk_across_a_soft_boundary() -> None:  # calico 8435
    world = calico("10.0.0.0/26", block_length_v4=28)
    for host in HOSTS[:4]:
        world.claim(host=host)
    start = place(calico("10.0.0.0/26", block_length_v4=28).claim(host="h1-0"))
    lent = world.claim(host="h1-0")
    assert (lent.addresses[0].title, place(lent)) == ("borrowed", start)
    assert len(blocks(world)) == 4
    while world.space("10.0.0.0/26").available:  # never refused while there is one
        world.claim(host="h1-0")
    naive.check(world)


@pytest.mark.parametrize("boundary", ["hard", Boundaries(rack="hard"), Boundaries(site="hard")])
def test_a_boundary_that_is_hard_anywhere_is_hard(boundary: Any) -> None:
    world = calico("10.0.0.0/26", block_length_v4=28, boundary=boundary)
    for host in HOSTS[:4]:
        world.claim(host=host)
    with pytest.raises(Exhausted) as refused:
        world.claim(host="h1-0")
    assert refused.value.facts["available_elsewhere"] == 58


def test_what_is_left_of_another_length_becomes_a_block_too() -> None:  # libcalico-go 1377
    world = calico("10.0.0.0/24", block_length_v4=28)
    world.claim(host="h0-0")
    world.do(u.ChangeNetwork(network="prod", changes={"block_length_v4": 25}))
    world.claim(host="h0-1")
    sizes = {world.claim(host=host).addresses[0].block.partition("/")[2] for host in HOSTS[2:5]}
    assert sizes == {"26", "27", "28"}
    naive.check(world)


def test_idle_blocks_go_back_while_their_host_keeps_another() -> None:
    world = calico("10.0.0.0/24", block_length_v4=31)
    held = [world.claim(host="h0-0") for _ in range(5)]
    only = world.claim(host="h0-1")
    for holding in [*held, only]:
        world.release(holding)
    space = world.space("10.0.0.0/24")
    world.wait(899)
    assert list(host_block.idle(space, world.now)) == []
    world.wait(1)
    assert len(list(host_block.idle(space, world.now))) == 2
    for event in host_block.idle(space, world.now):  # each may be recorded before the next is asked for
        world.state.reduce(event)
        world.tables.apply([event])
    assert (len(blocks(world, "h0-0")), len(blocks(world, "h0-1"))) == (1, 1)
    naive.check(world)


def test_a_block_in_use_is_not_idle() -> None:
    world = calico("10.0.0.0/24", block_length_v4=31)
    held = [world.claim(host="h0-0") for _ in range(5)]
    world.release(held[0])
    world.wait(900)
    assert list(islice(host_block.idle(world.space("10.0.0.0/24"), world.now), 1)) == []


@pytest.mark.parametrize("boundary", ["soft", "hard"])
def test_many_blocks_cost_what_few_do(boundary: str) -> None:
    """Each host takes its blocks in a subnet of 8,192 of them, most of which are taken or empty."""
    few, many = (hall("10.0.0.0/16", 800, strategy="host_block", block_length_v4=29, cooldown=0) for _ in range(2))
    few.fill(80, 10)
    many.fill(800 * 6 * 9, 800)
    assert many.cost(host="h7") <= SLACK * few.cost(host="h7")
