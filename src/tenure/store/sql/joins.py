"""What hangs on claims and allocations, read for all of a page at once."""

from collections.abc import Iterable, Sequence
from ipaddress import ip_network
from typing import Any

import msgspec
from sqlalchemy import select

from tenure.model.addressing import Network, Subnet
from tenure.model.answers import HeldAddress, Holding, MachineWithInterfaces
from tenure.model.holding import Allocation, Attachment, Claim
from tenure.model.machines import Interface, Machine
from tenure.model.policy import STANDINGS
from tenure.store.interface import KnownAddress
from tenure.store.sql import rows as r
from tenure.store.sql import tables as t
from tenure.store.sql.pages import Snapshot

CLAIM = [t.claims.c[name] for name in r.CLAIM]
ATTACHMENT = [t.attachments.c[name] for name in r.ATTACHMENT]
ALLOCATION = [t.allocations.c[name] for name in r.ALLOCATION]

_subnet = msgspec.json.Decoder(Subnet).decode
_network = msgspec.json.Decoder(Network).decode
_machine = msgspec.json.Decoder(Machine).decode
_interface = msgspec.json.Decoder(Interface).decode


def holdings(at: Snapshot, claims: Sequence[Claim]) -> list[Holding]:
    """Claims with the addresses that they hold now."""
    c = t.allocations.c
    query = select(*ALLOCATION).where(c.claim.in_([claim.id for claim in claims]), c.until.is_(None))
    allocations = [r.allocation_of(row) for row in at.all(query.order_by(c.length, c.address))]
    shown: dict[str, list[HeldAddress]] = {}
    for allocation, held in zip(allocations, held_addresses(at, allocations), strict=True):
        shown.setdefault(allocation.claim, []).append(held)
    return [Holding(claim=claim, addresses=tuple(shown.get(claim.id, ()))) for claim in claims]


def held_addresses(at: Snapshot, allocations: Sequence[Allocation]) -> list[HeldAddress]:
    """Allocations with what their users need to configure them; a subnet that was closed since still tells."""
    subnets = {s.id: s for s in _bodies(at, t.subnets, {a.subnet for a in allocations}, _subnet)}
    networks = {n.id: n for n in _bodies(at, t.networks, {s.network for s in subnets.values()}, _network)}
    return [_held(a, subnets[a.subnet], networks[subnets[a.subnet].network]) for a in allocations]


def _held(allocation: Allocation, subnet: Subnet, network: Network) -> HeldAddress:
    named = allocation.hostname is not None and network.domain is not None
    return HeldAddress(
        ip=allocation.ip,
        prefix_length=int(subnet.cidr.partition("/")[2]),
        subnet=subnet.id,
        gateway=subnet.gateway,
        dns_servers=subnet.dns_servers,
        block=allocation.block,
        title=allocation.title,
        name=f"{allocation.hostname}.{network.domain}" if named else None,
        held_until=allocation.held_until,
        standing=allocation.standing,
    )


def known_addresses(at: Snapshot, allocations: Sequence[Allocation]) -> list[KnownAddress]:
    """Allocations with claim, interfaces and machines."""
    claims = {claim.id: claim for claim in claims_by_id(at, {a.claim for a in allocations})}
    ports = _attached(at, allocations)
    named = {port.machine for found in ports.values() for port in found}
    named |= {claim.machine for claim in claims.values() if claim.machine is not None}
    machines = {m.id: m for m in _bodies(at, t.machines, named, _machine)}
    found = []
    for allocation, held in zip(allocations, held_addresses(at, allocations), strict=True):
        claim = claims[allocation.claim]
        interfaces = tuple(ports.get(allocation.id, ()))
        ids = dict.fromkeys([*(port.machine for port in interfaces), *_named(claim, allocation, interfaces)])
        its = tuple(machines[id_] for id_ in ids if id_ in machines)
        found.append(KnownAddress(allocation, claim, held, interfaces, its))
    return found


def _named(claim: Claim, allocation: Allocation, interfaces: Sequence[Interface]) -> list[str | None]:
    """The machine that a claim names, as long as the address is its; what it names after that never had it."""
    later = allocation.until is not None and (interfaces or claim.until != allocation.until)
    return [] if later else [claim.machine]


