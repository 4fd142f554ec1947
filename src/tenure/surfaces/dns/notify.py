"""Secondaries are told of each new serial at once, until they say that they have heard (RFC 1996)."""

import asyncio
import logging
import secrets
import socket
import struct
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from math import inf
from typing import Final, NamedTuple

from tenure.model.dnsdata import Secondary
from tenure.net.addresses import Address
from tenure.surfaces.dns import tsig, wire
from tenure.surfaces.dns.bugs import Bugs
from tenure.surfaces.dns.served import ServedZone
from tenure.surfaces.dns.tsig import Clock, Key, Signature, Signer
from tenure.surfaces.dns.wire import WireError

log = logging.getLogger(__name__)

IN_FLIGHT: Final = 64
"""How many zones a secondary is told of before it has answered; one while it is away."""
PATIENCE: Final = 1.0
"""Seconds after which what is not answered counts as lost."""
UNANSWERED: Final = 60.0
"""Seconds after which a secondary that has not answered at all is one to be told of."""
SPEECHLESS: Final = 8
"""How many zones are unanswered, one after another, when a secondary is taken to be away."""
SELDOMEST: Final = 300.0
"""Seconds between two tries, in the end."""

_PAST: Final = 1024
"""How many earlier messages' answers are still known when they come after all."""
_DRAINED: Final = 64
_HEAD: Final = struct.Struct(">HHHHHH")
_NOTIFY: Final = 0x2400
_SOA_IN: Final = b"\x00\x06\x00\x01"
_TO_QUESTION: Final = b"\xc0\x0c"
_LONGEST: Final = 4096
_NOTHING: Final = bytes(8)
"""Counts of no questions and no records, and the end of a message."""

Send = Callable[[bytes], bool]
"""Sends a datagram to one secondary; False where it did not go out."""


class _Flight(NamedTuple):
    """What was sent and is not answered: the zone, its SOA, the code of its signature, and when."""

    zone: bytes
    soa: bytes
    mac: bytes
    sent: float


class _Late(NamedTuple):
    """What was not answered in time, or refused: to be sent again when it is due.

    The answer to the former may still come, by its number; to the latter it has: -1.
    """

    due: float
    soa: bytes
    number: int
    flight: _Flight


