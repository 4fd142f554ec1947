from datetime import UTC, datetime, timedelta

import pytest

from tenure.model.leases import Client, Lease, Place
from tenure.model.uses import LeaseCommit
from tenure.surfaces.dhcp.v4_memory import Promises
from tests.surfaces.dhcp.conversation import ADDRESS, OURS, lease

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NOON = NOW.timestamp()
MAC = "52:54:00:01:02:03"


def granted(seconds: int = 7200, address: int = ADDRESS, subnet: str = "S") -> Lease:
    return lease(address=address, subnet=subnet, held_until=NOW + timedelta(seconds=seconds))


def use(form: str = "renewing", *, mac: str = MAC, link: int | None = OURS, address: int = ADDRESS) -> LeaseCommit:
    return LeaseCommit(client=Client(mac), place=Place(link), address=address, form=form)


def remembering(*leases: Lease, capacity: int = 10) -> Promises:
    promises = Promises(capacity)
    for each in leases:
        promises.remember(MAC, each, promises.mark())
    return promises


def test_a_renewal_is_answered_only_inside_the_promise() -> None:
    promises = remembering(granted(7200))
    assert promises.recall(use(), NOON) == granted(7200)
    assert promises.recall(use(), NOON + 3600)
    assert promises.recall(use(), NOON + 3600.001) is None


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        (use("renewing"), True),
        (use("rebinding"), True),
        (use("init-reboot"), True),
        (use("selecting"), False),
        (use(mac="52:54:00:00:00:01"), False),
        (use(address=ADDRESS + 1), False),
        (use(link=0x0A000101), False),  # another subnet
        (use(link=ADDRESS), True),  # the client's own address, as it wrote directly
        (use(link=None), False),
    ],
)
def test_who_is_answered(asked: LeaseCommit, answered: bool) -> None:
    assert bool(remembering(granted()).recall(asked, NOON)) is answered


def test_a_lease_that_promises_nothing_is_not_kept() -> None:
    assert len(remembering(lease())) == 0


def test_what_is_left_when_the_store_is_away() -> None:
    promises = remembering(granted(1000))
    assert promises.recall(use(), NOON) is None
    left = promises.remnant(use(), NOON + 0.5)
    assert left is not None
    assert left.lease_time == 999
    assert promises.remnant(use(), NOON + 941) is None
    whole = remembering(granted(9999)).remnant(use(), NOON)
    assert whole is not None
    assert whole.lease_time == 3600


def test_the_oldest_are_forgotten_first() -> None:
    promises = remembering(*(granted(address=ADDRESS + n) for n in range(3)), capacity=2)
    assert len(promises) == 2
    assert promises.recall(use(), NOON) is None
    assert promises.recall(use(address=ADDRESS + 2), NOON)


def test_forgetting() -> None:
    promises = remembering(granted(), granted(address=ADDRESS + 1, subnet="T"))
    promises.forget(ADDRESS)
    assert promises.recall(use(), NOON) is None
    assert promises.recall(use(address=ADDRESS + 1), NOON)
    promises.forget_all()
    assert promises.recall(use(address=ADDRESS + 1), NOON) is None


@pytest.mark.parametrize("how", ["address", "all", "many"])
def test_what_was_forgotten_meanwhile_is_not_remembered(how: str) -> None:
    promises = Promises(10)
    mark = promises.mark()
    if how == "address":
        promises.forget(ADDRESS)
    elif how == "all":
        promises.forget_all()
    else:
        promises.forget(ADDRESS)
        for other in range(5000):
            promises.forget(other)
    promises.remember(MAC, granted(), mark)
    assert len(promises) == 0
    promises.remember(MAC, granted(), promises.mark())
    assert promises.recall(use(), NOON)


def test_forgetting_another_address_costs_nothing() -> None:
    promises = Promises(10)
    mark = promises.mark()
    promises.forget(ADDRESS + 1)
    promises.remember(MAC, granted(), mark)
    assert promises.recall(use(), NOON)


def test_a_clients_dynamic_leases_are_forgotten_on_every_subnet() -> None:
    promises = Promises(10)
    promises.remember(MAC, lease(held_until=NOW + timedelta(seconds=7200), dynamic=True), promises.mark())
    other = lease(address=ADDRESS + 256, subnet="T", held_until=NOW + timedelta(seconds=7200), dynamic=True)
    promises.remember(MAC, other, promises.mark())
    promises.forget_client("52:54:00:00:00:01")
    assert promises.recall(use(), NOON)
    under_way = promises.mark()
    promises.forget_client(MAC)
    assert len(promises) == 0
    assert promises.recall(use(), NOON) is None
    promises.remember(MAC, granted(), under_way)
    assert promises.recall(use(), NOON) is None
    promises.remember(MAC, granted(), promises.mark())
    promises.forget_client(MAC)  # an allocation is no dynamic lease
    assert promises.recall(use(), NOON)


def test_what_is_pushed_out_leaves_nothing_behind() -> None:
    promises = Promises(2)
    for number in range(5):
        dynamic = lease(address=ADDRESS + number, held_until=NOW + timedelta(seconds=7200), dynamic=True)
        promises.remember(f"52:54:00:00:00:0{number}", dynamic, promises.mark())
    promises.forget_client("52:54:00:00:00:00")
    assert len(promises) == 2
    promises.forget_client("52:54:00:00:00:04")
    assert len(promises) == 1


def test_dynamic_leases_are_forgotten_together_but_those_of_other_subnets() -> None:
    until = NOW + timedelta(seconds=7200)
    promises = remembering(granted(address=ADDRESS + 1))
    promises.remember(MAC, lease(held_until=until, dynamic=True), promises.mark())
    promises.forget_dynamic(lambda subnet: subnet != "T")
    assert len(promises) == 2
    under_way = promises.mark()
    promises.forget_dynamic(lambda subnet: subnet != "S")
    assert promises.recall(use(), NOON) is None
    assert promises.recall(use(address=ADDRESS + 1), NOON), "an allocation is no dynamic lease"
    promises.remember(MAC, lease(held_until=until, dynamic=True), under_way)
    assert promises.recall(use(), NOON) is None
    promises.remember(MAC, granted(), under_way)
    assert promises.recall(use(), NOON)
