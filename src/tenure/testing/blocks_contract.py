"""The suite that every store must pass: blocks, and by what right a claim has what lies in them.

As for `store_contract`, a store's own tests subclass the class, and give the fixture `open_store`.
"""

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from tenure.model import events as e
from tenure.model.placement import Block
from tenure.model.policy import BlockKind
from tenure.store.interface import DataRefused
from tenure.store.placements import HandedOver
from tenure.testing import ledgers as x
from tenure.testing.ledgers import START, Scribe
from tenure.testing.store_contract import StoreFixtures


class BlocksContract(StoreFixtures):
    """A block has one owner and one length at a time, within a batch too."""

    def test_blocks_change_hands(self, site: Scribe) -> None:
        rack, host = Block(x.SUBNET.id, "10.0.0.0/24", "r", "rack"), Block(x.SUBNET.id, "10.0.0.0/28", "h")
        site.write(e.BlockOwned(block=host), e.BlockOwned(block=rack))
        other = Block(x.SUBNET.id, "10.0.0.0/28", None)
        site.write(e.BlockSurrendered(block=host), e.BlockOwned(block=other))
        with site.store.snapshot() as now:
            assert list(now.blocks()) == [rack, other]
        with pytest.raises(DataRefused):
            site.write(e.BlockOwned(block=rack), e.BlockOwned(block=replace(rack, owner="s")))

    def test_blocks_come_a_kind_at_a_time_the_widest_first(self, site: Scribe) -> None:
        kinds: tuple[BlockKind, ...] = ("host", "region", "rack", "site")
        blocks = {
            kind: [Block(x.SUBNET.id, cidr, kind, kind) for cidr in ("10.0.4.0/24", "10.0.0.0/24")] for kind in kinds
        }
        site.write(*(e.BlockOwned(block=blocks[kind][n]) for n in range(2) for kind in kinds))
        with site.store.snapshot() as now:
            assert list(now.blocks()) == [*blocks["region"], *blocks["site"], *blocks["rack"], *blocks["host"]]

    def test_a_block_may_be_resized_many_times_in_one_batch(self, site: Scribe) -> None:
        small, grown, wide = (Block(x.SUBNET.id, f"10.0.0.0/{length}", "h") for length in (28, 27, 26))
        grows, grows_on = e.BlockResized(before=small, block=grown), e.BlockResized(before=grown, block=wide)
        site.write(e.BlockOwned(block=small), grows, grows_on)
        assert _blocks(site) == [wide]
        shrinks, shrinks_on = e.BlockResized(before=wide, block=grown), e.BlockResized(before=grown, block=small)
        site.write(shrinks, shrinks_on, grows, grows_on, shrinks)
        assert _blocks(site) == [grown]
        site.write(grows_on, e.BlockSurrendered(block=wide))
        assert _blocks(site) == []
        site.write(e.BlockOwned(block=small), grows, grows_on, e.BlockSurrendered(block=wide))
        assert _blocks(site) == []
        with pytest.raises(DataRefused, match="blocks"):
            site.write(grows)

    def test_a_block_that_changes_and_changes_back_in_one_batch_is_there(self, site: Scribe) -> None:
        mine, lost = Block(x.SUBNET.id, "10.0.0.0/28", "h"), Block(x.SUBNET.id, "10.0.0.0/28", None)
        site.write(e.BlockOwned(block=mine))
        site.write(
            e.BlockSurrendered(block=mine), e.BlockOwned(block=lost),
            e.BlockSurrendered(block=lost), e.BlockOwned(block=mine),
        )  # fmt: skip
        assert _blocks(site) == [mine]
        site.write(e.BlockSurrendered(block=mine))
        assert _blocks(site) == []

    def test_a_claim_that_moves_changes_the_titles_of_its_addresses(self, site: Scribe) -> None:
        one = x.claim(1, host="a")
        held = x.allocation(11, one, "10.0.0.5", block="10.0.0.0/28", title="own")
        site.write(x.given(one, held))
        there, lent = replace(one, host="b", revision=2), replace(held, title="borrowed")
        moved = e.ClaimRebound(claim=there, before="a", allocations=(lent,))
        site.write(moved)
        assert site.facts(claims=[one.id]).held[one.id] == {held.id: lent}
        home, back = replace(one, revision=3), e.ClaimRebound(claim=one, before="b", allocations=(held,))
        site.write(replace(back, claim=home), moved, x.taken(x.released(there), lent))
        past = site.store.reads.addresses(now=START, state="cooling").items
        assert [(known.allocation.title, known.claim.host) for known in past] == [("borrowed", "b")]

    def test_an_address_that_is_handed_over_is_told_until_that_is_settled(self, site: Scribe) -> None:
        one = x.claim(1, host="a")
        held = [x.allocation(11 + n, one, f"10.0.0.{5 + n}", title="own") for n in range(2)]
        site.write(x.given(one, held[0]), x.given(one, held[1], opens=False))
        assert _handed_over(site) == []
        moved = replace(one, host="b", leaving="a", settles=START, revision=2)
        site.write(e.ClaimRebound(claim=moved, before="a", allocations=tuple(held)))
        first = 10 << 24
        assert _handed_over(site) == [HandedOver(one.id, "b", "a", x.SUBNET.id, first + n) for n in (5, 6)]
        site.write(x.taken(moved, held[0]))
        assert _handed_over(site) == [HandedOver(one.id, "b", "a", x.SUBNET.id, first + 6)]
        site.write(e.ClaimSettled(claim=replace(moved, leaving=None, settles=None, revision=3), before="a"))
        assert _handed_over(site) == []

    def test_what_was_held_at_a_time_is_told(self, site: Scribe) -> None:
        later, end = START + timedelta(hours=1), START + timedelta(hours=2)
        one, lease = x.claim(1, host="a"), x.claim(2, host="a")
        held, young = x.allocation(11, one, "10.0.0.5"), x.allocation(12, one, "10.0.0.6", since=later)
        site.write(x.given(one, held), x.given(one, young, opens=False))
        site.write(x.given(lease, x.allocation(13, lease, "10.0.0.7", lease=True)))
        site.write(x.taken(one, held, at=end))
        first, hour = 10 << 24, timedelta(hours=1)
        found = {time: _held_at(site, time) for time in (START - hour, START, later, end)}
        assert found == {START - hour: [], START: [first + 5], later: [first + 5, first + 6], end: [first + 6]}


def _handed_over(site: Scribe) -> list[HandedOver]:
    with site.store.snapshot() as now:
        return sorted(now.handovers())


def _held_at(site: Scribe, time: datetime) -> list[int]:
    with site.store.snapshot() as now:
        found = list(now.held_at(time))
    assert {(each.claim, each.host, each.subnet) for each in found} <= {(x.ident(1), "a", x.SUBNET.id)}
    return sorted(each.number for each in found)


def _blocks(site: Scribe) -> list[Block]:
    with site.store.snapshot() as now:
        return list(now.blocks())
