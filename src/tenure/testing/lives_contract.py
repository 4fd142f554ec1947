"""The suite that every store must pass, fourth part: what is due, where addresses stand, what was seen, labels.

As for `store_contract`, a store's own tests subclass these classes and give the fixture `open_store`.
"""

from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from tenure.engine.facts import MOST_QUEUED
from tenure.model import events as e
from tenure.model.holding import MACHINES, Allocation, Attachment, Claim, ClaimRequest
from tenure.model.machines import Machine
from tenure.model.observed import Observation
from tenure.store.interface import DataRefused
from tenure.store.placements import Label, Stranger
from tenure.testing import ledgers as x
from tenure.testing.ledgers import START, Scribe
from tenure.testing.store_contract import StoreFixtures

SECOND = timedelta(seconds=1)
DAY = timedelta(days=1)


def asked(**fields: Any) -> ClaimRequest:
    """A request to the sample network."""
    return ClaimRequest(network=x.NETWORK.id, **fields)


def waiting(number: int, **fields: Any) -> Claim:
    """A pending claim that waits in order."""
    return x.claim(number, **{"bound": None, "request": asked(queue=True), **fields})


def home(number: int, machine: str, **fields: Any) -> Claim:
    """What a machine was given for life."""
    handle = f"{MACHINES}:{number}"
    return x.claim(number, **{"project": MACHINES, "handle": handle, "machine": machine, "kept": "life", **fields})


def seen(ip: str, until: datetime = START + DAY, **fields: Any) -> Observation:
    """An address on which something was seen."""
    given = {"vrf": x.VRF.id, "subnet": x.SUBNET.id, "source": "arp-scan", "since": START, "last": START}
    return Observation(**{"ip": ip, "until": until, **given, **fields})


def now_of(site: Scribe) -> datetime:
    """The store's time."""
    with site.store.turn() as turn:
        return turn.now


class RowsOfLivesContract(StoreFixtures):
    """Every field of claims, allocations, machines and observations comes back."""

    def test_a_claim_comes_back_with_all_that_is_said_of_it(self, site: Scribe) -> None:
        custom: dict[str, str | int | float | bool] = {"owner": "alice", "rack": 4, "share": 0.5, "prod": True}
        full = x.claim(
            1, kept="deployment", static=True, harvest="never", expires=START + DAY, warned=True, tags=("a", "b"),
            custom=custom, request=asked(queue=True, alias=True, shared=True, tags=("a",), addresses=("10.0.0.5",)),
        )  # fmt: skip
        site.write(x.given(full, x.allocation(11, full, "10.0.0.5")))
        assert site.facts(claims=[full.id]).claims[full.id] == full
        plain = x.claim(1, revision=2)
        site.write(e.ClaimChanged(claim=plain))
        assert site.facts(claims=[full.id]).claims[full.id] == plain

    def test_an_allocation_comes_back_wherever_it_stands(self, site: Scribe) -> None:
        one, two = x.claim(1), x.claim(2)
        plain, behind = x.allocation(11, one, "10.0.0.5", hostname="vm"), x.allocation(12, two, "10.0.0.6")
        shelved = replace(
            plain, standing="shelved", behind=two.id, lender=two.id, waits_until=START + DAY, waits_for=x.ident(98),
            replaces=behind.id, named_at=START + SECOND,
        )  # fmt: skip
        site.write(x.given(one, plain), x.given(two, behind))
        for row in (shelved, plain, replace(plain, standing="alias"), replace(plain, hostname=None)):
            site.write(e.AddressShelved(claim=one, allocation=row))
            assert site.facts(claims=[one.id]).held[one.id] == {plain.id: row}

    def test_an_allocation_is_replaced_by_one(self, site: Scribe) -> None:
        one = x.claim(1)
        rows = [x.allocation(11 + n, one, f"10.0.0.{n + 5}", replaces=x.ident(99)) for n in range(2)]
        site.write(x.given(one, rows[0]))
        with pytest.raises(DataRefused):
            site.write(x.given(one, rows[1], opens=False))

    def test_an_address_moves_in_one_batch_and_keeps_its_past(self, site: Scribe) -> None:
        giver, taker = x.claim(1), x.claim(2)
        site.write(*x.machine(20, "a", "52:54:00:00:00:01"), *x.machine(30, "b", "52:54:00:00:00:02"))
        held = x.allocation(11, giver, "10.0.0.5")
        site.write(x.given(giver, held, x.ident(21)))
        site.write(moved(giver, held, taker, x.allocation(12, taker, "10.0.0.5")))
        facts = site.facts(claims=[giver.id, taker.id], interfaces=[x.ident(21), x.ident(31)])
        assert (facts.claims[giver.id].state, set(facts.held[taker.id])) == ("released", {x.ident(12)})
        assert facts.uses[x.ident(31)] == {x.ident(12): None}
        assert facts.uses.get(x.ident(21), {}) == {}
        past = site.store.reads.history(x.VRF.id, "10.0.0.5").items
        assert len(past) == 2

    def test_what_was_seen_is_the_latest(self, site: Scribe) -> None:
        first, later = seen("10.0.0.5"), seen("10.0.0.5", START + 2 * DAY, mac="52:54:00:00:00:01", claim=x.ident(1))
        six = seen("2001:db8::1")
        keys = [(x.VRF.id, ip) for ip in ("10.0.0.5", "2001:db8::1", "10.0.0.9")]
        site.write(e.AddressObserved(observation=first), e.AddressObserved(observation=six))
        assert site.facts(observed=keys).observations == dict(zip(keys, (first, six, None), strict=True))
        site.write(e.AddressObserved(observation=first), e.AddressObserved(observation=later))
        assert site.facts(addresses=keys[:1]).observations == {keys[0]: later}
        with site.store.snapshot() as now:
            ours = Stranger(x.VRF.id, 4, 0x0A000005, later.until)
            assert set(now.strangers(START)) == {ours, Stranger(x.VRF.id, 6, 0x20010DB8 << 96 | 1, six.until)}
            assert list(now.strangers(six.until)) == [ours]

    def test_what_is_shelved_has_no_name_and_no_route(self, site: Scribe) -> None:
        one = x.claim(1, host=x.ident(8), leaving=x.ident(9), settles=START)
        held = x.allocation(11, one, "10.0.0.5", hostname="vm", title="borrowed")
        site.write(x.given(one, held))
        for standing, many in (("shelved", 0), ("alias", 1), ("primary", 1)):
            site.write(e.AddressShelved(claim=one, allocation=replace(held, standing=standing)))
            with site.store.snapshot() as now:
                assert [len(list(rows)) for rows in (now.named(), now.loose(), now.handovers())] == [many] * 3
        assert site.facts(hostnames=["vm"]).named["vm"] == {held.id: held}


