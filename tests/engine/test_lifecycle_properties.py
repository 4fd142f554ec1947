"""Whatever networks say of their machines: a step is that machine's alone, is done once, and is undone whole."""

from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tenure.errors import TenureError
from tenure.model import uses as u
from tests.engine import naive
from tests.engine.lives import STEPS, discover, kinds, lan, mac, named
from tests.engine.world import World

NAMES = ["m1", "m2"]
PORTS = 3
LANDSCAPE = "landscape"

policies: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {
        "allocate_on": st.sampled_from([None, "commission", "deploy", "boot", "binding"]),
        "interfaces": st.sampled_from(["boot", "all"]),
        "on_override": st.sampled_from(["shelve", "release", "keep"]),
        "model": st.sampled_from(["flat", "flat", "clustered"]),
        "strategy": st.sampled_from(["topology", "first_free", "host_block"]),
    }
)
ports: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {
        "network": st.sampled_from(["prod", "prod", "storage", None]),
        "boot": st.booleans(),
        "allocate": st.sampled_from(["inherit", "inherit", "always", "never"]),
    }
)
deployments: st.SearchStrategy[Any] = st.sampled_from(
    [
        {},
        {},
        {"host": "h0-0"},
        {"address": "10.0.0.20"},
        {"address": "10.0.0.21", "on_override": "keep"},
        {"address": "2001:db8::a"},
        {"reservation": LANDSCAPE},
        {"reservation": LANDSCAPE, "on_override": "release"},
        {"reservation": LANDSCAPE, "on_override": "shelve", "host": "h0-1"},
    ]
)
names = st.sampled_from(NAMES)
deploy: st.SearchStrategy[Any] = st.tuples(names, st.just("deploy"), deployments)
boot: st.SearchStrategy[Any] = st.tuples(names, st.just("discover"), st.just({}))
release: st.SearchStrategy[Any] = st.tuples(names, st.just("release"), st.just({}))
others: st.SearchStrategy[Any] = st.tuples(
    names, st.sampled_from(["commission", "ready", "ready", "seen", "retire"]), st.just({})
)
steps = st.sampled_from([deploy, deploy, deploy, boot, boot, release, release, release, others]).flatmap(
    lambda one: one
)


def made(policy: dict[str, Any], second: dict[str, Any], plugs: list[dict[str, Any]]) -> World:
    """Two networks, two machines of three interfaces, and a reservation of both families."""
    world = lan("10.0.0.0/27", "2001:db8::/124", fields={"locations": ["s1"]}, **policy)
    world.do(u.CreateNetwork(name="storage", fields={"domain": "storage.example.", **second}))
    world.do(u.CreateSubnet(network="storage", cidr="10.9.0.0/28", fields={"locations": ["s1"]}))
    for at, name in enumerate(NAMES):
        mine = plugs[PORTS * at : PORTS * (at + 1)]
        interfaces = tuple(u.NewInterface(mac=mac(PORTS * at + n), name=f"eth{n}", **p) for n, p in enumerate(mine))
        world.do(u.CreateMachine(name=name, interfaces=interfaces, location="h0-2" if at == 1 else None))
        with suppress(TenureError):
            world.do(u.ReadyMachine(machine=name))
    world.claim(handle=LANDSCAPE, host="h0-2", count=2)
    return world


def take(world: World, name: str, step: str, fields: dict[str, Any]) -> Any:
    """Do what a step says; None where it is refused."""
    if step == "discover":
        for n in range(PORTS):
            discover(world, PORTS * NAMES.index(name) + n)
        return None
    with suppress(TenureError):
        return world.do(STEPS[step](machine=name, **fields))
    return None


def lives(world: World, name: str) -> set[tuple[str, str | None, str]]:
    """What a machine has for life, as it stands when nothing is in front of it."""
    machines = {m.name: m.id for m in world.tables.all("machines")}
    mine = {c.id for c in world.tables.open("claims") if c.machine == machines[name] and c.kept == "life"}
    return {(a.ip, a.hostname, "primary") for a in world.tables.open("allocations") if a.claim in mine}


@given(policies, policies, st.lists(ports, min_size=6, max_size=6), st.lists(steps, min_size=8, max_size=24))
def test_a_step_is_one_machines_alone_is_done_once_and_is_undone_whole(
    policy: dict[str, Any], second: dict[str, Any], plugs: list[dict[str, Any]], asked: list[Any]
) -> None:
    world = made(policy, second, plugs)
    home: dict[str, set[tuple[str, str | None, str]]] = {}
    for name, step, fields in asked:
        before, told, lived = named(world), len(world.events), lives(world, name)
        answer = take(world, name, step, fields)
        after = named(world)
        naive.check(world)
        assert _others(before, name) == _others(after, name)
        if answer is None and step != "discover":
            assert len(world.events) == told
            continue
        _repeat(world, name, step, fields)
        if step == "deploy" and "machine.deployed" in kinds(world, told):
            gone = {d.ip for d in answer.displaced if d.became == "released"}
            kept = before.get(name, set()) | (lives(world, name) - lived)
            home[name] = {held for held in kept if held[0] not in gone}
            assert _homes_stand(answer, kept)
        elif step == "release" and "machine.released" in kinds(world, told):
            assert after.get(name, set()) == home.pop(name)
        elif step == "retire":
            assert not after.get(name)
            home.pop(name, None)
    for name in NAMES:
        take(world, name, "retire", {})
    assert {holder for holder, held in named(world).items() if held} == {LANDSCAPE}
    assert {ip for ip, _, _ in named(world)[LANDSCAPE]} == _reserved(world)


def _others(holders: dict[str, Any], name: str) -> dict[str, Any]:
    """All but a machine, and the reservation that it may borrow from."""
    return {holder: held for holder, held in holders.items() if holder not in (name, LANDSCAPE) and held}


def _repeat(world: World, name: str, step: str, fields: dict[str, Any]) -> None:
    """The same again records nothing."""
    told = len(world.events)
    take(world, name, step, fields)
    assert len(world.events) == told, kinds(world, told)


def _homes_stand(answer: Any, kept: set[tuple[str, str | None, str]]) -> bool:
    """What a machine had is there, or was displaced and the answer says so."""
    here = {a.ip for holding in answer.holdings for a in holding.addresses}
    return {ip for ip, _, _ in kept} <= here | {d.ip for d in answer.displaced}


def _reserved(world: World) -> set[str]:
    first = next(e for e in world.events if e.kind == "tenure.address.allocated" and e.claim.handle == LANDSCAPE)  # type: ignore[union-attr]
    return {
        e.allocation.ip  # type: ignore[union-attr]
        for e in world.events
        if e.kind == "tenure.address.allocated" and e.claim.id == first.claim.id  # type: ignore[union-attr]
    }
