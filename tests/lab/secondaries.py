"""Real secondaries on loopback: BIND, Knot, NSD and PowerDNS, each in the foreground and with files of its own."""

import shutil
import sqlite3
import subprocess
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Final, NamedTuple, Self

import dns.exception
import dns.message
import dns.name
import dns.query
import dns.rdatatype
import dns.tsig
import dns.zone

from tenure.naming.serial import later
from tests.lab.processes import Process

ANSWER: Final = 0.5
"""Seconds that a server on loopback may take to answer one query before it is asked again."""


class At(NamedTuple):
    """Where a server listens, on UDP and TCP; BIND wants an address of an interface, so on loopback 127.0.0.1."""

    address: str
    port: int


class Key(NamedTuple):
    """A TSIG key.

    Args:
        algorithm: `hmac-sha256` or `hmac-sha512`.
        secret: In base64.
    """

    name: str
    algorithm: str
    secret: str

    def ring(self) -> dns.tsig.Key:
        """As dnspython wants one, as its `keyring`."""
        return dns.tsig.Key(self.name, self.secret, self.algorithm)


class Feed(NamedTuple):
    """What a secondary follows, and whom.

    Args:
        key: Signs what is asked of the primary; nothing is signed without one.
        zones: Names of zones that the secondary is told of, without a final dot.
        catalog: The name of a catalog zone that says which others there are; only where `catalogs` is true.
    """

    primary: At
    key: Key | None = None
    zones: tuple[str, ...] = ()
    catalog: str | None = None


def transfer(at: At, zone: str, key: Key | None = None, timeout: float = 60) -> frozenset[str]:
    """Every record of a zone by AXFR, one a text `owner ttl class type data`, absolute and in lower case.

    Raises:
        dns.exception.DNSException: It is refused, or cut short.
    """
    ring = {dns.name.from_text(key.name): key.ring()} if key else None
    stream = dns.query.xfr(
        at.address, zone, port=at.port, keyring=ring, relativize=False, timeout=timeout, lifetime=timeout
    )
    sets = (found for message in stream for found in message.answer)
    return frozenset(line.lower() for found in sets for line in found.to_text().splitlines())


