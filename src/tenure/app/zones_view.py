"""The zones that the DNS process shows: all of them at first, then those that a transaction came across.

What changes in records is taken in as it is told. A zone that came, went or changed as a whole is read
again, in a thread, from the names that feed it alone. Where that takes longer than a commit may wait, the zone is
closed until it is there (SERVFAIL, so that whoever asks goes to another server), and the others are answered.
"""

import asyncio
import gc
import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from tenure.errors import StoreUnavailable
from tenure.model.dnsdata import Zone, ZoneChange
from tenure.model.events import VrfChanged, VrfCreated, VrfDeleted, ZoneCreated, ZoneDeleted, ZoneReshaped
from tenure.service.contents import zone_contents
from tenure.service.feed import Committed, cursor
from tenure.store.interface import Head, Snapshot, Store
from tenure.surfaces.dns.server import DnsServer
from tenure.surfaces.dns.table import ServedZone, ZoneTable

log = logging.getLogger(__name__)

PATIENCE: Final = 0.1
"""Seconds that a commit waits for zones to be read; the writer waits for 0.25."""
_RETRY: Final = 0.25
_DEFAULT: Final = "default"


class _Read(NamedTuple):
    """What was found in the store at one moment: zones to serve, and those that another of their name hides."""

    head: Head
    served: list[ServedZone]
    hidden: frozenset[str]


