"""Moving claims to another host, with their addresses or for new ones; hand-overs; and a host emptied in one go."""

from datetime import timedelta

import msgspec

from tenure.engine import resolve
from tenure.engine.adjacent import side_by_side
from tenure.engine.claims import open_claim
from tenure.engine.draft import Draft
from tenure.engine.holdings import holding, release
from tenure.engine.placing import find
from tenure.engine.reach import barrier, not_draining
from tenure.engine.replacing import beside, follow_name, may_write
from tenure.engine.state import State
from tenure.errors import Conflict, InvalidValue, TenureError
from tenure.model import events as e
from tenure.model.answers import Answers, Holding
from tenure.model.holding import LEASES, Allocation, Claim
from tenure.model.placement import ROOT
from tenure.model.policy import Title, reach_of
from tenure.model.topology import Location
from tenure.model.uses import EvacuateHost, RebindClaim, SettleClaim
from tenure.net.addresses import number_of, version_of

MOST_EVACUATED = 10_000
LONGEST_HANDOVER = 86_400
"""Seconds for which the host that a claim leaves may go on announcing its addresses."""

Move = RebindClaim | EvacuateHost

_SENT = ("/static_acknowledged",)
"""What a refusal of one of many may point at; nothing else of it was sent."""


def rebind_claim(use: RebindClaim, draft: Draft) -> Holding:
    """Move a claim to another host, with its addresses or, `renumber`, with new ones near it.

    An address that is kept is that of the block where it lies: at that block's owner its title is
    `own`, elsewhere `borrowed`. For `handover` seconds both hosts announce it, and the new one is preferred.
    A claim that is there already is shown as it is.

    Raises:
        InvalidValue: The place is no host, and the claim is not there already.
        Conflict: It is pending; the place is draining; a boundary or a subnet's place keeps an address where it is,
            and `renumber` was not said; or it was, and the claim is static and nobody acknowledged that.
        Exhausted: There is nothing for it near the new host; it stays as it was.

    Cost: for each address, one look at its block.
    """
    claim = open_claim(draft, use.claim)
    place = resolve.location(draft.state, use.host)
    _bounded(use.handover)
    if claim.bound is None:
        raise Conflict(f"claim {claim.id} is not bound yet; bind it", claim=claim.id)
    if claim.project == LEASES:
        raise Conflict(f"claim {claim.id} is a dynamic lease: it stays where its client is", claim=claim.id)
    if claim.host != place.id:  # one at a rack, as DHCP binds them, is renumbered there
        resolve.only_host(place)
    return _moved(draft, claim, place.id, use)


def settle_claim(use: SettleClaim, draft: Draft) -> Holding:
    """End a hand-over: the host that a claim left announces it no longer. Without one, it is shown as it is."""
    claim = open_claim(draft, use.claim)
    _settle(draft, claim)
    return holding(draft, draft.facts.claims[claim.id])


def settle_due(draft: Draft, limit: int) -> int:
    """End the hand-overs whose time is over, at most `limit`; how many there were.

    They are those that `Wanted.settling` asked for and that no use of this batch has ended since.
    """
    known = (draft.facts.claims[claim] for claim in draft.facts.settling)
    over = [c for c in known if c.until is None and c.settles is not None and c.settles <= draft.moment.now][:limit]
    for claim in over:
        _settle(draft, claim)
    return len(over)


def evacuate_host(use: EvacuateHost, draft: Draft) -> Answers:
    """Move every bound claim of a host to another, each as `rebind_claim` does; all of them or none.

    Pending claims stay: they hold nothing yet.

    Raises:
        InvalidValue: `to` is no host, or the host itself.
        Conflict, Exhausted: One cannot be moved: fact `claim` says which.
        Conflict: There are more than 10,000 claims.

    Cost: as of so many moves.
    """
    host = resolve.location(draft.state, use.host)
    to = resolve.location(draft.state, use.to, "/to")
    resolve.matching(host.revision, draft.asked.if_match)
    _bounded(use.handover)
    if host.id == to.id:
        raise InvalidValue(f"{host.name} cannot be moved to itself", pointer="/to")
    resolve.only_host(to, "/to")
    not_draining(draft.state, to.id, "/to")
    return Answers(tuple([_carried(draft, claim, to.id, use) for claim in _bound_at(draft, host)]))


def follow_host(draft: Draft, claim: Claim, machine: str | None) -> Claim:
    """Record that a claim's addresses are used, and announced, where this machine is; the claim as it is then.

    A machine whose place is not known to be a host changes nothing.

    Raises:
        Conflict: An address cannot be used there.
    """
    host = host_of(draft, machine)
    if host is None or host == claim.host or claim.bound is None:
        return claim
    not_draining(draft.state, host)
    _keep(draft, claim, host, 0)
    return draft.facts.claims[claim.id]


def host_of(draft: Draft, machine: str | None) -> str | None:
    """The host that a machine is known to be at: its location, if that is one."""
    place = None if machine is None else draft.facts.machines[machine].location
    return place if place is not None and draft.state.locations[place].kind == "host" else None


def leave_host(draft: Draft, claim: Claim) -> Claim:
    """Record that nobody announces a claim's addresses any more; the claim as it is then."""
    if claim.host is None:
        return claim
    gone = msgspec.structs.replace(claim, host=None, leaving=None, settles=None, revision=claim.revision + 1)
    kept = tuple([_titled(draft.state, allocation, None) for allocation in draft.facts.held[claim.id].values()])
    draft.record(e.ClaimRebound(claim=gone, before=claim.host, allocations=kept))
    return gone