def moved(giver: Claim, held: Allocation, taker: Claim, new: Allocation) -> e.AddressMoved:
    """A held address goes from an interface and a claim, which ends, to another interface and a new claim."""
    over = replace(held, until=START)
    worn = Attachment(allocation=held.id, interface=x.ident(21), since=START, until=START)
    wears = Attachment(allocation=new.id, interface=x.ident(31), since=START)
    return e.AddressMoved(
        giver=x.released(giver), left=over, attachments=(worn,), claim=taker, allocation=new, attachment=wears,
        reason="reassigned", opens=True, closes=True,
    )  # fmt: skip


class ClosureContract(StoreFixtures):
    """What hangs on what is wanted."""

    def test_a_claim_brings_what_stands_behind_it_whole(self, site: Scribe) -> None:
        old, new = x.claim(1), x.claim(2)
        shelved = x.allocation(11, old, "10.0.0.5", standing="shelved", behind=new.id)
        other = x.allocation(12, old, "2001:db8::1")
        site.write(*x.machine(20, "a", "52:54:00:00:00:01"))
        site.write(x.given(old, shelved, x.ident(21)), x.given(old, other, opens=False))
        site.write(x.given(new, x.allocation(13, new, "10.0.0.6")))
        facts = site.facts(claims=[new.id])
        assert facts.behind == {new.id: {shelved.id: None}}
        assert facts.held[old.id] == {shelved.id: shelved, other.id: other}
        assert list(facts.attached[shelved.id]) == [x.ident(21)]
        assert set(site.facts(claims=[old.id]).claims) == {old.id, new.id}

    def test_an_address_brings_the_claim_that_lent_it(self, site: Scribe) -> None:
        lender, borrower = x.claim(1), x.claim(2)
        site.write(x.given(lender, x.allocation(11, lender, "10.0.0.5")))
        site.write(x.given(borrower, x.allocation(12, borrower, "10.0.0.6", lender=lender.id)))
        facts = site.facts(claims=[borrower.id])
        assert (set(facts.claims), set(facts.held[lender.id])) == ({lender.id, borrower.id}, {x.ident(11)})

    def test_a_claim_brings_its_machine_its_interface_and_what_that_uses(self, site: Scribe) -> None:
        site.write(*x.machine(20, "a", "52:54:00:00:00:01", "52:54:00:00:00:02"))
        one, two = x.claim(1), x.claim(2, machine=x.ident(20), interface=x.ident(21), bound=None)
        used = x.allocation(11, one, "10.0.0.5")
        site.write(x.given(one, used, x.ident(21)), e.ClaimDeferred(claim=two))
        facts = site.facts(claims=[two.id])
        assert (set(facts.machines), set(facts.interfaces)) == ({x.ident(20)}, {x.ident(21)})
        assert (facts.uses, facts.held[one.id]) == ({x.ident(21): {used.id: None}}, {used.id: used})

    def test_an_interface_is_wanted_by_id(self, site: Scribe) -> None:
        site.write(*x.machine(20, "a", "52:54:00:00:00:01", "52:54:00:00:00:02"))
        facts = site.facts(interfaces=[x.ident(22), x.ident(99)])
        assert (set(facts.machines), set(facts.ports[x.ident(20)])) == ({x.ident(20)}, {x.ident(21), x.ident(22)})

    def test_what_a_machine_had_last_is_read_under_its_handle(self, site: Scribe) -> None:
        rows = [home(n, x.ident(20), handle="machine:p") for n in (1, 2)]
        for n, one in enumerate(rows):
            four, six = (
                x.allocation(10 * n + k, one, ip) for k, ip in enumerate((f"10.0.0.{n + 5}", f"2001:db8::{n}"))
            )
            gone = x.allocation(10 * n + 7, one, f"10.0.1.{n}")
            at = START + n * SECOND
            site.write(x.given(one, six), x.given(one, four, opens=False), x.given(one, gone, opens=False))
            site.write(x.taken(one, gone, START - DAY))
            site.write(*(x.taken(x.released(one, at), row, at) for row in (four, six)))
        facts = site.facts(last=[(MACHINES, "machine:p"), (MACHINES, "machine:q")])
        assert [held.ip for held in facts.former[MACHINES, "machine:p"]] == ["10.0.0.6", "2001:db8::1"]
        assert {key: held.ip for key, held in facts.last.items()} == {(MACHINES, "machine:p"): "10.0.0.6"}


