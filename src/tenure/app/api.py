"""The API process: uvicorn on the sockets given; reads go to the store, changes through the writer's door."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from tenure.app.child import Child, now, run
from tenure.app.http_connection import settings_of
from tenure.app.listening import own_places, places
from tenure.errors import StoreUnavailable
from tenure.service.door import Door
from tenure.service.feed import Committed, cursor
from tenure.service.sealing import seal_among
from tenure.service.views import Subscriber
from tenure.settings import Settings
from tenure.store.interface import Store
from tenure.store.sql import open_store
from tenure.surfaces.api.application import create_api
from tenure.surfaces.api.backing import Primaries

_GRACE = 3


class ApiView:
    """Tells the application what the ledger did."""

    def __init__(self, app: FastAPI, caught_up: Callable[[], None]) -> None:
        self._app = app
        self._caught_up = caught_up

    async def load(self) -> str:
        """Nothing is kept of the ledger but what was read; all of it is forgotten."""
        self._app.state.forget()
        return ""

    async def apply(self, committed: Committed) -> None:
        """Forget what changed, and wake who waits."""
        self._app.state.backing.advance(cursor(committed.epoch, committed.sequence))
        self._app.state.notice(committed.entries)

    def settle(self, ready: bool) -> None:
        """What was remembered while this process did not follow may be wrong."""
        self._app.state.forget()
        if ready:
            self._caught_up()


class Node:
    """What the ledger's process says of this node."""

    def __init__(self, door: Door) -> None:
        self._door = door

    async def readiness(self) -> tuple[list[str], list[str]]:
        """Why it should not be asked now, and warnings."""
        try:
            health = await self._door.health()
        except StoreUnavailable as error:
            return [error.message], []
        return list(health.reasons), list(health.notes)

    async def figures(self) -> dict[str, dict[str, float]]:
        """The counters of its processes, by role."""
        return (await self._door.health()).figures


def _primaries(settings: Settings, store: Store) -> Primaries:
    """Where DNS answers for the zones of a vrf, as this node is set up."""
    own = own_places(settings.dns)
    return lambda vrf: places(own, store.reads.called({vrf}).get(vrf, ""))


class _Server(uvicorn.Server):
    """Uvicorn that leaves signals to `child`."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Not here."""
        yield


async def main(child: Child) -> None:
    """Serve the API until stopped."""
    door = Door(child.ledger)
    store = open_store(child.settings.store, now)
    node = Node(door)
    app = create_api(
        door,
        store,
        clock=now,
        seal=partial(seal_among, Path(child.settings.data), store),
        primaries=_primaries(child.settings, store),
        readiness=node.readiness,
        figures=node.figures,
    )
    await door.opened()  # the store is prepared
    config = uvicorn.Config(
        app,
        loop="none",
        **settings_of(),
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=_GRACE,
    )
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[child.socket(name) for name in child.sockets]))
    subscriber = Subscriber(child.views, "api", ApiView(app, child.ready))
    try:
        await child.work(subscriber.run(), asyncio.shield(serving))
    finally:
        server.should_exit = True
        await serving
        await door.close()
        store.close()


if __name__ == "__main__":
    run("api", main)
