"""What is let go of in the zones' journals: the oldest steps of each, never one in the middle."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ScalarSelect, Select, select

from tenure.naming.serial import steps
from tenure.store.sql import tables as t
from tenure.store.sql.pages import Snapshot
from tenure.store.sql.past import place_at

_z, _c = t.zones.c, t.zone_changes.c


def outlived(at: Snapshot, before: datetime, most: int, limit: int) -> list[tuple[str, int]]:
    """Steps (zone, sequence) that are older than a time, or that `most` newer ones follow; the first `limit` found.

    A leap of a serial counts as all the steps that it stands for: what is before it leads nowhere.

    Cost: two rows by their key for each zone that there ever was, and the steps.
    """
    end = place_at(at, before - timedelta.resolution).sequence
    found: list[tuple[str, int]] = []
    for zone, now, *oldest in at.all(select(_z.id, _z.serial, _oldest(_c.sequence), _oldest(_c.serial))):
        if oldest[0] is not None and _is_old(oldest, end, now, most) and len(found) < limit:
            some = at.all(_steps(zone, limit - len(found)))
            young = next((n for n, step in enumerate(some) if not _is_old(step, end, now, most)), len(some))
            found += [(zone, step[0]) for step in some[:young]]
    return found


def _is_old(step: Sequence[int], end: int, now: int, most: int) -> bool:
    sequence, serial = step
    return sequence <= end or steps(serial, now) >= most


def _oldest(column: Any) -> ScalarSelect[Any]:
    return select(column).where(_c.zone == _z.id).order_by(_c.sequence).limit(1).scalar_subquery()


def _steps(zone: str, limit: int) -> Select[Any]:
    return select(_c.sequence, _c.serial).where(_c.zone == zone).order_by(_c.sequence).limit(limit)
