"""The zones that the DNS process shows: all of them at first, then those that a transaction came across.

What changes in records is taken in as it is told. A zone that came, went or changed as a whole is read
again, in a thread, from the names that feed it alone. Where that takes longer than a commit may wait, the zone is
closed until it is there (SERVFAIL, so that whoever asks goes to another server), and the others are answered.
So it is with a zone that a bug keeps from being read, or changed.
With each reading comes who replicates zones, and with which keys.
"""

import asyncio
import gc
import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from tenure.app.correspondents import Correspondents, Opened
from tenure.app.listening import Listening
from tenure.errors import StoreUnavailable
from tenure.model import events as e
from tenure.model.dnsdata import Secondary, Zone, ZoneChange
from tenure.service.contents import zone_contents
from tenure.service.feed import Committed, cursor
from tenure.store.interface import Head, Snapshot, Store
from tenure.surfaces.dns.journal import Room
from tenure.surfaces.dns.served import ServedZone
from tenure.surfaces.dns.server import DnsServer
from tenure.surfaces.dns.table import ZoneTable, shut

log = logging.getLogger(__name__)

PATIENCE: Final = 0.1
"""Seconds that a commit waits for zones to be read; the writer waits for 0.25."""
_RETRY: Final = 0.25
_AFTER_A_BUG: Final = 5.0
"""Seconds until zones are read again whose reading a bug ended."""
_TELLING: Final = (
    e.VrfCreated | e.VrfChanged | e.VrfDeleted
    | e.TsigKeyCreated | e.TsigKeyDeleted
    | e.SecondaryCreated | e.SecondaryChanged | e.SecondaryDeleted
)  # fmt: skip
"""After these the vrfs, the keys and the secondaries are read again."""


class _Read(NamedTuple):
    """What was found in the store at one moment: zones to serve, names of vrfs by id, and who replicates them."""

    head: Head
    served: list[ServedZone]
    vrfs: dict[str, str]
    keys: Opened
    secondaries: tuple[Secondary, ...]


