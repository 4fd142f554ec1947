"""What was read by key for a batch, as an overlay: later uses see what earlier ones did.

State does not hold handles, names or MACs (ten million of them do not fit);
the store reads the ones that a batch's uses want, once for all of them.
Asking for a key that was not wanted is a bug and raises KeyError.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from tenure.engine.images import Image, Key, net
from tenure.model.holding import Allocation, Attachment, Claim
from tenure.model.machines import Interface, Machine
from tenure.model.observed import Observation

Undo = Callable[[], object]

WARNED_BEFORE: Final = timedelta(days=1)
"""How long before its end a claim's owner is told of it."""

MOST_QUEUED: Final = 256
"""How many of those that queue in a network are read at once."""

MOST_ALIKE: Final = 1000
"""How many names that look like a template's are read at once."""

Alike = tuple[str, str, str, str]
"""A vrf's id, a domain (absolute), and how names relative to it begin and end."""


def queue_group(claim: Claim) -> tuple[str | None, str | None, str]:
    """What claims that wait in order have in common where they wait for the same: host, subnet and family."""
    return claim.host, claim.request.subnet, claim.request.family or "v4"


@dataclass(slots=True)
class Wanted:
    """Keys to read.

    What hangs on them is read too: a claim brings its open allocations, those that stand behind it, its machine and
    its interface with what is used on that, a pending one the open allocations that carry its hostname, the
    reservation that it is to use, an allocation its claim, that of its lender, that which it stands behind, and its
    attachments, an address its observation, a MAC or a machine its interfaces, an interface its machine, its open
    allocations and its pending claims, a host its open claims, a machine its open claims and the open allocations
    that carry its name in lower case. What only hangs on something brings no more than what makes it whole: a claim
    its open allocations, its machine and its interface, an allocation its attachments.

    Attributes:
        handles: (project, handle) of open claims.
        claims: Claim ids, open or closed.
        hostnames: Relative names of open allocations.
        addresses: (vrf id, canonical text) of open allocations, and of the latest closed one still resting.
        macs: Of open interfaces. interfaces: their ids.
        observed: (vrf id, canonical text) of addresses whose observation is to be read, however old.
        machines: Names or ids of open machines.
        tokens: Names or ids of open tokens.
        hosts: Ids of locations whose open claims are all to be read.
        spread: Ids of subnets of which to read at which hosts their addresses are held.
        last: (project, handle) of leases and machines' claims that were released: what the latest held at its end,
            the latest closed allocation of each of these addresses that rests still, and its observation.
        homes: Names or ids of machines, or MACs, that are wanted too, of whose interfaces to read `last`: what they
            were given by themselves before.
        holders: (kind, id, first, last): who holds something there, for a refusal to name. Kind is `network`,
            `subnet`, `location`, `machine`; first and last are canonical texts for part of a subnet, else "". Or
            (`below`, vrf id, domain, hostname): whose names in that domain, relative to it, lie below that one.
        alike: Names that look like a template's: open allocations of networks with this domain that are called so
            and, read as `{ip-dashed}` or `{ip-hex}`, like another address than theirs; `MOST_ALIKE` of each.
        called: Whether every claim that is read, and every wanted address, brings the open allocations that carry
            its hostname.
        expired: How many dynamic leases whose promise ended before `now` to read (with claim and attachments).
        settling: How many claims whose hand-over is over at `now` to read.
        expiring: How many claims to read whose end has come, or is near (`WARNED_BEFORE`) and was not told.
        naming: How many allocations to read whose name is to follow at `now`.
        queued: (network id, skip): networks whose claims that wait in order are to be read. Those that ask for the
            same (host, subnet and family) are a group; groups come by their oldest. After so many groups that many
            more, `MOST_QUEUED`, are looked at; of these each one's oldest, then each one's next, `MOST_QUEUED` in all.
        harvest: (network id, unseen before, allowed, limit): claims that may be harvested. They are a machine's for
            life, neither static nor asked for by name; the machine is not deployed, was not seen since then, nor
            given the claim since then; and the claim's `harvest`, else the machine's, else `allowed` allows it.
        renumbering: (subnet id, static, promised, limit): open allocations that a renumbering of the subnet has still
            to move: no leases, none that is being replaced; those of static claims only if `static`;
            and none whose DHCP promise lasts longer than till `promised`.
    """

    handles: set[tuple[str, str]] = field(default_factory=set)
    claims: set[str] = field(default_factory=set)
    hostnames: set[str] = field(default_factory=set)
    addresses: set[tuple[str, str]] = field(default_factory=set)
    macs: set[str] = field(default_factory=set)
    machines: set[str] = field(default_factory=set)
    tokens: set[str] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)
    spread: set[str] = field(default_factory=set)
    last: set[tuple[str, str]] = field(default_factory=set)
    homes: set[str] = field(default_factory=set)
    holders: set[tuple[str, str, str, str]] = field(default_factory=set)
    interfaces: set[str] = field(default_factory=set)
    observed: set[tuple[str, str]] = field(default_factory=set)
    queued: set[tuple[str, int]] = field(default_factory=set)
    harvest: set[tuple[str, datetime, bool, int]] = field(default_factory=set)
    renumbering: set[tuple[str, bool, datetime, int]] = field(default_factory=set)
    alike: set[Alike] = field(default_factory=set)
    called: bool = False
    expired: int = 0
    settling: int = 0
    expiring: int = 0
    naming: int = 0

    def add(self, other: "Wanted") -> None:
        """Want what `other` wants too."""
        for name in _KEYS:
            getattr(self, name).update(getattr(other, name))
        for name in _MOST:
            setattr(self, name, max(getattr(self, name), getattr(other, name)))


