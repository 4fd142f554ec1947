"""The suite that every store must pass, third part: claims that move, and what is asked of places and subnets.

As for `store_contract`, a store's own tests subclass this class and give the fixture `open_store`.
"""

from datetime import datetime, timedelta

from msgspec.structs import replace

from tenure.model import events as e
from tenure.model.holding import Claim
from tenure.model.machines import Interface, Machine
from tenure.model.topology import Location
from tenure.store.reads import Extent
from tenure.testing import ledgers as x
from tenure.testing.ledgers import START, Scribe
from tenure.testing.store_contract import StoreFixtures

SECOND = timedelta(seconds=1)
OLD, NEW = x.ident(800), x.ident(801)


def moved(of: Claim, settles: datetime = START) -> Claim:
    """A claim of the host OLD after it went to NEW, with a hand-over until then."""
    return replace(of, host=NEW, leaving=OLD, settles=settles, revision=of.revision + 1)


def settled(of: Claim) -> Claim:
    """The claim after its hand-over."""
    return replace(of, leaving=None, settles=None, revision=of.revision + 1)


class MovesContract(StoreFixtures):
    """Hand-overs, hosts read whole, addresses away from home, and what is still somewhere."""

    def test_a_hand_over_is_remembered_until_it_settles(self, site: Scribe) -> None:
        one = x.claim(1, host=OLD)
        held = x.allocation(11, one, "10.0.0.5", block="10.0.0.0/28", title="new")
        away = replace(held, title="borrowed")
        site.write(x.given(one, held))
        gone = moved(one)
        site.write(e.ClaimRebound(claim=gone, before=OLD, allocations=(away,)))
        facts = site.facts(claims=[one.id])
        assert (facts.claims[one.id], facts.held[one.id][held.id]) == (gone, away)
        site.write(e.ClaimSettled(claim=settled(gone), before=OLD))
        assert site.facts(claims=[one.id]).claims[one.id] == settled(gone)

    def test_hand_overs_that_are_over_are_read_earliest_first(self, site: Scribe) -> None:
        with site.store.turn() as turn:
            now = turn.now
        claims = [x.claim(n, host=OLD) for n in range(1, 6)]
        for one, ago in zip(claims, (20, 30, 10, -3600, 40), strict=True):
            site.write(x.given(one, x.allocation(10 + int(one.id, 16), one, f"10.0.0.{int(one.id, 16) + 4}")))
            site.write(e.ClaimRebound(claim=moved(one, now - ago * SECOND), before=OLD))
        site.write(e.ClaimSettled(claim=settled(moved(claims[4])), before=OLD))
        assert site.facts(settling=9).settling == [claims[n].id for n in (1, 0, 2)]
        few = site.facts(settling=2)
        assert few.settling == list(few.claims) == [claims[1].id, claims[0].id]
        assert {len(held) for held in few.held.values()} == {1}
        assert site.facts().settling == []

    def test_a_host_brings_all_its_open_claims_and_what_they_hold(self, site: Scribe) -> None:
        one, two, three, gone = (x.claim(n, host=OLD) for n in range(1, 5))
        waiting = x.claim(5, host=OLD, bound=None)
        held = [x.allocation(10 + n, of, f"10.0.0.{n + 5}") for n, of in enumerate((one, two, three, gone))]
        site.write(*(x.given(of, of_it) for of, of_it in zip((one, two, three, gone), held, strict=True)))
        site.write(e.ClaimDeferred(claim=waiting), x.taken(x.released(gone), held[3]))
        site.write(e.ClaimRebound(claim=moved(three), before=OLD))
        facts = site.facts(hosts=[OLD, NEW, x.ident(802)])
        assert {host: set(claims) for host, claims in facts.standing.items()} == {
            OLD: {one.id, two.id, waiting.id},
            NEW: {three.id},
            x.ident(802): set(),
        }
        assert [list(facts.held[of.id]) for of in (one, two, three)] == [[a.id] for a in held[:3]]

    def test_a_subnet_says_at_which_hosts_its_addresses_are_held(self, site: Scribe) -> None:
        places = [OLD, OLD, NEW, None]
        for n, host in enumerate(places):
            one = x.claim(n + 1, host=host)
            site.write(x.given(one, x.allocation(20 - n, one, f"10.0.0.{20 - n}")))
        spread = site.facts(spread=[x.SUBNET.id, x.ident(77)]).spread
        assert spread == {
            x.SUBNET.id: {OLD: ("10.0.0.19", 2), NEW: ("10.0.0.18", 1), None: ("10.0.0.17", 1)},
            x.ident(77): {},
        }

    def test_the_snapshot_has_what_is_used_away_from_home(self, site: Scribe) -> None:
        titles = ["own", "new", "borrowed", None, "borrowed", "borrowed"]
        for n, title in enumerate(titles):
            one = x.claim(n + 1, host=None if n == 5 else OLD)
            site.write(x.given(one, x.allocation(30 + n, one, f"10.0.0.{n + 5}", title=title, lease=n == 4)))
        with site.store.snapshot() as now:
            assert sorted(now.loose()) == [(x.SUBNET.id, 0x0A000000 + n, OLD) for n in (7, 8)]
        third = x.claim(3, host=OLD)
        site.write(x.taken(x.released(third), x.allocation(32, third, "10.0.0.7", title="borrowed")))
        with site.store.snapshot() as now:
            assert list(now.loose()) == [(x.SUBNET.id, 0x0A000008, OLD)]

    def test_what_remains_at_a_place_and_in_a_subnet_is_shown_and_counted(self, site: Scribe) -> None:
        rack = Location(x.ident(700), "r1", "rack")
        site.write(e.LocationCreated(location=rack))
        for id_, name in ((OLD, "h1"), (NEW, "h2")):
            site.write(e.LocationCreated(location=Location(id_, name, "host", rack.id)))
        claims = [x.claim(n, host=OLD if n % 2 else NEW) for n in range(1, 26)]
        for one in claims:
            number = int(one.id, 16)
            site.write(x.given(one, x.allocation(100 + number, one, f"10.0.0.{number + 4}")))
        site.write(x.taken(x.released(claims[0]), x.allocation(101, claims[0], "10.0.0.5")))
        reads = site.store.reads
        at = {place: reads.remaining(location=place).value for place in (OLD, NEW, rack.id, x.ident(9))}
        assert {place: found.total for place, found in at.items()} == {OLD: 12, NEW: 12, rack.id: 24, x.ident(9): 0}
        assert [h.claim.id for h in at[rack.id].holdings] == [one.id for one in claims[1:21]]
        subnet = reads.remaining(subnet=x.SUBNET.id).value
        assert (subnet.total, [a.ip for a in subnet.holdings[0].addresses]) == (24, ["10.0.0.6"])

    def test_what_a_deletion_would_take_along_is_counted(self, site: Scribe) -> None:
        rack = Location(x.ident(700), "r1", "rack")
        site.write(e.LocationCreated(location=rack), e.LocationCreated(location=Location(OLD, "h1", "host", rack.id)))
        for n in range(1, 26):
            one = x.claim(n, host=OLD if n > 20 else None)
            hostname = f"vm-{n}" if n % 2 else None
            held = x.allocation(100 + n, one, f"10.0.0.{n + 4}", hostname=hostname, lease=n == 3)
            site.write(x.given(one, replace(held, standing="shelved") if n == 5 else held))
        whole = [site.store.reads.affected(each, START).value for each in (
            Extent(subnet=x.SUBNET.id), Extent(network=x.NETWORK.id), Extent(vrf=x.VRF.id)
        )]  # fmt: skip
        assert [(a.addresses.total, a.names.total, a.leases.total) for a in whole] == [(24, 12, 1)] * 3
        assert whole[0].leases.first == ("10.0.0.7",)
        assert whole[0].names.first[:2] == ("vm-1.prod.example.", "vm-3.prod.example.")
        assert [a.resting.total for a in whole] == [0, 0, 0]
        last = x.claim(25)
        site.write(x.taken(x.released(last), x.allocation(125, last, "10.0.0.29"), rest=300))
        times = [START + timedelta(seconds=seconds) for seconds in (299, 300)]
        rests = [site.store.reads.affected(Extent(subnet=x.SUBNET.id), time) for time in times]
        assert [seen.value.resting for seen in rests] == [(1, ("10.0.0.29",)), (0, ())]
        ends = (("10.0.0.0", "10.0.0.5"), ("10.0.0.29", "10.0.0.255"))
        part = site.store.reads.affected(Extent(subnet=x.SUBNET.id, stretches=ends), START).value
        assert (part.addresses.first, part.resting.first) == (("10.0.0.5",), ("10.0.0.29",))
        assert site.store.reads.affected(Extent(subnet=x.SUBNET.id, stretches=()), START).value.addresses.total == 0
        there = site.store.reads.affected(Extent(location=rack.id), START).value
        assert (there.addresses.total, there.resting.total, sorted(there.places)) == (4, 0, ["h1", "r1"])

    def test_what_machines_hold_is_by_machine_and_standing(self, site: Scribe) -> None:
        machines = [Machine(x.ident(900 + n), f"m-{n}") for n in range(3)]
        ports = [Interface(x.ident(950 + n), machines[n].id, f"52:54:00:00:00:0{n}") for n in range(2)]
        site.write(*(e.MachineCreated(machine=each) for each in machines))
        site.write(*(e.InterfaceCreated(interface=each) for each in ports))
        for n, (standing, machine, port) in enumerate(
            (("shelved", 0, 0), ("primary", 0, 0), ("primary", 2, None), ("alias", 0, None), ("primary", None, 1))
        ):
            one = x.claim(n + 1, machine=None if machine is None else machines[machine].id)
            held = x.allocation(100 + n, one, f"10.0.0.{n + 5}", standing=standing)
            site.write(x.given(one, held, None if port is None else ports[port].id))
        found = site.store.reads.on_machines([each.id for each in machines])
        ips = {machine: [known.allocation.ip for known in held] for machine, held in found.items()}
        wanted = (["10.0.0.6", "10.0.0.8", "10.0.0.5"], ["10.0.0.9"], ["10.0.0.7"])
        assert ips == {machine.id: held for machine, held in zip(machines, wanted, strict=True)}
        assert site.store.reads.on_machines([]) == {}

    def test_what_still_leaves_a_place_is_shown_until_it_settles(self, site: Scribe) -> None:
        racks = [Location(x.ident(700 + n), f"r{n}", "rack") for n in range(3)]
        site.write(*(e.LocationCreated(location=rack) for rack in racks))
        for id_, name, rack in ((OLD, "h1", racks[0]), (NEW, "h2", racks[1])):
            site.write(e.LocationCreated(location=Location(id_, name, "host", rack.id)))
        one, two, near = (x.claim(n, host=OLD) for n in range(1, 4))
        for n, of in enumerate((one, two, near)):
            site.write(x.given(of, x.allocation(10 + n, of, f"10.0.0.{n + 5}")))
        site.write(*(e.ClaimRebound(claim=moved(of), before=OLD) for of in (one, two)))
        site.write(e.ClaimRebound(claim=replace(moved(near), host=racks[0].id), before=OLD))
        reads = site.store.reads

        def left(place: str) -> list[str]:
            found = reads.leaving(place).value
            assert found.total == len(found.holdings)
            return [each.claim.id for each in found.holdings]

        assert left(OLD) == [one.id, two.id, near.id]
        assert left(racks[0].id) == [one.id, two.id]
        assert left(NEW) == left(racks[1].id) == left(racks[2].id) == []
        site.write(e.ClaimSettled(claim=settled(moved(one)), before=OLD))
        assert left(racks[0].id) == [two.id]
