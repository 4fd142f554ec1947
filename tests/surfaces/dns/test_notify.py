"""Who is told what, and how often; the time is the tests'."""

import asyncio
import heapq
import itertools
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

import dns.flags
import dns.message
import dns.opcode
import dns.rcode
import dns.rdatatype
import dns.tsig
import pytest
import uvloop

from tenure.naming.hostnames import wire
from tenure.surfaces.dns import tsig
from tenure.surfaces.dns.journal import stamped
from tenure.surfaces.dns.notify import IN_FLIGHT, SELDOMEST, SPEECHLESS, Peer
from tenure.surfaces.dns.served import ServedZone
from tenure.surfaces.dns.tsig import Key
from tests.surfaces.dns.oracle import FORWARD

SOA = ServedZone(FORWARD, ("ns.prod.example.",)).soa
ZONE = wire(FORWARD.name)
SECRET = bytes(range(32))
KEY = Key("k", wire("transfer.example."), tsig.algorithm("hmac-sha256"), SECRET)
THEIRS = dns.tsig.Key("transfer.example.", SECRET, "hmac-sha256")
DAY = 86400


class Handle:
    """What a loop gives for something that it will do."""

    def __init__(self, due: float, does: Callable[[], None]) -> None:
        self._due, self.does, self.gone = due, does, False

    def when(self) -> float:
        return self._due

    def cancel(self) -> None:
        self.gone = True

    def cancelled(self) -> bool:
        return self.gone


