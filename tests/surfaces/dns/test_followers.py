"""Who is behind: a secondary with a socket of its own takes zones, or does not; the time is the tests'."""

import select
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from typing import Any

import dns.message
import pytest

from tenure.app.dns_notes import Known, sentences
from tenure.model.dnsdata import CATALOG, Record, Secondary, Zone, ZoneChange
from tenure.surfaces.dns.access import Access
from tenure.surfaces.dns.followers import CONTENT, GRACE, Behind, Followers
from tenure.surfaces.dns.notify import UNANSWERED, Notifier
from tenure.surfaces.dns.responder import Responder
from tenure.surfaces.dns.served import ServedZone
from tenure.surfaces.dns.table import ZoneTable
from tenure.surfaces.dns.views import View, Views
from tests.surfaces.dns.test_notify import Turning, answered
from tests.surfaces.dns.test_transfer_changes import asking

HERE = "127.0.0.1"


class Reading(Turning):
    """A loop that reads sockets too, when a test says so."""

    def __init__(self) -> None:
        super().__init__()
        self._readers: dict[Any, tuple[Callable[..., None], tuple[Any, ...]]] = {}

    def add_reader(self, sock: Any, does: Callable[..., None], *what: Any) -> None:
        self._readers[sock] = does, what

    def remove_reader(self, sock: Any) -> None:
        del self._readers[sock]

    def read(self) -> None:
        """Take what has come; on loopback that is all that was sent."""
        for sock in select.select(list(self._readers), [], [], 0)[0]:
            does, what = self._readers[sock]
            does(*what)


