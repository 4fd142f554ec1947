"""A zone of a million records on its way to a BIND: `python -m bench.dns_transfers --json`.

Whole, and by ten thousand changes; from Tenure, and in the same run from a BIND primary with the very same zone.
The seconds are those that the receiving BIND says.
"""

import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from bench import serving, writing
from bench.dns_sides import DOMAIN, Node, Nsupdate, bind, tenure, zone_text
from bench.figures import Figure, Report, command
from bench.stores import SqliteFiles
from tests.lab.bind_primary import BindPrimary
from tests.lab.secondaries import Bind
from tests.whole.serving import until

RECORDS, CHANGES, STEP, TIMES = 1_000_000, 10_000, 250, 3
_COMPLETED = re.compile(r"Transfer completed: (\d+) messages, (\d+) records, (\d+) bytes, ([0-9.]+) secs")


def run(report: Report, scale: float, directory: Path) -> None:
    """Both sides at once; transfers in turns."""
    place = SqliteFiles(directory).make()
    report.say("filling the ledger")
    writing.make(place, int(RECORDS * scale), lambda done: None)
    with tenure(place, directory, replicate=False) as node:
        before = serving.Served(node.serving).memory()["dns"]
        report.say("loading the same zone into BIND")
        with bind(directory, zone_text(node), replicate=False) as (primary, secondary):
            whole_zones(report, node, secondary, before, whole=scale == 1)
            changes(report, int(CHANGES * scale), node, primary, secondary, whole=scale == 1)


def whole_zones(report: Report, node: Node, other: Bind, before: float, *, whole: bool) -> None:
    """Each secondary from nothing, three times."""
    ours, theirs = [], []
    for _ in range(TIMES):
        ours.append(_taken(node.secondary))
        theirs.append(_taken(other))
    after = serving.Served(node.serving).memory()["dns"]
    seconds, its = median(ours), median(theirs)
    report.add(
        Figure(
            name="a whole zone to BIND",
            unit="s",
            measured=seconds,
            most=its if whole else None,
            raw=its,
            ratio=seconds / its,
            of="BIND as primary",
            facts={"records": _records(node.secondary), "memory_mib": before, "memory_peak_mib": after},
        )
    )


def _taken(secondary: Bind) -> float:
    """Seconds of a transfer to a secondary that has nothing."""
    for file in secondary.directory.glob("*.db*"):
        file.unlink()
    return _transferred(secondary)


def _transferred(secondary: Bind) -> float:
    """Start it; seconds of its transfer."""
    known = len(_COMPLETED.findall(secondary.log))
    secondary.start()
    until(lambda: len(_COMPLETED.findall(secondary.log)) > known, 120)
    secondary.wait(DOMAIN, 1)
    seconds = float(_COMPLETED.findall(secondary.log)[-1][3])
    if seconds:
        secondary.stop()
    return seconds


def _records(secondary: Bind) -> int:
    return int(_COMPLETED.findall(secondary.log)[-1][1])


def changes(report: Report, count: int, node: Node, primary: BindPrimary, secondary: Bind, *, whole: bool) -> None:
    """Both secondaries are away while names come, in the same steps on both sides."""
    first = 2_000_000
    numbers = range(first, first + count)
    with Nsupdate(primary.at) as nsupdate:
        _in_steps(numbers, nsupdate.add)
    _in_steps(numbers, node.claim)
    time.sleep(1)
    ours, theirs = _transferred(node.secondary), _transferred(secondary)
    assert _records(node.secondary) < 4 * count, "it was a whole zone"
    report.add(
        Figure(
            name=f"{count:,} changes to BIND",
            unit="s",
            measured=ours,
            most=theirs if whole else None,
            raw=theirs,
            ratio=ours / theirs if theirs else None,
            of="BIND as primary",
            facts={"records": _records(node.secondary), "bind_records": _records(secondary), "steps": count / STEP},
        )
    )


def _in_steps(numbers: range, act: Callable[[Sequence[int]], object]) -> None:
    for at in range(0, len(numbers), STEP):
        act(numbers[at : at + STEP])


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and print."""
    command(__doc__, run, argv)


if __name__ == "__main__":
    main()
