"""The API process: uvicorn on the sockets given; reads go to the store, changes through the writer's door."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn
from fastapi import FastAPI
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from tenure.app.child import Child, now, run
from tenure.errors import StoreUnavailable
from tenure.service.door import Door
from tenure.service.feed import Committed, cursor
from tenure.service.frames import Health
from tenure.service.views import Subscriber
from tenure.store.sql import open_store
from tenure.surfaces.api.application import create_api

_HEALTH_EVERY = 1.0
_GRACE = 3
_AWAY = "the ledger's process is away"


class ApiView:
    """Tells the application what the ledger did."""

    def __init__(self, app: FastAPI, caught_up: Callable[[], None]) -> None:
        self._app = app
        self._caught_up = caught_up

    async def load(self) -> str:
        """Nothing is kept of the ledger but what was read; all of it is forgotten."""
        self._app.state.forget_tokens()
        return ""

    async def apply(self, committed: Committed) -> None:
        """Forget what changed, and wake who waits."""
        self._app.state.backing.advance(cursor(committed.epoch, committed.sequence))
        self._app.state.notice(committed.entries)

    def settle(self, ready: bool) -> None:
        """What was remembered while this process did not follow may be wrong."""
        self._app.state.forget_tokens()
        if ready:
            self._caught_up()


class NodeHealth:
    """How this node is, as last heard; also the other processes' counters, for Prometheus."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self.last = Health(0, (_AWAY,), {})

    def reasons(self) -> list[str]:
        """Why this node should not be asked now; empty if all is well."""
        return list(self.last.reasons) if self._door.open else [_AWAY]

    async def watch(self) -> None:
        """Ask once a second, for ever."""
        while True:
            try:
                self.last = await self._door.health()
            except StoreUnavailable:
                self.last = Health(0, (_AWAY,), self.last.figures)
            await asyncio.sleep(_HEALTH_EVERY)


class ProcessCollector(Collector):
    """The other processes' counters as metrics; a figure's name is `metric` or `metric/label/value`."""

    def __init__(self, health: NodeHealth) -> None:
        self._health = health

    def collect(self) -> Iterator[Metric]:
        """Each metric with all its labels."""
        families: dict[str, CounterMetricFamily | GaugeMetricFamily] = {}
        for role, figures in sorted(self._health.last.figures.items()):
            for figure, value in sorted(figures.items()):
                name, _, labelled = figure.partition("/")
                label, _, labelling = labelled.partition("/")
                family = families.setdefault(name, _family(name, role, [label] if label else []))
                family.add_metric([labelling] if label else [], value)
        yield from families.values()


def _family(name: str, role: str, labels: list[str]) -> CounterMetricFamily | GaugeMetricFamily:
    text = f"Counted by the {role} process; see docs/reference/metrics.md."
    if name.endswith("_total"):
        return CounterMetricFamily(name.removesuffix("_total"), text, labels=labels)
    return GaugeMetricFamily(name, text, labels=labels)


class _Server(uvicorn.Server):
    """Uvicorn that leaves signals to `child`."""

    def install_signal_handlers(self) -> None:
        """Not here."""

    def capture_signals(self) -> Any:
        """Not here."""
        from contextlib import nullcontext

        return nullcontext()


async def main(child: Child) -> None:
    """Serve the API until stopped."""
    door = Door(child.ledger)
    store = open_store(child.settings.store, now)
    app = create_api(door, store, clock=now)
    health = NodeHealth(door)
    app.state.readiness = health.reasons
    app.state.meter.registry.register(ProcessCollector(health))
    await door.opened()  # the store is prepared
    config = uvicorn.Config(
        app,
        loop="none",
        http="httptools",
        ws="none",
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
        await child.work(subscriber.run(), health.watch(), asyncio.shield(serving))
    finally:
        server.should_exit = True
        await serving
        await door.close()
        store.close()


if __name__ == "__main__":
    run("api", main)
