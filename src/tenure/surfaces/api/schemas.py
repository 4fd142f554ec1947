"""The fields that the nouns share, with their bounds, and the query parameters that every operation knows."""

import re
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Annotated, Any, Final, Generic, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tenure.errors import InvalidValue
from tenure.naming.hostnames import parse_domain
from tenure.naming.templates import parse_template
from tenure.net.moments import moment

PRINTABLE = r"^[^\x00-\x1f\x7f]+(?![\s\S])"

Name = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=253,
        pattern=PRINTABLE,
        description="1 to 253 printable characters",
        examples=["prod"],
    ),
]
Handle = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=512,
        pattern=r"^(?!dhcp:|machine:)[^\x00-\x1f\x7f]+(?![\s\S])",
        description="1 to 512 printable characters, not beginning with `dhcp:` or `machine:`",
        examples=["nova:7f3c/port-1"],
    ),
]
Reference = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=253,
        pattern=PRINTABLE,
        description="a name or an id, 1 to 253 printable characters",
        examples=["prod"],
    ),
]
Purpose = Annotated[
    str,
    Meta(
        max_length=1024,
        pattern=r"^[^\x00-\x1f\x7f]*(?![\s\S])",
        description="at most 1,024 printable characters",
        examples=["landscape"],
    ),
]
Moment = Annotated[
    datetime,
    Meta(
        tz=True,
        description="A time with its zone, of the years 1970 to 8999.",
        examples=["2026-12-24T15:00:00Z"],
        extra_json_schema={"maxLength": 40},
    ),
]
"""Whoever takes one in has `moment` look at it."""
At = Annotated[
    datetime,
    Meta(
        tz=True,
        description="As it was then.",
        examples=["2026-11-24T15:00:00Z"],
        extra_json_schema={"maxLength": 40},
    ),
]
Note = Annotated[str, Meta(max_length=1024, description="At most 1,024 characters.")]
Template = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=253,
        pattern=PRINTABLE,
        description="a host name with one `{ip-dashed}` or `{ip-hex}` in it",
        examples=["ip-{ip-dashed}"],
    ),
]
"""Whoever takes one in has `template_of` look at it."""
AddressText = Annotated[
    str, Meta(min_length=2, max_length=45, description="An IPv4 or IPv6 address.", examples=["10.0.3.65"])
]
PrefixText = Annotated[
    str,
    Meta(min_length=4, max_length=49, description="A prefix without host bits.", examples=["10.0.3.0/24"]),
]
MacText = Annotated[
    str,
    Meta(
        min_length=11, max_length=17, description="A MAC address in any usual spelling.", examples=["52:54:00:0a:0b:0c"]
    ),
]
Hostname = Annotated[
    str,
    Meta(min_length=1, max_length=253, pattern=PRINTABLE, description="a host name", examples=["vm-17"]),
]
NameServers = Annotated[list[Hostname], Meta(max_length=16, examples=[["ns1.example.net."]])]
"""Whoever takes them in has `servers_of` look at them."""
Seconds30Days = Annotated[int, Meta(ge=0, le=30 * 86400, description="Seconds, at most 30 days.", examples=[300])]
Ttl = Annotated[int, Meta(ge=0, le=7 * 86400, description="Seconds, at most a week.", examples=[300])]
Serial = Annotated[
    int,
    Meta(
        ge=1,
        le=2**32 - 1,
        description="SOA serial: later (RFC 1982) than the zone's own.",
        examples=[2024010102],
    ),
]
NegativeTtl = Annotated[int, Meta(ge=0, le=86400, description="Seconds, at most a day.", examples=[60])]
LeaseTime = Annotated[int, Meta(ge=60, le=30 * 86400, description="Seconds, at most 30 days.", examples=[3600])]
LengthV4 = Annotated[int, Meta(ge=8, le=32, description="A prefix length.", examples=[28])]
LengthV6 = Annotated[int, Meta(ge=32, le=128, description="A prefix length.", examples=[122])]
OptionName = Annotated[str, Meta(min_length=1, max_length=64, pattern=PRINTABLE, description="an option")]
OptionText = Annotated[str, Meta(max_length=1024)]
OptionNumber = Annotated[int, Meta(ge=0, le=2**32 - 1)]
OptionValue = OptionText | OptionNumber | Annotated[list[OptionText], Meta(max_length=64)]


