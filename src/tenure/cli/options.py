"""Options and arguments that several commands have; each option is a JSON field of the API, with dashes."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

from typer import Argument, BadParameter, Option

from tenure.errors import InvalidValue

_DATE: Final = len("2026-11-24")

NONE: Final = "none"
"""What is written for the JSON null, where a field may have it."""


def seconds(text: str) -> int:
    """A duration as people write it (`300`, `5m`, `12h`, `7d`), in whole seconds."""
    from tenure.net.identifiers import duration

    try:
        return int(duration(text) / timedelta(seconds=1))
    except InvalidValue as error:
        raise BadParameter(error.message) from None


def then(text: str, *, utc: bool = False) -> str:
    """A time as the API has it; one without a zone could mean several, and a date a whole day.

    `utc`: Without a zone it is meant as tables print it, which is UTC.
    """
    with suppress(ValueError, OverflowError):
        known = datetime.fromisoformat(text)
        if utc and known.tzinfo is None and len(text) > _DATE:
            known = known.replace(tzinfo=UTC)
        if known.tzinfo is not None:
            return known.astimezone(UTC).isoformat().replace("+00:00", "Z")
    said = "a date and a time, as 2026-11-24T15:00" if utc else "a date, a time and its zone: 2026-11-24T15:00:00Z"
    raise BadParameter(f"write {said}", param_hint="--at")


def _then(text: str) -> str:
    """A time as people say it: how long ago (`2h`), `yesterday` at this hour, a day at its beginning, or a moment."""
    if text == "yesterday" or (text[:1].isdecimal() and text[-1:] in "smhdw"):
        ago = timedelta(days=1) if text == "yesterday" else timedelta(seconds=seconds(text))
        return (datetime.now(UTC) - ago).isoformat().replace("+00:00", "Z")
    return then(f"{text}T00:00" if len(text) == _DATE else text, utc=True)


def seconds_or_none(text: str) -> int | str:
    """The same, or `none`."""
    return NONE if text == NONE else seconds(text)


Limit = Annotated[int | None, Option(min=1, metavar="COUNT", help="How many at most; all.", show_default=False)]
Words = Annotated[str | None, Option("--q", metavar="WORDS", help="Only those whose name or address begins so.")]
VrfFilter = Annotated[str | None, Option(metavar="VRF", help="Only those of this vrf.")]
NetworkFilter = Annotated[str | None, Option(metavar="NETWORK", help="Only those of this network.")]
LocationFilter = Annotated[str | None, Option(metavar="LOCATION", help="Only those of this location.")]
Thing = Annotated[str, Argument(metavar="NAME", help="Its name or id.", show_default=False)]
Id = Annotated[str, Argument(metavar="ID", help="Its id.", show_default=False)]
Ip = Annotated[str, Argument(metavar="IP", help="An IPv4 or IPv6 address.", show_default=False)]
NewName = Annotated[str | None, Option("--name", metavar="NAME", help="Its new name.")]
At = Annotated[
    str | None,
    Option(
        metavar="TIME",
        parser=_then,
        help="As it was then, UTC: 2026-11-24T15:00, a date, 2h ago as 2h, or yesterday.",
        show_default=False,
    ),
]
Zone = Annotated[str, Argument(metavar="ZONE", help="Its name or id.", show_default=False)]
OfZone = Annotated[str, Argument(metavar="ZONE", help="The zone, by name or id.", show_default=False)]
InVrfOfZone = Annotated[
    str | None, Option("--vrf", metavar="VRF", help="Whose zone, where several vrfs have one of that name.")
]
Ttl = Annotated[int | None, Option(metavar="DURATION", parser=seconds, help="Of its records; 5m.", show_default=False)]
NegativeTtl = Annotated[
    int | None, Option(metavar="DURATION", parser=seconds, help="Of absent names; 1m.", show_default=False)
]
Serial = Annotated[
    int | None, Option(metavar="NUMBER", help="Go on from this one, later than its own (RFC 1982).", show_default=False)
]
NameServers = Annotated[
    list[str] | None,
    Option(metavar="NAME", help="Who serves it; this server under ns.ZONE. Repeatable.", show_default=False),
]
NameTemplate = Annotated[
    str | None,
    Option(metavar="TEMPLATE", help="How addresses are called that nobody named: ip-{ip-dashed}, or with {ip-hex}."),
]
InVrf = Annotated[str | None, Option(metavar="VRF", help="In this vrf; default.")]

DhcpEnabled = Annotated[
    bool | None, Option("--dhcp-enabled/--no-dhcp-enabled", help="Whether DHCP serves it.", show_default=False)
]
DhcpLeaseTime = Annotated[
    int | None, Option(metavar="DURATION", parser=seconds_or_none, help="Length of a lease; 1h.", show_default=False)
]
DhcpAuthoritative = Annotated[
    bool | None,
    Option(
        "--dhcp-authoritative/--no-dhcp-authoritative",
        help="Whether clients with an address of another link are told so.",
        show_default=False,
    ),
]
DhcpOption = Annotated[
    list[str] | None,
    Option(
        metavar="OPTION=VALUE", help="A DHCP option by name or number; hex:… is raw. Repeatable.", show_default=False
    ),
]


TagsOption = Annotated[
    list[str] | None,
    Option("--tags", metavar="TAG", help="A tag; `none` for none of them. Repeatable.", show_default=False),
]
CustomOption = Annotated[
    list[str] | None,
    Option(
        "--custom",
        metavar="NAME=VALUE",
        help="A field of your own; a number or yes and no as such; `none` for none of them. Repeatable.",
        show_default=False,
    ),
]
TagFilter = Annotated[str | None, Option("--tag", metavar="TAG,…", help="Only those with all of these tags.")]
CustomFilter = Annotated[
    str | None,
    Option(
        "--custom",
        metavar="NAME:VALUE,…",
        help="Only those with these values of custom fields; in a value, a comma is \\, and a backslash \\\\.",
    ),
]


def labels(tags: list[str] | None, custom: list[str] | None) -> dict[str, Any]:
    """The fields `tags` and `custom` of a body, as far as they were said."""
    found: dict[str, Any] = {}
    if tags:
        found["tags"] = [] if tags == [NONE] else tags
    if custom:
        found["custom"] = {} if custom == [NONE] else dict(custom_field(each) for each in custom)
    return found


def custom_field(text: str) -> tuple[str, str | int | float | bool]:
    """`NAME=VALUE`, where a number, and yes or no, are what they look like."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise BadParameter("write NAME=VALUE", param_hint="--custom")
    words = {"yes": True, "true": True, "no": False, "false": False}
    if value in words:
        return name, words[value]
    for number in (int, float):
        if _written(value, number) == value:  # not 007 or nan, which are text
            return name, number(value)
    return name, value


