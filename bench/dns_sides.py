"""The two sides of the DNS benches: Tenure with a BIND that replicates it, and BIND with a BIND that replicates it.

All four run at once on loopback, with the same settings: `SETTINGS` says which.
"""

import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Self, cast

import httpx

from bench.stores import SqliteFile
from tests.lab.bind_primary import BindPrimary
from tests.lab.processes import free_port
from tests.lab.secondaries import At, Bind, Feed
from tests.whole.serving import Serving, until

DOMAIN = "prod.example."
SETTINGS = "notify-delay 0, notify-rate 10000, serial-query-rate 10000, min-refresh-time 1, one thread each"
HEAD = (
    "$TTL 300\n@ IN SOA ns.prod.example. hostmaster.prod.example. 1 3600 600 1209600 60\n"
    "@ IN NS ns.prod.example.\nns IN A 127.0.0.1\n"
)
_HERE = "127.0.0.1"  # BIND listens only where an interface has the address


class Node:
    """A running Tenure whose forward zone a BIND replicates."""

    def __init__(self, serving: Serving, at: At, secondary: Bind) -> None:
        self.serving, self.at, self.secondary = serving, at, secondary
        self.client = serving.client()

    def claim(self, numbers: Sequence[int]) -> None:
        """Named claims: one by a call of its own, several as a batch."""
        claims = [claim(number) for number in numbers]
        if len(claims) == 1:
            answer = self.client.post("/v1/claims", json=claims[0])
        else:
            answer = self.client.post("/v1/claims/batch", json={"claims": claims}, timeout=120)
        assert answer.is_success, answer.text


def claim(number: int) -> dict[str, str]:
    """What is asked for; no two are the same."""
    return {"network": "prod", "handle": f"seen-{number}", "hostname": f"seen-{number}"}


@contextmanager
def tenure(place: SqliteFile, directory: Path, *, replicate: bool = True) -> Iterator[Node]:
    """A node on a ledger that has a site, and its secondary, which runs if it is to `replicate` at once."""
    with Serving(place.directory, ready=False) as serving:
        serving.wait_line(r"^ready$", 180)
        serving.wait_ready()
        primary, at = At(*serving.dns), At(_HERE, free_port())
        with Bind(directory / "of-tenure", at, Feed(primary, zones=(DOMAIN,))) as secondary:
            node = Node(serving, primary, secondary)
            body = {"name": "bind", "address": at.address, "port": at.port, "unsigned": True}
            assert node.client.post("/v1/secondaries", json=body).is_success
            if replicate:
                secondary.start()
                secondary.wait(DOMAIN, 1)
            yield node
            node.client.close()


@contextmanager
def bind(directory: Path, zone: str = HEAD, *, replicate: bool = True) -> Iterator[tuple[BindPrimary, Bind]]:
    """A BIND that takes updates, and its secondary."""
    at, secondary_at = At(_HERE, free_port()), At(_HERE, free_port())
    primary = BindPrimary(directory / "bind", at, {DOMAIN: zone}, notified=(secondary_at,))
    with primary, Bind(directory / "of-bind", secondary_at, Feed(at, zones=(DOMAIN,))) as secondary:
        primary.start()
        until(lambda: primary.serial(DOMAIN), 120)
        if replicate:
            secondary.start()
            secondary.wait(DOMAIN, 1)
        yield primary, secondary


class Nsupdate:
    """A running `nsupdate`, one message at a time; a context manager."""

    def __init__(self, server: At) -> None:
        self._child = subprocess.Popen(
            ["nsupdate"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self._in, self._out = cast(IO[str], self._child.stdin), cast(IO[str], self._child.stdout)
        self._in.write(f"server {server.address} {server.port}\nzone {DOMAIN}\n")

    def add(self, numbers: Sequence[int]) -> None:
        """One update that adds these names; returns when it is answered."""
        for number in numbers:
            ip = ".".join(str(octet) for octet in (10_000_000 + number).to_bytes(4)[1:])
            self._in.write(f"update add seen-{number}.{DOMAIN} 300 A 10.{ip}\n")
        self._in.write("send\nanswer\n")
        self._in.flush()
        while not (line := self._out.readline()).startswith(";; flags"):
            assert line and "failed" not in line, line

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.kill()
        self._child.communicate()


class Asked:
    """One question after the other to one server, by one socket, without a library in between; a context manager."""

    def __init__(self, at: At) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.settimeout(2)
        self._socket.connect(at)
        self._id = 0

    def exists(self, name: str) -> bool:
        """Whether the name has an address."""
        answer = self._ask(name, 1)
        return answer[3] & 15 == 0 and answer[7] > 0

    def serial(self) -> int:
        """The zone's."""
        answer = self._ask(DOMAIN, 6)
        first = 12 + len(DOMAIN) + 1 + 4  # behind the question
        end = (
            first + 12 + int.from_bytes(answer[first + 10 : first + 12])
        )  # behind its record, whose owner is a pointer
        return int.from_bytes(answer[end - 20 : end - 16]) if answer[7] else 0

    def _ask(self, name: str, kind: int) -> bytes:
        self._id = self._id + 1 & 0xFFFF
        labels = b"".join(bytes((len(label),)) + label.encode() for label in name.rstrip(".").split("."))
        self._socket.send(self._id.to_bytes(2) + b"\0\0\0\1\0\0\0\0\0\0" + labels + b"\0\0" + bytes((kind, 0, 1)))
        while (answer := self._socket.recv(4096))[:2] != self._id.to_bytes(2):
            pass
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()


class Timeline:
    """When a server came to each serial, as whoever asks it all the time sees."""

    def __init__(self, at: At) -> None:
        self._at = at
        self.seen: list[tuple[float, int]] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        with Asked(self._at) as asked:
            while not self._over.wait(0.001):
                serial = asked.serial()
                if not self.seen or serial != self.seen[-1][1]:
                    self.seen.append((time.monotonic(), serial))

    def stop(self) -> list[tuple[float, int]]:
        """All that was seen."""
        self._over.set()
        self._thread.join()
        return self.seen


def zone_text(node: Node) -> str:
    """The forward zone as a file."""
    answer: Any = node.client.get(f"/v1/zones/{DOMAIN}/file", timeout=httpx.Timeout(300))
    assert answer.is_success, answer.text
    return cast(str, answer.text)