class Secondary(ABC):
    """One server; a context manager that kills it.

    Everybody may ask it for a zone, so that what it holds can be compared. What it knows survives `stop` in its
    directory. The port must be free.

    Attributes:
        at: Where it listens; it asks its primary from that address too.
    """

    programs: ClassVar[tuple[str, ...]]
    catalogs: ClassVar[bool] = True  # whether it can follow a catalog zone

    def __init__(self, directory: Path, at: At, feed: Feed) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.at, self.feed = at, feed
        self.directory = directory
        self.sockets = tempfile.mkdtemp(prefix="tn")  # the path of a socket must be short
        self._processes: list[Process] = []

    @classmethod
    def available(cls) -> bool:
        """True where it is installed."""
        return all(shutil.which(program) for program in cls.programs)

    @property
    def log(self) -> str:
        """Everything it has said so far, in all its lives."""
        return "\n".join(process.output for process in self._processes)

    @property
    def running(self) -> bool:
        """True while it runs."""
        return bool(self._processes) and self._processes[-1].running

    def start(self) -> Self:
        """Run it, with what its directory remembers; returns when it answers."""
        self._configure()
        self._processes.append(Process(self._command(), cwd=self.directory))
        try:
            self._until(lambda: self._asked("version.bind", "TXT") is not None, 20, "answers")
        except BaseException:
            self.kill()
            raise
        return self

    def stop(self) -> None:
        """Ask it to end, and wait for that."""
        self._processes[-1].stop()

    def kill(self) -> None:
        """Kill it at once."""
        self._processes[-1].kill9()

    def ask(self, name: str, kind: str) -> dns.message.Message:
        """Its answer to one query; asked again for ten seconds if it is silent."""
        found: list[dns.message.Message] = []

        def answered() -> bool:
            found.extend([reply] if (reply := self._asked(name, kind)) else [])
            return bool(found)

        self._until(answered, 10, f"answers {name} {kind}")
        return found[0]

    def serial(self, zone: str) -> int | None:
        """The serial that it has of a zone; nothing if it has none of it or is silent."""
        reply = self._asked(zone, "SOA")
        rows = [row for found in reply.answer for row in found if row.rdtype == dns.rdatatype.SOA] if reply else []
        return int(rows[0].serial) if rows else None

    def records(self, zone: str) -> frozenset[str]:
        """Every record that it has of a zone, as `transfer` gives them."""
        return transfer(self.at, zone)

    def wait(self, zone: str, serial: int, timeout: float = 60) -> None:
        """Return when it has a zone at this serial or a later one; fails after `timeout` seconds or at its end."""

        def reached() -> bool:
            has = self.serial(zone)
            return has is not None and not later(serial, has)

        self._until(reached, timeout, f"has serial {serial} of {zone}")

    def says(self, text: str, timeout: float = 20) -> None:
        """Return when it has said this; fails after `timeout` seconds or at its end."""
        self._until(lambda: text in self.log, timeout, f"says {text}")

    def _asked(self, name: str, kind: str) -> dns.message.Message | None:
        query = dns.message.make_query(name, kind, "CH" if name == "version.bind" else "IN", flags=0, use_edns=0)
        try:
            return dns.query.udp_with_fallback(query, self.at.address, ANSWER, self.at.port)[0]
        except (OSError, dns.exception.Timeout):
            return None

    def _until(self, true: Callable[[], bool], timeout: float, what: str) -> None:
        deadline, pause = time.monotonic() + timeout, threading.Event()
        while not true():
            if time.monotonic() > deadline or not self.running:
                tail = "\n".join(self.log.splitlines()[-40:])
                raise AssertionError(f"{type(self).__name__} never {what}; it said:\n{tail}")
            pause.wait(0.02)

    @abstractmethod
    def _configure(self) -> None:
        """Write its files."""

    @abstractmethod
    def _command(self) -> list[str | Path]:
        """What runs it in the foreground."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for process in self._processes:
            process.kill9()
        shutil.rmtree(self.sockets)


class Bind(Secondary):
    """BIND; NOTIFY and refresh as quick as it can.

    Args:
        options: More lines of its `options`.
        each: More lines of each zone that it is told of (`inline-signing yes; dnssec-policy default;`).
    """

    programs = ("named",)

    def __init__(self, directory: Path, at: At, feed: Feed, options: str = "", each: str = "") -> None:
        super().__init__(directory, at, feed)
        self.options, self.each = options, each

    def _configure(self) -> None:
        here, (primary, key, zones, catalog) = self.directory, self.feed
        signed = f'key "{key.name}"' if key else ""
        primaries = f"{{ {primary.address} port {primary.port} {signed}; }}"
        follow = (
            f'catalog-zones {{ zone "{catalog}" default-primaries {primaries} zone-directory "{here}"'
            " min-update-interval 1; };"
        )
        text = bind_options(here, self.at, self.options + (follow if catalog else ""))
        for zone in (*zones, *([catalog] if catalog else [])):
            text += f'zone "{zone}" {{ type secondary; file "{zone}.db"; primaries {primaries}; {self.each} }};\n'
        (here / "named.conf").write_text(bind_key(key) + text)

    def _command(self) -> list[str | Path]:
        return ["named", "-g", "-n", "1", "-c", self.directory / "named.conf"]


def bind_key(key: Key | None) -> str:
    """A key as BIND's configuration has it."""
    return f'key "{key.name}" {{ algorithm {key.algorithm}; secret "{key.secret}"; }};\n' if key else ""


def bind_options(directory: Path, at: At, more: str = "") -> str:
    """BIND's `options` for a server that keeps everything in a directory, and holds back nothing that it sends."""
    return _BIND.format(here=directory, address=at.address, port=at.port, more=more)


_BIND: Final = """
controls {{ }};
options {{
    directory "{here}";
    pid-file none;
    session-keyfile none;
    listen-on port {port} {{ {address}; }};
    listen-on-v6 {{ none; }};
    transfer-source {address};
    notify-source {address};
    recursion no;
    dnssec-validation no;
    allow-transfer {{ any; }};
    notify-delay 0;
    notify-rate 10000;
    startup-notify-rate 10000;
    serial-query-rate 10000;
    transfers-in 100;
    transfers-out 100;
    transfers-per-ns 100;
    tcp-clients 1000;
    min-refresh-time 1;
    min-retry-time 1;
    max-retry-time 1;
    {more}
}};
"""


