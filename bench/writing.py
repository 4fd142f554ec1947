"""Claims through the writer in this process, and the same rows by the driver alone."""

import gc
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

from bench import site
from bench.stores import Place, Recorder, Write, recorded
from tenure.app.child import SWITCH, collect_seldom
from tenure.app.ledger import SystemClock
from tenure.model.uses import Submission
from tenure.service.feed import Committed
from tenure.service.witness import Witness
from tenure.service.writer import Writer
from tenure.store.interface import Store


class Run(NamedTuple):
    """What one series of batches came to: claims a second, milliseconds a batch, and claims a second of the driver."""

    rate: float
    p50: float
    p99: float
    raw: float


@contextmanager
def writer_at(store: Store, directory: Path) -> Iterator[Writer]:
    """A writer with its thread, as in the ledger's process."""
    sys.setswitchinterval(SWITCH)
    collect_seldom()
    store.prepare()
    writer = Writer(store, Witness(directory), SystemClock(), _nobody)
    writer.start()
    gc.freeze()
    try:
        yield writer
    finally:
        writer.stop()
        store.close()
        gc.unfreeze()


def make(place: Place, count: int, progress: Callable[[int], object]) -> float:
    """Make the site at an empty place, with `count` claims; claims a second."""
    store, _ = recorded(place)
    with writer_at(store, place.directory) as writer:
        site.furnish(writer, place.directory)
        return site.fill(writer, count, progress)


def measure(place: Place, size: int, batches: int, *, named: bool = False) -> Run:
    """Write that many batches through the writer, and each batch's rows raw into a copy right after it.

    In turns, so that whatever else the machine does meets both alike.
    """
    copy = place.copy()
    store, recorder = recorded(place)
    with writer_at(store, place.directory) as writer, copy.driver() as write:
        series = _Series(writer, recorder, write)
        series.batch(site.claims(size, named=named))  # the first one compiles statements, on both sides
        taken = [series.batch(site.claims(size, named=named)) for _ in range(batches)]
    copy.drop()
    ours, raw = [one for one, _ in taken], [other for _, other in taken]
    claims = size * batches
    return Run(claims / sum(ours), *percentiles(ours), claims / sum(raw))


class _Series:
    """Batches, each written twice."""

    def __init__(self, writer: Writer, recorder: Recorder, write: Write) -> None:
        self._writer = writer
        self._recorder = recorder
        self._write = write

    def batch(self, asked: Sequence[Submission]) -> tuple[float, float]:
        """Seconds of the writer, and of the driver alone."""
        self._recorder.taken()
        began = time.perf_counter()
        replies = self._writer.submit(asked).result()
        ours = time.perf_counter() - began
        assert len(site.held(replies)) == len(asked)
        transactions = self._recorder.taken()
        began = time.perf_counter()
        for inserts in transactions:
            self._write(inserts)
        return ours, time.perf_counter() - began


def percentiles(seconds: list[float]) -> tuple[float, float]:
    """The median and the 99th percentile, in milliseconds."""
    if len(seconds) < 2:
        return seconds[0] * 1000, seconds[0] * 1000
    return median(seconds) * 1000, quantiles(seconds, n=100, method="inclusive")[98] * 1000


def _nobody(committed: Committed) -> None:
    """No view follows."""
