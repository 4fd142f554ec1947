"""A zone that begins inside another one, or a name that is delegated, hides nothing that is said; in any order."""

import shutil
import subprocess
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from tenure.errors import Conflict, InUse
from tenure.model import uses as u
from tenure.model.answers import Made
from tenure.model.holding import ClaimRequest
from tenure.naming.authority import authority, start
from tenure.naming.rdata import text
from tenure.service.contents import zone_contents
from tenure.surfaces.api.zone_text import name_of
from tests.service.world import Node, World, listed
from tests.service.zone_lives import HERE
from tests.service.zoning_oracle import ZonedWorld

PROD = "prod.example."
CUTS: list[u.Use] = [
    u.CreateZone(name=f"hid.{PROD}"),
    u.CreateZone(name=f"HID.{PROD}".rstrip(".")),
    u.CreateNetwork(name="inner", fields={"domain": f"hid.{PROD}"}),
    u.ChangeNetwork(network="moved", changes={"domain": f"hid.{PROD}"}),
    u.CreateRecord(zone=PROD, name="hid", type="NS", data="ns.else.example."),
]
TEMPLATED: list[u.Use] = [
    u.ChangeNetwork(network="prod", changes={"name_template": "{ip-hex}.dyn"}),
    u.ChangeNetwork(network="prod", changes={"name_template": "a.ip-{ip-dashed}-x.deep.dyn"}),
    u.ChangeZone(zone=PROD, changes={"name_template": "{ip-hex}.dyn"}),
    u.ChangeSubnet(subnet="10.0.0.0/24", changes={"name_template": "{ip-hex}.dyn"}),
    u.CreateSubnet(network="prod", cidr="10.0.1.0/24", fields={"name_template": "{ip-hex}.dyn"}),
    u.CreateNetwork(name="third", fields={"domain": PROD, "name_template": "{ip-hex}.dyn"}),
]


@pytest.fixture
def world() -> ZonedWorld:
    """Two networks that share a domain, and one that has none."""
    found = ZonedWorld()
    found.do(u.CreateVrf(name="default"))
    found.do(u.CreateVrf(name="other"))
    for at, (name, domain) in enumerate((("prod", PROD), ("twin", PROD), ("moved", None))):
        found.do(u.CreateNetwork(name=name, fields={"domain": domain, "cooldown": 0}))
        found.do(u.CreateSubnet(network=name, cidr=f"10.{at}.0.0/24"))
    return found


def conflict(world: ZonedWorld, use: u.Use) -> dict[str, Any]:
    with pytest.raises(Conflict) as caught:
        world.do(use)
    return caught.value.facts


@pytest.mark.parametrize("cut", CUTS, ids=lambda use: type(use).__name__)
@pytest.mark.parametrize("network", ["prod", "twin"])
@pytest.mark.parametrize("name", ["hid", "a.hid", "b.a.hid"])
def test_names_that_are_held_are_not_hidden(world: ZonedWorld, cut: u.Use, network: str, name: str) -> None:
    held = world.claim(network, hostname=name)
    facts = conflict(world, cut)
    assert (facts["holders"], facts["count"]) == ([f"{name}.{PROD}"], 1)
    assert facts["pointer"] == ("/domain" if isinstance(cut, u.CreateNetwork | u.ChangeNetwork) else "/name")
    world.release(held)
    world.claim(network, hostname="nothid")
    world.do(cut)
    with pytest.raises(Conflict):
        world.claim(network, hostname=name)


def test_the_first_twenty_that_would_be_hidden_are_told(world: ZonedWorld) -> None:
    for n in range(25):
        world.claim("prod", hostname=f"h{n}.hid")
    world.do(u.CreateRecord(zone=PROD, name="www.hid", type="A", data="192.0.2.1"))
    facts = conflict(world, CUTS[0])
    assert (len(facts["holders"]), facts["count"], facts["holders"][0]) == (20, 26, f"www.hid.{PROD}")
    world.do(u.CreateZone(name=f"hid.{PROD}", vrf="other"))


def test_what_the_same_transaction_says_is_not_hidden(world: ZonedWorld) -> None:
    claim = u.ClaimAddresses(request=ClaimRequest(network="prod", hostname="a.hid"), handle="a")
    for uses in ((claim, CUTS[0]), (claim, CUTS[2])):
        assert conflict(world, u.Together(uses=uses))["holders"] == [f"a.hid.{PROD}"]
    below = u.CreateNetwork(name="below", fields={"domain": f"new.{PROD}"})
    world.do(
        u.Together(
            uses=(below, u.CreateZone(name=f"x.new.{PROD}"), u.CreateSubnet(network="below", cidr="10.9.0.0/24"))
        )
    )


