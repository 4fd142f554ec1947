"""What each event of claims and addresses makes of the state, and how it is taken back."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tenure.engine.space import Space
from tenure.model import events as e
from tenure.model.observed import Observation
from tenure.net.addresses import number_of

if TYPE_CHECKING:
    from tenure.engine.state import State

Undo = Callable[[], object]


def _claim_deferred(state: "State", event: e.ClaimDeferred) -> Undo:
    claim = event.claim
    state.count_claim(claim, 1)
    state.count_waiting(claim, 1)

    def undo() -> None:
        state.count_claim(claim, -1)
        state.count_waiting(claim, -1)

    return undo


def _claim_bound(state: "State", event: e.ClaimBound) -> Undo:
    claim, before = event.claim, event.before
    state.count_waiting(claim, -1)
    _move_count(state, before, claim.host)

    def undo() -> None:
        state.count_waiting(claim, 1)
        _move_count(state, claim.host, before)

    return undo


def _claim_rebound(state: "State", event: e.ClaimRebound) -> Undo:
    claim, before = event.claim, event.before
    _move_count(state, before, claim.host)
    kept = [(state.subnets[a.subnet], number_of(a.ip), a) for a in event.allocations]
    loose = [(space, number, space.loosen(number, a.away(claim.host))) for space, number, a in kept]

    def undo() -> None:
        for space, number, host in loose:
            space.loosen(number, host)
        _move_count(state, claim.host, before)

    return undo


def _move_count(state: "State", old: str | None, new: str | None) -> None:
    if old is not None:
        state.claims_at[old] -= 1
    if new is not None:
        state.claims_at[new] += 1


def _claim_released(state: "State", event: e.ClaimReleased) -> Undo:
    claim = event.claim
    waits = claim.bound is None
    state.count_claim(claim, -1)
    if waits:
        state.count_waiting(claim, -1)

    def undo() -> None:
        state.count_claim(claim, 1)
        if waits:
            state.count_waiting(claim, 1)

    return undo


def _allocated(state: "State", event: e.AddressAllocated) -> Undo:
    allocation = event.allocation
    number = number_of(allocation.ip)
    space = state.subnets[allocation.subnet]
    block = space.block_at(number)
    emptied = None if block is None else block.emptied
    worn = space.worn(number)
    rest = space.take(number)
    if event.opens:
        state.count_claim(event.claim, 1)
    space.loosen(number, allocation.away(event.claim.host))

    def undo() -> None:
        space.loosen(number, None)
        space.untake(number)
        if rest is not None:
            space.rest(number, rest)
        space.unwear(number, worn=worn)
        if block is not None and block.emptied is not None:
            block.emptied = emptied
        if event.opens:
            state.count_claim(event.claim, -1)

    return undo


def _released(state: "State", event: e.AddressReleased) -> Undo:
    allocation = event.allocation
    number = number_of(allocation.ip)
    space = state.subnets[allocation.subnet]
    woken = space.untake(number)
    loose = space.loosen(number, None)
    cooling = allocation.cooling_until
    rests = cooling is not None and allocation.until is not None and cooling > allocation.until
    if rests and cooling is not None:
        space.rest(number, cooling)
    if event.closes:
        state.count_claim(event.claim, -1)

    def undo() -> None:
        if rests:
            space.unrest(number)
        space.take(number, woken)
        space.loosen(number, loose)
        if event.closes:
            state.count_claim(event.claim, 1)

    return undo


def _moved(state: "State", event: e.AddressMoved) -> Undo:
    """The address stays in use; which claim counts, and who routes it, may change."""
    space, number = state.subnets[event.allocation.subnet], number_of(event.allocation.ip)
    loose = space.loosen(number, event.allocation.away(event.claim.host))
    _count_moved(state, event, 1)

    def undo() -> None:
        _count_moved(state, event, -1)
        space.loosen(number, loose)

    return undo


def _count_moved(state: "State", event: e.AddressMoved, step: int) -> None:
    if event.opens:
        state.count_claim(event.claim, step)
    if event.closes:
        state.count_claim(event.giver, -step)


def _stands(state: "State", event: e.AddressShelved | e.AddressAliased | e.AddressRestored) -> Undo:
    """A shelved address is used nowhere, so that nobody routes it; any other one is."""
    space, number = state.subnets[event.allocation.subnet], number_of(event.allocation.ip)
    loose = space.loosen(number, event.allocation.away(event.claim.host))
    return lambda: space.loosen(number, loose)


def _observed(state: "State", event: e.AddressObserved) -> Undo:
    return _avoided(state, event.observation)


def _disputed(state: "State", event: e.AddressDisputed) -> Undo:
    """The holder keeps it; when it is given back, whoever was seen there may use it still."""
    return _nothing(state, event) if event.observed is None else _avoided(state, event.observed)


def _avoided(state: "State", seen: Observation) -> Undo:
    space, number = state.subnets[seen.subnet], number_of(seen.ip)
    if seen.until <= seen.last:
        return _trusted(space, number)
    worn = space.worn(number)
    before = space.avoid(number, seen.until)

    def undo() -> None:
        if before is not None:
            space.avoid(number, before)
        else:
            space.trust(number)
            space.unwear(number, worn=worn)

    return undo


def _trusted(space: Space, number: int) -> Undo:
    """Whoever was seen there has the address now."""
    before = space.trust(number)
    return lambda: None if before is None else space.avoid(number, before)


def _nothing(state: "State", event: e.Event) -> Undo:
    return lambda: None


HELD: dict[type, "Callable[[State, Any], Undo]"] = {
    e.ClaimDeferred: _claim_deferred,
    e.ClaimBound: _claim_bound,
    e.ClaimRebound: _claim_rebound,
    e.ClaimSettled: _nothing,
    e.ClaimChanged: _nothing,
    e.ClaimExpiring: _nothing,
    e.ClaimReleased: _claim_released,
    e.AddressAllocated: _allocated,
    e.AddressReleased: _released,
    e.AddressMoved: _moved,
    e.AddressShelved: _stands,
    e.AddressAliased: _stands,
    e.AddressRestored: _stands,
    e.AddressNamed: _nothing,
    e.AddressAttached: _nothing,
    e.AddressDetached: _nothing,
    e.AddressObserved: _observed,
    e.AddressDisputed: _disputed,
    e.LeasePromised: _nothing,
    e.LeaseCompacted: _nothing,
}
