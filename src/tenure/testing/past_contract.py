"""The suite that every store must pass, last part: what is told of the past.

As for `store_contract`, a store's own tests subclass these classes and give the fixture `open_store`.
"""

from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from tenure.errors import InvalidValue
from tenure.model import events as e
from tenure.model.addressing import Vrf
from tenure.model.holding import Attachment
from tenure.model.machines import Interface, Machine
from tenure.model.observed import Observation
from tenure.model.topology import Location
from tenure.store.interface import KnownAddress, Page, Told
from tenure.testing import ledgers as x
from tenure.testing.ledgers import START, Scribe
from tenure.testing.lives_contract import now_of
from tenure.testing.store_contract import StoreFixtures

IP = "10.0.0.5"
PORT = x.ident(11)
OLD, NEW = "52:54:00:00:00:01", "52:54:00:00:00:02"
HOUR = timedelta(hours=1)


def at(hours: float) -> datetime:
    """A time of the story."""
    return START + hours * HOUR


class Story:
    """One address: given to a machine, which is renamed, moved, gets another MAC and is deleted; then to another.

    hour 1 given to `vm` on h1, hour 2 the machine is renamed and tagged, hour 3 its MAC is replaced, hour 4 the claim
    moves to h2, hour 5 shelved, hour 6 restored, hour 7 another's lease is promised beside, hour 8 the address is
    released and rests for an hour, hour 10 all of it is deleted, hour 11 it is given to somebody else.
    """

    def __init__(self, scribe: Scribe) -> None:
        self.scribe = scribe
        self.reads = scribe.store.reads
        self.machine = Machine(x.ident(10), "vm")
        self.port = Interface(PORT, self.machine.id, OLD, "eth0")
        self.claim = x.claim(1, machine=self.machine.id, interface=PORT, host="h1", since=at(1), bound=at(1))
        self.held = x.allocation(31, self.claim, IP, hostname="vm", title="own", since=at(1))
        for n, host in enumerate(("h1", "h2")):
            scribe.write(e.LocationCreated(location=Location(host, f"host-{n + 1}", "host")))

    def tell(self) -> None:
        """All of it."""
        self._machine()
        self._address()
        self._end()

    def _write(self, hour: float, *events: e.Event) -> None:
        self.scribe.write(*events, time=at(hour))

    def _machine(self) -> None:
        self._write(0.5, e.MachineCreated(machine=self.machine), e.InterfaceCreated(interface=self.port))
        worn = Attachment(allocation=self.held.id, interface=PORT, since=at(1))
        given = e.AddressAllocated(claim=self.claim, allocation=self.held, attachment=worn, opens=True)
        self._write(1, given)
        self.machine = replace(self.machine, tags=("a",), revision=2)
        self._write(1.5, e.MachineChanged(machine=self.machine))
        self.machine = replace(self.machine, name="web", revision=3)
        self._write(2, e.MachineChanged(machine=self.machine))
        self.port = replace(self.port, mac=NEW, revision=2)
        self._write(3, e.InterfaceChanged(interface=self.port))

    def _address(self) -> None:
        self.claim = replace(self.claim, host="h2", revision=2)
        self.held = replace(self.held, title="borrowed")
        self._write(4, e.ClaimRebound(claim=self.claim, before="h1", allocations=(self.held,)))
        shelved = replace(self.held, standing="shelved", behind=x.ident(2))
        self._write(5, e.AddressShelved(claim=self.claim, allocation=shelved))
        self._write(6, e.AddressRestored(claim=self.claim, allocation=self.held, before="shelved"))
        self.held = replace(self.held, held_until=at(7.5))
        self._write(7, e.LeasePromised(claim=self.claim, allocation=self.held))
        self.claim = x.released(self.claim, at(8))
        self._write(8, replace(x.taken(self.claim, self.held, at(8), 3600, PORT), closes=True))

    def _end(self) -> None:
        gone = e.InterfaceDeleted(interface=self.port), e.MachineDeleted(machine=self.machine)
        self._write(10, *gone, e.LocationDeleted(location=Location("h2", "host-2", "host")))
        other = x.claim(3, since=at(11), bound=at(11))
        self._write(11, x.given(other, x.allocation(33, other, IP, since=at(11), hostname="other")))

    def then(self, hour: float) -> KnownAddress | None:
        """Who held it."""
        return self.reads.address_at(x.VRF.id, IP, at(hour)).value

    def lines(self, limit: int = 100) -> list[Told]:
        """Its time line, page by page."""
        pages = [self.reads.history(x.VRF.id, IP, "", limit)]
        while pages[-1].next is not None:
            assert len(pages[-1].items) <= limit
            pages.append(self.reads.history(x.VRF.id, IP, pages[-1].next, limit))
        return [line for page in pages for line in page.items]