class DueContract(StoreFixtures):
    """What time asks for: the earliest first, and no more than was wanted."""

    def test_claims_that_end_are_read_and_those_that_will_once(self, site: Scribe) -> None:
        now = now_of(site)
        ends = [now - SECOND, now + 2 * DAY, now + SECOND, now - DAY, now + DAY / 2, now - 2 * DAY]
        claims = [x.claim(n, expires=end, warned=n == 5) for n, end in enumerate(ends, 1)]
        for n, one in enumerate(claims):
            site.write(x.given(one, x.allocation(20 + n, one, f"10.0.0.{n + 5}")))
        site.write(x.taken(x.released(claims[5]), x.allocation(25, claims[5], "10.0.0.10")))
        assert site.facts(expiring=9).expiring == [claims[n].id for n in (3, 0, 2)]
        few = site.facts(expiring=2)
        assert few.expiring == list(few.claims) == [claims[3].id, claims[0].id]
        assert {len(held) for held in few.held.values()} == {1}
        assert site.facts().expiring == []

    def test_names_that_are_to_follow_are_read(self, site: Scribe) -> None:
        now = now_of(site)
        one = x.claim(1)
        ends = [now - SECOND, now + DAY, now - DAY, None]
        rows = [x.allocation(11 + n, one, f"10.0.0.{n + 5}", named_at=end) for n, end in enumerate(ends)]
        site.write(*(x.given(one, row, opens=row is rows[0]) for row in rows))
        facts = site.facts(naming=9)
        assert (facts.naming, len(facts.held[one.id])) == ([rows[2].id, rows[0].id], 4)
        assert site.facts(naming=1).naming == [rows[2].id]

    def test_those_that_queue_are_read_in_order(self, site: Scribe) -> None:
        claims = [waiting(n, since=START - n * SECOND) for n in range(1, MOST_QUEUED + 3)]
        others = [
            x.claim(900, bound=None), x.claim(901, bound=None, request=asked(queue=True, defer=True)),
            waiting(902, network=x.ident(99)), replace(waiting(903), bound=START),
        ]  # fmt: skip
        site.write(*(e.ClaimDeferred(claim=one) for one in (*claims, *others)))
        facts = site.facts(queued=[(x.NETWORK.id, 0), (x.ident(99), 0), (x.ident(98), 0)])
        ids = [one.id for one in reversed(claims)][:MOST_QUEUED]
        assert facts.queued == {x.NETWORK.id: ids, x.ident(99): [x.ident(902)], x.ident(98): []}

    def test_those_that_queue_for_the_same_keep_nobody_else(self, site: Scribe) -> None:
        many = [
            waiting(n, since=START, request=asked(queue=True, subnet=x.SUBNET.id)) for n in range(1, MOST_QUEUED + 2)
        ]
        others = [
            waiting(901, since=START + SECOND), waiting(902, since=START + SECOND, host=x.ident(40)),
            waiting(903, since=START + 2 * SECOND, request=asked(queue=True, family="v6")),
        ]  # fmt: skip
        site.write(*(e.ClaimDeferred(claim=one) for one in (*many, *others)))
        found = site.facts(queued=[(x.NETWORK.id, 0)]).queued[x.NETWORK.id]
        assert found == [one.id for one in (*many[: MOST_QUEUED - 3], *others)]
        assert site.facts(queued=[(x.NETWORK.id, 1)]).queued[x.NETWORK.id] == [one.id for one in others]
        assert site.facts(queued=[(x.NETWORK.id, 4)]).queued[x.NETWORK.id] == []

    def test_a_renumbering_reads_what_it_can_move(self, site: Scribe) -> None:
        one, two = x.claim(1), x.claim(2, static=True)
        fields: list[dict[str, Any]] = [
            {}, {"standing": "alias"}, {"lease": True}, {"standing": "shelved"}, {"held_until": START + DAY},
            {"held_until": START},
        ]  # fmt: skip
        rows = [x.allocation(11 + n, one, f"10.0.0.{9 - n}", **more) for n, more in enumerate(fields)]
        static, new = x.allocation(30, two, "10.0.0.1"), x.allocation(31, one, "10.1.0.1", subnet=x.ident(9))
        site.write(*(x.given(one, row, opens=row is rows[0]) for row in rows), x.given(two, static))
        keys = [(x.SUBNET.id, False, START, 9), (x.ident(98), False, START, 9)]
        facts = site.facts(renumbering=keys)
        assert facts.renumbering == {x.SUBNET.id: [rows[n].id for n in (5, 3, 1, 0)], x.ident(98): []}
        assert (facts.left, set(facts.claims)) == ({x.SUBNET.id: 5, x.ident(98): 0}, {one.id})
        site.write(x.given(one, replace(new, replaces=rows[1].id), opens=False))
        facts = site.facts(renumbering=[(x.SUBNET.id, True, START, 2)])
        assert (facts.renumbering[x.SUBNET.id], facts.left[x.SUBNET.id]) == ([static.id, rows[5].id], 5)


