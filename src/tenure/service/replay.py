"""The proof that the tables are views of the ledger: make them again from its events, and compare.

Left out are what the ledger does not hold: secrets of tokens and TSIG keys, and serials of zones.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final, TypeVar

import msgspec

from tenure.engine.facts import Facts, Wanted
from tenure.engine.images import images
from tenure.engine.state import State
from tenure.errors import StoreUnavailable
from tenure.model.dnsdata import Zone
from tenure.model.events import Entry
from tenure.model.holding import Allocation
from tenure.net.addresses import number_of
from tenure.store.interface import Snapshot, Store, Turn

T = TypeVar("T")
Rows = dict[tuple[str, ...], Any]

_BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)
_PAGE: Final = 5000
_KEYS: Final = 1000
_SHOWN: Final = 100
_INVENTORY: Final = ("vrfs", "locations", "networks", "subnets", "ranges", "zones", "records", "secondaries")
_SECRET: Final = ("tokens", "tsig_keys")
"""Of these a snapshot has what the ledger has not beside each."""
_THINGS: Final = (
    "vrfs", "locations", "networks", "ranges", "records", "made", "under", "aimed", "tsig_keys", "secondaries",
)  # fmt: skip


class Rebuilt:
    """Tables and state as the ledger alone gives them."""

    def __init__(self) -> None:
        self.tables: dict[str, Rows] = {}
        self.state = State()
        self.sequence = 0

    def take(self, entry: Entry) -> None:
        """Take in the next entry.

        Raises:
            ValueError: It is not the next.
        """
        if entry.sequence != self.sequence + 1:
            raise ValueError(f"sequence {entry.sequence} follows {self.sequence}")
        self.sequence = entry.sequence
        self.state.reduce(entry.event)
        for image in images(entry.event):
            rows = self.tables.setdefault(image.table, {})
            if image.row is None:
                rows.pop(image.key, None)
            else:
                rows[image.key] = image.row

    def rows(self, table: str) -> Rows:
        """A table by key."""
        return self.tables.get(table, {})


def differences(store: Store, rebuilt: Rebuilt | None = None) -> list[str]:
    """What the store holds and the ledger does not say, or the other way round; at most a hundred sentences.

    Open rows are compared whole, closed claims whole, closed addresses as far as they still rest.

    Args:
        rebuilt: What the ledger gave so far, to go on from; else it is read from its beginning.

    Raises:
        StoreUnavailable: Somebody writes all the while.
    """
    rebuilt = rebuilt or Rebuilt()
    for _ in range(5):
        try:
            _read(rebuilt, store)
        except ValueError as error:
            return [str(error)]
        with store.snapshot() as snapshot, store.turn() as turn:
            if snapshot.head.sequence == turn.head.sequence == rebuilt.sequence:
                return list(islice(_differences(rebuilt, snapshot, turn), _SHOWN))
    raise StoreUnavailable("the ledger grows all the while: compare again when less is written")


def described(state: State, now: datetime) -> dict[str, Any]:
    """All that a state says, as plain values that can be compared. `now` ends what rests no longer."""
    state.advance(now)
    said: dict[str, Any] = {name: getattr(state, name) for name in _THINGS}
    said["zones"] = {zone.id: _without_serial(zone) for zone in state.zones.values()}
    for name in ("claims_of", "claims_at", "waiting"):
        said[name] = {key: number for key, number in getattr(state, name).items() if number}
    for id_, space in state.subnets.items():
        said[f"subnet {id_}"] = space.subnet
        said[f"held of {id_}"] = {number: page.used for number, page in space.pages.items() if page.used}
        said[f"resting of {id_}"] = dict(space.resting)
        said[f"strangers of {id_}"] = dict(space.strangers)
        said[f"loose of {id_}"] = dict(space.loose)
        said[f"blocks of {id_}"] = {key: (block.owner, block.free) for key, block in space.blocks.items()}
        said[f"rack blocks of {id_}"] = {key: region.owner for key, region in space.regions.items()}
        said[f"counts of {id_}"] = (space.held, space.in_use, space.cooling, space.available)
    return said


def _read(rebuilt: Rebuilt, store: Store) -> None:
    while entries := store.entries(rebuilt.sequence, _PAGE):
        for entry in entries:
            rebuilt.take(entry)


def _differences(rebuilt: Rebuilt, snapshot: Snapshot, turn: Turn) -> Iterator[str]:
    stored: dict[str, Iterable[Any]] = {name: getattr(snapshot, name) for name in _INVENTORY}
    stored |= {name: (row for row, _ in getattr(snapshot, name)) for name in _SECRET}
    for name, rows in stored.items():
        yield from _compared(name, _masked(rebuilt.rows(name)), _masked({(row.id,): row for row in rows}))
    yield from _compared(
        "blocks", *(_by_block(blocks) for blocks in (rebuilt.rows("blocks").values(), snapshot.blocks()))
    )
    yield from _compared("labels", _by_thing(rebuilt.rows("labels")), _by_thing(_grouped(snapshot)))
    yield from _compared_by_key(rebuilt, turn)
    yield from _compared_seen(rebuilt, turn)
    yield from _compared_held(rebuilt, snapshot)
    now = snapshot.head.time or _BEGINNING
    yield from _compared("state", described(rebuilt.state, now), described(State.load(snapshot, now), now))


def _compared(what: str, said: Mapping[Any, Any], held: Mapping[Any, Any]) -> Iterator[str]:
    for key in said.keys() | held.keys():
        if said.get(key) != held.get(key):
            yield f"{what} {key}: the ledger says {said.get(key)!r}, the store holds {held.get(key)!r}"


def _masked(rows: Rows) -> Rows:
    return {key: _without_serial(row) if isinstance(row, Zone) else row for key, row in rows.items()}


def _without_serial(zone: Zone) -> Zone:
    return msgspec.structs.replace(zone, serial=0, floor=0)


def _by_block(blocks: Iterable[Any]) -> Rows:
    return {(block.subnet, block.cidr, block.kind): block for block in blocks}


def _grouped(snapshot: Snapshot) -> Rows:
    found: Rows = {}
    for kind, thing, label in snapshot.labels():
        found.setdefault((kind, thing), []).append(label)
    return found


def _by_thing(labels: Rows) -> Rows:
    """Labels in one order; a thing without any is none."""
    return {key: sorted(found) for key, found in labels.items() if found}


def _compared_by_key(rebuilt: Rebuilt, turn: Turn) -> Iterator[str]:
    """What the store reads by key: claims with their addresses and attachments, machines with their interfaces."""
    open_ = {key: row for key, row in rebuilt.rows("allocations").items() if row.until is None}
    attached = {key: row for key, row in rebuilt.rows("attachments").items() if row.until is None}
    said = {
        "claims": rebuilt.rows("claims"),
        "allocations": open_,
        "attachments": attached,
        "machines": rebuilt.rows("machines"),
        "interfaces": rebuilt.rows("interfaces"),
    }
    held: dict[str, Rows] = {name: {} for name in said}
    for ids in _chunks(key[0] for key in rebuilt.rows("claims")):
        _gather(held, turn.facts(Wanted(claims=set(ids))))
    for ids in _chunks(key[0] for key in rebuilt.rows("machines")):
        _gather(held, turn.facts(Wanted(machines=set(ids))))
    for name, rows in said.items():
        yield from _compared(name, rows, held[name])


def _compared_seen(rebuilt: Rebuilt, turn: Turn) -> Iterator[str]:
    """What was seen on addresses, each that the ledger tells of."""
    said: Rows = rebuilt.rows("observations")
    held: Rows = {}
    for keys in _chunks(said):
        found = turn.facts(Wanted(observed={(vrf, ip) for vrf, ip in keys})).observations
        held.update({key: seen for key, seen in found.items() if seen is not None})
    yield from _compared("observations", said, held)


def _gather(held: dict[str, Rows], facts: Facts) -> None:
    for name in ("claims", "machines", "interfaces"):
        held[name].update({(id_,): row for id_, row in getattr(facts, name).items()})
    for addresses in facts.held.values():
        held["allocations"].update({(id_,): row for id_, row in addresses.items()})
    for attached in facts.attached.values():
        held["attachments"].update({(row.allocation, row.interface): row for row in attached.values()})


def _chunks(ids: Iterable[T]) -> Iterator[list[T]]:
    left = iter(ids)
    while chunk := list(islice(left, _KEYS)):
        yield chunk


def _compared_held(rebuilt: Rebuilt, snapshot: Snapshot) -> Iterator[str]:
    """That no address is held, or rests, of which the ledger knows nothing."""
    now = snapshot.head.time or _BEGINNING
    subnets = rebuilt.rows("subnets")
    said = {
        (row.subnet, number_of(row.ip), None if row.until is None else row.cooling_until)
        for row in rebuilt.rows("allocations").values()
        if (row.subnet,) in subnets and _shows(row, now)
    }
    found = {(row.subnet, row.number, row.cooling_until) for row in snapshot.held(now) if (row.subnet,) in subnets}
    for key in said ^ found:
        yield f"held {key}: only the {'ledger' if key in said else 'store'} says so"


def _shows(row: Allocation, now: datetime) -> bool:
    return row.until is None or (row.cooling_until is not None and row.cooling_until > now)
