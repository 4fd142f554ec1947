"""Secondaries: servers that replicate the zones of an address space."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tenure.errors import InvalidValue
from tenure.model.dnsdata import Secondary
from tenure.model.uses import ChangeSecondary, CreateSecondary, DeleteSecondary
from tenure.store.interface import Page, Reads
from tenure.surfaces.api.backing import Backing
from tenure.surfaces.api.inventory import Shelf, vrf_id
from tenure.surfaces.api.operations import Noun
from tenure.surfaces.api.schemas import AddressText, List, Name, Patch, PrefixText, Reference

NOUN = Noun("secondaries")

Port = Annotated[int, Meta(ge=1, le=65535, description="A port.", examples=[53])]


class _Settings(Patch):
    port: Port | UnsetType = UNSET
    key: Reference | UnsetType | None = UNSET
    unsigned: bool | UnsetType = UNSET
    transfer_from: Annotated[list[PrefixText], Meta(max_length=64)] | UnsetType = UNSET
    notify: bool | UnsetType = UNSET

    def fields(self) -> dict[str, object]:
        """The fields of a secondary that were sent.

        Raises:
            InvalidValue: A key is left out, or taken away, and nobody says that this is meant; or one is named, and
                it is said that there shall be none.
        """
        fields = self.changes()
        unsigned = fields.pop("unsigned", False)
        if isinstance(self.key, str) and unsigned:
            raise InvalidValue("/key is named, and `unsigned` says that there is none.", pointer="/unsigned")
        if unsigned:
            fields["key"] = None
        elif self.key is None or (self.key is UNSET and self._needs_a_key()):
            raise InvalidValue(
                "/key must be a TSIG key, or `unsigned` true: then its address is all that a transfer is known by.",
                pointer="/key",
            )
        return fields

    def _needs_a_key(self) -> bool:
        return False


class SecondaryIn(_Settings, kw_only=True):
    """A server that may take the zones of `vrf`, and is told when they change.

    `key` or `unsigned: true` has to be said. Without `transfer_from` it may take them from its `address`.
    """

    name: Name
    vrf: Reference = "default"
    address: AddressText

    def _needs_a_key(self) -> bool:
        return True


class SecondaryPatch(_Settings):
    """What to change. To take its key away, say `unsigned: true`."""

    name: Name | UnsetType = UNSET
    address: AddressText | UnsetType = UNSET


class SecondaryList(List):
    """Filters."""

    vrf: Reference | None = None


def use_of(body: SecondaryIn) -> CreateSecondary:
    """The use that a request for a secondary is.

    Raises:
        InvalidValue: As for `fields`.
    """
    fields = body.fields()
    return CreateSecondary(name=str(fields.pop("name")), vrf=str(fields.pop("vrf")), fields=fields)


def _listed(reads: Reads, query: Any, path: dict[str, str]) -> Page[Secondary]:
    return reads.secondaries(query.after or "", query.limit, vrf=vrf_id(reads, query.vrf))


class SecondaryOut(Secondary, frozen=True, kw_only=True):
    """A secondary. `primaries` is where it finds its zones, as far as this node knows: `ADDRESS:PORT`."""

    primaries: tuple[str, ...] = ()


async def _show(backing: Backing, secondaries: list[Secondary]) -> list[SecondaryOut]:
    await backing.names.know(vrfs={each.vrf for each in secondaries})
    keys = await backing.read(_key_names, backing.committed.reads, {each.key for each in secondaries})
    listening = {each.vrf: await backing.read(backing.primaries, each.vrf) for each in secondaries}
    return [
        SecondaryOut(
            **{
                **msgspec.structs.asdict(each),
                "vrf": backing.names.vrfs.get(each.vrf, each.vrf),
                "key": keys.get(each.key),
                "primaries": tuple(str(at) for at in listening[each.vrf] if at.port),
            }
        )
        for each in secondaries
    ]


def _key_names(reads: Reads, keys: set[str | None]) -> dict[str | None, str]:
    found = {key: reads.tsig_key(key).value for key in keys if key is not None}
    return {key: known.name for key, known in found.items() if known is not None}


Shelf(
    noun=NOUN,
    one="secondary",
    path="/v1/secondaries",
    into="/v1/secondaries",
    body=SecondaryIn,
    patch=SecondaryPatch,
    out=SecondaryOut,
    query=SecondaryList,
    example={"name": "ns2", "address": "192.0.2.54", "key": "ns2"},
    patch_example={"notify": False},
    shown=SecondaryOut(
        id="4f1d2c3b4a5968778695",
        name="ns2",
        vrf="default",
        address="192.0.2.54",
        key="ns2.",
        primaries=("192.0.2.53:53",),
    ),
    create=lambda asked: use_of(asked.body),
    change=lambda asked, name: ChangeSecondary(secondary=name, changes=asked.body.fields()),
    delete=lambda name: DeleteSecondary(secondary=name),
    seen=lambda reads, name: reads.secondary(name),
    listed=_listed,
    show=_show,
).offer()
