"""Machines by the thousand: `python -m bench.machines --json`.

Ten thousand machines pass commissioning in one call while DHCP clients come and go, and a harvest is planned
over a hundred thousand. What each figure means: docs/reference/performance.md.
"""

import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Thread
from typing import Any

import httpx

from bench import leases, serving, site, writing
from bench.figures import Figure, Report, command
from bench.stores import SqliteFile, SqliteFiles, recorded
from bench.writing import percentiles
from tenure.model import uses as u
from tenure.model.answers import Harvested

MACHINES, CANDIDATES = 10_000, 100_000
SECONDS, EXCHANGE, PLANNED = 10.0, 100.0, 2.0
WANTED = 1_000
"""Addresses that a harvest looks for."""

_ACTOR = "token:bench"
_METAL = "10.0.0.0/8"


def run(report: Report, scale: float, directory: Path) -> None:
    """Both, each on a ledger of its own."""
    files = SqliteFiles(directory)
    commissioned(report, int(MACHINES * scale), files.make(), whole=scale == 1)
    harvested(report, int(CANDIDATES * scale), files.make(), whole=scale == 1)


def commissioned(report: Report, count: int, place: SqliteFile, *, whole: bool) -> None:
    """One call for all machines, through HTTP, and DHCP exchanges through the writer's door meanwhile."""
    writing.make(place, 0, lambda done: None)
    _machines(place, count)
    with serving.served(place) as node:
        quiet = leases.exchanges(place.directory, _times(50))
        took: list[float] = []
        call = Thread(target=lambda: took.append(_ready(node, count)))
        call.start()
        meanwhile = leases.exchanges(place.directory, call.is_alive)
        call.join()
    alone, beside = percentiles(quiet), percentiles(meanwhile)
    report.add(
        Figure(
            name=f"{count:,} machines ready in one call",
            unit="s",
            measured=took[0],
            most=SECONDS if whole else None,
            facts={"machines_per_second": count / took[0]},
        )
    )
    report.add(
        Figure(
            name="DHCP exchange meanwhile, p99",
            unit="ms",
            measured=beside[1],
            most=EXCHANGE if whole else None,
            ratio=beside[1] / alone[1],
            of="alone",
            facts={"p50_ms": beside[0], "exchanges": len(meanwhile), "worst_ms": max(meanwhile) * 1000},
        )
    )


def harvested(report: Report, count: int, place: SqliteFile, *, whole: bool) -> None:
    """A dry run over machines that were all not seen for long; beside the candidates as plain SQL reads them."""
    writing.make(place, 0, lambda done: None)
    _machines(place, count, harvest_after=0)
    store, _ = recorded(place)
    with writing.writer_at(store, place.directory) as writer:
        for names in _chunks(_names(count)):
            site.answered(writer, [_asked(u.ReadyMachine(machine=name)) for name in names])
        capacity: Any = writer.submit([_asked(u.ReadCapacity(network="metal"))]).result()[0].answer
        below = capacity.v4.available + min(WANTED, count)
        changes: dict[str, object] = {"harvest": True, "harvest_below": below, "harvest_after": 0}
        site.answered(writer, [_asked(u.ChangeNetwork(network="metal", changes=changes))])
        use = u.HarvestNetwork(network="metal", limit=WANTED)
        began = time.perf_counter()
        (reply,) = writer.submit([_asked(use, dry_run=True)]).result()
        seconds = time.perf_counter() - began
        assert isinstance(reply.answer, Harvested), reply.answer
        raw = _raw(place)
    report.add(
        Figure(
            name=f"harvest of {len(reply.answer.taken):,} planned over {count:,} machines",
            unit="s",
            measured=seconds,
            most=PLANNED if whole else None,
            raw=raw,
            ratio=seconds / raw,
            of="counting the candidates by plain SQL",
        )
    )


def _raw(place: SqliteFile) -> float:
    """Seconds in which the same database reads every candidate once, in order, without an index of its own."""
    statement = (
        "SELECT count(*) FROM (SELECT c.id FROM claims c JOIN machines m ON m.id = c.machine"
        " WHERE c.until IS NULL AND c.kept = 'life' AND m.until IS NULL ORDER BY coalesce(m.seen, c.since), c.id)"
    )
    with sqlite3.connect(place.where) as raw:
        began = time.perf_counter()
        raw.execute(statement).fetchall()
        return time.perf_counter() - began


def _machines(place: SqliteFile, count: int, **policies: object) -> None:
    store, _ = recorded(place)
    with writing.writer_at(store, place.directory) as writer:
        fields: dict[str, object] = {"domain": "metal.example.", "cooldown": 0, **policies}
        uses: list[u.Use] = [u.CreateVrf(name="metal")]
        uses.append(u.CreateNetwork(name="metal", vrf="metal", fields=fields))
        uses.append(u.CreateSubnet(network="metal", cidr=_METAL, fields={}))
        site.answered(writer, [_asked(use) for use in uses])
        for names in _chunks(_names(count)):
            site.answered(writer, [_asked(_machine(name)) for name in names])


def _machine(name: str) -> u.CreateMachine:
    number = int(name.removeprefix("metal-"))
    mac = ":".join(f"{byte:02x}" for byte in b"\x52\x55" + number.to_bytes(4))
    place = f"r{number % site.RACKS}"
    return u.CreateMachine(name=name, location=place, interfaces=(u.NewInterface(mac=mac, network="metal"),))


def _names(count: int) -> list[str]:
    return [f"metal-{number}" for number in range(count)]


def _chunks(names: list[str]) -> Iterator[list[str]]:
    return (names[at : at + site.PRELOAD] for at in range(0, len(names), site.PRELOAD))


def _asked(use: u.Use, **circumstances: Any) -> u.Submission:
    return u.Submission(use=use, actor=_ACTOR, source="127.0.0.1", patience=60.0, **circumstances)


def _ready(node: serving.Served, count: int) -> float:
    token = (node.process.data / "admin-token").read_text().strip()
    headers = {"Authorization": f"Bearer {token}"}
    began = time.perf_counter()
    body = {"act": "ready", "machines": _names(count)}
    answer = httpx.post(
        f"{node.process.url}/v1/machines/batch", json=body, headers=headers, trust_env=False, timeout=120
    )
    seconds = time.perf_counter() - began
    items = answer.raise_for_status().json()["items"]
    assert all(item["status"] == 200 for item in items), next(i for i in items if i["status"] != 200)
    return seconds


def _times(count: int) -> Any:
    left = iter(range(count))
    return lambda: next(left, None) is not None


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and print."""
    command(__doc__, run, argv)


if __name__ == "__main__":
    main()