class Primary:
    """Zones `z0.example.`, ..., and whoever follows them."""

    def __init__(self, most: int = 100) -> None:
        self.loop, self.views, self.counters = Reading(), Views(), Counter[str]()
        self.table = self.views.tables["v"] = ZoneTable([ip_address(HERE)])
        self.followers = Followers(self.loop.time, most)
        self.access = Access()
        self.responder = Responder(self.views, self.access, self.counters, followers=self.followers)
        self.notifier = Notifier(self.loop, self.views.zones, lambda vrf: (), self.counters)  # type: ignore[arg-type]
        self.view = View(self.views, "v")
        self._sequence = 0
        self.notifier.start()

    def know(self, *secondaries: Secondary) -> None:
        self.access.admit(secondaries)
        self.followers.know(secondaries)
        self.notifier.know((each, None) for each in secondaries)

    def serve(self, name: str) -> None:
        self.table.load(Zone(id=name, vrf="v", name=name, serial=1), [])
        self._tell(self.table.served(name))

    def change(self, name: str, many: int = 1) -> None:
        """One step of a zone's serial."""
        self._sequence += 1
        served = self.table.served(name)
        owner = f"h{self._sequence}.{name}"
        records = tuple(Record(owner, 1, 60, bytes((10, 0, at // 250, at % 250))) for at in range(many))
        self.table.apply(ZoneChange(name, served.serial + 1, self._sequence, added=records))
        self._tell(served)

    def _tell(self, served: ServedZone) -> None:
        self.notifier.tell(served)
        self.followers.tell(served)

    def behind(self) -> list[str]:
        found = self.followers.behind(100)
        assert found.zones == len(found.first)
        return [f"{name} {zone}" for name, zone in found.first]

    def takes(self, name: str, serial: int | None = None, peer: str = HERE) -> int:
        """A transfer to its end; how many messages it has."""
        return len(list(self.asks(name, serial, peer)))

    def asks(self, name: str, serial: int | None = None, peer: str = HERE) -> Iterator[Any]:
        query = dns.message.make_query(name, "AXFR").to_wire() if serial is None else asking(name, serial)
        return self.responder.stream(query, peer, self.view)


class Follower:
    """A secondary: a socket that is told.

    Attributes:
        primaries: To be closed.
    """

    def __init__(self) -> None:
        self.primaries: list[Primary] = []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((HERE, 0))
        self.socket.setblocking(False)

    def secondary(self, name: str = "ns2", **more: Any) -> Secondary:
        fields = {"address": HERE, "port": self.socket.getsockname()[1], **more}
        return Secondary(id=name, name=name, vrf="v", **fields)

    def told(self, *, answer: bool = True) -> list[tuple[str, int]]:
        """What it was told since it was last asked, zone and serial."""
        found = []
        while select.select([self.socket], [], [], 0)[0]:
            message, peer = self.socket.recvfrom(4096)
            read = dns.message.from_wire(message)
            found.append((read.question[0].name.to_text(), read.answer[0][0].serial))
            if answer:
                self.socket.sendto(answered(message), peer)
        return found


@pytest.fixture
def follower() -> Iterator[Follower]:
    made = Follower()
    with made.socket:
        yield made
        for primary in made.primaries:
            primary.notifier.close()


def _followed(follower: Follower, zones: int = 1, **more: Any) -> Primary:
    """A primary with zones that were all taken."""
    primary = Primary(**more)
    follower.primaries.append(primary)
    primary.know(follower.secondary())
    for at in range(zones):
        primary.serve(f"z{at}.example.")
        primary.takes(f"z{at}.example.")
    return primary


def test_who_takes_what_it_is_told_of_is_not_behind(follower: Follower) -> None:
    primary, has = _followed(follower, 3), Counter[str]()
    for turn in range(20):
        primary.change(f"z{turn % 3}.example.")
        while told := follower.told():
            for name, serial in told:
                if has[name] < serial:
                    primary.takes(name, has[name] or 1)
                    has[name] = primary.table.served(name).serial
            primary.loop.read()
        primary.loop.pass_to(primary.loop.now + GRACE - 1)
        assert primary.behind() == []
    assert has == {"z0.example.": 8, "z1.example.": 8, "z2.example.": 7}


def test_who_does_not_take_is_behind_after_its_grace_however_often_it_is_told(follower: Follower) -> None:
    primary = _followed(follower, 2)
    for _ in range(60):
        primary.change("z1.example.")
        follower.told()
        primary.loop.read()
        assert primary.behind() == []
        primary.loop.pass_to(primary.loop.now + 1)
    assert primary.behind() == ["ns2 z1.example."]
    primary.takes("z1.example.", 40)
    assert primary.behind() == []
    primary.change("z1.example.")
    primary.loop.pass_to(primary.loop.now + GRACE)
    assert primary.behind() == ["ns2 z1.example."]
    assert next(primary.asks("z1.example.", 62))[6:8] == b"\0\1"  # it says that it has that by now
    assert primary.behind() == []


def test_zones_that_were_never_taken_are_no_matter_but_to_who_follows_the_catalog(follower: Follower) -> None:
    primary = _followed(follower)
    primary.serve(CATALOG)
    primary.serve("other.example.")
    primary.loop.pass_to(GRACE)
    assert primary.behind() == []
    primary.takes(CATALOG)
    primary.serve("new.example.")
    primary.loop.pass_to(2 * GRACE)
    assert primary.behind() == ["ns2 new.example."]
    primary.takes("new.example.")
    assert primary.behind() == []


def test_what_it_cannot_use_it_has_not_taken(follower: Follower) -> None:
    primary = _followed(follower)
    primary.change("z0.example.")
    for _ in range(5):  # it says so itself each time, and asks for the whole of it too
        primary.takes("z0.example.", 1)
        primary.takes("z0.example.")
        primary.loop.pass_to(primary.loop.now + GRACE)
    assert primary.behind() == ["ns2 z0.example."]
    primary.change("z0.example.")
    primary.takes("z0.example.", 1)
    primary.loop.pass_to(primary.loop.now + CONTENT - 1)
    assert primary.behind() == ["ns2 z0.example."]
    primary.loop.pass_to(primary.loop.now + 1)
    assert primary.behind() == []  # it has not come back
    primary.change("z0.example.")
    primary.takes("z0.example.", 3)
    primary.loop.pass_to(primary.loop.now + GRACE)
    assert primary.behind() == []


def test_who_asks_for_the_whole_of_one_serial_again_and_again_has_not_taken_it(follower: Follower) -> None:
    primary = _followed(follower)
    primary.takes("z0.example.")
    primary.loop.pass_to(GRACE)
    assert primary.behind() == []  # it may have been started anew
    primary.takes("z0.example.")
    primary.loop.pass_to(2 * GRACE)
    assert primary.behind() == ["ns2 z0.example."]
    primary.takes("z0.example.", 1)
    assert primary.behind() == []


def test_a_transfer_that_is_cut_or_does_not_fit_is_none(follower: Follower) -> None:
    primary = _followed(follower)
    for _ in range(8):
        primary.change("z0.example.", 1000)
    cut = primary.asks("z0.example.")
    assert next(cut)
    del cut
    alone = primary.responder.datagram(asking("z0.example.", 1), HERE, primary.view)
    assert alone is not None and alone[6:8] == b"\0\1"
    primary.loop.pass_to(GRACE)
    assert primary.behind() == ["ns2 z0.example."]
    assert primary.takes("z0.example.") > 1
    assert primary.behind() == []
    primary.change("z0.example.")
    primary.loop.pass_to(2 * GRACE)
    assert primary.behind() == ["ns2 z0.example."]
    assert primary.responder.datagram(asking("z0.example.", 9), HERE, primary.view) is not None
    assert primary.behind() == []


def test_those_at_one_address_are_taken_for_one_that_takes(follower: Follower) -> None:
    primary = _followed(follower)
    primary.know(follower.secondary(), follower.secondary("ns3", port=9))
    for _ in range(4):
        primary.change("z0.example.")
        for serial in (1, None, 1, None):
            primary.takes("z0.example.", serial)
    primary.loop.pass_to(GRACE)
    assert primary.behind() == []
    primary.change("z0.example.")
    primary.loop.pass_to(2 * GRACE)
    assert sorted(primary.behind()) == ["ns2 z0.example.", "ns3 z0.example."]


def test_who_or_what_went_is_not_behind(follower: Follower) -> None:
    primary = _followed(follower, 3)
    for at in range(3):
        primary.change(f"z{at}.example.")
    primary.loop.pass_to(GRACE)
    assert len(primary.behind()) == 3
    primary.followers.forget(primary.table.served("z1.example."))
    assert primary.behind() == ["ns2 z0.example.", "ns2 z2.example."]
    primary.know(follower.secondary(notify=False))
    assert (primary.behind(), primary.followers.remembered) == ([], 0)


def test_memory_is_bounded_and_zones_that_went_make_room(follower: Follower) -> None:
    primary = _followed(follower, 5, most=3)
    assert primary.followers.remembered == 3
    for at in range(5):
        primary.change(f"z{at}.example.")
    primary.loop.pass_to(GRACE)
    assert primary.behind() == [f"ns2 z{at}.example." for at in range(3)]
    primary.followers.forget(primary.table.served("z0.example."))
    primary.takes("z4.example.", 1)
    primary.change("z4.example.")
    primary.loop.pass_to(2 * GRACE)
    assert primary.behind() == [f"ns2 z{at}.example." for at in (1, 2, 4)]
    assert primary.followers.remembered == 3


def test_who_has_never_answered_is_named_until_it_does(follower: Follower) -> None:
    primary = _followed(follower)
    primary.loop.pass_to(UNANSWERED - 1)
    assert primary.notifier.silent == []
    primary.loop.pass_to(UNANSWERED)
    assert primary.notifier.silent == ["ns2"]
    assert follower.told()
    primary.loop.read()
    assert primary.notifier.silent == []
    primary.change("z0.example.")
    primary.loop.pass_to(10 * UNANSWERED)
    assert primary.notifier.silent == []


def test_a_few_are_named_and_the_others_counted() -> None:
    behind = Behind(9, tuple((f"ns{at}", "a.example.") for at in range(5)))
    known = Known(["blue"], {"k.": "Because."}, behind, [f"ns{at}" for at in range(7)])
    assert list(sentences(known)) == [
        "DNS zones of these address spaces are served by no listener, and to no key: blue",
        "TSIG keys that DNS does not know (BADKEY): k.. Because.",
        "Secondaries that are behind: ns0 with a.example., ns1 with a.example., ns2 with a.example., "
        "ns3 with a.example., ns4 with a.example. and 4 more",
        "Secondaries that have never answered when told of a zone: ns0, ns1, ns2, ns3, ns4 and 2 more",
    ]
    assert list(sentences(Known([], {}, Behind(0, ()), []))) == []
