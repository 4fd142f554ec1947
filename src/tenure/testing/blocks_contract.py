"""The suite that every store must pass: blocks, and by what right a claim has what lies in them.

As for `store_contract`, a store's own tests subclass the class, and give the fixture `open_store`.
"""

import pytest
from msgspec.structs import replace

from tenure.model import events as e
from tenure.model.placement import Block
from tenure.model.policy import BlockKind
from tenure.store.interface import DataRefused
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


def _blocks(site: Scribe) -> list[Block]:
    with site.store.snapshot() as now:
        return list(now.blocks())
