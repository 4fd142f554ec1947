"""The suite that every store must pass: what people make in zones, who replicates them, and the zones' journals.

As for `store_contract`, a store's own tests subclass these classes and give the fixture `open_store`.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tenure.engine.images import images
from tenure.errors import InvalidValue
from tenure.model import events as e
from tenure.model.dnsdata import Record, Secondary, TsigKey, Zone, ZoneChange, ZoneRecord
from tenure.model.topology import Location
from tenure.naming.serial import leap, step
from tenure.store.interface import DataRefused
from tenure.testing import ledgers as x
from tenure.testing.ledgers import START, Scribe
from tenure.testing.store_contract import StoreFixtures

DAY: Final = timedelta(days=1)
ZONE: Final = Zone(id=x.ident(5), vrf=x.VRF.id, name="prod.example.", serial=7, kept=True, name_template="{ip-hex}")
KEY: Final = TsigKey(id=x.ident(50), name="ns2.example.", algorithm="hmac-sha256", since=START, vrf=x.VRF.id)
OTHER: Final = x.ident(99)
"""A vrf."""


def made(number: int, owner: str = "www", **fields: Any) -> ZoneRecord:
    """A record that a person made in `ZONE`."""
    rdata = bytes([10, 0, 0, number])
    record = ZoneRecord(
        id=x.ident(100 + number), zone=ZONE.id, owner=f"{owner}.prod.example.", type="A", data=f"10.0.0.{number}",
        rdata=rdata,
    )  # fmt: skip
    return replace(record, **fields)


def secondary(number: int, name: str, **fields: Any) -> Secondary:
    """A server that replicates the sample vrf's zones."""
    made = Secondary(id=x.ident(number), name=name, vrf=x.VRF.id, address="192.0.2.53", key=KEY.id)
    return replace(made, **fields)


class ZonedFixtures(StoreFixtures):
    """A store with a zone."""

    @pytest.fixture
    def zoned(self, site: Scribe) -> Scribe:
        """Writes into it."""
        site.write(e.ZoneCreated(zone=ZONE))
        return site


