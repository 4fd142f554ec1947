"""Everything that happens to zones, by chance, and a follower that is told of it and never looks."""

import random
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any, Final

from tenure.model import uses as u
from tenure.model.answers import Failure, Leased
from tenure.model.dnsdata import Record, Zone
from tenure.model.holding import ClaimRequest
from tenure.model.leases import Client, Place
from tenure.naming import serial
from tenure.naming.authority import authority
from tenure.naming.reverse import pointer_name
from tenure.net.addresses import parse_address
from tenure.service.contents import Contents, zone_contents
from tenure.service.planning import INTERNAL
from tests.service.test_followed_lives import DEEDS, Lives, mac_of
from tests.service.world import Node, listed, submission

HERE: Final = (parse_address("198.51.100.53"), parse_address("2001:db8:ffff::53"))
"""Where the server is reached; nobody holds these."""

LINK: Final = Place(link=0x0A000001)
TEMPLATES: Final = (None, "ip-{ip-dashed}", "{ip-hex}.dyn", "h{ip-hex}")
NESTED: Final = (
    "10.0.0.16/28", "10.0.0.64/26", "10.0.0.64/28", "192.0.2.64/29", "2001:db8::40/122", "10.1.0.0/24", "10.1.1.64/26",
    "10.1.1.96/28", "10.1.1.128/25",
)  # fmt: skip
OWNERS: Final = ("www", "ns1", "ns1.sub", "a.b", "*.w", "@", "sub", "deep.sub")
NETWORKS: Final = ("prod", "lab", "twin")
SERVERS: Final[tuple[list[str], ...]] = (
    [], ["ns1.sub.prod.example."], ["ns1.prod.example.", "ns.elsewhere.invalid."], ["ns.lab.prod.example."],
)  # fmt: skip
KEPT: Final = (
    "1.1.10.in-addr.arpa.", "0.0.10.in-addr.arpa.", "0.10.in-addr.arpa.", "32-28.0.0.10.in-addr.arpa.",
    "2.0.192.in-addr.arpa.", "sub.prod.example.", "deep.sub.prod.example.", "example.", "other.example.",
)  # fmt: skip


def everything(contents: Contents) -> set[Record]:
    """All records of a zone but its SOA, as a transfer would list them."""
    records = listed(contents)
    assert len(records) == len(set(records))
    return {*records, *authority(contents.zone, contents.servers, contents.below, HERE)}


def whole(node: Node) -> dict[str, tuple[int, set[Record]]]:
    """Serial and records of each zone by id, loaded."""
    with node.store.snapshot() as snapshot:
        return {each.zone.id: (each.zone.serial, everything(each)) for each in zone_contents(snapshot)}


