"""Real routing software in namespaces: BIRD, FRR and ExaBGP, each in the foreground and with files of its own."""

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from tests.lab.namespaces import Topology
from tests.lab.processes import Process

AS: Final = 65000
EXABGP: Final = Path(sys.executable).with_name("exabgp")
_FRR: Final = Path("/usr/lib/frr")
_WITHOUT_DEFAULT: Final = ("lookup", "main", "suppress_prefixlength", "0")
_RELOAD: Final = _FRR / "frr-reload.py"


def available() -> bool:
    """True where all of it is installed."""
    return bool(shutil.which("bird") and shutil.which("vtysh") and _RELOAD.exists() and EXABGP.exists())


def narrow(address: str) -> str:
    """The prefix that holds one address."""
    return f"{address}/{128 if ':' in address else 32}"


class Node:
    """A namespace that routes, with one address a family, which all its neighbours reach it by.

    Links are unnumbered: each end has its node's address, and the other's as its peer.
    """

    def __init__(self, topology: Topology, name: str, v4: str, v6: str) -> None:
        self.name, self.v4, self.v6 = name, v4, v6
        self.namespace = topology.namespace(name)
        self.namespace.forward()
        self.namespace.run(["sysctl", "-qw", "net.ipv4.icmp_ratelimit=0", "net.ipv6.icmp.ratelimit=0"])
        self._topology = topology

    def join(self, other: "Node") -> None:
        """Lay a link to another node."""
        ends = (self, f"to-{other.name}", other), (other, f"to-{self.name}", self)
        self._topology.link(self.namespace, ends[0][1], other.namespace, ends[1][1])
        for near, interface, far in ends:
            near.namespace.ip("address", "add", near.v4, "peer", far.v4, "dev", interface)
            near.namespace.ip("address", "add", near.v6, "peer", far.v6, "dev", interface, "nodad")

    def default(self, other: "Node") -> None:
        """Send to a neighbour what no route is known of, unless it came from there: that would go round and round."""
        uplink = ("iif", f"to-{other.name}")
        for family, address in (("-4", other.v4), ("-6", other.v6)):
            self.namespace.ip(family, "route", "add", "default", "via", address)
            self.namespace.ip(family, "rule", "add", "pref", "100", *uplink, *_WITHOUT_DEFAULT)
            self.namespace.ip(family, "rule", "add", "pref", "101", *uplink, "unreachable")

    def add(self, addresses: Iterable[str]) -> None:
        """Let something that runs here have addresses."""
        for address in addresses:
            self.namespace.ip("address", "add", narrow(address), "dev", "lo")

    def remove(self, addresses: Iterable[str]) -> None:
        """Take them away again."""
        for address in addresses:
            self.namespace.ip("address", "del", narrow(address), "dev", "lo")

    def held(self) -> set[str]:
        """The prefixes of what runs here."""
        (lo,) = json.loads(self.namespace.ip("-j", "address", "show", "dev", "lo"))
        return {narrow(each["local"]) for each in lo["addr_info"]}

    def ping(self, address: str, source: str | None = None, patience: float = 5) -> str:
        """What comes of an echo request from an address of this node, its own unless another is named.

        Args:
            patience: Seconds to wait for an answer.

        Returns:
            `answered`, `silence`, or what a router on the way says: `Time to live exceeded`.
        """
        near = source or (self.v6 if ":" in address else self.v4)
        said = self.namespace.run(["ping", "-n", "-c", "1", "-W", str(patience), "-I", near, address], check=False)
        told = re.search(r"^From \S+ icmp_seq=1 (.+)$", said, re.MULTILINE)
        return "answered" if " 1 received" in said else told[1] if told else "silence"

    def routes(self) -> dict[str, str]:
        """The kernel's routes by prefix: the next hop, else what happens (`blackhole`), without those of its links."""
        found: list[dict[str, Any]] = []
        for family in ("-4", "-6"):
            found += json.loads(self.namespace.ip("-j", family, "route", "show"))
        told = [each for each in found if each.get("protocol") in ("bird", "static")]
        prefixes = [each["dst"] if "/" in each["dst"] else narrow(each["dst"]) for each in told]
        return {prefix: each.get("gateway") or each["type"] for prefix, each in zip(prefixes, told, strict=True)}

    def echoes(self) -> int:
        """How many echo requests were answered here so far, of both families."""
        text = self.namespace.run(["cat", "/proc/net/snmp", "/proc/net/snmp6"])
        rows = [line.split() for line in text.splitlines()]
        names, numbers = (row for row in rows if row[0] == "Icmp:")
        (v6,) = (row[1] for row in rows if row[0] == "Icmp6InEchos")
        return int(dict(zip(names, numbers, strict=True))["InEchos"]) + int(v6)


