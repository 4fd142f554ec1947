"""Names that look like those of a template: who is called as if another address were theirs."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from tenure.engine.facts import MOST_ALIKE, Alike
from tenure.model.holding import Allocation
from tenure.naming.templates import Template
from tenure.net.addresses import number_of
from tenure.store.sql import rows as r
from tenure.store.sql.connect import Database
from tenure.store.sql.due import ALLOCATIONS

_LAST: Final = "\U0010ffff"
_OPEN: Final = "a.until IS NULL AND a.hostname IS NOT NULL"


def alike(db: Database, raw: Any, key: Alike) -> list[Allocation]:
    """What `Wanted.alike` says of one key.

    Cost: linear in the names that begin so, through their index; in the subnets' names where anything begins so.
    """
    vrf, domain, before, after = key
    domains = f"n.until IS NULL AND n.vrf = ? AND {db.json('n.body')} ->> 'domain' = ?"
    subnets = f"SELECT s.id FROM networks n JOIN subnets s ON s.network = n.id WHERE s.until IS NULL AND {domains}"
    found = {(id_,) for (id_,) in db.fetch(raw, db.sql(subnets), [vrf, domain])}
    named = _called(db, raw, before, found) if found else iter(())
    return list(islice(_misleading(named, before, after), MOST_ALIKE))


def _called(db: Database, raw: Any, before: str, subnets: set[tuple[str]]) -> Iterator[Allocation]:
    if before:
        named = f"SELECT {ALLOCATIONS} FROM allocations a WHERE {_OPEN} AND a.hostname >= ? AND a.hostname <= ?"
        rows = db.stream(raw, db.sql(named), [before, before + _LAST])
    else:
        each = db.each("allocations a", f"{_OPEN} AND a.subnet = k.id")
        statement = f"SELECT {ALLOCATIONS} FROM {db.keys('id text')} {each}"
        rows = db.stream(raw, statement, db.pack(["id text"], subnets))
    return (held for held in map(r.allocation_of, rows) if (held.subnet,) in subnets)


def _misleading(named: Iterator[Allocation], before: str, after: str) -> Iterator[Allocation]:
    """Those whose name is, in some form, that of an address which is not theirs."""
    templates = [Template(before, after, form) for form in ("dashed", "hex")]
    for held in named:
        own = (6 if ":" in held.ip else 4, number_of(held.ip))
        if any(template.number(held.hostname or "") not in (None, own) for template in templates):
            yield held
