"""The suite that every store must pass.

A store's own tests subclass these classes, and give the fixture `open_store`: a function that opens the store
anew at the test's own, empty place, with a given clock. Each call is like another node or process.
"""

import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from tenure.errors import InvalidValue
from tenure.model import events as e
from tenure.model.access import Token
from tenure.model.addressing import Range
from tenure.model.dnsdata import Record, Zone, ZoneChange
from tenure.model.machines import Machine
from tenure.model.placement import Block
from tenure.model.topology import Location
from tenure.store.interface import DataRefused, KeyUse, Replay, Span, Store
from tenure.testing import ledgers as x
from tenure.testing.ledgers import START, Scribe

OpenStore = Callable[..., Store]
SECOND = timedelta(seconds=1)


class StoreFixtures:
    """A store, and something that writes into it."""

    @pytest.fixture
    def store(self, open_store: OpenStore) -> Store:
        """A store whose schema is there and that holds nothing."""
        store = open_store()
        store.prepare()
        return store

    @pytest.fixture
    def scribe(self, store: Store) -> Scribe:
        """Writes into it."""
        return Scribe(store)

    @pytest.fixture
    def site(self, scribe: Scribe) -> Scribe:
        """Writes into it, behind one vrf, network and subnet."""
        scribe.write(*x.SITE)
        return scribe


