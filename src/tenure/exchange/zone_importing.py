"""Sends the plan of a zone to the service, in pieces; what is refused is told of, and the rest goes on."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from tenure.client import Client
from tenure.errors import Exhausted, NotPermitted, RequestError, TenureError
from tenure.exchange.importing import MOST, item_of
from tenure.exchange.present import Fields
from tenure.exchange.zone_plan import GROUPS, Entry, Making, Rename, ZonePlan
from tenure.exchange.zone_source import Unreadable

_PIECE: Final = 1000
"""Objects of one transaction: a refusal has at most this much tried again."""


def steps(plan: ZonePlan) -> int:
    """How many steps `perform` takes."""
    return len(plan.renames) + len(plan.claims) + len(plan.records)


def perform(client: Client, plan: ZonePlan, advance: Callable[[int], None], *, dry_run: bool = False) -> None:
    """Do what is planned, or try it; each entry of the plan is in its final group then.

    The zone is made with the first of its records; if all of them are refused, it is not. One that is there goes on
    from the plan's serial before all else.
    A dry run tries each step by itself: what only two of them together would be refused for, it does not see.

    Raises:
        TenureError: The zone is refused, or the service answers no longer; the import can be started again, and goes
            on where it stopped.
    """
    if plan.serial is not None and plan.zone is None:
        client.zones.change(plan.name, {"serial": plan.serial}, vrf=plan.vrf, dry_run=dry_run)
    for rename in plan.renames:
        _rename(client, rename, plan.vrf, dry_run=dry_run)
        advance(1)
    zone = [{"kind": "zone", **plan.zone}] if plan.zone is not None else []
    own = [each for each in plan.records if zone and each.fields["zone"] == plan.name]
    others = [each for each in plan.records if not zone or each.fields["zone"] != plan.name]
    for items, before in ((plan.claims, []), (others, []), (own, zone)):
        for at in range(0, len(items), _PIECE):
            piece = items[at : at + _PIECE]
            _make(client, piece, before, dry_run=dry_run)
            advance(len(piece))
    if zone and not any(entry.group == "record" for each in own for entry in each.entries):
        plan.zone = plan.serial = None


def _rename(client: Client, rename: Rename, vrf: str, *, dry_run: bool) -> None:
    try:
        client.addresses.rename(rename.ip, rename.hostname, vrf=vrf, dry_run=dry_run)
    except (RequestError, Exhausted) as error:
        _refused([rename.entry], error)


def _make(client: Client, items: Sequence[Making], before: list[Fields], *, dry_run: bool) -> None:
    """Make all that is not refused: what stands before a refused item, and what stands after it.

    Args:
        before: What they need, and nobody has made: a dry run adds to it what later ones need, any other takes from it.
    """
    while items:
        at = _sent(client, items, before, dry_run=dry_run)
        good = items if at is None else items[:at]
        if dry_run:
            before += [each.fields for each in good if each.glue][: MOST - _PIECE - len(before)]
        elif at:
            _make(client, good, before, dry_run=dry_run)
        items = [] if at is None else items[at + 1 :]


def _sent(client: Client, items: Sequence[Making], before: list[Fields], *, dry_run: bool) -> int | None:
    """Make them all, or tell which the first is that was refused; nothing is made then."""
    try:
        done = client.import_objects([*before, *(each.fields for each in items)], dry_run=dry_run)
    except (RequestError, Exhausted) as error:
        at = item_of(error)
        if at is None or not len(before) <= at < len(before) + len(items):
            raise
        _refused(items[at - len(before)].entries, error, at)
        return at - len(before)
    for making, made in zip(items, done[len(before) :], strict=True):
        _answered(making, made)
    if not dry_run:
        before.clear()
    return None


def _answered(making: Making, made: dict[str, Any]) -> None:
    if made["status"] == 200:
        for entry in making.entries:
            entry.group = "already"


def _refused(entries: list[Entry], error: TenureError, item: int | None = None) -> None:
    """Keep why.

    Raises:
        NotPermitted: Nothing else would be permitted either.
    """
    if isinstance(error, NotPermitted):
        raise error
    for entry in entries:
        entry.refuse(error.message.replace(f"/items/{item}/", "").replace(f"/items/{item}", ""))


def report(plan: ZonePlan, *, dry_run: bool) -> Fields:
    """What became of everything, for programs: `zone`, its new `serial`, `counts`, and each record in its group."""
    groups: dict[str, list[Fields]] = {group: [] for group in GROUPS}
    for entry in plan.entries:
        groups[entry.group].append(_shown(entry))
    counts = {name: len(entries) for name, entries in groups.items()}
    made = plan.zone is not None
    zone = {"zone": plan.name, "vrf": plan.vrf, "zone_made": made, "serial": plan.serial}
    return {**zone, "dry_run": dry_run, "counts": counts, **groups}


def _shown(entry: Entry) -> Fields:
    record = entry.record
    if isinstance(record, Unreadable):
        return {"line": record.line, "text": record.text, "why": entry.why}
    shown = {"line": record.line, "name": record.owner, "type": record.type, "data": record.data, "ttl": record.ttl}
    return {**shown, "why": entry.why or None}


def refusals(plan: ZonePlan) -> Iterator[str]:
    """A sentence for each refused record."""
    for entry in plan.entries:
        if entry.group == "refused":
            record = entry.record
            place = f"line {record.line}: " if record.line is not None else ""
            said = record.text if isinstance(record, Unreadable) else f"{record.owner} {record.type} {record.data}"
            yield f"{place}{said}: {entry.why}"
