"""An address goes from one user, claim or name to another without ever being free."""

from collections.abc import Iterable
from typing import Any

import msgspec

from tenure.engine import resolve
from tenure.engine.draft import Draft
from tenure.engine.reservations import promised
from tenure.engine.standing import Follower, bring_back, closed, followers
from tenure.errors import Conflict, NotFound
from tenure.model import events as e
from tenure.model.answers import Displaced
from tenure.model.holding import Allocation, Attachment, Claim
from tenure.net.addresses import parse_address, version_of
from tenure.net.identifiers import parse_mac


def held_at(draft: Draft, vrf: str, ip: str) -> Allocation:
    """The allocation of a held address.

    Raises:
        NotFound: Nobody holds it.
        Conflict: It is a dynamic lease, or is about to be taken back for another of its claim.
    """
    text = str(parse_address(ip, "/ip"))
    found = draft.facts.addresses.get((resolve.resolved(draft.state, "vrf", vrf, "/vrf"), text))
    if found is None:
        raise NotFound(f"nobody holds {text}", kind="address", name=text)
    if found.lease:
        raise Conflict(
            f"{text} is a dynamic lease, which ends by itself; claim an address for its client", address=text
        )
    for other in draft.facts.held[found.claim].values():
        if other.replaces == found.id:
            raise Conflict(f"{text} is being replaced by {other.ip}", address=text, replaced_by=other.ip)
    return found


def interface_of(draft: Draft, name: str) -> str:
    """Id of an open interface, by MAC or id.

    Raises:
        NotFound: There is none.
    """
    if name in draft.facts.interfaces:
        return name
    found = draft.facts.macs.get(parse_mac(name, "/interface")) if ":" in name or "-" in name else None
    if found is None:
        raise NotFound(f"there is no interface {name!r}", kind="interface", name=name, pointer="/interface")
    return found


def pass_on(
    draft: Draft,
    left: Allocation,
    claim: Claim,
    interfaces: Iterable[str],
    *,
    reason: str,
    opens: bool = False,
    **new: Any,
) -> Allocation:
    """Record that a held address is under `claim` and used by `interfaces` from now on.

    The giver's claim ends where this was its last address. Where another interface uses it now, DHCP gives it to
    nobody but its former user before the last promise to that one has ended. Back at who lent it, it is lent no more.

    Args:
        left: What it is till now.
        claim: As it is to be; the giver's own where only the interface or the name is another.
        reason: As `AddressMoved` has it.
        opens: The claim begins with this.
        new: Fields of the new allocation that differ, as `hostname`, `title`, `standing` and `behind`.

    Returns:
        The new allocation.
    """
    now, used = draft.moment.now, list(interfaces)
    giver = draft.facts.claims[left.claim]
    attached = draft.facts.attached.get(left.id, {})
    fields: dict[str, Any] = {"id": next(draft.moment.ids), "claim": claim.id, "since": now, **new}
    if set(used) != set(attached):
        promise = promised(draft, left)
        fields |= {"held_until": None, "waits_until": promise and promise.until, "waits_for": promise and promise.to}
    if left.lender == claim.id:
        fields["lender"] = None
    allocation: Allocation = msgspec.structs.replace(left, **fields)
    attachments = [Attachment(allocation=allocation.id, interface=port, since=now) for port in used]
    last = giver.id != claim.id and len(draft.facts.held[giver.id]) == 1
    draft.record(
        e.AddressMoved(
            giver=_as_giver(draft, giver, claim, last=last),
            left=msgspec.structs.replace(left, until=now),
            attachments=tuple([msgspec.structs.replace(each, until=now) for each in attached.values()]),
            claim=claim,
            allocation=allocation,
            attachment=attachments[0] if attachments else None,
            reason=reason,
            opens=opens,
            closes=last,
        )
    )
    for attachment in attachments[1:]:
        draft.record(e.AddressAttached(claim=claim, allocation=allocation, attachment=attachment))
    return allocation


def _as_giver(draft: Draft, giver: Claim, claim: Claim, *, last: bool) -> Claim:
    if giver.id == claim.id:
        return claim
    return closed(draft, giver) if last else msgspec.structs.replace(giver, revision=giver.revision + 1)


class Gap:
    """What an address leaves behind on its interface. Make it before the address goes, `close` it after."""

    __slots__ = ("_claim", "_interface", "_primary", "_version", "_waiting")

    def __init__(self, draft: Draft, allocation: Allocation) -> None:
        claim = draft.facts.claims[allocation.claim]
        self._claim, self._interface = claim.id, claim.interface
        self._version, self._primary = version_of(allocation.ip), allocation.standing == "primary"
        self._waiting = [f for f in followers(draft, claim) if version_of(f.allocation.ip) == self._version]

    def close(self, draft: Draft) -> tuple[Displaced, ...]:
        """Record what comes back where the claim has no primary left there: what stood behind it, or its next."""
        stays = self._staying(draft)
        if any(a.standing == "primary" for a in stays):
            return ()
        if self._waiting or not stays:
            return bring_back(draft, self._waiting)
        aliases = [a for a in stays if a.standing == "alias" and a.behind is None]
        return bring_back(draft, [Follower(a, None) for a in aliases[:1]]) if self._primary else ()

    def _staying(self, draft: Draft) -> list[Allocation]:
        """Other addresses of the claim and version on the interface that it left, oldest first."""
        used = draft.facts.uses.get(self._interface or "", {})
        mine = draft.facts.held.get(self._claim, {}).values()
        return [a for a in mine if a.id in used and version_of(a.ip) == self._version]
