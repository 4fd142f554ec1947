"""Network namespaces joined by veth pairs and bridges; the host's own network is never touched."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.lab.processes import Process

SETTINGS = Path("/etc/netns")
_numbers = count(1)


class Namespace:
    """One network namespace, with a loopback that is up and a resolv.conf of its own."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.settings = SETTINGS / name
        self._processes: list[Process] = []
        self.settings.mkdir(parents=True)
        (self.settings / "resolv.conf").write_text("# Written for a test; nobody answers here.\n")
        _ip("netns", "add", name)
        self.ip("link", "set", "lo", "up")
        self.run(["sysctl", "-qw", "net.ipv6.conf.default.accept_dad=0"], check=False)

    def ip(self, *words: str) -> str:
        """Run `ip` in here; what it says."""
        return _ip("-n", self.name, *words)

    def run(self, argv: Sequence[str | Path], *, timeout: float = 20, check: bool = True) -> str:
        """Run a command in here to its end; what it said on standard output."""
        done = subprocess.run(
            ["ip", "netns", "exec", self.name, *map(str, argv)],
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if check and done.returncode:
            raise AssertionError(f"{argv} in {self.name} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def popen(self, argv: Sequence[str | Path], *, env: dict[str, str] | None = None) -> Process:
        """Start a command in here; it ends with the namespace at the latest."""
        process = Process(["ip", "netns", "exec", self.name, *argv], env=env)
        self._processes.append(process)
        return process

    def up(self, interface: str, *addresses: str) -> None:
        """Bring `interface` up with `addresses` (each `address/length`)."""
        self.ip("link", "set", "dev", interface, "up")
        for address in addresses:
            self.ip("address", "add", address, "dev", interface)

    def forward(self) -> None:
        """Let it route between its interfaces."""
        self.run(["sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"])

    def remove(self) -> None:
        """End everything that runs in here, then remove it."""
        for process in self._processes:
            process.kill9()
        for pid in _ip("netns", "pids", self.name).split():
            _kill(int(pid))
        _ip("netns", "delete", self.name)
        shutil.rmtree(self.settings, ignore_errors=True)


class Bridge:
    """A switch, in a namespace of its own."""

    def __init__(self, namespace: Namespace) -> None:
        self.namespace = namespace
        self._ports = count(1)
        namespace.ip("link", "add", "br0", "type", "bridge", "forward_delay", "0", "stp_state", "0")
        namespace.up("br0")

    def port(self) -> str:
        """The name of the next free port."""
        return f"port{next(self._ports)}"


class Topology:
    """The namespaces of one test; a context manager that removes them all, last made first."""

    def __init__(self) -> None:
        _sweep()
        self._prefix = f"tn{os.getpid()}x{next(_numbers)}"
        self._namespaces: list[Namespace] = []

    def namespace(self, name: str) -> Namespace:
        """A new namespace; its real name is unique on this machine and begins with the test run's."""
        made = Namespace(f"{self._prefix}-{name}")
        self._namespaces.append(made)
        return made

    def bridge(self, name: str) -> Bridge:
        """A new switch."""
        return Bridge(self.namespace(name))

    def link(self, one: Namespace, name: str, other: Namespace, other_name: str) -> None:
        """Join two namespaces by a veth pair, both ends up."""
        ends = ["name", name, "netns", one.name, "type", "veth", "peer", "name", other_name, "netns", other.name]
        _ip("link", "add", *ends)
        one.up(name)
        other.up(other_name)

    def plug(self, namespace: Namespace, name: str, bridge: Bridge, *, mac: str | None = None) -> None:
        """Join a namespace to a switch; its interface `name` has `mac` if one is given."""
        port = bridge.port()
        self.link(namespace, name, bridge.namespace, port)
        bridge.namespace.ip("link", "set", port, "master", "br0")
        if mac:
            namespace.ip("link", "set", name, "address", mac)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        while self._namespaces:
            self._namespaces.pop().remove()


def _sweep() -> None:
    """Remove what test runs that were killed left behind."""
    for path in SETTINGS.glob("tn*x*-*"):
        run = re.match(r"tn(\d+)x", path.name)
        if run and not Path("/proc", run[1]).exists():
            subprocess.run(["ip", "netns", "delete", path.name], capture_output=True, check=False)
            shutil.rmtree(path, ignore_errors=True)


def _ip(*words: str) -> str:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, timeout=20, check=False)
    if done.returncode:
        raise AssertionError(f"ip {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