def said(known: KnownAddress | None) -> tuple[Any, ...] | None:
    """What a person wants to know."""
    if known is None:
        return None
    names, macs = [machine.name for machine in known.machines], [port.mac for port in known.interfaces]
    return known.claim.handle, known.claim.host, known.allocation.standing, known.allocation.title, names, macs


class PastContract(StoreFixtures):
    """Who held what at a time, and the time line of an address."""

    @pytest.fixture
    def story(self, site: Scribe) -> Story:
        """Told to its end."""
        story = Story(site)
        story.tell()
        return story

    @pytest.mark.parametrize(
        ("hour", "holder"),
        [
            (0.9, None),
            (1, ("h-1", "h1", "primary", "own", ["vm"], [OLD])),
            (1.9, ("h-1", "h1", "primary", "own", ["vm"], [OLD])),
            (2, ("h-1", "h1", "primary", "own", ["web"], [OLD])),
            (3.5, ("h-1", "h1", "primary", "own", ["web"], [NEW])),
            (4, ("h-1", "h2", "primary", "borrowed", ["web"], [NEW])),
            (5.5, ("h-1", "h2", "shelved", "borrowed", ["web"], [NEW])),
            (7.9, ("h-1", "h2", "primary", "borrowed", ["web"], [NEW])),
            (8.5, ("h-1", "h2", "primary", "borrowed", ["web"], [NEW])),
            (9, None),
            (10.5, None),
            (12, ("h-3", None, "primary", None, [], [])),
        ],
    )
    def test_at_each_time_it_is_who_it_was(self, story: Story, hour: float, holder: tuple[Any, ...] | None) -> None:
        known = story.then(hour)
        assert said(known) == holder
        page = story.reads.addresses(now=at(20), at=at(hour), state="cooling" if hour == 8.5 else "")
        assert [said(each) for each in page.items] == [holder] * (holder is not None)

    def test_what_was_held_then_says_until_when(self, story: Story) -> None:
        known = story.then(7)
        assert known is not None
        assert (known.allocation.since, known.allocation.until, known.allocation.held_until) == (at(1), at(8), at(7.5))
        assert known.held.name == "vm.prod.example."
        resting = story.then(8.5)
        assert resting is not None and resting.allocation.cooling_until == at(9)

    def test_a_domain_is_that_of_then(self, story: Story) -> None:
        story.scribe.write(e.NetworkChanged(network=replace(x.NETWORK, domain="new.example.")), time=at(12))
        then, now = story.then(7), story.then(13)
        assert then is not None and now is not None
        assert (then.held.name, now.held.name) == ("vm.prod.example.", "other.new.example.")

    def test_the_table_of_then_is_filtered_as_of_then(self, story: Story) -> None:
        reads = story.reads

        def found(hour: float, **filters: Any) -> list[str]:
            return [each.claim.handle for each in reads.addresses(now=at(20), at=at(hour), **filters).items]

        assert found(4.5, location="h2") == found(4.5, q="vm") == found(4.5, network=x.NETWORK.id) == ["h-1"]
        assert found(3.5, location="h2") == found(4.5, q="10.1.0.0/16") == found(4.5, network="no") == []
        assert found(5.5, state="shelved") == found(6.5, state="allocated") == ["h-1"]
        assert found(5.5, state="allocated") == found(6.5, state="shelved") == []

    def test_the_time_line_is_whole_and_in_order(self, story: Story) -> None:
        kinds = [line.entry.event.kind.removeprefix("tenure.") for line in story.lines()]
        assert kinds == [
            "address.allocated", "machine.changed", "interface.changed", "claim.rebound", "address.shelved",
            "address.restored", "lease.promised", "address.released", "address.allocated",
        ]  # fmt: skip
        assert [line.entry.time for line in story.lines()] == [at(n) for n in (1, 2, 3, 4, 5, 6, 7, 8, 11)]

    def test_each_line_says_who_held_it_as_they_were_called(self, story: Story) -> None:
        for line in story.lines():
            assert line.holder is not None
            hour = (line.entry.time - START) / HOUR
            known = story.then(hour)
            if hour == 8:  # who had it
                known = story.then(7.9)
            assert said(line.holder) == said(known)

    @pytest.mark.parametrize("limit", [1, 2, 3, 5, 8, 9])
    def test_pages_of_the_time_line_are_the_whole(self, story: Story, limit: int) -> None:
        assert story.lines(limit) == story.lines()

    def test_a_time_line_takes_only_its_own_cursor(self, story: Story) -> None:
        for cursor in ("x", "00", story.reads.vrfs(limit=1).next or "5b5d"):
            with pytest.raises(InvalidValue):
                story.reads.history(x.VRF.id, IP, cursor)
        with pytest.raises(InvalidValue):
            story.reads.history(x.VRF.id, IP, "", 0)

    def test_what_others_were_called_is_not_in_it(self, story: Story) -> None:
        before = len(story.lines())
        story.scribe.write(*x.machine(50, "stranger", "52:54:00:00:00:50"), time=at(12))
        story.scribe.write(e.MachineChanged(machine=Machine(x.ident(50), "renamed", revision=2)), time=at(13))
        assert len(story.lines()) == before

    def test_a_move_is_in_the_time_line_of_giver_and_taker(self, site: Scribe) -> None:
        one, two = x.claim(1), x.claim(2)
        held = x.allocation(31, one, IP, hostname="a")
        taken_over = x.allocation(32, two, IP, hostname="b", since=at(2), lender=one.id)
        site.write(x.given(one, held))
        left = replace(held, until=at(2))
        moved = e.AddressMoved(giver=one, left=left, claim=two, allocation=taken_over, reason="lent", opens=True)
        site.write(moved, time=at(2))
        reads = site.store.reads
        assert [line.holder and line.holder.claim.handle for line in reads.history(x.VRF.id, IP).items] == [
            "h-1",
            "h-2",
        ]
        then, now = reads.address_at(x.VRF.id, IP, at(1)).value, reads.address(x.VRF.id, IP, at(3)).value
        assert then is not None and now is not None
        assert (then.claim.handle, now.claim.handle, now.allocation.lender) == ("h-1", "h-2", one.id)
        assert [each.claim.handle for each in reads.addresses(now=at(3), at=at(1)).items] == ["h-1"]
        given, move = reads.given(now.allocation).value
        assert isinstance(given.event, e.AddressAllocated) and isinstance(move.event, e.AddressMoved)
        assert [entry.event.kind for entry in reads.given(then.allocation).value] == ["tenure.address.allocated"]

    def test_a_whole_table_of_then_is_paged(self, site: Scribe) -> None:
        """Open ones and closed ones lie in indexes of their own: a page is of both, in order."""
        claims = [x.claim(n, since=at(1)) for n in range(1, 12)]
        held = [x.allocation(100 + n, one, f"10.0.0.{n + 1}", since=at(1)) for n, one in enumerate(claims, 1)]
        site.write(*(x.given(one, each) for one, each in zip(claims, held, strict=True)), time=at(1))
        gone = [pair for n, pair in enumerate(zip(claims, held, strict=True)) if n % 3]
        site.write(*(x.taken(x.released(one, at(2)), each, at(2)) for one, each in gone), time=at(2))
        pages = [site.store.reads.addresses(limit=4, now=at(9), at=at(1.5))]
        while pages[-1].next is not None:
            pages.append(site.store.reads.addresses(pages[-1].next, 4, now=at(9), at=at(1.5)))
        found = [each.allocation.ip for page in pages for each in page.items]
        assert found == [f"10.0.0.{n + 1}" for n in range(1, 12)]
        assert [len(page.items) for page in pages] == [4, 4, 3]

    def test_a_vrf_that_is_gone_is_found_by_its_name(self, site: Scribe) -> None:
        reads = site.store.reads
        first, second = Vrf(x.ident(70), "blue"), Vrf(x.ident(71), "blue")
        whens = [_just_now(site)]
        site.write(e.VrfCreated(vrf=first), time=at(1))
        whens.append(_just_now(site))
        site.write(e.VrfDeleted(vrf=first), e.VrfCreated(vrf=second), time=at(2))
        whens.append(_just_now(site))
        assert reads.former("vrf", "blue").value == second
        site.write(e.VrfDeleted(vrf=second), time=at(3))
        whens.append(_just_now(site))
        assert reads.vrf("blue").value is None
        assert reads.former("vrf", "blue").value in (first, second)
        assert reads.former("vrf", first.id).value == first
        assert reads.former("vrf", "no").value is None
        assert [reads.former("vrf", "blue", when).value for when in whens] == [None, first, second, None]
        assert reads.former("network", "prod", whens[-1]).value == x.NETWORK
        assert reads.called([first.id, x.NETWORK.id, "no"]) == {first.id: "blue", x.NETWORK.id: "prod"}


