"""What the DHCP process may still answer from memory as the ledger changes."""

import asyncio
from datetime import UTC, datetime

from msgspec import structs

from tenure.app.dhcp import PromisesView
from tenure.model import events as e
from tenure.model.addressing import Network
from tenure.model.holding import Allocation, Attachment, Claim, ClaimRequest
from tenure.model.leases import Client, Lease, Place
from tenure.model.machines import Machine
from tenure.model.uses import LeaseCommit
from tenure.service.feed import Committed
from tenure.surfaces.dhcp.v4_memory import Promises

THEN = datetime(2026, 1, 1, tzinfo=UTC)
ADDRESS = 0x0A000005
MAC = "52:54:00:0a:0b:0c"
LEASE = Lease(
    address=ADDRESS,
    prefix_length=24,
    subnet="s",
    dynamic=False,
    lease_time=3600,
    held_until=datetime(2027, 1, 1, tzinfo=UTC),
)
CLAIM = Claim(id="c", handle="h", project="p", network="n", request=ClaimRequest(network="n"), since=THEN, actor="t")


def allocation(ip: str) -> Allocation:
    return Allocation(id="a", claim="c", vrf="v", subnet="s", ip=ip, length=32, since=THEN)


def remembered(*events: e.Event, lease: Lease = LEASE) -> bool:
    """Whether the lease of one client is still answered from memory after `events`."""
    promises = Promises(10)
    view = PromisesView(promises, lambda: None)
    promises.remember(MAC, lease, promises.mark())
    entries = tuple(
        e.Entry(sequence=n, batch="b", change="c", time=THEN, actor="t", source="", request_id="", event=event)
        for n, event in enumerate(events, 1)
    )
    asyncio.run(view.apply(Committed(epoch="e", sequence=len(entries), entries=entries)))
    asked = LeaseCommit(client=Client(MAC), place=Place(ADDRESS), address=ADDRESS, form="renewing")
    return promises.recall(asked, THEN.timestamp()) is not None


def test_what_concerns_others_is_kept() -> None:
    assert remembered()
    assert remembered(
        e.AddressAllocated(claim=CLAIM, allocation=allocation("10.0.0.6")),
        e.AddressReleased(claim=CLAIM, allocation=allocation("10.0.0.6")),
        e.AddressReleased(claim=CLAIM, allocation=allocation("2001:db8::5")),
        e.LeasePromised(claim=CLAIM, allocation=allocation("10.0.0.5")),
    )


def test_what_was_released_or_may_be_different_is_forgotten() -> None:
    assert not remembered(e.AddressReleased(claim=CLAIM, allocation=allocation("10.0.0.5")))
    assert not remembered(e.NetworkChanged(network=Network(id="n", name="n", vrf="v")))
    assert not remembered(e.ClaimRebound(claim=CLAIM))
    assert not remembered(e.EpochStarted(epoch="f", reason="a restore"))


def test_a_lease_is_forgotten_when_its_client_is_to_have_another_address_there() -> None:
    lease = structs.replace(LEASE, dynamic=True)
    better = e.AddressAllocated(claim=_claim(MAC), allocation=allocation("10.0.0.6"), opens=True)
    assert not remembered(better, lease=lease)
    assert remembered(structs.replace(better, claim=_claim("52:54:00:0a:0b:0d")), lease=lease)
    elsewhere = structs.replace(allocation("10.0.1.6"), subnet="t")
    assert not remembered(structs.replace(better, allocation=elsewhere), lease=lease), "of another subnet of its link"
    assert remembered(structs.replace(better, allocation=allocation("2001:db8::6")), lease=lease)
    assert remembered(better)  # an address that was allocated before this one
    granted = structs.replace(better, allocation=structs.replace(better.allocation, lease=True))
    assert remembered(granted, lease=lease)  # its own


def test_what_moved_is_shelved_or_is_called_otherwise_is_asked_of_the_writer() -> None:
    mine, others = allocation("10.0.0.5"), allocation("10.0.0.6")
    port = Attachment(allocation="a", interface="i", since=THEN)
    for held, kept in ((mine, False), (others, True)):
        moved = e.AddressMoved(giver=CLAIM, left=held, claim=CLAIM, allocation=held, reason="reassigned")
        assert remembered(moved) is kept
        assert remembered(e.AddressShelved(claim=CLAIM, allocation=held)) is kept
        assert remembered(e.AddressAliased(claim=CLAIM, allocation=held)) is kept
        assert remembered(e.AddressRestored(claim=CLAIM, allocation=held, before="shelved")) is kept
        assert remembered(e.AddressNamed(claim=CLAIM, allocation=held)) is kept
        assert remembered(e.AddressAttached(claim=CLAIM, allocation=held, attachment=port)) is kept
        assert remembered(e.AddressDetached(claim=CLAIM, allocation=held, attachment=port)) is kept


def test_a_lease_is_forgotten_when_some_client_of_its_subnet_is_to_have_an_address() -> None:
    lease, others = structs.replace(LEASE, dynamic=True), allocation("10.0.0.6")
    port = Attachment(allocation="a", interface="i", since=THEN)
    assert not remembered(e.AddressAllocated(claim=CLAIM, allocation=others, attachment=port), lease=lease)
    assert not remembered(e.AddressAttached(claim=CLAIM, allocation=others, attachment=port), lease=lease)
    assert not remembered(e.AddressRestored(claim=CLAIM, allocation=others, before="shelved"), lease=lease)
    assert remembered(e.AddressAllocated(claim=CLAIM, allocation=others), lease=lease)
    replaced = _claim("52:54:00:0a:0b:0d")  # by which it asked, before its interface got another
    later = e.AddressAllocated(claim=replaced, allocation=others, attachment=port)
    assert not remembered(later, lease=lease)
    beside = structs.replace(later, allocation=structs.replace(others, subnet="t"))
    assert not remembered(beside, lease=lease), "its link may have several subnets"
    known = e.LeasePromised(claim=CLAIM, allocation=structs.replace(others, lease=True))
    assert not remembered(known, beside, lease=lease)
    elsewhere = structs.replace(beside, claim=structs.replace(replaced, network="m"))
    assert remembered(known, elsewhere, lease=lease), "another network is another link"
    renamed = structs.replace(others, lease=True)
    assert remembered(
        e.AddressMoved(giver=CLAIM, left=renamed, claim=CLAIM, allocation=renamed, reason="renamed"), lease=lease
    )


def test_what_machines_go_through_costs_no_promise() -> None:
    machine = Machine(id="m", name="m")
    assert remembered(e.MachineSeen(machine=machine), e.MachineEnlisted(machine=machine))


def _claim(mac: str) -> Claim:
    return structs.replace(CLAIM, request=ClaimRequest(network="n", mac=mac))


def test_a_process_that_does_not_follow_remembers_nothing() -> None:
    promises = Promises(10)
    ready: list[bool] = []
    view = PromisesView(promises, lambda: ready.append(view.following))
    promises.remember(MAC, LEASE, promises.mark())
    view.settle(True)
    assert ready == [True] and len(promises) == 1
    view.settle(False)
    assert [view.following] == [False] and len(promises) == 0
