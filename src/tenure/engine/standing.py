"""How the addresses of an interface stand to each other: which is its primary one, what is displaced, what comes back.

Of each network and IP version an interface has one primary address at most,
aliases and shared ones aside. Another claim for the interface displaces it;
what was displaced stands behind that claim until it ends.
"""

from typing import NamedTuple

import msgspec

from tenure.engine.draft import Draft
from tenure.engine.holdings import release
from tenure.engine.placing import ALIAS, PRIMARY, Stand
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
    """How a claim's next address of a version will stand: as the one that it replaces does, if there is one.

    `waited`: It is not decided in the call that asked for it; so it stands behind what its interface was given
    because of later calls.
    """
    if claim.request.alias or claim.request.shared:
        return ALIAS
    mine = [a for a in draft.facts.held.get(claim.id, {}).values() if a.behind is not None]
    found = next((Stand(a.standing, a.behind) for a in mine if version_of(a.ip) == version), PRIMARY)
    return _behind_later(draft, claim, version) if waited and found == PRIMARY else found


def _behind_later(draft: Draft, claim: Claim, version: int) -> Stand:
    for allocation in _primaries(draft, claim, version):
        later = draft.facts.claims[allocation.claim]
        if (later.since, later.handle) > (claim.since, claim.handle):
            how = later.request.on_override or draft.state.networks[claim.network].on_override
            return Stand("alias" if how == "keep" else "shelved", later.id)
    return PRIMARY


def displace(draft: Draft, claim: Claim, version: int) -> tuple[Displaced, ...]:
    """Record what becomes of the primary addresses that a claim's own of this version replaces on its interface.

    They are those of other claims, of the same network and version. Nothing where the claim has no interface,
    is an alias, shared or a lease, or stands behind another itself.

    Cost: linear in the addresses of the interface.
    """
    if claim.interface is None or not _displaces(draft, claim, version):
        return ()
    network = draft.state.networks[claim.network]
    how = claim.request.on_override or network.on_override
    return tuple([_displaced(draft, claim, a, how) for a in _primaries(draft, claim, version)])


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
    """As `restore`, of followers that were asked for before their claim ended."""
    back = []
    for allocation, behind in waiting:
        if behind is None:
            back.append(_restored(draft, allocation))
        else:
            _stand_behind(draft, allocation, behind)
    return tuple(back)


def _displaces(draft: Draft, claim: Claim, version: int) -> bool:
    if claim.request.alias or claim.request.shared:
        return False
    mine = draft.facts.held.get(claim.id, {}).values()
    return any(a.standing == "primary" and not a.lease and version_of(a.ip) == version for a in mine)


def _primaries(draft: Draft, claim: Claim, version: int) -> list[Allocation]:
    facts, found = draft.facts, []
    for id_ in facts.uses.get(claim.interface or "", ()):
        a = facts.allocations[id_]
        mine = a.claim == claim.id or a.lease or a.standing != "primary" or version_of(a.ip) != version
        if not mine and draft.state.subnets[a.subnet].subnet.network == claim.network:
            found.append(a)
    return found


def _displaced(draft: Draft, claim: Claim, allocation: Allocation, how: OnOverride) -> Displaced:
    if how == "release":
        return _released(draft, claim, allocation)
    standing: Standing = "shelved" if how == "shelve" else "alias"
    _stand_behind(draft, msgspec.structs.replace(allocation, standing=standing), claim.id)
    return Displaced(allocation.ip, "shelved" if how == "shelve" else "kept", allocation.claim)


def _released(draft: Draft, claim: Claim, allocation: Allocation) -> Displaced:
    """The displaced address goes back; what stood behind it stands behind its successor."""
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
        _beside(draft, allocation)
        return
    now = msgspec.structs.replace(allocation, behind=claim)
    event = e.AddressShelved if now.standing == "shelved" else e.AddressAliased
    draft.record(event(claim=draft.facts.claims[now.claim], allocation=now))


def _beside(draft: Draft, allocation: Allocation) -> None:
    now = msgspec.structs.replace(allocation, standing="alias", behind=None)
    draft.record(e.AddressRestored(claim=draft.facts.claims[now.claim], allocation=now, before=allocation.standing))


def _restored(draft: Draft, allocation: Allocation) -> Displaced:
    now = msgspec.structs.replace(allocation, standing="primary", behind=None)
    draft.record(e.AddressRestored(claim=draft.facts.claims[now.claim], allocation=now, before=allocation.standing))
    return Displaced(now.ip, "restored", now.claim)
