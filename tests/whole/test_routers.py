"""BIRD, FRR and ExaBGP take what Tenure exports, follow it, and deliver packets to what is held, moved or not."""

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from ipaddress import ip_address
from itertools import chain
from pathlib import Path
from typing import Final

import httpx
import pytest

from tests.lab import routers
from tests.lab.namespaces import Topology
from tests.lab.routers import Bird, Frr, Node, exabgp, narrow, neighbour
from tests.whole.serving import Serving, until
from tests.whole.site import made

pytestmark = [pytest.mark.whole]

TENURE: Final = str(Path(sys.executable).with_name("tenure"))
HOSTS: Final = ("host-3-1", "host-3-2", "host-4-1")
ADDRESSES: Final = {
    "spine": ("10.255.0.1", "fd00::1"),
    "edge": ("10.255.0.2", "fd00::2"),
    "rack-3": ("10.255.0.3", "fd00::3"),
    "rack-4": ("10.255.0.4", "fd00::4"),
    "feed": ("10.255.0.9", "fd00::9"),
    "host-3-1": ("10.255.3.1", "fd00::3:1"),
    "host-3-2": ("10.255.3.2", "fd00::3:2"),
    "host-4-1": ("10.255.4.1", "fd00::4:1"),
}
PLACES: Final = {"spine": None, "rack-3": "spine", "rack-4": "spine", **{name: f"rack-{name[5]}" for name in HOSTS}}
"""Each place's parent."""


class Site:
    """A service that knows two racks with three hosts, in a network of both families."""

    def __init__(self, api: httpx.Client, way: Mapping[str, str]) -> None:
        self.api, self.way = api, way
        for name, parent in PLACES.items():
            kind = "host" if name in HOSTS else "site" if parent is None else "rack"
            v4, v6 = ADDRESSES[name]
            made(self.api, "/v1/locations", name=name, kind=kind, parent=parent, router=v4, router_v6=v6)
        made(self.api, "/v1/networks", name="prod")
        for cidr in ("10.0.0.0/16", "fd00:a::/64"):
            made(self.api, "/v1/networks/prod/subnets", cidr=cidr)

    def claim(self, handle: str, host: str) -> list[str]:
        """The addresses of a new claim, one a family."""
        claim = made(self.api, "/v1/claims", network="prod", handle=handle, host=host)
        return [address["ip"] for address in claim["addresses"]]

    def rebind(self, handle: str, host: str, handover: int) -> None:
        """Move a claim."""
        made(self.api, f"/v1/claims/{self._id(handle)}/rebind", host=host, handover=handover)

    def settle(self, handle: str) -> None:
        """End a hand-over."""
        assert self.api.post(f"/v1/claims/{self._id(handle)}/settle").is_success

    def _id(self, handle: str) -> str:
        (claim,) = self.api.get("/v1/claims", params={"handle": handle}).json()["items"]
        return str(claim["id"])

    def exported(self, where: str, form: str) -> str:
        """What `tenure routes` writes."""
        command, env = [TENURE, "routes", where, "--format", form], {**os.environ, **self.way}
        return subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=20).stdout

    def table(self, where: str) -> dict[str, str]:
        """The preferred next hop of each prefix."""
        answer: httpx.Response = self.api.get("/v1/routes", params={"for": where})
        said = {"local": "blackhole", "unreachable": "unreachable"}
        return {
            route["prefix"]: said.get(route["via"]["kind"]) or route["via"]["router"]
            for route in answer.json()["routes"]
            if route["preferred"]
        }


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    if not routers.available():
        pytest.skip("needs bird2, frr, frr-pythontools and exabgp")
    socket = tmp_path / "api.sock"  # is the same one in each namespace
    with Serving(tmp_path / "data", "--api-socket", str(socket)) as serving, serving.client() as api:
        token = (serving.data / "admin-token").read_text().strip()
        yield Site(api, {"TENURE_URL": f"unix:{socket}", "TENURE_TOKEN": token})


class Same(dict[str, object]):
    """What differs; true if nothing does."""

    def __bool__(self) -> bool:
        return not len(self)


