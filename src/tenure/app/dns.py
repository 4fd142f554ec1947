"""The DNS process: zones in memory, in step with the ledger, answered on the sockets given."""

import asyncio
import sys
from collections import Counter
from ipaddress import ip_address

from tenure.app.child import SWITCH, Child, now, report, run
from tenure.app.prepared import prepared
from tenure.app.zones_view import ZonesView
from tenure.net.addresses import Address
from tenure.service.door import Door
from tenure.service.views import Subscriber
from tenure.store.interface import Store
from tenure.store.sql import open_store
from tenure.surfaces.dns.limit import RateLimit
from tenure.surfaces.dns.server import DnsServer
from tenure.surfaces.dns.table import ZoneTable

_LOOK = 0.05
"""Seconds between looks at a store that is not prepared yet."""


async def main(child: Child) -> None:
    """Answer from the ledger's zones until stopped."""
    sys.setswitchinterval(SWITCH)  # a zone is read in a thread while others are answered
    counters: Counter[str] = Counter()
    table = ZoneTable(_own_addresses(child.settings.dns[0].endpoint.address))
    udp, tcp = ([child.socket(name) for name in child.sockets if name.startswith(kind)] for kind in ("udp", "tcp"))
    server = DnsServer(asyncio.get_running_loop(), table, udp, tcp, counters, limit=RateLimit())
    server.ready = False
    await server.start()
    door = Door(child.ledger)
    store = open_store(child.settings.store, now)
    view = ZonesView(store, table, server, child.ready)
    subscriber = Subscriber(child.views, "dns", view)
    server.current = subscriber.current
    try:
        await child.work(
            _follow(child, store, subscriber), view.broken, report(door, "dns", lambda: _figures(counters, view))
        )
    finally:
        await server.close()
        await door.close()
        store.close()


async def _follow(child: Child, store: Store, subscriber: Subscriber) -> None:
    """Load as soon as there is something to load, beside the ledger's process, which does the same."""
    while not await asyncio.to_thread(prepared, child.settings.store, store):
        await asyncio.sleep(_LOOK)
    await subscriber.run()


def _own_addresses(address: str) -> list[Address]:
    """What `ns.<zone>` resolves to: the address that is listened on, where it is one."""
    own = ip_address(address)
    return [] if own.is_unspecified else [own]


def _figures(counters: Counter[str], view: ZonesView) -> dict[str, float]:
    zones = {"dns_zones_hidden": view.hidden, "dns_zones_closed": view.closed}
    return {**zones, **{f"dns_{what}_total": count for what, count in counters.items()}}


if __name__ == "__main__":
    run("dns", main)
