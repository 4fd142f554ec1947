"""What this process counts, for Prometheus."""

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import Scope

from tenure.service.routes import Size

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0)


class Meter:
    """One application's counts."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "tenure_api_requests", "Requests answered.", ("method", "route", "status"), registry=self.registry
        )
        self._seconds = Histogram(
            "tenure_api_request_seconds",
            "Time to answer.",
            ("method", "route"),
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self._sequence = Gauge(
            "tenure_ledger_sequence", "Latest place in the ledger known to this process.", registry=self.registry
        )
        self._up = Gauge("tenure_ledger_up", "Whether the writer takes uses.", registry=self.registry)
        self._routes = Gauge(
            "tenure_routes", "Routes of a network in a table.", ("network", "table"), registry=self.registry
        )
        self._budget = Gauge("tenure_route_budget", "Routes that it may have.", ("network",), registry=self.registry)
        self._children: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}

    def count(self, scope: Scope, status: int, seconds: float) -> None:
        """Count one request under the route that served it."""
        operation = scope.get("operation", "")
        key = (scope["method"] if operation else "", operation, status)
        if key not in self._children:
            self._children[key] = (
                self._requests.labels(key[0], operation, str(status)),
                self._seconds.labels(key[0], operation),
            )
        counter, histogram = self._children[key]
        counter.inc()
        histogram.observe(seconds)

    def gauge(self, sizes: Iterable[Size]) -> None:
        """How many routes there are now; networks that are gone are not told any more."""
        self._routes.clear()
        self._budget.clear()
        for network, table, routes in sizes:
            self._routes.labels(network.name, table).set(routes)
            if network.route_budget is not None:
                self._budget.labels(network.name).set(network.route_budget)

    def text(self, sequence: int, up: bool, figures: dict[str, dict[str, float]]) -> bytes:
        """All of it in Prometheus' text form, with the figures of other processes by role."""
        self._sequence.set(sequence)
        self._up.set(up)
        return generate_latest(self.registry) + _others(figures)


def _others(figures: dict[str, dict[str, float]]) -> bytes:
    by_name: dict[str, list[str]] = {}
    for role, counts in figures.items():
        for name, value in counts.items():
            by_name.setdefault(f"tenure_{name}", []).append(f'tenure_{name}{{role="{role}"}} {value}')
    lines = [line for name, values in sorted(by_name.items()) for line in (f"# TYPE {name} untyped", *values)]
    return "".join(line + "\n" for line in lines).encode()
