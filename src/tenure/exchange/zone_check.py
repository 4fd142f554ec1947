"""What is wrong in a zone file, where BIND's named-checkzone is not there to say it."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

import dns.name
import dns.rdatatype

from tenure.exchange.zone_source import SourceRecord, Unreadable, file_records, origin_name

_HOST: Final = re.compile(r"(?:\*\.)?(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+", re.IGNORECASE)
_OF_HOSTS: Final = ("A", "AAAA", "MX")
_TARGETS: Final = {"NS": "target", "MX": "exchange", "SRV": "target"}
_BESIDE_CNAME: Final = ("CNAME", "RRSIG", "NSEC", "KEY")


def problems(text: str, origin: str) -> list[str]:
    """Everything that is wrong in a zone file, a sentence each, in the order of its lines; nothing if it is sound.

    It can be read; owners are in the zone; there is one SOA, at the apex, and name servers there; a CNAME is alone;
    what NS, MX and SRV name in the zone has an address of its own, below a cut as glue; records of one name and type
    have one TTL; hosts are called as RFC 1123 allows.

    Args:
        text: All of the file.
        origin: The zone's name.

    Raises:
        InvalidValue: `origin` is no name of a zone.

    Cost: some tens of microseconds a record.
    """
    zone = origin_name(origin)
    found: list[tuple[int, str]] = []
    records: list[SourceRecord] = []
    for each in file_records(text, zone):
        if isinstance(each, Unreadable):
            found.append((each.line, each.why))
        else:
            records.append(each)
    found += _Zone(zone.to_text(), records).problems()
    said = [f"line {line}: {sentence}" if line else sentence for line, sentence in sorted(found)]
    return list(dict.fromkeys(said))


class _Zone:
    """The records of a zone by owner and type."""

    def __init__(self, apex: str, records: list[SourceRecord]) -> None:
        self.apex = apex
        self.inside = [each for each in records if _within(each.owner, apex)]
        self.outside = [each for each in records if not _within(each.owner, apex)]
        self.sets: dict[str, dict[str, list[SourceRecord]]] = defaultdict(lambda: defaultdict(list))
        for each in self.inside:
            self.sets[each.owner][each.type].append(each)
        self.cuts = {owner for owner, sets in self.sets.items() if "NS" in sets and owner != apex}

    def problems(self) -> Iterator[tuple[int, str]]:
        """What is wrong, with its line (0: none)."""
        for each in self.outside:
            yield each.line or 0, f"{each.owner} is not in the zone {self.apex}"
        yield from self._apex()
        for owner, sets in self.sets.items():
            yield from self._alone(owner, sets)
            yield from self._ttls(owner, sets)
        for each in self.inside:
            yield from self._names(each)
            yield from self._target(each)

    def _apex(self) -> Iterator[tuple[int, str]]:
        soas = [each for each in self.inside if each.type == "SOA"]
        if not any(each.owner == self.apex for each in soas):
            yield 0, f"there is no SOA at {self.apex}"
        if not self.sets[self.apex]["NS"]:
            yield 0, f"there are no name servers (NS) at {self.apex}"
        for each in [each for each in soas if each.owner != self.apex] + [
            each for each in soas if each.owner == self.apex
        ][1:]:
            yield each.line or 0, f"{each.owner} has an SOA; a zone has one, at its apex"

    def _alone(self, owner: str, sets: dict[str, list[SourceRecord]]) -> Iterator[tuple[int, str]]:
        names = sets.get("CNAME", [])
        others = [each for type_, found in sets.items() if type_ not in _BESIDE_CNAME for each in found]
        if names and others:
            yield others[0].line or 0, f"{owner} has a CNAME and others beside it"
        if len({each.key for each in names}) > 1:
            yield names[1].line or 0, f"{owner} has more than one CNAME"

    def _ttls(self, owner: str, sets: dict[str, list[SourceRecord]]) -> Iterator[tuple[int, str]]:
        for type_, found in sets.items():
            other = next((each for each in found if each.ttl != found[0].ttl), None)
            if other is not None and type_ != "RRSIG":
                yield other.line or 0, f"{owner} {type_} has the TTLs {found[0].ttl} and {other.ttl}"

    def _names(self, record: SourceRecord) -> Iterator[tuple[int, str]]:
        named = _named(record)
        if record.type in _OF_HOSTS and not _HOST.fullmatch(record.owner):
            yield record.line or 0, f"{record.owner} has an {record.type}, but is no host name"
        if named is not None and named != "." and not _HOST.fullmatch(named):
            yield record.line or 0, f"{record.owner} {record.type} names {named}, which is no host name"

    def _target(self, record: SourceRecord) -> Iterator[tuple[int, str]]:
        named = _named(record)
        if named is None or not _within(named, self.apex) or record.type == "PTR":
            return
        cut = self._cut_around(named)
        if cut is not None and not (record.type == "NS" and _within(record.owner, cut)):
            return  # others say what is there
        sets = self._sets_of(named)
        if "CNAME" in sets:
            yield record.line or 0, f"{record.owner} {record.type} names {named}, which is a CNAME"
        elif "A" not in sets and "AAAA" not in sets:
            yield record.line or 0, f"{record.owner} {record.type} names {named}, which has no address"

    def _cut_around(self, name: str) -> str | None:
        return next((each for each in _upwards(name, self.apex) if each in self.cuts), None)

    def _sets_of(self, name: str) -> dict[str, list[SourceRecord]]:
        """What is at a name, else at the wildcard that answers for it."""
        if name in self.sets:
            return self.sets[name]
        for parent in _upwards(name.partition(".")[2], self.apex):
            if f"*.{parent}" in self.sets:
                return self.sets[f"*.{parent}"]
            if parent in self.sets:
                break
        return {}


def _named(record: SourceRecord) -> str | None:
    """The host that a record names, if it is of a type that names one."""
    attribute = _TARGETS.get(record.type)
    if record.type == "PTR" and record.owner.endswith((".in-addr.arpa.", ".ip6.arpa.")):
        attribute = "target"
    target: Any = attribute and getattr(record.rdata, attribute)
    return target.canonicalize().to_text() if isinstance(target, dns.name.Name) else None


def _within(name: str, zone: str) -> bool:
    return name == zone or name.endswith("." + zone)


def _upwards(name: str, apex: str) -> Iterator[str]:
    """A name and those above it, up to the apex."""
    while _within(name, apex):
        yield name
        name = name.partition(".")[2]
