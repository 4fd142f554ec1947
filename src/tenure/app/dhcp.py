"""The DHCP process: one socket pair an interface; everything it may promise comes through the writer's door."""

import asyncio
import time
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, ip_address
from typing import Final

from tenure.app.child import Child, report, run
from tenure.errors import StoreUnavailable
from tenure.model import events as e
from tenure.model.answers import Answer, Failure, Leased
from tenure.model.uses import Submission
from tenure.service.door import Door
from tenure.service.feed import Committed
from tenure.service.frames import error_of
from tenure.service.views import Subscriber
from tenure.surfaces.dhcp.server import Server
from tenure.surfaces.dhcp.v4_desk import Desk
from tenure.surfaces.dhcp.v4_memory import Promises
from tenure.surfaces.dhcp.v4_session import LeaseUse, Result

PATIENCE: Final = 4.0
"""Seconds that a message waits for the writer: its client asks again after that."""
REMEMBERED: Final = 500_000
"""Leases in memory at most."""

_HARMLESS: Final = (
    e.LeasePromised,
    e.BlockOwned,
    e.BlockSurrendered,
    e.BlockResized,
    e.ClaimDeferred,
    e.ClaimBound,
    e.ClaimSettled,
    e.ClaimReleased,
    e.ClaimChanged,
    e.ClaimExpiring,
    e.AddressObserved,
    e.AddressDisputed,
    e.MachineCreated,
    e.MachineChanged,
    e.MachineEnlisted,
    e.MachineCommissioned,
    e.MachineReadied,
    e.MachineDeployed,
    e.MachineReleased,
    e.MachineRetired,
    e.MachineSeen,
    e.InterfaceCreated,
    e.NetworkDepleted,
    e.NetworkReplenished,
    e.TokenCreated,
    e.TokenRevoked,
    e.ZoneCreated,
    e.ZoneReshaped,
    e.ZoneDeleted,
)


_OF_ONE: Final = (
    e.AddressReleased,
    e.AddressMoved,
    e.AddressShelved,
    e.AddressAliased,
    e.AddressRestored,
    e.AddressNamed,
    e.AddressAttached,
    e.AddressDetached,
)
"""What changes who is to have an address, or how it is called."""

_GIVEN: Final = (e.AddressAllocated, e.AddressMoved, e.AddressRestored, e.AddressAttached)
"""What gives a client an address instead of the dynamic lease that it may have."""


class PromisesView:
    """Forgets promises as the ledger changes; what is not remembered is asked of the writer, who is always right."""

    def __init__(self, promises: Promises, caught_up: Callable[[], None]) -> None:
        self._promises = promises
        self._caught_up = caught_up
        self._networks: dict[str, str] = {}  # of subnets, as far as they were told
        self.following = False

    async def load(self) -> str:
        """Remember nothing; what comes from now on is enough."""
        self._promises.forget_all()
        return ""

    async def apply(self, committed: Committed) -> None:
        """Forget what one transaction may have changed."""
        for entry in committed.entries:
            self._take(entry.event)

    def _take(self, event: e.Event) -> None:
        if isinstance(event, _OF_ONE + _GIVEN + (e.LeasePromised,)):
            self._networks[event.allocation.subnet] = event.claim.network
        if isinstance(event, _OF_ONE):
            address = ip_address(event.allocation.ip)
            if isinstance(address, IPv4Address):
                self._promises.forget(int(address))
        if isinstance(event, _GIVEN):
            self._take_given(event)
        elif not isinstance(event, _OF_ONE + _HARMLESS):
            self._promises.forget_all()

    def _take_given(self, event: e.AddressAllocated | e.AddressMoved | e.AddressRestored | e.AddressAttached) -> None:
        """Who had a dynamic lease on this link is to have this address instead; the link is at most the network.

        Which MAC that is a claim says that begins by it. Any other may have
        been made with a MAC that was replaced since.
        """
        claim, allocation = event.claim, event.allocation
        if allocation.lease or ":" in allocation.ip:
            return
        if isinstance(event, e.AddressAllocated):
            if event.opens and claim.request.mac is not None:
                self._promises.forget_client(claim.request.mac)
                return
            if event.attachment is None:
                return
        elif isinstance(event, e.AddressMoved) and event.reason == "renamed":
            return
        self._promises.forget_dynamic(lambda subnet: self._networks.get(subnet, claim.network) != claim.network)

    def settle(self, ready: bool) -> None:
        """While this process does not follow, it remembers nothing."""
        self.following = ready
        if ready:
            self._caught_up()
        else:
            self._promises.forget_all()


class Writing:
    """The server's way to the writer."""

    def __init__(self, door: Door, promises: Promises, view: PromisesView) -> None:
        self._door = door
        self._promises = promises
        self._view = view

    async def submit(self, uses: list[LeaseUse]) -> Sequence[Result]:
        """Have a batch decided: a lease, a refusal, or an error each; raises where none could be asked."""
        asked = [Submission(use=use, actor="dhcp", source="dhcp", patience=PATIENCE, urgent=True) for use in uses]
        replies = await self._door.submit(asked)
        if not self._view.following:
            self._promises.forget_all()  # after the marks of this batch: nothing of it will be remembered
        return [_result(reply.answer) for reply in replies]


def _result(answer: Answer) -> Result:
    if isinstance(answer, Failure):
        return error_of(answer)
    if isinstance(answer, Leased):
        return answer.lease or answer.refused
    return StoreUnavailable(f"the writer answered {type(answer).__name__}")


async def main(child: Child) -> None:
    """Serve DHCP until stopped."""
    promises = Promises(REMEMBERED)
    view = PromisesView(promises, child.ready)
    door = Door(child.ledger)
    writing = Writing(door, promises, view)
    server = Server(asyncio.get_running_loop(), child.settings.dhcp4, writing.submit, time.time, promises=promises)
    try:
        await child.work(
            server.serve(),
            Subscriber(child.views, "dhcp", view).run(),
            report(door, "dhcp", lambda: _figures(server.desk)),
        )
    finally:
        await door.close()


def _figures(desk: Desk) -> dict[str, float]:
    counted = {"received": desk.received, "sent": desk.sent, "dropped": desk.dropped}
    figures: dict[str, float] = {
        f"dhcp_{name}_{what}_total": count for name, counts in counted.items() for what, count in counts.items()
    }
    figures["dhcp_from_memory_total"] = desk.from_memory
    return figures


if __name__ == "__main__":
    run("dhcp", main)
