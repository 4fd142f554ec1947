"""How long it takes to say who held an address then: a ledger of a million events, where everything named is gone.

`python -m bench.history` prints a table of figures, `--json` one JSON value; `--url` measures a PostgreSQL. The ledger
is written directly, not by claims. The peer is the driver, in the same run and on the same ledger: plain SQL, by
index, for the rows that an answer is made of.
"""

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from bench.figures import Figure, Report
from bench.writing import percentiles
from tenure.engine.images import Image, Key, images, net
from tenure.model import events as e
from tenure.model.holding import Attachment
from tenure.model.machines import Interface, Machine
from tenure.store.interface import Batch, Store
from tenure.store.sql import rows as r
from tenure.store.sql.connect import BOUND, Database
from tenure.store.sql.store import SqlStore, database
from tenure.store.sql.tables import OF_CLAIMS, OF_MACHINES
from tenure.testing import ledgers as x

EVENTS: Final = 1_000_000
QUESTIONS: Final = 2_000
MOST: Final = 50.0
"""Milliseconds for the slowest of a hundred answers."""

_BATCH: Final = 10_000
_HOLDERS: Final = 20
"""Of each address, one after the other."""
_STEP: Final = timedelta(seconds=1)


def life(number: int, ip: str, begin: datetime) -> Iterator[e.Event]:
    """A machine comes, holds an address under two MACs and at two hosts, with promises of DHCP, and goes; by step."""
    machine = Machine(x.ident(number * 4 + 1), f"vm-{number}")
    mac = ":".join(f"{byte:02x}" for byte in (0x020000000000 + number).to_bytes(6, "big"))
    port = Interface(x.ident(number * 4 + 2), machine.id, mac)
    claim = x.claim(number, since=begin, bound=begin, machine=machine.id, interface=port.id, host="h1")
    held = x.allocation(number * 4 + 3, claim, ip, hostname=machine.name, title="own", since=begin + 2 * _STEP)
    worn = Attachment(allocation=held.id, interface=port.id, since=held.since)
    yield e.MachineCreated(machine=machine)
    yield e.InterfaceCreated(interface=port)
    yield e.AddressAllocated(claim=claim, allocation=held, attachment=worn, strategy="topology", opens=True)
    for step in range(3, 6):
        held = replace(held, held_until=begin + step * _STEP + timedelta(hours=1))
        yield e.LeasePromised(claim=claim, allocation=held)
    port = replace(port, mac="06" + mac[2:], revision=2)
    yield e.InterfaceChanged(interface=port)
    claim, held = replace(claim, host="h2", revision=2), replace(held, title="borrowed")
    yield e.ClaimRebound(claim=claim, before="h1", allocations=(held,))
    yield x.taken(x.released(claim, begin + 8 * _STEP), held, begin + 8 * _STEP, 0, port.id)
    yield e.InterfaceDeleted(interface=port)
    yield e.MachineDeleted(machine=machine)


_EACH: Final = 11
"""Steps of a life; at each something happens to every address, side by side."""
_HELD: Final = range(2, 8)
"""Steps at whose end the address is held."""


