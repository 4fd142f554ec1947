"""How the addresses of an interface stand to each other: which is its primary one, what is displaced, what comes back.

Of each network and IP version an interface has one primary address at most,
aliases and shared ones aside. Another claim for the interface displaces it;
what was displaced stands behind that claim until it ends.
"""

from datetime import datetime
from typing import NamedTuple

import msgspec

from tenure.engine.draft import Draft
from tenure.engine.holdings import release
from tenure.engine.placing import ALIAS, PRIMARY, Stand
from tenure.engine.replacing import settled
from tenure.model import events as e
from tenure.model.answers import Displaced
from tenure.model.holding import Allocation, Claim
from tenure.model.policy import OnOverride, Standing
from tenure.net.addresses import version_of


class Follower(NamedTuple):
    """An allocation that stands behind a claim, and the claim that it will stand behind when that one ends."""

    allocation: Allocation
    behind: str | None


def stand_of(draft: Draft, claim: Claim, version: int, *, waited: bool = False) -> Stand:
    """How a claim's first address of a version will stand.

    `waited`: It is not decided in the call that asked for it; so it stands behind what its interface was given
    because of later calls.
    """
    if claim.request.alias or claim.request.shared:
        return ALIAS
    return _behind_later(draft, claim, version) if waited else PRIMARY


def _behind_later(draft: Draft, claim: Claim, version: int) -> Stand:
    for allocation in primaries(draft, claim, version):
        later = draft.facts.claims[allocation.claim]
        if _asked(later) > _asked(claim):
            how = later.request.on_override or draft.state.networks[claim.network].on_override
            return Stand("alias" if how == "keep" else "shelved", later.id)
    return PRIMARY


def displace(draft: Draft, claim: Claim, version: int) -> tuple[Displaced, ...]:
    """Record what becomes of the addresses that a claim's own of this version replaces on its interface.

    They are the primary ones of other claims, of the same network and version; or, where the claim stands behind a
    later one itself, what stood there in its place: of claims that asked before it. Nothing where the claim has no
    interface, is an alias, shared or a lease.

    Cost: linear in the addresses of the interface.
    """
    if claim.interface is None or claim.request.alias or claim.request.shared:
        return ()
    network = draft.state.networks[claim.network]
    how = claim.request.on_override or network.on_override
    mine = [a for a in draft.facts.held.get(claim.id, {}).values() if version_of(a.ip) == version and not a.lease]
    if any(a.standing == "primary" for a in mine):
        return tuple([_displaced(draft, claim, a, how) for a in primaries(draft, claim, version)])
    later = next((a.behind for a in mine if a.behind is not None), None)
    return () if later is None else _overtaken(draft, claim, version, later, how)


def followers(draft: Draft, claim: Claim) -> list[Follower]:
    """What stands behind a claim, and behind whom it will stand next: whoever displaced the claim itself, or nobody."""
    waiting = draft.facts.behind.get(claim.id)
    if not waiting:
        return []
    mine = draft.facts.held.get(claim.id, {}).values()
    after = {version_of(a.ip): a.behind for a in mine if a.behind is not None}
    allocations = [draft.facts.allocations[a] for a in waiting]
    return [Follower(a, after.get(version_of(a.ip))) for a in allocations]


def restore(draft: Draft, claim: Claim) -> tuple[Displaced, ...]:
    """Record that what stands behind a claim comes back, or moves behind what the claim itself stands behind."""
    return bring_back(draft, followers(draft, claim))


def bring_back(draft: Draft, waiting: list[Follower]) -> tuple[Displaced, ...]:
    """As `restore`, of followers that were asked for before their claim ended.

    Of several the one that was asked for last is primary; those before it stand behind it.
    """
    claims, back = draft.facts.claims, []
    for allocation, behind in sorted(waiting, key=lambda each: _asked(claims[each.allocation.claim]), reverse=True):
        before = behind or _instead(draft, allocation)
        if before is None:
            back.append(_restored(draft, allocation))
        else:
            _stand_behind(draft, allocation, before)
    return tuple(back)


def set_beside(draft: Draft, allocation: Allocation) -> Displaced:
    """Record that an address stands beside what its interface has, and behind nobody; primary where it has nothing."""
    alone = _instead(draft, allocation) is None
    now = msgspec.structs.replace(allocation, standing="primary" if alone else "alias", behind=None)
    claim = draft.facts.claims[now.claim]
    if now.standing == "alias" and allocation.standing == "primary":
        draft.record(e.AddressAliased(claim=claim, allocation=now))
    elif now != allocation:
        draft.record(e.AddressRestored(claim=claim, allocation=now, before=allocation.standing))
    return Displaced(now.ip, "restored" if alone else "kept", now.claim)


