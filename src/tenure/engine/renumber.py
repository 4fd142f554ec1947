"""A subnet's addresses are replaced by those of another, a wave a minute.

While that lasts nothing new is placed in the subnet, and DHCP promises its
addresses for a short time only, so that each machine asks again soon.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from tenure.engine import reassign, resolve
from tenure.engine.draft import Draft
from tenure.engine.facts import Wanted
from tenure.engine.inventory import converted
from tenure.engine.placing import reaches, wish_of
from tenure.engine.space import Space
from tenure.errors import Conflict, Exhausted, InvalidValue, TenureError
from tenure.model import events as e
from tenure.model.addressing import Renumbering, Subnet
from tenure.model.answers import Made
from tenure.model.holding import Allocation
from tenure.model.uses import CancelRenumbering, RenumberSubnet
from tenure.net.addresses import first_and_length

EVERY: Final = timedelta(minutes=1)
"""Time from one wave to the next."""

_SETTABLE: Final = ("wave", "lease_time", "static_acknowledged", "stopped")
_BOUNDS: Final = {"wave": (1, 256), "lease_time": (60, 86400)}
_AHEAD: Final = 2
"""Promises are written so many lease times ahead."""


def renumber_subnet(use: RenumberSubnet, draft: Draft) -> Made:
    """Begin the replacement of a subnet's addresses by those of another, or change how it goes on.

    Static claims are left where they are unless `static_acknowledged`. What was begun is stopped and resumed by
    `stopped`; the subnet stays draining when it is over.

    Raises:
        InvalidValue: The other is the subnet itself, around it or in it, of another network or IP version; or a
            field is unknown or outside its bounds (`pointer`).
        Conflict: The other is draining, or the addresses are going to a third already; or no other is said, and
            nothing is being renumbered.
        Exhausted: The other has no room: facts `needed` and `available`.

    Cost: a count of the subnet's addresses.
    """
    space = resolve.space(draft.state, use.subnet, "")
    old = space.subnet
    resolve.matching(old.revision, draft.asked.if_match)
    if old.renumbering is None:
        target = _target(draft, space, use.to)
        renumbering = _said(Renumbering(to=target.subnet.id, since=draft.moment.now), use.fields)
        _room_for(draft, space, target)
    else:
        _same_target(draft, old.renumbering, use.to)
        renumbering = _said(old.renumbering, use.fields)
    if renumbering != old.renumbering:
        _change(draft, old, renumbering, draining=True)
    return Made(subnet=draft.state.subnets[old.id].subnet)


def cancel_renumbering(use: CancelRenumbering, draft: Draft) -> Made:
    """End a renumbering where it stands: what has moved stays moved, and the subnet stays draining."""
    space = resolve.space(draft.state, use.subnet, "")
    resolve.matching(space.subnet.revision, draft.asked.if_match)
    if space.subnet.renumbering is not None:
        _change(draft, space.subnet, None)
    return Made(subnet=draft.state.subnets[space.subnet.id].subnet)


def want(found: Wanted, subnet: str, renumbering: Renumbering, now: datetime, limit: int) -> None:
    """What must be read for the next wave, if it is due."""
    if _is_due(renumbering, now):
        most = min(limit, renumbering.wave)
        found.renumbering.add((subnet, renumbering.static_acknowledged, _short(renumbering, now), most))


def wave(draft: Draft, space: Space, limit: int) -> int:
    """Record the next wave of a subnet that is renumbered, if it is due; how many addresses moved.

    Those whose DHCP promise is longer than those that are made meanwhile wait for it. What is shelved moves too, and
    what is lent comes back as the new address. With the last that is left to move the renumbering is over. Nothing
    moves into a subnet that is draining, or where it would not reach its host.
    """
    renumbering = space.subnet.renumbering
    if renumbering is None or not _is_due(renumbering, draft.moment.now):
        return 0
    target = draft.state.subnets.get(renumbering.to)
    found = draft.facts.renumbering[space.subnet.id][: min(limit, renumbering.wave)]
    known = [draft.facts.allocations[id_] for id_ in found if id_ in draft.facts.allocations]
    if target is None or target.subnet.draining:
        known = []
    ready = [a for a in known if target is not None and _may_move(draft, a, target, renumbering)]
    moved = sum(_moved(draft, allocation, target, renumbering) for allocation in ready if target is not None)
    if moved >= draft.facts.left[space.subnet.id]:
        _change(draft, space.subnet, None)
    elif moved:
        now = msgspec.structs.replace(renumbering, moved=renumbering.moved + moved, waved=draft.moment.now)
        _change(draft, space.subnet, now)
    return moved


def not_renumbered(draft: Draft, space: Space) -> None:
    """Refuse to close, drain or narrow a subnet to which another's addresses are going.

    Raises:
        Conflict: Fact `subnet` says whose.
    """
    for other in draft.state.spaces(space.subnet.network, space.version):
        if other.subnet.renumbering is not None and other.subnet.renumbering.to == space.subnet.id:
            raise Conflict(
                f"{other.subnet.cidr} is being renumbered to {space.subnet.cidr}; cancel that first",
                subnet=other.subnet.cidr,
            )


def still_filled(changes: Mapping[str, object], draft: Draft, space: Space) -> None:
    """Refuse to drain, or to make smaller, a subnet to which another's addresses are going.

    Raises:
        Conflict: Fact `subnet` says whose.
    """
    narrower = "cidr" in changes and not _holds(str(changes["cidr"]), space)
    if narrower or (changes.get("draining") is True and not space.subnet.draining):
        not_renumbered(draft, space)


def stays_draining(changes: Mapping[str, object], subnet: Subnet) -> None:
    """Refuse to place something new in a subnet that is being renumbered.

    Raises:
        Conflict: It would not be draining.
    """
    if subnet.renumbering is not None and changes.get("draining") is False:
        raise Conflict(
            f"{subnet.cidr} is being renumbered: nothing new is placed there; cancel that first",
            subnet=subnet.cidr,
            pointer="/draining",
        )


def _is_due(renumbering: Renumbering, now: datetime) -> bool:
    return not renumbering.stopped and (renumbering.waved is None or renumbering.waved + EVERY <= now)


def _holds(cidr: str, space: Space) -> bool:
    """Whether a prefix holds all that a subnet does."""
    first, length = first_and_length(cidr)
    return first <= space.first and space.last < first + (1 << (space.width - length))


def _short(renumbering: Renumbering, now: datetime) -> datetime:
    """Until when a promise lasts at most that was made, or renewed, since the renumbering began."""
    return now + timedelta(seconds=_AHEAD * renumbering.lease_time)


def _may_move(draft: Draft, allocation: Allocation, target: Space, renumbering: Renumbering) -> bool:
    """Whether an allocation that was read as ready is so still, after the uses before this one."""
    if allocation.until is not None:
        return False
    claim = draft.facts.claims[allocation.claim]
    if claim.static and not renumbering.static_acknowledged:
        return False
    if not reaches(target, wish_of(draft, claim.host, draft.state.networks[claim.network])):
        return False
    return allocation.held_until is None or allocation.held_until <= _short(renumbering, draft.moment.now)


def _moved(draft: Draft, allocation: Allocation, target: Space, renumbering: Renumbering) -> bool:
    """Move one; it waits for a later wave where that is refused, as for want of room."""
    acknowledged = renumbering.static_acknowledged
    try:
        draft.attempt(
            lambda: reassign.replace(draft, allocation, target, None, dns=None, acknowledged=acknowledged, lent_on=True)
        )
    except TenureError:
        return False
    return True


def _target(draft: Draft, space: Space, to: str | None) -> Space:
    if to is None:
        cidr = space.subnet.cidr
        raise Conflict(f"{cidr} is not being renumbered; say to which subnet", subnet=cidr, pointer="/to")
    target = resolve.space(draft.state, to, "/to")
    mine, other = space.subnet, target.subnet
    if other.network != mine.network:
        raise InvalidValue(f"{other.cidr} is of another network", pointer="/to")
    if target.version != space.version:
        raise InvalidValue(f"{other.cidr} is not IPv{space.version}", pointer="/to")
    if target.first <= space.last and space.first <= target.last:
        raise InvalidValue(f"{other.cidr} is, holds or lies in {mine.cidr}", pointer="/to")
    if other.draining:
        raise Conflict(f"{other.cidr} is draining: nothing new is placed there", subnet=other.cidr, pointer="/to")
    return target


def _room_for(draft: Draft, space: Space, target: Space) -> None:
    needed = draft.facts.left.get(space.subnet.id, 0)
    if needed > target.available:
        raise Exhausted(
            f"{space.subnet.cidr} has {needed} addresses to move, and {target.subnet.cidr} has room for "
            f"{target.available}",
            needed=needed,
            available=target.available,
            pointer="/to",
        )


def _same_target(draft: Draft, renumbering: Renumbering, to: str | None) -> None:
    if to is not None and draft.state.find("subnet", to) != renumbering.to:
        cidr = draft.state.subnets[renumbering.to].subnet.cidr
        raise Conflict(f"its addresses are going to {cidr}; cancel that first", subnet=cidr, pointer="/to")


def _said(renumbering: Renumbering, fields: dict[str, object]) -> Renumbering:
    for name in fields:
        if name not in _SETTABLE:
            raise InvalidValue(f"{name} is not a field that can be set", pointer=f"/{name}")
    loose: dict[str, Any] = {**msgspec.to_builtins(renumbering), **fields}
    said = converted(loose, Renumbering)
    for name, (low, high) in _BOUNDS.items():
        if not low <= getattr(said, name) <= high:
            raise InvalidValue(f"{name} must be {low} to {high}", pointer=f"/{name}", minimum=low, maximum=high)
    return said


def _change(draft: Draft, old: Subnet, renumbering: Renumbering | None, **also: bool) -> None:
    after = msgspec.structs.replace(old, renumbering=renumbering, revision=old.revision + 1, **also)
    draft.record(e.SubnetChanged(subnet=after))