def _bounded(handover: int) -> None:
    if not 0 <= handover <= LONGEST_HANDOVER:
        raise InvalidValue(
            f"handover must be 0 to {LONGEST_HANDOVER} seconds",
            pointer="/handover",
            minimum=0,
            maximum=LONGEST_HANDOVER,
        )


def _bound_at(draft: Draft, host: Location) -> list[Claim]:
    """The bound claims of a host, oldest first."""
    count = draft.state.claims_at[host.id]
    if count > MOST_EVACUATED:
        raise Conflict(
            f"{host.name} has {count:,} claims, and {MOST_EVACUATED:,} can be moved at once; rebind some of them first",
            count=count,
            maximum=MOST_EVACUATED,
        )
    found = [draft.facts.claims[claim] for claim in draft.facts.standing.get(host.id, ())]
    if len(found) != count:  # it got its name in this very batch, after its claims were read
        raise Conflict(f"{host.name} is changing at this moment; ask again", location=host.name)
    return sorted((claim for claim in found if claim.bound is not None), key=lambda claim: (claim.since, claim.id))


def _carried(draft: Draft, claim: Claim, to: str, how: Move) -> Holding:
    """One of many: a refusal says which it is about."""
    try:
        return _moved(draft, claim, to, how)
    except TenureError as error:
        facts = {name: fact for name, fact in error.facts.items() if name != "pointer" or fact in _SENT}
        raise type(error)(f"claim {claim.handle!r}: {error.message}", **{**facts, "claim": claim.id}) from error


def _moved(draft: Draft, claim: Claim, host: str, how: Move) -> Holding:
    if claim.host != host or how.renumber:
        not_draining(draft.state, host)
        if how.renumber:
            _renumber(draft, claim, host, acknowledged=how.static_acknowledged)
        else:
            _keep(draft, claim, host, how.handover)
    return holding(draft, draft.facts.claims[claim.id])


def _keep(draft: Draft, claim: Claim, host: str, handover: int) -> None:
    kept = tuple([kept_at(draft, claim, allocation, host) for allocation in draft.facts.held[claim.id].values()])
    leaving = claim.host if handover else None
    moved = msgspec.structs.replace(
        claim,
        host=host,
        leaving=leaving,
        settles=None if leaving is None else draft.moment.now + timedelta(seconds=handover),
        revision=claim.revision + 1,
    )
    draft.record(e.ClaimRebound(claim=moved, before=claim.host, allocations=kept))


def kept_at(draft: Draft, claim: Claim, allocation: Allocation, host: str) -> Allocation:
    """An allocation with the title that it has at another host.

    Raises:
        Conflict: It cannot be used there.
    """
    state, network = draft.state, draft.state.networks[claim.network]
    space, number = state.subnets[allocation.subnet], number_of(allocation.ip)
    bound = space.subnet.locations
    if bound and not set(state.way_up(host)[0]).intersection(bound):
        raise Conflict(f"{allocation.ip} is of a subnet that does not reach there; renumber", address=allocation.ip)
    if barrier(state, network, space, number, host) is not None:
        reach = reach_of(network.boundary)
        raise Conflict(
            f"network {network.name} has a hard boundary: {allocation.ip} cannot leave its {reach}; renumber",
            address=allocation.ip,
            boundary="hard",
            reach=reach,
        )
    return _titled(state, allocation, host)


def _titled(state: State, allocation: Allocation, host: str | None) -> Allocation:
    """An allocation with the title that it has at a host: by whose block it lies in."""
    block = state.subnets[allocation.subnet].block_at(number_of(allocation.ip))
    if allocation.lease or (block is None and allocation.block is None):
        return allocation
    title: Title = "own" if block is not None and block.owner == (host or ROOT) else "borrowed"
    return msgspec.structs.replace(allocation, title=title)


def _renumber(draft: Draft, claim: Claim, host: str, *, acknowledged: bool) -> None:
    """The new addresses are decided before the old ones are given back, so that they are others.

    Each is used, called and stands as the one that it replaces.
    """
    may_write(claim, acknowledged=acknowledged)
    if claim.by_name or claim.request.reservation is not None:
        raise Conflict(f"claim {claim.id} asks for just what it has; release it first", claim=claim.id)
    moved = msgspec.structs.replace(claim, host=host, leaving=None, settles=None, revision=claim.revision + 1)
    draft.record(e.ClaimRebound(claim=moved, before=claim.host))
    for waiting in [a for a in draft.facts.held[claim.id].values() if a.replaces is not None]:
        follow_name(draft, waiting)
    old = sorted(draft.facts.held[claim.id].values(), key=lambda a: (version_of(a.ip), number_of(a.ip)))
    for version in (4, 6):
        _replace(draft, moved, [a for a in old if version_of(a.ip) == version], version)
    release(draft, draft.facts.claims[claim.id], "renumbered", closes=False, held=old)


def _replace(draft: Draft, claim: Claim, old: list[Allocation], version: int) -> None:
    """Record new addresses of a version near a claim's host, side by side if it asked for that and has them so."""
    together = claim.request.contiguous and claim.request.count == len(old) > 1
    found = iter(side_by_side(draft, claim, version) if together else ())
    for allocation in old:
        near = next(found) if together else find(draft, claim, version)
        beside(draft, allocation, near, None, lender=None, named=False)


def _settle(draft: Draft, claim: Claim) -> None:
    if claim.leaving is not None:
        settled = msgspec.structs.replace(claim, leaving=None, settles=None, revision=claim.revision + 1)
        draft.record(e.ClaimSettled(claim=settled, before=claim.leaving))
