"""Routes as a view of the ledger: followed, loaded and of the past they are the same, and deliver to the holders."""

import random
from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tenure.errors import InvalidValue, NotFound
from tenure.model import events as e
from tenure.model import uses as u
from tenure.model.answers import Failure, Holding, Made
from tenure.service.placed import Placed
from tenure.service.planning import INTERNAL
from tenure.service.route_answers import Table
from tenure.service.routes import RouteView
from tenure.testing.ledgers import Scribe
from tests.engine.world import site
from tests.service.world import Node, World, claim

RACKS, HOSTS = 3, 3
PLACES = ("fabric", "hosts", "r0", "r1", "h0-0", "h1-2", "h3")


@pytest.fixture
def node(tmp_path: Path, seed: int) -> Iterator[Node]:
    """A site of racks, and a host without one; a network of two subnets, one of them IPv6."""
    world = World(tmp_path, seed)
    node = world.node()
    node.ok(u.CreateVrf(name="default"))
    for rack in range(RACKS):
        node.ok(u.CreateLocation(name=f"r{rack}", kind="rack"))
        for host in range(HOSTS):
            node.ok(u.CreateLocation(name=f"h{rack}-{host}", kind="host", parent=f"r{rack}"))
    node.ok(u.CreateLocation(name="h3", kind="host"))
    lengths = {"block_length_v4": 30, "rack_block_length_v4": 27, "block_length_v6": 126, "rack_block_length_v6": 122}
    node.ok(u.CreateNetwork(name="prod", fields={"cooldown": 0, **lengths}))
    node.ok(u.CreateSubnet(network="prod", cidr="10.0.0.0/25"))
    node.ok(u.CreateSubnet(network="prod", cidr="2001:db8::/64"))
    yield node
    world.close()


class Tenants:
    """Claims that come, move and go by chance."""

    def __init__(self, node: Node, chance: random.Random) -> None:
        self.node = node
        self.chance = chance
        self.held: dict[str, Holding] = {}
        self.hosts = [f"h{rack}-{host}" for rack in range(RACKS) for host in range(HOSTS)] + ["h3"]

    def step(self) -> None:
        """One thing happens; what is refused changes nothing."""
        deed = self.chance.choice((self.come, self.come, self.come, self.go, self.move, self.move, self.settle))
        self.node.world.clock.pause(1)
        if self.held or deed == self.come:
            deed()

    def come(self) -> None:
        """Somebody claims; sometimes a certain address, which may lie in another's block."""
        address = f"10.0.0.{self.chance.randrange(1, 127)}"
        more: dict[str, Any] = {"address": address} if self.chance.random() < 0.2 else {}
        family = "v4" if more else self.chance.choice(("v4", "dual", "v6"))
        host = self.chance.choice([*self.hosts, None])
        self._keep(self.node.answer(claim(None, host=host, family=family, **more)))

    def go(self) -> None:
        """Somebody leaves."""
        self.node.release(self.held.pop(self._one()))

    def move(self) -> None:
        """Somebody moves, with or without its addresses."""
        host, renumber = self.chance.choice(self.hosts), self.chance.random() < 0.2
        handover = self.chance.choice((0, 30))
        use = u.RebindClaim(claim=self._one(), host=host, renumber=renumber, handover=handover)
        self._keep(self.node.answer(use))

    def settle(self) -> None:
        """A hand-over ends."""
        self._keep(self.node.answer(u.SettleClaim(claim=self._one())))

    def _one(self) -> str:
        return self.chance.choice(sorted(self.held))

    def _keep(self, answer: Any) -> None:
        assert isinstance(answer, Holding) or (isinstance(answer, Failure) and answer.code != INTERNAL), answer
        if isinstance(answer, Holding):
            self.held[answer.claim.id] = answer


def same(table: Table) -> Table:
    """A table without its place in the ledger."""
    return msgspec.structs.replace(table, sequence="")


