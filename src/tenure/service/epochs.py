"""A ledger that lost its end starts a new epoch: nothing that was said of the old one is said again."""

import logging
from collections.abc import Iterator

import msgspec

from tenure.engine.images import Image
from tenure.model.dnsdata import ZoneChange
from tenure.model.events import Entry, EpochStarted
from tenure.service.memory import Memory
from tenure.store.interface import Batch, Head, Store, Turn

log = logging.getLogger(__name__)

_REASON = "the ledger no longer holds the last transaction that this node knew"


def begin(memory: Memory, store: Store, turn: Turn, ids: Iterator[str]) -> None:
    """Load everything again, and record a new epoch in the transaction at hand.

    Its id is random, so that two restores of one backup never share an epoch. Every zone's serial leaps
    beyond what was lost, and its journal begins anew.

    Raises:
        OutcomeUnknown: As for any commit. The next turn looks again; at worst there are two epochs.
    """
    memory.load(store)
    epoch, batch, change = next(ids), next(ids), next(ids)
    sequence = turn.head.sequence + 1
    leapt = dict(memory.leapt())
    entry = Entry(
        sequence=sequence,
        batch=batch,
        change=change,
        time=turn.now,
        actor="writer",
        source="",
        request_id="",
        event=EpochStarted(epoch=epoch, reason=_REASON),
    )
    zones = memory.state.zones
    rows = [
        Image("zones", (id_,), msgspec.structs.replace(zones[id_], serial=number, floor=number))
        for id_, number in leapt.items()
    ]
    changes = [ZoneChange(id_, number, sequence) for id_, number in leapt.items()]
    turn.apply(Batch(batch, [entry], rows, changes, epoch=epoch))
    turn.commit()
    memory.begin_epoch(Head(epoch, sequence, batch, turn.now), leapt)
    log.warning("epoch %s began after sequence %d: %s", epoch, turn.head.sequence, _REASON)
