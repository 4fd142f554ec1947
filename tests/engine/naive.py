"""What a state must say, worked out the slow way from the tables: dictionaries and sets, no bits."""

from ipaddress import ip_address, ip_network
from typing import Any

from tenure.net.addresses import number_of, parse_prefix
from tests.engine.world import World

Span = tuple[int, int]


def closed(world: World, space: Any) -> set[int]:
    """Addresses of a small subnet that no claim is given."""
    prefix = ip_network(space.subnet.cidr)
    found = edges(space)
    texts = [space.subnet.gateway, *space.subnet.dns_servers]
    found |= {number_of(t) for t in texts if t and (":" in t) == (prefix.version == 6)}
    for range_ in world.tables.ranges:
        if range_.subnet == space.subnet.id:
            found |= set(range(number_of(range_.start), number_of(range_.end) + 1))
    for other in world.tables.subnets:
        inner = ip_network(other.cidr)
        mine = other.network == space.subnet.network and inner != prefix and inner.version == prefix.version
        if mine and inner.subnet_of(prefix):  # type: ignore[arg-type]
            found |= set(range(int(inner[0]), int(inner[-1]) + 1))
    return {n for n in found if int(prefix[0]) <= n <= int(prefix[-1])}


def edges(space: Any) -> set[int]:
    prefix = ip_network(space.subnet.cidr)
    if space.subnet.use_all_addresses or prefix.num_addresses <= 2:
        return set()
    return {int(prefix[0])} if prefix.version == 6 else {int(prefix[0]), int(prefix[-1])}


def strangers(world: World, space: Any) -> set[int]:
    """Addresses on which somebody was seen lately, and that lie in no smaller subnet of the vrf."""
    found = set()
    for seen in world.tables.all("observations"):
        address = ip_address(seen.ip)
        around = [s for s in world.tables.subnets if s.vrf == seen.vrf and address in ip_network(s.cidr)]
        innermost = max(around, key=lambda subnet: ip_network(subnet.cidr).prefixlen, default=None)
        if seen.until > world.now and innermost is not None and innermost.id == space.subnet.id:
            found.add(int(address))
    return found


def check(world: World) -> None:
    """Everything that must be true after each step, of subnets small enough to be walked."""
    unique(world)
    for space in world.state.subnets.values():
        check_space(world, space)
    waiting: dict[tuple[str, int], int] = {}
    for claim in world.tables.open("claims"):
        if claim.bound is None:
            for version in (4, 6):
                if claim.request.family in (f"v{version}", "dual"):
                    key = claim.network, version
                    waiting[key] = waiting.get(key, 0) + claim.request.count
    assert {k: n for k, n in world.state.waiting.items() if n} == waiting


def unique(world: World) -> None:
    """No address twice in a vrf, none outside its subnet, none closed unless it is a lease."""
    held = [(a.vrf, a.ip) for a in world.tables.open("allocations")]
    assert len(held) == len(set(held))
    for row in world.tables.open("allocations"):
        space = world.state.subnets[row.subnet]
        assert space.first <= number_of(row.ip) <= space.last
        if not row.lease:
            assert number_of(row.ip) not in closed(world, space)


def check_space(world: World, space: Any) -> None:
    shut = closed(world, space)
    mine = [a for a in world.tables.all("allocations") if a.subnet == space.subnet.id]
    held = {number_of(a.ip) for a in mine if a.until is None}
    resting = {number_of(a.ip) for a in mine if a.until is not None and a.cooling_until and a.cooling_until > world.now}
    resting -= held
    whole = set(range(space.first, space.last + 1))
    strange = strangers(world, space)
    avoided = strange - shut - held - resting
    free = whole - shut - held - resting - strange
    assert set(space.resting) == resting
    assert set(space.strangers) == strange
    assert space.avoided == len(avoided)
    assert space.held == len(held)
    assert (space.in_use, space.cooling, space.available) == (len(held - shut), len(resting - shut), len(free))
    assert space.capacity == len(whole - edges(space))
    assert space.reserved == len((shut | avoided) - edges(space))
    assert space.capacity == space.in_use + space.reserved + space.cooling + space.available
    assert space.lowest_free() == min(free, default=None)
    check_blocks(world, space, free)
    open_ids = [s.subnet.id for s in world.state.rooms.all(space.subnet.network, space.version)]
    assert (space.subnet.id in open_ids) == (bool(free) and not space.subnet.draining)
    assert space.loose == {number: host for subnet, number, host in world.tables.loose() if subnet == space.subnet.id}


def check_blocks(world: World, space: Any, free: set[int]) -> None:
    rows = [b for b in world.tables.all("blocks") if b.subnet == space.subnet.id]
    hosts = {piece_of(b): b.owner for b in rows if b.kind == "host"}
    assert {key: block.owner for key, block in space.blocks.items()} == hosts
    assert {key: r.owner for key, r in space.regions.items()} == {
        (*piece_of(b), b.kind): b.owner for b in rows if b.kind != "host"
    }
    held = {n for n in range(space.first, space.last + 1) if space.is_used(n)}
    for block in space.blocks.values():
        check_block(space, block, free, held)
    check_uncut(space)


def piece_of(block: Any) -> Span:
    prefix = parse_prefix(block.cidr)
    return int(prefix[0]), prefix.prefixlen


def inside(block: Any) -> set[int]:
    return set(range(block.first, block.last + 1))


def check_block(space: Any, block: Any, free: set[int], held: set[int]) -> None:
    """A block's counts, without its loans; and that it is in the indexes that it belongs in."""
    around = [b for b in space.blocks.values() if inside(b) > inside(block)]
    loans = [b for b in space.blocks.values() if inside(b) < inside(block)]
    assert len(around) <= 1, "a loan of a loan"
    assert block.lender is (around[0] if around else None)
    mine = inside(block).difference(*map(inside, loans))
    assert (block.free, block.held) == (len(free & mine), len(held & mine))
    index, roomy = (space.borrowed, space.borrowed_roomy) if around else (space.own, space.roomy)
    assert block.key in index[block.owner]
    assert (block.key in roomy.get(block.owner, {})) == bool(free & mine)
    all_lenders, lenders = space.lenders.keys(), block.area.lenders.keys()
    assert (block.key in all_lenders) == (block.key in lenders) == (bool(free & mine) and not around)
    is_empty = not held & mine and not loans
    assert (block.key in space.empties) == is_empty
    assert (block.key in space.vacant) == (block.key in block.area.vacant) == bool(is_empty and free & mine)
    picked = space.pick(block)
    assert picked in free & mine if free & mine else picked is None


def check_uncut(space: Any) -> None:
    """Every address is in a host block, or free to be cut in the narrowest area around it."""
    cut: set[int] = set().union(*map(inside, space.blocks.values()))
    for area in (space.root, *space.areas.values()):
        assert (area.owner in space.open) == (not area.free.empty and area is not space.root)
        pieces = [*area.free.pieces(), *((s.first, s.length) for s in space.spent() if s.area is area)]
        for first, length in pieces:
            addresses = set(range(first, first + (1 << (space.width - length))))
            assert not addresses & cut, "free in two areas, or in a block"
            assert all(space.area_of(space.region_at(n)) is area for n in addresses)
            cut |= addresses
    assert cut == set(range(space.first, space.last + 1))
    for key, region in space.regions.items():
        assert key in space.idle or not space.is_idle(region)
