"""What becomes of each datagram before and after the writer: counted, limited, answered from memory, asked.

No socket and no clock: the server gives it datagrams and the time.
"""

from collections import Counter

from msgspec import Struct

from tenure.errors import NotFound, OutcomeUnknown, StoreUnavailable
from tenure.model.leases import Lease
from tenure.model.uses import LeaseCommit, LeaseDecline, LeaseRelease
from tenure.surfaces.dhcp.limits import Buckets
from tenure.surfaces.dhcp.link import Arrival
from tenure.surfaces.dhcp.v4_memory import Promises
from tenure.surfaces.dhcp.v4_options import TYPE
from tenure.surfaces.dhcp.v4_session import Destination, LeaseUse, Result, ask, reply, room
from tenure.surfaces.dhcp.v4_wire import Message, WireError, decode, encode

_NAMES = ("bootp", "discover", "offer", "request", "decline", "ack", "nak", "release", "inform")


class Pending(Struct, frozen=True):
    """A message that waits for the writer; `mark` and `since` say since when."""

    message: Message
    arrival: Arrival
    use: LeaseUse
    mark: int
    since: float


class Outgoing(Struct, frozen=True):
    """An answer, ready to be sent on `interface` from the address `source`."""

    datagram: bytes
    destination: Destination
    interface: str
    source: int


class Desk:
    """Turns datagrams into uses, and results into datagrams.

    Args:
        promises: Leases that may be answered from memory.
        clients: Limit for each client, by its hardware address.
        links: Limit for each link.

    Attributes:
        received, sent: Counts by message type.
        dropped: Counts by reason: `malformed`, `ignored`, `client_rate`, `link_rate`, `no_address`,
            `unknown_link`, `silent`; and, by the server, `overload`, `stale`, `unsent`, `bug`.
        from_memory: How many were answered without the writer.
    """

    def __init__(self, promises: Promises, clients: Buckets, links: Buckets) -> None:
        self.promises = promises
        self.received: Counter[str] = Counter()
        self.sent: Counter[str] = Counter()
        self.dropped: Counter[str] = Counter()
        self.from_memory = 0
        self._clients = clients
        self._links = links

    def hear(self, datagram: bytes, arrival: Arrival, now: float) -> Pending | Outgoing | None:
        """Take one datagram: what must be asked, or the answer at once, or nothing (and a count says why).

        Args:
            now: Seconds since 1970.
        """
        try:
            message = decode(datagram)
        except WireError:
            self.dropped["malformed"] += 1
            return None
        self.received[_type_name(message)] += 1
        use = ask(message, arrival)
        reason = "ignored" if use is None else self._refusal(message, arrival, use, now)
        if use is None or reason:
            self.dropped[reason] += 1
            return None
        if isinstance(use, LeaseRelease | LeaseDecline):
            self.promises.give_back(use.client.mac, use.address)
        elif isinstance(use, LeaseCommit):
            known = self.promises.recall(use, now)
            if known:
                self.from_memory += 1
                return self._write(message, arrival, known)
        return Pending(message, arrival, use, self.promises.mark(), now)

    def _refusal(self, message: Message, arrival: Arrival, use: LeaseUse, now: float) -> str:
        if not arrival.server:
            return "no_address"
        if use.place.link is None:
            return "unknown_link"
        if not self._clients.allow(message.chaddr, now):
            return "client_rate"
        return "" if self._links.allow(use.place.link, now) else "link_rate"

    def answer(self, pending: Pending, result: Result, now: float) -> Outgoing | None:
        """Take the writer's result for a message; None is silence.

        Where the store is away, what was promised already is still given, and no more.
        """
        use = pending.use
        if isinstance(use, LeaseCommit):
            if isinstance(result, StoreUnavailable | OutcomeUnknown):
                result = self.promises.remnant(use, now) or result
            elif isinstance(result, Lease) and result.address == use.address:
                self.promises.remember(use.client.mac, result, pending.mark)
        outgoing = self._write(pending.message, pending.arrival, result)
        if outgoing is None and not isinstance(use, LeaseRelease | LeaseDecline):
            self.dropped["unknown_link" if isinstance(result, NotFound) else "silent"] += 1
        return outgoing

    def give_up(self, pending: Pending, reason: str, now: float) -> Outgoing | None:
        """Take a message that the writer will not be asked about: what was promised already is still given.

        Args:
            reason: What its loss is counted under, if it is one: `overload` or `stale`.
        """
        use = pending.use
        known = self.promises.remnant(use, now) if isinstance(use, LeaseCommit) else None
        if known is None:
            self.dropped[reason] += 1
            return None
        self.from_memory += 1
        return self._write(pending.message, pending.arrival, known)

    def _write(self, message: Message, arrival: Arrival, result: Result) -> Outgoing | None:
        answered = reply(message, arrival, result)
        if answered is None:
            return None
        answer, destination = answered
        self.sent[_type_name(answer)] += 1
        return Outgoing(encode(answer, room(message)), destination, arrival.interface, arrival.server)


def _type_name(message: Message) -> str:
    kind = message.options.get(TYPE, b"\0")[0]
    return _NAMES[kind] if kind < len(_NAMES) else "other"
