"""A real `tenure serve` on a ledger: claims over HTTP, DHCP exchanges meanwhile, start and memory."""

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import httpx

from bench import leases
from bench.load import Errand, load
from bench.stores import Place
from bench.writing import percentiles
from tests.whole.serving import Serving

_RUNS = count()


class Traffic(NamedTuple):
    """Claims a second, milliseconds of one request, and the node's processor time in microseconds a claim, by role."""

    rate: float
    p50: float
    p99: float
    cpu: dict[str, float]


class Start(NamedTuple):
    """Seconds until `/readyz` said 200, and the most that each process ever had in memory, in MiB, by role."""

    seconds: float
    memory: dict[str, float]


class Served:
    """A running node."""

    def __init__(self, process: Serving) -> None:
        self.process = process
        self._port = int(process.url.rpartition(":")[2])
        self._token = (process.data / "admin-token").read_text().strip()

    def singles(self, requests: int, *, clients: int = 32, rate: float = 0.0) -> Traffic:
        """Claims one by one, from that many clients; offered at `rate` a second, if said."""
        return self._load(1, requests, clients, rate)

    def batches(self, size: int, requests: int, *, clients: int = 1) -> Traffic:
        """Claims in batches: the milliseconds are those of a batch."""
        return self._load(size, requests, clients, 0.0)

    def exchanges_meanwhile(self, size: int, requests: int) -> Traffic:
        """DHCP exchanges through the writer's door, one after the other, while batches are claimed over HTTP."""
        bulk = Thread(target=self.batches, args=(size, requests))
        bulk.start()
        took = leases.exchanges(self.process.data, bulk.is_alive)
        bulk.join()
        return Traffic(len(took) / sum(took), *percentiles(took), {})

    def memory(self) -> dict[str, float]:
        """The most that each process ever had in memory, in MiB, by role."""
        return _of_each(self.process, _peak)

    def _load(self, size: int, requests: int, clients: int, rate: float) -> Traffic:
        run = f"run-{next(_RUNS)}-{time.monotonic_ns()}"
        before = _of_each(self.process, _cpu)
        result = load(Errand(self._port, self._token, run, size, requests, clients, rate))
        claims = size * requests
        cpu = {role: (spent - before[role]) / claims * 1e6 for role, spent in _of_each(self.process, _cpu).items()}
        return Traffic(claims / result.seconds, *percentiles(result.took), cpu)


@contextmanager
def served(place: Place) -> Iterator[Served]:
    """A node on a ledger that has a site."""
    with Serving(place.directory, *place.options) as process:
        yield Served(process)
        process.terminate(60)


def start(place: Place) -> Start:
    """Start a node, and stop it."""
    began = time.perf_counter()
    with Serving(place.directory, *place.options, ready=False) as process:
        url = process.wait_line(r"^api (http://\S+)", 120)[1]
        while not _ready(url):
            assert time.perf_counter() - began < 300, process.output
            time.sleep(0.02)
        seconds = time.perf_counter() - began
        memory = _of_each(process, _peak)
        process.terminate(60)
    return Start(seconds, memory)


def _ready(url: str) -> bool:
    try:
        return bool(httpx.get(f"{url}/readyz", trust_env=False, timeout=5).status_code == 200)
    except httpx.TransportError:
        return False


def _of_each(process: Serving, measure: Callable[[int], float]) -> dict[str, float]:
    return {role: measure(pid) for role, pid in sorted({"serve": process.pid, **process.roles}.items())}


def _cpu(pid: int) -> float:
    """Seconds of processor time so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _peak(pid: int) -> float:
    found: Any = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024