def hop(table: Table, ip: str) -> tuple[str, str | None] | None:
    """Where longest-prefix matching sends a packet."""
    found = [route for route in table.routes if route.preferred and ip_address(ip) in ip_network(route.prefix)]
    best = max(found, key=lambda route: int(route.prefix.partition("/")[2]), default=None)
    return None if best is None else (best.via.kind, best.via.name)


def expected(place: str, host: str) -> tuple[str, str | None] | None:
    """Where a packet for somebody at `host` must go, seen from a place; None where that is its default route."""
    rack = f"r{host[1]}" if "-" in host else None
    if place == "fabric":
        return ("rack", rack) if rack else ("host", host)
    if place == "hosts":
        return ("host", host)
    if place in (host, rack):
        return ("local" if place == host else "host", host)
    return None


def check_delivery(table: Table, holdings: dict[str, Holding], names: dict[str, str]) -> None:
    """Every held address goes to its holder's next hop, and up where that is not here."""
    for holding in holdings.values():
        if holding.claim.host is None:
            continue
        wanted = expected(table.place, names[holding.claim.host])
        for held in holding.addresses:
            found = hop(table, held.ip)
            assert found == wanted or (wanted is None and (found is None or found[0] == "up")), (table.place, held.ip)


def test_followed_loaded_and_past_tables_are_the_same_and_deliver(node: Node, seed: int) -> None:
    chance = random.Random(seed)
    tenants, view = Tenants(node, chance), RouteView(node.store)
    before: list[tuple[Any, dict[str, Table]]] = []
    for _ in range(120):
        tenants.step()
        if chance.random() < 0.5:
            continue
        fresh = RouteView(node.store)
        tables = {place: view.table(place).value for place in PLACES}
        for place, table in tables.items():
            assert table == fresh.table(place).value
            assert len([route for route in table.routes if route.preferred]) >= table.optimum
        before.append((node.world.clock.now(), {place: same(table) for place, table in tables.items()}))
    names = {each.id: each.name for each in node.store.reads.locations(limit=1000).items}
    for place in PLACES:
        check_delivery(view.table(place).value, tenants.held, names)
    for time, then in chance.sample(before, 8):
        assert {place: same(view.table(place, at=time).value) for place in PLACES} == then


def test_a_tag_changes_with_its_table(node: Node, seed: int) -> None:
    chance = random.Random(seed)
    tenants, view = Tenants(node, chance), RouteView(node.store)
    known = {place: (view.changed(place).value, view.table(place).value) for place in PLACES}
    kept = 0
    for _ in range(80):
        tenants.step()
        for place, (tag, table) in known.items():
            known[place] = (view.changed(place).value, view.table(place).value)
            if known[place][0] == tag:
                assert same(known[place][1]).routes == table.routes
                kept += 1
    assert kept > 80


def test_two_hosts_announce_an_address_until_its_hand_over_is_settled(node: Node) -> None:
    view = RouteView(node.store)
    held = node.claim("a", host="h0-0", family="v4")
    ip = f"{held.addresses[0].ip}/32"
    node.ok(u.RebindClaim(claim=held.claim.id, host="h1-0"))

    def announced(place: str) -> list[tuple[str | None, bool]]:
        return [(route.via.name, route.preferred) for route in view.table(place).value.routes if route.prefix == ip]

    assert announced("fabric") == [("r1", True), ("r0", False)]
    assert announced("hosts") == [("h1-0", True), ("h0-0", False)]
    assert announced("h0-0") == [("r0", True), ("h0-0", False)]
    assert announced("h1-0") == [("h1-0", True)]
    assert announced("h1-1") == []
    node.ok(u.RebindClaim(claim=held.claim.id, host="h0-0"))
    assert announced("fabric") == [("r0", True), ("r1", False)], "at home it needs a route until the other is gone"
    node.ok(u.SettleClaim(claim=held.claim.id))
    assert announced("fabric") == []
    assert announced("hosts") == []