def test_no_zone_begins_in_what_is_delegated(world: ZonedWorld) -> None:
    world.do(CUTS[4])
    assert conflict(world, u.CreateZone(name=f"a.hid.{PROD}"))["name"] == f"hid.{PROD}"
    assert conflict(world, u.CreateNetwork(name="x", fields={"domain": f"b.a.hid.{PROD}"}))["pointer"] == "/domain"


@pytest.mark.parametrize("template", TEMPLATED, ids=lambda use: type(use).__name__)
@pytest.mark.parametrize("cut", ["zone", "network", "record"])
def test_names_by_a_template_and_a_cut_bar_each_other(world: ZonedWorld, template: u.Use, cut: str) -> None:
    uses: dict[str, u.Use] = {
        "zone": u.CreateZone(name=f"dyn.{PROD}"),
        "network": u.CreateNetwork(name="dyn", fields={"domain": f"dyn.{PROD}"}),
        "record": u.CreateRecord(zone=PROD, name="dyn", type="NS", data="ns.else.example."),
    }
    assert world.plan(template, dry_run=True).events
    world.do(uses[cut])
    facts = conflict(world, template)
    assert (facts["holders"], facts["pointer"]) == ([f"dyn.{PROD}"], "/name_template")
    undo: dict[str, u.Use] = {
        "zone": u.DeleteZone(zone=f"dyn.{PROD}"),
        "network": u.DeleteNetwork(network="dyn"),
        "record": u.DeleteRecord(record=next(iter(world.state.records), "")),
    }
    world.do(undo[cut])
    world.do(template)
    facts = conflict(world, uses[cut])
    assert f"dyn.{PROD}" in facts["holders"][0] and facts["count"] == 1


@pytest.mark.parametrize("cut", ["ip-10-0-0-9", "ip-10-0-0-9-x.lab", "lab", "a.ip-10-0-0-9-x.lab"])
def test_a_zone_at_one_address_name_is_refused_too(world: ZonedWorld, cut: str) -> None:
    template = "ip-{ip-dashed}" if "lab" not in cut else "a.ip-{ip-dashed}-x.lab"
    change = u.ChangeNetwork(network="prod", changes={"name_template": template})
    world.do(u.CreateZone(name=f"{cut}.{PROD}"))
    assert conflict(world, change)["holders"] == [f"{cut}.{PROD}"]
    world.do(u.DeleteZone(zone=f"{cut}.{PROD}"))
    world.do(change)
    conflict(world, u.CreateZone(name=f"{cut}.{PROD}"))
    world.do(u.CreateZone(name=f"x{cut}.{PROD}"))
    world.do(u.CreateZone(name=f"z.{cut}.{PROD}"))


def test_a_network_that_joins_brings_no_template_over_a_cut(world: ZonedWorld) -> None:
    world.do(u.ChangeNetwork(network="moved", changes={"name_template": "{ip-hex}.dyn"}))
    world.do(u.CreateZone(name=f"dyn.{PROD}"))
    conflict(world, u.ChangeNetwork(network="moved", changes={"domain": PROD}))
    world.do(u.ChangeNetwork(network="moved", changes={"domain": "else.example."}))


def test_a_zone_stays_with_its_network_while_others_are_served_by_its_name(world: ZonedWorld) -> None:
    world.do(u.CreateNetwork(name="lab", fields={"domain": "lab.example."}))
    world.do(u.ChangeZone(zone=PROD, changes={"name_servers": ["ns.lab.example."]}))
    with pytest.raises(InUse) as caught:
        world.do(u.DeleteNetwork(network="lab"))
    assert caught.value.facts["holders"] == [f"zone {PROD}"]


# Name servers, and what the zones around say of them


@pytest.fixture
def node(tmp_path: Path, seed: int) -> Iterator[Node]:
    """A node with example., two zones beside each other in it, and one inside one of these."""
    world = World(tmp_path, seed)
    node = world.node("one")
    node.ok(u.CreateVrf(name="default"))
    for name in ("example.", "a.example.", "b.example.", "in.a.example.", "2.0.192.in-addr.arpa."):
        node.ok(u.CreateZone(name=name))
    node.ok(u.CreateNetwork(name="prod", fields={"domain": "a.example."}))
    node.ok(u.CreateSubnet(network="prod", cidr="192.0.2.64/28", fields={"reverse": "rfc2317"}))
    yield node
    world.close()