_KEYS = (
    "handles", "claims", "hostnames", "addresses", "macs", "machines", "tokens", "hosts", "spread", "last", "holders",
    "homes", "interfaces", "observed", "queued", "harvest", "renumbering", "alike",
)  # fmt: skip
_MOST = ("called", "expired", "settling", "expiring", "naming")


class Facts:
    """The rows that a batch sees, and the net of what it writes.

    The store fills it with `know_*`; the planners read the indexes and call
    `reduce` with the images of each event, which returns its undo.

    Attributes:
        claims: Claim by id. handles: id of the open claim by (project, handle), or None.
        held: Open allocations of a claim by id. addresses: open allocation by (vrf, ip), or None.
        named: Open allocations by hostname, then id. behind: Ids of open ones that stand behind a claim.
        attached: Open attachments by allocation id, then interface id.
        interfaces, machines: By id. macs, machine_names: id by MAC and by name, or None.
        ports: Interface ids of a machine. uses: allocation ids of an interface.
        pending: Ids of pending claims of an interface. claimed: ids of open claims of a machine.
        last: Latest allocation under a handle whose claim was released, where it was wanted (of several the IPv4 one).
        former: All that that claim held at its end, IPv4 first.
        rests: The latest closed allocation of an address, by (vrf, ip), where it was read or closed in this batch.
        observations: By (vrf, ip), or None.
        tokens: Open tokens by id. token_names: id by name, or None.
        holders: For each wanted one: the first 20 labels, and how many there are.
        standing: Ids of the open claims of each host that was wanted.
        spread: Of each subnet that was wanted: by host (None: without one) the first address held there, and how
            many; as they were read.
        expired: Allocation ids of dynamic leases that may be closed.
        settling: Ids of claims whose hand-over may be over.
        expiring: Ids of claims whose end has come or is near, the earliest end first.
        naming: Ids of allocations whose name is to follow, the earliest first.
        queued: Ids of claims that wait in order, by network, the oldest first.
        harvest: Ids of claims that may be harvested, by network, those unseen longest first.
        renumbering: Ids of allocations that are to be moved, by subnet, in order of their addresses.
        alike: Of each that was wanted the open allocations, and others of the vrf that the batch knows or gives and
            that are called so: these may be of other networks, and read like no address.
        left: How many there are of them, by subnet, with those beyond the limit and those promised for longer.
        net: What the batch writes so far, one image a key.
    """

    def __init__(self) -> None:
        self.claims: dict[str, Claim] = {}
        self.handles: dict[tuple[str, str], str | None] = {}
        self.held: dict[str, dict[str, Allocation]] = {}
        self.allocations: dict[str, Allocation] = {}
        self.addresses: dict[tuple[str, str], Allocation | None] = {}
        self.named: dict[str, dict[str, Allocation]] = {}
        self.behind: dict[str, dict[str, None]] = {}
        self.attached: dict[str, dict[str, Attachment]] = {}
        self.interfaces: dict[str, Interface] = {}
        self.machines: dict[str, Machine] = {}
        self.macs: dict[str, str | None] = {}
        self.machine_names: dict[str, str | None] = {}
        self.ports: dict[str, dict[str, None]] = {}
        self.uses: dict[str, dict[str, None]] = {}
        self.pending: dict[str, dict[str, None]] = {}
        self.claimed: dict[str, dict[str, None]] = {}
        self.tokens: dict[str, Any] = {}
        self.token_names: dict[str, str | None] = {}
        self.holders: dict[tuple[str, str, str, str], tuple[list[str], int]] = {}
        self.last: dict[tuple[str, str], Allocation] = {}
        self.standing: dict[str, dict[str, None]] = {}
        self.spread: dict[str, dict[str | None, tuple[str, int]]] = {}
        self.former: dict[tuple[str, str], tuple[Allocation, ...]] = {}
        self.rests: dict[tuple[str, str], Allocation] = {}
        self.observations: dict[tuple[str, str], Observation | None] = {}
        self.expired: list[str] = []
        self.settling: list[str] = []
        self.expiring: list[str] = []
        self.naming: list[str] = []
        self.queued: dict[str, list[str]] = {}
        self.harvest: dict[str, list[str]] = {}
        self.renumbering: dict[str, list[str]] = {}
        self.left: dict[str, int] = {}
        self.alike: dict[Alike, list[Allocation]] = {}
        self.net: dict[tuple[str, Key], Image] = {}

    def want(self, wanted: Wanted) -> None:
        """Make every wanted key known as absent, before the rows that are there are put."""
        _absent(self.handles, wanted.handles)
        _absent(self.addresses, wanted.addresses)
        _absent(self.observations, wanted.addresses)
        _absent(self.observations, wanted.observed)
        _absent(self.macs, wanted.macs)
        _absent(self.machine_names, wanted.machines)
        _absent(self.token_names, wanted.tokens)
        _empty(self.named, wanted.hostnames, dict)
        _empty(self.standing, wanted.hosts, dict)
        _empty(self.spread, wanted.spread, dict)
        _empty(self.queued, (network for network, _ in wanted.queued), list)
        _empty(self.harvest, (network for network, *_ in wanted.harvest), list)
        _empty(self.renumbering, (subnet for subnet, *_ in wanted.renumbering), list)
        _empty(self.alike, wanted.alike, list)
        _empty(self.left, self.renumbering, int)

    def remember(self, handle: tuple[str, str], held: Iterable[Allocation]) -> None:
        """Know what the latest released claim under a handle held at its end."""
        self.former[handle] = tuple(sorted(held, key=lambda row: (":" in row.ip, row.ip)))
        self.last[handle] = self.former[handle][0]

    def put(self, table: str, row: Any) -> None:
        """Know a row that the store read."""
        _INDEXES[table](self, row)

    def reduce(self, found: tuple[Image, ...]) -> list[Undo]:
        """Take in the images of one event; the undos restore what was known, last first."""
        return [self._take(image) for image in found]

    def _take(self, image: Image) -> Undo:
        table, key, row, new = image
        before = net(self.net, image)
        old = None
        rest = self.rests.get((row.vrf, row.ip)) if table == "allocations" else None
        indexed = table in _INDEXES
        if indexed:
            # What is new was not known before; to look would cost each claim three look-ups.
            old = None if new else self._known(table, key)
            _replace(self, table, old, row)

        def undo() -> None:
            if indexed:
                _replace(self, table, row, old)
            if table == "allocations":
                _set_back(self.rests, (row.vrf, row.ip), rest)
            if before is None:
                del self.net[table, key]
            else:
                self.net[table, key] = before

        return undo

    def _known(self, table: str, key: Key) -> Any:
        if table == "attachments":
            return self.attached.get(key[0], {}).get(key[1])
        if table == "observations":
            return self.observations.get((key[0], key[1]))
        return getattr(self, table).get(key[0])