def test_a_host_that_changes_its_rack_changes_tables_and_a_location_its_names(node: Node) -> None:
    view = RouteView(node.store)
    node.claim("a", host="h0-0", family="v4")
    assert [route.via.name for route in view.table("fabric").value.routes] == ["r0"]
    tag = view.changed("fabric").value
    node.ok(u.ChangeLocation(location="h0-0", changes={"parent": "r1"}))
    assert {route.via.name for route in view.table("fabric").value.routes} == {"r1"}
    node.ok(u.ChangeLocation(location="r1", changes={"name": "row-1", "router": "10.255.0.1"}))
    (route,) = view.table("fabric").value.routes
    assert (route.via.name, route.via.router) == ("row-1", "10.255.0.1")
    assert view.changed("fabric").value != tag


def test_what_is_not_there_has_no_routes(node: Node) -> None:
    view = RouteView(node.store)
    node.ok(u.CreateLocation(name="hall", kind="site"))
    for place, network, vrf in (("r9", "", ""), ("fabric", "lab", ""), ("fabric", "", "blue")):
        with pytest.raises(NotFound):
            view.table(place, network, vrf)
    with pytest.raises(InvalidValue, match="hall is a site"):
        view.table("hall")
    node.claim("a", host="h0-0", family="v4")
    node.ok(u.CreateNetwork(name="lab"))
    assert view.table("fabric", network="lab").value.routes == []
    assert view.table("fabric", network="prod").value.routes != []


def test_what_a_rack_or_a_site_holds_itself_is_sent_to_it(node: Node) -> None:
    """As where DHCP saw a client behind a relay that is a rack's."""
    view = RouteView(node.store)
    node.ok(u.CreateLocation(name="hall", kind="site"))
    for rack in ("r0", "r1"):
        node.ok(u.ChangeLocation(location=rack, changes={"parent": "hall"}))
    neighbour = node.claim("n", host="h0-0", family="v4")
    held = {place: node.claim(place, host=place, family="v4").addresses[0].ip for place in ("r0", "hall")}
    other = node.claim("m", host="h0-1", family="v4").addresses[0].ip
    node.claim("lent", host="r0", address=str(ip_address(other) + 1))
    for place in ("fabric", "hosts"):
        table = view.table(place).value
        assert hop(table, held["r0"]) == ("rack", "r0")
        assert hop(table, held["hall"]) == ("site", "hall")
    table = view.table("r0").value
    assert hop(table, held["r0"]) == ("local", "r0")
    assert hop(table, neighbour.addresses[0].ip) == ("host", "h0-0")
    assert hop(table, held["hall"]) in (None, ("up", "hall"))
    assert hop(view.table("r1").value, held["r0"]) in (None, ("up", "hall"))
    assert hop(view.table("h0-0").value, held["r0"]) in (None, ("up", "r0"))


@pytest.mark.parametrize(("cidr", "count"), [("10.0.0.0/30", 2), ("10.0.0.0/29", 6), ("10.0.0.0/28", 7)])
def test_a_nested_subnet_takes_the_blocks_of_its_parent_that_lie_in_it(node: Node, cidr: str, count: int) -> None:
    """Else two hosts would own one place, and the narrower block or the older one would win."""
    view = RouteView(node.store)
    node.release(node.claim("before", host="h0-0", family="v4"))
    made = node.ok(u.CreateSubnet(network="prod", cidr=cidr))
    assert isinstance(made, Made)
    assert made.subnet is not None
    held = node.claim("within", host="h1-0", subnet=made.subnet.id, family="v4", count=count)
    node.claim("beside", host="h0-0", family="v4")
    ips = [each.ip for each in held.addresses]
    assert {hop(view.table("hosts").value, ip) for ip in ips} == {("host", "h1-0")}
    node.world.clock.pause(100_000)
    node.ok(u.Tend())
    for place, wanted in (("fabric", ("rack", "r1")), ("hosts", ("host", "h1-0")), ("h1-0", ("local", "h1-0"))):
        assert {hop(view.table(place).value, ip) for ip in ips} == {wanted}
        assert view.table(place).value == RouteView(node.store).table(place).value
    node.check()


