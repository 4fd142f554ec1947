"""Queries a second on a zone of a million names: `python -m bench.dns_queries --json`.

A node's DNS process, and in the same run an NSD that holds the very same zone, asked by dnsperf in turns: for
names that are there, and for names that are not.
"""

import random
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench import serving, writing
from bench.dns_sides import DOMAIN, tenure, zone_text
from bench.figures import Figure, Report, command
from bench.stores import SqliteFiles
from tests.lab.processes import children_of, free_port
from tests.lab.secondaries import At, Feed, Nsd
from tests.whole.serving import until

NAMES, ASKED, TIMES, SECONDS = 1_000_000, 200_000, 5, 3
RATIO = 0.6
"""The part of NSD's queries a second that is the target."""

_DNSPERF = ("-c", "8", "-T", "1", "-q", "200")
_NSD = "127.0.0.1"
_RATE = re.compile(r"Queries per second:\s+([0-9.]+)")
_LOST = re.compile(r"Queries lost:\s+([0-9]+)")
_CODES = re.compile(r"Response codes:\s+(.+)")
_RESIDENT = re.compile(r"Rss:\s+(\d+) kB")


class Run(NamedTuple):
    """What dnsperf says: answers a second, questions without an answer, and rcodes with their shares."""

    rate: float
    lost: int
    codes: str


def run(report: Report, scale: float, directory: Path) -> None:
    """Both servers at once, asked in turns, so that whatever else the machine does meets both alike."""
    place = SqliteFiles(directory).make()
    count = int(NAMES * scale)
    report.say("filling the ledger")
    writing.make(place, count, lambda done: None)
    with tenure(place, directory, replicate=False) as node:
        at = At(_NSD, free_port())
        with Nsd(directory / "nsd", at, Feed(node.at, zones=(DOMAIN,))) as nsd:
            body = {"name": "nsd", "address": at.address, "port": at.port, "unsigned": True}
            assert node.client.post("/v1/secondaries", json=body).is_success
            nsd.start()
            until(lambda: nsd.serial(DOMAIN), 300)
            names = _names(zone_text(node), int(ASKED * scale))
            facts = {"memory_mib": serving.Served(node.serving).memory()["dns"], "nsd_memory_mib": _resident(nsd)}
            for what, asked in (("are", names), ("are not", [f"no-{name}" for name in names])):
                path = directory / "asked.txt"
                path.write_text("".join(f"{name}.{DOMAIN} A\n" for name in asked))
                _compare(report, f"queries for names that {what} there", path, (node.at, at), facts, whole=scale == 1)


def _names(zone: str, asked: int) -> list[str]:
    """Names of the site's claims, any of them."""
    return random.Random(5).choices(re.findall(r"^vm-\d+", zone, re.MULTILINE), k=asked)


def _compare(
    report: Report, name: str, asked: Path, servers: tuple[At, At], facts: Mapping[str, object], *, whole: bool
) -> None:
    seconds = SECONDS if whole else 0.2
    turns = [[_dnsperf(server, asked, seconds) for server in servers] for _ in range(TIMES)]
    ours, theirs = ([turn[side] for turn in turns] for side in (0, 1))
    measured, nsd = (median(each.rate for each in runs) for runs in (ours, theirs))
    report.add(
        Figure(
            name=name,
            unit="queries/s",
            measured=measured,
            raw=nsd,
            ratio=measured / nsd,
            ratio_least=RATIO if whole else None,
            of="NSD",
            facts={
                "dnsperf": " ".join(_DNSPERF),
                "lost": sum(each.lost for each in ours),
                "nsd_lost": sum(each.lost for each in theirs),
                "codes": ours[0].codes,
                "nsd_codes": theirs[0].codes,
                **facts,
            },
        )
    )


def _dnsperf(server: At, asked: Path, seconds: float) -> Run:
    words = ["dnsperf", "-s", server.address, "-p", str(server.port), "-d", str(asked), "-l", str(seconds)]
    said = subprocess.run([*words, *_DNSPERF], capture_output=True, text=True, check=True, timeout=60).stdout
    rate, lost, codes = (_found(pattern, said) for pattern in (_RATE, _LOST, _CODES))
    return Run(float(rate), int(lost), codes)


def _found(pattern: re.Pattern[str], said: str) -> str:
    found = pattern.search(said)
    assert found is not None, said
    return found[1]


def _resident(nsd: Nsd) -> float:
    """MiB of the largest of its processes: the one that answers, which shares the zone with the others."""
    pids = _with_children(int((nsd.directory / "nsd.pid").read_text()))
    sizes = [_found(_RESIDENT, Path(f"/proc/{pid}/smaps_rollup").read_text()) for pid in pids]
    return max(map(int, sizes)) / 1024


def _with_children(pid: int) -> list[int]:
    return [pid, *(below for child in children_of(pid) for below in _with_children(child))]


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and print."""
    command(__doc__, run, argv)


if __name__ == "__main__":
    main()
