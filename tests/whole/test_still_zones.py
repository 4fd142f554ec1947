"""Names ahead of time keep zones still: claims and leases without names move no serial, and tell nobody."""

import asyncio
import socket
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import dns.flags
import dns.message
import httpx
import pytest

from tenure.app.directory import LEDGER_SOCKET
from tenure.model.answers import Leased
from tenure.model.leases import Client, Lease
from tenure.model.leases import Place as Link
from tenure.model.uses import LeaseCommit, LeaseOffer, Submission
from tenure.net.addresses import number_of
from tenure.service.door import Door
from tests.whole.serving import Serving, until
from tests.whole.site import Asker

pytestmark = pytest.mark.whole

CLAIMS, LEASES = 8000, 2000
DOMAIN = "still.example."
ZONES = (DOMAIN, *(f"{octet}.20.10.in-addr.arpa." for octet in range(64)))
_LINK = Link(number_of("10.20.0.1"), relayed=True)


class Told:
    """A secondary that acknowledges what it is told, and remembers the zones; a context manager."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.serials: list[tuple[str, int]] = []
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        while True:
            try:
                packet, peer = self._socket.recvfrom(65535)
            except OSError:
                return
            if not packet:
                return
            told = dns.message.from_wire(packet)
            (soa,) = told.answer[0]
            self.serials.append((str(told.question[0].name), soa.serial))
            reply = dns.message.make_response(told)
            reply.flags |= dns.flags.AA
            self._socket.sendto(reply.to_wire(), peer)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.sendto(b"", ("127.0.0.1", self.port))
        self._thread.join(5)
        self._socket.close()


def test_ten_thousand_claims_and_leases_move_no_serial_and_a_range_moves_each_once(tmp_path: Path) -> None:
    with Serving(tmp_path / "data") as serving, serving.client() as client, Asker(serving.dns) as ask, Told() as told:
        subnet = _site(client)
        _made(client, "/v1/secondaries", {"name": "told", "address": "127.0.0.1", "port": told.port, "unsigned": True})
        members = (*ZONES, "catalog.tenure.invalid.")
        until(lambda: {zone for zone, _ in told.serials} >= set(members), 60)
        until(lambda: not _pending(client), 60)
        before, heard = {zone: ask.serial(zone) for zone in ZONES}, len(told.serials)
        _claim(client)
        asyncio.run(_lease(serving.data, LEASES))
        assert {zone: ask.serial(zone) for zone in ZONES} == before
        assert len(told.serials) == heard
        _made(
            client, f"/v1/subnets/{subnet}/ranges", {"start": "10.20.62.128", "end": "10.20.63.127", "role": "reserved"}
        )
        touched = {DOMAIN, "62.20.10.in-addr.arpa.", "63.20.10.in-addr.arpa."}
        until(lambda: len(told.serials) == heard + len(touched))
        moved = {zone: ask.serial(zone) - before[zone] for zone in ZONES}
        assert moved == dict.fromkeys(ZONES, 0) | dict.fromkeys(touched, 1)
        assert {(zone, before[zone] + 1) for zone in touched} == set(told.serials[heard:])
        assert not ask.exists("ip-10-20-63-1." + DOMAIN)
        assert ask.addresses("ip-10-20-63-129." + DOMAIN) == {"10.20.63.129"}


def _site(client: httpx.Client) -> str:
    fields = {"domain": DOMAIN, "name_template": "ip-{ip-dashed}", "strategy": "first_free"}
    _made(client, "/v1/networks", {"name": "still", **fields})
    subnet: str = _made(client, "/v1/networks/still/subnets", {"cidr": "10.20.0.0/18", "gateway": "10.20.0.1"})["id"]
    _made(client, f"/v1/subnets/{subnet}/ranges", {"start": "10.20.48.0", "end": "10.20.59.255", "role": "dynamic"})
    return subnet


def _claim(client: httpx.Client) -> None:
    for at in range(0, CLAIMS, 500):
        claims = [{"network": "still", "handle": f"vm-{n}"} for n in range(at, at + 500)]
        items = _made(client, "/v1/claims/batch", {"claims": claims})["items"]
        assert len(items) == 500


async def _lease(data: Path, number: int) -> None:
    door = Door(data / LEDGER_SOCKET)
    await door.opened()
    for client in (Client(f"52:54:00:00:{n >> 8:02x}:{n & 255:02x}") for n in range(number)):
        offered = await _ask(door, LeaseOffer(client=client, place=_LINK))
        await _ask(door, LeaseCommit(client=client, place=_LINK, address=offered.address, form="selecting"))
    await door.close()


async def _ask(door: Door, use: Any) -> Lease:
    (reply,) = await door.submit([Submission(use=use, actor="dhcp", urgent=True)])
    assert isinstance(reply.answer, Leased) and reply.answer.lease is not None, reply.answer
    return reply.answer.lease


def _made(client: httpx.Client, path: str, body: Any) -> Any:
    answer = client.post(path, json=body)
    assert answer.is_success, (path, answer.text)
    return answer.json()


def _pending(client: httpx.Client) -> float:
    """How many zones a secondary has not acknowledged yet, by the figures."""
    for line in client.get("/metrics").text.splitlines():
        if line.startswith("tenure_dns_notify_pending"):
            return float(line.split()[-1])
    return 0.0
