"""Claim, bind, release. (Rebind: `moves`.)"""

import msgspec

from tenure.engine import resolve
from tenure.engine.draft import Draft
from tenure.engine.holdings import holding, release
from tenure.engine.placing import place, room_to_wait
from tenure.engine.ports import port_for
from tenure.engine.reach import not_draining
from tenure.engine.space import Space
from tenure.engine.state import versions
from tenure.errors import Conflict, InvalidValue, NotFound, NotPermitted
from tenure.model import events as e
from tenure.model.answers import Holding
from tenure.model.holding import Claim, ClaimRequest
from tenure.model.uses import BindClaim, ClaimAddresses, ReleaseClaim

LEASES = "dhcp"
"""Project, and beginning of the handle, of dynamic leases."""


def claim_addresses(use: ClaimAddresses, draft: Draft) -> Holding:
    """Give addresses under a handle, or say what the handle already has.

    The same handle with the same content gets the same claim; nothing is recorded then.

    Raises:
        Conflict: The handle has other content (fact `differs`), the name is taken, or the place is draining.
        AlreadyAllocated: `address` belongs to another handle.
        Exhausted: No subnet that may serve it has an address available.

    Cost: O(1) for each subnet looked at, amortized.
    """
    handle = (
        "claim:" + next(draft.moment.ids)
        if use.handle is None
        else resolve.plain(use.handle, "/handle", resolve.LONGEST_HANDLE)
    )
    if handle.startswith(LEASES + ":"):
        raise InvalidValue("handles that begin with dhcp: are Tenure's own", pointer="/handle")
    request = _by_name(draft, resolve.normalized(use.request, draft.state))
    known = draft.facts.handles[request.project, handle] if use.handle is not None else None
    if known is not None:
        return _again(draft, draft.facts.claims[known], request, said=use.request.family is not None)
    not_draining(draft.state, request.host)
    claim = _begin(draft, handle, request)
    if _waits(draft, request):
        room_to_wait(draft, request)
        draft.record(e.ClaimDeferred(claim=msgspec.structs.replace(claim, bound=None)))
        return holding(draft, draft.facts.claims[claim.id], created=True)
    allocate(draft, claim, opens=True)
    return holding(draft, draft.facts.claims[claim.id], created=True)


def bind_claim(use: BindClaim, draft: Draft) -> Holding:
    """Decide a pending claim near a host; bound there already, it is shown as it is."""
    claim = open_claim(draft, use.claim)
    place = resolve.location(draft.state, use.host)
    if claim.bound is not None:
        if claim.host == place.id:
            return holding(draft, claim)
        raise Conflict(
            f"claim {claim.id} is bound to {_host_name(draft, claim)} already; rebind moves it",
            claim=claim.id,
            host=claim.host,
        )
    resolve.only_host(place)  # DHCP binds where it saw a client, which may be a rack, and does not pass here
    not_draining(draft.state, place.id)
    return bind(draft, claim, place.id)


def bind(draft: Draft, claim: Claim, host: str | None, only: Space | None = None) -> Holding:
    """Record that a pending claim is bound, and give it its addresses (those of `only`'s family from there)."""
    bound = msgspec.structs.replace(claim, host=host, bound=draft.moment.now, revision=claim.revision + 1)
    draft.record(e.ClaimBound(claim=bound, before=claim.host))
    allocate(draft, bound, opens=False, only=only)
    return holding(draft, draft.facts.claims[claim.id])


def release_claim(use: ReleaseClaim, draft: Draft) -> Holding:
    """Give a claim's addresses back; released already, it is shown as it is.

    Raises:
        NotFound: There never was such a claim.
        Conflict: The handle named is not this claim's: it has been used again since.
    """
    claim = draft.facts.claims.get(use.claim)
    if claim is None:
        raise NotFound(f"there is no claim {use.claim!r}", kind="claim", name=use.claim, pointer="/id")
    if use.handle is not None and use.handle != claim.handle:
        raise Conflict(f"claim {claim.id} is not under handle {use.handle!r}", claim=claim.id, pointer="/handle")
    if use.project is not None and use.project != claim.project:
        raise NotPermitted(f"claim {claim.id} is of another project", claim=claim.id)
    if claim.until is not None:
        return holding(draft, claim)
    resolve.matching(claim.revision, draft.asked.if_match)
    return end(draft, claim, "released")


def end(draft: Draft, claim: Claim, reason: str) -> Holding:
    """Record that a claim ends, with all that it holds."""
    ended = msgspec.structs.replace(
        claim, until=draft.moment.now, leaving=None, settles=None, revision=claim.revision + 1
    )
    if draft.facts.held.get(claim.id):
        release(draft, ended, reason, closes=True)
    else:
        draft.record(e.ClaimReleased(claim=ended))
    return holding(draft, ended)


def allocate(draft: Draft, claim: Claim, *, opens: bool, only: Space | None = None) -> None:
    """Record all addresses that a claim asks for (those of `only`'s family from there); `opens`: it begins with them.

    Raises:
        TenureError: As `placing.place`.
    """
    first = opens
    for version in versions(claim.request.family):
        here = only if only is not None and only.version == version else None
        for _ in range(claim.request.count):
            place(draft, claim, version, opens=first, only=here)
            first = False


def open_claim(draft: Draft, name: str) -> Claim:
    """A claim that has not been released, of the revision that the caller saw."""
    claim = draft.facts.claims.get(name)
    if claim is None:
        raise NotFound(f"there is no claim {name!r}", kind="claim", name=name)
    if claim.until is not None:
        raise Conflict(f"claim {claim.id} was released", claim=claim.id)
    resolve.matching(claim.revision, draft.asked.if_match)
    return claim


def _by_name(draft: Draft, request: ClaimRequest) -> ClaimRequest:
    """A machine is the same content by its id and by its name."""
    machine = None if request.machine is None else draft.facts.machine_names.get(request.machine)
    return request if machine is None else msgspec.structs.replace(request, machine=draft.facts.machines[machine].name)


def _again(draft: Draft, claim: Claim, request: ClaimRequest, *, said: bool) -> Holding:
    """A family that was not said is what it was then, whatever subnets the network has got since."""
    if not said:
        request = msgspec.structs.replace(request, family=claim.request.family)
    if claim.request == request:
        return holding(draft, claim)
    both = ((f, getattr(claim.request, f), getattr(request, f)) for f in ClaimRequest.__struct_fields__)
    differs = {field: [old, new] for field, old, new in both if old != new}
    raise Conflict(
        f"handle {claim.handle!r} has a claim that differs in {', '.join(differs)}; release it first",
        claim=claim.id,
        differs=differs,
    )


def _begin(draft: Draft, handle: str, request: ClaimRequest) -> Claim:
    port = port_for(draft, request)
    return Claim(
        id=next(draft.moment.ids),
        handle=handle,
        project=request.project,
        network=request.network,
        request=request,
        since=draft.moment.now,
        actor=draft.asked.actor,
        host=request.host,
        machine=port.machine,
        interface=port.interface,
        bound=draft.moment.now,
    )


def _waits(draft: Draft, request: ClaimRequest) -> bool:
    """Whether the claim is decided later: it says so, or its network's model needs a host to choose by."""
    if request.address is not None:
        return False
    clustered = draft.state.networks[request.network].model == "clustered"
    return request.defer or (clustered and request.host is None and request.subnet is None)


def _host_name(draft: Draft, claim: Claim) -> str:
    return "no host" if claim.host is None else draft.state.locations[claim.host].name
