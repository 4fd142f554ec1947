"""What time alone does to claims: ends, names that follow, queues, harvests, renumbering, and who is told of it."""

import msgspec

from tenure.engine import reassign, renumber, thresholds
from tenure.engine.claims import bind, end
from tenure.engine.draft import Draft
from tenure.engine.facts import MOST_QUEUED, WARNED_BEFORE, Wanted, queue_group
from tenure.engine.harvest import glean, ripe
from tenure.engine.reach import draining
from tenure.engine.state import State, versions
from tenure.errors import TenureError
from tenure.model import events as e
from tenure.model.answers import Number
from tenure.model.holding import Claim
from tenure.model.uses import Lapse


def lapse(use: Lapse, draft: Draft) -> Number:
    """Do what is due, at most `limit` changes of each kind; how many there were of the kind that had most.

    Cost: in what is due, a look at each claim that queues where there is room, and a step for each subnet of a network
        with a threshold.
    """
    done = [kind(draft, use.limit) for kind in (_expire, _name, _serve, _harvest, thresholds.watch, _renumber)]
    return Number(max(done))


def want_due(found: Wanted, state: State, limit: int) -> None:
    """What must be read to know what is due."""
    found.expiring = max(found.expiring, limit)
    found.naming = max(found.naming, limit)
    found.queued.update((network, state.queues.get(network, 0)) for network in _with_room(state))
    for network in state.networks.values():
        asked = ripe(state, network, limit)
        if asked is not None:
            found.harvest.add(asked)
    for space in state.subnets.values():
        if space.subnet.renumbering is not None:
            renumber.want(found, space.subnet.id, space.subnet.renumbering, state.now, limit)


def _with_room(state: State) -> set[str]:
    """Networks in which somebody waits and there is room."""
    return {
        network for (network, version), waiting in state.waiting.items() if waiting and _room(state, network, version)
    }


def _room(state: State, network: str, version: int) -> bool:
    return any(True for _ in state.rooms.all(network, version))


def _expire(draft: Draft, limit: int) -> int:
    """Claims end when they were to, and are announced a day before."""
    done = 0
    for claim in [draft.facts.claims[id_] for id_ in draft.facts.expiring]:
        if done < limit and claim.until is None and claim.expires is not None:
            done += _expired(draft, claim)
    return done


def _expired(draft: Draft, claim: Claim) -> bool:
    assert claim.expires is not None
    if claim.expires <= draft.moment.now:
        end(draft, claim, "expired")
        return True
    if claim.warned or claim.expires > draft.moment.now + WARNED_BEFORE:
        return False  # a use before this one put its end off
    draft.record(e.ClaimExpiring(claim=msgspec.structs.replace(claim, warned=True, revision=claim.revision + 1)))
    return True


def _name(draft: Draft, limit: int) -> int:
    """Names follow to addresses whose client has not come to use them by now."""
    known = (draft.facts.allocations[id_] for id_ in draft.facts.naming if id_ in draft.facts.allocations)
    due = [a for a in known if a.until is None and a.named_at is not None and a.named_at <= draft.moment.now]
    for allocation in due[:limit]:
        reassign.follow_name(draft, allocation)
    return len(due[:limit])


def _serve(draft: Draft, limit: int) -> int:
    """Claims that queue get addresses, the oldest first; one that is refused lets nobody pass who wants the same."""
    done = 0
    for network, waiting in draft.facts.queued.items():
        stuck: set[tuple[str | None, str | None, int]] = set()
        claims = [draft.facts.claims[id_] for id_ in waiting]
        for claim in claims:
            wants = {(claim.host, claim.request.subnet, version) for version in versions(claim.request.family)}
            if done == limit:
                return done
            if wants & stuck or claim.state != "pending" or not _may_be_served(draft, claim):
                continue
            if _served(draft, claim):
                done += 1
            else:
                stuck |= wants
        _look_on(draft.state, network, claims)
    return done


def _look_on(state: State, network: str, claims: list[Claim]) -> None:
    """Where there are more groups than were read, the next ones are read next time: nobody is kept by those stuck."""
    groups = {queue_group(claim) for claim in claims}
    if len(groups) == MOST_QUEUED:
        state.queues[network] = state.queues.get(network, 0) + MOST_QUEUED
    else:
        state.queues.pop(network, None)


def _may_be_served(draft: Draft, claim: Claim) -> bool:
    """Whether it waits for room, and not for a host."""
    request, state = claim.request, draft.state
    needs_host = state.networks[claim.network].model == "clustered" and request.subnet is None
    if (needs_host and claim.host is None) or draining(state, claim.host) is not None:
        return False
    return all(_room(state, claim.network, version) for version in versions(request.family))


def _served(draft: Draft, claim: Claim) -> bool:
    try:
        draft.attempt(lambda: bind(draft, claim, claim.host))
    except TenureError:
        return False
    return True


def _harvest(draft: Draft, limit: int) -> int:
    done = 0
    for network in [draft.state.networks[id_] for id_ in draft.facts.harvest if id_ in draft.state.networks]:
        done += len({gleaned.claim for gleaned in glean(draft, network, limit - done)})
    return done


def _renumber(draft: Draft, limit: int) -> int:
    done = 0
    for space in [draft.state.subnets[id_] for id_ in draft.facts.renumbering if id_ in draft.state.subnets]:
        done += renumber.wave(draft, space, limit - done)
    return done