def _set_back(known: dict[Any, Any], key: Any, before: Any) -> None:
    if before is None:
        known.pop(key, None)
    else:
        known[key] = before


def _absent(known: dict[Any, Any], keys: Iterable[Any]) -> None:
    for key in keys:
        known.setdefault(key, None)


def _empty(known: dict[Any, Any], keys: Iterable[Any], nothing: Callable[[], Any]) -> None:
    for key in keys:
        known.setdefault(key, nothing())


def _replace(facts: Facts, table: str, old: Any, new: Any) -> None:
    if new is not None:
        _INDEXES[table](facts, new)
    elif old is not None:
        _FORGETS[table](facts, old)


def _put_claim(facts: Facts, claim: Claim) -> None:
    old = facts.claims.get(claim.id)
    if facts.standing:
        _stand(facts, old, claim)
    if old is not None:
        _let_go(facts, old, claim)
    facts.claims[claim.id] = claim
    if claim.request.hostname is not None:
        facts.named.setdefault(claim.request.hostname, {})
    handle = (claim.project, claim.handle)
    if claim.until is None:
        facts.handles[handle] = claim.id
        facts.held.setdefault(claim.id, {})
        if claim.machine is not None:
            facts.claimed.setdefault(claim.machine, {})[claim.id] = None
    elif facts.handles.get(handle) == claim.id:
        facts.handles[handle] = None
    if claim.until is not None and claim.machine is not None:
        facts.claimed.get(claim.machine, {}).pop(claim.id, None)
    if claim.interface is not None:
        waiting = facts.pending.setdefault(claim.interface, {})
        if claim.state == "pending":
            waiting[claim.id] = None
        else:
            waiting.pop(claim.id, None)


