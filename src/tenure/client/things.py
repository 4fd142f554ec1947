"""What can be asked of the things of each noun."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from tenure.client import requests
from tenure.client.requests import LONG, Noun, present
from tenure.client.shapes import BatchItem, Claim, Event, Renumbering

if TYPE_CHECKING:
    from tenure.client.client import Client


class Things:
    """The things of one noun. Each call raises the error of the service (`tenure.errors`), or `Unreachable`."""

    def __init__(self, client: "Client", noun: Noun) -> None:
        self._client = client
        self.noun = noun

    def create(
        self, owner: str | None = None, /, *, dry_run: bool = False, key: str | None = None, **fields: Any
    ) -> dict[str, Any]:
        """Make one; `fields` are those of the JSON, None left out. `owner` is the thing that it is of, if any."""
        return self.make(fields, owner, dry_run=dry_run, key=key)

    def make(
        self, fields: Mapping[str, Any], owner: str | None = None, *, dry_run: bool = False, key: str | None = None
    ) -> dict[str, Any]:
        """The same, where a field is called as an argument of `create` is; `key` is the request's Idempotency-Key."""
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
