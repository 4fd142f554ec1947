"""`tenure serve` as a test starts it: on ports of its own, awaited by its `ready` line."""

import re
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from tests.lab.processes import Process

SERVE = [sys.executable, "-c", "from tenure.cli.main import main; main()", "serve"]


class Serving(Process):
    """A running `tenure serve`.

    Args:
        options: As on the command line; what is said twice counts as said last.
        command: What runs it, for one in a namespace.
        env: Variables added to those of the test run.

    Attributes:
        url: Of its API.
        dns: Address and port of its DNS server.
    """

    def __init__(
        self,
        data: Path,
        *options: str,
        ready: bool = True,
        command: Sequence[str | Path] = SERVE,
        env: Mapping[str, str] | None = None,
    ) -> None:
        places = ["--data", str(data), "--api", "127.0.0.1:0", "--dns", "127.0.0.1:0"]
        super().__init__([*command, *places, *options], env=env)
        self.data = data
        if ready:
            self.wait_ready()

    def wait_ready(self) -> None:
        """Wait until everything is listened on."""
        self.wait_line(r"^ready$")
        self.url = self.wait_line(r"^api (http://\S+)")[1]
        address, port = self.wait_line(r"^dns (\S+):(\d+) ").groups()
        self.dns = (address, int(port))

    @property
    def roles(self) -> dict[str, int]:
        """Process id of each child by role."""
        return roles_of(self.pid)

    def client(self) -> httpx.Client:
        """A client with the admin token."""
        token = (self.data / "admin-token").read_text().strip()
        return httpx.Client(
            base_url=self.url, headers={"Authorization": f"Bearer {token}"}, trust_env=False, timeout=20
        )

    def terminate(self, timeout: float = 10) -> int:
        """SIGTERM; its exit code within `timeout` seconds."""
        self.signal(signal.SIGTERM)
        return self.wait(timeout)


def children_of(pid: int) -> list[int]:
    """Process ids of a process's children."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def roles_of(supervisor: int) -> dict[str, int]:
    """Process id of each of a supervisor's processes, by role."""
    found = {}
    for pid in children_of(supervisor):
        role = re.search(rb"tenure\.app\.(\w+)", _command(pid))
        if role:
            found[role[1].decode()] = pid
    return found


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def until(what: Callable[[], Any], timeout: float = 20) -> Any:
    """The first true answer of `what`, asked again and again; fails after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while not (answer := what()):
        assert time.monotonic() < deadline, f"{what} stays {answer!r}"
    return answer


def owner_of(port: int, kind: str, seen_by: int | str = "self") -> set[int]:
    """Processes that hold the socket on a port open, in the namespace of a process; kind is `tcp` or `udp`."""
    inodes = set()
    for line in Path(f"/proc/{seen_by}/net/{kind}").read_text().splitlines()[1:]:
        fields = line.split()
        if int(fields[1].split(":")[1], 16) == port and (kind == "udp" or fields[3] == "0A"):
            inodes.add(f"socket:[{fields[9]}]")
    return {pid for pid in _pids() if inodes & _links(pid)}


def _pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def _links(pid: int) -> set[str]:
    try:
        return {str(fd.readlink()) for fd in Path(f"/proc/{pid}/fd").iterdir()}
    except OSError:
        return set()


def soa(server: tuple[str, int], zone: str) -> bytes | None:
    """The first answer to one UDP query for a zone's SOA; None if there is none in half a second."""
    labels = b"".join(bytes((len(label),)) + label.encode() for label in zone.strip(".").split("."))
    query = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00" + labels + b"\0\x00\x06\x00\x01"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(0.5)
        sock.sendto(query, server)
        try:
            return sock.recv(4096)
        except OSError:
            return None