class Peer:
    """What one secondary has to be told.

    Each zone is in one place: to be sent, in flight, or late, to be sent again when it is due. While the secondary
    is away, one message at a time asks for a sign of life, less and less often, up to every five minutes,
    and a second after news. When it speaks, everything that is late is sent. What it refused is told again in its time
    only, with what is new by then.

    Args:
        key: What it is told is signed with.
        counters: `notify_sent`, `notify_unsent`, `notify_unanswered`, `notify_acknowledged`, `notify_refused`: what
            was refused is told again too, and `notify_late`: answers to what was sent again, or is told no longer.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        send: Send,
        key: Key | None,
        counters: Counter[str],
        clock: Clock = time.time,
    ) -> None:
        self._loop = loop
        self._send_octets = send
        self._key = key
        self._counters = counters
        self._clock = clock
        self._news: OrderedDict[bytes, bytes] = OrderedDict()
        self._flights: OrderedDict[int, _Flight] = OrderedDict()
        self._aloft: dict[bytes, int] = {}
        self._again: dict[bytes, bytes] = {}  # what happened to zones in flight
        self._late: dict[bytes, _Late] = {}
        self._overdue: dict[int, bytes] = {}  # the late zones, by the numbers that they were sent with
        self._past: OrderedDict[int, _Flight] = OrderedDict()  # what is of no matter any more, but may be answered
        self._tries: Counter[bytes] = Counter()
        self._next_late = inf
        self._unheard: set[bytes] = set()  # zones lost since it was heard
        self._away = 0
        self._sent = self._resume = -inf
        self._silent: float | None = inf  # since when it has not answered at all; None once it has
        self._timer: asyncio.Handle | None = None
        self._due = inf  # what the timer waits for: an event loop's handle need not say it

    @property
    def pending(self) -> int:
        """How many zones it has not answered for."""
        return len(self._news) + len(self._flights) + len(self._overdue)

    def tell(self, zone: bytes, soa: bytes) -> None:
        """Tell it of a zone's packed SOA: now, or when it has answered what it was told of the zone before."""
        late = self._late.get(zone)
        if zone in self._aloft:
            self._again[zone] = soa
            return
        if late is not None and late.number < 0:
            self._late[zone] = late._replace(soa=soa)
            return
        self._take_late(zone)
        self._news[zone] = soa
        self._resume = min(self._resume, self._sent + PATIENCE)
        self._pump()

    def forget(self, zone: bytes) -> None:
        """Tell it no more of this zone."""
        self._take_late(zone)
        self._unheard.discard(zone)
        for kept in (self._news, self._again, self._tries):
            kept.pop(zone, None)
        if zone in self._aloft:
            number = self._aloft[zone]
            self._pass(number, self._land(number))

    @property
    def silent(self) -> bool:
        """Whether it has been told for `UNANSWERED` seconds, and has never answered."""
        return self._silent is not None and self._silent + UNANSWERED <= self._loop.time()

    def stop(self) -> None:
        """Tell it nothing more."""
        if self._timer is not None:
            self._timer.cancel()

    def hear(self, answer: bytes) -> bool:
        """Take in a datagram that came from it; whether that answers what it was told."""
        number = int.from_bytes(answer[:2])
        late = self._late.get(self._overdue.get(number, b""))
        flight = self._flights.get(number) if late is None else late.flight
        if flight is None:
            return self._hear_late(answer, number)
        if not self._answers(answer, flight):
            return False
        if late is None:
            self._land(number)
            soa = self._again.pop(flight.zone, flight.soa)
        else:
            soa = late.soa
            del self._overdue[number], self._late[flight.zone]
        if answer[3] & 15:
            self._counters["notify_refused"] += 1
            self._put_off(flight, soa, -1)
        else:
            self._acknowledge(flight, soa)
        self._live()
        return True

    def _hear_late(self, answer: bytes, number: int) -> bool:
        """An answer to what was sent again, or is told no longer, is a sign of life and nothing else."""
        flight = self._past.get(number)
        if flight is None or not self._answers(answer, flight):
            return False
        del self._past[number]
        self._counters["notify_late"] += 1
        self._live()
        return True

    def _live(self) -> None:
        self._silent = None
        self._unheard.clear()
        if self._away:
            self._revive()
        self._pump()

    def _acknowledge(self, flight: _Flight, soa: bytes) -> None:
        self._counters["notify_acknowledged"] += 1
        self._tries.pop(flight.zone, None)
        if soa != flight.soa:
            self._news[flight.zone] = soa

    def _answers(self, answer: bytes, flight: _Flight) -> bool:
        """Whether it is an answer to that, signed if that was.

        A refusal need not be signed, nor repeat the question (NSD's does not), for it only puts things off.
        Source: RFC 1996 section 3.6, RFC 8945 section 5.4.
        """
        if len(answer) < wire.HEADER or answer[2] & 0xF8 != 0xA0:
            return False
        refused = bool(answer[3] & 15)
        if refused and answer[4:] == _NOTHING:
            return True
        try:
            signature = tsig.found(answer)
            if signature is None:
                return (self._key is None or refused) and wire.decode(answer).name == flight.zone
            return self._verified(signature, flight.mac) and wire.decode(signature.message).name == flight.zone
        except WireError:
            return False

    def _verified(self, signature: Signature, asked: bytes) -> bool:
        keys = {} if self._key is None else {self._key.name: self._key}
        return tsig.verify(signature, keys, self._clock(), asked) == self._key

    def _pump(self) -> None:
        now = self._loop.time()
        most = 1 if self._away else IN_FLIGHT
        while self._news and len(self._flights) < most and (not self._away or now >= self._resume):
            self._send(*self._news.popitem(last=False), now)
        self._schedule()

    def _send(self, zone: bytes, soa: bytes, now: float) -> None:
        number = secrets.randbelow(65536)
        while number in self._flights or number in self._overdue or number in self._past:
            number = secrets.randbelow(65536)
        message = _HEAD.pack(number, _NOTIFY, 1, 1, 0, 0) + zone + _SOA_IN + _TO_QUESTION + soa
        mac = b""
        if self._key is not None:
            signer = Signer(self._key, b"", self._clock)
            message = signer.sign(message)
            mac = signer.mac
        self._flights[number] = _Flight(zone, soa, mac, now)
        self._aloft[zone] = number
        self._sent = now
        self._silent = None if self._silent is None else min(self._silent, now)
        self._counters["notify_sent" if self._send_octets(message) else "notify_unsent"] += 1

    def _land(self, number: int) -> _Flight:
        flight = self._flights.pop(number)
        del self._aloft[flight.zone]
        return flight

    def _put_off(self, flight: _Flight, soa: bytes, number: int) -> None:
        self._tries[flight.zone] += 1
        due = self._loop.time() + _pause(self._tries[flight.zone])
        self._late[flight.zone] = _Late(due, soa, number, flight)
        if number >= 0:
            self._overdue[number] = flight.zone
        self._next_late = min(self._next_late, due)

    def _take_late(self, zone: bytes) -> None:
        """No longer late; what comes of it is another's business."""
        late = self._late.pop(zone, None)
        if late is not None and self._overdue.pop(late.number, None) is not None:
            self._pass(late.number, late.flight)

    def _pass(self, number: int, flight: _Flight) -> None:
        """What comes of it matters no more, but its answer may come."""
        self._past[number] = flight
        if len(self._past) > _PAST:
            self._past.popitem(last=False)

    def _revive(self) -> None:
        self._away, self._resume = 0, -inf
        self._send_late(tuple(self._late))

    def _send_late(self, zones: Iterable[bytes]) -> None:
        for zone in zones:
            self._news[zone] = self._late[zone].soa
            self._take_late(zone)
        self._next_late = min((late.due for late in self._late.values()), default=inf)

    def _schedule(self) -> None:
        due = min(self._waits())
        if self._timer is not None and (self._timer.cancelled() or due < self._due):
            self._timer.cancel()
            self._timer = None
        if self._timer is None and due < inf:
            self._due = due
            self._timer = self._loop.call_at(due, self._wake)

    def _waits(self) -> Iterator[float]:
        """When there may be something to do."""
        yield inf
        for flight in self._flights.values():
            yield flight.sent + PATIENCE
            break
        if not self._away:
            yield self._next_late
        elif not self._flights and (self._news or self._late):
            yield self._resume

    def _wake(self) -> None:
        self._timer = None
        now = self._loop.time()
        self._lose(now)
        if now >= self._next_late and not self._away:
            self._send_late([zone for zone, late in self._late.items() if late.due <= now])
        elif self._away and not self._news and self._late:
            self._send_late([next(iter(self._late))])
        self._pump()

    def _lose(self, now: float) -> None:
        """Put off what was not answered in time."""
        lost = [number for number, flight in self._flights.items() if flight.sent + PATIENCE <= now]
        for number in lost:
            flight = self._land(number)
            self._unheard.add(flight.zone)
            self._put_off(flight, self._again.pop(flight.zone, flight.soa), number)
        self._counters["notify_unanswered"] += len(lost)
        if lost and len(self._unheard) >= SPEECHLESS:
            self._away += 1
            self._resume = now + _pause(self._away)