class ZonesView:
    """Keeps the table in step with the ledger. For the event loop's thread.

    One table is one view of the world. Where address spaces have zones of one name, that of the space `default` is
    served, else that of the oldest one; the others are hidden, and `hidden` says how many.

    Attributes:
        broken: Never done, unless a bug ends the reading: then it raises it.
    """

    def __init__(self, store: Store, table: ZoneTable, server: DnsServer, caught_up: Callable[[], None]) -> None:
        self._store = store
        self._caught_up = caught_up
        self._table = table
        self._server = server
        self._loaded: dict[str, int] = {}  # zone id to the sequence that it was read at
        self._names: dict[str, str] = {}  # the name of each of them
        self._hidden: frozenset[str] = frozenset()
        self._wanted: set[str] = set()  # to be read
        self._reading: frozenset[str] = frozenset()  # being read now
        self._missed: list[ZoneChange] = []  # what happened to them meanwhile
        self._reader: asyncio.Task[None] | None = None
        self.broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def hidden(self) -> int:
        """Zones that are not served, because another one of their name is."""
        return len(self._hidden)

    @property
    def closed(self) -> int:
        """Zones that are not answered until they have been read."""
        return len(self._reading | self._wanted)

    async def load(self) -> str:
        """Take all zones from the store; nothing is answered meanwhile."""
        self._server.ready = False
        self._wanted.clear()
        await self.whole()
        self._names.clear()
        for gone in tuple(self._table.zones.values()):
            self._remove(gone.zone.id)
        found = await self._patiently(None)
        for served in found.served:
            self._put(served, found.head.sequence)
        gc.freeze()
        return cursor(found.head.epoch, found.head.sequence)

    async def apply(self, committed: Committed) -> None:
        """Take in one transaction: then it is what is answered, or its zones are closed until it is."""
        for change in committed.zone_changes:
            self._change(change)
        wanted = {*committed.reload, *self._contested(committed)}
        if not wanted:
            return
        self._wanted |= wanted
        if self._reader is None:
            self._reader = asyncio.create_task(self._read_wanted())
        await asyncio.wait([self._reader], timeout=PATIENCE)
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
            self._caught_up()

    def _contested(self, committed: Committed) -> Iterable[str]:
        """Zones that hide others or are hidden: an address space that comes, goes or is renamed may change which."""
        spaces = VrfCreated | VrfChanged | VrfDeleted
        if self._hidden and any(isinstance(entry.event, spaces) for entry in committed.entries):
            return self._hidden
        return ()

    def _change(self, change: ZoneChange) -> None:
        zone = change.zone
        if self._reader is not None and (zone in self._reading or zone in self._wanted or zone not in self._loaded):
            self._missed.append(change)
        elif change.sequence > self._loaded.get(zone, change.sequence):
            self._table.apply(change)

    def _close(self, committed: Committed) -> None:
        """Close what is not read yet of a transaction's zones; what went is not there any more at once."""
        late: dict[str, Zone] = {}
        for entry in committed.entries:
            event = entry.event
            if isinstance(event, ZoneCreated | ZoneReshaped):
                late[event.zone.id] = event.zone
            elif isinstance(event, ZoneDeleted):
                late.pop(event.zone.id, None)
        for zone in (self._wanted | self._reading) & {*committed.reload}:
            self._remove(zone)
            if zone in late:
                self._table.close(late[zone])

    async def _read_wanted(self) -> None:
        try:
            while self._wanted:
                self._reading, self._wanted = frozenset(self._wanted), set()
                self._take(await self._patiently(self._reading))
        except Exception as error:
            self.broken.set_exception(error)
        else:
            self._missed.clear()
            self._reader = None

    def _take(self, found: _Read) -> None:
        """Serve what was read, and what happened since; what is wanted again stays as it is."""
        for gone in self._reading - self._wanted:
            self._remove(gone)
            self._names.pop(gone, None)
        for served in found.served:
            if served.zone.id not in self._wanted:
                self._put(served, found.head.sequence)
        missed, self._missed = self._missed, []
        self._reading = frozenset()
        for change in missed:
            self._change(change)

    async def _patiently(self, wanted: frozenset[str] | None) -> _Read:
        """Read, and again if the store is away: what is not read is not answered meanwhile."""
        while True:
            names = None if wanted is None else {self._names[zone] for zone in wanted if zone in self._names}
            try:
                found = await asyncio.to_thread(self._read, wanted or frozenset(), names)
            except StoreUnavailable as error:
                log.warning("zones wait to be read", extra={"reason": error.message})
                await asyncio.sleep(_RETRY)
            else:
                self._hidden = found.hidden
                return found

    def _read(self, wanted: frozenset[str], names: set[str] | None) -> _Read:
        """In a thread: all zones, or those that are wanted, or have a name that one of them had or has."""
        with self._store.snapshot() as snapshot:
            shown = _shown(snapshot)
            hidden = frozenset(zone.id for zone in snapshot.zones if shown[zone.name].id != zone.id)
            if names is not None:
                names = names | {zone.name for zone in snapshot.zones if zone.id in wanted}
            ids = {zone.id for name, zone in shown.items() if names is None or name in names}
            return _Read(snapshot.head, list(self._built(snapshot, ids)), hidden)

    def _built(self, snapshot: Snapshot, ids: set[str]) -> Iterator[ServedZone]:
        for each in zone_contents(snapshot, ids):
            zone = each.zone
            try:
                yield self._table.build(each)
            except ValueError as error:  # a bug; the other zones are answered all the same
                log.error("a zone is not served", extra={"zone": zone.name, "vrf": zone.vrf}, exc_info=error)

    def _put(self, served: ServedZone, sequence: int) -> None:
        here = self._table.zones.get(served.name)
        if here is not None:
            self._remove(here.zone.id)
        self._table.put(served)
        self._loaded[served.zone.id] = sequence
        self._names[served.zone.id] = served.zone.name

    def _remove(self, zone: str) -> None:
        self._loaded.pop(zone, None)
        self._table.remove(zone)


def _shown(snapshot: Snapshot) -> dict[str, Zone]:
    """The one zone of each name that is served; ids of address spaces begin with the time that they were made at."""
    first = {vrf.id for vrf in snapshot.vrfs if vrf.name == _DEFAULT}
    found: dict[str, Zone] = {}
    for zone in sorted(snapshot.zones, key=lambda zone: (zone.vrf not in first, zone.vrf)):
        found.setdefault(zone.name, zone)
    return found