def lines(node: Node) -> dict[str, list[str]]:
    """The zone files."""
    with node.store.snapshot() as snapshot:
        return {
            each.zone.name: [
                f"{r.owner} {r.ttl} {name_of(r.type)} {text(r.type, r.rdata)}"
                for r in chain(
                    [start(each.zone, each.servers)],
                    authority(each.zone, each.servers, each.below, HERE),
                    listed(each),
                )
            ]
            for each in zone_contents(snapshot)
        }


def loads(node: Node) -> dict[str, list[str]]:
    """The zone files, each of which BIND loads without a warning."""
    checker, files = shutil.which("named-checkzone"), lines(node)
    assert checker is not None, "bind9-utils is among the packages of the tests"
    for name, said in files.items():
        asked, file = [checker, "-i", "local", name, "/dev/stdin"], "\n".join([*said, ""])
        done = subprocess.run(asked, input=file, capture_output=True, text=True, check=False)
        told = (done.stdout + done.stderr).splitlines()
        assert done.returncode == 0 and told[1:] == ["OK"] and "loaded serial" in told[0], (name, told)
    return files


@pytest.mark.parametrize(("server", "home"), [("ns1.a", "a"), ("x.ns1.in.a", "in.a"), ("ns1.b", "b"), ("ns1", "")])
def test_glue_is_in_the_zone_above_wherever_a_server_is(node: Node, server: str, home: str) -> None:
    """In the zone that it serves, inside that, beside it, or above it; it changes with what people say."""
    name, zone = f"{server}.example.", f"{home}.example.".lstrip(".")
    made = node.ok(u.CreateRecord(zone=zone, name=name, type="A", data="198.51.100.9"))
    assert isinstance(made, Made) and made.record is not None
    node.ok(u.ChangeZone(zone="a.example.", changes={"name_servers": [name]}))
    said = loads(node)["example."]
    assert said.count(f"{name} 300 A 198.51.100.9") == 1
    node.ok(u.ChangeRecord(record=made.record.id, changes={"data": "198.51.100.10"}))
    node.ok(u.CreateRecord(zone=zone, name=name, type="AAAA", data="2001:db8::9"))
    node.ok(u.ChangeZone(zone=zone, changes={"ttl": 77}))
    said = loads(node)["example."]
    assert {f"{name} 77 A 198.51.100.10", f"{name} 77 AAAA 2001:db8::9"} <= set(said)
    node.check()


def test_two_zones_that_serve_each_other_can_be_found(node: Node) -> None:
    for zone, other in (("a.example.", "b.example."), ("b.example.", "a.example.")):
        node.ok(u.CreateRecord(zone=zone, name="ns1", type="A", data="198.51.100.9"))
        node.ok(u.ChangeZone(zone=other, changes={"name_servers": [f"ns1.{zone}"]}))
    said = set(loads(node)["example."])
    assert {f"ns1.{each}.example. 300 A 198.51.100.9" for each in "ab"} <= said


def test_this_servers_own_name_in_another_zone_is_glue_too(node: Node) -> None:
    for server in ("ns.in.a.example.", "ns.b.example."):
        node.ok(u.ChangeZone(zone="a.example.", changes={"name_servers": [server]}))
        said = loads(node)["example."]
        assert [said.count(f"{server} 300 {'AAAA' if ':' in str(ip) else 'A'} {ip}") for ip in HERE] == [1, 1]
    node.check()


def test_servers_of_the_vrf_are_glue_in_each_zone_around(node: Node) -> None:
    node.ok(u.CreateRecord(zone="b.example.", name="ns1", type="A", data="198.51.100.9"))
    node.ok(u.ChangeVrf(vrf="default", changes={"name_servers": ["ns1.b.example."]}))
    said = loads(node)
    assert "ns1.b.example. 300 A 198.51.100.9" in said["example."]
    assert "in.a.example. 300 NS ns1.b.example." in said["a.example."]
    node.check()


def test_no_release_takes_a_servers_address(node: Node) -> None:
    held = node.claim("c", network="prod", hostname="ns1")
    node.ok(u.CreateRecord(zone="a.example.", name="ns1", type="A", data=held.addresses[0].ip))
    node.ok(u.ChangeZone(zone="a.example.", changes={"name_servers": ["ns1.a.example."]}))
    loads(node)
    node.release(held)
    assert f"ns1.a.example. 300 A {held.addresses[0].ip}" in loads(node)["example."]