class Bird:
    """A running BIRD, with routes of its kernel and those of `file`.

    Args:
        more: Further protocols, as in its configuration.

    Attributes:
        file: Included in its configuration; empty at first.
        load: A shell command that makes it do what the file says.
    """

    def __init__(self, node: Node, directory: Path, more: str = "") -> None:
        directory.mkdir()
        self.node = node
        self.file = directory / "tenure.conf"
        self._socket = directory / "bird.ctl"
        main = directory / "bird.conf"
        self.file.touch()
        main.write_text(_BIRD.format(router=node.v4, file=self.file, more=more))
        self.load = f"birdc -s {self._socket} configure | grep -q Reconfig"
        self.process = node.namespace.popen(["bird", "-f", "-c", main, "-s", self._socket])
        self.process.wait_line("Started")

    @staticmethod
    def check(text: str, directory: Path) -> str:
        """What BIRD has against a file that it shall include; nothing if it is good."""
        main, file = directory / "bird.conf", directory / "tenure.conf"
        file.write_text(text)
        main.write_text(_BIRD.format(router="192.0.2.1", file=file, more=""))
        with Process(["bird", "-p", "-c", main]) as process:
            return process.output if process.wait() else ""

    def routes(self) -> dict[str, list[str]]:
        """The routes of Tenure that it knows, by prefix: the next hop, else what happens; that which counts first."""
        text = self.node.namespace.run(["birdc", "-s", self._socket, "show", "route"])
        found: dict[str, list[str]] = {}
        prefix = ""
        for named, kind, protocol, via in _BIRD_ROUTE.findall(text):
            prefix = named or prefix
            if protocol.startswith("tenure"):
                found.setdefault(prefix, []).append(via or kind)
        return found


_BIRD_ROUTE: Final = re.compile(r"^(\S*) +(\w+) \[(\w+) .*\n(?:\tvia (\S+))?", re.MULTILINE)
"""As BIRD shows one; another one for the same prefix does not name it again."""

_BIRD: Final = """
router id {router};
log stderr all;
protocol device {{ }}
protocol direct {{ ipv4; ipv6; }}
protocol kernel {{ ipv4 {{ export where source != RTS_DEVICE; }}; }}
protocol kernel {{ ipv6 {{ export where source != RTS_DEVICE; }}; }}
include "{file}";
{more}
"""


def neighbour(name: str, address: str) -> str:
    """A BGP session of BIRD's, started quickly, with a neighbour of the same AS, which waits for nothing."""
    times = "connect delay time 1; connect retry time 1; error wait time 1, 1;"
    channels = "ipv4 { import all; export none; }; ipv6 { import all; export none; };"
    return f"protocol bgp {name} {{ local as {AS}; neighbor {address} as {AS}; {times} {channels} }}\n"


class Frr:
    """A running zebra and staticd; a context manager, because they want a directory that their account may enter.

    Attributes:
        file: Their whole configuration.
        load: A shell command that makes them do what the file says.
    """

    def __init__(self, node: Node) -> None:
        self.node = node
        self._directory = Path(tempfile.mkdtemp(prefix="tenure-frr-"))
        self._directory.chmod(0o755)
        shutil.chown(self._directory, "frr", "frr")
        self.file = self._directory / "tenure.conf"
        where = f"--bindir /usr/bin --confdir {self._directory} --rundir {self._directory}"
        self.load = f"{_RELOAD} --reload {where} --vty_socket {self._directory} {self.file}"
        for name in ("vtysh.conf", "frr.conf"):
            (self._directory / name).touch()
        self._start("zebra")
        self._start("staticd")

    def _start(self, daemon: str) -> None:
        here = self._directory
        files = f"-f {here}/frr.conf -z {here}/zserv.api -i {here}/{daemon}.pid --vty_socket {here}"
        process = self.node.namespace.popen([_FRR / daemon, *files.split(), "-P", "0", "--log", "stdout"])
        process.wait_line(f"{daemon} \\S+ starting")

    @staticmethod
    def check(text: str, directory: Path) -> str:
        """What FRR's shell has against a file; nothing if it is good."""
        file = directory / "tenure.frr"
        file.write_text(text)
        with Process(["vtysh", "--dryrun", "--inputfile", file]) as process:
            return process.output if process.wait() else ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        shutil.rmtree(self._directory, ignore_errors=True)


def exabgp(node: Node, peer: Node, command: str, directory: Path, env: Mapping[str, str]) -> Process:
    """A running ExaBGP that tells a neighbour what a command says on standard output, and has a command's variables."""
    directory.mkdir()
    file = directory / "exabgp.conf"
    file.write_text(_EXABGP.format(command=command, local=node.v4, peer=peer.v4, number=AS))
    settings = {**env, "exabgp.daemon.user": "root", "exabgp.api.cli": "false"}
    return node.namespace.popen([EXABGP, "server", file], env=settings)


_EXABGP: Final = """
process tenure {{
    run {command};
    encoder text;
}}
neighbor {peer} {{
    router-id {local};
    local-address {local};
    local-as {number};
    peer-as {number};
    family {{ ipv4 unicast; ipv6 unicast; }}
    api {{ processes [ tenure ]; }}
}}
"""