def _just_now(site: Scribe) -> datetime:
    """After what was written last, and before what comes next."""
    return now_of(site) - timedelta(microseconds=1)


class SeenContract(StoreFixtures):
    """What was seen, and what is shelved."""

    def test_what_was_seen_is_listed_until_it_is_too_old(self, site: Scribe) -> None:
        for n in (3, 1, 2):
            site.write(e.AddressObserved(observation=_seen(f"10.0.0.{n}", at(n))))
        reads = site.store.reads
        pages: list[Page[Any]] = [reads.observed(limit=2, now=at(2)), reads.observed(now=at(3))]
        assert [each.observation.ip for each in pages[0].items] == ["10.0.0.3"]
        assert pages[1].items == []
        first = reads.observed(limit=2, now=START)
        assert first.next is not None
        found = [*first.items, *reads.observed(first.next, 2, now=START).items]
        assert [each.observation.ip for each in found] == ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
        assert [each.subnet for each in found] == [x.SUBNET] * 3
        assert len(reads.observed(now=START, q="10.0.0.2/31").items) == 2
        assert reads.observed(now=START, network="no").items == []
        seen = reads.observation(x.VRF.id, "10.0.0.2", START).value
        assert seen is not None and seen.observation.mac == NEW
        assert reads.observation(x.VRF.id, "10.0.0.2", at(2)).value is None

    def test_a_shelved_address_is_held_and_found_by_its_state(self, site: Scribe) -> None:
        one, two = x.claim(1), x.claim(2)
        home, away = x.allocation(31, one, "10.0.0.5"), x.allocation(32, two, "10.0.0.6")
        site.write(x.given(one, home), x.given(two, away))
        shelved = replace(home, standing="shelved", behind=two.id)
        site.write(e.AddressShelved(claim=one, allocation=shelved))

        def found(state: str) -> list[tuple[str, str, str | None]]:
            items = site.store.reads.addresses(now=START, state=state).items
            return [(each.allocation.ip, each.held.standing, each.allocation.behind) for each in items]

        here, there = ("10.0.0.5", "shelved", two.id), ("10.0.0.6", "primary", None)
        assert (found(""), found("allocated"), found("shelved")) == ([here, there], [there], [here])