def _let_go(facts: Facts, old: Claim, new: Claim) -> None:
    """A claim may go to another machine and interface."""
    if old.machine is not None and old.machine != new.machine:
        facts.claimed.get(old.machine, {}).pop(old.id, None)
    if old.interface is not None and old.interface != new.interface:
        facts.pending.get(old.interface, {}).pop(old.id, None)


def _stand(facts: Facts, old: Claim | None, new: Claim | None) -> None:
    """Claims that come to a host that was wanted, or leave it."""
    if old is not None and old.host in facts.standing:
        facts.standing[old.host].pop(old.id, None)
    if new is not None and new.until is None and new.host in facts.standing:
        facts.standing[new.host][new.id] = None


def _forget_claim(facts: Facts, claim: Claim) -> None:
    _stand(facts, claim, None)
    facts.claims.pop(claim.id, None)
    if facts.handles.get((claim.project, claim.handle)) == claim.id:
        facts.handles[claim.project, claim.handle] = None
    if claim.machine is not None:
        facts.claimed.get(claim.machine, {}).pop(claim.id, None)
    if claim.interface is not None:
        facts.pending.get(claim.interface, {}).pop(claim.id, None)


def _put_allocation(facts: Facts, row: Allocation) -> None:
    known = facts.allocations.get(row.id)
    if row.until is not None:
        _unindex_allocation(facts, known or row)
        facts.allocations[row.id] = row
        facts.rests[row.vrf, row.ip] = row
        return
    if known is not None and (known.hostname, known.behind) != (row.hostname, row.behind):
        _unindex_allocation(facts, known)
    facts.allocations[row.id] = row
    facts.held.setdefault(row.claim, {})[row.id] = row
    facts.addresses[row.vrf, row.ip] = row
    if row.hostname is not None:
        facts.named.setdefault(row.hostname, {})[row.id] = row
    if row.behind is not None:
        facts.behind.setdefault(row.behind, {})[row.id] = None
    if facts.alike and row.hostname is not None:
        _put_alike(facts, row, row.hostname)


