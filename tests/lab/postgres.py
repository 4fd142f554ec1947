"""A private PostgreSQL, made from the installed binaries in a directory of its own."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from select import poll
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

from tests.lab.processes import Process, children_of, free_port

SETTINGS = {
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "shared_buffers": "64MB",
    "max_connections": "100",
    "timezone": "UTC",
}


def newest_binaries() -> Path | None:
    """The folder of the newest PostgreSQL installed here, if there is one."""
    found = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    return max(found, key=lambda path: int(path.parent.name), default=None)


class Cluster:
    """One server on a Unix socket and on a free loopback port; everything is synced as in production."""

    def __init__(self) -> None:
        binaries = newest_binaries()
        if binaries is None:
            raise FileNotFoundError("PostgreSQL is not installed here.")
        self._binaries = binaries
        self._user = "postgres" if os.geteuid() == 0 else None
        self.directory = Path(tempfile.mkdtemp(prefix="tenure-pg-"))
        self.port = free_port()
        self._numbers = count(1)
        self._process: Process | None = None
        if self._user:
            account = pwd.getpwnam(self._user)
            os.chown(self.directory, account.pw_uid, account.pw_gid)
        self._init()

    def _init(self) -> None:
        options = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"]
        with Process([self._binaries / "initdb", "-D", self._data, *options], user=self._user, cwd=Path("/")) as made:
            if made.wait(60):
                raise AssertionError(made.output)

    @property
    def _data(self) -> Path:
        return self.directory / "data"

    def start(self, **settings: str) -> None:
        """Start it, with some settings otherwise than they should be; returns when it accepts connections."""
        words = ["-D", str(self._data), "-k", str(self.directory), "-h", "127.0.0.1", "-p", str(self.port)]
        for name, value in (SETTINGS | settings).items():
            words += ["-c", f"{name}={value}"]
        self._process = Process([self._binaries / "postgres", *words], user=self._user, cwd=Path("/"))
        self._process.wait_line("ready to accept connections", 60)

    def stop(self) -> None:
        """Stop it at once but in order (a fast shutdown); nothing if it is down."""
        if self._process:
            self._process.signal(signal.SIGINT)
            self._process.wait(60)
            self._process = None

    def kill9(self) -> None:
        """Kill the server and each of its backends, as a machine that loses its database would see it."""
        if self._process:
            _kill_all([self._process.pid, *children_of(self._process.pid)])
            self._process.kill9()
            self._process = None

    def restart(self) -> None:
        """Stop it in order if it runs, and start it on the same port."""
        self.stop()
        self.start()

    def url(self, database: str = "postgres") -> str:
        """How to reach `database` over loopback."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def create_database(self) -> str:
        """A fresh, empty database; its URL."""
        name = f"tenure_{next(self._numbers)}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(name)))
        return self.url(name)

    def backup(self, url: str) -> str:
        """Copy a database file by file, as it is now; every connection to it is cut. The copy's URL."""
        name = f"tenure_{next(self._numbers)}"
        self._copy(urlsplit(url).path[1:], name)
        return self.url(name)

    def restore(self, url: str, backup: str) -> None:
        """Put a copy back where its original is, whoever uses that."""
        old, new = (urlsplit(each).path[1:] for each in (url, backup))
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(old)))
        self._copy(new, old)

    def _copy(self, source: str, target: str) -> None:
        allow = sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}")
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(allow.format(sql.Identifier(source), sql.SQL("false")))
            others = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = %s"
            connection.execute(others, (source,))
            names = sql.Identifier(target), sql.Identifier(source)
            connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(*names))
            connection.execute(allow.format(sql.Identifier(source), sql.SQL("true")))

    def remove(self) -> None:
        """Kill it and remove its directory."""
        self.kill9()
        shutil.rmtree(self.directory, ignore_errors=True)


def _kill_all(pids: Sequence[int]) -> None:
    """Kill in order and wait until each is gone; those that are gone already do not matter."""
    handles: list[int] = []
    for pid in pids:
        try:
            handles.append(os.pidfd_open(pid))
        except ProcessLookupError:
            continue
    try:
        for handle in handles:
            _kill_by(handle)
        for handle in handles:
            waiting = poll()
            waiting.register(handle)
            if not waiting.poll(10_000):
                raise AssertionError("a PostgreSQL process outlived SIGKILL for ten seconds")
    finally:
        for handle in handles:
            os.close(handle)


def _kill_by(handle: int) -> None:
    try:
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    except ProcessLookupError:
        return


def available() -> bool:
    """True where a private cluster can be made: binaries, and as root the account `postgres`."""
    if newest_binaries() is None:
        return False
    found = subprocess.run(["id", "-u", "postgres"], capture_output=True, check=False)
    return os.geteuid() != 0 or found.returncode == 0
