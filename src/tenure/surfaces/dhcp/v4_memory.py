"""Leases that this node has seen granted, so that a renewal inside a promise needs no writer."""

from collections import OrderedDict
from collections.abc import Callable

from msgspec import structs

from tenure.model.leases import Lease
from tenure.model.uses import LeaseCommit

_RECENT = 4096
_SHORTEST_REMNANT = 60
_ANY = ""
"""What concerns every dynamic lease."""
_FROM_MEMORY = frozenset(("init-reboot", "renewing", "rebinding"))


class Promises:
    """Granted leases by address, the latest `capacity` of them.

    Nothing is answered beyond what was made durable (`held_until`), nor to another client, nor on
    another link. What is forgotten while an answer of the writer is under way stays
    forgotten: take a `mark` before submitting, and give it to `remember`.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._leases: OrderedDict[int, tuple[str, float, Lease]] = OrderedDict()
        self._dynamic: dict[str, dict[str, int]] = {}  # by subnet and MAC
        self._clients: dict[str, dict[str, int]] = {}  # the same by MAC and subnet
        self._tick = 0
        self._forgotten: OrderedDict[int | str, int] = OrderedDict()
        self._floor = 0

    def __len__(self) -> int:
        return len(self._leases)

    def mark(self) -> int:
        """The present moment, as `remember` wants it."""
        return self._tick

    def remember(self, mac: str, lease: Lease, mark: int) -> None:
        """Keep a lease that was granted to `mac`, unless it was forgotten since `mark` or promises nothing."""
        concerned: list[int | str] = [lease.address, mac]
        if lease.dynamic:
            concerned.append(_ANY)
        forgotten = max(self._forgotten.get(what, self._floor) for what in concerned)
        if lease.held_until is None or forgotten > mark:
            return
        self._drop(lease.address)
        self._leases[lease.address] = (mac, lease.held_until.timestamp(), lease)
        if lease.dynamic:
            self._dynamic.setdefault(lease.subnet, {})[mac] = lease.address
            self._clients.setdefault(mac, {})[lease.subnet] = lease.address
        if len(self._leases) > self._capacity:
            self._drop(next(iter(self._leases)))

    def recall(self, use: LeaseCommit, now: float) -> Lease | None:
        """The lease that answers `use` in full, if the whole of its time is promised already.

        Args:
            now: Seconds since 1970, of the clock that `held_until` was read from.
        """
        found = self._find(use)
        return found[1] if found and now + found[1].lease_time <= found[0] else None

    def remnant(self, use: LeaseCommit, now: float) -> Lease | None:
        """For when the store is away: the lease, for what is left of its promise; None below a minute."""
        found = self._find(use)
        if found is None:
            return None
        until, lease = found
        left = min(int(until - now), lease.lease_time)
        return structs.replace(lease, lease_time=left) if left >= _SHORTEST_REMNANT else None

    def _find(self, use: LeaseCommit) -> tuple[float, Lease] | None:
        entry = self._leases.get(use.address)
        if entry is None or use.form not in _FROM_MEMORY:
            return None
        mac, until, lease = entry
        return (until, lease) if mac == use.client.mac and _on_link(use.place.link, lease) else None

    def forget(self, address: int) -> None:
        """Answer nothing about `address` until it is granted again."""
        self._bar(address)
        self._drop(address)

    def give_back(self, mac: str, address: int) -> None:
        """Forget a lease that its client is done with; nobody else can take it away."""
        if self._leases.get(address, (mac,))[0] == mac:
            self.forget(address)

    def forget_client(self, mac: str) -> None:
        """Forget the dynamic leases of a client, on whichever subnets."""
        self._bar(mac)
        for address in list(self._clients.get(mac, {}).values()):
            self._drop(address)

    def forget_dynamic(self, but: Callable[[str], bool] = lambda subnet: False) -> None:
        """Forget dynamic leases, without those of subnets (ids) that are kept.

        Cost: of each one forgotten, once; and of each subnet that has some.
        """
        self._bar(_ANY)
        for subnet in [subnet for subnet in self._dynamic if not but(subnet)]:
            for address in list(self._dynamic[subnet].values()):
                self._drop(address)

    def forget_all(self) -> None:
        """Forget everything, what is under way included: after a lost feed, or in a new epoch."""
        self._tick += 1
        self._floor = self._tick
        self._forgotten.clear()
        self._leases.clear()
        self._dynamic.clear()
        self._clients.clear()

    def _bar(self, what: int | str) -> None:
        """Let no answer that is under way bring it back."""
        self._tick += 1
        self._forgotten[what] = self._tick
        self._forgotten.move_to_end(what)
        if len(self._forgotten) > _RECENT:
            _, self._floor = self._forgotten.popitem(last=False)

    def _drop(self, address: int) -> None:
        mac, _, lease = self._leases.pop(address, ("", 0.0, None))
        if lease is not None and self._dynamic.get(lease.subnet, {}).get(mac) == address:
            _take(self._dynamic, lease.subnet, mac)
            _take(self._clients, mac, lease.subnet)


def _take(found: dict[str, dict[str, int]], first: str, second: str) -> None:
    del found[first][second]
    if not found[first]:
        del found[first]


def _on_link(link: int | None, lease: Lease) -> bool:
    return link is not None and (link ^ lease.address) >> (32 - lease.prefix_length) == 0
