"""Names of addresses ahead of time: computed from a template, never stored.

A template is a host name with one place in it for the address:

    ip-{ip-dashed}      10.0.3.5 → ip-10-0-3-5       2001:db8::5 → ip-2001-db8-0-0-0-0-0-5
    {ip-hex}.dyn        10.0.3.5 → 0a000305.dyn      2001:db8::5 → 20010db8…0005.dyn

Each address has one name, and each such name one address: what is asked is found by reading it backwards.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from tenure.errors import InvalidValue
from tenure.model.addressing import Network, Subnet
from tenure.model.dnsdata import Record, Zone
from tenure.naming import records
from tenure.naming.hostnames import parse_hostname
from tenure.naming.reverse import owner_number, pointer_owner
from tenure.net.addresses import width

Form = Literal["dashed", "hex"]

LARGEST: Final = 2**16
"""IPv6 addresses of one stretch that a transfer lists; those of a larger one are answered only."""

_PLACE: Final = re.compile(r"\{([^{}]*)\}")
_FORMS: Final[dict[str, Form]] = {"ip-dashed": "dashed", "ip-hex": "hex"}
_LONGEST: Final = {"dashed": "0" * 39, "hex": "0" * 32}
_V4: Final = re.compile(r"(0|[1-9][0-9]{0,2})-(0|[1-9][0-9]{0,2})-(0|[1-9][0-9]{0,2})-(0|[1-9][0-9]{0,2})")
_V6: Final = re.compile(r"(?:(?:0|[1-9a-f][0-9a-f]{0,3})-){7}(?:0|[1-9a-f][0-9a-f]{0,3})")
_HEX: Final = re.compile(r"[0-9a-f]{8}|[0-9a-f]{32}")
_LAST_DIGITS: Final = re.compile(r"(?=((?:[0-9]{1,3}-){3})([0-9]{1,3}))")
_LAST_GROUP: Final = re.compile(r"(?=((?:[0-9a-f]{1,4}-){7})([0-9a-f]{1,4}))")
_HEX_RUN: Final = re.compile(r"[0-9a-f]{8,}")


class Template(NamedTuple):
    """What is before the address, what is after it, and how it is written."""

    before: str
    after: str
    form: Form

    def name(self, version: int, number: int) -> str:
        """The relative name of an address. Cost: under 1 µs."""
        return f"{self.before}{_written(self.form, version, number)}{self.after}"

    def number(self, name: str) -> tuple[int, int] | None:
        """The version and number of the address that a relative name, in lower case, is of; None if of none."""
        end = len(name) - len(self.after)
        if end <= len(self.before) or not (name.startswith(self.before) and name.endswith(self.after)):
            return None
        return _read(self.form, name[len(self.before) : end])


def parse_template(text: str, pointer: str = "/name_template") -> Template:
    """Read a template.

    Raises:
        InvalidValue: Not exactly one place, a place of another name, or no host name comes of it for every address.
    """
    places = _PLACE.findall(text)
    if len(places) != 1 or places[0] not in _FORMS:
        raise InvalidValue(
            "a template has one place for the address, {ip-dashed} or {ip-hex}: ip-{ip-dashed}",
            pointer=pointer,
            value=text[:256],
        )
    form = _FORMS[places[0]]
    before, after = _PLACE.split(text)[::2]
    if text.endswith("."):
        raise InvalidValue("a template is relative to the domain: it ends without a dot", pointer=pointer, value=text)
    parse_hostname(f"{before}{_LONGEST[form]}{after}", pointer)
    return Template(before.lower(), after.lower(), form)


def readings(name: str) -> Iterator[tuple[int, int]]:
    """The addresses that some template could have in a name, in lower case; of one form and place each once.

    Cost: linear in the name; nothing for one that is like no address.
    """
    for dashed in (_LAST_DIGITS, _LAST_GROUP):
        for found in dashed.finditer(name):
            yield from _read_each("dashed", (found[1] + found[2][:end] for end in range(1, len(found[2]) + 1)))
    for run in _HEX_RUN.finditer(name):
        for size in (8, 32):
            yield from _read_each("hex", (run[0][at : at + size] for at in range(len(run[0]) - size + 1)))


def _read_each(form: Form, texts: Iterator[str]) -> Iterator[tuple[int, int]]:
    return (read for text in texts if (read := _read(form, text)) is not None)


def template_for(subnet: Subnet, network: Network, zone: Zone | None) -> Template | None:
    """How the addresses of a subnet are called that nobody has named: as it says, its network, or its network's zone.

    Args:
        zone: The network's forward zone, where there is one already.
    """
    text = subnet.name_template or network.name_template or (zone and zone.name_template)
    return None if text is None else _parsed(text)


_parsed: Final = lru_cache(maxsize=1024)(parse_template)


class Stretch(NamedTuple):
    """Addresses from `first` to `last` that a template names in one zone.

    Attributes:
        domain: What the names are relative to, absolute.
        zone: Absolute name of the zone that the records are in: the domain's, or a reverse one if `pointers`.
        ttl: Of the records, seconds.
    """

    version: int
    first: int
    last: int
    template: Template
    domain: str
    zone: str
    pointers: bool
    ttl: int

    @property
    def listed(self) -> bool:
        """Whether a transfer holds these records, and changes of the zone tell of them."""
        return self.version == 4 or self.last - self.first < LARGEST

    def owner(self, number: int) -> str:
        """The absolute owner of an address's record."""
        if self.pointers:
            return pointer_owner(self.zone, self.version, number)
        return f"{self.template.name(self.version, number)}.{self.domain}"

    def record(self, number: int) -> Record:
        """The record of an address. Cost: 2 µs."""
        name = f"{self.template.name(self.version, number)}.{self.domain}"
        if self.pointers:
            return records.pointer(self.zone, self.version, number, name, self.ttl)
        return records.forward(name, self.version, number, self.ttl)

    def number(self, owner: str) -> int | None:
        """The address whose record has this owner (absolute, lower case), if it is of this stretch; else None."""
        if self.pointers:
            found = owner_number(self.zone, owner)
        else:
            found = self.template.number(owner.removesuffix("." + self.domain))
        if found is None or found[0] != self.version or not self.first <= found[1] <= self.last:
            return None
        return found[1] if self.owner(found[1]) == owner else None


def _written(form: Form, version: int, number: int) -> str:
    if form == "hex":
        return f"{number:0{width(version) // 4}x}"
    if version == 4:
        return f"{number >> 24}-{number >> 16 & 255}-{number >> 8 & 255}-{number & 255}"
    return "-".join(f"{number >> shift & 0xFFFF:x}" for shift in range(112, -1, -16))


def _read(form: Form, text: str) -> tuple[int, int] | None:
    if form == "hex":
        return (4 if len(text) == 8 else 6, int(text, 16)) if _HEX.fullmatch(text) else None
    octets = _V4.fullmatch(text)
    if octets is not None:
        values = [int(octet) for octet in octets.groups()]
        return (4, int.from_bytes(values)) if max(values) < 256 else None
    if not _V6.fullmatch(text):
        return None
    number = 0
    for group in text.split("-"):
        number = number << 16 | int(group, 16)
    return 6, number