def test_networks_that_are_gone_leave_the_others_their_tables(node: Node) -> None:
    view = RouteView(node.store)
    node.ok(u.CreateNetwork(name="lab", fields={"cooldown": 0}))
    node.ok(u.CreateSubnet(network="lab", cidr="10.1.0.0/24"))
    node.release(node.claim("a", network="lab", host="h0-0"))
    node.claim("b", host="h0-0", family="v4")
    before = view.table("fabric").value
    node.ok(u.DeleteSubnet(subnet="10.1.0.0/24"))
    node.ok(u.DeleteNetwork(network="lab"))
    after = view.table("fabric", at=node.world.clock.now()).value
    assert same(after) == same(view.table("fabric").value) == same(RouteView(node.store).table("fabric").value)
    assert [route.via.name for route in before.routes] == ["r0", "r0"]
    assert len(after.routes) == 1
    assert view.plan(20).value.savings == []


def test_a_plan_names_what_is_away_from_home(node: Node) -> None:
    view = RouteView(node.store)
    for place in ("h0-0", "h1-0"):
        node.claim(f"b-{place}", host=place, family="v4")
    held = node.claim("a", host="h0-0", family="v4")
    assert view.plan(20).value.savings == []
    node.ok(u.RebindClaim(claim=held.claim.id, host="h1-0", handover=0))
    (saving,) = view.plan(20, network="prod").value.savings
    assert saving.saves == 1
    assert [(fact.kind, str(ip_address(fact.first))) for fact in saving.facts] == [("loose", held.addresses[0].ip)]


def test_sizes_and_budgets_are_told_by_network(node: Node) -> None:
    view = RouteView(node.store)
    for place in ("h0-0", "h0-1", "h1-0"):
        node.claim(f"b-{place}", host=place, family="v4")
    assert [(size.network.name, size.table, size.routes) for size in view.sizes()] == [
        ("prod", "fabric", 2),
        ("prod", "hosts", 3),
    ]
    assert view.table("fabric", network="prod").value.budget is None
    node.ok(u.ChangeNetwork(network="prod", changes={"route_budget": 5}))
    assert view.table("fabric", network="prod").value.budget == 5


def test_after_a_long_absence_the_rows_are_read_again(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenure.service.routes._BEHIND", 10)
    view = RouteView(node.store)
    node.claim("a", host="h0-0", family="v4")
    view.table("fabric")
    for number in range(30):
        node.claim(f"c{number}", host="h1-0", family="v4")
    assert view.table("hosts").value == RouteView(node.store).table("hosts").value


def test_a_new_epoch_is_loaded_anew(node: Node) -> None:
    view = RouteView(node.store)
    node.claim("a", host="h0-0", family="v4")
    before, tag = view.table("hosts"), view.changed("hosts").value
    Scribe(node.store).write(e.EpochStarted(epoch="restored", reason="a test"), epoch="restored")
    after = view.table("hosts")
    assert after.value.sequence == f"restored:{before.head.sequence + 1}"
    assert same(after.value) == same(before.value)
    assert view.changed("hosts").value != tag


def test_what_comes_off_its_shelf_as_an_alias_is_followed() -> None:
    world = site("10.0.0.0/24")
    ip = ip_address(world.ip(host="h0-0")) + 1  # in the block of h0-0, and used at another host
    held = world.claim(host="h1-0", address=str(ip))
    placed = Placed()
    for event in world.events:
        placed.take(event)
    allocation = next(a for a in world.tables.open("allocations") if a.claim == held.claim.id)

    def loose() -> list[str | None]:
        return [fact.owner for facts in placed.areas.values() for fact in facts.all() if fact.kind == "loose"]

    assert loose() == [held.claim.host]
    shelved = msgspec.structs.replace(allocation, standing="shelved")
    placed.take(e.AddressShelved(claim=held.claim, allocation=shelved))
    assert loose() == []
    alias = msgspec.structs.replace(allocation, standing="alias")
    placed.take(e.AddressAliased(claim=held.claim, allocation=alias, before="shelved"))
    assert loose() == [held.claim.host]