class ZonesView:
    """Keeps the tables, one for each vrf, in step with the ledger. For the event loop's thread.

    Args:
        listening: Which vrf is seen where; the tables of its views are made and changed here.
        correspondents: Who replicates zones, and is told of changes.
        caught_up: Called when everything is answered.
    """

    def __init__(
        self,
        store: Store,
        listening: Listening,
        correspondents: Correspondents,
        server: DnsServer,
        caught_up: Callable[[], None],
    ) -> None:
        self._store = store
        self._views = listening.views
        self._listening = listening
        self._correspondents = correspondents
        self._server = server
        self._caught_up = caught_up
        self._room = Room()
        self._vrfs: dict[str, str] = {}
        self._homes: dict[str, ZoneTable] = {}  # zone id to where it is served
        self._loaded: dict[str, int] = {}  # zone id to the sequence that it was read at
        self._wanted: set[str] = set()  # to be read
        self._stale = False  # whether who replicates zones is to be read
        self._reading: frozenset[str] = frozenset()  # being read now
        self._missed: list[ZoneChange] = []  # what happened to them meanwhile
        self._reader: asyncio.Task[None] | None = None

    @property
    def closed(self) -> int:
        """Zones that are not answered until they have been read."""
        return len(self._reading | self._wanted)

    @property
    def unseen(self) -> list[str]:
        """Names of the vrfs that have zones which nobody can ask for: no listener serves them, and no key."""
        seen = self._listening.shown() | {key.vrf for key in self._views.keys.values()}
        return sorted(self._vrfs.get(vrf, vrf) for vrf in self._with_zones() if vrf not in seen)

    async def load(self) -> str:
        """Take all zones from the store; nothing is answered meanwhile."""
        self._server.ready = False
        await self._stop_reading()
        self._correspondents.pause()
        for zone in tuple(self._homes):
            self._remove(zone)
        self._views.tables.clear()
        found = await self._patiently(None)
        self._vrfs = found.vrfs
        for served in found.served:
            self._put(served, found.head.sequence)
        self._meet(found)
        gc.freeze()
        return cursor(found.head.epoch, found.head.sequence)

    async def apply(self, committed: Committed) -> None:
        """Take in one transaction: then it is what is answered, or its zones are closed until it is."""
        for change in committed.zone_changes:
            self._change(change)
        self._wanted |= {*committed.reload}
        self._stale = self._stale or any(isinstance(entry.event, _TELLING) for entry in committed.entries)
        if not committed.reload and not self._stale:
            return
        await asyncio.wait([self._read_on()], timeout=PATIENCE)
        if self._reader is not None:
            self._close(committed)

    async def whole(self) -> None:
        """Until no zone is closed any more."""
        if self._reader is not None:
            await asyncio.wait([self._reader])

    def settle(self, ready: bool) -> None:
        """Answer, or do not."""
        self._server.ready = ready
        if ready:
            self._correspondents.resume()
            self._caught_up()

    def _change(self, change: ZoneChange) -> None:
        zone = change.zone
        if self._reader is not None and (zone in self._reading or zone in self._wanted or zone not in self._loaded):
            self._missed.append(change)
        elif change.sequence > self._loaded.get(zone, change.sequence):
            table = self._homes[zone]
            try:
                table.apply(change)
            except Exception as error:
                self._server.bugs.note(error, "a change of a zone, which is read again")
                self._spoil(table.served(zone).zone, table)
            else:
                self._correspondents.tell(table.served(zone))

    def _spoil(self, zone: Zone, table: ZoneTable) -> None:
        """Close a zone, and read it again."""
        self._remove(zone.id)
        self._homes[zone.id] = table
        table.close(zone)
        self._wanted.add(zone.id)
        self._read_on()

    def _close(self, committed: Committed) -> None:
        """Close what is not read yet of a transaction's zones; what went is not there any more at once."""
        late: dict[str, Zone] = {}
        for entry in committed.entries:
            event = entry.event
            if isinstance(event, e.ZoneCreated | e.ZoneReshaped):
                late[event.zone.id] = event.zone
            elif isinstance(event, e.ZoneDeleted):
                late.pop(event.zone.id, None)
        for zone in (self._wanted | self._reading) & {*committed.reload}:
            self._remove(zone)
            if zone in late:
                self._homes[zone] = self._table(late[zone].vrf)
                self._homes[zone].close(late[zone])
        self._relisten()

    def _read_on(self) -> asyncio.Task[None]:
        """What reads until nothing is wanted."""
        if self._reader is None:
            self._reader = asyncio.create_task(self._read_wanted())
        return self._reader

    async def _stop_reading(self) -> None:
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.wait([self._reader])
        self._reader, self._reading, self._stale = None, frozenset(), False
        self._wanted.clear()
        self._missed.clear()

    async def _read_wanted(self) -> None:
        while self._wanted or self._stale:
            reading = self._reading = frozenset(self._wanted)
            self._wanted, self._stale = set(), False
            try:
                self._take(await self._patiently(reading))
            except Exception as error:
                self._server.bugs.note(error, "the reading of zones, which are read again")
                self._wanted |= reading
                self._stale = True
                await asyncio.sleep(_AFTER_A_BUG)
                self._missed.clear()  # it is in what is read from now on
        self._missed.clear()
        self._reader = None

    def _take(self, found: _Read) -> None:
        """Serve what was read, and what happened since; what is wanted again stays as it is."""
        self._vrfs = found.vrfs
        for gone in self._reading - self._wanted:
            self._remove(gone)
        for served in found.served:
            if served.zone.id not in self._wanted:
                self._put(served, found.head.sequence)
                self._correspondents.tell(served)
        missed, self._missed = self._missed, []
        self._reading = frozenset()
        for change in missed:
            self._change(change)
        self._meet(found)

    def _meet(self, found: _Read) -> None:
        self._relisten()
        self._correspondents.know(found.keys, found.secondaries)

    async def _patiently(self, wanted: frozenset[str] | None) -> _Read:
        """Read, and again if the store is away: what is not read is not answered meanwhile."""
        while True:
            try:
                return await asyncio.to_thread(self._read, wanted)
            except StoreUnavailable as error:
                log.warning("zones wait to be read", extra={"reason": error.message})
                await asyncio.sleep(_RETRY)

    def _read(self, wanted: frozenset[str] | None) -> _Read:
        """In a thread: all zones, or those that are wanted."""
        with self._store.snapshot() as snapshot:
            vrfs = {vrf.id: vrf.name for vrf in snapshot.vrfs}
            served = list(self._built(snapshot, wanted, vrfs)) if wanted is None or wanted else []
            head, keys, secondaries = snapshot.head, tuple(snapshot.tsig_keys), tuple(snapshot.secondaries)
        return _Read(head, served, vrfs, self._correspondents.opened(keys), secondaries)

    def _built(self, snapshot: Snapshot, wanted: frozenset[str] | None, vrfs: dict[str, str]) -> Iterator[ServedZone]:
        tables = {vrf: self._fresh(name) for vrf, name in vrfs.items()}
        for contents in zone_contents(snapshot, wanted):
            zone = contents.zone
            try:
                yield tables[zone.vrf].build(contents)
            except StoreUnavailable:
                raise
            except Exception as error:
                self._server.bugs.note(error, f"the reading of the zone {zone.name} of vrf {zone.vrf}, which is closed")
                yield shut(zone)

    def _fresh(self, vrf: str) -> ZoneTable:
        return ZoneTable(self._listening.addresses(vrf), self._room)

    def _table(self, vrf: str) -> ZoneTable:
        if vrf not in self._views.tables:
            self._views.tables[vrf] = self._fresh(self._vrfs.get(vrf, ""))
        return self._views.tables[vrf]

    def _put(self, served: ServedZone, sequence: int) -> None:
        table = self._table(served.zone.vrf)
        here = table.zones.get(served.name)
        if here is not None:
            self._remove(here.zone.id)
        table.put(served)
        self._homes[served.zone.id] = table
        self._loaded[served.zone.id] = sequence

    def _remove(self, zone: str) -> None:
        self._loaded.pop(zone, None)
        table = self._homes.pop(zone, None)
        if table is not None:
            served = table.served(zone)
            served.journal.clear()
            self._correspondents.forget(served)
            table.remove(zone)

    def _relisten(self) -> None:
        self._listening.follow(self._vrfs, self._with_zones())

    def _with_zones(self) -> Iterable[str]:
        return [vrf for vrf, table in self._views.tables.items() if table.zones]