class LedgerContract(StoreFixtures):
    """Turns, sequences, epochs, time and outcomes."""

    def test_a_prepared_store_is_empty_and_has_an_epoch(self, store: Store) -> None:
        head = store.head()
        assert (head.sequence, head.batch, head.time) == (0, "", None)
        assert head.epoch

    def test_preparing_again_keeps_the_epoch(self, store: Store, open_store: OpenStore) -> None:
        epoch = store.head().epoch
        other = open_store()
        other.prepare()
        assert other.head().epoch == epoch

    def test_two_first_starts_at_once_are_safe(self, open_store: OpenStore) -> None:
        stores = [open_store() for _ in range(4)]
        _all_at_once([store.prepare for store in stores])
        assert len({store.head().epoch for store in stores}) == 1

    def test_entries_come_back_as_they_were_written(self, site: Scribe) -> None:
        batch = site.write(x.given(x.claim(1), x.allocation(2, x.claim(1), "10.0.0.5")))
        assert site.store.entries(3, 10) == list(batch.entries)
        assert site.store.head().batch == batch.id
        assert site.store.head().sequence == 4

    def test_entries_are_limited_and_chosen_by_kind(self, site: Scribe) -> None:
        assert [entry.sequence for entry in site.store.entries(1, 1)] == [2]
        kinds = ["tenure.vrf.created", "tenure.subnet.created"]
        assert [entry.sequence for entry in site.store.entries(0, 10, kinds)] == [1, 3]

    def test_no_read_is_without_an_end(self, site: Scribe) -> None:
        store = site.store
        for limit in (0, -1, 10_001):
            with pytest.raises(InvalidValue):
                store.entries(0, limit)
        for read in (
            lambda limit: store.reads.search("x", limit),
            lambda limit: store.reads.zone_changes("z", 0, limit),
        ):
            for limit in (0, 1_001):
                with pytest.raises(InvalidValue):
                    read(limit)
        assert store.entries(2**80, 10) == []

    def test_a_turn_sees_the_ledger_under_its_lock(self, site: Scribe) -> None:
        with site.store.turn() as turn:
            assert turn.head.sequence == 3
            assert [entry.sequence for entry in turn.entries(1)] == [2, 3]
            assert turn.batch_at(2) == turn.head.batch
            assert turn.batch_at(4) is None

    def test_leaving_a_turn_without_commit_writes_nothing(self, site: Scribe) -> None:
        with site.store.turn() as turn:
            turn.apply(site.batch(3, [x.given(x.claim(1), x.allocation(2, x.claim(1), "10.0.0.5"))]))
        assert site.store.head().sequence == 3
        assert site.facts(claims=["0" * 19 + "1"]).claims == {}

    def test_an_error_in_a_turn_writes_nothing(self, site: Scribe) -> None:
        with pytest.raises(ZeroDivisionError), site.store.turn() as turn:
            turn.apply(site.batch(3, [x.given(x.claim(1), x.allocation(2, x.claim(1), "10.0.0.5"))]))
            raise ZeroDivisionError
        assert site.store.head().sequence == 3

    def test_now_is_never_before_the_ledger(self, site: Scribe) -> None:
        late = datetime.fromisoformat("2200-01-01T00:00:00+00:00")
        site.write(e.LocationCreated(location=Location(x.ident(9), "r1", "rack")), time=late)
        with site.store.turn() as turn:
            assert turn.now == late
            assert turn.head.time == late

    def test_a_gap_or_a_place_taken_twice_is_refused(self, site: Scribe) -> None:
        with pytest.raises(DataRefused), site.store.turn() as turn:
            turn.apply(site.batch(2, [e.LocationCreated(location=Location(x.ident(9), "r1", "rack"))]))
        assert site.store.head().sequence == 3

    def test_text_that_no_database_keeps_is_refused(self, site: Scribe) -> None:
        bad = x.claim(1, handle="\ud800")
        with pytest.raises(DataRefused):
            site.write(x.given(bad, x.allocation(2, bad, "10.0.0.5")))
        assert site.store.head().sequence == 3

    def test_an_epoch_begins_with_its_batch(self, site: Scribe) -> None:
        before = site.store.head().epoch
        site.write(e.EpochStarted(epoch="e2", reason="restored"), epoch="e2")
        assert site.store.head().epoch == "e2" != before

    def test_committed_tells_what_is_there(self, site: Scribe) -> None:
        batch = site.write(e.LocationCreated(location=Location(x.ident(9), "r1", "rack")))
        assert site.store.committed(batch.id, 4)
        assert not site.store.committed("never", 4)
        assert not site.store.committed(batch.id, 5)

    def test_waiting_ends_when_another_node_writes(self, site: Scribe, open_store: OpenStore) -> None:
        seen: list[bool] = []
        waiting = threading.Thread(target=lambda: seen.append(site.store.wait(3, 30)))
        waiting.start()
        Scribe(open_store(), "other").write(e.LocationCreated(location=Location(x.ident(9), "r1", "rack")))
        waiting.join(30)
        assert seen == [True]

    def test_waiting_has_an_end(self, site: Scribe) -> None:
        assert site.store.wait(2, 0)
        assert not site.store.wait(3, 0)
        assert not site.store.wait(3, 0.01)

    def test_concurrent_writers_leave_no_gap_and_followers_see_each_entry_once(
        self, store: Store, open_store: OpenStore
    ) -> None:
        writers, each = 6, 15
        seen: list[int] = []

        def write(n: int) -> None:
            scribe = Scribe(open_store(), f"w{n}-")
            for i in range(each):
                place = Location(f"{n:010x}{i:010x}", f"p-{n}-{i}", "rack")
                scribe.write(e.LocationCreated(location=place), e.LocationChanged(location=place))

        def follow() -> None:
            while len(seen) < writers * each * 2:
                after = seen[-1] if seen else 0
                store.wait(after, 10)
                seen.extend(entry.sequence for entry in store.entries(after, 7))

        _all_at_once([follow, *(lambda n=n: write(n) for n in range(writers))])
        assert seen == list(range(1, writers * each * 2 + 1))
        batches = [entry.batch for entry in store.entries(0, 1000)]
        assert sum(a != b for a, b in pairwise(batches)) == writers * each - 1


