"""Changing what is said of a claim: what it holds stays as it is."""

from datetime import datetime
from typing import Annotated, Final

import msgspec

from tenure.engine.claims import open_claim
from tenure.engine.draft import Draft
from tenure.engine.fields import labelled
from tenure.engine.holdings import holding
from tenure.engine.inventory import converted
from tenure.errors import Conflict, InvalidValue, NotPermitted
from tenure.model import events as e
from tenure.model.answers import Holding
from tenure.model.holding import LEASES
from tenure.model.policy import Custom, Harvest
from tenure.model.uses import ChangeClaim
from tenure.net.moments import moment


class _Said(msgspec.Struct, frozen=True):
    """What may be said of a claim."""

    expires: Annotated[datetime, msgspec.Meta(tz=True)] | None
    harvest: Harvest
    static: bool
    tags: tuple[str, ...]
    custom: Custom


_SAID: Final = _Said.__struct_fields__


def change_claim(use: ChangeClaim, draft: Draft) -> Holding:
    """Say otherwise of an open claim when it ends, whether it may be harvested, is static, and its labels.

    What it asked for stays its content: the same request under the same handle is still answered with it. A claim
    that gets another end is told again before that. What changes nothing is not recorded.

    Raises:
        NotFound: There is no such claim.
        Conflict: It was released; or `expires` of what a machine was given by itself.
        NotPermitted: It is a dynamic lease, which ends by itself.
        InvalidValue: A field is not one of these, or malformed; the end is over already.
        StaleRevision: It changed since the caller read it.
    """
    old = open_claim(draft, use.claim)
    if old.project == LEASES:
        raise NotPermitted(f"claim {old.id} is a dynamic lease: there is nothing to say of it", claim=old.id)
    for name in use.changes:
        if name not in _SAID:
            raise InvalidValue(f"{name} is not a field of a claim that can be set", pointer=f"/{name}")
    said = labelled(converted({name: getattr(old, name) for name in _SAID} | use.changes, _Said))
    new = msgspec.structs.replace(old, **msgspec.structs.asdict(said))
    if new.expires is not None:
        new = msgspec.structs.replace(new, expires=moment(new.expires, "/expires"))
    if new.expires != old.expires:
        if new.expires is not None and new.expires <= draft.moment.now:
            raise InvalidValue("expires is over already", pointer="/expires")
        if new.expires is not None and old.kept is not None:
            raise Conflict(
                f"claim {old.id} is what a machine was given by itself: it ends with the machine's"
                f" {'deployment' if old.kept == 'deployment' else 'life'}",
                claim=old.id,
                pointer="/expires",
            )
        new = msgspec.structs.replace(new, warned=False)
    if new != old:
        draft.record(e.ClaimChanged(claim=msgspec.structs.replace(new, revision=old.revision + 1)))
    return holding(draft, draft.facts.claims[old.id])
