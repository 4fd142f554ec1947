"""How far secondaries are with which zones, from what they ask for and are given: one that stays behind is seen.

Of a secondary that is told (NOTIFY) each zone is remembered that it took once, and, if it took the catalog, each
zone that it was told of since. It is behind with a zone if it has not taken what is new for `GRACE` seconds. Whoever
asks for what changed says how far it is (RFC 1995): if it was given more before, it could not use that, and then only
what it says counts, until it says better, or has not come back for so long that it must be content.
"""

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from tenure.model.dnsdata import CATALOG, Secondary
from tenure.naming import serial as serials
from tenure.naming.records import DEFAULT_REFRESH, DEFAULT_RETRY
from tenure.surfaces.dns import wire
from tenure.surfaces.dns.served import ServedZone
from tenure.surfaces.dns.transfer import Page, Wanted

GRACE: Final = 60.0
"""Seconds that a secondary may take for what is new."""
MOST: Final = 50_000
"""Zones that are remembered, over all secondaries; of what comes after them nothing is known."""
CONTENT: Final = DEFAULT_REFRESH + DEFAULT_RETRY
"""Seconds after which whoever could not use a zone would have come again."""
_IN_VAIN: Final = 3
"""How often the whole of one serial is given to one peer when it is clear that it does not help it."""
_ONE: Final = b"\0\1"
_FIXED: Final = struct.Struct(">HHIH")


class Behind(NamedTuple):
    """With how many zones secondaries are behind, and the first few of them: the secondary's name and the zone's."""

    zones: int
    first: tuple[tuple[str, str], ...]


class _Standing:
    """How far one secondary is with one zone.

    Attributes:
        has: The serial that it has, None where that is not known.
        given, peer, at: The serial that it was given last, who came for it, and when.
        wholes: How often it was given the whole of that serial.
        vain: Whether it could not use what it was given.
    """

    __slots__ = ("at", "given", "has", "peer", "vain", "wholes")

    def __init__(self) -> None:
        self.has: int | None = None
        self.given: int | None = None
        self.peer = ""
        self.at = 0.0
        self.wholes = 0
        self.vain = False

    def says(self, serial: int, peer: str) -> None:
        """It was `peer` that said so; nobody where several secondaries cannot be told apart."""
        if peer and peer == self.peer and self.given is not None:
            self.vain = serials.later(self.given, serial)
        self.has = serial

    def gets(self, serial: int, peer: str, now: float, *, whole: bool) -> None:
        """It was given all up to a serial."""
        again = whole and bool(peer) and (serial, peer) == (self.given, self.peer)
        self.wholes = self.wholes + 1 if again else int(whole)
        if self.wholes >= _IN_VAIN and not self.vain:
            self.vain, self.has = True, None
        self.given, self.peer, self.at = serial, peer, now
        if not self.vain:
            self.has = serial

    def lacks_now(self, serial: int, now: float) -> bool:
        """Whether that is news to it; it is content with what it was given if it has not come back for long."""
        if self.vain and self.at + CONTENT <= now:
            self.vain, self.has, self.wholes = False, self.given, 0
        return self.has is None or serials.later(serial, self.has)


