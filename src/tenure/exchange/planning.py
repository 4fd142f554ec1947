"""From what files say and what is there already to the objects that are missing, in an order in which they can be made.

Decides; sends nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from ipaddress import ip_address, ip_network
from itertools import pairwise
from typing import Any, Final

from tenure.exchange.present import Fields, Present
from tenure.exchange.reading import Reading, Row, Thing, refuse

ORDER: Final = ("vrf", "region", "site", "rack", "host", "network", "subnet", "range", "machine", "claim")
"""Kinds, each after those that it may name."""
_LOCATIONS: Final = ("region", "site", "rack", "host")
_MACHINES: Final = ("managed", "instance", "device")


@dataclass(frozen=True)
class Wishes:
    """What the person who imports said besides the files.

    Attributes:
        vrf: The address space that everything is in.
        network: The network of rows and subnets that name none; None where they have to.
        machine_kind: What the machines that rows mention are: managed, instance or device.
    """

    vrf: str = "default"
    network: str | None = None
    machine_kind: str = "device"


@dataclass
class Plan:
    """What is to be made.

    Attributes:
        items: Each may name those before it.
        there: How many things of each kind were there already.
        notes: What was left out or done otherwise, for people.
    """

    items: list[Thing] = field(default_factory=list)
    there: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def plan(reading: Reading, present: Present, wishes: Wishes = Wishes()) -> Plan:
    """Work out what is missing.

    Rows make the racks, hosts and machines that they mention, and a claim each; its handle follows from its network
    and address, so that a second import changes nothing. A network or a subnet is made only where a file defines it:
    a table of a site, a `dhcp-range` with its netmask, a row with both `network` and `subnet`.

    Raises:
        InvalidValue: Something contradicts itself, or names what is nowhere; fact `errors` has every sentence.
    """
    planner = _Planner(present, wishes)
    planner.plan.notes += reading.notes
    rows = planner.merged(reading.rows)
    for thing in sorted(reading.things, key=_rank):
        planner.define(thing, rows)
    for row in rows:
        planner.place(row)
    refuse(planner.faults)
    planner.plan.items.sort(key=_rank)
    return planner.plan


def _rank(thing: Thing) -> int:
    return ORDER.index(_sort_of(thing.kind)) if _sort_of(thing.kind) in ORDER else len(ORDER)


def _sort_of(kind: str) -> str:
    return "machine" if kind in _MACHINES else kind


class _Planner:
    def __init__(self, present: Present, wishes: Wishes) -> None:
        self.plan = Plan()
        self.faults: list[str] = []
        self._present = present
        self._wishes = wishes
        self._named: dict[tuple[str, str], Row] = {}
        self._counted: set[str] = set()

    def merged(self, rows: Iterable[Row]) -> list[Row]:
        """Rows of one address as one, whichever files they are in."""
        by_ip: dict[str, Row] = {}
        others: list[Row] = []
        for row in rows:
            if row.ip is None:
                others.append(row)
            elif row.ip not in by_ip:
                by_ip[row.ip] = row
            else:
                by_ip[row.ip] = self._merge(by_ip[row.ip], row)
        return [*by_ip.values(), *others]

    def _merge(self, one: Row, other: Row) -> Row:
        found: dict[str, Any] = {}
        for name in ("mac", "network", "subnet", "host", "rack"):
            here, there = getattr(one, name), getattr(other, name)
            if here and there and here != there:
                self.faults.append(f"{other.where}: {one.ip} has {name} {there}, but {here} in {one.where}.")
            found[name] = here or there
        names = tuple(dict.fromkeys((*one.names, *other.names)))
        return replace(one, names=names, **found)

    def define(self, thing: Thing, rows: list[Row]) -> None:
        """Take in something that a file defines."""
        if thing.kind == "subnet":
            self._define_subnet(thing)
        elif thing.kind == "range":
            self._define_range(thing, rows)
        elif thing.kind == "network":
            self._define_network(thing)
        elif thing.kind == "vrf":
            self._define_named(thing, self._present.vrfs)
        elif thing.kind in _LOCATIONS:
            self._define_named(thing, self._present.locations)
        elif thing.kind in _MACHINES:
            self._define_named(thing, self._present.machines)
        else:
            self.plan.items.append(thing)

    def _define_named(self, thing: Thing, known: dict[str, Fields], defaults: Fields | None = None) -> None:
        fields = {**(defaults or {}), **thing.fields}
        name = str(fields.get("name", ""))
        if name in known:
            self._is_there(thing, known[name], fields)
            return
        known[name] = {"kind": thing.kind, **fields}
        self.plan.items.append(replace(thing, fields=fields))

    def _define_network(self, thing: Thing) -> None:
        vrf = thing.fields.get("vrf", self._wishes.vrf)
        if vrf != self._wishes.vrf:
            self.faults.append(f"{thing.where}: one import is of one vrf; import this with --vrf {vrf}.")
        self._define_named(thing, self._present.networks, {"vrf": vrf})

    def _is_there(self, thing: Thing, there: Fields, fields: Fields) -> None:
        self._count(thing.kind, there)
        differs = [name for name, value in fields.items() if name in there and _differs(there[name], value)]
        if differs:
            self.plan.notes.append(f"{thing.where}: it is there already with another {', '.join(differs)}; left so.")

    def _count(self, kind: str, there: Fields) -> None:
        """Count something as there already, once; what has no id is of this import."""
        if "id" in there and there["id"] not in self._counted:
            self._counted.add(there["id"])
            self.plan.there[_sort_of(kind)] = self.plan.there.get(_sort_of(kind), 0) + 1

    def _define_subnet(self, thing: Thing) -> None:
        cidr = str(thing.fields.get("cidr"))
        network = thing.fields.get("network") or self._wishes.network
        there = self._present.subnets.get(cidr)
        if there is not None:
            self._is_there(thing, there, {"network": network} if network else {})
        elif network is None:
            self.faults.append(f"{thing.where}: {cidr} is no subnet here; say --network, and it is made in that one.")
        elif network not in self._present.networks:
            self.faults.append(f"{thing.where}: there is no network {network!r}; define it, or make it first.")
        else:
            self._add_subnet({**thing.fields, "network": network}, thing.where)

    def _add_subnet(self, fields: Fields, where: str) -> None:
        self._present.add_subnet(fields)
        self.plan.items.append(Thing("subnet", fields, where))

    def _define_range(self, thing: Thing, rows: list[Row]) -> None:
        fields = dict(thing.fields)
        around = self._present.subnet_around(str(fields["start"])) if fields.get("subnet") is None else None
        subnet = fields.get("subnet") or (around and around["cidr"])
        if subnet is None:
            self.faults.append(f"{thing.where}: no subnet here holds {fields['start']}.")
            return
        fields["subnet"] = subnet
        pieces = [fields] if fields.get("note") != "dnsmasq" else self._around_rows(thing, fields, rows)
        for piece in pieces:
            key = (str(subnet), str(piece.get("start")), str(piece.get("end")))
            if key in self._present.ranges:
                self._is_there(thing, self._present.ranges[key], {"role": piece.get("role")})
            else:
                self._present.ranges[key] = piece
                self.plan.items.append(replace(thing, fields=piece))

    def _around_rows(self, thing: Thing, fields: Fields, rows: list[Row]) -> list[Fields]:
        """A dynamic range without the addresses that rows hold: dnsmasq lets them lie in one, Tenure does not."""
        start, end = ip_address(fields["start"]), ip_address(fields["end"])
        if start.version != end.version:
            return [fields]  # the service says what is wrong with it
        held = sorted(
            number
            for row in rows
            if row.ip and ip_address(row.ip).version == start.version
            for number in [int(ip_address(row.ip))]
            if int(start) <= number <= int(end)
        )
        if held:
            self.plan.notes.append(f"{thing.where}: the range leaves out {len(held)} addresses that rows hold.")
        edges = [int(start) - 1, *held, int(end) + 1]
        kind = type(start)
        return [
            {**fields, "start": str(kind(low + 1)), "end": str(kind(high - 1))}
            for low, high in pairwise(edges)
            if low + 1 <= high - 1
        ]

    def place(self, row: Row) -> None:
        """Take in a row: its places, its subnet, its machine, its claim."""
        self._locations(row)
        if row.ip is None and row.network is None and self._wishes.network is None:
            self._without_address(row)
            return
        subnet = self._subnet_for(row) if row.ip or row.subnet else None
        if subnet is None and (row.ip or row.subnet):
            return  # and why not is a fault
        if subnet is not None and row.ip is not None and self._is_kept(row, subnet):
            return
        network = str(subnet["network"] if subnet is not None else row.network or self._wishes.network)
        if network not in self._present.networks:
            self.faults.append(f"{row.where}: there is no network {network!r}.")
            return
        self._claim(row, network, subnet)

    def _without_address(self, row: Row) -> None:
        """A row of a machine alone (a `dhcp-host` that has a MAC and a name) makes that."""
        if row.mac is None:
            self.faults.append(f"{row.where}: it has no address, and names no network to get one from.")
            return
        self._machine(row, row.names[0] if row.names else "machine-" + row.mac.replace(":", ""))

    def _locations(self, row: Row) -> None:
        if row.rack is not None:
            self._location("rack", row.rack, None, row.where)
        if row.host is not None:
            self._location("host", row.host, row.rack, row.where)

    def _location(self, kind: str, name: str, parent: str | None, where: str) -> None:
        there = self._present.locations.get(name)
        if there is None:
            fields: Fields = {"name": name} if parent is None else {"name": name, "parent": parent}
            self._present.locations[name] = {"kind": kind, **fields}
            self.plan.items.append(Thing(kind, fields, where))
        elif there["kind"] != kind:
            self.faults.append(f"{where}: {name} is a {there['kind']}, not a {kind}.")
        elif parent is not None and there.get("parent") != parent:
            said = there.get("parent") or "no rack"
            self.faults.append(f"{where}: {name} is in {said}, not in {parent}.")
        else:
            self._count(kind, there)

    def _subnet_for(self, row: Row) -> Fields | None:
        """The subnet that a row names, or the longest match of its address; None, and a fault, where there is none."""
        found = self._present.subnets.get(row.subnet) if row.subnet else self._present.subnet_around(str(row.ip))
        if found is None and row.subnet is not None:
            found = self._new_subnet(row)
        elif found is None:
            self.faults.append(f"{row.where}: no subnet here holds {row.ip}.")
        if found is None:
            return None
        if row.network is not None and row.network != found["network"]:
            self.faults.append(f"{row.where}: {found['cidr']} is of network {found['network']}, not {row.network}.")
            return None
        if row.ip and ip_address(row.ip) not in ip_network(found["cidr"]):
            self.faults.append(f"{row.where}: {row.ip} is not in {found['cidr']}.")
            return None
        return found

    def _new_subnet(self, row: Row) -> Fields | None:
        network = row.network or self._wishes.network
        if network is None:
            self.faults.append(f"{row.where}: {row.subnet} is no subnet here; name its network too, and it is made.")
            return None
        if network not in self._present.networks:
            fields = {"name": network, "vrf": self._wishes.vrf}
            self._define_named(Thing("network", fields, row.where), self._present.networks)
        made: Fields = {"cidr": row.subnet, "network": network}
        self._add_subnet(made, row.where)
        return made

    def _is_kept(self, row: Row, subnet: Fields) -> bool:
        """Whether an address is the subnet's own gateway or DNS server, which nobody claims."""
        if row.ip == subnet.get("gateway"):
            role = "gateway"
        elif row.ip in subnet.get("dns_servers", ()):
            role = "DNS server"
        else:
            return False
        self.plan.notes.append(f"{row.where}: {row.ip} is the {role} of {subnet['cidr']}, which is set aside already.")
        return True

    def _claim(self, row: Row, network: str, subnet: Fields | None) -> None:
        name = self._name(row, network)
        taken = name is not None and self._is_named_twice(row, network, name)
        fields: Fields = {"network": network, "handle": f"import:{network}:{row.ip or name or row.mac}"}
        if row.ip is not None:
            fields["address"] = row.ip
        elif subnet is not None:
            fields["subnet"] = subnet["cidr"]
        if row.host is not None:
            fields["host"] = row.host
        if not taken:
            machine = name or (row.mac and "machine-" + row.mac.replace(":", ""))
            if machine:
                self._machine(row, machine)
                fields["machine"] = machine
            fields |= {key: value for key, value in (("hostname", name), ("mac", row.mac)) if value}
        if row.mac is None:
            fields["static"] = True  # without a MAC, DHCP cannot have given it
        self.plan.items.append(Thing("claim", fields, row.where))

    def _machine(self, row: Row, name: str) -> None:
        if name in self._present.machines:
            self._count("machine", self._present.machines[name])
            return
        fields: Fields = {"name": name}
        if row.host or row.rack:
            fields["location"] = row.host or row.rack
        if row.mac is not None:
            fields["interfaces"] = [{"mac": row.mac}]
        self._present.machines[name] = fields
        self.plan.items.append(Thing(self._wishes.machine_kind, fields, row.where))

    def _name(self, row: Row, network: str) -> str | None:
        """The relative name: what stands below the network's domain, else the first label."""
        if not row.names:
            return None
        domain = str(self._present.networks[network].get("domain") or "").rstrip(".").lower()
        names = [name.rstrip(".").lower() for name in row.names]
        inside = [name.removesuffix("." + domain) for name in names if domain and name.endswith("." + domain)]
        short = [name for name in names if "." not in name]
        chosen = (inside or short or [names[0].partition(".")[0]])[0]
        left = [name for name in names if name not in (chosen, f"{chosen}.{domain}")]
        if left:
            self.plan.notes.append(f"{row.where}: {row.ip or network} is named {chosen}; left out: {', '.join(left)}.")
        return chosen

    def _is_named_twice(self, row: Row, network: str, name: str) -> bool:
        zone = self._present.networks[network].get("domain")
        first = self._named.setdefault((str(zone or network), name), row)
        if first is row:
            return False
        self.plan.notes.append(f"{row.where}: {name} is the name of {first.ip}; {row.ip} is claimed without one.")
        return True


def _differs(there: Any, said: Any) -> bool:
    if isinstance(there, dict) and isinstance(said, dict):
        return any(_differs(there.get(name), value) for name, value in said.items())
    if isinstance(there, list) and isinstance(said, list):
        if len(there) != len(said):
            return True
        if any(isinstance(each, dict) for each in said):  # interfaces, of which more is known than was said
            return not all(any(not _differs(known, each) for known in there) for each in said)
        return sorted(map(str, there)) != sorted(map(str, said))
    return bool(str(there).rstrip(".") != str(said).rstrip("."))