class LoudContract(StoreFixtures):
    """What should be there and is not is a bug, and nothing of the batch is written."""

    def test_a_claim_that_is_not_there_is_not_changed(self, site: Scribe) -> None:
        _refused(site, "claims", e.ClaimReleased(claim=x.released(x.claim(1))))
        _refused(site, "claims", e.ClaimRebound(claim=x.claim(1, host=x.ident(8))))

    def test_an_address_that_is_not_held_is_not_taken(self, site: Scribe) -> None:
        one = x.claim(1)
        held = x.allocation(11, one, "10.0.0.5")
        site.write(x.given(one, held))
        other = x.allocation(12, one, "10.0.0.6")
        _refused(site, "allocations", x.taken(one, other))
        _refused(site, "allocations", e.LeasePromised(claim=one, allocation=replace(other, held_until=START)))

    def test_what_is_not_worn_is_not_taken_off(self, site: Scribe) -> None:
        one = x.claim(1)
        held = x.allocation(11, one, "10.0.0.5")
        site.write(*x.machine(20, "m", "52:54:00:00:00:01"), x.given(one, held, x.ident(21)))
        _refused(site, "attachments", x.taken(one, held, port=x.ident(22)))
        site.write(x.taken(one, held, port=x.ident(21)))

    def test_a_block_that_nobody_owns_is_not_surrendered(self, site: Scribe) -> None:
        host = Block(x.SUBNET.id, "10.0.0.0/28", "h")
        _refused(site, "blocks", e.BlockSurrendered(block=host))
        site.write(e.BlockOwned(block=host))
        _refused(site, "blocks", e.BlockOwned(block=host))
        site.write(e.BlockSurrendered(block=host), e.BlockOwned(block=host))
        _refused(site, "blocks", e.BlockSurrendered(block=replace(host, cidr="10.0.0.16/28")))

    def test_inventory_that_is_not_there_is_not_changed(self, site: Scribe) -> None:
        _refused(site, "networks", e.NetworkChanged(network=replace(x.NETWORK, id=x.ident(9), name="other")))
        span = Range(id=x.ident(9), subnet=x.SUBNET.id, start="10.0.0.5", end="10.0.0.6", role="reserved")
        _refused(site, "ranges", e.RangeDeleted(range=span))

    def test_a_zone_that_is_not_there_has_no_serial(self, site: Scribe) -> None:
        place = e.LocationCreated(location=Location(x.ident(9), "r1", "rack"))
        with pytest.raises(DataRefused, match="of zones"):
            site.write(place, zone_changes=[ZoneChange(x.ident(5), 8, 4, (), ())])
        assert site.store.head().sequence == 3


