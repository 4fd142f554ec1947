"""The supervisor: binds the sockets, starts the processes, keeps them, ends them. It does nothing else."""

import asyncio
import logging
import math
import os
import signal
import socket
import sys
import time
from asyncio.subprocess import Process
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import msgspec

from tenure.app import logs, sockets
from tenure.app.directory import ADMIN_TOKEN, LEDGER_SOCKET, VIEWS_SOCKET, DataDirectory
from tenure.app.errand import READY, REFUSED, Errand
from tenure.errors import TenureError
from tenure.settings import Endpoint, Listener, Settings
from tenure.surfaces.dhcp.interface import Interface

log = logging.getLogger(__name__)

GRACE: Final = 4.0
"""Seconds that each of the two groups has to end after SIGTERM: ten for the whole, with what is between."""
_CALM: Final = 2.0
_SLOWEST: Final = 5.0
_FIRST_RETRY: Final = 0.05

Say = Callable[[str], None]
Sockets = Mapping[str, socket.socket]


def serve(settings: Settings, say: Say) -> int:
    """Run Tenure on this machine until SIGTERM or SIGINT; the exit code.

    Whatever stands in the way at the start is one sentence on standard error and exit code 1, and nothing is written.

    Args:
        say: Prints one line for each thing that is listened on, and `ready` once everything is.
    """
    os.umask(0o077)  # whatever is made, in whichever directory, is nobody else's to read
    settings = msgspec.structs.replace(settings, data=str(settings.directory.absolute()))
    logs.configure(settings.log_level, "supervisor")
    with ExitStack() as held:
        try:
            household = _prepared(settings, held, say)
        except TenureError as refused:
            print(refused.message, file=sys.stderr, flush=True)
            return 1
        return asyncio.run(household.run())


def _prepared(settings: Settings, held: ExitStack, say: Say) -> "Household":
    """Everything that may be refused without having written anything, then the data directory."""
    directory = DataDirectory(settings.directory)
    directory.check()
    for name in settings.dhcp4:
        Interface(name).close()  # its process opens it again; here it may still be refused
    bound = {role: _listening(role, settings, held) for role in ("api", "dns", "dhcp") if _serves(role, settings)}
    directory.take()
    held.callback(directory.undo)
    bound["ledger"] = {
        "ledger": _unix(settings.directory / LEDGER_SOCKET, 0o600, "ledger", held),
        "views": _unix(settings.directory / VIEWS_SOCKET, 0o600, "ledger", held),
    }
    return Household(settings, directory.lock, bound, say)


def _serves(role: str, settings: Settings) -> bool:
    return role in settings.roles and (role != "dhcp" or bool(settings.dhcp4))


def _listening(role: str, settings: Settings, held: ExitStack) -> dict[str, socket.socket]:
    """The sockets of one role."""
    if role == "api":
        bound = {"api": held.enter_context(sockets.tcp(settings.api, "API"))}
        if settings.api_socket:
            bound["api_socket"] = _unix(Path(settings.api_socket), 0o660, "API", held)
        return bound
    return _dns_listening(settings, held) if role == "dns" else {}


def _dns_listening(settings: Settings, held: ExitStack) -> dict[str, socket.socket]:
    """Two sockets for each listener, numbered as the settings have them."""
    bound = {}
    for place, listener in enumerate(settings.dns):
        udp, tcp = sockets.udp_and_tcp(listener.endpoint, "DNS server")
        bound[f"udp{place}"] = held.enter_context(udp)
        bound[f"tcp{place}"] = held.enter_context(tcp)
    return bound


def _unix(path: Path, mode: int, purpose: str, held: ExitStack) -> socket.socket:
    bound = held.enter_context(sockets.unix(path, mode, purpose))
    held.callback(sockets.remove, path)
    return bound