class HarvestContract(StoreFixtures):
    """Which claims a harvest may take, and in which order."""

    @pytest.fixture
    def fleet(self, site: Scribe) -> Scribe:
        """Three machines with an address each, two of which were seen."""
        for n, when in enumerate((None, START - 2 * DAY, START - 9 * DAY)):
            machine = Machine(x.ident(20 + n), f"m{n}", seen=when)
            one = home(1 + n, machine.id, since=START - (5 + n) * DAY)
            held = x.allocation(11 + n, one, f"10.0.0.{n + 5}")
            site.write(e.MachineCreated(machine=machine), x.given(one, held))
        return site

    def harvest(self, site: Scribe, before: datetime = START, most: int = 9, *, allowed: bool = True) -> list[int]:
        """Numbers of the claims."""
        found = site.facts(harvest=[(x.NETWORK.id, before, allowed, most)]).harvest
        return [int(id_, 16) for id_ in found[x.NETWORK.id]]

    def test_those_unseen_longest_come_first(self, fleet: Scribe) -> None:
        assert self.harvest(fleet) == [3, 1, 2]
        assert self.harvest(fleet, most=2) == [3, 1]
        assert self.harvest(fleet, START - 5 * DAY) == [3]
        assert self.harvest(fleet, allowed=False) == []
        facts = fleet.facts(harvest=[(x.NETWORK.id, START, True, 1), (x.ident(98), START, True, 1)])
        assert (set(facts.machines), facts.harvest[x.ident(98)]) == ({x.ident(22)}, [])

    def test_a_machine_that_is_seen_or_deployed_is_not_harvested(self, fleet: Scribe) -> None:
        machine = Machine(x.ident(22), "m2", seen=START - DAY, revision=2)
        fleet.write(e.MachineSeen(machine=machine))
        assert self.harvest(fleet) == [1, 2, 3]
        deployed = replace(machine, state="deployed")
        fleet.write(e.MachineDeployed(machine=deployed))
        fleet.write(x.given(home(4, machine.id), x.allocation(14, home(4, machine.id), "10.0.0.9")))
        assert self.harvest(fleet, START + DAY) == [1, 2]
        fleet.write(e.MachineReleased(machine=replace(machine, state="ready")))
        assert self.harvest(fleet, START + DAY) == [1, 2, 3, 4]

    def test_the_claims_word_wins_then_the_machines_then_the_networks(self, fleet: Scribe) -> None:
        one, two = home(1, x.ident(20), harvest="never"), home(2, x.ident(21), harvest="allowed")
        fleet.write(e.ClaimChanged(claim=one), e.ClaimChanged(claim=two))
        fleet.write(e.MachineChanged(machine=Machine(x.ident(22), "m2", harvest="never")))
        assert (self.harvest(fleet), self.harvest(fleet, allowed=False)) == ([2], [2])
        fleet.write(e.MachineChanged(machine=Machine(x.ident(22), "m2", harvest="allowed")))
        assert self.harvest(fleet, allowed=False) == [3, 2]

    @pytest.mark.parametrize(
        "fields",
        [
            {"static": True}, {"kept": "deployment"}, {"bound": None}, {"until": START},
            {"request": asked(address="10.0.0.5")}, {"request": asked(addresses=("10.0.0.5",))},
        ],
        ids=["static", "for a deployment", "pending", "released", "by name", "by names"],
    )  # fmt: skip
    def test_what_is_never_harvested(self, fleet: Scribe, fields: dict[str, Any]) -> None:
        fleet.write(e.ClaimChanged(claim=home(1, x.ident(20), since=START - 5 * DAY, **fields)))
        assert self.harvest(fleet) == [3, 2]


