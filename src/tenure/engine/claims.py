"""Claim, bind, release. (Rebind: `moves`.)"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import msgspec

from tenure.engine import resolve
from tenure.engine.adjacent import side_by_side
from tenure.engine.draft import Draft
from tenure.engine.holdings import holding, release
from tenure.engine.names import not_an_address
from tenure.engine.placing import ALIAS, find, had_last, named, record_address, room_to_wait
from tenure.engine.ports import Port, port_for
from tenure.engine.reach import not_draining
from tenure.engine.replacing import may_write
from tenure.engine.reservations import family_of, from_reservation, lend, lent_to
from tenure.engine.space import Space
from tenure.engine.standing import bring_back, closed, displace, followers, stand_of
from tenure.engine.state import versions
from tenure.errors import Conflict, Exhausted, InvalidValue, NotFound, NotPermitted
from tenure.model import events as e
from tenure.model.addressing import Network
from tenure.model.answers import Displaced, Holding
from tenure.model.holding import MACHINES, OWN_PROJECTS, Claim, ClaimRequest
from tenure.model.machines import Interface
from tenure.model.policy import Kept, OnOverride
from tenure.model.uses import BindClaim, ClaimAddresses, ReleaseClaim
from tenure.net.addresses import version_of


def claim_addresses(use: ClaimAddresses, draft: Draft) -> Holding:
    """Give addresses under a handle, or say what the handle already has.

    The same handle with the same content gets the same claim; nothing is recorded then. What the claim replaces on
    its interface is displaced, as `on_override` says. Where there is no room, one that queues waits in order.

    Raises:
        InvalidValue: A field is malformed, or cannot stand beside another.
        NotFound, NotPermitted: The network, a place, a machine or the reservation is not here, or another project's.
        Conflict: The handle has other content (fact `differs`), or its address went to another machine since; the name
            is taken, the place is draining, or an address that is named cannot be had; or what it would displace is
            static, and nobody has acknowledged that (pointer `/static_acknowledged`).
        AlreadyAllocated: An address that is named belongs to another handle.
        Exhausted: No subnet that may serve it has an address available; the reservation holds too few; or nowhere are
            so many side by side.

    Cost: O(1) for each subnet looked at, amortized; see `side_by_side` where that is asked for.
    """
    handle = (
        "claim:" + next(draft.moment.ids)
        if use.handle is None
        else resolve.plain(use.handle, "/handle", resolve.LONGEST_HANDLE)
    )
    _not_our_own(use.request, handle)
    request = _by_name(draft, resolve.normalized(use.request, draft.state))
    known = draft.facts.handles[request.project, handle] if use.handle is not None else None
    if known is not None:
        return _again(draft, draft.facts.claims[known], request, said=use.request.family is not None)
    if request.reservation is not None:
        request = from_reservation(draft, request, family_said=use.request.family is not None)
    if request.expires is not None and request.expires <= draft.moment.now:
        raise InvalidValue("expires is over already", pointer="/expires")
    not_draining(draft.state, request.host)
    claim = _begun(draft, handle, request, port_for(draft, request))
    not_an_address(draft, request)
    if _waits(draft, request):
        room_to_wait(draft, request)
        return _deferred(draft, claim)
    return _queued(draft, claim) if request.queue else _decided(draft, claim)


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
    displaced = allocate(draft, bound, opens=False, only=only)
    return holding(draft, draft.facts.claims[claim.id], displaced=displaced)


def release_claim(use: ReleaseClaim, draft: Draft) -> Holding:
    """Give a claim's addresses back; released already, it is shown as it is.

    Raises:
        NotFound: There never was such a claim.
        Conflict: The handle named is not this claim's: it has been used again since.
    """
    claim = draft.facts.claims.get(use.claim)
    if claim is None:
        raise NotFound(f"there is no claim {use.claim!r}", kind="claim", name=use.claim, pointer="/id")
    resolve.matching(claim.revision, draft.asked.if_match)
    if use.handle is not None and use.handle != claim.handle:
        raise Conflict(f"claim {claim.id} is not under handle {use.handle!r}", claim=claim.id, pointer="/handle")
    if use.project is not None and use.project != claim.project:
        raise NotPermitted(f"claim {claim.id} is of another project", claim=claim.id)
    if claim.until is not None:
        return holding(draft, claim)
    return end(draft, claim, "released")


def give(
    draft: Draft,
    interface: Interface,
    network: Network,
    *,
    handle: str,
    kept: Kept,
    host: str | None,
    defer: bool = False,
    only: Space | None = None,
    address: str | None = None,
    reservation: str | None = None,
    on_override: OnOverride | None = None,
    static_acknowledged: bool = False,
) -> Holding:
    """Give an interface what Tenure gives by itself: a claim of its own project, under a handle of its own.

    An open claim under the handle is shown as it is. What it had last under the handle it gets again, if that
    is available; its own rest does not bar it.

    Args:
        kept: How long it keeps it.
        host: Id of the location that it is decided near; None: none is known.
        defer: It is decided later, when it is bound.
        only: The subnet that addresses of that version must come from.
        address: Exactly this one. reservation: Id of an open claim whose addresses it uses.
        on_override: What becomes of what the interface has; None: as the network says.
        static_acknowledged: Somebody will change what was written by hand into the machine.

    Raises:
        TenureError: As `claim_addresses`.

    Cost: as of a claim.
    """
    known = draft.facts.handles.get((MACHINES, handle))
    if known is not None:
        return holding(draft, draft.facts.claims[known])
    request = ClaimRequest(
        network=network.id,
        host=host,
        machine=draft.facts.machines[interface.machine].name,
        mac=interface.mac,
        family=None if reservation is None else family_of(draft, draft.facts.claims[reservation]),
        address=address,
        project=MACHINES,
        defer=defer,
        reservation=reservation,
        on_override=on_override,
        static_acknowledged=static_acknowledged,
    )
    claim = _begun(draft, handle, resolve.normalized(request, draft.state), Port(interface.machine, interface.id), kept)
    if defer:
        room_to_wait(draft, claim.request)
        return _deferred(draft, claim)
    return _decided(draft, claim, only)


def end(draft: Draft, claim: Claim, reason: str, because: str = "") -> Holding:
    """Record that a claim ends, with all that it holds; what stood behind it comes back.

    `because`: A sentence, where the reason alone does not say why.
    """
    ended, waiting = closed(draft, claim), followers(draft, claim)
    returned: tuple[Displaced, ...] = ()
    if draft.facts.held.get(claim.id):
        returned = release(draft, ended, reason, closes=True, because=because)
    else:
        draft.record(e.ClaimReleased(claim=ended))
    return holding(draft, ended, displaced=(*returned, *bring_back(draft, waiting)))


def allocate(draft: Draft, claim: Claim, *, opens: bool, only: Space | None = None) -> tuple[Displaced, ...]:
    """Record all addresses that a claim asks for (those of `only`'s family from there); `opens`: it begins with them.

    What they replace on the claim's interface is displaced, and answered.

    Raises:
        TenureError: As `claim_addresses`.
    """
    if claim.interface is None and _any_will_do(claim.request):
        return _allocate_any(draft, claim, opens, only)
    displaced: tuple[Displaced, ...] = ()
    for version in versions(claim.request.family):
        here = only if only is not None and only.version == version else None
        stand = stand_of(draft, claim, version, waited=not opens)
        for record in _addresses(draft, claim, version, here):
            record(opens=opens, stand=stand)
            opens = False
            stand = ALIAS if claim.interface is not None else stand
        displaced += displace(draft, claim, version)
    _acknowledged(draft, claim, displaced)
    return displaced


def _acknowledged(draft: Draft, claim: Claim, displaced: tuple[Displaced, ...]) -> None:
    """Refuse to displace what was written by hand into a machine, unless somebody changes that.

    Raises:
        Conflict: Nobody said so.
    """
    for each in displaced:
        if each.became != "kept":
            may_write(draft.facts.claims[each.claim], acknowledged=claim.request.static_acknowledged)


def _any_will_do(request: ClaimRequest) -> bool:
    """Whether a claim leaves the choice of its addresses to the strategy, or names one, and asks for nothing else."""
    return not (request.addresses or request.contiguous or request.shared or request.reservation)


def _allocate_any(draft: Draft, claim: Claim, opens: bool, only: Space | None) -> tuple[Displaced, ...]:
    """The common case, short: nothing stands in any way to what no interface uses."""
    for version in versions(claim.request.family):
        here = only if only is not None and only.version == version else None
        for _ in range(claim.request.count):
            record_address(draft, claim, *find(draft, claim, version, only=here), opens=opens)
            opens = False
    return ()


def _addresses(draft: Draft, claim: Claim, version: int, only: Space | None) -> Iterator[Callable[..., None]]:
    """How to record each address of a version that a claim asks for, found once those before it are recorded."""
    request = claim.request
    if request.reservation is not None:
        for allocation in lent_to(draft, claim, version):
            yield partial(lend, draft, claim, allocation)
    elif request.addresses:
        for at, address in enumerate(request.addresses):
            if version_of(address) == version:
                yield partial(record_address, draft, claim, *named(draft, claim, address, f"/addresses/{at}"))
    elif request.contiguous and request.count > 1:
        for found in side_by_side(draft, claim, version):
            yield partial(record_address, draft, claim, *found)
    else:
        had = had_last(draft, claim, version, only) if claim.project == MACHINES and request.address is None else None
        for _ in range(request.count):
            yield partial(record_address, draft, claim, *(had or find(draft, claim, version, only=only)))


def open_claim(draft: Draft, name: str) -> Claim:
    """A claim that has not been released, of the revision that the caller saw."""
    claim = draft.facts.claims.get(name)
    if claim is None:
        raise NotFound(f"there is no claim {name!r}", kind="claim", name=name)
    resolve.matching(claim.revision, draft.asked.if_match)
    if claim.until is not None:
        raise Conflict(f"claim {claim.id} was released", claim=claim.id)
    return claim


def _by_name(draft: Draft, request: ClaimRequest) -> ClaimRequest:
    """A machine is the same content by its id and by its name."""
    machine = None if request.machine is None else draft.facts.machine_names.get(request.machine)
    return request if machine is None else msgspec.structs.replace(request, machine=draft.facts.machines[machine].name)


def _again(draft: Draft, claim: Claim, request: ClaimRequest, *, said: bool) -> Holding:
    """What was not said or is called otherwise now is what it was then.

    That is the family, whatever subnets the network has got since; and the reservation, by its handle.
    """
    if not said:
        request = msgspec.structs.replace(request, family=claim.request.family)
    source = draft.facts.claims.get(claim.request.reservation or "")
    if source is not None and request.reservation == source.handle:
        request = msgspec.structs.replace(request, reservation=source.id)
    request = msgspec.structs.replace(request, static_acknowledged=claim.request.static_acknowledged)
    if claim.request == request:
        _still_its_own(draft, claim)
        return holding(draft, claim)
    both = ((f, getattr(claim.request, f), getattr(request, f)) for f in ClaimRequest.__struct_fields__)
    differs = {_SENT.get(field, field): [_plain(old), _plain(new)] for field, old, new in both if old != new}
    raise Conflict(
        f"handle {claim.handle!r} has a claim that differs in {', '.join(differs)}; release it first",
        claim=claim.id,
        differs=differs,
    )


def _still_its_own(draft: Draft, claim: Claim) -> None:
    """Refuse a repetition for a machine or an interface whose address was given to another since.

    Raises:
        Conflict: It was.
    """
    request, facts = claim.request, draft.facts
    interface = None if request.mac is None else facts.macs.get(request.mac)
    machine = None if request.machine is None else facts.machine_names.get(request.machine)
    same = interface in (None, claim.interface) and machine in (None, claim.machine)
    if same or claim.machine is None:
        return
    now = facts.machines[claim.machine].name
    raise Conflict(
        f"what claim {claim.handle!r} holds was given to {now} since; ask under another handle",
        claim=claim.id,
        machine=now,
        pointer="/handle",
    )


_SENT = {"reservation": "from"}


def _plain(value: object) -> object:
    """A value as an error carries it."""
    return list(value) if isinstance(value, tuple) else msgspec.to_builtins(value)


_OURS: Final = tuple(own + ":" for own in OWN_PROJECTS)


def _not_our_own(request: ClaimRequest, handle: str) -> None:
    if handle.startswith(_OURS):
        raise InvalidValue(f"handles that begin with {handle.partition(':')[0]}: are Tenure's own", pointer="/handle")
    if request.project in OWN_PROJECTS:
        raise InvalidValue(f"project {request.project} is Tenure's own", pointer="/project")


def _begun(draft: Draft, handle: str, request: ClaimRequest, port: Port, kept: Kept | None = None) -> Claim:
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
        kept=kept,
        static=request.static,
        harvest=request.harvest,
        expires=request.expires,
        tags=request.tags,
        custom=request.custom,
    )


def _deferred(draft: Draft, claim: Claim) -> Holding:
    draft.record(e.ClaimDeferred(claim=msgspec.structs.replace(claim, bound=None)))
    return holding(draft, draft.facts.claims[claim.id], created=True)


def _queued(draft: Draft, claim: Claim) -> Holding:
    """Decided at once if there is room for it beside those that wait already; else it waits as they do."""
    try:
        if claim.request.reservation is None:
            room_to_wait(draft, claim.request)
        return draft.attempt(lambda: _decided(draft, claim))
    except Exhausted:
        return _deferred(draft, claim)


def _decided(draft: Draft, claim: Claim, only: Space | None = None) -> Holding:
    displaced = allocate(draft, claim, opens=True, only=only)
    return holding(draft, draft.facts.claims[claim.id], created=True, displaced=displaced)


def _waits(draft: Draft, request: ClaimRequest) -> bool:
    """Whether the claim is decided later: it says so, or its network's model needs a host to choose by."""
    if request.address is not None or request.addresses or request.reservation is not None:
        return False
    clustered = draft.state.networks[request.network].model == "clustered"
    return request.defer or (clustered and request.host is None and request.subnet is None)


def _host_name(draft: Draft, claim: Claim) -> str:
    return "no host" if claim.host is None else draft.state.locations[claim.host].name
