"""The operations of the REST API as request values; nothing is sent here."""

import json
import uuid
from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode

from tenure.client.wire import Request

LONG: Final = 300.0
"""Seconds that a batch or an import may take."""


class Noun(NamedTuple):
    """Where one kind of thing is.

    Attributes:
        one: Its name in the singular.
        path: Where all of them are listed, and each is by its name or id.
        into: Where they are made; `{parent}` is the thing that they belong to.
    """

    one: str
    path: str
    into: str


VRFS = Noun("vrf", "/v1/vrfs", "/v1/vrfs")
LOCATIONS = Noun("location", "/v1/locations", "/v1/locations")
NETWORKS = Noun("network", "/v1/networks", "/v1/networks")
SUBNETS = Noun("subnet", "/v1/subnets", "/v1/networks/{parent}/subnets")
RANGES = Noun("range", "/v1/ranges", "/v1/subnets/{parent}/ranges")
MACHINES = Noun("machine", "/v1/machines", "/v1/machines")
CLAIMS = Noun("claim", "/v1/claims", "/v1/claims")
ADDRESSES = Noun("address", "/v1/addresses", "/v1/addresses")
BLOCKS = Noun("block", "/v1/blocks", "/v1/blocks")
ZONES = Noun("zone", "/v1/zones", "/v1/zones")
TSIG_KEYS = Noun("tsig_key", "/v1/tsig-keys", "/v1/tsig-keys")
SECONDARIES = Noun("secondary", "/v1/secondaries", "/v1/secondaries")
TOKENS = Noun("token", "/v1/tokens", "/v1/tokens")


def read(path: str, seconds: float = 30.0, **query: Any) -> Request:
    """A read; query parameters that are None are left out."""
    return Request("GET", path + _query(query), seconds=seconds)


def change(
    method: str,
    path: str,
    body: Any = None,
    *,
    dry_run: bool = False,
    key: str | None = None,
    if_match: int | None = None,
    vrf: str | None = None,
    query: Mapping[str, Any] | None = None,
    seconds: float = 30.0,
) -> Request:
    """A change; a POST has an idempotency key, made if none is given, so that it may be repeated.

    Args:
        key: 1 to 255 printable ASCII characters.
        if_match: The revision that it is to change.
        vrf: Which one an address in the path is of; the default one.
        query: Further query parameters; those that are None are left out.
    """
    headers: dict[str, str] = {}
    if method == "POST":
        headers["idempotency-key"] = key or uuid.uuid4().hex
    if if_match is not None:
        headers["if-match"] = f'"{if_match}"'
    sent = None
    if body is not None:
        headers["content-type"] = "application/json"
        sent = json.dumps(body, separators=(",", ":")).encode()
    sought = _query({**(query or {}), "dry_run": dry_run or None, **present({"vrf": vrf})})
    return Request(method, path + sought, headers, sent, seconds)


def path_of(noun: Noun, name: str, *verb: str) -> str:
    """Where one thing is, or what can be done to it. Names are escaped; an id or a name is the same here."""
    return "/".join((noun.path, *(quote(part, safe="") for part in (name, *verb))))


def into(noun: Noun, parent: str | None) -> str:
    """Where one is made."""
    return noun.into.replace("{parent}", quote(parent or "", safe=""))


def present(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None}


def _query(query: Mapping[str, Any]) -> str:
    sent = {name: _text(value) for name, value in query.items() if value is not None}
    return "?" + urlencode(sent) if sent else ""


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
