"""Whatever is done to the inventory: the zones are those that are needed, and each that is new is told so once."""

import random
from collections import Counter
from ipaddress import ip_network
from typing import Any

import pytest

from tenure.errors import TenureError
from tenure.model import events as e
from tenure.model import uses as u
from tenure.naming.reverse import pointer_owner
from tenure.net.addresses import text_of
from tests.service.zoning_oracle import ZonedWorld, cuts, described, is_classless, net_of, pieces, span, wanted

STEPS = 120
MODES = ("auto", "auto", "plain", "rfc2317", "off")
TEMPLATES = (None, None, "ip-{ip-dashed}", "{ip-hex}.dyn")
SERVERS = (
    (), ("ns1.prod.example.",), ("ns1.lab.prod.example.", "ns.else.example."), ("ns.lab.prod.example.", "ns.example."),
)  # fmt: skip
ROOTS = ("10.0.0.0/8", "192.0.2.0/24", "192.0.2.0/24", "2001:db8::/32", "2001:db8::/108")


class Walk:
    """Random uses, each checked against the oracle."""

    def __init__(self, chance: random.Random) -> None:
        self.chance, self.world, self.done = chance, ZonedWorld(), Counter[str]()
        self.world.do(u.CreateVrf(name="default"))
        self.world.do(u.CreateVrf(name="other"))
        for name, vrf, domain in (
            ("prod", "default", "prod.example."),
            ("lab", "default", "lab.prod.example."),
            ("far", "other", "prod.example."),
        ):
            self.world.do(u.CreateNetwork(name=name, vrf=vrf, fields={"domain": domain}))

    def step(self) -> None:
        use = self.use()
        if use is not None and self.chance.random() < 0.15:
            more = [each for each in (self.use(), self.use()) if each is not None]
            use = u.Together(uses=(use, *more))
        if use is None:
            return
        state = self.world.state
        vrfs = list(state.vrfs)
        before = {vrf: described(state, vrf) for vrf in vrfs}
        switched = self.switched()
        try:
            events = self.world.plan(use).events
        except TenureError:
            return
        self.done[type(use).__name__] += 1
        for vrf in vrfs:
            assert self.world.zones(state.vrfs[vrf].name) == wanted(state, vrf), use
            self.told(use, events, vrf, before[vrf], switched)

    def told(self, use: u.Use, events: list[e.Event], vrf: str, before: dict[str, Any], switched: Any) -> None:
        """A zone is told of as a whole if it changed, and not otherwise, once."""
        after = described(self.world.state, vrf)
        zoned = [each for each in events if isinstance(each, e.ZoneCreated | e.ZoneReshaped | e.ZoneDeleted)]
        times = Counter((type(each), each.zone.id) for each in zoned if each.zone.vrf == vrf)
        if not isinstance(use, u.Together):
            assert set(times.values()) <= {1}, (use, times)
        told = {each.zone.name for each in zoned if each.zone.vrf == vrf and not isinstance(each, e.ZoneDeleted)}
        changed = {name for name in after if before.get(name) != after[name]}
        assert changed <= told, (use, changed - told, [(before.get(n), after[n]) for n in changed - told])
        if switched != self.switched() or isinstance(use, u.Together | u.ChangeZone | u.DeleteZone):
            return  # what is held may have gone elsewhere, or a person says so
        came = {name for name in {*before, *after} if (name in before) != (name in after)}
        beside = {
            name for name in told for each in came if is_classless(name) and is_classless(each)
        }  # the wider classless one
        assert told <= changed | beside, (use, told - changed)

    def switched(self) -> Any:
        """What decides whether and where held addresses are called, but for zones."""
        state = self.world.state
        return (
            {s.subnet.id: (s.subnet.reverse == "off", s.subnet.cidr) for s in state.subnets.values()},
            {n.id: n.domain for n in state.networks.values()},
        )

    def use(self) -> u.Use | None:
        kinds = (
            *(self.create_subnet,) * 6,
            *(self.change_subnet,) * 4,
            *(self.delete_subnet,) * 2,
            self.create_zone,
            self.change_zone,
            self.delete_zone,
            self.change_network,
            self.change_vrf,
            *(self.create_record,) * 3,
            self.delete_record,
            *(self.create_range,) * 2,
            self.change_range,
            self.secondary,
        )
        kind = self.chance.choice(kinds)
        return kind()

    def pick(self, things: Any) -> Any:
        listed = list(things)
        return self.chance.choice(listed) if listed else None

    def cidr(self) -> str:
        root = ip_network(self.chance.choice(ROOTS))
        space = self.pick(self.world.state.subnets.values())
        if space is not None and self.chance.random() < 0.5:
            root = net_of(space.subnet)
        longest = min(root.max_prefixlen, root.prefixlen + 20)
        length = self.chance.randint(max(8, root.prefixlen), longest)
        if root.version == 4 and length in (9, 10, 11) and self.chance.random() < 0.8:
            length = 12  # hundreds of zones, now and then
        host_bits = root.max_prefixlen - length
        number = int(root[0]) + self.chance.getrandbits(8) % 3 * (1 << host_bits)
        if number > int(root[-1]):
            number = int(root[0])
        return f"{text_of(root.version, number)}/{length}"

    def fields(self) -> dict[str, Any]:
        return {"reverse": self.chance.choice(MODES), "name_template": self.chance.choice(TEMPLATES)}

    def create_subnet(self) -> u.Use:
        return u.CreateSubnet(
            network=self.chance.choice(("prod", "lab", "far")), cidr=self.cidr(), fields=self.fields()
        )

    def change_subnet(self) -> u.Use | None:
        space = self.pick(self.world.state.subnets.values())
        if space is None:
            return None
        name = self.chance.choice(("reverse", "name_template", "cidr"))
        changes = self.fields()
        if name == "cidr":
            net = net_of(space.subnet)
            length = min(net.max_prefixlen, max(8, net.prefixlen + self.chance.choice((-1, 1))))
            part = net.supernet(new_prefix=length) if length < net.prefixlen else next(net.subnets(new_prefix=length))
            changes = {"cidr": str(part)}
        else:
            changes = {name: changes[name]}
        return u.ChangeSubnet(subnet=space.subnet.id, changes=changes)

    def delete_subnet(self) -> u.Use | None:
        space = self.pick(self.world.state.subnets.values())
        return None if space is None else u.DeleteSubnet(subnet=space.subnet.id)

    def create_zone(self) -> u.Use:
        net = ip_network(self.cidr())
        names = [*cuts(net), "example.", "dyn.prod.example.", "x.lab.prod.example."]
        if net.version == 4 and net.prefixlen > 24:
            names.append(f"{int(net[0]) & 255}-{net.prefixlen}.{names[0]}")
        fields: dict[str, object] = {"name_servers": self.chance.choice(SERVERS)}
        return u.CreateZone(
            name=self.chance.choice(names[-8:]), vrf=self.chance.choice(("default", "other")), fields=fields
        )

    def change_zone(self) -> u.Use | None:
        zone = self.pick(self.world.state.zones.values())
        changes = {
            "ttl": self.chance.choice((60, 300)),
            "name_servers": self.chance.choice(SERVERS),
            "name_template": self.chance.choice(TEMPLATES),
            "kept": self.chance.random() < 0.5,
        }
        name = self.chance.choice(list(changes))
        return None if zone is None else u.ChangeZone(zone=zone.id, changes={name: changes[name]})

    def delete_zone(self) -> u.Use | None:
        zone = self.pick(z for z in self.world.state.zones.values() if z.kept)
        return None if zone is None else u.DeleteZone(zone=zone.id)

    def change_network(self) -> u.Use:
        changes = {
            "ttl": self.chance.choice((60, 300)),
            "negative_ttl": self.chance.choice((30, 60)),
            "name_template": self.chance.choice(TEMPLATES),
            "domain": self.chance.choice((None, "prod.example.", "lab.prod.example.", "dyn.prod.example.")),
        }
        name = self.chance.choice(list(changes))
        return u.ChangeNetwork(network=self.chance.choice(("prod", "lab")), changes={name: changes[name]})

    def change_vrf(self) -> u.Use:
        return u.ChangeVrf(vrf="default", changes={"name_servers": self.chance.choice(SERVERS)})

    def create_record(self) -> u.Use | None:
        zone = self.pick(self.world.state.zones.values())
        if zone is None:
            return None
        owners = ["ns1.prod.example.", "ns1.lab.prod.example.", f"x.{zone.name}", f"ns.{zone.name}"]
        for piece in pieces(self.world.state, zone.vrf):
            version, number = net_of(piece.subnet).version, self.chance.choice((piece.first, piece.last))
            if span(zone.name) is not None:
                owners.append(pointer_owner(zone.name, version, number))
            else:
                dashed = text_of(4, number).replace(".", "-") if version == 4 else None
                owners += [f"ip-{dashed}.{piece.domain}", f"ip-{dashed}.{piece.domain}"]
        type_, data = self.chance.choice((("A", "192.0.2.1"), ("TXT", '"x"')))
        return u.CreateRecord(zone=zone.id, name=self.chance.choice(owners), type=type_, data=data)  # type: ignore[arg-type]

    def delete_record(self) -> u.Use | None:
        record = self.pick(self.world.state.records)
        return None if record is None else u.DeleteRecord(record=record)

    def create_range(self) -> u.Use | None:
        space = self.pick(self.world.state.subnets.values())
        if space is None:
            return None
        first = space.first + self.chance.randrange(min(space.size, 600))
        last = min(space.last, first + self.chance.randrange(300))
        role = "reserved" if space.version == 6 else self.chance.choice(("reserved", "dynamic"))
        ends = {"start": text_of(space.version, first), "end": text_of(space.version, last)}
        return u.CreateRange(subnet=space.subnet.id, role=role, **ends)  # type: ignore[arg-type]

    def change_range(self) -> u.Use | None:
        found = self.pick(self.world.state.ranges.values())
        if found is None or self.chance.random() < 0.5:
            return None if found is None else u.DeleteRange(range=found.id)
        changes: list[dict[str, object]] = [{"end": found.start}, {"role": "reserved"}, {"note": "n"}]
        return u.ChangeRange(range=found.id, changes=self.chance.choice(changes))

    def secondary(self) -> u.Use:
        found = self.pick(self.world.state.secondaries)
        if found is not None and self.chance.random() < 0.7:
            return u.DeleteSecondary(secondary=found)
        n, vrf = self.chance.randrange(100), self.chance.choice(("default", "other"))
        return u.CreateSecondary(name=f"s{n}", vrf=vrf, fields={"address": f"198.51.100.{n}"})


@pytest.mark.parametrize("walk", range(4))
def test_zones_are_those_needed_and_each_that_is_new_is_told_once(seed: int, walk: int) -> None:
    found = Walk(random.Random(f"{seed} {walk}"))
    for _ in range(STEPS):
        found.step()
    assert len(found.done) >= 8, found.done
    assert found.done["CreateSubnet"] >= 5