def _written(value: str, number: type[int] | type[float]) -> str | None:
    try:
        return str(number(value)) if value[-1:].isdigit() else None
    except ValueError:
        return None


def sent(given: Mapping[str, Any], leave: Iterable[str] = (), nullable: Iterable[str] = ()) -> dict[str, Any]:
    """The fields of a body from a command's `locals()`.

    Args:
        leave: Parameters that are no fields; `ctx` never is.
        nullable: Fields whose text `none` is null.
    """
    body = {
        name: value
        for name, value in given.items()
        if value is not None and value != [] and name not in leave and name != "ctx"
    }
    body |= labels(body.pop("tags", None), body.pop("custom", None))
    dhcp = {name: body.pop(f"dhcp_{name}") for name in _DHCP if f"dhcp_{name}" in body}
    if dhcp:
        body["dhcp"] = _dhcp(dhcp)
    return {name: None if value == NONE and name in nullable else value for name, value in body.items()}


def emptied(fields: dict[str, Any], *names: str) -> dict[str, Any]:
    """The fields, where lists that are the word `none` are empty."""
    return {name: [] if name in names and value == [NONE] else value for name, value in fields.items()}


_DHCP: Final = ("enabled", "lease_time", "authoritative", "option")


def _dhcp(fields: dict[str, Any]) -> dict[str, Any]:
    pairs = [each.partition("=") for each in fields.pop("option", ())]
    for name, equals, _ in pairs:
        if not (name and equals):
            raise BadParameter("write OPTION=VALUE", param_hint="--dhcp-option")
    options: dict[str, Any] = {}
    for name, _, value in pairs:
        said = value.split(",") if "," in value and not value.startswith("hex:") else value
        options[name] = said
    if fields.get("lease_time") == NONE:
        fields["lease_time"] = None
    return {**fields, "options": options} if options else fields


def merged(dhcp: Mapping[str, Any] | None, new: Mapping[str, Any]) -> dict[str, Any]:
    """DHCP settings with new ones: what is not named stays, and an option that is `none` goes."""
    known = dhcp or {}
    options = {**known.get("options", {}), **new.get("options", {})}
    return {**known, **new, "options": {name: value for name, value in options.items() if value != NONE}}
