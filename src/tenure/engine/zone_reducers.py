"""What events about records that people made, keys and secondaries make of the state."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tenure.model import events as e
from tenure.model.dnsdata import TYPES, Zone, ZoneRecord
from tenure.naming.rdata import targets
from tenure.naming.reverse import zone_span

if TYPE_CHECKING:
    from tenure.engine.state import State

Undo = Callable[[], object]

_AIMED = ("CNAME", "MX", "NS", "SRV")


def _record_put(state: "State", event: e.RecordCreated | e.RecordChanged) -> Undo:
    new, old = event.record, state.records.get(event.record.id)
    _put(state, new)

    def undo() -> None:
        _drop(state, new)
        if old is not None:
            _put(state, old)

    return undo


def _record_dropped(state: "State", event: e.RecordDeleted) -> Undo:
    old = state.records[event.record.id]
    _drop(state, old)
    return lambda: _put(state, old)


def _put(state: "State", record: ZoneRecord) -> None:
    known = state.records.get(record.id)
    if known is not None:
        _drop(state, known)
    state.records[record.id] = record
    state.made.setdefault(record.zone, {}).setdefault(record.owner, {})[record.id] = record
    for above in _above(record.owner):
        state.under[record.zone, above] += 1
    _aim(state, record.id, _targets(record))
    _count_reverse(state, record, 1)


def _drop(state: "State", record: ZoneRecord) -> None:
    del state.records[record.id]
    owners = state.made[record.zone]
    del owners[record.owner][record.id]
    if not owners[record.owner]:
        del owners[record.owner]
    if not owners:
        del state.made[record.zone]
    for above in _above(record.owner):
        state.under[record.zone, above] -= 1
        if not state.under[record.zone, above]:
            del state.under[record.zone, above]
    _miss(state, record.id, _targets(record))
    _count_reverse(state, record, -1)


def serve(state: "State", old: Zone | None, new: Zone | None) -> None:
    """Know by whom a zone says that it is served, as it was and as it is."""
    if old is not None:
        _miss(state, old.id, old.name_servers)
    if new is not None:
        _aim(state, new.id, new.name_servers)


def _aim(state: "State", id_: str, targets: Iterable[str]) -> None:
    for target in targets:
        state.aimed.setdefault(target, {})[id_] = None


def _miss(state: "State", id_: str, targets: Iterable[str]) -> None:
    for target in targets:
        del state.aimed[target][id_]
        if not state.aimed[target]:
            del state.aimed[target]


def _count_reverse(state: "State", record: ZoneRecord, step: int) -> None:
    zone = state.zones[record.zone]
    if zone_span(zone.name) is not None:
        state.reverse_zones.made[zone.vrf] += step


def _above(owner: str) -> Iterator[str]:
    while owner := owner.partition(".")[2]:
        yield owner


def _targets(record: ZoneRecord) -> tuple[str, ...]:
    return targets(TYPES[record.type], record.rdata) if record.type in _AIMED else ()


def _keep(things: str, field: str) -> "Callable[[State, Any], Undo]":
    def reduce(state: "State", event: Any) -> Undo:
        kept, new = getattr(state, things), getattr(event, field)
        old = kept.get(new.id)
        kept[new.id] = new

        def undo() -> None:
            if old is None:
                del kept[new.id]
            else:
                kept[new.id] = old

        return undo

    return reduce


def _lose(things: str, field: str) -> "Callable[[State, Any], Undo]":
    def reduce(state: "State", event: Any) -> Undo:
        kept = getattr(state, things)
        old = kept.pop(getattr(event, field).id)
        return lambda: kept.__setitem__(old.id, old)

    return reduce


ZONED: dict[type, "Callable[[State, Any], Undo]"] = {
    e.RecordCreated: _record_put,
    e.RecordChanged: _record_put,
    e.RecordDeleted: _record_dropped,
    e.TsigKeyCreated: _keep("tsig_keys", "key"),
    e.TsigKeyDeleted: _lose("tsig_keys", "key"),
    e.SecondaryCreated: _keep("secondaries", "secondary"),
    e.SecondaryChanged: _keep("secondaries", "secondary"),
    e.SecondaryDeleted: _lose("secondaries", "secondary"),
}