class LabelsContract(StoreFixtures):
    """Words by which open things are found."""

    def said(self, site: Scribe) -> set[Label]:
        """All labels."""
        with site.store.snapshot() as now:
            return set(now.labels())

    def test_labels_follow_tags_and_custom_fields(self, site: Scribe) -> None:
        network = replace(x.NETWORK, tags=("a",), custom={"n": 1, "b": False, "f": 0.5, "s": "x=y"})
        subnet, machine = replace(x.SUBNET, tags=("a", "b")), Machine(x.ident(20), "m", tags=("c",))
        one = x.claim(1, tags=("d",), custom={"owner": "alice"})
        held = x.allocation(11, one, "10.0.0.5")
        site.write(e.NetworkChanged(network=network), e.SubnetChanged(subnet=subnet))
        site.write(e.MachineCreated(machine=machine), x.given(one, held))
        fields = {Label("network", network.id, label) for label in ("t:a", "c:n=1", "c:b=false", "c:f=0.5", "c:s=x=y")}
        of_subnet = {Label("subnet", subnet.id, "t:a"), Label("subnet", subnet.id, "t:b")}
        rest = {
            Label("machine", machine.id, "t:c"),
            Label("claim", one.id, "t:d"),
            Label("claim", one.id, "c:owner=alice"),
        }
        assert self.said(site) == fields | of_subnet | rest
        site.write(e.NetworkChanged(network=x.NETWORK), e.MachineDeleted(machine=machine))
        site.write(x.taken(x.released(one), held))
        assert self.said(site) == of_subnet
        site.write(e.SubnetDeleted(subnet=subnet))
        assert self.said(site) == set()

    def test_a_batch_leaves_its_net(self, site: Scribe) -> None:
        one, plain = x.claim(1, tags=("a",)), x.claim(2)
        held, other = x.allocation(11, one, "10.0.0.5"), x.allocation(12, plain, "10.0.0.6")
        tagged = replace(plain, tags=("b",))
        site.write(
            x.given(one, held), x.taken(x.released(one), held), x.given(plain, other), e.ClaimChanged(claim=tagged)
        )
        assert self.said(site) == {Label("claim", plain.id, "t:b")}
        site.write(e.ClaimChanged(claim=plain), x.taken(x.released(plain), other))
        assert self.said(site) == set()

    def test_a_deferred_claim_has_labels_until_it_is_released(self, site: Scribe) -> None:
        one = x.claim(1, bound=None, tags=("a",))
        site.write(e.ClaimDeferred(claim=one))
        assert self.said(site) == {Label("claim", one.id, "t:a")}
        site.write(e.ClaimReleased(claim=x.released(one)))
        assert self.said(site) == set()
