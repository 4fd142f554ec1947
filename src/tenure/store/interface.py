"""All that the rest may ask of a store.

One suite (`tenure.testing.store_contract`) holds every store to it. A store is
used from one thread at a time for turns, and from any thread for reads.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import NamedTuple, Protocol

import msgspec

from tenure.engine.facts import Facts, Wanted
from tenure.engine.images import Image
from tenure.model.access import Token
from tenure.model.addressing import Network, Range, Subnet, Vrf
from tenure.model.dnsdata import Secondary, TsigKey, Zone, ZoneChange, ZoneRecord
from tenure.model.events import Entry
from tenure.model.placement import Block
from tenure.model.topology import Location
from tenure.store.placements import Placements
from tenure.store.reads import (
    Custom,
    Findings,
    FormerKind,
    Found,
    Head,
    KnownAddress,
    OwnedBlock,
    Page,
    Reads,
    Remaining,
    Seen,
    SeenAddress,
    Tags,
    Told,
    Unmoved,
    Users,
)

__all__ = [
    "Batch",
    "Custom",
    "DataRefused",
    "Findings",
    "FormerKind",
    "Found",
    "Head",
    "Held",
    "KeyUse",
    "KnownAddress",
    "Named",
    "OwnedBlock",
    "Page",
    "Reads",
    "Remaining",
    "Replay",
    "Seen",
    "SeenAddress",
    "Snapshot",
    "Span",
    "Store",
    "Stray",
    "Tags",
    "Tally",
    "Told",
    "Turn",
    "Unmoved",
    "Users",
]


class DataRefused(Exception):
    """The database refused the data of a batch, a bug: plan it again by halves."""


class Replay(msgspec.Struct, frozen=True):
    """What an idempotency key brought before: the answer as it was encoded, and the change that made it."""

    digest: bytes
    change: str
    answer: bytes


class KeyUse(msgspec.Struct, frozen=True):
    """An idempotency key that a use of this batch used: (actor, key, item) names it."""

    actor: str
    key: str
    item: int
    digest: bytes
    change: str
    answer: bytes


class Batch(msgspec.Struct):
    """One transaction's writing.

    Attributes:
        id: Random, and in every entry.
        entries: In order, sequence by sequence without a gap.
        rows: The net images, one a key (`Facts.net.values()`).
        zone_changes: One a zone; each moves its zone's serial.
        keys: Idempotency keys to remember.
        digests: SHA-256 of new tokens' secrets, by token id.
        sealed: Secrets of new TSIG keys, encrypted, by key id.
        epoch: The epoch from now on, where it changes.
    """

    id: str
    entries: Sequence[Entry]
    rows: Iterable[Image]
    zone_changes: Sequence[ZoneChange] = ()
    keys: Sequence[KeyUse] = ()
    digests: dict[str, bytes] = {}
    sealed: dict[str, bytes] = {}
    epoch: str | None = None


class Held(NamedTuple):
    """An open or still resting address as the allocator's memory needs it; the number is the address."""

    subnet: str
    number: int
    lease: bool
    cooling_until: datetime | None


class Stray(NamedTuple):
    """An address that still rests though its subnet is gone."""

    vrf: str
    version: int
    number: int
    cooling_until: datetime


class Named(NamedTuple):
    """An open allocation that has a name, as the zones need it."""

    subnet: str
    number: int
    hostname: str


class Span(NamedTuple):
    """Addresses of one subnet, from `first` to `last`, of IP version 4 or 6."""

    subnet: str
    version: int
    first: int
    last: int


class Tally(NamedTuple):
    """How many open claims a network has at a location in a state, and for what pending ones ask (else "" and 1)."""

    network: str
    host: str | None
    pending: bool
    family: str
    count: int  # type: ignore[assignment]  # tuple.count is a method that nobody calls here
    claims: int


class Snapshot(Placements, Protocol):
    """Everything as of one moment, for loading. Iterators stream; each may be used once."""

    head: Head
    vrfs: Sequence[Vrf]
    locations: Sequence[Location]
    networks: Sequence[Network]
    subnets: Sequence[Subnet]
    ranges: Sequence[Range]
    zones: Sequence[Zone]
    tokens: Sequence[tuple[Token, bytes]]
    """Each with the SHA-256 of its secret."""
    records: Sequence[ZoneRecord]
    tsig_keys: Sequence[tuple[TsigKey, bytes]]
    """Each with its secret, sealed."""
    secondaries: Sequence[Secondary]

    def blocks(self) -> Iterator[Block]:
        """Blocks that are owned: all of regions, then of sites, racks and hosts, each kind oldest first."""
        ...

    def held(self, now: datetime) -> Iterator[Held]:
        """Open allocations, and closed ones that still rest after `now`."""
        ...

    def strays(self, now: datetime) -> Iterator[Stray]:
        """Closed allocations of closed subnets that still rest after `now`."""
        ...

    def named(self, spans: Iterable[Span] | None = None) -> Iterator[Named]:
        """Open allocations with a hostname: all, or those in `spans`, which do not cross; their order is not said."""
        ...

    def tallies(self) -> Iterator[Tally]:
        """Open claims, counted."""
        ...