class Knot(Secondary):
    """Knot; what it follows it also keeps as a journal, so that it goes on from there."""

    programs = ("knotd",)

    def _configure(self) -> None:
        here, (primary, key, zones, catalog) = self.directory, self.feed
        text = _KNOT.format(
            here=here,
            at=f"{self.at.address}@{self.at.port}",
            primary=f"{primary.address}@{primary.port}",
            address=primary.address,
            via=self.at.address,
            keys=f"key:\n  - id: {key.name}\n    algorithm: {key.algorithm}\n    secret: {key.secret}\n" if key else "",
            key=f"key: {key.name}" if key else "",
        )
        text += "".join(f"  - domain: {zone}\n" for zone in zones)
        if catalog:
            text += f"  - domain: {catalog}\n    catalog-role: interpret\n    catalog-template: default\n"
        (here / "knot.conf").write_text(text)
        (here / "database").mkdir(exist_ok=True)

    def _command(self) -> list[str | Path]:
        return ["knotd", "-c", self.directory / "knot.conf"]


_KNOT: Final = """
server:
    rundir: {here}
    listen: {at}
    udp-workers: 1
    tcp-workers: 1
    background-workers: 2
log:
  - target: stdout
    any: info
database:
    storage: {here}/database
{keys}
remote:
  - id: primary
    address: {primary}
    via: {via}
    {key}
acl:
  - id: notified
    address: {address}
    action: notify
  - id: signed
    address: {address}
    action: notify
    {key}
  - id: anyone
    action: transfer
template:
  - id: default
    storage: {here}/zones
    master: primary
    acl: [notified, signed, anyone]
    refresh-min-interval: 2
    retry-max-interval: 1
    zonefile-sync: -1
    zonefile-load: none
    journal-content: all
zone:
"""


class Nsd(Secondary):
    """NSD, which is told of each zone; those that come later by `add`.

    It writes what it has within a second or two (`written`); killed before that, it has to take it again.
    """

    programs = ("nsd", "nsd-control")
    catalogs = False

    def add(self, zones: Iterable[str]) -> None:
        """Tell the running server of more zones; it remembers them."""
        self._control("addzones", "".join(f"{zone} followed\n" for zone in zones))

    def remove(self, zones: Iterable[str]) -> None:
        """Tell the running server to forget zones that were added; returns when it has."""
        gone = tuple(zones)
        self._control("delzones", "".join(f"{zone}\n" for zone in gone))
        self._until(lambda: all(self.serial(zone) is None for zone in gone), 20, f"forgets {', '.join(gone)}")

    def written(self, zone: str, text: str) -> None:
        """Return when the file that it would start from has this text; fails after twenty seconds."""
        file = self.directory / f"{zone}.zone"
        self._until(lambda: file.exists() and text in file.read_text(), 20, f"writes {text} of {zone}")

    def _control(self, word: str, given: str) -> None:
        argv = ["nsd-control", "-c", str(self.directory / "nsd.conf"), word]
        done = subprocess.run(argv, input=given, capture_output=True, text=True, timeout=20, check=False)
        if done.returncode or "error" in done.stdout:
            raise AssertionError(f"nsd-control {word}: {done.stdout}{done.stderr}")

    def _configure(self) -> None:
        here, (primary, key, zones, _) = self.directory, self.feed
        text = _NSD.format(
            here=here,
            sockets=self.sockets,
            address=self.at.address,
            port=self.at.port,
            primary=f"{primary.address}@{primary.port}",
            source=primary.address,
            keys=f"key:\n  name: {key.name}\n  algorithm: {key.algorithm}\n  secret: {key.secret}\n" if key else "",
            key=key.name if key else "NOKEY",
        )
        text += "".join(f"zone:\n  name: {zone}\n  include-pattern: followed\n" for zone in zones)
        (here / "nsd.conf").write_text(text)

    def _command(self) -> list[str | Path]:
        return ["nsd", "-d", "-c", self.directory / "nsd.conf"]


