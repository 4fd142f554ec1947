"""What a state must say, worked out the slow way from the tables: dictionaries and sets, no bits."""

from ipaddress import ip_network
from itertools import pairwise
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
    free = whole - shut - held - resting
    assert set(space.resting) == resting
    assert space.held == len(held)
    assert (space.in_use, space.cooling, space.available) == (len(held - shut), len(resting - shut), len(free))
    assert space.capacity == len(whole - edges(space))
    assert space.reserved == len(shut - edges(space))
    assert space.capacity == space.in_use + space.reserved + space.cooling + space.available
    assert space.lowest_free() == min(free, default=None)
    check_blocks(world, space, free)
    open_ids = [s.subnet.id for s in world.state.rooms.all(space.subnet.network, space.version)]
    assert (space.subnet.id in open_ids) == (bool(free) and not space.subnet.draining)
    assert space.loose == {number: host for subnet, number, host in world.tables.loose() if subnet == space.subnet.id}


def check_blocks(world: World, space: Any, free: set[int]) -> None:
    rows = [b for b in world.tables.all("blocks") if b.subnet == space.subnet.id]
    spans: dict[bool, list[Span]] = {True: [], False: []}
    for block in rows:
        prefix = parse_prefix(block.cidr)
        spans[block.kind != "host"].append((int(prefix[0]), int(prefix[-1])))
    for found in spans.values():
        found.sort()
        assert all(a[1] < b[0] for a, b in pairwise(found)), "blocks overlap"
    assert {(b.first, b.first + b.size - 1) for b in space.blocks.values()} == set(spans[False])
    assert {(r.first, r.first + r.size - 1) for r in space.regions.values()} == set(spans[True])
    for block in space.blocks.values():
        inside = {n for n in free if block.first <= n < block.first + block.size}
        assert block.free == len(inside)
        assert (block.key in space.roomy.get(block.owner, {})) == bool(inside)
        assert (block.key in space.all_roomy) == bool(inside)
        picked = space.pick(block)
        assert picked in inside if inside else picked is None
    check_uncut(space, free)


def check_uncut(space: Any, free: set[int]) -> None:
    """Every free address is in a block, or in an uncut piece; and each piece that would be cut has one."""
    cut = {n for block in space.blocks.values() for n in range(block.first, block.first + block.size)}
    pieces = set(space.uncut.pieces())
    for region in space.regions.values():
        assert (region.key in space.all_open) == bool(region.space.pieces())
        pieces |= region.space.pieces()
    uncut: set[int] = set()
    for first, length in pieces:
        size = 1 << (space.width - length)
        uncut |= set(range(first, first + size))
        step = min(size, 1 << (space.width - space.block_length))
        assert all(free & set(range(at, at + step)) for at in range(first, first + size, step))
    assert not uncut & cut
    assert free <= uncut | cut
