"""From the records of a zone to what becomes of each: the name of an address, a claim, a record, or nothing.

Decides; sends nothing.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any, Final, Literal, get_args

import dns.serial

from tenure.exchange.present import Fields
from tenure.exchange.zone_present import ZonePresent, upwards, within
from tenure.exchange.zone_source import Key, SourceRecord, Unreadable
from tenure.model.dnsdata import TYPES

Group = Literal["named", "claimed", "record", "already", "left out", "refused"]
GROUPS: Final[tuple[Group, ...]] = get_args(Group)
PROJECT: Final = "import"
_ADDRESSES: Final = ("A", "AAAA")
_SIGNED: Final = frozenset(
    ("CDNSKEY", "CDS", "DLV", "DNSKEY", "DS", "KEY", "NSEC", "NSEC3", "NSEC3PARAM", "NXT", "RRSIG", "SIG", "ZONEMD")
)
_HOST: Final = re.compile(r"(?!-)[a-z0-9-]+(?<!-)(?:\.(?!-)[a-z0-9-]+(?<!-))*")
_LONGEST_TTL: Final = 7 * 86400
_LONGEST_NEGATIVE: Final = 86400


@dataclass
class Entry:
    """What becomes of one record.

    Attributes:
        why: A sentence, where the group alone does not say it.
    """

    record: SourceRecord | Unreadable
    group: Group
    why: str = ""

    def refuse(self, why: str) -> None:
        """It is not made."""
        self.group, self.why = "refused", why


@dataclass
class Rename:
    """An address to be named."""

    entry: Entry
    ip: str
    hostname: str


@dataclass
class Making:
    """Something to be made as `POST /v1/import` takes it, for one record or several; `glue` is needed by others."""

    entries: list[Entry]
    fields: Fields
    glue: bool = False


@dataclass
class ZonePlan:
    """What is to be done.

    Attributes:
        name: Of the zone.
        zone: The zone, if it is to be made.
        serial: From which the zone is to go on, so that servers follow that have it from the source; None: it is later.
        entries: One for each record of the source, in its order.
    """

    name: str
    vrf: str
    zone: Fields | None = None
    serial: int | None = None
    entries: list[Entry] = field(default_factory=list)
    renames: list[Rename] = field(default_factory=list)
    claims: list[Making] = field(default_factory=list)
    records: list[Making] = field(default_factory=list)


def zone_plan(
    name: str, source: Iterable[SourceRecord | Unreadable], present: ZonePresent, *, claim: bool = False
) -> ZonePlan:
    """Work out what becomes of each record.

    Args:
        name: The zone's.
        claim: Whether free addresses of the networks that have these names are claimed.
    """
    return _Planner(name, list(source), present, claim).made()


class _Planner:
    def __init__(self, name: str, source: list[SourceRecord | Unreadable], present: ZonePresent, claim: bool) -> None:
        self.plan = ZonePlan(name, present.vrf)
        self._source = source
        self._records = [each for each in source if isinstance(each, SourceRecord)]
        self._present = present
        self._claim = claim
        self._cuts = {each.owner for each in self._records if each.type == "NS" and each.owner != name}
        self._first = self._first_servers()
        self._seen: set[Key] = set()
        self._holders: dict[str, str] = {each["name"]: each["claim"] for each in present.held.values() if each["name"]}
        self._named: dict[str, str] = {}  # by address
        self._claims: dict[tuple[str, str], Making] = {}
        self._automatic = {(each["name"], _type_of(ip)) for ip, each in present.held.items() if each["name"]}

    def made(self) -> ZonePlan:
        """The plan."""
        self._zone()
        rest = [self._place(each) for each in self._source]
        made = [entry for entry in rest if entry.group == "record"]
        for entry in sorted(made, key=self._turn):
            self.plan.records.append(Making([entry], self._fields(_record(entry)), self._turn(entry) in (1, 2, 3)))
        return self.plan

    def _turn(self, entry: Entry) -> int:
        """When it is a record's turn: of what is delegated a server, its address before it, and then all the others."""
        record = _record(entry)
        cut = self._cut(record.owner)
        if cut is None:
            return 0
        server = _lower(record) if record.type == "NS" else record.owner
        first = server == self._first[cut]
        return (2 if first else 3) if record.type == "NS" else (1 if first else 4)

    def _first_servers(self) -> dict[str, str]:
        """By cut, one of its servers that can be reached: it is elsewhere, or the source has its address."""
        addressed = {each.owner for each in self._records if each.type in _ADDRESSES}
        servers = [(each.owner, _lower(each)) for each in self._records if each.type == "NS"]
        reached = [(cut, name) for cut, name in servers if not within(name, cut) or name in addressed]
        return {cut: name for cut, name in [*servers, *reached] if cut in self._cuts}

    def _zone(self) -> None:
        """The zone, if there is none: with the TTL that most of its records have; and its serial."""
        soa: Any = next(
            (each.rdata for each in self._records if (each.owner, each.type) == (self.plan.name, "SOA")), None
        )
        known = self._present.zones.get(self.plan.name)
        self.plan.serial = None if soa is None else _serial_after(soa.serial, known)
        if known is not None:
            return
        zone: Fields = {"name": self.plan.name, "vrf": self.plan.vrf}
        ttls = Counter(each.ttl for each in self._records if each.type not in _SIGNED)
        if ttls:
            zone["ttl"] = min(ttls.most_common(1)[0][0], _LONGEST_TTL)
        if soa is not None:
            zone["negative_ttl"] = min(soa.minimum, _LONGEST_NEGATIVE)
            zone["serial"] = self.plan.serial
        self.plan.zone = self._present.zones[self.plan.name] = zone

    def _place(self, record: SourceRecord | Unreadable) -> Entry:
        """One record in its group; what is to be done of it is in the plan."""
        entry = Entry(record, "refused")
        self.plan.entries.append(entry)
        if isinstance(record, Unreadable):
            entry.why = record.why
        elif said := self._kept_out(record):
            entry.group, entry.why = said
        else:
            self._seen.add(record.key)
            if record.type not in _ADDRESSES or not self._to_address(entry, record):
                entry.group = "record"
        return entry

    def _kept_out(self, record: SourceRecord) -> tuple[Group, str] | None:
        """The group of a record that changes nothing here, and why."""
        apex = record.owner == self.plan.name
        if not within(record.owner, self.plan.name):
            return "refused", f"it is not in the zone {self.plan.name}"
        if record.type == "SOA":
            return "left out", "Tenure makes the SOA"
        if record.type == "NS" and apex:
            return "left out", "who serves the zone is its setting name_servers"
        if record.type in _SIGNED:
            return "left out", "whoever signs the zone makes the records of DNSSEC"
        if record.key in self._present.said:
            return "already", ""
        if record.key in self._seen:
            return "already", "the source says it twice"
        if record.type not in TYPES:
            return "refused", f"Tenure has no records of type {record.type}"
        if cut := self._delegated(record):
            return "left out", f"{cut} is a zone of its own here, which Tenure delegates by itself"
        return None

    def _cut(self, owner: str) -> str | None:
        """The cut of the source that a name is at or below."""
        return next((each for each in upwards(owner) if each in self._cuts), None)

    def _delegated(self, record: SourceRecord) -> str | None:
        cut = self._cut(record.owner)
        return cut if cut in self._present.zones else None

    def _to_address(self, entry: Entry, record: SourceRecord) -> bool:
        """Whether a record is to be the name of its address."""
        ip = str(ip_address(record.data))
        if self._cut(record.owner) or ip in self._named:
            return False
        held = self._present.held.get(ip)
        network = self._network(held["network"] if held else self._subnet(ip).get("network"))
        hostname = network and _hostname(record.owner, network["domain"])
        if not network or not hostname:
            return False
        if held is None:
            return self._claim and self._to_claim(entry, ip, hostname, network)
        return self._to_name(entry, ip, hostname, held, network)

    def _network(self, name: str | None) -> Fields | None:
        return self._present.networks.get(name or "")

    def _subnet(self, ip: str) -> Fields:
        """The innermost subnet of an address that somebody could claim."""
        found = self._present.subnets.subnet_around(ip)
        if found is None or ip == found.get("gateway") or ip in found.get("dns_servers", ()):
            return {}
        return found

    def _to_name(self, entry: Entry, ip: str, hostname: str, held: Fields, network: Fields) -> bool:
        owner = f"{hostname}.{network['domain']}"
        holder = self._holders.setdefault(owner, held["claim"])
        if held["name"] or held["state"] != "allocated":
            return False
        if holder != held["claim"] and not network.get("shared_names"):
            return False
        self._automatic.add((owner, _type_of(ip)))
        self._named[ip] = hostname
        entry.group = "named"
        self.plan.renames.append(Rename(entry, ip, hostname))
        return True

    def _to_claim(self, entry: Entry, ip: str, hostname: str, network: Fields) -> bool:
        """A claim for each name and network, with an address of each family."""
        owner, family = f"{hostname}.{network['domain']}", _type_of(ip)
        key = (network["name"], owner)
        making = self._claims.get(key)
        if making is None and owner in self._holders and not network.get("shared_names"):
            return False
        if making is not None and any(_type_of(each) == family for each in making.fields["addresses"]):
            return False
        if making is None:
            handle = f"import:{network['name']}:{ip}"
            fields = {"network": network["name"], "hostname": hostname, "handle": handle, "project": PROJECT}
            making = Making([], {"kind": "claim", **fields, "addresses": [], "static": True})
            self._claims[key] = making
            self.plan.claims.append(making)
            self._holders[owner] = handle
        making.entries.append(entry)
        making.fields["addresses"].append(ip)
        self._automatic.add((owner, family))
        self._named[ip] = hostname
        entry.group = "claimed"
        return True

    def _fields(self, record: SourceRecord) -> Fields:
        zone = self._present.zones[self._present.zone_around(record.owner) or self.plan.name]
        fields: Fields = {"kind": "record", "zone": zone.get("id", zone["name"]), "name": record.owner}
        fields |= {"type": record.type, "data": record.data}
        if record.ttl != zone.get("ttl") and (record.owner, record.type) not in self._automatic:
            fields["ttl"] = record.ttl
        return fields


def _record(entry: Entry) -> SourceRecord:
    assert isinstance(entry.record, SourceRecord)
    return entry.record


def _serial_after(source: int, zone: Fields | None) -> int | None:
    """The next serial after the source's, which is never 0; None if the zone that there is has a later one.

    Source: RFC 1982 section 3.
    """
    after = dns.serial.Serial(source) + 1
    if after.value == 0:
        after += 1
    return after.value if zone is None or after > dns.serial.Serial(zone["serial"]) else None


def _lower(record: SourceRecord) -> str:
    return record.data.lower()


def _type_of(ip: str) -> str:
    return "AAAA" if ":" in ip else "A"


def _hostname(owner: str, domain: str) -> str | None:
    """What stands before the domain in a name, if a host may be called so."""
    name = owner.removesuffix("." + domain)
    return name if name != owner and _HOST.fullmatch(name) else None