class Turn(Protocol):
    """The writer's transaction: it holds the lock from the beginning to its end.

    Leaving the context without `commit` rolls back.
    """

    head: Head
    """Read after locking."""
    now: datetime
    """The database's clock (SQLite: the node's), read after locking, and never before `head.time`."""

    def entries(self, after: int) -> list[Entry]:
        """The ledger after a sequence, as seen under the lock."""
        ...

    def batch_at(self, sequence: int) -> str | None:
        """Id of the batch that wrote this sequence, or None."""
        ...

    def facts(self, wanted: Wanted) -> Facts:
        """Read by key: a bounded number of statements, however many keys."""
        ...

    def replays(self, keys: Iterable[tuple[str, str, int]]) -> dict[tuple[str, str, int], Replay]:
        """Remembered idempotency keys among (actor, key, item)."""
        ...

    def digests(self, keys: Iterable[tuple[str, str]]) -> dict[tuple[str, str], bytes]:
        """With what body each (actor, key) among these came, whichever item of it is remembered."""
        ...

    def apply(self, batch: Batch) -> None:
        """Write the batch: one statement a table.

        Raises:
            DataRefused: The database refused some of it; the turn is over.
            StoreUnavailable: The connection was lost; nothing was written.
        """
        ...

    def commit(self) -> None:
        """Make it durable.

        Raises:
            OutcomeUnknown: The connection was lost, or a sync failed, while committing: ask `Store.committed`.
        """
        ...


class Store(Protocol):
    """What is remembered, durably."""

    @property
    def reads(self) -> Reads:
        """Lists and single things, for people and programs."""
        ...

    def prepare(self) -> None:
        """Create or migrate the schema, under the lock; two first starts at once are safe.

        Raises:
            StoreUnavailable: The database is not there, is of a newer release, or does not sync its writes.
        """
        ...

    def head(self) -> Head:
        """The end of the ledger now."""
        ...

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Everything as of one moment."""
        ...

    def turn(self) -> AbstractContextManager[Turn]:
        """Begin the writer's transaction and take the lock.

        Raises:
            StoreUnavailable: It could not be begun, or another node holds the lock for too long.
        """
        ...

    def committed(self, batch: str, first: int) -> bool:
        """Whether a batch is in the ledger. Takes the lock first, which waits for the old transaction to end.

        Args:
            first: Sequence of the batch's first entry: it is there, or nowhere.

        Raises:
            StoreUnavailable: It cannot be told yet.

        Cost: one row by its key, however long the ledger is.
        """
        ...

    def entries(self, after: int, limit: int, kinds: Sequence[str] = ()) -> list[Entry]:
        """The ledger after a sequence, in order; of some kinds only, if any are named.

        Args:
            limit: How many entries at most, 1 to 10,000.
        """
        ...

    def wait(self, after: int, seconds: float) -> bool:
        """Wait until the ledger may have grown past `after` (LISTEN on PostgreSQL, a poll each second behind it)."""
        ...

    def take_duty(self, name: str, owner: str, now: datetime, seconds: float) -> int | None:
        """Take or keep a duty until `now + seconds`; its term, or None while another has it."""
        ...

    def forget_keys(self, before: datetime) -> int:
        """Drop idempotency keys older than `before`; how many there were."""
        ...

    def prune_journal(self, before: datetime, most: int, limit: int) -> int:
        """Let go of steps in the zones' journals that are older than `before`, or that `most` newer ones follow.

        Of each zone the oldest go first, so that no journal has a gap: whoever is behind its beginning finds nothing.

        Args:
            limit: How many steps at most, 1 to 10,000.

        Returns:
            How many went; fewer than `limit` once no more are to go.
        """
        ...

    def compact(self, after: int, limit: int, before: datetime) -> int | None:
        """Let go of DHCP's promises in a stretch of the ledger, of addresses that were given back since.

        Each becomes a `LeaseCompacted` in its place: no sequence is missing, and the tables follow from the ledger as
        before. Nothing else is touched.

        Args:
            after: The sequence before the stretch, and `limit` its length at most, 1 to 100,000.
            before: Only what is older.

        Returns:
            The end of the stretch, to go on from; None once everything that is older was looked at.
        """
        ...

    def close(self) -> None:
        """Let go of every connection."""
        ...