def primaries(draft: Draft, claim: Claim, version: int) -> list[Allocation]:
    """The primary addresses of other claims on a claim's interface, of its network and a version."""
    facts, found = draft.facts, []
    for id_ in facts.uses.get(claim.interface or "", ()):
        a = facts.allocations[id_]
        mine = a.claim == claim.id or a.lease or a.standing != "primary" or version_of(a.ip) != version
        if not mine and draft.state.subnets[a.subnet].subnet.network == claim.network:
            found.append(a)
    return found


def _instead(draft: Draft, allocation: Allocation) -> str | None:
    """The claim of the primary address that the interface of an address has beside it."""
    claim, version = draft.facts.claims[allocation.claim], version_of(allocation.ip)
    mine = (a for a in draft.facts.held[claim.id].values() if a.id != allocation.id and version_of(a.ip) == version)
    if claim.interface is not None and any(a.standing == "primary" and not a.lease for a in mine):
        return claim.id
    return next((a.claim for a in primaries(draft, claim, version)), None)


def _asked(claim: Claim) -> tuple[datetime, str]:
    """In which order claims of an interface were asked for."""
    return claim.since, claim.handle


def _overtaken(draft: Draft, claim: Claim, version: int, later: str, how: OnOverride) -> tuple[Displaced, ...]:
    """What an earlier claim has behind the later one that a claim stands behind, stands behind the claim now."""
    claims, waiting = draft.facts.claims, [draft.facts.allocations[a] for a in draft.facts.behind[later]]
    found = [a for a in waiting if version_of(a.ip) == version and _asked(claims[a.claim]) < _asked(claim)]
    told = []
    for allocation in found:
        if how == "release":
            told.append(_released(draft, claim, allocation))
        else:
            _stand_behind(draft, allocation, claim.id)
    return tuple(told)


def _displaced(draft: Draft, claim: Claim, allocation: Allocation, how: OnOverride) -> Displaced:
    if how == "release":
        return _released(draft, claim, allocation)
    standing: Standing = "shelved" if how == "shelve" else "alias"
    _stand_behind(draft, msgspec.structs.replace(allocation, standing=standing), claim.id)
    return Displaced(allocation.ip, "shelved" if how == "shelve" else "kept", allocation.claim)


def _released(draft: Draft, claim: Claim, allocation: Allocation) -> Displaced:
    """The displaced address goes back, with one that it replaces; what stood behind it stands behind its successor."""
    allocation = settled(draft, allocation)
    holder = draft.facts.claims[allocation.claim]
    version = version_of(allocation.ip)
    waiting = [f.allocation for f in followers(draft, holder) if version_of(f.allocation.ip) == version]
    last = len(draft.facts.held[holder.id]) == 1
    ended = closed(draft, holder) if last else holder
    returned = release(draft, ended, "displaced", closes=last, held=[allocation])
    for behind in waiting:
        _stand_behind(draft, behind, claim.id)
    return returned[0] if returned else Displaced(allocation.ip, "released", holder.id)


def closed(draft: Draft, claim: Claim) -> Claim:
    """A claim as it ends now."""
    return msgspec.structs.replace(
        claim, until=draft.moment.now, leaving=None, settles=None, revision=claim.revision + 1
    )


def _stand_behind(draft: Draft, allocation: Allocation, claim: str) -> None:
    """Record that an allocation stands, as it says, behind a claim; behind its own, which cannot end first: beside."""
    if allocation.claim == claim:
        set_beside(draft, allocation)
        return
    now, before = msgspec.structs.replace(allocation, behind=claim), draft.facts.allocations[allocation.id].standing
    event = e.AddressShelved if now.standing == "shelved" else e.AddressAliased
    draft.record(event(claim=draft.facts.claims[now.claim], allocation=now, before=before))


def _restored(draft: Draft, allocation: Allocation) -> Displaced:
    now = msgspec.structs.replace(allocation, standing="primary", behind=None)
    draft.record(e.AddressRestored(claim=draft.facts.claims[now.claim], allocation=now, before=allocation.standing))
    return Displaced(now.ip, "restored", now.claim)
