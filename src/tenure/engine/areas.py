"""What a block is to the allocator, and whom it was cut from."""

from collections import OrderedDict
from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from tenure.engine.buddy import Buddy
from tenure.engine.page import FULL, LOW, PAGE
from tenure.engine.spans import Spans
from tenure.model.policy import BlockKind
from tenure.net.addresses import prefix_text

Key = tuple[int, int]


class Slice:
    """A block over the pages.

    Attributes:
        first, last: Its addresses, both included. size: How many they are. text: `10.0.3.64/28`.
        mask: Its addresses on a page that it lies on.
        kind: Whose level it is of.
        lender: The host block that it lies in, where it is a loan; else None.
        loans: The loans in it, or None where there are none.
        free: Addresses in it, and in no loan, that a claim could have now (host blocks only).
        held: Addresses in it, and in no loan, that somebody holds.
        emptied: Since when it holds nothing; None while it does.
    """

    __slots__ = (
        "_area", "bucket", "emptied", "first", "free", "held", "key", "kind", "last", "lender", "length", "loans",
        "mask", "owner", "size", "text",
    )  # fmt: skip

    def __init__(self, first: int, length: int, width: int, owner: str | None, kind: BlockKind) -> None:
        self.first = first
        self.length = length
        self.key: Key = (first, length)
        self.size = 1 << (width - length)
        self.last = first + self.size - 1
        self.mask = FULL if self.size > PAGE else (1 << self.size) - 1 << (first & LOW)
        self.owner = owner
        self.kind = kind
        self._area: Area | None = None
        self.text = prefix_text(4 if width == 32 else 6, first, length)
        self.lender: Slice | None = None
        self.loans: Spans[Slice] | None = None
        self.free = self.held = 0
        self.bucket = 0
        self.emptied: datetime | None = None

    @property
    def area(self) -> "Area":
        """What a host block was cut from; a loan's is its lender's."""
        if self._area is None:
            raise AssertionError(f"{self.text} is no host block")
        return self._area

    @area.setter
    def area(self, area: "Area") -> None:
        self._area = area

    @property
    def is_empty(self) -> bool:
        """Whether nobody holds anything in it, and nothing of it is lent."""
        return not self.held and self.loans is None

    def lend(self, loan: "Slice") -> None:
        """A block in it is a loan of it from now on."""
        loan.lender = self
        if self.loans is None:
            self.loans = Spans()
        self.loans.add(loan)

    def end_loan(self, loan: "Slice") -> None:
        """One of its loans has gone."""
        if self.loans is not None:
            self.loans.drop(loan)
            self.loans = self.loans or None


Slices = OrderedDict[Key, Slice]
"""Ordered by when they came in; unlike a dict's, its first is found at once, however many went before."""

Index = dict[str | None, Slices]
"""By owner; who has none is not in it."""


def drop(index: Index, block: Slice) -> None:
    """A block belongs into an index no longer, if it did."""
    slices = index.get(block.owner)
    if slices is not None:
        slices.pop(block.key, None)
        if not slices:
            del index[block.owner]


class Lenders:
    """Host blocks with a free address, so that those with the most are found first.

    A bucket for each power of two; a block changes its bucket only when its free addresses pass one.
    """

    __slots__ = ("_buckets",)

    def __init__(self) -> None:
        self._buckets: dict[int, Slices] = {}

    def __bool__(self) -> bool:
        """Whether there is one."""
        return bool(self._buckets)

    def move(self, block: Slice, bucket: int) -> None:
        """A block belongs into another bucket than `block.bucket`; 0 is none."""
        if block.bucket:
            before = self._buckets[block.bucket]
            del before[block.key]
            if not before:
                del self._buckets[block.bucket]
        if bucket:
            self._buckets.setdefault(bucket, OrderedDict())[block.key] = block

    def richest(self, count: int) -> Iterator[Slice]:
        """Some that have the most free addresses, by powers of two; at most `count`."""
        richest = (block for bucket in sorted(self._buckets, reverse=True) for block in self._buckets[bucket].values())
        return islice(richest, count)

    def keys(self) -> set[Key]:
        """All of them."""
        return {key for bucket in self._buckets.values() for key in bucket}


class Area:
    """What one location (or, for the root, nobody) has to cut narrower blocks from.

    Attributes:
        owner: Location id, "" for claims without a host, or None for what nobody owns.
        pieces: Its own blocks by key.
        free: What of them is in no narrower block.
        lenders: Host blocks cut from it, no loans, that have a free address.
        vacant: Those of them that hold nothing, about the longest empty first.
    """

    __slots__ = ("free", "lenders", "owner", "pieces", "vacant")

    def __init__(self, owner: str | None, free: Buddy) -> None:
        self.owner = owner
        self.free = free
        self.pieces: Slices = OrderedDict()
        self.lenders = Lenders()
        self.vacant: Slices = OrderedDict()
