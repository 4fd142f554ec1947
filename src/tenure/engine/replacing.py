"""One address of a claim instead of another: what the new one takes over, and when the old one goes."""

from datetime import datetime

import msgspec

from tenure.engine.draft import Draft
from tenure.engine.holdings import release
from tenure.engine.names import carried
from tenure.engine.placing import Why
from tenure.engine.space import Space
from tenure.errors import Conflict
from tenure.model import events as e
from tenure.model.holding import Allocation, Attachment, Claim
from tenure.net.addresses import text_of


def may_write(claim: Claim, *, acknowledged: bool) -> None:
    """Refuse to change what was written by hand into a machine, unless somebody will change it there.

    Raises:
        Conflict: Pointer `/static_acknowledged`.
    """
    if claim.static and not acknowledged:
        raise Conflict(
            f"claim {claim.handle!r} is static: its address was written into a configuration by hand, and has to be"
            " changed there too; say static_acknowledged",
            claim=claim.id,
            pointer="/static_acknowledged",
        )


def beside(
    draft: Draft,
    old: Allocation,
    found: tuple[Space, int, Why],
    until: datetime | None,
    *,
    lender: str | None,
    named: bool = False,
) -> Allocation:
    """Record a new address beside an old one, used by the same interfaces, called and standing as it is.

    `until`: It gets the name by then, and not now. `lender`: The reservation that it goes back to. `named`: Somebody
    asked for this very address.

    Raises:
        Conflict: As of `names.carried`.
    """
    space, number, why = found
    ip = text_of(space.version, number)
    called = carried(draft, old, ip)
    now, claim = draft.moment.now, draft.facts.claims[old.claim]
    claim = msgspec.structs.replace(claim, named=claim.named or named, revision=claim.revision + 1)
    new = Allocation(
        id=next(draft.moment.ids),
        claim=claim.id,
        vrf=space.subnet.vrf,
        subnet=space.subnet.id,
        ip=ip,
        length=space.width,
        since=now,
        hostname=called if until is None else None,
        block=why.block,
        title=why.title,
        standing=old.standing,
        behind=old.behind,
        lender=lender,
        replaces=None if until is None else old.id,
        named_at=until,
    )
    ports = [Attachment(allocation=new.id, interface=i, since=now) for i in draft.facts.attached.get(old.id, {})]
    first = ports[0] if ports else None
    draft.record(
        e.AddressAllocated(claim=claim, allocation=new, attachment=first, strategy=why.strategy, looks=why.looks)
    )
    for attachment in ports[1:]:
        draft.record(e.AddressAttached(claim=claim, allocation=new, attachment=attachment))
    return new


def follow_name(draft: Draft, allocation: Allocation) -> None:
    """Record that an allocation takes the name of the one that it replaces, and that that one is taken back.

    Nothing where it replaces none.
    """
    if allocation.replaces is None:
        return
    claim = draft.facts.claims[allocation.claim]
    old = draft.facts.held[claim.id].get(allocation.replaces)
    hostname = allocation.hostname if old is None else _following(draft, old, allocation.ip)
    named = msgspec.structs.replace(allocation, hostname=hostname, replaces=None, named_at=None)
    draft.record(e.AddressNamed(claim=claim, allocation=named))
    if old is not None:
        take_back(draft, old)


def _following(draft: Draft, old: Allocation, ip: str) -> str | None:
    """The name that follows; none if what people made since then is in its way: the address has changed already."""
    try:
        return carried(draft, old, ip)
    except Conflict:
        return None


def settled(draft: Draft, allocation: Allocation) -> Allocation:
    """An allocation whose name does not wait any more."""
    follow_name(draft, allocation)
    return draft.facts.allocations[allocation.id]


def take_back(draft: Draft, old: Allocation) -> None:
    """An address that another replaces goes back: to whoever lent it, else to rest."""
    release(draft, draft.facts.claims[old.claim], "renumbered", closes=False, held=[old])
