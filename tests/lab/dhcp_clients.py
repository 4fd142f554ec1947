"""Real DHCP clients and a real relay, each in a network namespace, none touching the host's settings."""

import json
import os
import select
import signal
import sys
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

from tests.lab.dhcp_script import BOUND
from tests.lab.namespaces import Namespace
from tests.lab.processes import Process

SCRIPT = Path(__file__).with_name("dhcp_script.py")


@dataclass(frozen=True)
class Lease:
    """What a client was given; empty where the server said nothing."""

    event: str
    address: IPv4Interface
    routers: tuple[IPv4Address, ...]
    dns: tuple[IPv4Address, ...]
    domain: str
    hostname: str
    server: IPv4Address
    lease_seconds: int


def _lease(said: dict[str, str]) -> Lease:
    return Lease(
        event=said["event"],
        address=IPv4Interface(f"{said['address']}/{said['mask']}"),
        routers=tuple(map(IPv4Address, said["router"].split())),
        dns=tuple(map(IPv4Address, said["dns"].split())),
        domain=said["domain"],
        hostname=said["hostname"],
        server=IPv4Address(said["server"]),
        lease_seconds=int(said["lease_seconds"]),
    )


class Client(ABC):
    """One client on one interface; a context manager that ends it (without a RELEASE).

    Args:
        directory: Its own; what must survive a reboot of the machine is kept there.
        hostname: The name it sends, if any.
        client_id: Option 61 as it goes on the wire; each program's own habit if absent.
    """

    remembered: ClassVar[str]  # what it says when it would know its lease again

    def __init__(
        self,
        namespace: Namespace,
        interface: str,
        directory: Path,
        *,
        hostname: str = "",
        client_id: bytes | None = None,
    ) -> None:
        self.namespace, self.interface = namespace, interface
        self.hostname, self.client_id = hostname, client_id
        self._directory = directory
        self._process: Process | None = None
        directory.mkdir(parents=True, exist_ok=True)
        fifo = directory / "events"
        os.mkfifo(fifo)
        self._events = os.open(fifo, os.O_RDWR)  # both ways, so that it never reads as ended
        self._unread = b""
        self._script = directory / "script"
        self._script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I "{SCRIPT}" "{fifo}" "$@"\n')
        self._script.chmod(0o755)
        for name, text in self._files().items():
            (directory / name).write_text(text)

    @abstractmethod
    def _command(self) -> list[str | Path]:
        """The command that stays in the foreground and keeps the lease."""

    def _files(self) -> dict[str, str]:
        """What the command finds in its directory at first."""
        return {}

    @abstractmethod
    def release(self) -> None:
        """Give the lease back with a RELEASE, and end."""

    def acquire(self, timeout: float = 30) -> Lease:
        """Start, and return what it is given; fails after `timeout` seconds or if it gives up."""
        self._process = self.namespace.popen(self._command())
        lease = _lease(self._wait(BOUND, timeout))
        self._process.wait_line(self.remembered)
        return lease

    def reboot(self, timeout: float = 30) -> Lease:
        """Die as by a power cut, lose the address, start again; what it is given then."""
        self.kill()
        self.namespace.ip("-4", "address", "flush", "dev", self.interface)
        return self.acquire(timeout)

    def refused(self, seconds: float) -> bool:
        """Start; true if within `seconds` nothing was given. What it is given by then ends the wait."""
        self._process = self.namespace.popen(self._command())
        return self._event(BOUND, time.monotonic() + seconds) is None

    def kill(self) -> None:
        """End it without a word to the server."""
        if self._process:
            self._process.kill9()
            self._process = None

    def _wait(self, events: set[str], timeout: float) -> dict[str, str]:
        said = self._event(events, time.monotonic() + timeout)
        if said is None:
            output = self._process.output if self._process else ""
            raise AssertionError(f"none of {sorted(events)} within {timeout} s; the client said:\n{output}")
        return said

    def _event(self, events: set[str], deadline: float) -> dict[str, str] | None:
        while (remaining := deadline - time.monotonic()) > 0:
            while b"\n" in self._unread:
                line, self._unread = self._unread.split(b"\n", 1)
                said: dict[str, str] = json.loads(line)
                if said["event"] in events:
                    return said
            if select.select([self._events], [], [], min(remaining, 0.5))[0]:
                self._unread += os.read(self._events, 65536)
            elif self._process and not self._process.running:
                return None
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.kill()
        os.close(self._events)


class Udhcpc(Client):
    """Busybox's client. It has no memory: after a reboot it starts with a DISCOVER."""

    remembered = "lease of .* obtained"

    def _command(self) -> list[str | Path]:
        words: list[str | Path] = ["udhcpc", "-f", "-i", self.interface, "-s", self._script]
        words += ["-t", "10", "-T", "1", "-A", "1", "-O", "hostname", "-O", "domain", "-O", "dns"]
        if self.hostname:
            words += ["-x", f"hostname:{self.hostname}"]
        if self.client_id is not None:
            words += ["-C", "-x", f"0x3d:{self.client_id.hex()}"]
        return words

    def release(self) -> None:
        """Give the lease back with a RELEASE, and end."""
        assert self._process is not None, "nothing to release"
        self._process.signal(signal.SIGUSR2)
        self._wait({"deconfig"}, 10)
        self.kill()


class Dhclient(Client):
    """ISC's client. It remembers its lease: after a reboot it asks for the same address (INIT-REBOOT)."""

    remembered = "^bound to"

    def _files(self) -> dict[str, str]:
        lines = [
            "timeout 20; retry 2; initial-interval 1; initial-delay 0; backoff-cutoff 2;",
            "request subnet-mask, routers, domain-name-servers, domain-name, host-name;",
        ]
        if self.hostname:
            lines.append(f'send host-name "{self.hostname}";')
        if self.client_id is not None:
            lines.append(f"send dhcp-client-identifier {self.client_id.hex(':')};")
        return {"dhclient.conf": "\n".join(lines) + "\n", "leases": ""}

    def _command(self) -> list[str | Path]:
        at = self._directory
        words: list[str | Path] = ["dhclient", "-4", "-d", "-v", "-sf", self._script, "-cf", at / "dhclient.conf"]
        return [*words, "-lf", at / "leases", "-pf", at / "pid", self.interface]

    def release(self) -> None:
        """Give the lease back with a RELEASE, and end."""
        self.kill()
        self.namespace.run([word for word in self._command() if word != "-d"] + ["-r"])
        self._wait({"RELEASE"}, 10)


class Relay:
    """ISC's relay, which adds option 82; a context manager.

    Args:
        clients: The interface on the clients' link.
        servers: The interface towards the server.
        server: The server's address.
    """

    def __init__(self, namespace: Namespace, clients: str, servers: str, server: str) -> None:
        argv = ["dhcrelay", "-4", "-d", "-a", "--no-pid", "-id", clients, "-iu", servers, server]
        self.process = namespace.popen(argv)
        self.process.wait_line("Sending on .*Socket/")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended: Any) -> None:
        self.process.kill9()
