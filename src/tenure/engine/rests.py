"""Why an address rests: who had it last, and who was promised it."""

from datetime import datetime, timedelta

from tenure.engine.draft import Draft
from tenure.engine.space import Space
from tenure.model.holding import MACHINES, Allocation, Claim


def promised_before(draft: Draft, claim: Claim, vrf: str, ip: str) -> tuple[datetime | None, str | None]:
    """Until when a resting address was promised to others than the claim's interface, and to which (see `Promise`)."""
    rest = draft.facts.rests.get((vrf, ip))
    if rest is None or rest.cooling_until is None:
        return None, None
    made = [] if rest.waits_until is None else [(rest.waits_until, rest.waits_for)]
    if rest.held_until is not None:
        until = rest.held_until + timedelta(seconds=draft.moment.clock_margin)
        made.append((until, draft.facts.claims[rest.claim].interface))
    to = {user for _, user in made if user is None or user != claim.interface}
    latest = max((min(until, rest.cooling_until) for until, user in made if user in to), default=draft.moment.now)
    if latest <= draft.moment.now:
        return None, None
    return latest, to.pop() if len(to) == 1 else None


def rests_from(draft: Draft, allocation: Allocation) -> bool:
    """Whether a closed allocation is the last that its address had, so that its rest is this one's and no later."""
    rest = draft.facts.rests.get((allocation.vrf, allocation.ip))
    return rest is not None and rest.id == allocation.id


def rests_for(draft: Draft, claim: Claim, space: Space, address: str) -> bool:
    """Whether an address rests because this machine had it, which is deployed with it again."""
    rest = draft.facts.rests.get((space.subnet.vrf, address))
    return claim.project == MACHINES and rest is not None and _was_its_own(draft, claim, rest)


def _was_its_own(draft: Draft, claim: Claim, rest: Allocation) -> bool:
    """Whether a closed allocation was used by the claim's interface."""
    return claim.interface is not None and draft.facts.claims[rest.claim].interface == claim.interface
