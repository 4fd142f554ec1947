"""Processes that a test starts, listens to, kills and is sure to end."""

import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

TAIL = 40


class Process:
    """A child whose output is read all the time, so that it never blocks on a full pipe.

    It dies with the test run (PDEATHSIG), even if that is killed. Standard error is read with standard output.

    Args:
        argv: The command.
        env: Variables added to those of the test run.
        user: The account to run under; only root may name one.
    """

    def __init__(
        self,
        argv: Sequence[str | Path],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        user: str | None = None,
    ) -> None:
        self.argv = [str(word) for word in argv]
        self._lines: list[str] = []
        self._closed = False
        self._news = threading.Condition()
        account = [f"--reuid={user}", f"--regid={user}", "--init-groups"] if user else []
        self._child = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *account, "--", *self.argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **(env or {})},
            cwd=cwd,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._child.stdout is not None
        with self._child.stdout as said:
            for line in said:
                with self._news:
                    self._lines.append(line.rstrip("\n"))
                    self._news.notify_all()
        with self._news:
            self._closed = True
            self._news.notify_all()

    @property
    def pid(self) -> int:
        """The process id of the command itself."""
        return self._child.pid

    @property
    def running(self) -> bool:
        """True until it has ended."""
        return self._child.poll() is None

    @property
    def output(self) -> str:
        """Everything it has said so far."""
        with self._news:
            return "\n".join(self._lines)

    def wait_line(self, pattern: str, timeout: float = 20, *, after: int = 0) -> re.Match[str]:
        """The first line, from number `after` on, with `pattern` in it; fails after `timeout` seconds or at its end."""
        deadline = time.monotonic() + timeout
        with self._news:
            while True:
                for line in self._lines[after:]:
                    if found := re.search(pattern, line):
                        return found
                after = len(self._lines)
                remaining = deadline - time.monotonic()
                if self._closed or remaining <= 0:
                    raise AssertionError(self._complaint(f"no line like {pattern!r}"))
                self._news.wait(remaining)

    def wait_url(self, url: str, timeout: float = 20, *, status: int = 200) -> None:
        """Return when `url` answers with `status`; fails after `timeout` seconds or at its end."""
        deadline = time.monotonic() + timeout
        while not _answers(url, status):
            if time.monotonic() > deadline or not self.running:
                raise AssertionError(self._complaint(f"{url} does not answer {status}"))
            with self._news:
                self._news.wait(0.02)

    def _complaint(self, what: str) -> str:
        tail = "\n".join(self._lines[-TAIL:])
        return f"{what} from {' '.join(self.argv)} (exit {self._child.poll()}); it said:\n{tail}"

    def signal(self, number: signal.Signals) -> None:
        """Send one signal to the command itself; nothing if it has ended."""
        self._child.send_signal(number)

    def freeze(self) -> None:
        """Stop it in the middle of whatever it does (SIGSTOP), with its process group; returns when it stands still."""
        os.killpg(self.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOWAIT)

    def thaw(self) -> None:
        """Let it go on as if nothing had happened."""
        os.killpg(self.pid, signal.SIGCONT)

    def children(self) -> dict[int, str]:
        """The processes that it started and that still run: id and command line."""
        return {pid: line for pid in children_of(self.pid) if (line := _command_line(pid))}

    def wait(self, timeout: float = 20) -> int:
        """Its exit code (negative: the signal that ended it); fails after `timeout` seconds."""
        try:
            code = self._child.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(self._complaint(f"still running after {timeout} s")) from None
        self._reader.join(1)
        return code

    def kill9(self) -> None:
        """Kill it at once, with its process group, and wait for its end."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            self._child.kill()
        self.wait()

    def stop(self, timeout: float = 10) -> int:
        """Ask it to end, insist after `timeout` seconds; its exit code."""
        self._child.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._child.wait(timeout)
        self.kill9()
        return self._child.returncode

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.kill9()


def children_of(pid: int) -> list[int]:
    """The ids of the processes that any thread of `pid` started and that still run."""
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(word) for path in lists for word in path.read_text().split()]


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").replace(b"\0", b" ").decode()
    except FileNotFoundError:
        return ""


def _answers(url: str, status: int) -> bool:
    try:
        return httpx.get(url, timeout=2, trust_env=False).status_code == status
    except httpx.TransportError:
        return False


def free_port(kind: socket.SocketKind = socket.SOCK_STREAM) -> int:
    """A loopback port that nobody listens on at the moment."""
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
