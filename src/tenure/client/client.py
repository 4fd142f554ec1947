"""The service from afar: its operations as calls."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, Self, cast

from tenure.client import requests
from tenure.client.attempts import Attempts
from tenure.client.problems import AnswerLost, Unreachable, error_of, result_of
from tenure.client.requests import LONG, Noun, present
from tenure.client.shapes import BatchItem, Claim, Event, Found, Ready, Renumbering
from tenure.client.wire import Request, Response, Transport
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


class Things:
    """The things of one noun. Each call raises the error of the service (`tenure.errors`), or `Unreachable`."""

    def __init__(self, client: "Client", noun: Noun) -> None:
        self._client = client
        self.noun = noun

    def create(
        self, owner: str | None = None, /, *, dry_run: bool = False, key: str | None = None, **fields: Any
    ) -> dict[str, Any]:
        """Make one; `fields` are those of the JSON, None left out. `owner` is the thing that it is of, if any."""
        path = requests.into(self.noun, owner and self._owner(owner))
        made = self._client.change("POST", path, present(fields), dry_run=dry_run, key=key)
        return cast(dict[str, Any], made)

    def list(self, **filters: Any) -> Iterator[dict[str, Any]]:
        """All of them that pass the filters, read page by page as they are taken."""
        return self._client.pages(self.noun.path, **filters)

    def page(self, limit: int = 100, after: str | None = None, **filters: Any) -> dict[str, Any]:
        """One page: `items`, and `next`, the cursor of the one after."""
        return self._client.read(self.noun.path, limit=limit, after=after, **filters)

    def show(self, name: str, **query: Any) -> dict[str, Any]:
        """One of them, by name or id."""
        return self._client.read(self._path(name), **query)

    def change(
        self, name: str, fields: Mapping[str, Any], *, if_match: int | None = None, dry_run: bool = False
    ) -> dict[str, Any]:
        """Change some fields of one; None is a value here. `if_match` is the revision that is to be changed."""
        path = self._path(name)
        changed = self._client.change("PATCH", path, dict(fields), if_match=if_match, dry_run=dry_run)
        return cast(dict[str, Any], changed)

    def delete(self, name: str, *, if_match: int | None = None, dry_run: bool = False) -> dict[str, Any] | None:
        """Delete one. A dry run tells `consequences`, and why it would be `refused`, where the service says so."""
        told = self._client.change("DELETE", self._path(name), if_match=if_match, dry_run=dry_run)
        return cast("dict[str, Any] | None", told)

    def label(self, edit: Mapping[str, Any], *, dry_run: bool = False, **filters: Any) -> dict[str, Any]:
        """Change tags and custom fields of all that pass the filters: `count`, `changed`, the `first` and `refused`.

        Args:
            edit: `tags`: `add` and `remove`; `custom`: values by name, of which a None goes.
        """
        body, path = dict(edit), self.noun.path
        done = self._client.change("PATCH", path, body, dry_run=dry_run, query=filters, seconds=LONG)
        return cast("dict[str, Any]", done)

    def _owner(self, name: str) -> str:
        return name

    def _path(self, name: str, *verb: str) -> str:
        return requests.path_of(self.noun, name, *verb)


class Drainable(Things):
    """Things in which nothing new is placed while they drain."""

    def drain(self, name: str, *, draining: bool = True, **how: Any) -> dict[str, Any]:
        """Drain one, or take it back: the thing, the oldest `claims` still there, and their `count`; repeatable.

        Of a location also `leaving` and `leaving_count`: claims that moved away and that it still announces.
        """
        path = self._path(name, "drain")
        return cast(dict[str, Any], self._client.change("POST", path, {"draining": draining}, **how))


class Locations(Drainable):
    """Places."""

    def evacuate(
        self,
        host: str,
        to: str,
        *,
        renumber: bool = False,
        handover: int | None = None,
        static_acknowledged: bool = False,
        **how: Any,
    ) -> list[Claim]:
        """Move all bound claims of a host to another, or none; each as it is then."""
        path = self._path(host, "evacuate")
        said = {"renumber": renumber, "handover": handover, "static_acknowledged": static_acknowledged or None}
        body = present({"to": to, **said})
        return cast(list[Claim], self._client.change("POST", path, body, seconds=LONG, **how)["claims"])


class Networks(Things):
    """Networks."""

    def harvest(
        self, name: str, limit: int = 256, policy: Mapping[str, Any] | None = None, **how: Any
    ) -> dict[str, Any]:
        """Take back what was given to machines that were not seen for long: `taken`, `available`, `wanted`.

        `policy`: `allowed`, `after` and `below` that a dry run shall be with, instead of what the network has.
        """
        path = self._path(name, "harvest")
        body = {"limit": limit, **(policy or {})}
        return cast(dict[str, Any], self._client.change("POST", path, body, seconds=LONG, **how))


class Subnets(Drainable):
    """Subnets, each by its id or, where only one has it, by its prefix."""

    def renumber(self, name: str, to: str, fields: Mapping[str, Any] = {}, **how: Any) -> Renumbering:
        """Begin to replace a subnet's addresses by those of `to`; `fields`: `wave`, `lease_time`, …"""
        body = {"to": self._client.subnet_id(to), **fields}
        return cast(Renumbering, self._client.change("POST", self._path(name, "renumber"), body, **how))

    def steer(self, name: str, act: str, **how: Any) -> Renumbering:
        """`stop` a renumbering, `resume` or `cancel` it; repeatable."""
        return cast(Renumbering, self._client.change("POST", self._path(name, "renumber", act), None, **how))

    def renumbering(self, name: str, wait: int | None = None) -> Renumbering:
        """How far a renumbering is; with `wait`, as soon as it is over or after 1 to 60 seconds."""
        query = {"wait": wait and f"{wait}s"}
        return cast(Renumbering, self._client.send(requests.read(self._path(name, "renumber"), 90.0, **query)))

    def _path(self, name: str, *verb: str) -> str:
        return requests.path_of(self.noun, self._client.subnet_id(name), *verb)