class Followers:
    """Knows what secondaries have. For the event loop's thread.

    Args:
        time: Seconds, of the loop.
        most: As `MOST`.
    """

    def __init__(self, time: Callable[[], float], most: int = MOST) -> None:
        self._time = time
        self._most = most
        self._names: dict[str, str] = {}
        self._of_vrf: dict[str, list[str]] = {}
        self._zones: dict[str, ServedZone] = {}
        self._standings: dict[str, dict[str, _Standing]] = {}  # by the secondary's id, by the zone's
        self._by_catalog: set[str] = set()
        self._waiting: dict[tuple[str, str], float] = {}  # since when it lacks something: the oldest first

    def know(self, secondaries: Iterable[Secondary]) -> None:
        """Follow these, and those of before no longer."""
        known = [each for each in secondaries if each.notify]
        self._names = {each.id: each.name for each in known}
        self._of_vrf = {}
        for each in known:
            self._of_vrf.setdefault(each.vrf, []).append(each.id)
        self._standings = {each.id: self._standings.get(each.id, {}) for each in known}
        self._by_catalog &= self._names.keys()
        self._waiting = {place: since for place, since in self._waiting.items() if place[0] in self._names}

    def tell(self, served: ServedZone) -> None:
        """Secondaries are told of a zone's serial. Cost: about 0.5 µs a secondary of the vrf."""
        self._zones[served.zone.id] = served
        for secondary in self._of_vrf.get(served.zone.vrf, ()):
            if served.zone.id in self._standings[secondary] or secondary in self._by_catalog:
                self._judge(secondary, served, self._standing(secondary, served))

    def forget(self, served: ServedZone) -> None:
        """A zone went, or is about to be told again."""
        self._zones.pop(served.zone.id, None)

    def asker(self, secondaries: Sequence[str], peer: str, served: ServedZone, wanted: Wanted) -> "Asker":
        """Somebody asks for a zone, and says what it has.

        Args:
            secondaries: Ids of those that it may be.
        """
        known = peer if len(secondaries) == 1 else ""
        asker = Asker(self, tuple(self._names.keys() & secondaries), known, served, wanted)
        if wanted.serial is not None:
            for secondary, standing in self._remembered(asker):
                standing.says(wanted.serial, known)
                self._judge(secondary, served, standing)
        return asker

    def gets(self, asker: "Asker", serial: int) -> None:
        """It was given all up to a serial."""
        for secondary, standing in self._remembered(asker):
            standing.gets(serial, asker.peer, self._time(), whole=asker.wanted.serial is None)
            self._judge(secondary, asker.served, standing)
        if asker.served.zone.name == CATALOG:
            self._by_catalog.update(self._names.keys() & asker.secondaries)

    def behind(self, most: int = 5) -> Behind:
        """Who is behind, those of `most` zones by name. Cost: linear in those that are."""
        now, found = self._time(), list[tuple[str, str]]()
        for place, since in tuple(self._waiting.items()):
            if since + GRACE > now:
                break
            secondary, zone = place
            served = self._zones.get(zone)
            if served is None:
                del self._waiting[place]
                continue
            self._judge(secondary, served, self._standing(secondary, served))
            if place in self._waiting:
                found.append((self._names[secondary], served.zone.name))
        return Behind(len(found), tuple(found[:most]))

    @property
    def remembered(self) -> int:
        """How many zones are remembered, over all secondaries."""
        return sum(map(len, self._standings.values()))

    def _remembered(self, asker: "Asker") -> Iterator[tuple[str, _Standing]]:
        for secondary in self._names.keys() & asker.secondaries:
            standing = self._standing(secondary, asker.served)
            if standing is not None:
                yield secondary, standing

    def _standing(self, secondary: str, served: ServedZone) -> _Standing | None:
        """What is remembered, or begins to be; None where no more can be."""
        standings, zone = self._standings[secondary], served.zone.id
        if zone in standings:
            return standings[zone]
        if self.remembered >= self._most:
            self._clear()
        if self.remembered >= self._most:
            return None
        return self._standings[secondary].setdefault(zone, _Standing())

    def _clear(self) -> None:
        """Zones that went make room."""
        for secondary, standings in self._standings.items():
            here = {zone: standing for zone, standing in standings.items() if zone in self._zones}
            self._standings[secondary] = here

    def _judge(self, secondary: str, served: ServedZone, standing: _Standing | None) -> None:
        place = secondary, served.zone.id
        if standing is not None and standing.lacks_now(self._zones.get(served.zone.id, served).serial, self._time()):
            self._waiting.setdefault(place, self._time())
        else:
            self._waiting.pop(place, None)


class Asker(NamedTuple):
    """Who asks for a zone.

    Attributes:
        secondaries: Ids of those that it may be.
        peer: Its address; nothing where several secondaries cannot be told apart.
    """

    followers: Followers
    secondaries: tuple[str, ...]
    peer: str
    served: ServedZone
    wanted: Wanted

    def noted(self, messages: Iterable[bytes | Page]) -> Iterator[bytes | Page]:
        """The messages that it is given; once it has them all, that is known."""
        first, count = b"", 0
        for message in messages:
            if isinstance(message, bytes):
                first, count = first or message, count + 1
            yield message
        if first and not first[3] & 15 and (count > 1 or first[6:8] > _ONE):
            self.followers.gets(self, _serial(first, self.wanted.question.end))


def _serial(message: bytes, at: int) -> int:
    """The serial of the SOA that follows the question, which ends at `at`."""
    fixed = wire.end_of_name(message, at, pointers=True)
    end = fixed + _FIXED.size + int(_FIXED.unpack_from(message, fixed)[3])
    return int.from_bytes(message[end - 20 : end - 16])
