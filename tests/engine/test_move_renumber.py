"""Claims that are moved to another host for new addresses."""

from typing import Any

import pytest

from tenure.errors import Conflict
from tenure.model import uses as u
from tenure.net.addresses import number_of
from tests.engine import naive
from tests.engine.test_reassign import B, rows, two, users
from tests.engine.world import World


def rebind(world: World, held: Any, **fields: Any) -> Any:
    answer = world.do(u.RebindClaim(claim=held.claim.id, host="h1-0", renumber=True, **fields))
    naive.check(world)
    return answer


def test_what_is_written_by_hand_is_renumbered_only_when_acknowledged() -> None:
    world = two()
    held = world.claim(machine="a", host="h0-0", static=True)
    for use in (
        u.RebindClaim(claim=held.claim.id, host="h1-0", renumber=True),
        u.EvacuateHost(host="h0-0", to="h1-0", renumber=True),
    ):
        with pytest.raises(Conflict, match="by hand") as refused:
            world.do(use)
        assert refused.value.facts["pointer"] == "/static_acknowledged"
    kept = world.do(u.RebindClaim(claim=held.claim.id, host="h0-1"))
    assert kept.addresses[0].ip == held.addresses[0].ip
    moved = rebind(world, held, static_acknowledged=True)
    assert moved.addresses[0].ip != held.addresses[0].ip


def test_a_given_name_goes_along() -> None:
    world = two()
    held = world.claim(machine="a", host="h0-0")
    world.do(u.RenameAddress(vrf="default", ip=held.addresses[0].ip, hostname="printer"))
    moved = rebind(world, held)
    assert [a.name for a in moved.addresses] == ["printer.prod.example."]


def test_all_users_of_a_shared_address_use_the_new_one() -> None:
    world = two()
    vip = world.claim(machine="a", host="h0-0", shared=True, hostname="gw")
    world.do(u.AttachAddress(vrf="default", ip=vip.addresses[0].ip, interface=B))
    (moved,) = rebind(world, vip).addresses
    assert users(world, moved.ip) == {"a", "b"}
    assert rows(world)[moved.ip].standing == "alias"


def test_those_side_by_side_are_so_again() -> None:
    world = two()
    held = world.claim(host="h0-0", count=3, contiguous=True)
    moved = [number_of(a.ip) for a in rebind(world, held).addresses]
    assert moved == list(range(moved[0], moved[0] + 3))
    assert not set(moved) & {number_of(a.ip) for a in held.addresses}