class Input(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What a caller sends: unknown fields are refused by name."""


class Patch(Input):
    """What a PATCH sends: only the fields to change."""

    def changes(self) -> dict[str, object]:
        """The fields that were sent, as plain values."""
        found = {name: getattr(self, name) for name in self.__struct_fields__}
        changes = {name: msgspec.to_builtins(value) for name, value in found.items() if value is not UNSET}
        for name, spelled in _SPELLED.items():
            if changes.get(name) is not None:
                changes[name] = spelled(changes[name])
        return changes


class DhcpIn(Patch):
    """DHCP settings; what is left out follows the network, then the defaults."""

    enabled: bool | UnsetType | None = UNSET
    lease_time: LeaseTime | UnsetType | None = UNSET
    authoritative: bool | UnsetType | None = UNSET
    options: Annotated[dict[OptionName, OptionValue], Meta(max_length=128)] | UnsetType = UNSET


_LABEL = r"^[a-z0-9][a-z0-9._:/-]{0,62}(?![\s\S])"
_LABELS = 64
Tag = Annotated[
    str,
    Meta(
        max_length=63,
        pattern=_LABEL,
        description="a lower-case word of at most 63 letters, digits and `._:/-`",
        examples=["rack-a"],
    ),
]
Tags = Annotated[list[Tag], Meta(max_length=_LABELS, examples=[["rack-a"]])]
FieldName = Annotated[
    str,
    Meta(
        max_length=63,
        pattern=r"^[a-z0-9][a-z0-9._/-]{0,62}(?![\s\S])",
        description="a lower-case word of at most 63 letters, digits and `._/-`",
        examples=["owner"],
    ),
]
CustomText = Annotated[
    str,
    Meta(
        max_length=1024,
        pattern=r"^[^\x00-\x1f\x7f]*(?![\s\S])",
        description="at most 1,024 printable characters",
    ),
]
CustomNumber = Annotated[int, Meta(ge=-(2**53), le=2**53)]
CustomValue = CustomText | CustomNumber | float | bool
CustomIn = Annotated[
    dict[FieldName, CustomValue],
    Meta(max_length=_LABELS, description="A site's own fields, by name.", examples=[{"owner": "alice"}]),
]
TagFilter = Annotated[
    str,
    Meta(
        max_length=1024,
        pattern=r"^[a-z0-9][a-z0-9._:/-]{0,62}(,[a-z0-9][a-z0-9._:/-]{0,62})*(?![\s\S])",
        description="tags, with commas between: those that have all of them",
        examples=["rack-a,gpu"],
    ),
]
CustomFilter = Annotated[
    str,
    Meta(
        max_length=4096,
        pattern=r"^[a-z0-9][a-z0-9._/-]{0,62}:([^\x00-\x1f\x7f,\\]|\\[,\\])*"
        r"(,[a-z0-9][a-z0-9._/-]{0,62}:([^\x00-\x1f\x7f,\\]|\\[,\\])*)*(?![\s\S])",
        description="`name:value`, with commas between: those that have all of them; "
        "in a value a comma is `\\,` and a backslash `\\\\`",
        examples=["owner:alice"],
    ),
]
Addresses = Annotated[int, Meta(ge=0, le=2**32, description="How many addresses; 0 is never.", examples=[100])]
Seconds10Years = Annotated[
    int, Meta(ge=0, le=3650 * 86400, description="Seconds, at most ten years.", examples=[2592000])
]


def tags_of(sent: list[str]) -> list[str]:
    """Tags as they are kept: sorted, each once."""
    return sorted(set(sent))


def template_of(sent: str) -> str:
    """A template as it was sent, which can be read.

    Raises:
        InvalidValue: No host name comes of it for every address.
    """
    parse_template(sent, "/name_template")
    return sent


def servers_of(sent: Iterable[str]) -> list[str]:
    """Absolute names of servers, in their one spelling.

    Raises:
        InvalidValue: One is no name.
    """
    return [parse_domain(name, f"/name_servers/{place}") for place, name in enumerate(sent)]


_SPELLED: Final[dict[str, Callable[[Any], object]]] = {
    "tags": tags_of,
    "name_template": template_of,
    "name_servers": servers_of,
}
"""Fields that have one spelling, and how they come to it."""


T = TypeVar("T")


class Page(msgspec.Struct, Generic[T]):
    """A page of a list; `next` is the cursor of the next one, or null at the end."""

    items: list[T]
    next: str | None = None


Limit = Annotated[int, Meta(ge=1, le=1000, description="How many at most.", examples=[100])]
Cursor = Annotated[str, Meta(min_length=1, max_length=1024, description="`next` of the page before.")]
Sequence = Annotated[
    str,
    Meta(
        max_length=64,
        pattern=r"^[0-9A-Za-z_-]{1,40}:[0-9]{1,19}(?![\s\S])",
        description="a place in the ledger, `epoch:sequence`",
        examples=["5f1c:4711"],
    ),
]
Wait = Annotated[
    str,
    Meta(
        pattern=r"^([1-9]|[1-5][0-9]|60)s?(?![\s\S])",
        description="seconds to wait, 1 to 60, as `30s`",
        examples=["30s"],
    ),
]


class Read(Input):
    """Query of a read."""

    at_least: Sequence | None = None


class List(Read):
    """Query of a list."""

    limit: Limit = 100
    after: Cursor | None = None


class LabelledList(List):
    """Query of a list of things that have tags and custom fields."""

    tag: TagFilter | None = None
    custom: CustomFilter | None = None


_FIELD: Final = re.compile(r"(?:[^,\\]|\\.)+")
_ESCAPED: Final = re.compile(r"\\(.)")


def labels_in(query: LabelledList) -> dict[str, Any]:
    """The filters `tags` and `custom` of a list, as `Reads` takes them."""
    custom = (each.partition(":") for each in _FIELD.findall(query.custom or ""))
    return {
        "tags": tuple(each for each in (query.tag or "").split(",") if each),
        "custom": tuple((name, _ESCAPED.sub(r"\1", value)) for name, _, value in custom),
    }


def then(at: datetime | None, now: datetime) -> datetime | None:
    """The time that a read is asked to go back to, in UTC.

    Raises:
        InvalidValue: It is in the future, or before 1970.
    """
    if at is None:
        return None
    try:
        past = moment(at)
    except InvalidValue as error:
        raise InvalidValue(f"In the query, at: {error.message}.", parameter="at") from None
    if past > now:
        raise InvalidValue("That is in the future: without `at` the answer is that of now.", parameter="at")
    return past


class Change(Input):
    """Query of a change."""

    dry_run: Annotated[bool, Meta(description="Answer what would happen, record nothing.")] = False


class Nothing(msgspec.Struct):
    """No content."""


def present(values: dict[str, Any]) -> dict[str, Any]:
    """The values that were sent."""
    return {name: value for name, value in values.items() if value is not UNSET and value is not None}


Search = Annotated[str, Meta(min_length=1, max_length=253, description="What to look for.", examples=["vm-17"])]


def seconds_of(wait: str | None) -> float:
    """The seconds that `?wait=` says, 0 without it."""
    return float(wait.removesuffix("s")) if wait else 0.0