def _put_alike(facts: Facts, row: Allocation, hostname: str) -> None:
    for (vrf, _, before, after), found in facts.alike.items():
        if row.vrf == vrf and hostname.startswith(before) and hostname.endswith(after):
            found[:] = [*(held for held in found if held.id != row.id), row]


def _unindex_allocation(facts: Facts, row: Allocation) -> None:
    facts.allocations.pop(row.id, None)
    facts.held.get(row.claim, {}).pop(row.id, None)
    known = facts.addresses.get((row.vrf, row.ip))
    if known is not None and known.id == row.id:
        facts.addresses[row.vrf, row.ip] = None
    if row.hostname is not None:
        facts.named.get(row.hostname, {}).pop(row.id, None)
    if row.behind is not None:
        facts.behind.get(row.behind, {}).pop(row.id, None)
    for found in facts.alike.values():
        found[:] = [held for held in found if held.id != row.id]


def _put_attachment(facts: Facts, row: Attachment) -> None:
    if row.until is not None:
        _forget_attachment(facts, row)
        return
    facts.attached.setdefault(row.allocation, {})[row.interface] = row
    facts.uses.setdefault(row.interface, {})[row.allocation] = None


def _forget_attachment(facts: Facts, row: Attachment) -> None:
    facts.attached.get(row.allocation, {}).pop(row.interface, None)
    facts.uses.get(row.interface, {}).pop(row.allocation, None)


def _put_interface(facts: Facts, row: Interface) -> None:
    old = facts.interfaces.get(row.id)
    if old is not None and old.mac != row.mac and facts.macs.get(old.mac) == row.id:
        facts.macs[old.mac] = None
    facts.interfaces[row.id] = row
    facts.macs[row.mac] = row.id
    facts.ports.setdefault(row.machine, {})[row.id] = None


def _forget_interface(facts: Facts, row: Interface) -> None:
    facts.interfaces.pop(row.id, None)
    if facts.macs.get(row.mac) == row.id:
        facts.macs[row.mac] = None
    facts.ports.get(row.machine, {}).pop(row.id, None)


def _put_machine(facts: Facts, row: Machine) -> None:
    old = facts.machines.get(row.id)
    if old is not None and old.name != row.name and facts.machine_names.get(old.name) == row.id:
        facts.machine_names[old.name] = None
    facts.machines[row.id] = row
    facts.named.setdefault(row.name.lower(), {})
    facts.machine_names[row.name] = row.id
    facts.machine_names[row.id] = row.id


def _forget_machine(facts: Facts, row: Machine) -> None:
    facts.machines.pop(row.id, None)
    for name in (row.name, row.id):
        if facts.machine_names.get(name) == row.id:
            facts.machine_names[name] = None


def _put_token(facts: Facts, row: Any) -> None:
    facts.tokens[row.id] = row
    facts.token_names[row.name] = row.id
    facts.token_names[row.id] = row.id


def _forget_token(facts: Facts, row: Any) -> None:
    facts.tokens.pop(row.id, None)
    facts.token_names[row.name] = None
    facts.token_names[row.id] = None


def _put_observation(facts: Facts, row: Observation) -> None:
    facts.observations[row.vrf, row.ip] = row


def _forget_observation(facts: Facts, row: Observation) -> None:
    facts.observations[row.vrf, row.ip] = None


_INDEXES: dict[str, Callable[[Facts, Any], None]] = {
    "claims": _put_claim,
    "allocations": _put_allocation,
    "attachments": _put_attachment,
    "interfaces": _put_interface,
    "machines": _put_machine,
    "tokens": _put_token,
    "observations": _put_observation,
}

_FORGETS: dict[str, Callable[[Facts, Any], None]] = {
    "claims": _forget_claim,
    "allocations": _unindex_allocation,
    "attachments": _forget_attachment,
    "interfaces": _forget_interface,
    "machines": _forget_machine,
    "tokens": _forget_token,
    "observations": _forget_observation,
}