def held_by_machine(at: Snapshot, machines: Sequence[str]) -> dict[str, list[KnownAddress]]:
    """What machines hold: under open claims that name them, and on their interfaces; by standing, then by time."""
    c, a, x, i = t.claims.c, t.allocations.c, t.attachments.c, t.interfaces.c
    wanted = list(machines)
    named = select(a.id).join_from(t.claims, t.allocations, a.claim == c.id)
    named = named.where(c.machine.in_(wanted), c.until.is_(None), a.until.is_(None))
    used = select(x.allocation).join_from(t.interfaces, t.attachments, x.interface == i.id)
    used = used.where(i.machine.in_(wanted), i.until.is_(None), x.until.is_(None))
    query = select(*ALLOCATION).where(a.id.in_(named.union(used)), a.until.is_(None))
    allocations = [r.allocation_of(row) for row in at.all(query.order_by(a.since, a.address))]
    found: dict[str, list[KnownAddress]] = {machine: [] for machine in wanted}
    for known in sorted(known_addresses(at, allocations), key=lambda known: STANDINGS.index(known.held.standing)):
        for machine in known.machines:
            if machine.id in found:
                found[machine.id].append(known)
    return found


def claims_by_id(at: Snapshot, ids: Iterable[str]) -> list[Claim]:
    """Claims, open or closed."""
    return [r.claim_of(row) for row in at.all(select(*CLAIM).where(t.claims.c.id.in_(list(ids))))]


def machines_by_id(at: Snapshot, ids: Iterable[str]) -> dict[str, Machine]:
    """Machines, open or closed, as they were last."""
    return {machine.id: machine for machine in _bodies(at, t.machines, sorted(ids), _machine)}


def interfaces_by_id(at: Snapshot, ids: Iterable[str]) -> dict[str, Interface]:
    """Interfaces, open or closed, as they were last."""
    return {port.id: port for port in _bodies(at, t.interfaces, sorted(ids), _interface)}


def _attached(at: Snapshot, allocations: Sequence[Allocation]) -> dict[str, list[Interface]]:
    """Interfaces by allocation: those attached now, or where it was released, those attached to its end."""
    ends = {a.id: a.until for a in allocations}
    ports = attachments(at, ends)
    interfaces = interfaces_by_id(at, {port.interface for port in ports})
    found: dict[str, list[Interface]] = {}
    for port in ports:
        if port.until == ends[port.allocation]:
            found.setdefault(port.allocation, []).append(interfaces[port.interface])
    return found


def attachments(at: Snapshot, allocations: Iterable[str]) -> list[Attachment]:
    """Which interfaces use allocations, or used them, oldest first; open ones and others have an index each."""
    c = t.attachments.c
    here = select(c.number, *ATTACHMENT).where(c.allocation.in_(sorted(allocations)))
    rows = [*at.all(here.where(c.until.is_(None))), *at.all(here.where(c.until.is_not(None)))]
    return [r.attachment_of(row[1:]) for row in sorted(rows, key=lambda row: row[0])]


def with_interfaces(at: Snapshot, machines: Sequence[Machine]) -> list[MachineWithInterfaces]:
    """Machines with their open interfaces, as they were made."""
    i = t.interfaces.c
    query = select(i.body).where(i.machine.in_([m.id for m in machines]), i.until.is_(None)).order_by(i.since, i.id)
    ports: dict[str, list[Interface]] = {}
    for row in at.all(query):
        port = _interface(row[0])
        ports.setdefault(port.machine, []).append(port)
    return [MachineWithInterfaces(machine, tuple(ports.get(machine.id, ()))) for machine in machines]


def _bodies(at: Snapshot, table: Any, ids: Iterable[str], decode: Any) -> list[Any]:
    return [decode(row[0]) for row in at.all(select(table.c.body).where(table.c.id.in_(list(ids))))]


def span(cidr: str) -> tuple[bytes, bytes]:
    """First and last address of a prefix as bytes."""
    net = ip_network(cidr)
    return net.network_address.packed, net.broadcast_address.packed