class ZonesContract(ZonedFixtures):
    """Records, keys and secondaries: rows, lists, single things, and search."""

    def test_what_people_make_is_kept_changed_and_closed(self, zoned: Scribe) -> None:
        one, two = made(1, ttl=60), made(2)
        zoned.write(e.RecordCreated(record=one), e.RecordCreated(record=two, doubles=True))
        moved = replace(one, data="10.0.0.9", rdata=bytes([10, 0, 0, 9]), ttl=None, revision=2)
        zoned.write(e.RecordChanged(before=one, record=moved), e.RecordDeleted(record=two))
        with zoned.store.snapshot() as now:
            assert now.records == [moved]
        reads = zoned.store.reads
        assert (reads.record(one.id).value, reads.record(two.id).value) == (moved, None)
        assert reads.record(one.owner).value is None, "a record is found by its id only"
        with pytest.raises(DataRefused):
            zoned.write(e.RecordDeleted(record=two))

    def test_a_key_keeps_its_secret_apart(self, zoned: Scribe) -> None:
        zoned.write(e.TsigKeyCreated(key=KEY), sealed={KEY.id: b"\x00sealed"})
        reads = zoned.store.reads
        with zoned.store.snapshot() as now:
            assert now.tsig_keys == [(KEY, b"\x00sealed")]
        assert (reads.sealed(KEY.id), reads.sealed("no")) == (b"\x00sealed", None)
        assert reads.tsig_key(KEY.name).value == reads.tsig_key(KEY.id).value == KEY
        assert reads.tsig_keys().items == [KEY]
        assert b"sealed" not in b"".join(repr(entry).encode() for entry in zoned.store.entries(0, 100))
        twin = replace(KEY, id=x.ident(51))
        with pytest.raises(DataRefused):
            zoned.write(e.TsigKeyCreated(key=twin), sealed={twin.id: b"s"})
        zoned.write(e.TsigKeyDeleted(key=KEY), e.TsigKeyCreated(key=twin), sealed={twin.id: b"other"})
        assert (reads.sealed(KEY.id), reads.sealed(twin.id)) == (None, b"other")
        assert (reads.tsig_key(KEY.name).value, reads.tsig_key(KEY.id).value) == (twin, None)

    def test_secondaries_are_kept_changed_and_closed(self, zoned: Scribe) -> None:
        one, two = secondary(60, "ns2"), secondary(61, "ns3", vrf=OTHER, transfer_from=("2001:db8::/64",))
        zoned.write(e.SecondaryCreated(secondary=one), e.SecondaryCreated(secondary=two))
        silent = replace(one, notify=False, port=5353, revision=2)
        zoned.write(e.SecondaryChanged(secondary=silent))
        reads = zoned.store.reads
        with zoned.store.snapshot() as now:
            assert now.secondaries == [silent, two]
        assert reads.secondary("ns2").value == reads.secondary(one.id).value == silent
        assert reads.secondaries(vrf=OTHER).items == [two]
        with pytest.raises(DataRefused):
            zoned.write(e.SecondaryCreated(secondary=secondary(62, "ns3")))
        zoned.write(e.SecondaryDeleted(secondary=two), e.SecondaryCreated(secondary=secondary(62, "ns3")))
        assert [each.id for each in reads.secondaries().items] == [one.id, x.ident(62)]
        assert reads.secondaries(vrf=OTHER).items == []

    def test_records_are_listed_by_zone_type_and_owner(self, zoned: Scribe) -> None:
        elsewhere = made(4, zone=x.ident(6))
        text = made(5, owner="_dmarc", type="TXT", data='"v=DMARC1"', rdata=b"\x08v=DMARC1")
        found = (made(1), made(2), made(3, owner="mail"), elsewhere, text)
        zoned.write(*(e.RecordCreated(record=record) for record in found))
        records = zoned.store.reads.records
        assert records().items == list(found)
        assert records(zone=ZONE.id, type_="A").items == list(found[:3])
        assert records(q="www.", zone=ZONE.id).items == list(found[:2])
        assert records(type_="TXT", q="_").items == [text]
        first = records(limit=2)
        assert first.items + records(first.next or "").items == list(found)
        with pytest.raises(InvalidValue):
            records("no cursor")

    def test_a_zone_is_found_by_name_in_its_vrf(self, zoned: Scribe) -> None:
        zone = zoned.store.reads.zone
        assert zone("prod.example.").value == zone("prod.example.", x.VRF.id).value == ZONE
        twin = replace(ZONE, id=x.ident(6), vrf=OTHER)
        zoned.write(e.ZoneCreated(zone=twin))
        assert zone("prod.example.").value is None, "two vrfs have it"
        assert [zone("prod.example.", vrf).value for vrf in (x.VRF.id, OTHER, "no")] == [ZONE, twin, None]
        assert zone(twin.id).value == zone(twin.id, OTHER).value == twin
        assert zone(twin.id, x.VRF.id).value is None

    @pytest.mark.parametrize(
        ("q", "found"),
        [
            ("prod.example", [("zone", "prod.example.")]),
            ("WWW.prod", [("record", "www.prod.example. A"), ("record", "www.prod.example. A")]),
            ("mail.prod.example.", [("record", "mail.prod.example. A")]),
            (x.ident(103), [("record", "mail.prod.example. A")]),
            ("ns2", [("secondary", "ns2"), ("tsig_key", "ns2.example.")]),
            ("ns2.example.", [("tsig_key", "ns2.example.")]),
            ("gone", []),
        ],
    )
    def test_search_finds_what_zones_have(self, zoned: Scribe, q: str, found: list[tuple[str, str]]) -> None:
        gone = made(9, owner="gone")
        records = (made(1), made(2), made(3, owner="mail"), gone)
        zoned.write(*(e.RecordCreated(record=record) for record in records), e.RecordDeleted(record=gone))
        zoned.write(e.TsigKeyCreated(key=KEY), sealed={KEY.id: b"s"})
        zoned.write(e.SecondaryCreated(secondary=secondary(60, "ns2")))
        said = zoned.store.reads.search(q).value
        assert said.understood_as == "name"
        assert [(each.kind, each.label) for each in said.items] == found
        assert {each.zone for each in said.items} <= {ZONE.id if each.kind == "record" else "" for each in said.items}