class Question(NamedTuple):
    """Which address, and when: `life` is the number of its holder then, and `step` how far that one had come."""

    ip: str
    life: int
    step: int

    def when(self, addresses: int) -> datetime:
        """Half a step after it."""
        return _begin(self.life // addresses) + (self.step + 0.5) * _STEP


class Past:
    """A ledger of machines that are gone."""

    def __init__(self, store: Store, events: int) -> None:
        self.store = store
        self.addresses = max(1, events // (_EACH * _HOLDERS))
        self.events = 0

    def write(self, told: Callable[[int], object]) -> None:
        """All of it; `told` hears how many events there are so far."""
        self._write([(event, x.START) for event in x.SITE])
        batch: list[tuple[e.Event, datetime]] = []
        for said in self._said():
            batch.append(said)
            if len(batch) == _BATCH:
                self._write(batch)
                told(self.events)
                batch = []
        if batch:
            self._write(batch)

    def _said(self) -> Iterator[tuple[e.Event, datetime]]:
        for turn in range(_HOLDERS):
            begin = _begin(turn)
            lives = [life(turn * self.addresses + n + 1, ip_of(n), begin) for n in range(self.addresses)]
            for step, events in enumerate(zip(*lives, strict=True)):
                yield from ((event, begin + step * _STEP) for event in events)

    def _write(self, said: Sequence[tuple[e.Event, datetime]]) -> None:
        rows: dict[tuple[str, Key], Image] = {}
        for image in (image for event, _ in said for image in images(event)):
            net(rows, image)
        id_ = f"b{self.events}"
        more = {"batch": id_, "change": id_, "actor": "token:bench", "source": "", "request_id": ""}
        entries = [
            e.Entry(sequence=self.events + n, time=when, event=event, **more) for n, (event, when) in enumerate(said, 1)
        ]
        with self.store.turn() as turn:
            turn.apply(Batch(id_, entries, rows.values()))
            turn.commit()
        self.events += len(entries)

    def question(self, rng: random.Random) -> Question:
        """One whose answer is a machine that is gone."""
        place, turn = rng.randrange(self.addresses), rng.randrange(_HOLDERS)
        return Question(ip_of(place), turn * self.addresses + place, rng.choice(_HELD))


def _begin(turn: int) -> datetime:
    return x.START + (turn * _EACH + 1) * _STEP


def ip_of(number: int) -> str:
    """The address with that number."""
    return f"10.0.{number >> 8}.{number & 255}" if number < 1 << 16 else f"10.{number >> 16}.{number >> 8 & 255}.1"


class Driver:
    """The driver alone: the rows that an answer is made of, by index, without making values of them."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def answer(self, ip: str, number: int, sequence: int) -> int:
        """How many rows."""
        machine, port, held = (x.ident(number * 4 + n) for n in (1, 2, 3))
        questions: tuple[tuple[str, tuple[Any, ...]], ...] = (
            (
                "SELECT body FROM ledger WHERE address IS NOT NULL AND address = ? AND vrf = ? AND sequence <= ?"
                " ORDER BY sequence DESC LIMIT 1",
                (r.packed(ip), x.VRF.id, sequence),
            ),
            ("SELECT until, cooling_until FROM allocations WHERE id = ?", (held,)),
            (
                f"SELECT body FROM ledger WHERE {OF_CLAIMS} AND claim = ? AND sequence <= ? ORDER BY sequence",
                (x.ident(number), sequence),
            ),
            ("SELECT interface, since, until FROM attachments WHERE until IS NOT NULL AND allocation = ?", (held,)),
            ("SELECT body FROM interfaces WHERE id = ?", (port,)),
            (
                f"SELECT body FROM ledger WHERE {OF_MACHINES} AND machine = ? AND sequence <= ? ORDER BY sequence",
                (machine, sequence),
            ),
            ("SELECT body FROM subnets WHERE id = ?", (x.SUBNET.id,)),
            ("SELECT body FROM networks WHERE id = ?", (x.NETWORK.id,)),
        )
        with self._db.reading() as connection:
            connection.begin()
            raw = connection.connection.driver_connection
            return sum(len(self._db.fetch(raw, self._db.sql(text), given)) for text, given in questions)


def measure(past: Past, db: Database, asked: Sequence[Question], report: Report) -> None:
    """Ask, and add the figures."""
    reads, driver = past.store.reads, Driver(db)

    def then(question: Question) -> object:
        known = reads.address_at(x.VRF.id, question.ip, question.when(past.addresses)).value
        assert known is not None and known.machines[0].name == f"vm-{question.life + 1}", question
        return known

    def alone(question: Question) -> object:
        turn, place = divmod(question.life, past.addresses)
        sequence = len(x.SITE) + (turn * _EACH + question.step) * past.addresses + place + 1
        rows = driver.answer(question.ip, question.life + 1, sequence)
        assert rows >= 7, question
        return rows

    raw_median, raw = percentiles(_timed(alone, asked))
    median, slow = percentiles(_timed(then, asked))
    most = MOST if report.scale >= 1 else None
    facts: dict[str, object] = {"p50": median, "raw p50": raw_median}
    beside: dict[str, Any] = {"raw": raw, "ratio": slow / raw, "of": "the driver's time"}
    report.add(Figure(name="who held it then, p99", unit="ms", measured=slow, most=most, facts=facts, **beside))
    whole = _timed(lambda each: reads.history(x.VRF.id, each.ip), asked[: len(asked) // 10 + 2])
    report.add(_figure("first page of its time line", whole))
    moment = asked[0].when(past.addresses)
    table = _timed(lambda each: reads.addresses(limit=100, now=moment, at=moment), asked[: len(asked) // 100 + 2])
    report.add(_figure("first page of the table of then", table))


def _figure(name: str, took: list[float]) -> Figure:
    median, slow = percentiles(took)
    return Figure(name=f"{name}, p99", unit="ms", measured=slow, facts={"p50": median})


def _timed(ask: Callable[[Question], object], questions: Sequence[Question]) -> list[float]:
    took = []
    for question in questions:
        began = time.perf_counter()
        ask(question)
        took.append(time.perf_counter() - began)
    return took


def main(argv: Sequence[str] | None = None) -> None:
    """Make the ledger, ask, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS, help="how long the ledger is")
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--url", help="an empty PostgreSQL database; else SQLite in a temporary directory")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(argv)
    report = Report(asked.events / EVENTS)
    with tempfile.TemporaryDirectory() as directory:
        db = database(asked.url or Path(directory) / "tenure.sqlite", lambda: x.START, BOUND)
        store = SqlStore(db)
        store.prepare()
        past = Past(store, asked.events)
        past.write(lambda events: report.say(f"{events:,} events"))
        report.say(f"{past.events:,} events about {past.addresses:,} addresses")
        rng = random.Random(asked.seed)
        measure(past, db, [past.question(rng) for _ in range(asked.questions)], report)
        store.close()
    report.show(as_json=asked.json)


if __name__ == "__main__":
    main()