class Fabric:
    """The site's routers and hosts: the spine learns by BGP, the others are given their files as they change.

    Racks are joined to a spine and to an edge router. What each has for routing software, and each one's table:

    ========  ======  ======
    spine     BIRD    fabric, through ExaBGP
    edge      FRR     fabric
    rack-3    BIRD    its own
    rack-4    FRR     its own
    host-3-1  BIRD    its own
    host-3-2  BIRD    its own
    host-4-1  FRR     its own
    ========  ======  ======
    """

    def __init__(self, site: Site, topology: Topology, directory: Path, stack: ExitStack) -> None:
        self.site = site
        self.nodes = {name: Node(topology, name, *pair) for name, pair in ADDRESSES.items()}
        for near, far in (("rack-3", "spine"), ("rack-4", "spine"), *((name, PLACES[name] or "") for name in HOSTS)):
            self.nodes[near].join(self.nodes[far])
            self.nodes[near].default(self.nodes[far])
        for near, far in (("rack-3", "edge"), ("rack-4", "edge"), ("feed", "spine")):
            self.nodes[near].join(self.nodes[far])
        feed, spine = self.nodes["feed"], self.nodes["spine"]
        self.spine = Bird(spine, directory / "spine", neighbour("tenure", feed.v4))
        self.rack = self._bird("rack-3", directory)
        exabgp(feed, spine, f"{TENURE} routes follow fabric", directory / "feed", site.way)
        self._follow(self._frr("edge", stack), "fabric")
        self._follow(self.rack, "rack-3")
        self._follow(self._frr("rack-4", stack), "rack-4")
        self._follow(self._bird("host-3-1", directory), "host-3-1")
        self._follow(self._bird("host-3-2", directory), "host-3-2")
        self._follow(self._frr("host-4-1", stack), "host-4-1")

    def _bird(self, name: str, directory: Path) -> Bird:
        return Bird(self.nodes[name], directory / name)

    def _frr(self, name: str, stack: ExitStack) -> Frr:
        return stack.enter_context(Frr(self.nodes[name]))

    def _follow(self, router: Bird | Frr, where: str) -> None:
        """Keep a router in step."""
        form = "bird" if isinstance(router, Bird) else "frr"
        load = f"cat >{router.file} && {router.load}"
        command = [TENURE, "routes", "follow", where, "--format", form, "--exec", load]
        router.node.namespace.popen(command, env=dict(self.site.way))

    def settle(self) -> None:
        """Return when the kernel of each router has what its table says, and nothing else of ours."""
        until(lambda: Same(self._differing()))

    def _differing(self) -> dict[str, tuple[dict[str, str], dict[str, str]]]:
        """What kernel and table say, of each node where that is not the same.

        What runs on a node is nearer than any route: BIRD and FRR leave that to the kernel.
        """
        tables = {name: "fabric" if name in ("spine", "edge") else name for name in self.nodes if name != "feed"}
        pairs = {}
        for name, where in tables.items():
            near = self.nodes[name].held()
            wants = {prefix: hop for prefix, hop in self.site.table(where).items() if prefix not in near}
            pairs[name] = self.nodes[name].routes(), wants
        return {name: (has, wants) for name, (has, wants) in pairs.items() if has != wants}

    def reached(self, addresses: Iterable[str], sources: Mapping[str, Iterable[str]]) -> None:
        """Fails unless every address answers to every source (addresses of a node), and to spine and edge."""
        for address in addresses:
            near = {(name, source) for name, known in sources.items() for source in known if _alike(source, address)}
            for name, source in near | {("spine", ""), ("edge", "")}:
                came_of = self.nodes[name].ping(address, source or None)
                assert came_of == "answered", f"{name} {source} to {address}: {came_of}"

    def turned_back(self, addresses: Iterable[str]) -> None:
        """Fails if a packet to an address that nobody holds goes round until it is worn out."""
        for address in addresses:
            for name in ("spine", "host-3-2", "host-4-1"):
                came_of = self.nodes[name].ping(address, patience=0.3)
                assert "answered" not in came_of and "exceeded" not in came_of, f"{name} to {address}: {came_of}"


def _alike(one: str, other: str) -> bool:
    return (":" in one) == (":" in other)