class AlikeContract(StoreFixtures):
    """Names that read as a template's, of an address that is not theirs."""

    KEY: Final = (x.VRF.id, "prod.example.", "ip-", "")

    def called(self, site: Scribe, names: dict[str, str], **fields: Any) -> list[str]:
        """Hold addresses under names; the ids of their allocations."""
        ids = []
        for n, (name, ip) in enumerate(names.items(), site.store.head().sequence):
            one = x.claim(1000 + n)
            held = x.allocation(5000 + n, one, ip, hostname=name, **fields)
            site.write(x.given(one, held))
            ids.append(held.id)
        return ids

    def found(self, site: Scribe, key: tuple[str, str, str, str]) -> list[str]:
        """Hostnames."""
        return sorted(held.hostname or "" for held in site.facts(alike=[key]).alike[key])

    @pytest.mark.parametrize(("before", "after"), [("ip-", ""), ("", ".dyn"), ("ip-", ".dyn"), ("", "")])
    def test_only_what_reads_as_another_address_is_found(self, site: Scribe, before: str, after: str) -> None:
        def name(middle: str) -> str:
            return f"{before}{middle}{after}"

        other = {name("10-0-0-7"): "10.0.0.1", name("0a000009"): "10.0.0.2", name("0-0-0-0-0-0-0-1"): "10.0.0.3"}
        own = {name("10-0-0-4"): "10.0.0.4", name("0a000005"): "10.0.0.5", name("2001-db8-0-0-0-0-0-6"): "2001:db8::6"}
        no_address = {name("10-0-0-256"): "10.0.0.8", name("010-0-0-1"): "10.0.0.9", name("x"): "10.0.0.10"}
        self.called(site, other | own | no_address | {"www": "10.0.0.11"})
        assert self.found(site, (x.VRF.id, "prod.example.", before, after)) == sorted(other)

    def test_other_domains_and_vrfs_and_what_is_closed_are_left_out(self, site: Scribe) -> None:
        blue = replace(x.NETWORK, id=x.ident(70), name="blue", domain="blue.example.")
        inner = replace(x.SUBNET, id=x.ident(71), network=blue.id, cidr="10.1.0.0/24")
        site.write(e.NetworkCreated(network=blue), e.SubnetCreated(subnet=inner))
        self.called(site, {"ip-10-1-0-7": "10.1.0.1"}, subnet=inner.id)
        one = x.claim(1)
        held = x.allocation(2, one, "10.0.0.1", hostname="ip-10-0-0-7")
        site.write(x.given(one, held), x.taken(x.released(one), held))
        shelved = self.called(site, {"ip-10-0-0-8": "10.0.0.2"}, standing="shelved")
        assert [row.id for row in site.facts(alike=[self.KEY]).alike[self.KEY]] == shelved, "its name may come back"
        assert self.found(site, (x.VRF.id, "blue.example.", "ip-", "")) == ["ip-10-1-0-7"]
        assert self.found(site, (OTHER, "prod.example.", "ip-", "")) == []
        assert self.found(site, (x.VRF.id, "no.example.", "ip-", "")) == []

    def test_what_a_batch_gives_and_renames_is_known(self, site: Scribe) -> None:
        (first,) = self.called(site, {"ip-10-0-0-7": "10.0.0.1"})
        facts = site.facts(alike=[self.KEY])
        held, claim = facts.allocations[first], next(iter(facts.claims.values()))
        two = x.claim(2)
        given = x.given(two, x.allocation(2, two, "10.0.0.3", hostname="ip-10-0-0-9"))
        renamed = e.AddressNamed(claim=claim, allocation=replace(held, hostname="www"))
        undos = [undo for event in (given, renamed) for undo in facts.reduce(images(event))]
        assert [row.ip for row in facts.alike[self.KEY]] == ["10.0.0.3"]
        for undo in reversed(undos):
            undo()
        assert facts.alike[self.KEY] == [held]


