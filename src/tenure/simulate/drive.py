"""What is driven: an allocator that answers for a world, and the figures that are read from it."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from tenure.simulate.world import World


class Figures(NamedTuple):
    """What an allocator looks like at a moment.

    Attributes:
        fabric: Routes of a router to which every host is a next hop.
        spine: Routes of one to which every rack is.
        blocks: Blocks that hosts own.
        loose: Addresses used away from their block's owner: a route of the fabric each.
        live: Addresses that are held.
        free: Usable addresses that are not, whoever may have them.
        least_fabric, least_spine: The fewest routes that deliver every address, with the blocks as they are.
        updates: Routes announced to and withdrawn from the fabric's router since the start.
    """

    fabric: int
    spine: int
    blocks: int
    loose: int
    live: int
    free: int
    least_fabric: int = 0
    least_spine: int = 0
    updates: int = 0


class Drive(Protocol):
    """An allocator on a site. Hosts, racks and workloads are numbers; a workload's number comes once.

    Attributes:
        capacity: Addresses that can be given out, at most.
    """

    capacity: int

    def claim(self, workload: int, host: int) -> bool:
        """Give a workload on a host an address; False is refused."""

    def release(self, workload: int) -> bool:
        """Take back what a workload holds; False if it holds nothing (any more): the release is stale."""

    def move(self, workload: int, host: int, renumber: bool) -> bool:
        """Let a workload be on this host, with its address or a new one; False is refused, and all stays."""

    def replace(self, host: int) -> None:
        """The host is another from now on, under the same name; the old one goes when all it held is released."""

    def add_rack(self, rack: int, hosts: tuple[int, ...]) -> None:
        """A rack of new hosts."""

    def remove_rack(self, rack: int) -> None:
        """A rack goes, with its hosts, which hold nothing."""

    def tick(self, now: float) -> None:
        """Time is `now`, in seconds from the start: once a simulated minute, and before figures are read."""

    def figures(self) -> Figures:
        """The figures of now. Asked for every simulated hour: it may cost a walk over everything."""


Make = Callable[[World], Drive]
"""Makes an allocator for a world; a function of a module, because other processes call it too."""
