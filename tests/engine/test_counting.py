"""A plan's work, counted in lines of ours that run: it must not grow with allocations, hosts, blocks or full subnets.

No clock: `sys.settrace` counts every line that runs in the engine (and in the sets of ranges below it).
"""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from tenure.engine.facts import Facts
from tenure.engine.plan import Moment, plan
from tenure.engine.strategies import STRATEGIES
from tenure.engine.wants import wanted
from tenure.model import uses as u
from tenure.model.holding import ClaimRequest
from tenure.model.leases import Client, Place
from tests.engine.world import World, site


def lines_of(act: Callable[[], Any]) -> int:
    """How many lines of the engine run in `act`, and of `net`."""
    seen = 0

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal seen
        if "/tenure/engine/" not in frame.f_code.co_filename and "/tenure/net/" not in frame.f_code.co_filename:
            return None
        seen += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    finally:
        sys.settrace(before)
    return seen


def calls_of(act: Callable[[], Any]) -> int:
    """How many functions of ours are entered in `act`."""
    seen = 0

    def note(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal seen
        seen += event == "call" and "/tenure/" in frame.f_code.co_filename

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(before)
    return seen


class Bulk:
    """Plans claims against a world's state with one set of facts, as a batch does."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.facts = Facts()
        self.made = 0

    def use(self, use: u.Use) -> Any:
        world = self.world
        self.facts.want(wanted(use, world.state))
        moment = Moment(now=world.now, ids=world.ids)
        return plan(u.Submission(use=use, actor="t"), world.state, self.facts, moment)

    def claim(self, **fields: Any) -> Any:
        self.made += 1
        request = ClaimRequest(network="prod", **fields)
        return self.use(u.ClaimAddresses(request=request, handle=f"b{self.made}"))

    def cost(self, **fields: Any) -> int:
        """The most lines of 20 claims, so that a new block is among them."""
        return max(lines_of(lambda: self.claim(**fields)) for _ in range(20))

    def fill(self, number: int, hosts: int) -> None:
        for n in range(number):
            self.claim(host=f"h{n % hosts}")


def hall(cidr: str, hosts: int, **network: Any) -> Bulk:
    """Racks of 40 hosts under one site."""
    world = site(cidr, racks=0, **network)
    bulk = Bulk(world)
    for host in range(hosts):
        if host % 40 == 0:
            bulk.use(u.CreateLocation(name=f"r{host // 40}", kind="rack", parent="s1"))
        bulk.use(u.CreateLocation(name=f"h{host}", kind="host", parent=f"r{host // 40}"))
    return bulk


SLACK = 1.5
"""Levels of a trie and lengths of blocks in use add a little; hosts, addresses and blocks must add nothing."""
CLIMBING = 1.75
"""As `SLACK`, where each look begins far from what is free."""
WINDOWED = "random_window"
"""It looks at each page of its window, and at no others."""


@pytest.mark.parametrize("cidr", ["10.0.0.0/14", "2001:db8::/64"])
@pytest.mark.parametrize("strategy", [name for name in STRATEGIES if name != WINDOWED])
def test_many_hosts_cost_what_few_do(cidr: str, strategy: str) -> None:
    few, many = hall(cidr, 10, strategy=strategy), hall(cidr, 4000, strategy=strategy)
    few.fill(40, 10)
    many.fill(4000, 4000)
    assert many.cost(host="h7") <= SLACK * few.cost(host="h7")


@pytest.mark.parametrize("strategy", [name for name in STRATEGIES if name not in (WINDOWED, "host_block")])
@pytest.mark.parametrize("boundary", ["soft", "hard"])
def test_a_full_subnet_costs_what_an_empty_one_does(strategy: str, boundary: str) -> None:
    empty, full = (hall("10.0.0.0/19", 8, strategy=strategy, boundary=boundary) for _ in range(2))
    empty.fill(16, 8)
    full.fill(7372, 8)  # 90 %
    assert full.world.space("10.0.0.0/19").available < 820
    assert full.cost(host="h3") <= SLACK * empty.cost(host="h3")


def test_a_claim_without_a_host_costs_the_same_in_a_full_subnet() -> None:
    bulk = hall("10.0.0.0/19", 1)
    first = bulk.cost()
    for _ in range(7300):
        bulk.claim()
    assert bulk.cost() <= SLACK * first


def test_full_subnets_are_not_walked() -> None:
    costs = []
    for full in (2, 600):
        world = site(racks=1)
        bulk = Bulk(world)
        for n in range(full):
            bulk.use(u.CreateSubnet(network="prod", cidr=f"10.{n >> 8}.{n & 255}.0/31"))
            bulk.claim()
            bulk.claim()
        bulk.use(u.CreateSubnet(network="prod", cidr="10.9.0.0/24"))
        costs.append(bulk.cost(host="h0-0"))
    assert costs[1] <= SLACK * costs[0]


def test_huge_blocks_are_not_walked() -> None:
    """Blocks of 65,536 and of 2**64 addresses, full pages and a closed half before what is free.

    The first claim looks nine times past the closed half, three times each for space of the site, the rack and the
    host; a look climbs the levels of the trie, of which IPv6 has 14: that is half of a claim's lines at most.
    """
    for cidr, lengths, addresses in (
        ("10.0.0.0/15", {"block_length_v4": 16}, "10.0.0.0-10.0.255.0"),
        ("2001:db8::/48", {"block_length_v6": 64}, "2001:db8::-2001:db8:0:0:ffff::"),
    ):
        bulk = hall(cidr, 2, **lengths)
        first, last = addresses.split("-")
        other = hall(cidr, 2, **lengths)
        bulk.use(u.CreateRange(subnet=cidr, start=first, end=last, role="reserved"))
        assert bulk.cost(host="h1") <= CLIMBING * other.cost(host="h1")


def lease(bulk: Bulk, n: int) -> None:
    mac = f"52:54:00:{n >> 16 & 255:02x}:{n >> 8 & 255:02x}:{n & 255:02x}"
    place = Place(0x0A000001)
    offered = bulk.use(u.LeaseOffer(client=Client(mac), place=place)).answer.lease
    assert offered is not None
    commit = u.LeaseCommit(client=Client(mac), place=place, address=offered.address, form="selecting")
    assert bulk.use(commit).answer.lease is not None


def test_leases_cost_the_same_in_a_full_range() -> None:
    bulk = hall("10.0.0.0/18", 1)
    bulk.use(u.CreateRange(subnet="10.0.0.0/18", start="10.0.4.0", end="10.0.23.255", role="dynamic"))
    first = max(lines_of(lambda n=n: lease(bulk, n)) for n in range(4))  # type: ignore[misc]
    for n in range(100, 5100):
        lease(bulk, n)
    assert max(lines_of(lambda n=n: lease(bulk, n)) for n in range(6000, 6008)) <= SLACK * first  # type: ignore[misc]


def test_addresses_named_one_by_one_do_not_slow_those_that_are_not() -> None:
    """Whole pieces that were taken by name, outside of blocks, are not tried again."""
    bulk = hall("10.0.0.0/20", 4)
    first = bulk.cost(host="h0")
    space = bulk.world.space("10.0.0.0/20")
    free = [n for n in range(space.first, space.last) if space.is_free(n) and space.block_at(n) is None][:3000]
    for number in free:
        bulk.claim(address=f"10.0.{number >> 8 & 255}.{number & 255}")
    assert bulk.cost(host="h3") <= SLACK * first
    assert bulk.world.space("10.0.0.0/20").in_use > 3000


NAMED = 20
"""Calls that a name adds to a claim where nothing but other claims could bar it."""
NOISE = 1
"""Where in its block an address lies."""


def name_costs(bulk: Bulk, *hostnames: str) -> int:
    """Calls that the cheapest of these names adds to the cheapest claim without one; neither opens a block."""
    bulk.fill(20, 1)
    plain = min(calls_of(lambda: bulk.claim(host="h0")) for _ in range(8))
    return min(calls_of(lambda n=n: bulk.claim(host="h0", hostname=n)) for n in hostnames) - plain  # type: ignore[misc]


def called(form: str) -> list[str]:
    return [form.format(n) for n in range(8)]


def named_hall() -> Bulk:
    bulk = hall("10.0.0.0/16", 1, domain="prod.example.")
    for name in ("prod.example.", "0.10.in-addr.arpa."):
        bulk.use(u.CreateZone(name=name))
    return bulk


def test_a_name_costs_little_where_nothing_is_computed_and_nobody_made_records() -> None:
    bulk = named_hall()
    assert name_costs(bulk, *called("vm-{}")) <= NAMED
    assert name_costs(bulk, *called("ip-10-0-9-{}")) <= NAMED, "it is like an address, and no template is"


def test_what_other_zones_and_views_have_costs_a_name_nothing() -> None:
    bulk = named_hall()
    before = name_costs(bulk, *called("vm-{}"))
    bulk.use(u.CreateVrf(name="blue"))
    bulk.use(u.CreateNetwork(name="other", vrf="blue", fields={"domain": "b.example.", "name_template": "{ip-hex}"}))
    bulk.use(u.CreateZone(name="b.example.", vrf="blue"))
    assert name_costs(bulk, *called("vn-{}")) <= before + NOISE
    bulk.use(u.CreateRecord(zone="b.example.", name="www", type="A", data="192.0.2.1"))
    assert name_costs(bulk, *called("vo-{}")) <= before + NOISE
    record = bulk.use(u.CreateRecord(zone="prod.example.", name="www", type="A", data="192.0.2.1")).answer.record
    assert name_costs(bulk, *called("vp-{}")) <= before + 3, "what bars it is looked for"
    bulk.use(u.DeleteRecord(record=record.id))
    network = bulk.use(u.ChangeNetwork(network="prod", changes={"name_template": "ip-{ip-dashed}"})).answer.network
    assert name_costs(bulk, *called("vq-{}")) <= before + 6, "it is read as an address is written"
    bulk.use(u.ChangeNetwork(network=network.id, changes={"name_template": None}))
    assert name_costs(bulk, *called("vr-{}")) <= before + NOISE, "no template is left"
