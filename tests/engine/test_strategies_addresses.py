"""The strategies without blocks: the smallest gap, as MAAS; a random one of the lowest, as Neutron."""

from collections import Counter

from tenure.engine.strategies import STRATEGIES, View, Wish
from tenure.engine.strategies.random_window import WINDOW
from tenure.model import uses as u
from tenure.net.addresses import text_of
from tests.engine.test_counting import hall
from tests.engine.world import World, site

NOWHERE = Wish("", "", (), "anywhere")


def gapped(taken: range, strategy: str) -> World:
    """A /24 of which these addresses are not taken."""
    world = site("10.0.0.0/24", strategy=strategy, cooldown=0)
    for n in set(range(1, 255)) - set(taken):
        world.claim(address=f"10.0.0.{n}")
    return world


def test_the_smallest_gap_is_filled_first_from_its_beginning() -> None:
    world = gapped(range(0), "smallest_gap")
    held = {str(c.ip): c.claim for c in world.tables.open("allocations")}
    for n in (5, 6, 7, 20, 40, 41, 90, 91):
        world.do(u.ReleaseClaim(claim=held[f"10.0.0.{n}"]))
    given = [world.ip() for _ in range(8)]
    assert given == [f"10.0.0.{n}" for n in (20, 40, 41, 90, 91, 5, 6, 7)]


def test_gaps_end_at_what_is_never_given_and_at_what_rests() -> None:
    world = site("10.0.0.0/28", strategy="smallest_gap", cooldown=60, fields={"gateway": "10.0.0.3"})
    world.do(u.CreateRange(subnet="10.0.0.0/28", start="10.0.0.6", end="10.0.0.8", role="reserved"))
    world.release(world.claim(address="10.0.0.12"))
    assert [world.ip() for _ in range(2)] == ["10.0.0.1", "10.0.0.2"]  # of 1-2, 4-5, 9-11, 13-14
    assert world.ip() == "10.0.0.4"
    world.wait(60)
    assert [world.ip() for _ in range(3)] == ["10.0.0.5", "10.0.0.9", "10.0.0.10"]


def test_gaps_are_forgotten_with_the_strategy_and_found_again() -> None:
    world = site("10.0.0.0/28", strategy="smallest_gap", cooldown=0)
    world.claim(address="10.0.0.2")
    assert world.ip() == "10.0.0.1"
    world.do(u.ChangeNetwork(network="prod", changes={"strategy": "first_free"}))
    world.claim(address="10.0.0.4")
    world.do(u.ChangeNetwork(network="prod", changes={"strategy": "smallest_gap"}))
    assert world.ip() == "10.0.0.3"


def test_gaps_cost_nothing_where_nobody_asks_for_them() -> None:
    never, once = (hall("10.0.0.0/16", 1, strategy=strategy) for strategy in ("first_free", "smallest_gap"))
    once.fill(3, 1)
    never.fill(3, 1)
    once.use(u.ChangeNetwork(network="prod", changes={"strategy": "first_free"}))
    assert once.cost(host="h0") == never.cost(host="h0")


def test_gaps_of_a_slash_64() -> None:
    world = site("2001:db8::/64", strategy="smallest_gap")
    assert [world.ip(family="v6") for _ in range(2)] == ["2001:db8::1", "2001:db8::2"]
    world.claim(address="2001:db8::ffff:0:0:0")
    assert world.ip(family="v6") == "2001:db8::ffff:0:0:1"


def drawn(world: World, cidr: str, seed: int) -> str:
    view = View([world.space(cidr)], str, world.now, seed)
    number = next(STRATEGIES["random_window"](NOWHERE, view)).number
    assert number is not None
    return text_of(world.space(cidr).version, number)


def test_a_random_one_of_the_lowest_thousand(seed: int) -> None:
    world = site("10.0.0.0/20", strategy="random_window")
    lowest = {f"10.0.{n >> 8}.{n & 255}" for n in range(1, WINDOW + 1)}
    found = Counter(drawn(world, "10.0.0.0/20", seed + n) for n in range(500))
    assert set(found) <= lowest
    assert len(found) > 300, "500 draws of 1,000 meet about 394 different ones"


def test_what_is_held_or_rests_or_is_reserved_is_not_in_the_window(seed: int) -> None:
    world = gapped(range(10, 250, 60), "random_window")
    assert {drawn(world, "10.0.0.0/24", seed + n) for n in range(200)} == {f"10.0.0.{n}" for n in (10, 70, 130, 190)}
    for n in (10, 130):
        world.do(u.CreateRange(subnet="10.0.0.0/24", start=f"10.0.0.{n}", end=f"10.0.0.{n}", role="reserved"))
    assert {drawn(world, "10.0.0.0/24", seed + n) for n in range(100)} == {"10.0.0.70", "10.0.0.190"}


def test_the_same_seed_gives_the_same_address_and_a_request_for_many_is_not_a_row(seed: int) -> None:
    first, second = (site("10.0.0.0/20", strategy="random_window") for _ in range(2))
    assert drawn(first, "10.0.0.0/20", seed) == drawn(second, "10.0.0.0/20", seed)
    given = [str(a.ip) for a in first.claim(count=5).addresses]
    assert given == [str(a.ip) for a in second.claim(count=5).addresses]
    numbers = sorted(int(ip.split(".")[2]) * 256 + int(ip.split(".")[3]) for ip in given)
    assert numbers[-1] - numbers[0] > 5