class BelowContract(StoreFixtures):
    """Who is called by a name below another."""

    def test_names_below_a_name_are_counted_in_their_domain(self, site: Scribe) -> None:
        blue = replace(x.NETWORK, id=x.ident(70), name="blue", domain="blue.example.")
        inner = replace(x.SUBNET, id=x.ident(71), network=blue.id, cidr="10.1.0.0/24")
        site.write(e.NetworkCreated(network=blue), e.SubnetCreated(subnet=inner))
        names = ("lab", "a.lab", "b.a.lab", "xlab", "lab.x", "l-b", "a_lab", "b")
        for n, name in enumerate(names, 1):
            one = x.claim(n)
            site.write(x.given(one, x.allocation(100 + n, one, f"10.0.0.{n}", hostname=name)))
        one = x.claim(50)
        held = x.allocation(150, one, "10.1.0.1", hostname="c.lab", subnet=inner.id)
        site.write(x.given(one, held))
        gone = x.claim(60)
        closed = x.allocation(160, gone, "10.0.0.60", hostname="c.lab")
        site.write(x.given(gone, closed), x.taken(x.released(gone), closed))
        prod = ("below", x.VRF.id, "prod.example.", "lab")
        long = ("below", x.VRF.id, "prod.example.", "much.longer.lab")
        other = ("below", x.VRF.id, "blue.example.", "lab")
        found = site.facts(holders=[prod, long, other, ("below", OTHER, "prod.example.", "lab")]).holders
        assert found[prod] == (["a.lab.prod.example.", "b.a.lab.prod.example."], 2)
        assert (found[long], found[other]) == (([], 0), (["c.lab.blue.example."], 1))
        assert found["below", OTHER, "prod.example.", "lab"] == ([], 0)


