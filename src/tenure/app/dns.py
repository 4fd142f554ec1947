"""The DNS process: zones in memory, in step with the ledger, answered on the sockets given."""

import asyncio
import gc
import logging
from collections import Counter
from collections.abc import Callable, Iterable
from ipaddress import ip_address
from pathlib import Path

from tenure.app.child import Child, now, report, run
from tenure.errors import StoreUnavailable
from tenure.model.dnsdata import Record, Zone
from tenure.net.addresses import Address
from tenure.service.door import Door
from tenure.service.feed import Committed, cursor
from tenure.service.views import Subscriber
from tenure.service.zones import zone_contents
from tenure.store.interface import Store
from tenure.store.sql import open_store
from tenure.surfaces.dns.server import DnsServer
from tenure.surfaces.dns.table import ZoneTable

log = logging.getLogger(__name__)

_LOOK = 0.05
"""Seconds between looks at a store that is not prepared yet."""


class ZonesView:
    """Keeps the table in step with the ledger.

    One table is one view of the world: where two address spaces have a zone of one name, the first is served.
    """

    def __init__(self, store: Store, table: ZoneTable, server: DnsServer, caught_up: Callable[[], None]) -> None:
        self._store = store
        self._caught_up = caught_up
        self._table = table
        self._server = server
        self._loaded: dict[str, int] = {}  # zone id to the sequence that it was loaded at

    async def load(self) -> str:
        """Take all zones from the store; nothing is answered meanwhile."""
        self._server.ready = False
        return await asyncio.to_thread(self._load)

    def _load(self) -> str:
        for gone in tuple(self._loaded):
            self._remove(gone)
        with self._store.snapshot() as snapshot:
            head = snapshot.head
            for zone, records in zone_contents(snapshot):
                self._put(zone, records, head.sequence)
        gc.freeze()
        return cursor(head.epoch, head.sequence)

    async def apply(self, committed: Committed) -> None:
        """Take in one transaction."""
        if committed.reload:
            sequence, found = await asyncio.to_thread(self._read, frozenset(committed.reload))
            for gone in committed.reload:
                self._remove(gone)
            for zone, records in found:
                self._put(zone, records, sequence)
        for change in committed.zone_changes:
            if change.sequence > self._loaded.get(change.zone, change.sequence):
                self._table.apply(change)

    def settle(self, ready: bool) -> None:
        """Answer, or do not."""
        self._server.ready = ready
        if ready:
            self._caught_up()

    def _read(self, wanted: frozenset[str]) -> tuple[int, list[tuple[Zone, list[Record]]]]:
        with self._store.snapshot() as snapshot:
            found = [(zone, list(records)) for zone, records in zone_contents(snapshot) if zone.id in wanted]
            return snapshot.head.sequence, found

    def _put(self, zone: Zone, records: Iterable[Record], sequence: int) -> None:
        try:
            self._table.load(zone, records)
        except ValueError as error:
            log.warning("a zone is not served", extra={"zone": zone.name, "vrf": zone.vrf, "reason": str(error)})
        else:
            self._loaded[zone.id] = sequence

    def _remove(self, zone: str) -> None:
        if self._loaded.pop(zone, None) is not None:
            self._table.remove(zone)


async def main(child: Child) -> None:
    """Answer from the ledger's zones until stopped."""
    counters: Counter[str] = Counter()
    table = ZoneTable(_own_addresses(child.settings.dns.address))
    server = DnsServer(asyncio.get_running_loop(), table, [child.socket("udp")], [child.socket("tcp")], counters)
    server.ready = False
    await server.start()
    door = Door(child.ledger)
    store = open_store(child.settings.store, now)
    view = ZonesView(store, table, server, child.ready)
    try:
        await child.work(_follow(child, store, view), report(door, "dns", lambda: _figures(counters)))
    finally:
        await server.close()
        await door.close()
        store.close()


async def _follow(child: Child, store: Store, view: ZonesView) -> None:
    """Load as soon as there is something to load, beside the ledger's process, which does the same."""
    while not await asyncio.to_thread(_prepared, child.settings.store, store):
        await asyncio.sleep(_LOOK)
    await Subscriber(child.views, "dns", view).run()


def _prepared(where: str | Path, store: Store) -> bool:
    """Whether the store can be read now; a file that is not there is not looked into, which would make it."""
    if isinstance(where, Path) and not (where.exists() and where.stat().st_size):
        return False
    try:
        store.head()
    except StoreUnavailable:
        return False
    return True


def _own_addresses(address: str) -> list[Address]:
    """What `ns.<zone>` resolves to: the address that is listened on, where it is one."""
    own = ip_address(address)
    return [] if own.is_unspecified else [own]


def _figures(counters: Counter[str]) -> dict[str, float]:
    return {f"dns_{what}_total": count for what, count in counters.items()}


if __name__ == "__main__":
    run("dns", main)