class FiltersContract(StoreFixtures):
    """Lists by tag and custom field."""

    def test_things_are_found_by_all_their_labels(self, site: Scribe) -> None:
        marks = {"tags": ("blue", "rack-a"), "custom": {"owner": "alice", "floor": 3, "ready": True}}
        network = replace(x.NETWORK, **marks)
        subnet, machine = replace(x.SUBNET, **marks), replace(Machine(x.ident(10), "vm"), **marks)
        one, two = x.claim(1, **marks), x.claim(2, tags=("blue",))
        site.write(e.NetworkChanged(network=network), e.SubnetChanged(subnet=subnet), e.MachineCreated(machine=machine))
        site.write(e.ClaimDeferred(claim=replace(one, bound=None)), x.given(two, x.allocation(32, two, IP)))
        reads = site.store.reads
        lists: list[tuple[Any, Any]] = [
            (reads.networks, lambda found: found.name),
            (reads.subnets, lambda found: found.cidr),
            (reads.machines, lambda found: found.machine.name),
            (reads.claims, lambda found: found.claim.handle),
        ]
        fields = (("owner", "alice"), ("floor", "3"), ("ready", "true"))
        for read, named in lists:
            only = [named(each) for each in read(tags=("blue", "rack-a"), custom=fields).items]
            assert len(only) == 1
            assert [named(each) for each in read(custom=(("owner", "alice"),)).items] == only
            for wrong in ({"tags": ("blue", "no")}, {"custom": (("owner", "bob"),)}, {"tags": ("blu",)}):
                assert read(**wrong).items == []
        assert [each.claim.handle for each in reads.claims(tags=("blue",)).items] == ["h-1", "h-2"]


def _seen(ip: str, until: datetime) -> Observation:
    return Observation(
        vrf=x.VRF.id, subnet=x.SUBNET.id, ip=ip, mac=NEW, source="arp-scan", since=START, last=START, until=until
    )
