"""The service from afar: its operations as calls."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, Self, cast

from tenure.client import requests
from tenure.client.attempts import Attempts
from tenure.client.problems import AnswerLost, Unreachable, error_of, result_of
from tenure.client.requests import LONG, present
from tenure.client.shapes import Event, Found, Ready
from tenure.client.things import Addresses, Claims, Locations, Machines, Networks, Ranges, Subnets, Things
from tenure.client.wire import Request, Response, Transport
from tenure.client.zones import Records, Zones
from tenure.errors import Conflict, NotFound

_PAGE = 1000


def connect(
    url: str = "http://127.0.0.1:8080",
    token: str | None = None,
    *,
    transport: Literal["plain", "pooled"] = "plain",
    patience: float = 15.0,
) -> "Client":
    """A client of the service at `url`; nothing is sent yet.

    Args:
        url: `http://…`, `https://…`, or `unix:/path` of a socket.
        transport: `plain` is the standard library's, for one thread; `pooled` is httpx's, for many.
        patience: Seconds to wait in all between the attempts of one call.
    """
    if transport == "pooled":
        from tenure.client.pooled import PooledTransport

        return Client(PooledTransport(url, token), patience=patience)
    from tenure.client.plain import PlainTransport

    return Client(PlainTransport(url, token), patience=patience)


class Client:
    """The REST API. `connect` makes one; as a context it closes its connections at the end.

    Attributes:
        position: Place in the ledger, `epoch:sequence`, that the last answer reflects; `at_least=` of a read on
            another node waits for it.
    """

    def __init__(
        self, transport: Transport, *, patience: float = 15.0, pause: Callable[[float], object] = time.sleep
    ) -> None:
        self._transport = transport
        self._patience = patience
        self._pause = pause
        self.position = ""
        self.vrfs = Things(self, requests.VRFS)
        self.locations = Locations(self, requests.LOCATIONS)
        self.networks = Networks(self, requests.NETWORKS)
        self.subnets = Subnets(self, requests.SUBNETS)
        self.ranges = Ranges(self, requests.RANGES)
        self.machines = Machines(self, requests.MACHINES)
        self.claims = Claims(self, requests.CLAIMS)
        self.addresses = Addresses(self, requests.ADDRESSES)
        self.blocks = Things(self, requests.BLOCKS)
        self.zones = Zones(self, requests.ZONES)
        self.records = Records(self)
        self.secondaries = Things(self, requests.SECONDARIES)
        self.tsig_keys = Things(self, requests.TSIG_KEYS)
        self.tokens = Things(self, requests.TOKENS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def capacity(self, network: str, *, by_location: bool = False) -> dict[str, Any]:
        """How much of a network there is and is left, by family; with `by_location` for each location too."""
        path = requests.path_of(requests.NETWORKS, network, "capacity")
        return self.read(path, by="location" if by_location else None)

    def routes(self, where: str = "fabric", **query: Any) -> dict[str, Any]:
        """The routes to announce in the `fabric`, or at a rack or host; `query`: `network`, `vrf`, `at`."""
        return self.read("/v1/routes", **{"for": where, **query})

    def routes_text(
        self, where: str, form: str, *, known: str | None = None, wait: int | None = None, **query: Any
    ) -> tuple[str, str | None]:
        """The same as text, in the form `bird`, `frr` or `exabgp`, and a tag that names this table.

        Args:
            known: A tag that was given before; while it is the same table, there is no text (None).
            wait: Seconds, 1 to 60, for which that answer is held back until the table changes.
        """
        query |= {"for": where, "format": form, "wait": wait and f"{wait}s"}
        request = requests.read("/v1/routes", (wait or 0) + 30.0, **query)
        response = self._answered(request._replace(headers=present({"if-none-match": known})))
        if response.status >= 400:
            raise error_of(response)
        text = None if response.status == 304 else response.body.decode()
        return response.headers.get("etag", ""), text

    def routes_plan(self, *, limit: int = 20, **query: Any) -> list[dict[str, Any]]:
        """What would save most routes in the fabric by being elsewhere; `query`: `network`, `vrf`."""
        return cast(list[dict[str, Any]], self.read("/v1/routes/plan", limit=limit, **query)["items"])

    def search(self, words: str, *, limit: int = 100) -> list[Found]:
        """Open things by address, prefix, MAC in any spelling, name, handle or id; exact matches first."""
        return cast(list[Found], self.read("/v1/search", q=words, limit=limit)["items"])

    def subnet_id(self, name: str) -> str:
        """The id of the subnet with a prefix, which cannot stand in a path; an id is given back as it is.

        Raises:
            NotFound: No subnet has it.
            Conflict: Several have it, in vrfs of their own; say which by its id.
        """
        if "/" not in name:
            return name
        found = [each["id"] for each in self.search(name) if each["kind"] == "subnet" and each["label"] == name]
        if not found:
            raise NotFound(f"There is no subnet {name}.", kind="subnet", name=name)
        if len(found) > 1:
            raise Conflict(f"There are {len(found)} subnets {name}; name one by its id.", ids=found)
        return found[0]

    def observe(
        self, sightings: Sequence[Mapping[str, Any]], *, vrf: str | None = None, **how: Any
    ) -> list[dict[str, Any]]:
        """Say who was seen where, up to 10,000, each `{"ip", "mac", "source"}`: what came of each, in order."""
        body = [present(each) for each in sightings]
        seen = self.change("POST", "/v1/observations", body, vrf=vrf, seconds=LONG, **how)
        return cast("list[dict[str, Any]]", seen["items"])

    def import_objects(self, items: Sequence[Mapping[str, Any]], *, dry_run: bool = False) -> list[dict[str, Any]]:
        """Make up to 10,000 objects, each with its `kind`, in one transaction: all of them or none."""
        body = {"items": [dict(item) for item in items]}
        made = self.change("POST", "/v1/import", body, dry_run=dry_run, seconds=LONG)
        return cast(list[dict[str, Any]], made["items"])

    def now(self) -> str:
        """The end of the ledger now, as `epoch:sequence`."""
        self.vrfs.page(limit=1)
        return self.position

    def events(self, after: str | None = None, *, kinds: str | None = None) -> Iterator[Event]:
        """The ledger after a place, up to its end now."""
        while True:
            piece = self.read("/v1/events", after=after, kinds=kinds, limit=_PAGE)
            yield from piece["items"]
            after = piece["next"]
            if after is None:
                return

    def follow(self, after: str | None = None, *, kinds: str | None = None, wait: int = 30) -> Iterator[Event]:
        """Every event after a place in the ledger, for ever; each is there as soon as it is recorded.

        Raises:
            EpochChanged: The ledger started a new epoch: start over.
        """
        while True:
            query = {"after": after, "kinds": kinds, "limit": _PAGE, "wait": f"{wait}s"}
            piece = self.send(requests.read("/v1/events", wait + 30.0, **query))
            yield from piece["items"]
            after = piece["position"]

    def ready(self) -> Ready:
        """Whether the node can allocate; 503 is an answer here."""
        return cast(Ready, result_of(self._once(requests.read("/readyz"))._replace(status=200)))

    def read(self, path: str, **query: Any) -> dict[str, Any]:
        """The answer to a GET."""
        return cast(dict[str, Any], self.send(requests.read(path, **query)))

    def text(self, path: str, **query: Any) -> str:
        """The answer to a GET that is no JSON, or is wanted as it was written."""
        response = self._answered(requests.read(path, **query))
        if response.status >= 400:
            raise error_of(response)
        return response.body.decode()

    def change(self, method: str, path: str, body: Any = None, **how: Any) -> Any:
        """The answer to a change; `how` is as of `requests.change`."""
        return self.send(requests.change(method, path, body, **how))

    def pages(self, path: str, **filters: Any) -> Iterator[dict[str, Any]]:
        """The items of a list, page by page."""
        after = None
        while True:
            page = self.read(path, limit=_PAGE, after=after, **filters)
            yield from page["items"]
            after = page["next"]
            if after is None:
                return

    def send(self, request: Request) -> Any:
        """The result of a request, repeated where that is safe.

        Raises:
            TenureError: The service's refusal.
            Unreachable: Nobody answers there.
            AnswerLost: The connection ended before there was an answer, and the request must not be repeated.
        """
        return result_of(self._answered(request))

    def _answered(self, request: Request) -> Response:
        """The answer to a request, repeated where that is safe."""
        attempts = Attempts(request, self._patience)
        while True:
            pause: float | None
            try:
                response = self._once(request)
            except (Unreachable, AnswerLost) as error:
                pause = attempts.failed(error)
            else:
                pause = attempts.heard(response)
                if pause is None:
                    return response
            self._pause(pause)

    def _once(self, request: Request) -> Response:
        response = self._transport.send(request)
        self.position = response.headers.get("tenure-sequence", self.position)
        return response