class RowsContract(StoreFixtures):
    """Net images in, rows out: closed rows, and the unique indexes as last referees."""

    def test_inventory_is_made_changed_and_closed(self, site: Scribe) -> None:
        network = replace(x.NETWORK, name="blue", revision=2)
        site.write(e.NetworkChanged(network=network), e.SubnetDeleted(subnet=x.SUBNET))
        with site.store.snapshot() as now:
            assert (now.networks, now.subnets, now.vrfs) == ([network], [], [x.VRF])
            assert now.head.sequence == 5

    def test_a_thing_made_and_closed_in_one_batch_leaves_nothing_open(self, site: Scribe) -> None:
        place = Location(x.ident(9), "r1", "rack")
        site.write(e.LocationCreated(location=place), e.LocationDeleted(location=place))
        with site.store.snapshot() as now:
            assert now.locations == []

    def test_a_name_is_unique_among_what_is_open(self, site: Scribe) -> None:
        place = Location(x.ident(9), "r1", "rack")
        site.write(e.LocationCreated(location=place))
        twin = Location(x.ident(8), "r1", "rack")
        with pytest.raises(DataRefused):
            site.write(e.LocationCreated(location=twin))
        site.write(e.LocationDeleted(location=place), e.LocationCreated(location=twin))
        with site.store.snapshot() as now:
            assert now.locations == [twin]

    def test_names_may_be_swapped_in_one_batch(self, site: Scribe) -> None:
        site.write(*x.machine(10, "a"), *x.machine(20, "b"))
        one, two = Machine(x.ident(10), "b", revision=2), Machine(x.ident(20), "a", revision=2)
        site.write(e.MachineChanged(machine=one), e.MachineChanged(machine=two))
        assert site.facts(machines=["a", "b"]).machine_names["a"] == two.id

    def test_a_mac_is_unique_among_open_interfaces(self, site: Scribe) -> None:
        site.write(*x.machine(10, "a", "52:54:00:00:00:01"))
        with pytest.raises(DataRefused):
            site.write(*x.machine(20, "b", "52:54:00:00:00:01"))

    def test_a_prefix_is_unique_in_its_vrf(self, site: Scribe) -> None:
        with pytest.raises(DataRefused):
            site.write(e.SubnetCreated(subnet=replace(x.SUBNET, id=x.ident(77))))
        site.write(e.SubnetCreated(subnet=replace(x.SUBNET, id=x.ident(78), vrf=x.ident(79))))

    def test_an_address_is_held_once_in_a_vrf(self, site: Scribe) -> None:
        one, two = x.claim(1), x.claim(2)
        site.write(x.given(one, x.allocation(11, one, "10.0.0.5")))
        with pytest.raises(DataRefused):
            site.write(x.given(two, x.allocation(12, two, "10.0.0.5")))
        site.write(x.given(two, x.allocation(12, two, "10.0.0.5", vrf=x.ident(99))))

    def test_one_refused_row_refuses_the_batch(self, site: Scribe) -> None:
        one, two = x.claim(1), x.claim(2)
        with pytest.raises(DataRefused):
            site.write(x.given(one, x.allocation(11, one, "10.0.0.5")), x.given(two, x.allocation(12, two, "10.0.0.5")))
        assert site.store.head().sequence == 3

    def test_a_handle_is_unique_among_open_claims_of_a_project(self, site: Scribe) -> None:
        one, two = x.claim(1, handle="h"), x.claim(2, handle="h")
        held = x.allocation(11, one, "10.0.0.5")
        site.write(x.given(one, held))
        with pytest.raises(DataRefused):
            site.write(x.given(two, x.allocation(12, two, "10.0.0.6")))
        site.write(x.given(replace(two, project="blue"), x.allocation(12, two, "10.0.0.6")))
        three = x.claim(3, handle="h")
        site.write(x.taken(x.released(one), held), x.given(three, x.allocation(13, three, "10.0.0.7")))
        assert site.facts(handles=[("default", "h")]).handles["default", "h"] == three.id

    def test_two_claims_may_swap_their_addresses_in_one_batch(self, site: Scribe) -> None:
        one, two = x.claim(1), x.claim(2)
        a, b = x.allocation(11, one, "10.0.0.5"), x.allocation(12, two, "10.0.0.6")
        site.write(x.given(one, a), x.given(two, b))
        new_a, new_b = x.allocation(21, two, "10.0.0.5"), x.allocation(22, one, "10.0.0.6")
        site.write(x.taken(one, a), x.taken(two, b), x.given(two, new_a, opens=False), x.given(one, new_b, opens=False))
        facts = site.facts(claims=[one.id, two.id])
        assert list(facts.held[one.id]) == [new_b.id]
        assert list(facts.held[two.id]) == [new_a.id]

    def test_an_address_that_is_given_again_keeps_its_past(self, site: Scribe) -> None:
        one, two = x.claim(1), x.claim(2)
        held, again = x.allocation(11, one, "10.0.0.5"), x.allocation(12, two, "10.0.0.5")
        site.write(x.given(one, held))
        site.write(x.taken(x.released(one), held), x.given(two, again))
        past = site.store.reads.history(x.VRF.id, "10.0.0.5")
        kinds = [line.entry.event.kind.rpartition(".")[2] for line in past.items]
        assert kinds == ["allocated", "released", "allocated"]
        closed = site.store.reads.claim(one.id).value
        assert closed is not None and closed.claim.state == "released" and closed.addresses == ()

    def test_given_and_taken_in_one_batch_is_closed(self, site: Scribe) -> None:
        one = x.claim(1)
        held = x.allocation(11, one, "10.0.0.5")
        site.write(x.given(one, held), x.taken(x.released(one), held))
        assert site.facts(claims=[one.id]).claims[one.id].state == "released"
        assert site.facts(addresses=[(x.VRF.id, "10.0.0.5")]).addresses == {(x.VRF.id, "10.0.0.5"): None}

    def test_a_promise_moves_only_its_end(self, site: Scribe) -> None:
        one = x.claim(1)
        held = x.allocation(11, one, "10.0.0.5", lease=True, hostname="a")
        site.write(x.given(one, held))
        promised = replace(held, held_until=START + SECOND)
        site.write(e.LeasePromised(claim=one, allocation=promised))
        assert site.facts(claims=[one.id]).held[one.id][held.id] == promised

    def test_a_deferred_claim_is_bound(self, site: Scribe) -> None:
        waiting = x.claim(1, bound=None)
        site.write(e.ClaimDeferred(claim=waiting))
        bound = replace(waiting, bound=START, host=x.ident(8), revision=2)
        site.write(e.ClaimBound(claim=bound), x.given(bound, x.allocation(11, bound, "10.0.0.5"), opens=False))
        facts = site.facts(claims=[waiting.id])
        assert facts.claims[waiting.id] == bound
        assert [held.ip for held in facts.held[waiting.id].values()] == ["10.0.0.5"]

    def test_zone_serials_move_with_their_changes_only(self, site: Scribe) -> None:
        zone = Zone(id=x.ident(5), vrf=x.VRF.id, name="prod.example.", serial=7)
        site.write(e.ZoneCreated(zone=zone))
        record = Record("a.prod.example.", 1, 300, b"\x0a\x00\x00\x05")
        change = ZoneChange(zone.id, 8, 5, (), (record,))
        site.write(e.ZoneReshaped(zone=replace(zone, ttl=60, revision=2)), zone_changes=[change])
        site.write(e.ZoneReshaped(zone=replace(zone, ttl=30, revision=3)))
        with site.store.snapshot() as now:
            assert [(z.serial, z.ttl) for z in now.zones] == [(8, 30)]
        assert site.store.reads.zone_changes(zone.id, 4) == [change]
        assert site.store.reads.zone_changes(zone.id, 5) == []

    def test_tokens_keep_their_digest_apart(self, site: Scribe) -> None:
        token = Token(id=x.ident(4), name="ci", role="admin", since=START)
        site.write(e.TokenCreated(token=token), digests={token.id: b"d" * 32})
        with site.store.snapshot() as now:
            assert now.tokens == [(token, b"d" * 32)]
        assert site.store.reads.token_by_digest(b"d" * 32) == token
        site.write(e.TokenRevoked(token=token))
        assert site.store.reads.token_by_digest(b"d" * 32) is None

    def test_idempotency_keys_replay_and_are_forgotten(self, site: Scribe) -> None:
        key = KeyUse("token:ci", "k-1", 2, b"digest", "change", b"answer\x00")
        site.write(e.LocationCreated(location=Location(x.ident(9), "r1", "rack")), keys=[key])
        asked = [("token:ci", "k-1", 2), ("token:ci", "k-1", 3)]
        with site.store.turn() as turn:
            now = turn.now
            assert turn.replays(asked) == {asked[0]: Replay(b"digest", "change", b"answer\x00")}
            assert turn.replays([]) == {}
            keys = [("token:ci", "k-1"), ("token:ci", "k-2"), ("token:other", "k-1")]
            assert turn.digests(keys) == {keys[0]: b"digest"}
            assert turn.digests([]) == {}
        assert site.store.forget_keys(now - timedelta(hours=24)) == 0
        assert site.store.forget_keys(now + SECOND) == 1
        with site.store.turn() as turn:
            assert turn.replays(asked) == {}

    def test_a_duty_has_one_owner_and_a_term(self, store: Store) -> None:
        assert store.take_duty("upkeep", "a", START, 10) == 1
        assert store.take_duty("upkeep", "b", START + 5 * SECOND, 10) is None
        assert store.take_duty("upkeep", "a", START + 5 * SECOND, 10) == 1
        assert store.take_duty("upkeep", "b", START + 15 * SECOND, 10) == 2
        assert store.take_duty("upkeep", "a", START + 16 * SECOND, 10) is None
        assert store.take_duty("upkeep", "b", START + 60 * SECOND, 10) == 3
        assert store.take_duty("webhooks", "a", START, 10) == 1

    def test_names_are_read_of_some_addresses_alone(self, site: Scribe) -> None:
        for n, ip in enumerate(("10.0.0.4", "10.0.0.5", "10.0.0.9", "2001:db8::1"), 1):
            one = x.claim(n)
            site.write(x.given(one, x.allocation(10 + n, one, ip, hostname=f"vm-{n}")))
        low, six = 0x0A000000, 0x20010DB8 << 96
        with site.store.snapshot() as now:
            spans = [Span(x.SUBNET.id, 4, low + 5, low + 9), Span(x.SUBNET.id, 6, six, six + 1)]
            assert [name.hostname for name in now.named(spans)] == ["vm-2", "vm-3", "vm-4"]
            assert list(now.named([])) == list(now.named([Span(x.ident(9), 4, 0, 2**32 - 1)])) == []
            assert len(list(now.named())) == 4

    def test_the_snapshot_streams_what_memory_needs(self, site: Scribe) -> None:
        one, two, three = x.claim(1), x.claim(2, host="h"), x.claim(3, bound=None, host="h")
        gone = x.allocation(11, one, "10.0.0.5")
        site.write(
            x.given(one, gone), x.given(two, x.allocation(12, two, "2001:db8::1", hostname="vm")),
            e.ClaimDeferred(claim=replace(three, request=replace(three.request, count=3, family="v6"))),
        )  # fmt: skip
        site.write(x.taken(x.released(one), gone, rest=300))
        with site.store.snapshot() as now:
            assert list(now.held(START + 299 * SECOND)) == [
                (x.SUBNET.id, 0x20010DB8 << 96 | 1, False, None),
                (x.SUBNET.id, 0x0A000005, False, START + 300 * SECOND),
            ]
            assert len(list(now.held(START + 300 * SECOND))) == 1
            assert list(now.named()) == [(x.SUBNET.id, 0x20010DB8 << 96 | 1, "vm")]
            assert sorted(now.tallies(), key=lambda tally: tally.pending) == [
                (x.NETWORK.id, "h", False, "", 1, 1),
                (x.NETWORK.id, "h", True, "v6", 3, 1),
            ]

    def test_the_snapshot_has_what_rests_though_its_subnet_is_closed(self, site: Scribe) -> None:
        one, two = x.claim(1), x.claim(2)
        old, six = x.allocation(11, one, "10.0.0.5"), x.allocation(12, two, "2001:db8::1")
        site.write(x.given(one, old), x.given(two, six))
        site.write(x.taken(x.released(one), old, rest=300), x.taken(x.released(two), six, rest=600))
        with site.store.snapshot() as now:
            assert list(now.strays(START)) == []
        site.write(e.SubnetDeleted(subnet=x.SUBNET))
        with site.store.snapshot() as now:
            assert sorted(now.strays(START + 299 * SECOND)) == [
                (x.VRF.id, 4, 0x0A000005, START + 300 * SECOND),
                (x.VRF.id, 6, 0x20010DB8 << 96 | 1, START + 600 * SECOND),
            ]
            assert len(list(now.strays(START + 300 * SECOND))) == 1


def _refused(site: Scribe, table: str, event: e.Event) -> None:
    """The event's batch is refused for the sake of one table, and nothing of it is there."""
    before = site.store.head()
    with pytest.raises(DataRefused) as refused:
        site.write(event)
    assert table in str(refused.value)
    assert site.store.head() == before


def _all_at_once(calls: list[Callable[[], Any]]) -> None:
    """Run each in a thread of its own; the first error is raised."""
    errors: list[BaseException] = []

    def run(call: Callable[[], Any]) -> None:
        try:
            call()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