class Household:
    """The processes, from their first start to their end.

    Args:
        lock: Descriptor of the data directory's lock, which every process holds on to.
        bound: Listening sockets by role and name; each role is one process.
    """

    def __init__(self, settings: Settings, lock: int, bound: dict[str, dict[str, socket.socket]], say: Say) -> None:
        self._settings = settings
        self._lock = lock
        self._bound = bound
        self._say = say
        self._children: dict[str, Process] = {}
        self._stopping = asyncio.Event()
        self._waiting = set(bound)
        self._code = 0

    async def run(self) -> int:
        """Keep all processes running until a signal, then end them; the exit code."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stopping.set)
        keepers = {role: asyncio.create_task(self._keep(role)) for role in self._bound}
        stopped = asyncio.create_task(self._stopping.wait())
        await asyncio.wait([stopped, *keepers.values()], return_when=asyncio.FIRST_COMPLETED)
        self._stopping.set()
        await self._end({role: keeper for role, keeper in keepers.items() if role != "ledger"})
        await self._end({"ledger": keepers["ledger"]})
        return self._code

    async def _end(self, keepers: dict[str, "asyncio.Task[None]"]) -> None:
        """Ask some processes to end, and insist."""
        self._signal(keepers, signal.SIGTERM)
        _, late = await asyncio.wait(keepers.values(), timeout=GRACE)
        if late:
            self._signal(keepers, signal.SIGKILL)
        for keeper in keepers.values():
            await keeper

    def _signal(self, roles: Mapping[str, object], number: signal.Signals) -> None:
        for role in roles:
            child = self._children.get(role)
            if child is not None and child.returncode is None:
                child.send_signal(number)

    async def _keep(self, role: str) -> None:
        """Start one process again and again, later each time that it does not live long."""
        failures = 0
        while not self._stopping.is_set():
            child, ready = await self._start(role)
            since = time.monotonic()
            if await ready:
                since = time.monotonic()
                self._count_ready(role)
            code = await child.wait()
            if self._stopping.is_set():
                return
            if code == REFUSED and self._waiting:
                self._code = 1
                return
            lived = time.monotonic() - since
            failures = 0 if lived > _CALM else failures + 1
            delay = min(_FIRST_RETRY * math.pow(2, failures), _SLOWEST)
            log.warning("a process ended and is started again", extra={"role": role, "code": code, "after": delay})
            await self._pause(delay)

    async def _pause(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return

    async def _start(self, role: str) -> tuple[Process, "asyncio.Future[bool]"]:
        """Start one process and give it its errand; the future tells whether it became ready or ended before."""
        heard, says = os.pipe()
        fds = {name: sock.fileno() for name, sock in self._bound[role].items()}
        errand = Errand(_needed(role, self._settings), os.getpid(), fds, says)
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", f"tenure.app.{role}"),
            stdin=asyncio.subprocess.PIPE,
            pass_fds=[*fds.values(), says, self._lock],
            start_new_session=True,
            env={name: value for name, value in os.environ.items() if not name.startswith("TENURE_")},
        )
        self._children[role] = child
        os.close(says)
        assert child.stdin is not None
        child.stdin.write(msgspec.json.encode(errand))
        child.stdin.close()
        return child, _readiness(heard)

    def _count_ready(self, role: str) -> None:
        if role in self._waiting:
            self._waiting.discard(role)
            if not self._waiting:
                for line in self._lines():
                    self._say(line)
        else:
            log.info("a process serves again", extra={"role": role})

    def _lines(self) -> list[str]:
        """One line for each thing that is listened on."""
        settings, lines = self._settings, []
        if "api" in self._bound:
            where = Endpoint(settings.api.address, sockets.port_of(self._bound["api"]["api"]))
            lines.append(f"api http://{where}  (docs at /docs)")
            if settings.api_socket:
                lines.append(f"api unix:{settings.api_socket}")
        if "dns" in self._bound:
            lines += [self._dns_line(place, listener) for place, listener in enumerate(settings.dns)]
        if "dhcp" in self._bound:
            lines.append(f"dhcp {', '.join(settings.dhcp4)}")
        elif "dhcp" in settings.roles:
            lines.append("dhcp off (name an interface with --dhcp4)")
        token = f"  (admin token in {ADMIN_TOKEN})" if (settings.directory / ADMIN_TOKEN).exists() else ""
        lines.append(f"data {settings.data}{token}")
        return [*lines, "ready"]

    def _dns_line(self, place: int, listener: Listener) -> str:
        where = Endpoint(listener.endpoint.address, sockets.port_of(self._bound["dns"][f"udp{place}"]))
        return f"dns {where} (udp, tcp)" + (f" vrf {listener.vrf}" if listener.vrf else "")


def _needed(role: str, settings: Settings) -> Settings:
    """The settings without what is none of a process's business: who reads packets off a wire knows no database."""
    return msgspec.structs.replace(settings, database=None) if role == "dhcp" else settings


def _readiness(heard: int) -> "asyncio.Future[bool]":
    """Whether the process at the other end of a pipe says that it is ready before it ends."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[bool] = loop.create_future()

    def read() -> None:
        said = os.read(heard, 64)
        loop.remove_reader(heard)
        os.close(heard)
        if not ready.done():
            ready.set_result(said == READY)

    loop.add_reader(heard, read)
    return ready
