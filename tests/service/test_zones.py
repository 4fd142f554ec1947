"""What uses mean for zones, as a view that follows sees it, and what a view that loads finds."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.model import uses as u
from tenure.model.answers import Failure
from tenure.model.dnsdata import Record
from tenure.naming import records
from tenure.service.contents import zone_contents
from tests.service.world import Node, World, claim, submission


@pytest.fixture
def node(tmp_path: Path, seed: int) -> Iterator[Node]:
    """A site with a domain."""
    world = World(tmp_path, seed)
    yield world.site()
    world.close()


def names(node: Node, zone: str) -> dict[str, set[Record]]:
    """The records of a zone by owner, as a follower has them."""
    (id_,) = (each.id for each in node.writer.memory.state.zones.values() if each.name == zone)
    found: dict[str, set[Record]] = {}
    for record in node.names.zones[id_]:
        found.setdefault(record.owner, set()).add(record)
    return found


def test_a_named_claim_is_there_both_ways(node: Node) -> None:
    held = node.claim("a", hostname="vm-1")
    assert held.addresses[0].ip == "10.0.3.1"
    (forward,) = names(node, "prod.example.")["vm-1.prod.example."]
    assert (forward.type, forward.ttl, forward.rdata) == (records.A, 0, bytes((10, 0, 3, 1)))
    (pointer,) = names(node, "3.0.10.in-addr.arpa.")["1.3.0.10.in-addr.arpa."]
    assert (pointer.type, pointer.rdata) == (records.PTR, b"\x04vm-1\x04prod\x07example\x00")
    node.release(held)
    assert names(node, "prod.example.") == names(node, "3.0.10.in-addr.arpa.") == {}
    node.check()


def test_a_claim_without_a_name_moves_no_serial(node: Node) -> None:
    before = dict(node.writer.memory.serials)
    node.claim("a")
    assert node.writer.memory.serials == before


@pytest.mark.parametrize(
    ("cidr", "address", "zone"),
    [
        ("10.8.0.0/23", "10.8.1.7", "1.8.10.in-addr.arpa."),
        ("10.9.0.0/16", "10.9.200.7", "9.10.in-addr.arpa."),
        ("192.0.2.64/26", "192.0.2.70", "64-26.2.0.192.in-addr.arpa."),
        ("2001:db8:0:4::/62", "2001:db8:0:7::9", "7.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa."),
    ],
)
def test_pointers_are_in_the_zone_that_covers_them(node: Node, cidr: str, address: str, zone: str) -> None:
    node.ok(u.CreateSubnet(network="prod", cidr=cidr))
    node.claim("a", hostname="x", address=address)
    assert len(names(node, zone)) == 1
    node.check()


def test_two_subnets_of_one_octet_zone_share_it(node: Node) -> None:
    for cidr in ("192.0.2.0/26", "192.0.2.64/26", "192.0.2.128/26"):
        node.ok(u.CreateSubnet(network="prod", cidr=cidr, fields={"reverse": "plain"}))
    held = [node.claim(f"c{at}", hostname=f"c{at}", address=f"192.0.2.{64 * at + 5}") for at in range(3)]
    node.release(held[1])
    assert set(names(node, "2.0.192.in-addr.arpa.")) == {f"{at}.2.0.192.in-addr.arpa." for at in (5, 133)}
    node.ok(u.DeleteSubnet(subnet="192.0.2.64/26"))
    assert len(names(node, "2.0.192.in-addr.arpa.")) == 2
    node.check()


def test_a_subnet_released_and_deleted_together_takes_its_pointers_along(node: Node) -> None:
    for cidr in ("192.0.2.0/26", "192.0.2.64/26"):
        node.ok(u.CreateSubnet(network="prod", cidr=cidr, fields={"reverse": "plain"}))
    held = [node.claim(f"c{at}", hostname=f"c{at}", address=f"192.0.2.{64 * at + 5}") for at in range(2)]
    together = (u.ReleaseClaim(claim=held[1].claim.id), u.DeleteSubnet(subnet="192.0.2.64/26"))
    node.ok(u.Together(uses=together))
    assert set(names(node, "2.0.192.in-addr.arpa.")) == {"5.2.0.192.in-addr.arpa."}
    node.check()


def test_no_pointers_where_the_subnet_wants_none(node: Node) -> None:
    node.ok(u.CreateSubnet(network="prod", cidr="10.5.0.0/24", fields={"reverse": "off"}))
    node.claim("a", hostname="x", address="10.5.0.9")
    assert set(names(node, "prod.example.")) == {"x.prod.example."}
    node.check()


def test_a_zone_in_another_takes_over_the_pointers_below_it(node: Node) -> None:
    node.ok(u.CreateSubnet(network="prod", cidr="10.16.0.0/16"))
    node.claim("a", hostname="a", address="10.16.3.9")
    node.claim("b", hostname="b", address="10.16.4.9")
    node.ok(u.CreateSubnet(network="prod", cidr="10.16.5.0/25"))
    node.claim("c", hostname="c", address="10.16.5.9")
    node.claim("d", hostname="d", address="10.16.5.200")
    assert len(names(node, "16.10.in-addr.arpa.")) == 4
    node.ok(u.CreateZone(name="5.16.10.in-addr.arpa."))
    assert set(names(node, "5.16.10.in-addr.arpa.")) == {"9.5.16.10.in-addr.arpa.", "200.5.16.10.in-addr.arpa."}
    assert set(names(node, "16.10.in-addr.arpa.")) == {"9.3.16.10.in-addr.arpa.", "9.4.16.10.in-addr.arpa."}
    node.check()


def test_a_new_ttl_reshapes_the_zones_once(node: Node) -> None:
    node.claim("a", hostname="a")
    before = dict(node.names.serials)
    node.ok(u.ChangeNetwork(network="prod", changes={"ttl": 77}))
    assert {record.ttl for found in names(node, "prod.example.").values() for record in found} == {77}
    assert {record.ttl for found in names(node, "3.0.10.in-addr.arpa.").values() for record in found} == {77}
    assert all(node.names.serials[zone] == serial + 1 for zone, serial in before.items())
    with node.store.snapshot() as snapshot:
        assert all(zone.floor == zone.serial for zone in snapshot.zones)
    node.check()


def test_a_reshaped_zone_and_a_claim_in_one_turn_agree(node: Node) -> None:
    node.claim("a", hostname="a")
    node.replies(
        submission(claim("b", hostname="b")),
        submission(u.ChangeNetwork(network="prod", changes={"ttl": 77})),
        submission(claim("c", hostname="c")),
    )
    assert set(names(node, "prod.example.")) == {f"{name}.prod.example." for name in "abc"}
    node.check()


def test_a_zone_made_and_filled_in_one_turn(node: Node) -> None:
    node.replies(
        submission(u.CreateNetwork(name="lab", fields={"domain": "lab.example."})),
        submission(u.CreateSubnet(network="lab", cidr="10.7.0.0/24")),
        submission(claim("a", network="lab", hostname="a")),
    )
    assert set(names(node, "lab.example.")) == {"a.lab.example."}
    node.check()


def test_what_the_store_keeps_is_what_the_views_were_told(node: Node) -> None:
    for at in range(6):
        held = node.claim(f"c{at}", hostname=f"c{at}")
        if at % 2:
            node.release(held)
    for zone in node.names.zones:
        told = [change for committed in node.told for change in committed.zone_changes if change.zone == zone]
        assert node.store.reads.zone_changes(zone, 0) == told


def test_a_zone_alone_holds_what_it_holds_among_all(node: Node) -> None:
    """Nested subnets, both families, names in every one of them: each zone, and each pair, as among all."""
    for cidr in ("10.8.0.0/14", "10.9.0.0/23", "10.9.1.64/26", "10.10.0.0/16", "2001:db8::/30", "2001:db8:0:4::/62"):
        node.ok(u.CreateSubnet(network="prod", cidr=cidr))
    node.ok(u.CreateNetwork(name="lab", fields={"domain": "lab.prod.example."}))
    node.ok(u.CreateSubnet(network="lab", cidr="10.12.1.128/25"))
    addresses = "10.8.0.9 10.9.0.9 10.9.1.9 10.9.1.70 10.12.1.200 10.10.3.4 10.11.255.9 2001:db9::9 2001:db8:0:5::9"
    for n, address in enumerate(addresses.split()):
        node.claim(f"h-{n}", hostname=f"vm-{n}", address=address, network="lab" if address == "10.12.1.200" else "prod")
    with node.store.snapshot() as snapshot:
        every = {zone.id: sorted(found) for zone, *_, found in zone_contents(snapshot)}
        for one in every:
            for other in every:
                wanted = {one, other}
                alone = {zone.id: sorted(found) for zone, *_, found in zone_contents(snapshot, wanted)}
                assert alone == {id_: every[id_] for id_ in wanted}
    assert sum(map(len, every.values())) == 2 * len(addresses.split())


def refusal(node: Node, use: u.Use) -> Failure:
    answer = node.answer(use)
    assert isinstance(answer, Failure) and answer.code == "invalid_value"
    return answer


def test_a_zone_goes_on_from_a_serial_that_is_given(tmp_path: Path, seed: int) -> None:
    world = World(tmp_path, seed)
    one, two = world.node("one"), world.node("two")
    world.furnish(one)
    two.writer.step()
    (zone,) = [each for each in one.writer.memory.state.zones.values() if each.name == "prod.example."]
    one.ok(u.ChangeZone(zone=zone.id, changes={"serial": 2024010102, "ttl": 600}))
    two.writer.step()
    assert {node.writer.memory.serials[zone.id] for node in (one, two)} == {2024010102}
    assert {node.names.serials[zone.id] for node in (one, two)} == {2024010102}
    two.claim("a", hostname="vm-1")
    one.writer.step()
    assert {node.writer.memory.serials[zone.id] for node in (one, two)} == {2024010103}
    refused = refusal(one, u.ChangeZone(zone=zone.id, changes={"serial": 7}))
    assert refused.facts["current"] == 2024010103
    between = refused.facts["between"]
    for number in (between, 7):
        two.ok(u.ChangeZone(zone=zone.id, changes={"serial": number}))
    one.writer.step()
    assert {node.writer.memory.serials[zone.id] for node in (one, two)} == {7}
    for node in (one, two):
        node.check()
    world.close()


def test_the_serial_that_a_zone_has_is_no_change(node: Node) -> None:
    (zone,) = [each for each in node.writer.memory.state.zones.values() if each.name == "prod.example."]
    node.claim("a", hostname="vm-1")
    has = node.writer.memory.serials[zone.id]
    node.ok(u.ChangeZone(zone=zone.id, changes={"serial": has}))
    assert node.writer.memory.serials[zone.id] == has
    node.ok(u.ChangeZone(zone=zone.id, changes={"serial": has, "ttl": 60}))
    assert node.writer.memory.serials[zone.id] == has + 1
    node.check()


def test_a_zone_that_comes_back_has_no_serial_twice_whatever_is_given(node: Node) -> None:
    def made(**fields: object) -> int:
        node.ok(u.CreateZone(name="made.example.", fields=fields))
        (zone,) = [each.id for each in node.writer.memory.state.zones.values() if each.name == "made.example."]
        number = node.names.serials[zone]
        node.ok(u.DeleteZone(zone=zone))
        return number

    assert made(serial=3_000_000_000) == 3_000_000_000
    assert made() == 3_000_000_001
    assert made(serial=5) == 5, "later, on the circle"
    assert made(serial=4) == 6
    assert made(serial=6) == 7


@pytest.mark.parametrize("number", [0, 2**32, -1])
def test_what_is_no_serial(node: Node, number: int) -> None:
    for use in (
        u.CreateZone(name="made.example.", fields={"serial": number}),
        u.ChangeZone(zone="prod.example.", changes={"serial": number}),
    ):
        assert refusal(node, use).facts["pointer"] == "/serial"
