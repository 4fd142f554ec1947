"""From the answer to the world: `python -m bench.dns_visible --json`.

How long after an allocation is answered its name is on a BIND secondary, one by one and in a burst; beside it in the
same run `nsupdate` to a BIND primary with a BIND secondary, and Tenure's own server, which must know it at once.
"""

import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

import httpx

from bench import writing
from bench.dns_sides import DOMAIN, SETTINGS, Asked, Node, Nsupdate, Timeline, bind, claim, tenure
from bench.figures import Figure, Report, command
from bench.stores import SqliteFiles
from bench.writing import percentiles
from tests.lab.bind_primary import BindPrimary
from tests.lab.secondaries import At, Bind

SINGLES, BURST, CLIENTS, TURN = 1_000, 10_000, 8, 50

T = TypeVar("T")


def run(report: Report, scale: float, directory: Path) -> None:
    """Both sides at once."""
    place = SqliteFiles(directory).make()
    writing.make(place, 0, lambda done: None)
    report.say(f"BIND, primary and secondaries: {SETTINGS}")
    with tenure(place, directory) as node, bind(directory) as (primary, secondary):
        one_by_one(report, int(SINGLES * scale), node, primary, secondary, whole=scale == 1)
        in_a_burst(report, int(BURST * scale), node, primary, secondary, whole=scale == 1)


def one_by_one(report: Report, count: int, node: Node, primary: BindPrimary, secondary: Bind, *, whole: bool) -> None:
    """In turns of some fifty, so that whatever else the machine does meets both alike."""
    ours, theirs, own = [], [], []
    with (
        Asked(node.secondary.at) as here,
        Asked(secondary.at) as there,
        Asked(node.at) as itself,
        Nsupdate(primary.at) as nsupdate,
    ):
        for at in range(0, count, TURN):
            for number in range(at, min(at + TURN, count)):
                node.claim([number])
                began = time.monotonic()
                assert itself.exists(f"seen-{number}.{DOMAIN}"), "the embedded server did not know it"
                own.append(time.monotonic() - began)
                ours.append(_until_seen(here, number, began))
            for number in range(at, min(at + TURN, count)):
                nsupdate.add([number])
                theirs.append(_until_seen(there, number, time.monotonic()))
    _told(report, f"{count:,} one by one", ours, theirs, whole=whole, own_ms=percentiles(own)[1])


def _until_seen(asked: Asked, number: int, began: float) -> float:
    while not asked.exists(f"seen-{number}.{DOMAIN}"):
        assert time.monotonic() - began < 10, f"seen-{number} never came"
    return time.monotonic() - began


def in_a_burst(report: Report, count: int, node: Node, primary: BindPrimary, secondary: Bind, *, whole: bool) -> None:
    """From eight clients, each as fast as it is answered; first one side, then the other."""
    with ExitStack() as opened:
        clients = [opened.enter_context(node.serving.client()) for _ in range(CLIENTS)]
        ours, mine = _burst(count, node.at, node.secondary.at, clients, _claiming)
        speakers = [opened.enter_context(Nsupdate(primary.at)) for _ in range(CLIENTS)]
        theirs, its = _burst(count, primary.at, secondary.at, speakers, _updating)
    _told(report, f"burst of {count:,}", ours, theirs, whole=whole, rate=mine, bind_rate=its)


def _claiming(client: httpx.Client, number: int) -> None:
    answer = client.post("/v1/claims", json=claim(number))
    assert answer.is_success, answer.text


def _updating(speaker: Nsupdate, number: int) -> None:
    speaker.add([number])


def _burst(
    count: int, primary: At, secondary: At, clients: Sequence[T], act: Callable[[T, int], None]
) -> tuple[list[float], float]:
    """Seconds from each answer until the secondary had the primary's serial of then; and answers a second."""
    first = 1_000_000
    sent, seen = Timeline(primary), Timeline(secondary)
    answered: list[float] = []

    def go(part: int) -> None:
        for number in range(first + part, first + count, len(clients)):
            act(clients[part], number)
            answered.append(time.monotonic())

    began = time.monotonic()
    threads = [threading.Thread(target=go, args=(part,)) for part in range(len(clients))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rate = count / (time.monotonic() - began)
    with Asked(primary) as here, Asked(secondary) as there:
        last = here.serial()
        while there.serial() != last:
            time.sleep(0.001)
    time.sleep(0.05)
    return list(_behind(answered, sent.stop(), seen.stop())), rate


def _behind(
    answered: Sequence[float], sent: Sequence[tuple[float, int]], seen: Sequence[tuple[float, int]]
) -> Sequence[float]:
    """Of each answer: when the secondary reached the serial that the primary had at the first look after it."""
    looks, serials, times = [at for at, _ in sent], [serial for _, serial in seen], [at for at, _ in seen]
    found = []
    for moment in answered:
        here = min(bisect_left(looks, moment), len(sent) - 1)
        there = min(bisect_left(serials, sent[here][1]), len(times) - 1)
        found.append(max(0.0, times[there] - moment))
    return found


def _told(report: Report, name: str, ours: list[float], theirs: list[float], *, whole: bool, **facts: float) -> None:
    mine, bind_ = percentiles(ours), percentiles(theirs)
    for at, part in enumerate(("p50", "p99")):
        report.add(
            Figure(
                name=f"{name}: answered to visible on a secondary, {part}",
                unit="ms",
                measured=mine[at],
                most=bind_[at] if whole and part == "p99" else None,
                raw=bind_[at],
                ratio=mine[at] / bind_[at] if bind_[at] else None,
                of="nsupdate to BIND",
                facts={"settings": SETTINGS, **facts},
            )
        )


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and print."""
    command(__doc__, run, argv)


if __name__ == "__main__":
    main()