class JournalContract(ZonedFixtures):
    """Changes of a zone: found by serial, exact, and let go of from the oldest on."""

    def steps(self, site: Scribe, *serials: int, zone: Zone = ZONE, time: datetime = START) -> list[ZoneChange]:
        """Journal a change with each of these serials."""
        changes = []
        for serial in serials:
            sequence = site.store.head().sequence + 1
            record = Record(f"n{serial}.{zone.name}", 1, 300, b"\x0a\x00\x00\x05")
            changes.append(ZoneChange(zone.id, serial, sequence, (), (record,)))
            place = Location(x.ident(10_000 + sequence), f"l{sequence}", "rack")
            site.write(e.LocationCreated(location=place), zone_changes=changes[-1:], time=time)
        return changes

    def test_changes_follow_a_serial(self, zoned: Scribe) -> None:
        since = zoned.store.reads.changes_since
        told = self.steps(zoned, 8, 9, 10)
        assert since(ZONE.id, 7) == told
        assert since(ZONE.id, 8) == told[1:]
        assert since(ZONE.id, 7, 2) == told[:2]
        for unknown in (10, 11, 6, 0, 2**32 - 1, 2**31):
            assert since(ZONE.id, unknown) == []
        assert since("no", 7) == []
        for limit in (0, 1001):
            with pytest.raises(InvalidValue):
                since(ZONE.id, 7, limit)

    def test_a_zone_that_changed_as_a_whole_is_a_change_without_records(self, zoned: Scribe) -> None:
        before = self.steps(zoned, 8)
        whole = ZoneChange(ZONE.id, 9, zoned.store.head().sequence + 1)
        zoned.write(e.ZoneReshaped(zone=replace(ZONE, ttl=60, revision=2)), zone_changes=[whole])
        after = self.steps(zoned, 10)
        since = zoned.store.reads.changes_since
        assert since(ZONE.id, 7) == [*before, whole, *after]
        assert since(ZONE.id, 8) == [whole, *after]
        assert since(ZONE.id, 9) == after

    def test_serials_go_round_and_leap(self, zoned: Scribe) -> None:
        high = replace(ZONE, id=x.ident(6), name="high.example.", serial=2**32 - 2)
        zoned.write(e.ZoneCreated(zone=high))
        since = zoned.store.reads.changes_since
        round_ = self.steps(zoned, 2**32 - 1, step(2**32 - 1), 2, zone=high)
        assert since(high.id, high.serial) == round_
        assert since(high.id, 2**32 - 1) == round_[1:]
        (leapt,) = self.steps(zoned, leap(2), zone=high)
        assert since(high.id, 2) == [], "what a restore lost is not known"
        assert since(high.id, 1) == [round_[2], leapt]
        (later,) = self.steps(zoned, step(leap(2)), zone=high)
        assert since(high.id, leap(2)) == [later]

    def test_zones_have_journals_of_their_own(self, zoned: Scribe) -> None:
        other = replace(ZONE, id=x.ident(6), name="other.example.", serial=7)
        zoned.write(e.ZoneCreated(zone=other))
        mine, theirs = self.steps(zoned, 8), self.steps(zoned, 8, 9, zone=other)
        assert zoned.store.reads.changes_since(ZONE.id, 7) == mine
        assert zoned.store.reads.changes_since(other.id, 7) == theirs

    def test_what_is_old_goes_and_the_rest_is_exact(self, zoned: Scribe) -> None:
        self.steps(zoned, 8, 9)
        young = self.steps(zoned, 10, 11, time=START + 2 * DAY)
        store = zoned.store
        assert store.prune_journal(START, 100, 1000) == 0, "none is older than that"
        assert store.prune_journal(START + DAY, 100, 1000) == 2
        assert store.reads.changes_since(ZONE.id, 9) == young
        assert store.reads.changes_since(ZONE.id, 8) == []
        assert store.prune_journal(START + DAY, 100, 1000) == 0

    def test_the_newest_steps_stay_however_many_there_are(self, zoned: Scribe) -> None:
        high = replace(ZONE, id=x.ident(6), name="high.example.", serial=2**32 - 3)
        zoned.write(e.ZoneCreated(zone=high))
        self.steps(zoned, 2**32 - 2, 2**32 - 1, 1, 2, zone=high)
        kept = self.steps(zoned, 8, 9, 10)
        store = zoned.store
        assert store.prune_journal(START - DAY, 3, 1000) == 2
        assert store.reads.changes_since(ZONE.id, 7) == kept
        assert [change.serial for change in store.reads.zone_changes(high.id, 0)] == [1, 2]

    def test_what_is_before_a_leap_goes_at_once(self, zoned: Scribe) -> None:
        self.steps(zoned, 8, 9)
        kept = self.steps(zoned, leap(9), step(leap(9)))
        assert zoned.store.prune_journal(START - DAY, 100_000, 1000) == 2
        assert zoned.store.reads.zone_changes(ZONE.id, 0) == kept

    def test_a_zone_that_is_gone_keeps_its_journal_until_it_is_old(self, zoned: Scribe) -> None:
        self.steps(zoned, 8)
        zoned.write(e.ZoneDeleted(zone=ZONE))
        assert zoned.store.prune_journal(START - DAY, 100, 10) == 0
        assert zoned.store.prune_journal(START + DAY, 100, 10) == 1
        assert zoned.store.reads.zone_changes(ZONE.id, 0) == []

    @pytest.mark.parametrize("limit", [0, 10_001])
    def test_a_part_has_bounds(self, zoned: Scribe, limit: int) -> None:
        with pytest.raises(InvalidValue):
            zoned.store.prune_journal(START, 100, limit)

    @settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
    @given(lengths=st.lists(st.integers(0, 6), min_size=2, max_size=3), most=st.integers(1, 7), limit=st.integers(1, 5))
    def test_no_part_leaves_a_gap(self, site: Scribe, lengths: Sequence[int], most: int, limit: int) -> None:
        zones = self.some_zones(site, lengths)
        while True:
            gone = site.store.prune_journal(START - DAY, most, limit)
            for zone, journal in zones.items():
                left = site.store.reads.zone_changes(zone, 0)
                assert left == journal[len(journal) - len(left) :]
                assert len(left) >= min(most, len(journal))
            if gone < limit:
                break
        assert all(
            len(site.store.reads.zone_changes(zone, 0)) == min(most, len(journal)) for zone, journal in zones.items()
        )

    def some_zones(self, site: Scribe, lengths: Sequence[int]) -> dict[str, list[ZoneChange]]:
        """Zones that were not there before, with journals of these lengths, step by step in turn."""
        first = site.store.head().sequence
        zones = [replace(ZONE, id=x.ident(first + n), name=f"z{first + n}.example.") for n in range(len(lengths))]
        site.write(*(e.ZoneCreated(zone=zone) for zone in zones))
        told: dict[str, list[ZoneChange]] = {zone.id: [] for zone in zones}
        for n in range(max(lengths)):
            for zone, length in zip(zones, lengths, strict=True):
                if n < length:
                    told[zone.id] += self.steps(site, ZONE.serial + 1 + n, zone=zone)
        return told
