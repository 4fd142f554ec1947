"""Who may replicate zones: keys that sign, and secondaries."""

from typing import Any, Final

import msgspec

from tenure.engine import resolve
from tenure.engine.draft import Draft
from tenure.engine.inventory import changed, new, vacant
from tenure.engine.state import State
from tenure.errors import Conflict, InvalidValue, NotFound
from tenure.model import events as e
from tenure.model.answers import Made, Nothing
from tenure.model.dnsdata import Secondary, TsigKey
from tenure.model.uses import (
    ChangeSecondary,
    CreateSecondary,
    CreateTsigKey,
    DeleteSecondary,
    DeleteTsigKey,
)
from tenure.naming.hostnames import parse_name
from tenure.net.addresses import parse_prefix

MOST_PREFIXES: Final = 64
MOST_THINGS: Final = 1000


def create_tsig_key(use: CreateTsigKey, draft: Draft) -> Made:
    """Make a key; the store keeps its sealed secret beside it, the ledger does not.

    Raises:
        InvalidValue: Its name is no domain name.
        NotFound: There is no such vrf.
        Conflict: There is a key of this name.
    """
    name = parse_name(use.name if use.name.endswith(".") else use.name + ".", "/name")
    vrf = None if use.vrf is None else resolve.resolved(draft.state, "vrf", use.vrf, "/vrf")
    _room(draft.state.tsig_keys, "TSIG keys")
    for other in draft.state.tsig_keys.values():
        if other.name == name:
            raise Conflict(
                f"there is a TSIG key {name} already", kind="tsig_key", name=name, id=other.id, pointer="/name"
            )
    id_, now = next(draft.moment.ids), draft.moment.now
    key = TsigKey(id=id_, name=name, algorithm=use.algorithm, since=now, vrf=vrf)
    draft.record(e.TsigKeyCreated(key=key))
    return Made(tsig_key=key)


def delete_tsig_key(use: DeleteTsigKey, draft: Draft) -> Nothing:
    """End a key.

    Raises:
        InUse: Secondaries have it; they are named.
    """
    key = find_key(draft.state, use.key)
    resolve.matching(key.revision, draft.asked.if_match)
    holders = [f"secondary {s.name}" for s in draft.state.secondaries.values() if s.key == key.id]
    vacant(f"TSIG key {key.name}", holders)
    draft.record(e.TsigKeyDeleted(key=key))
    return Nothing()


def create_secondary(use: CreateSecondary, draft: Draft) -> Made:
    """Let a server replicate a vrf's zones.

    Raises:
        InvalidValue, NotFound: A field is malformed, or there is no such vrf or key.
        Conflict: There is one of this name, or one of the vrf at this address and port; or the key is another vrf's.
    """
    vrf = resolve.resolved(draft.state, "vrf", use.vrf, "/vrf")
    fields = _spelled(draft.state, {"address": None, **use.fields})
    secondary = new(Secondary, next(draft.moment.ids), fields, name=use.name, vrf=vrf)
    _room(draft.state.secondaries, "secondaries")
    _sound(draft.state, secondary)
    draft.record(e.SecondaryCreated(secondary=secondary))
    return Made(secondary=secondary)


def change_secondary(use: ChangeSecondary, draft: Draft) -> Made:
    """Change a secondary. What changes nothing is not recorded."""
    old = find_secondary(draft.state, use.secondary)
    resolve.matching(old.revision, draft.asked.if_match)
    changes = dict(use.changes)
    if isinstance(changes.get("vrf"), str):
        changes["vrf"] = draft.state.find("vrf", str(changes["vrf"]))
    secondary = changed(old, _spelled(draft.state, changes), ("vrf",))
    _sound(draft.state, secondary)
    if msgspec.structs.replace(secondary, revision=old.revision) == old:
        return Made(secondary=old)
    draft.record(e.SecondaryChanged(secondary=secondary))
    return Made(secondary=secondary)


def delete_secondary(use: DeleteSecondary, draft: Draft) -> Nothing:
    """A server replicates no longer."""
    secondary = find_secondary(draft.state, use.secondary)
    resolve.matching(secondary.revision, draft.asked.if_match)
    draft.record(e.SecondaryDeleted(secondary=secondary))
    return Nothing()


def find_key(state: State, name: str, pointer: str = "") -> TsigKey:
    """A key by its id or name, with or without its last dot.

    Raises:
        NotFound: There is none.
    """
    absolute = name.lower() if name.endswith(".") else name.lower() + "."
    for key in state.tsig_keys.values():
        if name == key.id or absolute == key.name:
            return key
    raise NotFound(f"there is no TSIG key {name!r}", kind="tsig_key", name=name, pointer=pointer)


def find_secondary(state: State, name: str) -> Secondary:
    """A secondary by its id or name.

    Raises:
        NotFound: There is none.
    """
    for secondary in state.secondaries.values():
        if name in (secondary.id, secondary.name):
            return secondary
    raise NotFound(f"there is no secondary {name!r}", kind="secondary", name=name)


def _room(things: dict[str, Any], what: str) -> None:
    if len(things) >= MOST_THINGS:
        raise Conflict(f"there are {MOST_THINGS} {what}, the most that there may be")


def _spelled(state: State, sent: dict[str, Any]) -> dict[str, Any]:
    """What was sent, with the one spelling of addresses and prefixes, and a key's id."""
    found = dict(sent)
    if "address" in found:
        if not isinstance(found["address"], str):
            raise InvalidValue("an address is needed", pointer="/address")
        found["address"] = resolve.host_address(found["address"], "/address")
    if isinstance(found.get("key"), str):
        found["key"] = find_key(state, found["key"], "/key").id
    sources = found.get("transfer_from")
    if isinstance(sources, (list, tuple)):
        found["transfer_from"] = _sources(sources)
    return found


def _sources(sent: "list[Any] | tuple[Any, ...]") -> list[str]:
    """Prefixes in their one spelling, each once."""
    if len(sent) > MOST_PREFIXES:
        raise InvalidValue(
            f"transfer_from are at most {MOST_PREFIXES}", pointer="/transfer_from", maximum=MOST_PREFIXES
        )
    found: dict[str, None] = {}
    for at, text in enumerate(sent):
        pointer = f"/transfer_from/{at}"
        if not isinstance(text, str):
            raise InvalidValue("a prefix is needed", pointer=pointer)
        prefix = str(parse_prefix(text, pointer))
        if prefix in found:
            raise InvalidValue(f"{prefix} stands twice", pointer=pointer, value=text)
        found[prefix] = None
    return list(found)


def _sound(state: State, secondary: Secondary) -> None:
    resolve.plain(secondary.name, "/name")
    if not 1 <= secondary.port <= 65535:
        raise InvalidValue("port must be 1 to 65535", pointer="/port", minimum=1, maximum=65535)
    key = None if secondary.key is None else state.tsig_keys[secondary.key]
    if key is not None and key.vrf not in (None, secondary.vrf):
        raise Conflict(
            f"TSIG key {key.name} is of vrf {state.vrfs[str(key.vrf)].name}, and the secondary is not",
            key=key.id,
            pointer="/key",
        )
    where = (secondary.vrf, secondary.address, secondary.port)
    for other in state.secondaries.values():
        if other.id == secondary.id:
            continue
        if other.name == secondary.name:
            raise Conflict(
                f"there is a secondary {other.name!r} already", kind="secondary", id=other.id, pointer="/name"
            )
        if (other.vrf, other.address, other.port) == where:
            raise Conflict(
                f"secondary {other.name} is at {other.address} port {other.port} already",
                id=other.id,
                pointer="/address",
            )
