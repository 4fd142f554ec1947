"""A subnet as the allocator remembers it: its value and what is set aside in it, over its addresses and blocks."""

from tenure.engine.areas import Slice, Slices
from tenure.engine.blocks import Blocks, Spent
from tenure.engine.page import avoided
from tenure.engine.pages import Ends
from tenure.engine.rooms import Rooms
from tenure.engine.spines import Watch
from tenure.model.addressing import Range, Subnet
from tenure.net.addresses import number_of, parse_prefix, width
from tenure.net.rangeset import Pair, RangeSet

__all__ = ["Slice", "Slices", "Space"]


class Space(Blocks):
    """One subnet's addresses, blocks and counts.

    Attributes:
        subnet: Its value. version: 4 or 6. first, last: As numbers.
        order: Its place among the subnets, by when it was made.
        edges: Addresses that stand for the subnet itself. (`closed` are those, and all that is set aside.)
        loose: Addresses used away from their block's owner, and by which host: each needs a route of its own.
        in_use + cooling + reserved + available is the capacity; what is avoided is reserved.
    """

    def __init__(self, subnet: Subnet, lengths: Pair, ends: Ends, rooms: Rooms["Space"], order: int) -> None:
        prefix = parse_prefix(subnet.cidr)
        super().__init__(subnet.id, int(prefix.network_address), prefix.prefixlen, width(prefix.version), ends)
        self.version: int = prefix.version
        self.prefix_length: int = prefix.prefixlen
        self.subnet = subnet
        self.order = order
        self._rooms = rooms
        self.ranges: dict[str, Range] = {}
        self.nested: dict[str, Pair] = {}
        self.edges = RangeSet()
        self.loose: dict[int, str] = {}
        self.block_length, self.rack_length = lengths
        self.reshape()

    def is_expected(self, number: int) -> bool:
        """Whether an address that nobody holds is used all the same: an edge, the gateway, a DNS server."""
        return number in self.edges or (number, number) in self._fixed()

    def loosen(self, number: int, host: str | None) -> str | None:
        """A host uses an address away from its block's owner (None: nobody does); returns which one did till now."""
        before = self.loose.pop(number, None)
        if host is not None:
            self.loose[number] = host
        if self.watch is not None and host != before:
            self.watch.loosen(number, host)
        return before

    def counts(self, block: Slice) -> tuple[int, int, int]:
        """Held, resting, and closed or avoided addresses of a block; with the free ones they are all of it."""
        held = resting = strange = 0
        for page in self._over(block):
            open_ = block.mask & ~page.closed
            held += (page.used & open_).bit_count()
            resting += (page.resting & open_).bit_count()
            strange += (avoided(page) & open_).bit_count()
        return held, resting, self.closed.within(block.first, block.last).size + strange

    def spent(self) -> list[Spent]:
        """What has been put aside."""
        return self._spent.between(self.first, self.last)

    def show(self, watch: Watch) -> None:
        """Tell somebody of all blocks and loose addresses, and from now on of each change."""
        self.watch = watch
        for first, length, _ in self.regions:
            self._tell_region(first, length)
        for block in self.blocks.values():
            watch.put("block", *block.key, block.owner)
        for number, host in self.loose.items():
            watch.loosen(number, host)

    def adopt(self, old: "Space") -> None:
        """Take over what `old`, the same subnet under another prefix, remembers; `reshape` must follow."""
        self.adopt_pages(old)
        self.adopt_blocks(old)
        self.ranges, self.loose = old.ranges, old.loose

    @property
    def size(self) -> int:
        """All addresses of the prefix."""
        return self.last - self.first + 1

    @property
    def capacity(self) -> int:
        """Addresses that could ever be used: the prefix without its edges."""
        return self.size - self.edges.size

    @property
    def reserved(self) -> int:
        """Addresses kept for something (gateway, DNS servers, ranges, nested subnets), or used by strangers."""
        return self.closed.size - self.edges.size + self.avoided

    def edges_of(self) -> RangeSet:
        """Network and broadcast address (IPv6: subnet-router anycast), unless they may be given out."""
        if self.subnet.use_all_addresses or self.prefix_length >= self.width - 1:
            return RangeSet()
        if self.version == 6:
            return RangeSet.of((self.first, self.first))
        return RangeSet.of((self.first, self.first), (self.last, self.last))

    def reshape(self) -> None:
        """Work out anew what is never given, after the subnet, its ranges or its nested subnets changed.

        Cost: linear in the pages and blocks there are; a change of the inventory, not of a claim.
        """
        self.edges = self.edges_of()
        kept = RangeSet((*self.edges, *self._fixed(), *self.nested.values(), *self._ranges("reserved")))
        dynamic = RangeSet(self._ranges("dynamic"))
        self.close(kept | dynamic, RangeSet.of((self.first, self.last)) - (dynamic - kept))
        self.rebuild()

    def _fixed(self) -> list[Pair]:
        """Gateway and DNS servers, as far as they lie inside."""
        texts = [self.subnet.gateway] if self.subnet.gateway else []
        texts += self.subnet.dns_servers
        numbers = [number_of(text) for text in texts if (":" in text) == (self.version == 6)]
        return [(n, n) for n in numbers if self.first <= n <= self.last]

    def _ranges(self, role: str) -> list[Pair]:
        return [(number_of(r.start), number_of(r.end)) for r in self.ranges.values() if r.role == role]

    def _turned(self) -> None:
        self._rooms.note(self)