class Ranges(Things):
    """Ranges; the owner of a new one is a subnet, by id or prefix."""

    def _owner(self, name: str) -> str:
        return self._client.subnet_id(name)


class Machines(Things):
    """Machines, and the steps of their lives: commission, ready, deploy, release, retire, seen."""

    def step(self, name: str, act: str, body: Mapping[str, Any] | None = None, **how: Any) -> dict[str, Any]:
        """Take one machine a step on: as it is then, what it holds, what was `displaced` and is `pending`.

        `body`: of `deploy`: `host`, `from`, `address`, `on_override`, `project`; of `seen`: `at`.
        """
        path = self._path(name, act)
        return cast(dict[str, Any], self._client.change("POST", path, body or None, **how))

    def batch(
        self, act: str, machines: Sequence[str], *, atomic: bool = False, key: str | None = None, dry_run: bool = False
    ) -> "list[dict[str, Any]]":
        """Take up to 10,000 machines a step on (1,000 if `atomic`): what came of each, in order."""
        body = {"act": act, "machines": list(machines), "atomic": atomic}
        path = self.noun.path + "/batch"
        done = self._client.change("POST", path, body, key=key, dry_run=dry_run, seconds=LONG)
        return cast("list[dict[str, Any]]", done["items"])

    def network_config(self, name: str, form: str) -> str:
        """The static network configuration of a machine, as text in the form netplan, eni or network_data."""
        return self._client.text(self._path(name, "network-config"), format=form)


