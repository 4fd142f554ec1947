"""Durable claims a second: `make bench`, or `python -m bench.allocate --scale 0.1 --json`.

What each figure means, and how they came out: docs/reference/performance.md.
"""

import argparse
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench import serving, writing
from bench.figures import Figure, Report
from bench.serving import Traffic
from bench.stores import Place, PostgresDatabases, SqliteFiles, cluster, recorded
from tenure.service.replay import differences

LEVELS = (0, 100_000, 1_000_000)
"""Allocations that are there already."""
SIZES = (1, 16, 256, 1000)
MEASURED = {1: 1_000, 16: 8_000, 256: 25_600, 1000: 40_000}
"""Claims written for a figure, by size of batch."""
SINGLES = 10_000
OFFERED = 1_000
BULK = 10_000

SECONDS, MEMORY = 10.0, 1024.0
RATIO = 0.35
KEPT = 0.8
TARGETS = {"SQLite": 10_000.0, "PostgreSQL": 5_000.0}
HTTP_BATCHED, HTTP_SINGLES, HTTP_P99 = 5_000.0, 1_000.0, 50.0
_BULKY = 256
"""Batches of at least so many are what the targets are about."""


class Bench:
    """One run over one kind of database.

    Args:
        scale: Of every count; at less than 1 the targets say nothing and are left out.
    """

    def __init__(self, files: SqliteFiles | PostgresDatabases, report: Report, scale: float) -> None:
        self._files = files
        self._report = report
        self._scale = scale
        self._empty: dict[str, float] = {}

    def run(self, levels: Sequence[int]) -> None:
        """Measure with each number of allocations there."""
        for level in levels:
            self._level(self._count(level) if level else 0, last=level == max(levels))

    def _level(self, there: int, *, last: bool) -> None:
        place = self._files.make()
        name = f"{self._files.name}, {there:,} there"
        rate = writing.make(place, there, lambda done: None)
        if there:
            self._add(f"{name}: filled, batches of 1,000", "claims/s", rate)
            self._start(name, place)
        for size in SIZES:
            self._writer(name, place, size)
        self._writer(name, place, _BULKY, named=True)
        self._http(name, place)
        if last:
            self._replay(name, place)
        place.drop()

    def _writer(self, name: str, place: Place, size: int, *, named: bool = False) -> None:
        batches = max(3, self._count(MEASURED[size]) // size)
        run = writing.measure(place, size, batches, named=named)
        what = f"writer, batches of {size:,}" + (", with names" if named else "")
        bulky = size >= _BULKY and not named
        self._rate(
            name,
            what,
            run.rate,
            least=TARGETS[self._files.name] if bulky else None,
            raw=run.raw,
            ratio_least=RATIO if bulky and self._files.name == "SQLite" else None,
            facts={"p50_ms": run.p50, "p99_ms": run.p99},
        )

    def _http(self, name: str, place: Place) -> None:
        with serving.served(place) as node:
            singles = self._count(SINGLES)
            node.singles(min(singles, 500))  # what is compiled and looked up once
            self._traffic(name, "HTTP, one by one, 32 clients", node.singles(singles), HTTP_SINGLES)
            offered = node.singles(singles, clients=128, rate=OFFERED)
            what = f"{name}: HTTP, {OFFERED:,}/s offered, p99"
            self._add(what, "ms", offered.p99, most=HTTP_P99, facts={"p50_ms": offered.p50, "rate": offered.rate})
            for size in SIZES[1:]:
                traffic = node.batches(size, max(3, self._count(MEASURED[size]) // size), clients=2)
                self._traffic(name, f"HTTP, batches of {size:,}", traffic, HTTP_BATCHED if size >= _BULKY else None)
            exchanges = node.exchanges_meanwhile(self._count(BULK), 4)
            facts = {"p50_ms": exchanges.p50, "rate": exchanges.rate}
            self._add(f"{name}: DHCP exchange during a bulk claim, p99", "ms", exchanges.p99, facts=facts)

    def _traffic(self, name: str, what: str, traffic: Traffic, least: float | None) -> None:
        facts = {"p50_ms": traffic.p50, "p99_ms": traffic.p99, "cpu_us_per_claim": traffic.cpu}
        self._rate(name, what, traffic.rate, least=least, facts=facts)

    def _rate(
        self,
        name: str,
        what: str,
        rate: float,
        *,
        least: float | None = None,
        raw: float | None = None,
        ratio_least: float | None = None,
        facts: dict[str, object],
    ) -> None:
        """A rate and, where it was measured with nothing there too, what part of that is left."""
        ratio = None if raw is None else rate / raw
        self._add(
            f"{name}: {what}", "claims/s", rate, least, raw=raw, ratio=ratio, ratio_least=ratio_least, facts=facts
        )
        if what in self._empty:
            self._add(f"{name}: {what}, kept", "", rate / self._empty[what], KEPT if least else None)
        else:
            self._empty[what] = rate

    def _start(self, name: str, place: Place) -> None:
        found = serving.start(place)
        self._add(f"{name}: start, until /readyz says 200", "s", found.seconds, most=SECONDS)
        memory = sum(found.memory.values())
        self._add(f"{name}: start, memory of all processes", "MiB", memory, most=MEMORY, facts={**found.memory})

    def _replay(self, name: str, place: Place) -> None:
        store, _ = recorded(place)
        found = len(differences(store))
        store.close()
        self._add(f"{name}: differences after replay of the ledger", "", found, most=0)

    def _add(
        self,
        name: str,
        unit: str,
        measured: float,
        least: float | None = None,
        most: float | None = None,
        **rest: object,
    ) -> None:
        figure = Figure(name=name, unit=unit, measured=measured, **rest)  # type: ignore[arg-type]
        if self._scale == 1:
            figure.least, figure.most = least, most
        else:
            figure.ratio_least = None
        self._report.add(figure)

    def _count(self, full: int) -> int:
        return max(1, int(full * self._scale))


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and print."""
    asked = _parser().parse_args(argv)
    report = Report(asked.scale)
    with _workplace(asked.directory) as parent:
        if asked.database in ("sqlite", "both"):
            Bench(SqliteFiles(parent), report, asked.scale).run(asked.levels)
        if asked.database in ("postgresql", "both"):
            with cluster() as running:
                Bench(PostgresDatabases(parent, running), report, asked.scale).run(asked.levels)
    report.show(as_json=asked.json)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.allocate", description="Measure durable claims a second.")
    parser.add_argument("--scale", type=float, default=1.0, help="of every count; targets are for 1 (default)")
    parser.add_argument("--database", choices=("sqlite", "postgresql", "both"), default="both")
    parser.add_argument("--levels", type=_levels, default=LEVELS, help="allocations there, such as 0,100000")
    parser.add_argument("--directory", type=Path, help="on the disk to be measured (default: beside this source)")
    parser.add_argument("--json", action="store_true", help="one JSON value instead of a table")
    return parser


def _levels(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


@contextmanager
def _workplace(directory: Path | None) -> Iterator[Path]:
    """A directory on a real disk: /tmp may be memory, which syncs in no time."""
    out = directory or Path(__file__).parent / "out"
    out.mkdir(exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix="a-", dir=out))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


if __name__ == "__main__":
    main()
