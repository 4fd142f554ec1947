"""A small site over the API, and what a test may ask of it."""

import socket
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from ipaddress import ip_address
from types import TracebackType
from typing import Any, Self

import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.reversename
import httpx
import pytest

from tenure.service.replay import differences
from tenure.store.sql import open_store

DOMAIN = "prod.example."
LONG = (pytest.mark.long, pytest.mark.timeout(1800))
"""Marks of a long form: `make test-faults` runs it."""
Json = dict[str, Any]


def build(client: httpx.Client, *, cidrs: tuple[str, ...] = ("10.0.0.0/16",), **policies: Any) -> None:
    """The network `prod` with these subnets, and four hosts in two racks."""
    made(client, "/v1/networks", name="prod", domain=DOMAIN, **policies)
    for cidr in cidrs:
        made(client, "/v1/networks/prod/subnets", cidr=cidr)
    for rack in ("r1", "r2"):
        made(client, "/v1/locations", name=rack, kind="rack")
        for host in ("a", "b"):
            made(client, "/v1/locations", name=f"{rack}-{host}", kind="host", parent=rack)


HOSTS = ("r1-a", "r1-b", "r2-a", "r2-b")


def made(client: httpx.Client, path: str, **body: Any) -> Json:
    """POST; what was made."""
    answer = client.post(path, json=body or None)
    assert answer.is_success, f"{path} {body}: {answer.status_code} {answer.text}"
    said: Json = answer.json()
    return said


def listed(client: httpx.Client, path: str, **query: Any) -> Iterator[Json]:
    """Everything that a list holds, page by page."""
    after: str | None = ""
    while after is not None:
        page = client.get(path, params={"limit": 1000, **query, **({"after": after} if after else {})})
        assert page.is_success, page.text
        yield from page.json()["items"]
        after = page.json()["next"]


def open_claims(client: httpx.Client) -> dict[str, Json]:
    """Every open claim by handle; fails if two have one handle, or one address is held twice."""
    claims = list(listed(client, "/v1/claims"))
    by_handle = {claim["handle"]: claim for claim in claims}
    assert len(by_handle) == len(claims), "two open claims have one handle"
    held = [address["ip"] for claim in claims for address in claim["addresses"]]
    assert len(set(held)) == len(held), "an address is held twice"
    return by_handle


def events(client: httpx.Client, after: str | None = None) -> tuple[list[Json], str]:
    """The ledger from `after` to its end, and where to go on from."""
    found: list[Json] = []
    while True:
        page = client.get("/v1/events", params={"limit": 1000, **({"after": after} if after else {})})
        assert page.is_success, page.text
        found += page.json()["items"]
        after = page.json()["position"]
        if page.json()["next"] is None:
            return found, after


def faults_of(where: Any) -> list[str]:
    """What the tables of a store (a path or a URL) and its ledger do not agree on."""
    store = open_store(where, lambda: datetime.now(UTC))
    try:
        return differences(store)
    finally:
        store.close()


class Asker:
    """Asks a DNS server over UDP: one datagram a question, nothing asked twice; a context manager."""

    def __init__(self, server: tuple[str, int], patience: float = 10) -> None:
        self._sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._sock.settimeout(patience)
        self._sock.connect(server)

    def ask(self, name: str | dns.name.Name, kind: str) -> dns.message.Message:
        """The answer to one query; fails if there is none."""
        query = dns.message.make_query(name, kind)
        self._sock.send(query.to_wire())
        while True:
            answer = dns.message.from_wire(self._sock.recv(65535))
            if answer.id == query.id:
                return answer

    def addresses(self, name: str) -> set[str]:
        """The addresses of a name, of both families."""
        return _texts(self.ask(name, "A")) | _texts(self.ask(name, "AAAA"))

    def names(self, address: str) -> set[str]:
        """The names of an address."""
        return _texts(self.ask(dns.reversename.from_address(address), "PTR"))

    def exists(self, name: str | dns.name.Name) -> bool:
        """False where the answer is NXDOMAIN; fails on any other error."""
        answer = self.ask(name, "A")
        assert answer.rcode() in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN)
        return answer.rcode() == dns.rcode.NOERROR

    def serial(self, zone: str) -> int:
        """The zone's SOA serial."""
        (record,) = self.ask(zone, "SOA").answer[0]
        serial: int = record.serial
        return serial

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._sock.close()


def _texts(answer: dns.message.Message) -> set[str]:
    assert answer.rcode() in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN), answer
    assert answer.flags & dns.flags.AA
    return {record.to_text() for found in answer.answer for record in found}


def reverse_name(address: str) -> dns.name.Name:
    """Where the names of an address are."""
    return dns.reversename.from_address(str(ip_address(address)))


def deadline(seconds: float) -> float:
    """The moment, on the monotonic clock, that is `seconds` from now."""
    return time.monotonic() + seconds