class Follower:
    """Knows zones from the beginning, takes what it is told exactly as it is told, and compares."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._known = whole(node)
        self._heard = len(node.told)

    def follow(self) -> int:
        """Assert that what was told since makes of each zone what it is now; how many records came and went."""
        self._node.ok(u.ReadCapacity(network="prod"))  # so that it has heard of all that others wrote
        now, whole_ones, count = whole(self._node), set[str](), 0
        for committed in self._node.told[self._heard :]:
            whole_ones.update(committed.reload)
            for change in committed.zone_changes:
                if change.zone not in whole_ones:
                    self._known[change.zone] = _changed(self._known[change.zone], change)
                    count += len(change.removed) + len(change.added)
        self._heard = len(self._node.told)
        told = {zone: found for zone, found in self._known.items() if zone not in whole_ones}
        assert told == {zone: found for zone, found in now.items() if zone not in whole_ones}
        self._known = now
        return count


def _changed(known: tuple[int, set[Record]], change: Any) -> tuple[int, set[Record]]:
    number, records = known
    removed, added = set(change.removed), set(change.added)
    assert len(removed) == len(change.removed) and len(added) == len(change.added)
    assert removed or added
    assert removed <= records, removed - records
    assert not added & records, added & records
    assert change.serial == serial.step(number)
    return change.serial, records - removed | added


class ZoneLives(Lives):
    """What happens to addresses, and all that people do to zones."""

    deeds: Sequence[str] = (
        *DEEDS, "claim_there", "claim_there", "claim_twin", "claim_twin", "double", "double", "double_pointer",
        "record", "record", "record", "record", "hidden", "change_record", "drop_record", "drop_record", "drop_record",
        "template", "template", "set_aside", "take_back", "nest", "nest", "unnest", "unnest", "point", "point", "ttl",
        "keep", "keep", "drop_zone", "drop_zone", "serve", "replicate", "lease", "lease", "unlease", "together",
        "together", "turn",
    )  # fmt: skip

    def __init__(self, node: Node, chance: random.Random) -> None:
        super().__init__(node, chance)
        self._leases: dict[str, int] = {}
        self._prefixes = ["10.0.0.0/25", "10.1.0.0/23", "192.0.2.64/26", "2001:db8::/120", "2001:db8:1::/64"]

    def claim_there(self) -> u.Use:
        """A very address, by a name or none; perhaps the name that is computed for it."""
        number = self.chance.choice((0x0A000000, 0x0A000000, 0x0A010100)) + self.chance.randrange(1, 127)
        ip, name = str(ip_address(number)), self._new_name()
        some = self.chance.choice((name, name, f"ip-{ip.replace('.', '-')}", f"h{number:08x}", None))
        return u.ClaimAddresses(request=ClaimRequest(network="prod", address=ip, hostname=some))

    def claim_twin(self) -> u.Use:
        """Another network with the same domain; names may be shared."""
        name = self.chance.choice(("shared", "shared", self._new_name()))
        return u.ClaimAddresses(request=ClaimRequest(network=self.chance.choice(NETWORKS), hostname=name, family="v4"))

    def double(self) -> u.Use | None:
        """A person says what an allocation says."""
        named = [each for each in self._held() if each.held.name]
        if not named:
            return None
        known = self.chance.choice(named)
        ip, name = known.allocation.ip, str(known.held.name)
        return self._made(self._zone_of(name), name, "AAAA" if ":" in ip else "A", ip)

    def double_pointer(self) -> u.Use | None:
        """The same of its pointer."""
        named = [each for each in self._held() if each.held.name and ":" not in each.allocation.ip]
        if not named:
            return None
        known = self.chance.choice(named)
        owner = pointer_name(4, int(parse_address(known.allocation.ip)))
        zones = [zone for zone in self._zones() if owner.endswith("." + zone.name)]
        return self._made(max(zones, key=lambda zone: len(zone.name), default=None), owner, "PTR", str(known.held.name))

    def record(self) -> u.Use:
        """A person makes a record of a name of their own, or one that somebody may take later."""
        name = self.chance.choice(
            ("www", "ns1", "ns1.sub", f"n{self._names + 1}", "a.b", "*.w", "@", "sub", "deep.sub")
        )
        kind, data = self.chance.choice(
            (
                ("A", f"10.0.0.{self.chance.randrange(1, 127)}"),
                ("AAAA", "2001:db8::9"),
                ("TXT", '"x"'),
                ("CNAME", "www.prod.example."),
                ("MX", "10 ns1"),
                ("NS", "ns.elsewhere.invalid."),
            )
        )
        ttl = self.chance.choice((None, None, 77))
        return u.CreateRecord(zone=self._one_zone().id, name=name, type=kind, data=data, ttl=ttl)  # type: ignore[arg-type]

    def hidden(self) -> u.Use:
        """A person's record where a name is computed, or a pointer."""
        number = self.chance.randrange(128)
        name = self.chance.choice(
            (f"ip-10-0-0-{number}", f"0a0000{number:02x}.dyn", f"h0a0000{number:02x}", f"{number}")
        )
        kind, data = self.chance.choice((("TXT", '"mine"'), ("A", f"10.0.0.{number}")))
        return u.CreateRecord(zone=self._one_zone().id, name=name, type=kind, data=data)  # type: ignore[arg-type]

    def change_record(self) -> u.Use | None:
        """A record changes its data or its TTL."""
        records = self._records()
        some: tuple[dict[str, object], ...] = ({"ttl": 60}, {"ttl": None}, {"data": "10.0.0.77"})
        changes = self.chance.choice(some)
        return u.ChangeRecord(record=self.chance.choice(records), changes=changes) if records else None

    def drop_record(self) -> u.Use | None:
        """A person removes a record."""
        records = self._records()
        return u.DeleteRecord(record=self.chance.choice(records)) if records else None

    def template(self) -> u.Use:
        """A template of a subnet, a network or a zone comes, changes or goes."""
        changes: dict[str, object] = {"name_template": self.chance.choice(TEMPLATES)}
        where = self.chance.choice(("subnet", "network", "zone"))
        if where == "subnet":
            return u.ChangeSubnet(subnet=self.chance.choice(self._prefixes), changes=changes)
        if where == "network":
            return u.ChangeNetwork(network=self.chance.choice(NETWORKS), changes=changes)
        return u.ChangeZone(zone=self._one_zone().id, changes=changes)

    def set_aside(self) -> u.Use:
        """A range."""
        start = self.chance.randrange(1, 120)
        role, end = self.chance.choice(("reserved", "reserved", "dynamic")), start + self.chance.randrange(8)
        return u.CreateRange(subnet="10.0.0.0/25", start=f"10.0.0.{start}", end=f"10.0.0.{end}", role=role)  # type: ignore[arg-type]

    def take_back(self) -> u.Use | None:
        """A range goes, or becomes shorter."""
        ranges = self.node.store.reads.ranges(limit=100).items
        if not ranges:
            return None
        one = self.chance.choice(ranges)
        if self.chance.random() < 0.3:
            return u.ChangeRange(range=one.id, changes={"end": one.start})
        return u.DeleteRange(range=one.id)

    def nest(self) -> u.Use:
        """A subnet in another one, of any network."""
        fields: dict[str, object] = {"reverse": self._mode()}
        if self.chance.random() < 0.5:
            fields["name_template"] = self.chance.choice(TEMPLATES)
        cidr = self.chance.choice(NESTED)
        self._prefixes.append(cidr)
        return u.CreateSubnet(network=self.chance.choice(NETWORKS), cidr=cidr, fields=fields)

    def unnest(self) -> u.Use:
        """It goes again."""
        return u.DeleteSubnet(subnet=self.chance.choice(NESTED))

    def point(self) -> u.Use:
        """A subnet wants its pointers elsewhere."""
        return u.ChangeSubnet(subnet=self.chance.choice(self._prefixes), changes={"reverse": self._mode()})

    def ttl(self) -> u.Use:
        """Records live longer or shorter."""
        changes: dict[str, object] = {"ttl": self.chance.choice((60, 300))}
        if self.chance.random() < 0.5:
            return u.ChangeZone(zone=self._one_zone().id, changes=changes)
        return u.ChangeNetwork(network=self.chance.choice(NETWORKS), changes=changes)

    def keep(self) -> u.Use:
        """A person makes a zone."""
        return u.CreateZone(name=self.chance.choice(KEPT))

    def drop_zone(self) -> u.Use:
        """A person wants one no longer."""
        return u.DeleteZone(zone=self._one_zone().id)

    def serve(self) -> u.Use:
        """Others serve a zone, or all of them; perhaps under names in them."""
        servers = self.chance.choice(SERVERS)
        if self.chance.random() < 0.3:
            return u.ChangeVrf(vrf="default", changes={"name_servers": servers})
        return u.ChangeZone(zone=self._one_zone().id, changes={"name_servers": servers})

    def replicate(self) -> u.Use:
        """A secondary comes, or goes."""
        secondaries = self.node.store.reads.secondaries().items
        if len(secondaries) > 1 or (secondaries and self.chance.random() < 0.5):
            return u.DeleteSecondary(secondary=self.chance.choice(secondaries).id)
        return u.CreateSecondary(name=f"s{self.chance.randrange(3)}", fields={"address": "198.51.100.2"})

    def lease(self) -> u.Use | None:
        """A stranger, who calls itself something, takes what DHCP offers it."""
        mac = mac_of(200 + self.chance.randrange(4))
        number = self.chance.randrange(112, 120)
        name = self.chance.choice((None, "www", "shared", self._new_name(), f"ip-10-0-0-{number}"))
        client = Client(mac=mac, hostname=name)
        offered = self.node.answer(u.LeaseOffer(client=client, place=LINK))
        if not isinstance(offered, Leased) or offered.lease is None:
            return None
        self._leases[mac] = offered.lease.address
        return u.LeaseCommit(client=client, place=LINK, address=offered.lease.address, form="selecting")

    def unlease(self) -> u.Use | None:
        """It gives it back."""
        if not self._leases:
            return None
        mac = self.chance.choice(sorted(self._leases))
        return u.LeaseRelease(client=Client(mac=mac), place=LINK, address=self._leases.pop(mac))

    def together(self) -> u.Use | None:
        """Some of it in one use."""
        return u.Together(uses=tuple(self._several()))

    def turn(self) -> None:
        """Some of it in one transaction, each a use."""
        for reply in self.node.replies(*map(submission, self._several())):
            assert not isinstance(reply.answer, Failure) or reply.answer.code != INTERNAL, reply.answer
            self.done["turn"] = self.done.get("turn", 0) + 1

    def _several(self) -> list[Any]:
        alone = ("together", "turn", "wait", "lease")
        deeds = self.chance.choices([deed for deed in self.deeds if deed not in alone], k=3)
        return [use for deed in deeds if (use := getattr(self, deed)()) is not None]

    def _new_name(self) -> str:
        self._names += 1
        return f"n{self._names}"

    def _mode(self) -> str:
        return self.chance.choice(("auto", "plain", "rfc2317", "off"))

    def _zones(self) -> list[Zone]:
        return self.node.store.reads.zones(limit=1000).items

    def _one_zone(self) -> Zone:
        likely = [zone for zone in self._zones() if zone.name in ("prod.example.", "0.0.10.in-addr.arpa.")]
        return self.chance.choice((*self._zones(), *likely, *likely))

    def _zone_of(self, name: str) -> Zone | None:
        return next((zone for zone in self._zones() if name.partition(".")[2] == zone.name), None)

    def _made(self, zone: Zone | None, name: str, kind: Any, data: str) -> u.Use | None:
        return None if zone is None else u.CreateRecord(zone=zone.id, name=name, type=kind, data=data)

    def _records(self) -> list[str]:
        return [record.id for record in self.node.store.reads.records(limit=1000).items]
