"""Addresses that machines were given by themselves and have not used for long are taken back when others need them."""

from collections import Counter
from datetime import datetime, timedelta
from typing import Final

import msgspec

from tenure.engine import resolve
from tenure.engine.claims import end
from tenure.engine.draft import Draft
from tenure.engine.state import State
from tenure.engine.thresholds import available, open_spaces
from tenure.errors import InvalidValue
from tenure.model.addressing import Network
from tenure.model.answers import Gleaned, Harvested
from tenure.model.holding import Allocation, Claim
from tenure.model.machines import Machine
from tenure.model.uses import HarvestNetwork
from tenure.net.addresses import number_of, version_of

MOST_HARVESTED: Final = 10_000
_LARGEST: Final = (1 << 63) - 1
"""What an answer can say; an IPv6 subnet has more."""

Ripe = tuple[str, datetime, bool, int]
"""See `Wanted.harvest`."""


def harvest_network(use: HarvestNetwork, draft: Draft) -> Harvested:
    """Take back what a network's policy allows, until as many addresses are available, or rest, as it wants.

    They rest first, as every released address does; those that rest already are counted on, so that no more is taken
    than is needed.

    A dry run tells what would go by another policy than the network has, before anybody switches that on.

    Raises:
        InvalidValue: `limit` is not 1 to 10,000 claims; another policy is said, and it is no dry run.

    Cost: as of a release for each claim that is taken, and a look at each other that was read.
    """
    network = resolve.network(draft.state, use.network, "")
    resolve.matching(network.revision, draft.asked.if_match)
    network = _as_if(use, network, dry_run=draft.asked.dry_run)
    if not 1 <= use.limit <= MOST_HARVESTED:
        raise InvalidValue(
            f"limit must be 1 to {MOST_HARVESTED:,}", pointer="/limit", minimum=1, maximum=MOST_HARVESTED
        )
    there, missing = min(available(draft.state, network.id).values(), default=0), lacking(draft.state, network)
    taken = glean(draft, network, use.limit)
    return Harvested(tuple(taken), available=min(there, _LARGEST), wanted=max(missing.values(), default=0))


def _as_if(use: HarvestNetwork, network: Network, *, dry_run: bool) -> Network:
    tried = supposed(use, network)
    if tried is not network and not dry_run:
        raise InvalidValue(
            "another policy than the network has is only for a dry run: change the network", pointer="/after"
        )
    return tried


def supposed(use: HarvestNetwork, network: Network) -> Network:
    """A network with the policy that a harvest is tried with; the network itself where none is said."""
    said = {"harvest": use.allowed, "harvest_after": use.after, "harvest_below": use.below}
    other = {name: value for name, value in said.items() if value is not None}
    return msgspec.structs.replace(network, **other) if other else network


def ripe(state: State, network: Network, limit: int) -> Ripe | None:
    """What must be read to harvest a network, or None where it lacks nothing."""
    if not lacking(state, network):
        return None
    return network.id, _unseen_before(state.now, network), network.harvest, min(limit, MOST_HARVESTED)


def lacking(state: State, network: Network) -> dict[int, int]:
    """How many addresses a harvest should bring, by IP version. Cost: one step a subnet."""
    if not network.harvest_below:
        return {}
    resting = {v: sum(space.cooling for space in open_spaces(state, network.id, v)) for v in (4, 6)}
    there = available(state, network.id).items()
    short = {version: network.harvest_below - count - resting[version] for version, count in there}
    return {version: count for version, count in short.items() if count > 0}


def glean(draft: Draft, network: Network, limit: int) -> list[Gleaned]:
    """Record the harvest of a network, at most `limit` claims; what was taken, oldest unseen first."""
    missing = Counter(lacking(draft.state, network))
    taken: list[Gleaned] = []
    for id_ in draft.facts.harvest.get(network.id, ()):
        if not limit or not +missing:
            break
        claim = draft.facts.claims[id_]
        useful = _useful(draft, claim)
        if useful & +missing and _is_ripe(draft, network, claim):
            taken += _taken(draft, network, claim)
            missing -= useful
            limit -= 1
    return taken


def _useful(draft: Draft, claim: Claim) -> Counter[int]:
    """How many addresses of each version would be available, in time, without a claim."""
    held = draft.facts.held.get(claim.id, {}).values()
    return Counter(version_of(a.ip) for a in held if _would_be_given(draft, a))


def _would_be_given(draft: Draft, allocation: Allocation) -> bool:
    space = draft.state.subnets[allocation.subnet]
    return not space.subnet.draining and number_of(allocation.ip) not in space.strangers


def _is_ripe(draft: Draft, network: Network, claim: Claim) -> bool:
    """Whether a claim that was read as ripe is so still, after the uses before this one."""
    if claim.until is not None or claim.kept != "life" or claim.static or claim.by_name or claim.machine is None:
        return False
    machine = draft.facts.machines[claim.machine]
    say = machine.harvest if claim.harvest == "inherit" else claim.harvest
    allowed = network.harvest if say == "inherit" else say == "allowed"
    unused = _unused_since(claim, machine) < _unseen_before(draft.moment.now, network)
    return allowed and unused and machine.lifecycle != "deployed" and not _promised(draft, claim)


def _promised(draft: Draft, claim: Claim) -> bool:
    """Whether a DHCP client may still use an address of it, renewing it unseen."""
    ends = (a.held_until for a in draft.facts.held.get(claim.id, {}).values())
    return any(until is not None and until > draft.moment.now for until in ends)


def _unused_since(claim: Claim, machine: Machine) -> datetime:
    return claim.since if machine.seen is None else max(machine.seen, claim.since)


def _unseen_before(now: datetime, network: Network) -> datetime:
    return now - timedelta(seconds=network.harvest_after)


def _taken(draft: Draft, network: Network, claim: Claim) -> list[Gleaned]:
    machine = draft.facts.machines[str(claim.machine)]
    seen = "never seen" if machine.seen is None else f"last seen {machine.seen:%Y-%m-%d %H:%M} UTC"
    few = min(available(draft.state, network.id).values())
    because = f"{network.name} had {few} available, {network.harvest_below} are wanted; {machine.name} was {seen}"
    addresses = [a.ip for a in draft.facts.held[claim.id].values()]
    end(draft, claim, "harvested", because)
    return [Gleaned(ip, claim.id, machine.name, machine.seen) for ip in addresses]
