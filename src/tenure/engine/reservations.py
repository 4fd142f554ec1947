"""Reservations: claims without a machine, and the addresses that they lend to claims with one.

What is lent moves to the borrower's claim and is never free in between; it
goes back when the borrower gives it up, if the reservation is still there.
A name that the reservation gave it stays with it all the while.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from tenure.engine.draft import Draft
from tenure.engine.names import name_for
from tenure.engine.placing import PRIMARY, Stand, may_be_there, placed
from tenure.errors import Conflict, Exhausted, InvalidValue, NotFound, NotPermitted
from tenure.model import events as e
from tenure.model.holding import Allocation, Attachment, Claim, ClaimRequest
from tenure.model.policy import Family
from tenure.net.addresses import number_of, version_of


def reservation_named(draft: Draft, name: str, project: str) -> Claim:
    """The open reservation of a project that has this id or handle.

    Raises:
        NotFound: There is none.
        NotPermitted: It is another project's.
        Conflict: It was released, waits, borrows its addresses itself, or is a machine's claim.
    """
    claim = draft.facts.claims.get(name)
    if claim is None or claim.project != project:  # a handle is any text, also the id of what is not this project's
        claim = draft.facts.claims.get(draft.facts.handles.get((project, name)) or name)
    if claim is None:
        raise NotFound(f"there is no reservation {name!r}", kind="claim", name=name, pointer="/from")
    if claim.project != project:
        raise NotPermitted(f"reservation {name!r} is of another project", claim=claim.id, pointer="/from")
    if claim.request.reservation is not None:
        raise Conflict(f"claim {claim.id} borrows itself; name the reservation", claim=claim.id, pointer="/from")
    if (claim.request.machine, claim.request.mac, claim.interface) != (None, None, None):
        raise Conflict(f"claim {claim.id} is used by a machine: it is no reservation", claim=claim.id, pointer="/from")
    if claim.state != "bound":
        what = "was released" if claim.until is not None else "waits for its addresses itself"
        raise Conflict(f"reservation {claim.id} {what}", claim=claim.id, pointer="/from")
    return claim


def family_of(draft: Draft, reservation: Claim) -> Family:
    """The family of what a reservation holds now; of what it asked for, where it holds nothing."""
    held = {version_of(a.ip) for a in draft.facts.held.get(reservation.id, {}).values()}
    return _FAMILIES.get(frozenset(held)) or reservation.request.family or "v4"


_FAMILIES: dict[frozenset[int], Family] = {
    frozenset({4}): "v4",
    frozenset({6}): "v6",
    frozenset({4, 6}): "dual",
}


def from_reservation(draft: Draft, request: ClaimRequest, *, family_said: bool) -> ClaimRequest:
    """A normalized request whose `reservation`, named as the caller did, is an id; its family follows from it.

    Raises:
        TenureError: As `reservation_named`.
        InvalidValue: The reservation is in another network.
    """
    source = reservation_named(draft, str(request.reservation), request.project)
    if source.network != request.network:
        name = draft.state.networks[source.network].name
        raise InvalidValue(f"that reservation is in network {name}", pointer="/from", network=name)
    said = family_said or request.address is not None or bool(request.addresses)
    family = request.family if said else family_of(draft, source)
    return msgspec.structs.replace(request, reservation=source.id, family=family)


def lent_to(draft: Draft, claim: Claim, version: int) -> list[Allocation]:
    """What a claim borrows of its reservation: the addresses that it names, else the lowest.

    Raises:
        Conflict: The reservation is gone, or does not hold an address that was named.
        Exhausted: It holds too few.
    """
    request = claim.request
    source = draft.facts.claims.get(str(request.reservation))
    if source is None or source.until is not None:
        raise Conflict(f"reservation {request.reservation} was released", claim=request.reservation, pointer="/from")
    held = [a for a in draft.facts.held.get(source.id, {}).values() if version_of(a.ip) == version and not a.lender]
    named = [ip for ip in (request.address, *request.addresses) if ip is not None and version_of(ip) == version]
    if named:
        return [_held(held, ip, source) for ip in named]
    if len(held) < request.count:
        raise Exhausted(
            f"reservation {source.id} holds {len(held)} IPv{version} addresses, and {request.count} are asked for",
            claim=source.id,
            family=f"v{version}",
            available=len(held),
        )
    return sorted(held, key=lambda a: number_of(a.ip))[: request.count]


def _held(held: list[Allocation], ip: str, source: Claim) -> Allocation:
    found = next((a for a in held if a.ip == ip), None)
    if found is None:
        raise Conflict(f"reservation {source.id} does not hold {ip}", claim=source.id, address=ip, pointer="/from")
    return found


def lend(draft: Draft, claim: Claim, allocation: Allocation, *, opens: bool, stand: Stand = PRIMARY) -> None:
    """Record that an address goes from its reservation to a claim.

    Raises:
        Conflict: It cannot be used where the claim's host is.
    """
    space, number = draft.state.subnets[allocation.subnet], number_of(allocation.ip)
    may_be_there(draft, claim, space, number)
    why = placed(claim, space, number)
    own = allocation.hostname if claim.request.hostname is None else None
    lent = msgspec.structs.replace(
        _moved(draft, allocation, claim),
        hostname=own or name_for(draft, claim, allocation.ip),
        block=why.block,
        title=why.title,
        standing=stand.standing,
        behind=stand.behind,
        lender=allocation.claim,
    )
    draft.record(_move(draft, allocation, claim, lent, reason="lent", opens=opens))


def give_back(draft: Draft, claim: Claim, allocation: Allocation, *, closes: bool) -> bool:
    """Record that a lent address goes back to its reservation, and that the borrower ends with it if `closes`.

    `claim`: The borrower, as it is then. Returns whether it was so: nothing is recorded of an address that is not
    lent, or whose reservation is gone; or that is in its reservation already.
    """
    lender = draft.facts.claims[allocation.lender] if allocation.lender is not None else None
    if lender is None or lender.until is not None or lender.id == allocation.claim:
        return False
    why = placed(lender, draft.state.subnets[allocation.subnet], number_of(allocation.ip))
    others = (a for a in draft.facts.held.get(allocation.claim, {}).values() if a.lender != lender.id)
    kept = any(a.hostname == allocation.hostname for a in others)  # the name went over to the borrower's next address
    own = allocation.hostname == lender.request.hostname and not kept
    back = msgspec.structs.replace(
        _moved(draft, allocation, lender),
        hostname=allocation.hostname if own else None,
        block=why.block,
        title=why.title,
        standing="primary" if lender.interface is None and not lender.request.shared else "alias",
        behind=None,
        lender=None,
    )
    move = _move(draft, allocation, lender, back, reason="returned")
    draft.record(msgspec.structs.replace(move, giver=claim, closes=closes))
    return True


def _moved(draft: Draft, allocation: Allocation, claim: Claim) -> Allocation:
    """The same address under another claim. Whoever was promised it keeps it from others until then."""
    stays = claim.interface is not None and claim.interface in draft.facts.attached.get(allocation.id, ())
    promise = None if stays else promised(draft, allocation)
    return msgspec.structs.replace(
        allocation,
        id=next(draft.moment.ids),
        claim=claim.id,
        since=draft.moment.now,
        held_until=allocation.held_until if stays else None,
        waits_until=allocation.waits_until if stays else promise and promise.until,
        waits_for=allocation.waits_for if stays else promise and promise.to,
        replaces=None,
        named_at=None,
    )


class Promise(NamedTuple):
    """Until when DHCP has promised an address, and to which interface; None: to several, or to nobody known."""

    until: datetime
    to: str | None


def promised(draft: Draft, allocation: Allocation) -> Promise | None:
    """What was promised of an address to its present or a former user, if the end of that is still to come."""
    made = [] if allocation.waits_until is None else [Promise(allocation.waits_until, allocation.waits_for)]
    if allocation.held_until is not None:
        users = list(draft.facts.attached.get(allocation.id, ()))
        until = allocation.held_until + timedelta(seconds=draft.moment.clock_margin)
        made.append(Promise(until, users[0] if len(users) == 1 else None))
    made = [each for each in made if each.until > draft.moment.now]
    if not made:
        return None
    to = {each.to for each in made}
    return Promise(max(each.until for each in made), to.pop() if len(to) == 1 else None)


def _move(
    draft: Draft, left: Allocation, claim: Claim, allocation: Allocation, *, reason: str, opens: bool = False
) -> e.AddressMoved:
    """What happens when an address goes to another claim, whose interface uses it then."""
    now, attached = draft.moment.now, draft.facts.attached.get(left.id, {}).values()
    port = claim.interface
    return e.AddressMoved(
        giver=draft.facts.claims[left.claim],
        left=msgspec.structs.replace(left, until=now),
        attachments=tuple([msgspec.structs.replace(a, until=now) for a in attached]),
        claim=claim,
        allocation=allocation,
        attachment=None if port is None else Attachment(allocation=allocation.id, interface=port, since=now),
        reason=reason,
        opens=opens,
    )