def _pause(tries: int) -> float:
    return min(2.0 ** min(tries, 10), SELDOMEST)


class _Known(NamedTuple):
    """A secondary, with what it is told with."""

    secondary: Secondary
    key: Key | None
    source: str


class Notifier:
    """Tells all secondaries of all zones. A bug in telling one costs that one its news, and nobody anything else.

    Args:
        zones: The zones of a vrf that are served now.
        sources: Where a vrf is served: it is from there that its secondaries are told, for they know that address.
        counters: Those of a peer, `notify_strange`: answers to nothing, or badly signed, and `bugs`.

    Attributes:
        on: Whether anything is told; as long as it is not, nothing is remembered either.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        zones: Callable[[str], Iterable[ServedZone]],
        sources: Callable[[str], Sequence[Address]],
        counters: Counter[str],
        clock: Clock = time.time,
    ) -> None:
        self.on = False
        self._loop = loop
        self._zones = zones
        self._sources = sources
        self._counters = counters
        self._bugs = Bugs(counters)
        self._clock = clock
        self._peers: dict[_Known, Peer] = {}
        self._of_vrf: dict[str, list[Peer]] = {}
        self._at: dict[tuple[str, int], list[Peer]] = {}
        self._sockets: dict[str, socket.socket] = {}

    @property
    def pending(self) -> int:
        """How many zones were not answered for, over all secondaries."""
        return sum(peer.pending for peer in self._peers.values())

    @property
    def silent(self) -> list[str]:
        """Names of the secondaries that have not answered at all, though there was time."""
        return sorted(known.secondary.name for known, peer in self._peers.items() if peer.silent)

    def know(self, secondaries: Iterable[tuple[Secondary, Key | None]]) -> None:
        """Tell these, and those of before no longer; who is new, or told in another way, is told of every zone."""
        before, wanted = self._peers, [_Known(one, key, self._source(one)) for one, key in secondaries if one.notify]
        self._peers = {known: before.pop(known) for known in wanted if known in before}
        new = [known for known in wanted if known not in self._peers]
        for known in new:
            self._meet(known)
        for gone in before.values():
            gone.stop()
        self._sort()
        for known in new if self.on else ():
            self._tell_all(known)

    def start(self) -> None:
        """Tell everybody of every zone, and from now on of what happens."""
        self.on = True
        for known in self._peers:
            self._tell_all(known)

    def tell(self, served: ServedZone) -> None:
        """Tell the secondaries of a zone's vrf of its serial. Cost: 20 µs a secondary, 30 µs where it is signed."""
        if self.on and not served.closed:
            for peer in self._of_vrf.get(served.zone.vrf, ()):
                self._tell(peer, served)

    def forget(self, served: ServedZone) -> None:
        """A zone is served no longer."""
        for peer in self._of_vrf.get(served.zone.vrf, ()):
            peer.forget(served.name)

    def close(self) -> None:
        """Tell nothing more."""
        for peer in self._peers.values():
            peer.stop()
        for sock in self._sockets.values():
            self._loop.remove_reader(sock)
            sock.close()

    def _tell(self, peer: Peer, served: ServedZone) -> None:
        try:
            peer.tell(served.name, served.soa)
        except Exception as error:
            self._bugs.note(error, "the telling of a secondary")

    def _tell_all(self, known: _Known) -> None:
        for served in self._zones(known.secondary.vrf) if known in self._peers else ():
            if not served.closed:
                self._tell(self._peers[known], served)

    def _meet(self, known: _Known) -> None:
        """Have somebody who can be told, if this machine can send to such an address at all."""
        try:
            self._peers[known] = self._made(known)
        except OSError as error:
            log.error("a secondary cannot be told", extra={"secondary": known.secondary.name, "reason": str(error)})

    def _sort(self) -> None:
        self._of_vrf, self._at = {}, {}
        for known, peer in self._peers.items():
            secondary = known.secondary
            self._of_vrf.setdefault(secondary.vrf, []).append(peer)
            self._at.setdefault((secondary.address, secondary.port), []).append(peer)

    def _source(self, secondary: Secondary) -> str:
        """The address that it knows the vrf by, of its own family."""
        wide = ":" in secondary.address
        found = (str(each) for each in self._sources(secondary.vrf) if (each.version == 6) == wide)
        return next(found, "::" if wide else "0.0.0.0")

    def _made(self, known: _Known) -> Peer:
        secondary, sock = known.secondary, self._socket(known.source)

        def send(message: bytes) -> bool:
            with suppress(OSError):
                sock.sendto(message, (secondary.address, secondary.port))
                return True
            return False

        return Peer(self._loop, send, known.key, self._counters, self._clock)

    def _socket(self, source: str) -> socket.socket:
        if source not in self._sockets:
            sock = socket.socket(socket.AF_INET6 if ":" in source else socket.AF_INET, socket.SOCK_DGRAM)
            with suppress(OSError):  # the address has gone: from any other then
                sock.bind((source, 0))
            sock.setblocking(False)
            self._loop.add_reader(sock, self._drain, sock)
            self._sockets[source] = sock
        return self._sockets[source]

    def _drain(self, sock: socket.socket) -> None:
        for _ in range(_DRAINED):
            try:
                answer, peer = sock.recvfrom(_LONGEST)
            except BlockingIOError:
                return
            except OSError:
                continue  # an ICMP error: whoever does not answer is told again
            if not any(self._hears(told, answer) for told in self._at.get(peer[:2], ())):
                self._counters["notify_strange"] += 1

    def _hears(self, peer: Peer, answer: bytes) -> bool:
        try:
            return peer.hear(answer)
        except Exception as error:
            self._bugs.note(error, "the hearing of a secondary")
            return False
