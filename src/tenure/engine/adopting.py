"""Whoever was seen on an address as a stranger, and is given just that one, is no stranger there any more."""

import msgspec

from tenure.engine.draft import Draft
from tenure.engine.space import Space
from tenure.model import events as e
from tenure.model.holding import Claim
from tenure.model.observed import Observation
from tenure.net.addresses import text_of


def is_own(draft: Draft, claim: Claim, space: Space, number: int) -> bool:
    """Whether it was the claim's own interface that was seen on an address; the address's observation is wanted."""
    return _own(draft, claim, space, number) is not None


def adopt(draft: Draft, claim: Claim, space: Space, number: int) -> None:
    """Record that what was seen on an address is over, where the claim is for whom it was seen there."""
    seen = _own(draft, claim, space, number) if number in space.strangers else None
    if seen is not None:
        over(draft, seen)


def over(draft: Draft, seen: Observation) -> None:
    """Record that an observation counts no longer."""
    now = draft.moment.now
    draft.record(e.AddressObserved(observation=msgspec.structs.replace(seen, last=now, until=now, claim=None)))


def _own(draft: Draft, claim: Claim, space: Space, number: int) -> Observation | None:
    seen = draft.facts.observations.get((space.subnet.vrf, text_of(space.version, number)))
    mac = None if claim.interface is None else draft.facts.interfaces[claim.interface].mac
    return seen if seen is not None and seen.mac is not None and seen.mac == mac else None
