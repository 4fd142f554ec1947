"""Sample things and batches for whoever tests a store: small, valid, and the same each time."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from msgspec.structs import replace

from tenure.engine.facts import Facts, Wanted
from tenure.engine.images import Image, Key, images, net
from tenure.model import events as e
from tenure.model.addressing import Network, Subnet, Vrf
from tenure.model.dnsdata import ZoneChange
from tenure.model.holding import Allocation, Attachment, Claim, ClaimRequest
from tenure.model.machines import Interface, Machine
from tenure.store.interface import Batch, KeyUse, Store

START = datetime(2026, 11, 1, 12, tzinfo=UTC)

VRF = Vrf("5" * 20, "default")
NETWORK = Network(id="6" * 20, name="prod", vrf=VRF.id, domain="prod.example.")
SUBNET = Subnet(id="7" * 20, network=NETWORK.id, vrf=VRF.id, cidr="10.0.0.0/16", gateway="10.0.0.1")
SITE: tuple[e.Event, ...] = (e.VrfCreated(vrf=VRF), e.NetworkCreated(network=NETWORK), e.SubnetCreated(subnet=SUBNET))


def ident(number: int) -> str:
    """An id: 20 hexadecimal digits."""
    return f"{number:020x}"


def claim(number: int, **fields: Any) -> Claim:
    """A bound claim of the sample network."""
    request = ClaimRequest(network=NETWORK.id)
    given = {"handle": f"h-{number}", "project": "default", "since": START, "bound": START, "actor": "token:ci"}
    return Claim(**{"id": ident(number), "network": NETWORK.id, "request": request, **given, **fields})


def allocation(number: int, of: Claim, ip: str, **fields: Any) -> Allocation:
    """An open allocation of a claim in the sample subnet."""
    given = {"vrf": VRF.id, "subnet": SUBNET.id, "length": 128 if ":" in ip else 32, "since": START}
    return Allocation(**{"id": ident(number), "claim": of.id, "ip": ip, **given, **fields})


def given(of: Claim, held: Allocation, port: str | None = None, *, opens: bool = True) -> e.AddressAllocated:
    """An address is given, worn by an interface if one is named."""
    worn = None if port is None else Attachment(allocation=held.id, interface=port, since=held.since)
    return e.AddressAllocated(claim=of, allocation=held, attachment=worn, strategy="first_free", opens=opens)


def taken(of: Claim, held: Allocation, at: datetime = START, rest: int = 300, port: str | None = None) -> e.Event:
    """An address is taken back, and its claim is over unless it goes on (its `until` says so)."""
    over = replace(held, until=at, cooling_until=at + timedelta(seconds=rest))
    worn = () if port is None else (Attachment(allocation=held.id, interface=port, since=held.since, until=at),)
    return e.AddressReleased(claim=of, allocation=over, attachments=worn)


def released(of: Claim, at: datetime = START) -> Claim:
    """The claim after its end."""
    return replace(of, until=at, revision=of.revision + 1)


def machine(number: int, name: str, *macs: str) -> tuple[e.Event, ...]:
    """A machine with an interface for each MAC; ids follow the machine's."""
    made = Machine(ident(number), name)
    ports = (Interface(ident(number + n), made.id, mac) for n, mac in enumerate(macs, 1))
    return (e.MachineCreated(machine=made), *(e.InterfaceCreated(interface=port) for port in ports))


class Scribe:
    """Writes batches into a store, one turn each."""

    def __init__(self, store: Store, name: str = "b") -> None:
        self.store = store
        self._batches = count(1)
        self._name = name

    def batch(self, head: int, events: Sequence[e.Event], *, time: datetime = START, **more: Any) -> Batch:
        """The batch that records these events behind `head`."""
        id_ = f"{self._name}{next(self._batches)}"
        rows: dict[tuple[str, Key], Image] = {}
        for image in (image for event in events for image in images(event)):
            net(rows, image)
        entries = [
            e.Entry(
                sequence=head + n,
                batch=id_,
                change=f"{id_}.{n}",
                time=time,
                actor="token:ci",
                source="127.0.0.1",
                request_id="r-1",
                event=event,
            )
            for n, event in enumerate(events, 1)
        ]
        return Batch(id_, entries, list(rows.values()), **more)

    def write(
        self,
        *events: e.Event,
        keys: Sequence[KeyUse] = (),
        zone_changes: Sequence[ZoneChange] = (),
        digests: dict[str, bytes] | None = None,
        sealed: dict[str, bytes] | None = None,
        epoch: str | None = None,
        time: datetime = START,
    ) -> Batch:
        """Record events in a turn of their own."""
        with self.store.turn() as turn:
            secrets = {"digests": digests or {}, "sealed": sealed or {}}
            more = {"keys": keys, "zone_changes": zone_changes, "epoch": epoch, **secrets}
            batch = self.batch(turn.head.sequence, events, time=time, **more)
            turn.apply(batch)
            turn.commit()
        return batch

    def facts(self, **wanted: Any) -> Facts:
        """Read by key, in a turn that writes nothing."""
        sets: dict[str, Any] = {
            name: set(keys) if isinstance(keys, Iterable) else keys for name, keys in wanted.items()
        }
        with self.store.turn() as turn:
            return turn.facts(Wanted(**sets))