class Claims(Things):
    """Claims: asked for, bound, moved, given back."""

    def bind(self, claim: str, host: str, **how: Any) -> Claim:
        """Decide a pending claim's addresses near `host`."""
        return self._act(claim, "bind", {"host": host}, **how)

    def rebind(
        self,
        claim: str,
        host: str,
        *,
        renumber: bool = False,
        handover: int | None = None,
        static_acknowledged: bool = False,
        **how: Any,
    ) -> Claim:
        """Move a claim to `host`; `renumber` gives it new addresses there.

        `handover`: Seconds for which the host that it leaves announces kept addresses too; the service's default.
        `static_acknowledged`: Somebody changes what is written by hand into a machine that is renumbered.
        """
        said = {"renumber": renumber, "handover": handover, "static_acknowledged": static_acknowledged or None}
        return self._act(claim, "rebind", present({"host": host, **said}), **how)

    def settle(self, claim: str, **how: Any) -> Claim:
        """End a moved claim's hand-over now; repeatable."""
        return self._act(claim, "settle", None, **how)

    def release(self, claim: str, **how: Any) -> Claim:
        """Give a claim's addresses back; repeatable."""
        return self._act(claim, "release", None, **how)

    def wait(self, claim: str, seconds: int = 30) -> Claim:
        """A claim as soon as it is no longer pending, or after 1 to 60 `seconds`."""
        path = requests.path_of(self.noun, claim)
        return cast(Claim, self._client.send(requests.read(path, seconds + 30.0, wait=f"{seconds}s")))

    def batch(
        self, claims: Sequence[Mapping[str, Any]], *, atomic: bool = False, key: str | None = None
    ) -> "list[BatchItem]":
        """Make up to 10,000 claims (1,000 if `atomic`): what came of each, in order."""
        body = {"claims": [dict(claim) for claim in claims], "atomic": atomic}
        return cast("list[BatchItem]", self._many("/batch", body, key))

    def release_batch(
        self, releases: Sequence[Mapping[str, Any]], *, atomic: bool = False, key: str | None = None
    ) -> "list[BatchItem]":
        """Release up to 10,000 claims, each `{"id"}` or `{"id", "handle"}`: what came of each, in order."""
        body = {"releases": [dict(each) for each in releases], "atomic": atomic}
        return cast("list[BatchItem]", self._many("/release-batch", body, key))

    def _many(self, path: str, body: Any, key: str | None) -> Any:
        return self._client.change("POST", self.noun.path + path, body, key=key, seconds=LONG)["items"]

    def _act(self, claim: str, verb: str, body: Any, **how: Any) -> Claim:
        path = requests.path_of(self.noun, claim, verb)
        return cast(Claim, self._client.change("POST", path, body, **how))


class Addresses(Things):
    """Addresses: who holds one, why, and what happened to it."""

    def why(self, ip: str, *, vrf: str | None = None) -> dict[str, Any]:
        """Why an address was given to its holder."""
        return self._client.read(requests.path_of(self.noun, ip, "why"), vrf=vrf)

    def reassign(self, ip: str, fields: Mapping[str, Any], *, vrf: str | None = None, **how: Any) -> Claim:
        """Give an address to an `interface`, `machine` or `claim`, or its holder another `address`; one of them.

        Other fields: `on_override`, `static_acknowledged`, `dns`.
        """
        return self._act("POST", ip, "reassign", dict(fields), vrf, **how)

    def rename(self, ip: str, hostname: str | None, *, vrf: str | None = None, **how: Any) -> Claim:
        """Call an address otherwise; None: by its machine's name, or none."""
        return self._act("PATCH", ip, "", {"hostname": hostname}, vrf, **how)

    def attach(self, ip: str, interface: str, *, vrf: str | None = None, **how: Any) -> Claim:
        """Let an interface (MAC or id) use an address; repeatable."""
        return self._act("POST", ip, "attach", {"interface": interface}, vrf, **how)

    def detach(self, ip: str, interface: str | None = None, *, vrf: str | None = None, **how: Any) -> Claim:
        """Let an interface use an address no longer; None: the only one that does."""
        return self._act("POST", ip, "detach", present({"interface": interface}), vrf, **how)

    def _act(self, method: str, ip: str, verb: str, body: Any, vrf: str | None, **how: Any) -> Claim:
        path = requests.path_of(self.noun, ip, *filter(None, [verb]))
        return cast(Claim, self._client.change(method, path, body, vrf=vrf, **how))

    def history(self, ip: str, *, vrf: str | None = None) -> Iterator[Event]:
        """What the ledger says about an address, oldest first."""
        path = requests.path_of(self.noun, ip, "history")
        return cast(Iterator[Event], self._client.pages(path, vrf=vrf))


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
        self.zones = Things(self, requests.ZONES)
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