@pytest.fixture
def fabric(site: Site, topology: Topology, tmp_path: Path) -> Iterator[Fabric]:
    with ExitStack() as stack:
        yield Fabric(site, topology, tmp_path, stack)


def test_bird_and_frr_take_what_is_exported(site: Site, tmp_path: Path) -> None:
    for name in HOSTS:
        site.claim(f"{name}-1", name)
    site.rebind("host-3-1-1", "host-4-1", 3600)
    for where in ("fabric", "rack-3", "host-3-1"):
        assert len(site.table(where)) >= 4
        assert Bird.check(site.exported(where, "bird"), tmp_path) == ""
        assert Frr.check(site.exported(where, "frr"), tmp_path) == ""


@pytest.mark.root
def test_a_claim_that_moves_is_reached_from_everywhere_and_so_are_its_neighbours(fabric: Fabric) -> None:
    site, nodes = fabric.site, fabric.nodes
    first = {name: site.claim(f"{name}-1", name) for name in HOSTS}
    moved, beside = site.claim("moved", "host-3-1"), site.claim("beside", "host-3-1")
    for name, addresses in (*first.items(), ("host-3-1", moved), ("host-3-1", beside)):
        nodes[name].add(addresses)
    everything = [*moved, *beside, *chain(*first.values())]
    fabric.settle()
    home = fabric.spine.routes()
    assert sorted(chain(*home.values())) == sorted([*ADDRESSES["rack-3"], *ADDRESSES["rack-4"]]), "by BGP"
    fabric.reached(everything, first)
    fabric.turned_back(_near(beside) - {*everything})

    site.rebind("moved", "host-4-1", 3600)
    nodes["host-4-1"].add(moved)  # both have it now
    fabric.settle()
    both = dict(zip(map(narrow, moved), ADDRESSES["rack-4"], strict=True))
    assert fabric.spine.routes() == {**home, **{prefix: [hop] for prefix, hop in both.items()}}, "by BGP"
    two = zip(map(narrow, moved), ADDRESSES["spine"], ADDRESSES["host-3-1"], strict=True)
    assert {prefix: fabric.rack.routes()[prefix] for prefix in both} == {each[0]: [*each[1:]] for each in two}
    before = nodes["host-3-1"].echoes()
    fabric.reached(moved, {"host-3-2": first["host-3-2"]})
    assert nodes["host-3-1"].echoes() == before, "all went to the new host"

    site.settle("moved")
    nodes["host-3-1"].remove(moved)
    fabric.settle()
    until(lambda: all(len(fabric.rack.routes()[narrow(address)]) == 1 for address in moved))
    fabric.reached(everything, {**first, "host-4-1": moved})

    site.rebind("moved", "host-3-1", 0)
    nodes["host-4-1"].remove(moved)
    nodes["host-3-1"].add(moved)
    fabric.settle()
    assert fabric.spine.routes() == home
    fabric.reached(everything, first)


def _near(known: list[str]) -> set[str]:
    """Addresses of the same block, of what the rack routes to its owner besides, and of the rest of the rack's."""
    return {str(ip_address(address) + more) for address in known for more in (9, 300, 2**13)}


@pytest.mark.root
def test_of_two_hosts_that_announce_an_address_the_new_one_counts_and_the_old_one_is_in_reserve(
    site: Site, topology: Topology, tmp_path: Path
) -> None:
    """Hosts with a session of their own, without racks between."""
    spine, old, new = (Node(topology, name, *ADDRESSES[name]) for name in ("spine", "host-3-1", "host-4-1"))
    for node in (old, new):
        node.join(spine)
    router = Bird(spine, tmp_path / "spine", neighbour("tenure_old", old.v4) + neighbour("tenure_new", new.v4))
    speakers = {
        node: exabgp(node, spine, f"{TENURE} routes follow {node.name}", tmp_path / node.name, site.way)
        for node in (old, new)
    }
    addresses = site.claim("moved", "host-3-1")
    site.rebind("moved", "host-4-1", 3600)

    def hops() -> list[list[str]]:
        return [router.routes().get(narrow(address), []) for address in addresses]

    until(lambda: hops() == [[new.v4, old.v4], [new.v6, old.v6]])
    speakers[new].kill9()
    until(lambda: hops() == [[old.v4], [old.v6]])