_NSD: Final = """
server:
  ip-address: {address}@{port}
  server-count: 1
  username: ""
  chroot: ""
  zonesdir: {here}
  zonelistfile: {here}/zone.list
  database: {here}/nsd.db
  xfrdfile: {here}/xfrd.state
  xfrdir: {here}
  pidfile: {here}/nsd.pid
  verbosity: 2
  rrl-ratelimit: 0
  zonefiles-write: 1
remote-control:
  control-enable: yes
  control-interface: {sockets}/nsd.ctl
{keys}
pattern:
  name: followed
  zonefile: %s.zone
  request-xfr: {primary} {key}
  allow-notify: {source} {key}
  allow-notify: {source} NOKEY
  provide-xfr: 127.0.0.0/8 NOKEY
  outgoing-interface: {address}
  min-refresh-time: 1
  min-retry-time: 1
  max-retry-time: 1
"""


class PowerDns(Secondary):
    """PowerDNS on SQLite.

    It gives the members of a catalog neither the catalog's key nor its wish for IXFR: a trigger in its database does.
    """

    programs = ("pdns_server", "pdnsutil")
    schema: ClassVar[Path] = Path("/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql")

    @classmethod
    def available(cls) -> bool:
        """True where it and its SQLite part are installed."""
        return super().available() and cls.schema.exists()

    def _configure(self) -> None:
        here, (primary, key, zones, catalog) = self.directory, self.feed
        text = _POWERDNS.format(here=here, sockets=self.sockets, address=self.at.address, port=self.at.port)
        (here / "pdns.conf").write_text(text)
        if (here / "pdns.db").exists():
            return
        with sqlite3.connect(here / "pdns.db") as made:
            made.executescript(self.schema.read_text())
            made.executescript(_MEMBERS.format(key=key.name if key else ""))
        made.close()
        if key:
            self._tool("import-tsig-key", key.name, key.algorithm, key.secret)
        for zone in (*zones, *([catalog] if catalog else [])):
            self._tool("create-secondary-zone", zone, f"{primary.address}:{primary.port}")
        if catalog:
            self._tool("set-kind", catalog, "consumer")

    def _tool(self, *words: str) -> None:
        argv = ["pdnsutil", f"--config-dir={self.directory}", *words]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=False)
        if done.returncode:
            raise AssertionError(f"pdnsutil {' '.join(words)}: {done.stdout}{done.stderr}")

    def _command(self) -> list[str | Path]:
        return ["pdns_server", f"--config-dir={self.directory}"]


_MEMBERS: Final = """
CREATE TRIGGER followed AFTER INSERT ON domains WHEN new.type = 'SLAVE' BEGIN
    INSERT INTO domainmetadata (domain_id, kind, content) VALUES (new.id, 'IXFR', '1');
    INSERT INTO domainmetadata (domain_id, kind, content)
        SELECT new.id, 'AXFR-MASTER-TSIG', '{key}' WHERE '{key}' != '';
END;
"""

_POWERDNS: Final = """
launch=gsqlite3
gsqlite3-database={here}/pdns.db
gsqlite3-pragma-synchronous=0
gsqlite3-pragma-journal-mode=wal
retrieval-threads=1
receiver-threads=1
distributor-threads=1
local-address={address}
local-port={port}
query-local-address={address}
socket-dir={sockets}
secondary=yes
secondary-check-signature-freshness=no
xfr-cycle-interval=1
allow-axfr-ips=127.0.0.0/8
disable-axfr=no
cache-ttl=0
query-cache-ttl=0
negquery-cache-ttl=0
zone-cache-refresh-interval=0
zone-metadata-cache-ttl=0
guardian=no
daemon=no
disable-syslog=yes
write-pid=no
loglevel=5
"""

ALL: Final[tuple[type[Secondary], ...]] = (Bind, Knot, Nsd, PowerDns)


def available() -> bool:
    """True where all of them are installed."""
    return all(each.available() for each in ALL)
