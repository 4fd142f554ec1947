"""The ledger's process: the writer's thread, its door, and what pushes commits to the views."""

import asyncio
import gc
import logging
import os
import secrets
import sys
import time
from collections.abc import Coroutine
from datetime import datetime, timedelta
from typing import Any

from tenure.app import seed
from tenure.app.child import SWITCH, Child, now, run
from tenure.app.prepared import prepared
from tenure.errors import StoreUnavailable
from tenure.service.door import DoorServer
from tenure.service.upkeep import Upkeep
from tenure.service.views import Publisher
from tenure.service.witness import Witness
from tenure.service.writer import Limits, Writer
from tenure.store.interface import Store
from tenure.store.sql import open_store

log = logging.getLogger(__name__)

_UPKEEP_EVERY = 5.0
_RETRY = 1.0


class SystemClock:
    """The clocks of this machine."""

    def now(self) -> datetime:
        """The node's clock, UTC."""
        return now()

    def monotonic(self) -> float:
        """Seconds that only count up."""
        return time.monotonic()

    def pause(self, seconds: float) -> None:
        """Let time pass."""
        time.sleep(seconds)


async def main(child: Child) -> None:
    """Prepare the store, write for everybody until stopped."""
    sys.setswitchinterval(SWITCH)
    settings = child.settings
    store = open_store(settings.store, now)
    if not prepared(settings.store, store):
        seed.check(settings.directory)
    store.prepare()
    publisher = Publisher(child.socket("views"), lambda name: log.warning("a view was too slow", extra={"view": name}))
    limits = Limits(queue=settings.queue, clock_margin=settings.clock_margin)
    clock = SystemClock()
    writer = Writer(store, Witness(settings.directory), clock, publisher.publish, limits=limits)
    writer.start()
    head = writer.memory.head
    assert head is not None
    publisher.start(head.epoch, head.sequence)
    gc.freeze()
    others = [_watch(store, writer)] if settings.database else []
    door = DoorServer(writer.submit, writer.readiness, lambda: _figures(writer, publisher))
    lasts = None if settings.retention_days is None else timedelta(days=settings.retention_days)
    upkeep = Upkeep(store, clock, _own_name(), writer.submit, retention=lasts)
    try:
        if head.sequence == 0:
            await seed.seed(writer.submit, settings.directory)
        await _serve(child, door, _keep_up(upkeep), *others)
    finally:
        await asyncio.to_thread(writer.stop)
        door.close()
        publisher.close()
        store.close()


async def _serve(child: Child, door: DoorServer, *tasks: Coroutine[Any, Any, None]) -> None:
    """Let uses in, until stopped."""
    listening = await asyncio.get_running_loop().create_unix_server(door.caller, sock=child.socket("ledger"))
    child.ready()
    try:
        await child.work(*tasks)
    finally:
        listening.close()


def _figures(writer: Writer, publisher: Publisher) -> dict[str, float]:
    return {
        "writer_waiting": writer.waiting,
        "ledger_views": len(publisher.names),
        "ledger_views_dropped_total": publisher.drops,
    }


def _own_name() -> str:
    return f"{os.uname().nodename}:{os.getpid()}:{secrets.token_hex(4)}"


async def _keep_up(upkeep: Upkeep) -> None:
    """Do what time alone asks for, for ever."""
    while True:
        try:
            await asyncio.to_thread(upkeep.step)
        except StoreUnavailable as error:
            log.warning("upkeep waits", extra={"reason": error.message})
        await asyncio.sleep(_UPKEEP_EVERY)


async def _watch(store: Store, writer: Writer) -> None:
    """Wake the writer when another node wrote."""
    seen = -1
    while True:
        try:
            if await asyncio.to_thread(store.wait, seen, 1.0):
                seen = (await asyncio.to_thread(store.head)).sequence
                writer.poke()
        except StoreUnavailable:
            await asyncio.sleep(_RETRY)


if __name__ == "__main__":
    run("ledger", main)