class Turning:
    """A loop whose time passes when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0
        self._due: list[tuple[float, int, Handle]] = []
        self._order = itertools.count()

    def time(self) -> float:
        return self.now

    def call_at(self, due: float, does: Callable[[], None]) -> Handle:
        handle = Handle(due, does)
        heapq.heappush(self._due, (due, next(self._order), handle))
        return handle

    def pass_to(self, time: float) -> None:
        """Do what is due until then."""
        while self._due and self._due[0][0] <= time:
            due, _, handle = heapq.heappop(self._due)
            if not handle.gone:
                self.now = max(self.now, due)
                handle.does()
        self.now = time

    @property
    def waiting(self) -> int:
        return sum(not handle.gone for _, _, handle in self._due)


class Told:
    """A peer, and what it was sent."""

    def __init__(self, key: Key | None = None) -> None:
        self.loop = Turning()
        self.counters: Counter[str] = Counter()
        self.sent: list[bytes] = []
        self.peer = Peer(self.loop, self._send, key, self.counters, lambda: 1_800_000_000)  # type: ignore[arg-type]

    def _send(self, message: bytes) -> bool:
        self.sent.append(message)
        return True

    def tell(self, serial: int, zone: bytes = ZONE) -> None:
        self.peer.tell(zone, stamped(SOA, serial))

    def answer(self, message: bytes, rcode: int = 0) -> bool:
        return self.peer.hear(answered(message, rcode))

    def answer_all(self) -> int:
        """Answer until nothing more is sent; how many there were."""
        done = 0
        while done < len(self.sent):
            self.answer(self.sent[done])
            done += 1
        return done

    def serials(self) -> list[int]:
        return [int(row.serial) for message in map(dns.message.from_wire, self.sent) for row in message.answer[0]]


def answered(message: bytes, rcode: int = 0) -> bytes:
    """What a secondary answers."""
    end = message.index(b"\0", 12) + 5
    return message[:2] + bytes((0xA4, rcode)) + message[4:6] + bytes(6) + message[12:end]


def zones(many: int) -> list[bytes]:
    return [wire(f"z{at}.example.") for at in range(many)]


def test_a_message_says_the_zone_and_its_new_soa() -> None:
    told = Told()
    told.tell(8)
    message = dns.message.from_wire(told.sent[0])
    assert message.opcode() == dns.opcode.NOTIFY
    assert message.flags & dns.flags.AA and not message.flags & dns.flags.QR
    assert [(each.name.to_text(), each.rdtype) for each in message.question] == [(FORWARD.name, dns.rdatatype.SOA)]
    (soa,) = message.answer
    assert (soa.name.to_text(), soa[0].serial, soa[0].mname.to_text()) == (FORWARD.name, 8, "ns.prod.example.")


def test_a_burst_is_one_message_at_a_time_and_the_last_serial_is_told() -> None:
    told = Told()
    for serial in range(8, 500):
        told.tell(serial)
    assert told.serials() == [8]
    assert told.answer(told.sent[0])
    assert told.serials() == [8, 499]
    assert told.answer(told.sent[1])
    assert (len(told.sent), told.peer.pending) == (2, 0)
    assert (told.counters["notify_sent"], told.counters["notify_acknowledged"]) == (2, 2)
    told.loop.pass_to(DAY)
    assert len(told.sent) == 2


def test_what_was_lost_is_told_again_with_what_is_new() -> None:
    told = Told()
    told.tell(8)
    told.tell(9)
    told.loop.pass_to(10)
    assert set(told.serials()) == {8, 9}
    assert told.answer(told.sent[-1])
    assert told.peer.pending == 0


@pytest.mark.parametrize("many", [1, 10_000])
def test_who_never_answers_costs_little(many: int) -> None:
    told, all_ = Told(), zones(many)
    for zone in all_:
        told.tell(1, zone)
    assert len(told.sent) == min(many, IN_FLIGHT)
    told.loop.pass_to(DAY)
    assert len(told.sent) < IN_FLIGHT + DAY / SELDOMEST + 20
    assert told.peer.pending == many
    assert told.loop.waiting == 1
    for serial in range(1000):
        told.loop.pass_to(DAY + serial / 100)
        for zone in all_[:10]:
            told.tell(serial, zone)
    assert told.peer.pending == many
    assert len(told.sent) < IN_FLIGHT + DAY / SELDOMEST + 20 + 15


def test_who_comes_back_is_told_of_everything() -> None:
    told = Told()
    for zone in zones(1000):
        told.tell(1, zone)
    told.loop.pass_to(3600)
    told.sent.clear()
    told.loop.pass_to(3600 + SELDOMEST + 1)
    assert len(told.sent) == 1
    assert told.answer_all() == 1000
    assert told.peer.pending == 0


def test_many_zones_are_told_of_a_few_at_a_time() -> None:
    told = Told()
    for zone in zones(10_000):
        told.tell(1, zone)
    assert len(told.sent) == IN_FLIGHT
    assert told.answer_all() == 10_000
    assert len({message[12:] for message in told.sent}) == 10_000


def test_a_zone_that_is_never_answered_backs_off_alone() -> None:
    told = Told()
    silent, *others = zones(50)
    for hour in range(24):
        for zone in (silent, *others):
            told.tell(hour, zone)
        for message in tuple(told.sent):
            if silent not in message:
                told.answer(message)
        assert told.peer.pending == 1
        told.loop.pass_to(told.loop.now + 3600)
    kept = [message for message in told.sent if silent in message]
    assert 24 < len(kept) < 24 * 20
    assert len(told.sent) - len(kept) == 24 * 49


def test_who_refuses_is_told_again_but_seldom() -> None:
    told = Told()
    told.tell(8)
    for at in range(10_000):
        for message in told.sent:
            told.answer(message, dns.rcode.NOTAUTH)
        told.loop.pass_to(at)
    assert 8 < len(told.sent) == told.counters["notify_refused"] < 8 + 10_000 / SELDOMEST
    assert told.answer(told.sent[-1], 0) is False
    told.loop.pass_to(10_000 + SELDOMEST)
    assert told.answer(told.sent[-1])
    assert told.peer.pending == 0


def test_who_refuses_hears_of_new_serials_in_its_time() -> None:
    told = Told()
    for serial in range(8, 2008):
        told.tell(serial)
        told.loop.pass_to(serial)
        for message in told.sent:
            told.answer(message, dns.rcode.REFUSED)
    assert 8 < len(told.sent) < 8 + 2000 / SELDOMEST + 2
    told.loop.pass_to(2008 + SELDOMEST)
    assert told.serials()[-1] == 2007
    assert told.answer(told.sent[-1])
    told.tell(2008)
    assert told.serials()[-1] == 2008
    assert told.answer(told.sent[-1])
    told.loop.pass_to(DAY)
    assert told.serials()[-1] == 2008


def test_a_refusal_without_a_question_is_one() -> None:
    """As NSD sends it, also to what was signed; an acknowledgement has to be whole."""
    for key in (None, KEY):
        told = Told(key)
        told.tell(8)
        bare = told.sent[0][:2] + b"\xa0"
        assert not told.peer.hear(bare + bytes(9))
        assert told.peer.hear(bare + b"\3" + bytes(8))
        assert (told.counters["notify_refused"], told.peer.pending) == (1, 0)
        told.loop.pass_to(5)
        assert len(told.sent) == 2


def test_a_zone_that_went_is_forgotten() -> None:
    told = Told()
    told.tell(8)
    told.tell(8, wire("late.example."))
    told.peer.forget(ZONE)
    assert told.answer(told.sent[0])
    assert not told.answer(told.sent[0])
    assert told.answer(told.sent[1])
    told.loop.pass_to(DAY)
    assert (len(told.sent), told.peer.pending) == (2, 0)
    assert told.counters == Counter(notify_sent=2, notify_acknowledged=1, notify_late=1)


def test_a_zone_that_is_put_again_is_told_again_and_both_answers_are_heard() -> None:
    told = Told()
    told.tell(8)
    told.peer.forget(ZONE)
    told.tell(9)
    assert told.serials() == [8, 9]
    assert told.answer(told.sent[0])
    assert told.peer.pending == 1
    assert told.answer(told.sent[1])
    assert told.peer.pending == 0


def test_an_answer_to_what_was_sent_again_is_a_sign_of_life_and_no_more() -> None:
    told = Told()
    for zone in zones(SPEECHLESS):
        told.tell(1, zone)
    told.loop.pass_to(60)
    first = told.sent[0]
    again = [message for message in told.sent if message[12:] == first[12:]]
    assert len(again) > 1
    sent = len(told.sent)
    assert told.answer(first)
    assert told.counters["notify_late"] == 1
    assert len(told.sent) > sent
    assert told.peer.pending == SPEECHLESS
    assert not told.answer(first)
    told.answer_all()
    assert told.peer.pending == 0


def test_late_answers_are_known_for_a_while() -> None:
    told, all_ = Told(), zones(2000)
    for zone in all_:
        told.tell(1, zone)
        told.peer.forget(zone)
    heard = [told.answer(message) for message in told.sent]
    assert heard == [False] * (2000 - 1024) + [True] * 1024


def test_only_the_answer_is_an_answer() -> None:
    told = Told()
    told.tell(8)
    right = answered(told.sent[0])
    wrong = [
        b"",
        right[:11],
        right[:-1],
        right + b"x",
        bytes((right[0] ^ 1,)) + right[1:],
        right[:2] + b"\x24" + right[3:],
        right[:2] + b"\x84" + right[3:],
        right.replace(b"prod", b"prot"),
    ]
    assert not any(told.peer.hear(each) for each in wrong)
    assert told.peer.hear(right.replace(b"prod", b"PROD"))
    assert not told.peer.hear(right)


def test_signed_messages_have_signed_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 1_800_000_000.0)
    told = Told(KEY)
    told.tell(8)
    query = dns.message.from_wire(told.sent[0], keyring=THEIRS)
    assert query.had_tsig
    told_of = dns.message.make_response(query)
    assert told.peer.hear(told_of.to_wire())
    assert told.peer.pending == 0
    told.tell(9)
    assert not told.answer(told.sent[1])
    assert told.peer.pending == 1
    forged = dns.message.make_response(dns.message.from_wire(told.sent[1], keyring=THEIRS))
    forged.use_tsig(dns.tsig.Key("transfer.example.", b"x" * 32, "hmac-sha256"))
    assert not told.peer.hear(forged.to_wire())
    assert told.peer.pending == 1
    assert told.answer(told.sent[1], dns.rcode.NOTAUTH)
    assert told.counters["notify_refused"] == 1
    told.loop.pass_to(5)
    assert len(told.sent) == 3


def dead(tries: int) -> int | None:
    return None if tries < 4 else 0


def refusing(tries: int) -> int | None:
    return dns.rcode.NOTAUTH if tries < 4 else 0


def flaky(tries: int) -> int | None:
    return (None, dns.rcode.REFUSED, dns.rcode.SERVFAIL, None)[tries] if tries < 4 else 0


@pytest.mark.parametrize("manner", [dead, refusing, flaky])
@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_several_tellings_in_one_turn_of_a_loop(
    manner: Callable[[int], int | None], loop: Callable[[], asyncio.AbstractEventLoop], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each zone is refused or not answered some times, and the last serial of all of them comes through."""
    monkeypatch.setattr("tenure.surfaces.dns.notify.PATIENCE", 0.001)
    monkeypatch.setattr("tenure.surfaces.dns.notify._pause", lambda tries: tries / 1000)

    async def body() -> None:
        counters, tries, heard, box = Counter[str](), Counter[bytes](), dict[bytes, int](), deque[bytes]()

        def send(message: bytes) -> bool:
            box.append(message)
            return True

        peer = Peer(asyncio.get_running_loop(), send, None, counters)
        for serial in range(60):
            for zone in zones(SPEECHLESS * 2):
                peer.tell(zone, stamped(SOA, serial))
            await asyncio.sleep(0)
        while peer.pending or any(serial != 59 for serial in heard.values()) or len(heard) < SPEECHLESS * 2:
            while box:
                message = box.popleft()
                zone = message[12 : message.index(b"\0", 12) + 1]
                rcode = manner(tries[zone])
                tries[zone] += 1
                if rcode is not None:
                    peer.hear(answered(message, rcode))
                if rcode == 0:
                    heard[zone] = int.from_bytes(message[-20:-16])
            await asyncio.sleep(0)
        peer.stop()

    with asyncio.Runner(loop_factory=loop) as runner:
        raised: list[Any] = []
        runner.get_loop().set_exception_handler(lambda _, context: raised.append(context))
        runner.run(asyncio.wait_for(body(), 60))
    assert not raised
