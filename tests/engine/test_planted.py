"""Faults planted on purpose: each is caught by what the properties look at."""

from collections.abc import Callable

import pytest

from tenure.engine import reducers
from tenure.engine.blocks import Blocks
from tenure.engine.draft import Draft
from tenure.engine.fingerprint import fingerprint
from tenure.engine.page import Page
from tenure.engine.pages import Occupancy
from tenure.engine.state import State
from tenure.errors import Exhausted
from tenure.model import events as e
from tenure.model import uses as u
from tests.engine import naive
from tests.engine.world import World, site


def busy() -> None:
    """Claims, releases, a wait and a replay, each step looked at as the properties do."""
    world = site("10.0.0.0/26", domain="prod.example.", block_length_v4=29)
    held = [world.claim(host=host, hostname=f"n{n}") for n, host in enumerate(["h0-0", "h0-1", "h0-0", "h1-0"])]
    naive.check(world)
    for holding in held[:2]:
        world.release(holding)
        naive.check(world)
    world.wait(10)
    for n in range(12):
        world.claim(host="h0-1", hostname=f"m{n}")
        naive.check(world)
    world.do(u.RebindClaim(claim=held[3].claim.id, host="h0-2", renumber=True))
    naive.check(world)
    replay(world)
    world.wait(1000)
    naive.check(world)


def replay(world: World) -> None:
    replayed = State()
    for event in world.events:
        replayed.reduce(event)
    replayed.advance(world.now)
    assert fingerprint(replayed) == fingerprint(world.state)
    assert fingerprint(State.load(world.tables, world.now)) == fingerprint(world.state)


def double_bit(patch: pytest.MonkeyPatch) -> None:
    """A free address's neighbour is taken with it."""
    lost = Occupancy._lost

    def plant(self: Occupancy, number: int, page: Page) -> None:
        page.used |= 1 << (number + 1 & 255)
        lost(self, number, page)

    patch.setattr(Occupancy, "_lost", plant)


def skipped_cooldown(patch: pytest.MonkeyPatch) -> None:
    """A released address does not rest."""
    patch.setattr(Occupancy, "rest", lambda self, number, until: None)


def lost_event(patch: pytest.MonkeyPatch) -> None:
    """A block is owned, and the ledger does not say so."""
    record = Draft.record

    def plant(self: Draft, event: e.Event) -> None:
        record(self, event)
        if isinstance(event, e.BlockOwned) and event.block.kind == "host":
            self.events.pop()

    patch.setattr(Draft, "record", plant)


def wrong_undo(patch: pytest.MonkeyPatch) -> None:
    """What a refusal takes back is not what was done."""

    def plant(state: State, event: e.BlockOwned) -> reducers.Undo:
        reducers._own(state, event.block)
        return lambda: None

    patch.setitem(reducers.REDUCERS, e.BlockOwned, plant)


def forgotten_gain(patch: pytest.MonkeyPatch) -> None:
    """An address that is free again is not counted in its block."""
    patch.setattr(Blocks, "_gained", Occupancy._gained)


def given_twice(patch: pytest.MonkeyPatch) -> None:
    """A search does not look at what is held."""
    patch.setattr(Occupancy, "next_free", lambda self, first, last: first)


FAULTS = [double_bit, skipped_cooldown, lost_event, wrong_undo, forgotten_gain, given_twice]


def test_the_sound_engine_passes() -> None:
    busy()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_each_planted_fault_is_caught(fault: Callable[[pytest.MonkeyPatch], None]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        fault(patch)
        with pytest.raises((AssertionError, KeyError, Exhausted)):  # a refusal while there is room betrays one too
            busy()
