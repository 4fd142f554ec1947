"""DHCP's part: exchanges of clients that nobody knows, through the writer's door as the DHCP process asks."""

import asyncio
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import uvloop

from tenure.app.directory import LEDGER_SOCKET
from tenure.model.answers import Leased
from tenure.model.leases import Client, Lease
from tenure.model.leases import Place as Link
from tenure.model.uses import LeaseCommit, LeaseOffer, Submission, Use
from tenure.net.addresses import number_of
from tenure.service.door import Door

_LINK = Link(number_of("172.16.0.1"), relayed=True)
_clients = count(1)


def exchanges(directory: Path, go_on: Callable[[], bool]) -> list[float]:
    """Offer and commit a lease to one unknown client after the other while `go_on`; seconds of each exchange."""
    return uvloop.run(_exchanges(directory, go_on))


async def _exchanges(directory: Path, go_on: Callable[[], bool]) -> list[float]:
    door = Door(directory / LEDGER_SOCKET)
    await door.opened()
    took = []
    while go_on():
        began = time.perf_counter()
        await _exchange(door, Client(_mac(next(_clients))))
        took.append(time.perf_counter() - began)
        await asyncio.sleep(0)
    await door.close()
    return took


async def _exchange(door: Door, client: Client) -> None:
    offered = await _ask(door, LeaseOffer(client=client, place=_LINK))
    committed = await _ask(door, LeaseCommit(client=client, place=_LINK, address=offered.address, form="selecting"))
    assert committed.address == offered.address


async def _ask(door: Door, use: Use) -> Lease:
    (reply,) = await door.submit([Submission(use=use, actor="dhcp", urgent=True)])
    assert isinstance(reply.answer, Leased) and reply.answer.lease is not None, reply.answer
    return reply.answer.lease


def _mac(number: int) -> str:
    return ":".join(f"{byte:02x}" for byte in b"\x52\x54" + number.to_bytes(4))
