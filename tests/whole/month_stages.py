"""Two stages for the month: the API in process in a time of its own, and a running server with real DHCP clients."""

import re
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import httpx

from tenure.model.answers import Leased, Reply
from tenure.model.leases import Client, Lease, Place
from tenure.model.uses import LeaseCommit, LeaseOffer, Submission
from tenure.service.contents import zone_contents
from tenure.service.upkeep import Upkeep
from tests.lab.dhcp_clients import Dhclient
from tests.lab.namespaces import Topology
from tests.surfaces.api.site import Site
from tests.whole.month import DOMAIN, Json, Month
from tests.whole.serving import SERVE, Serving, until

_LINK = Place(link=int(ip_address("192.0.2.1")))
_WEEK = 7 * 86400
_SERVER = "192.0.2.1"
_REVERSE = ("0-26.2.0.192.in-addr.arpa.", "0-28.100.51.198.in-addr.arpa.", "0-28.113.0.203.in-addr.arpa.")

Names = dict[str, set[str]]


class InProcess:
    """The API and the writer in this process; time passes when the story says so."""

    week = _WEEK

    def __init__(self, directory: Path) -> None:
        self.site = Site(directory)
        self.site.post("/v1/vrfs", {"name": "default"})
        self._upkeep = Upkeep(self.site.store, self.site.clock, "one", self._submit)
        self._remembered: dict[str, int] = {}

    def in_a_moment(self) -> str:
        """In an hour."""
        return _text(self.site.clock.now() + timedelta(hours=1))

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """What the API answers, which must be a success."""
        return _succeeded(self.site.ask(method, path, body))

    def refused(self, method: str, path: str, body: Any = None) -> Json:
        """The problem that the API answers."""
        return _problem(self.site.ask(method, path, body))

    def boot(self, mac: str) -> str | None:
        """INIT-REBOOT for what it remembers; where that is refused, or there is nothing, a DISCOVER."""
        known = self._remembered.get(mac)
        lease = None if known is None else self._commit(mac, known, "init-reboot")
        if lease is None:
            offer = self._lease(LeaseOffer(client=Client(mac), place=_LINK))
            lease = None if offer is None else self._commit(mac, offer.address, "selecting")
        if lease is None:
            self._remembered.pop(mac, None)
            return None
        self._remembered[mac] = lease.address
        return str(ip_address(lease.address))

    def power_off(self, mac: str) -> None:
        """Nobody hears of it."""

    def week_passes(self) -> None:
        """An hour, and then another."""
        for _ in range(_WEEK // 3600 + 1):
            self.site.clock.pause(3600)
            self._upkeep.step()

    def comes_true(self, what: Callable[[], Any]) -> None:
        """At the latest in two hours."""
        for _ in range(120):
            if what():
                return
            self.site.clock.pause(60)
            self._upkeep.step()
        raise AssertionError("it did not come true in two hours")

    def names(self) -> Names:
        """Of the zones, loaded whole."""
        return _grouped((r.owner, str(ip_address(r.rdata))) for r in self._records(DOMAIN) if r.type in (1, 28))

    def pointers(self) -> Names:
        """Of the zones, loaded whole."""
        found = (record for zone in _REVERSE for record in self._records(zone) if record.type == 12)
        return _grouped((_pointed(r.owner), _name(r.rdata)) for r in found)

    def close(self) -> None:
        """Let go of everything."""
        self.site.close()

    def _records(self, name: str) -> list[Any]:
        with self.site.store.snapshot() as snapshot:
            for zone, *_, records in zone_contents(snapshot):
                if zone.name == name:
                    return list(records)
        return []

    def _commit(self, mac: str, address: int, form: str) -> Lease | None:
        return self._lease(LeaseCommit(client=Client(mac), place=_LINK, address=address, form=form))

    def _lease(self, use: Any) -> Lease | None:
        (reply,) = self._submit([Submission(use=use, actor="dhcp", urgent=True)]).result(0)
        assert isinstance(reply.answer, Leased), reply.answer
        return reply.answer.lease

    def _submit(self, asked: Sequence[Submission]) -> Future[list[Reply]]:
        future = self.site.writer.submit(asked)
        while not future.done():
            self.site.writer.step()
        return future


class Running:
    """`tenure serve` on a link of its own, and a DHCP client in a namespace of its own for each machine that boots."""

    week = 5

    def __init__(self, topology: Topology, directory: Path) -> None:
        self._topology, self._directory = topology, directory
        self._link = topology.bridge("lan")
        self._server = topology.namespace("server")
        topology.plug(self._server, "eth0", self._link)
        self._server.up("eth0", f"{_SERVER}/26")
        self._serving = Serving(
            directory / "data",
            *("--dhcp4", "eth0", "--api-socket", str(directory / "api.sock"), "--transfer-from", "127.0.0.1"),
            command=["ip", "netns", "exec", self._server.name, *SERVE],
        )
        token = (self._serving.data / "admin-token").read_text().strip()
        self._api = httpx.Client(
            transport=httpx.HTTPTransport(uds=str(directory / "api.sock")),
            base_url="http://tenure",
            headers={"Authorization": f"Bearer {token}"},
            timeout=20,
        )
        self._clients: dict[str, Dhclient] = {}

    def in_a_moment(self) -> str:
        """In twenty seconds: upkeep comes by before it, on a busy machine too."""
        return _text(datetime.now(UTC) + timedelta(seconds=20))

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """What the API answers, which must be a success."""
        return _succeeded(self._api.request(method, path, json=body))

    def refused(self, method: str, path: str, body: Any = None) -> Json:
        """The problem that the API answers."""
        return _problem(self._api.request(method, path, json=body))

    def boot(self, mac: str) -> str | None:
        """Its client starts, for the first time or again."""
        client = self._clients.get(mac)
        if client is None:
            client = self._clients[mac] = self._machine(mac)
            return str(client.acquire().address.ip)
        return str(client.reboot().address.ip)

    def power_off(self, mac: str) -> None:
        """Its client dies."""
        self._clients[mac].kill()

    def week_passes(self) -> None:
        """A real server's clock goes as it goes: what is waited for is waited for where it is needed."""

    def comes_true(self, what: Callable[[], Any]) -> None:
        """As soon as the server has done it."""
        until(what, 60)

    def names(self) -> Names:
        """By zone transfer."""
        return _grouped((owner, data) for owner, kind, data in self._transfer(DOMAIN) if kind in ("A", "AAAA"))

    def pointers(self) -> Names:
        """By zone transfer."""
        found = (line for zone in _REVERSE for line in self._transfer(zone))
        return _grouped((_pointed(owner), data) for owner, kind, data in found if kind == "PTR")

    def close(self) -> None:
        """End what runs."""
        for client in self._clients.values():
            client.kill()
        self._api.close()
        self._serving.kill9()

    def _machine(self, mac: str) -> Dhclient:
        name = "m" + re.sub(r"\W", "", mac)[-6:]
        namespace = self._topology.namespace(name)
        self._topology.plug(namespace, "eth0", self._link, mac=mac)
        return Dhclient(namespace, "eth0", self._directory / name)

    def _transfer(self, zone: str) -> list[tuple[str, str, str]]:
        address, port = self._serving.dns
        said = self._server.run(["dig", "+noall", "+answer", f"@{address}", "-p", str(port), zone, "AXFR"])
        lines = (line.split() for line in said.splitlines() if not line.startswith(";"))
        return [(line[0], line[3], line[4]) for line in lines if len(line) > 4]


def played(stage: InProcess | Running) -> None:
    """The month on a stage, from beginning to end."""
    try:
        Month(stage).play()
    finally:
        stage.close()


def _grouped(pairs: Iterable[tuple[str, str]]) -> Names:
    found: Names = {}
    for name, value in pairs:
        found.setdefault(name, set()).add(value)
    return found


def _pointed(owner: str) -> str:
    """The address that a pointer is of: the label of a prefix's own zone is no octet."""
    return ".".join(reversed([label for label in owner.split(".") if label.isdigit()]))


def _name(rdata: bytes) -> str:
    """The text of a name in wire form, without compression."""
    labels, at = [], 0
    while rdata[at]:
        labels.append(rdata[at + 1 : at + 1 + rdata[at]].decode())
        at += 1 + rdata[at]
    return ".".join(labels) + "."


def _text(time: datetime) -> str:
    return time.isoformat(timespec="seconds").replace("+00:00", "Z")


def _succeeded(answer: httpx.Response) -> Any:
    assert answer.is_success, f"{answer.request.method} {answer.request.url}: {answer.status_code} {answer.text}"
    return answer.json() if answer.content else None


def _problem(answer: httpx.Response) -> Json:
    assert not answer.is_success, f"{answer.request.method} {answer.request.url}: {answer.status_code} {answer.text}"
    problem: Json = answer.json()
    return problem
