"""Whether there is a ledger yet, asked without making one."""

from pathlib import Path

from tenure.errors import StoreUnavailable
from tenure.store.interface import Store


def prepared(where: str | Path, store: Store) -> bool:
    """Whether the store can be read now; a file that is not there is not looked into, which would make it."""
    if isinstance(where, Path) and not (where.exists() and where.stat().st_size):
        return False
    try:
        store.head()
    except StoreUnavailable:
        return False
    return True
