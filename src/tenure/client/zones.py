"""Zones and their records. `vrf` says whose zone is meant, where several address spaces have one of that name."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from tenure.client import requests
from tenure.client.requests import LONG, present
from tenure.client.things import Things

if TYPE_CHECKING:
    from tenure.client.client import Client


class Zones(Things):
    """Zones, by name or id."""

    def change(
        self,
        name: str,
        fields: Mapping[str, Any],
        *,
        if_match: int | None = None,
        dry_run: bool = False,
        vrf: str | None = None,
    ) -> dict[str, Any]:
        """Change `ttl`, `negative_ttl`, `name_servers`, `name_template` or `kept` of one."""
        path = self._path(name)
        done = self._client.change("PATCH", path, dict(fields), if_match=if_match, dry_run=dry_run, vrf=vrf)
        return cast(dict[str, Any], done)

    def delete(
        self, name: str, *, if_match: int | None = None, dry_run: bool = False, vrf: str | None = None
    ) -> dict[str, Any] | None:
        """Delete one that has no records which people made."""
        done = self._client.change("DELETE", self._path(name), if_match=if_match, dry_run=dry_run, vrf=vrf)
        return cast("dict[str, Any] | None", done)

    def file(self, name: str, *, vrf: str | None = None) -> str:
        """All of a zone as the text of a master file."""
        return self._client.text(self._path(name, "file"), seconds=LONG, vrf=vrf)

    def delegation(self, name: str, *, vrf: str | None = None) -> dict[str, Any]:
        """What the zone above has to say of it: `parent`, `served`, `lines` and `records`."""
        return self._client.read(self._path(name, "delegation"), vrf=vrf)


class Records:
    """The records of zones that people made, each by its id."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    def create(
        self,
        zone: str,
        fields: Mapping[str, Any],
        *,
        dry_run: bool = False,
        key: str | None = None,
        vrf: str | None = None,
    ) -> dict[str, Any]:
        """Make one: `name`, `type`, `data` and perhaps `ttl`. `key` is the request's Idempotency-Key."""
        body, path = present(fields), self._path(zone)
        return cast(dict[str, Any], self._client.change("POST", path, body, dry_run=dry_run, key=key, vrf=vrf))

    def list(self, zone: str, **filters: Any) -> Iterator[dict[str, Any]]:
        """All of a zone that pass the filters `type` and `q`, read page by page as they are taken."""
        return self._client.pages(self._path(zone), **filters)

    def show(self, zone: str, record: str, *, vrf: str | None = None) -> dict[str, Any]:
        """One of them."""
        return self._client.read(self._path(zone, record), vrf=vrf)

    def change(self, zone: str, record: str, fields: Mapping[str, Any], **how: Any) -> dict[str, Any]:
        """Change `data` or `ttl` of one; `how`: `if_match`, `dry_run`, `vrf`."""
        path = self._path(zone, record)
        return cast(dict[str, Any], self._client.change("PATCH", path, dict(fields), **how))

    def delete(self, zone: str, record: str, **how: Any) -> None:
        """Delete one; `how`: `if_match`, `dry_run`, `vrf`."""
        self._client.change("DELETE", self._path(zone, record), **how)

    def _path(self, zone: str, *record: str) -> str:
        return requests.path_of(requests.ZONES, zone, "records", *record)
