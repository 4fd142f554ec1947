"""What a caller is shown of a claim, and what every planner does to one."""

from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec

from tenure.engine.draft import Draft
from tenure.engine.leaving import emptied
from tenure.engine.reservations import give_back
from tenure.engine.space import Space
from tenure.model import events as e
from tenure.model.answers import Displaced, HeldAddress, Holding
from tenure.model.holding import Allocation, Claim
from tenure.model.placement import Block
from tenure.model.policy import BlockKind
from tenure.net.addresses import number_of, prefix_text

DECLINED_REST = timedelta(hours=24)


def holding(draft: Draft, claim: Claim, *, created: bool = False, displaced: tuple[Displaced, ...] = ()) -> Holding:
    """A claim and its open addresses, as they are now in this draft, and what became of others."""
    held = list(draft.facts.held.get(claim.id, {}).values())
    if len(held) > 1:
        held.sort(key=lambda a: (a.length, number_of(a.ip)))
    return Holding(claim=claim, addresses=tuple([_shown(draft, a) for a in held]), created=created, displaced=displaced)


def _shown(draft: Draft, allocation: Allocation) -> HeldAddress:
    space = draft.state.subnets[allocation.subnet]
    subnet = space.subnet
    domain = draft.state.networks[subnet.network].domain
    named = allocation.hostname is not None and domain is not None
    return HeldAddress(
        ip=allocation.ip,
        prefix_length=space.prefix_length,
        subnet=subnet.id,
        gateway=subnet.gateway,
        dns_servers=subnet.dns_servers,
        block=allocation.block,
        title=allocation.title,
        name=f"{allocation.hostname}.{domain}" if named else None,
        held_until=allocation.held_until,
        standing=allocation.standing,
    )


def release(
    draft: Draft,
    claim: Claim,
    reason: str,
    *,
    closes: bool,
    held: Iterable[Allocation] | None = None,
    because: str = "",
) -> tuple[Displaced, ...]:
    """Record that a claim's open addresses are taken back, and that the claim ends with them if `closes`.

    What it borrowed goes back to its reservation, if that is there; answers which did.

    `held`: Those of them that are; None for all.

    Each rests until the latest of its last DHCP promise (with the clock margin), the end of its
    records' TTL, the network's cooldown, and the end of the rest that was cut short when it was
    given. The promise to a client that gave its lease back (`returned`) is over; an address that a
    client declined rests for a day.
    """
    taken = list(draft.facts.held[claim.id].values() if held is None else held)
    returned = []
    for at, allocation in enumerate(taken):
        last = closes and at == len(taken) - 1
        if allocation.lender is not None and give_back(draft, claim, allocation, closes=last):
            returned.append(Displaced(allocation.ip, "returned", allocation.lender))
            continue
        attached = draft.facts.attached.get(allocation.id, {})
        until = draft.moment.now
        draft.record(
            e.AddressReleased(
                claim=claim,
                allocation=msgspec.structs.replace(
                    allocation, until=until, cooling_until=_rest(draft, allocation, reason)
                ),
                attachments=tuple(msgspec.structs.replace(a, until=until) for a in attached.values()),
                reason=reason,
                because=because,
                closes=last,
            )
        )
        space = draft.state.subnets[allocation.subnet]
        for step in emptied(space, number_of(allocation.ip)):
            draft.record(step)
    return tuple(returned)


def _rest(draft: Draft, allocation: Allocation, reason: str) -> datetime | None:
    now = draft.moment.now
    network = draft.state.networks[draft.state.subnets[allocation.subnet].subnet.network]
    ends = [now + timedelta(seconds=network.cooldown)]
    woken = draft.state.subnets[allocation.subnet].woken.get(number_of(allocation.ip))
    if woken is not None:
        ends.append(woken)
    if allocation.hostname is not None and network.domain is not None:
        zone = draft.state.zone_named(network.vrf, network.domain)
        ends.append(now + timedelta(seconds=network.ttl if zone is None else max(network.ttl, zone.ttl)))
    if allocation.held_until is not None and reason != "returned":
        ends.append(allocation.held_until + timedelta(seconds=draft.moment.clock_margin))
    if allocation.waits_until is not None:
        ends.append(allocation.waits_until)
    if reason == "declined":
        ends.append(now + DECLINED_REST)
    latest = max(ends)
    return latest if latest > now else None


def as_block(space: Space, first: int, length: int, owner: str | None, kind: BlockKind = "host") -> Block:
    """The value of a block of this subnet."""
    return Block(space.subnet.id, prefix_text(space.version, first, length), owner, kind)
