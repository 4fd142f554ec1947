"""The DNS process: zones in memory, in step with the ledger, answered on the sockets given."""

import asyncio
import sys
from collections import Counter

from tenure.app.child import SWITCH, Child, now, report, run
from tenure.app.correspondents import Correspondents
from tenure.app.dns_notes import Known, sentences
from tenure.app.listening import Listening
from tenure.app.prepared import prepared
from tenure.app.zones_view import ZonesView
from tenure.model.dnsdata import ZoneChange
from tenure.service.door import Door
from tenure.service.views import Subscriber
from tenure.store.interface import Store
from tenure.store.sql import open_store
from tenure.surfaces.dns.access import Access
from tenure.surfaces.dns.followers import Followers
from tenure.surfaces.dns.limit import RateLimit
from tenure.surfaces.dns.notify import Notifier
from tenure.surfaces.dns.responder import Responder
from tenure.surfaces.dns.server import DnsServer, Listener
from tenure.surfaces.dns.transfer import Archive
from tenure.surfaces.dns.views import View, Views

_LOOK = 0.05
"""Seconds between looks at a store that is not prepared yet."""
_PAGE = 500
"""How many steps of a zone are read at once for a transfer."""


async def main(child: Child) -> None:
    """Answer from the ledger's zones until stopped."""
    sys.setswitchinterval(SWITCH)  # a zone is read in a thread while others are answered
    loop, counters, views = asyncio.get_running_loop(), Counter[str](), Views()
    store = open_store(child.settings.store, now)
    access = Access(child.settings.transfer_from)
    listeners = [
        Listener(View(views), child.socket(f"udp{place}"), child.socket(f"tcp{place}"))
        for place in range(len(child.settings.dns))
    ]
    followers = Followers(loop.time)
    responder = Responder(views, access, counters, archive_of(loop, store), followers=followers)
    server = DnsServer(loop, listeners, responder, limit=RateLimit())
    server.ready = False
    loop.set_exception_handler(server.bugs.handle)
    await server.start()
    door = Door(child.ledger)
    listening = Listening(views, list(zip(child.settings.dns, (each.view for each in listeners), strict=True)))
    notifier = Notifier(loop, views.zones, listening.sources, counters)
    correspondents = Correspondents(child.settings.directory, views, access, notifier, followers)
    view = ZonesView(store, listening, correspondents, server, child.ready)
    subscriber = Subscriber(child.views, "dns", view)
    server.current = subscriber.current

    def figures() -> dict[str, float]:
        gauges = {
            "dns_zones_closed": view.closed,
            "dns_notify_pending": notifier.pending,
            "dns_secondaries_behind": followers.behind().zones,
        }
        return {**gauges, **{f"dns_{what}_total": count for what, count in counters.items()}}

    def notes() -> tuple[str, ...]:
        known = Known(view.unseen, correspondents.closed, followers.behind(), notifier.silent)
        return tuple(sentences(known))

    try:
        await child.work(_follow(child, store, subscriber), report(door, "dns", figures, notes))
    finally:
        notifier.close()
        await server.close()
        await door.close()
        store.close()


def archive_of(loop: asyncio.AbstractEventLoop, store: Store, page: int = _PAGE) -> Archive:
    """Older steps from the store, read in a thread, `page` of them at once."""

    def read(zone: str, serial: int) -> asyncio.Future[list[ZoneChange]]:
        return loop.run_in_executor(None, store.reads.changes_since, zone, serial, page)

    return read


async def _follow(child: Child, store: Store, subscriber: Subscriber) -> None:
    """Load as soon as there is something to load, beside the ledger's process, which does the same."""
    while not await asyncio.to_thread(prepared, child.settings.store, store):
        await asyncio.sleep(_LOOK)
    await subscriber.run()


if __name__ == "__main__":
    run("dns", main)
