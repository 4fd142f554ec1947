"""Values to rows and back: times are microseconds since the epoch, addresses their bytes, bodies JSON."""

import socket
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import IPv6Address
from typing import Any, Final

import msgspec

from tenure.model.dnsdata import Record, Zone, ZoneChange
from tenure.model.events import Entry, Event
from tenure.model.holding import Allocation, Attachment, Claim, ClaimRequest
from tenure.model.observed import Observation
from tenure.model.policy import Custom
from tenure.store.interface import DataRefused

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EARLIEST: Final = datetime.min.replace(tzinfo=UTC)
_LATEST: Final = datetime.max.replace(tzinfo=UTC)

Row = tuple[Any, ...]

encode = msgspec.json.Encoder().encode
_event = msgspec.json.Decoder(Event).decode
_request = msgspec.json.Decoder(ClaimRequest).decode
_records = msgspec.json.Decoder(tuple[Record, ...]).decode

LEDGER: Final = (
    "sequence", "batch", "change", "time", "actor", "source", "request_id", "project", "kind", "vrf", "address",
    "claim", "machine", "zone", "body",
)  # fmt: skip
ENTRY: Final = ("sequence", "batch", "change", "time", "actor", "source", "request_id", "body")
CLAIM: Final = (
    "id", "project", "handle", "network", "host", "machine", "interface", "since", "bound", "leaving", "settles",
    "until", "actor", "request", "revision", "kept", "harvest", "expires", "warned", "static", "queued", "more",
)  # fmt: skip
ALLOCATION: Final = (
    "id", "claim", "vrf", "subnet", "address", "length", "since", "hostname", "block", "title", "lease",
    "held_until", "until", "cooling_until", "standing", "behind", "replaces", "named_at", "more",
)  # fmt: skip
ATTACHMENT: Final = ("allocation", "interface", "since", "until")
OBSERVATION: Final = ("vrf", "address", "subnet", "mac", "source", "since", "last", "until", "claim")
ZONE_CHANGE: Final = ("zone", "serial", "sequence", "removed", "added")


class Described(msgspec.Struct, frozen=True, omit_defaults=True):
    """`claims.more`."""

    tags: tuple[str, ...] = ()
    custom: Custom = {}
    named: bool = False


class Lent(msgspec.Struct, frozen=True, omit_defaults=True):
    """`allocations.more`."""

    lender: str | None = None
    waits_until: datetime | None = None
    waits_for: str | None = None


_described = msgspec.json.Decoder(Described).decode
_lent = msgspec.json.Decoder(Lent).decode
_NO_TERMS: Final = [None] * 7
_STANDS_ALONE: Final = [None] * 5


def micros(time: datetime) -> int:
    """Microseconds since the epoch, exactly.

    Raises:
        DataRefused: `time_of` could not give it back: in UTC it is before the year 1 or after 9999.
    """
    if not _EARLIEST <= time <= _LATEST:
        raise DataRefused(f"{time} is no time in UTC")
    since = time - EPOCH
    return (since.days * 86400 + since.seconds) * 1_000_000 + since.microseconds


def maybe_micros(time: datetime | None) -> int | None:
    """Microseconds since the epoch, or None."""
    return None if time is None else micros(time)


def time_of(number: int) -> datetime:
    """The time that many microseconds after the epoch."""
    return EPOCH + timedelta(microseconds=number)


def maybe_time(number: int | None) -> datetime | None:
    """A time, or None."""
    return None if number is None else EPOCH + timedelta(microseconds=number)


def packed(ip: str) -> bytes:
    """4 or 16 bytes in network order."""
    return socket.inet_pton(socket.AF_INET6 if ":" in ip else socket.AF_INET, ip)


def text_of(address: bytes) -> str:
    """Canonical text; inet_ntop writes some IPv6 addresses with dots, which is another spelling."""
    return socket.inet_ntop(socket.AF_INET, address) if len(address) == 4 else str(IPv6Address(address))


def packed_prefix(cidr: str) -> bytes:
    """The first address's bytes, then one byte of length."""
    first, _, length = cidr.partition("/")
    return packed(first) + bytes([int(length)])


def body(value: object) -> str:
    """A value as JSON text."""
    return encode(value).decode()


def ledger_row(entry: Entry) -> Row:
    """An entry with its searchable columns."""
    event = entry.event
    about = event.subject()
    return (
        entry.sequence,
        entry.batch,
        entry.change,
        micros(entry.time),
        entry.actor,
        entry.source,
        entry.request_id,
        about.project,
        event.kind,
        about.vrf,
        None if about.ip is None else packed(about.ip),
        about.claim,
        about.machine,
        about.zone,
        body(event),
    )


def entry_of(row: Sequence[Any]) -> Entry:
    """An entry from the columns of `ENTRY`.

    Raises:
        ValueError: Its body is no event: the database was damaged, or a later release wrote it.
    """
    sequence, batch, change, time, actor, source, request_id, event = row
    return Entry(
        sequence=sequence,
        batch=batch,
        change=change,
        time=time_of(time),
        actor=actor,
        source=source,
        request_id=request_id,
        event=event_of(sequence, event),
    )


def event_of(sequence: int, text: str) -> Any:
    """The event of an entry.

    Raises:
        ValueError: It is none: the database was damaged, or a later release wrote it.
    """
    try:
        return _event(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ValueError(f"the ledger's entry {sequence} cannot be read: {error}") from error


def claim_row(claim: Claim) -> Row:
    """The columns of `CLAIM`."""
    return (
        claim.id,
        claim.project,
        claim.handle,
        claim.network,
        claim.host,
        claim.machine,
        claim.interface,
        micros(claim.since),
        maybe_micros(claim.bound),
        claim.leaving,
        maybe_micros(claim.settles),
        maybe_micros(claim.until),
        claim.actor,
        body(claim.request),
        claim.revision,
        claim.kept,
        None if claim.harvest == "inherit" else claim.harvest,
        maybe_micros(claim.expires),
        claim.warned or None,
        claim.static or None,
        (claim.request.queue and not claim.request.defer) or None,
        body(Described(claim.tags, claim.custom, claim.named)) if claim.tags or claim.custom or claim.named else None,
    )


def claim_of(row: Sequence[Any]) -> Claim:
    """A claim from the columns of `CLAIM`."""
    (
        id_, project, handle, network, host, machine, interface, since, bound, leaving, settles, until, actor, request,
        revision, *terms,
    ) = row  # fmt: skip
    claim = Claim(
        id=id_,
        project=project,
        handle=handle,
        network=network,
        host=host,
        machine=machine,
        interface=interface,
        since=time_of(since),
        bound=maybe_time(bound),
        leaving=leaving,
        settles=maybe_time(settles),
        until=maybe_time(until),
        actor=actor,
        request=_request(request),
        revision=revision,
    )
    return claim if terms == _NO_TERMS else _on_terms(claim, terms)


def _on_terms(claim: Claim, terms: Sequence[Any]) -> Claim:
    """What few claims have; those without cost no more."""
    kept, harvest, expires, warned, static, _, more = terms
    said = Described() if more is None else _described(more)
    return msgspec.structs.replace(
        claim,
        kept=kept,
        harvest=harvest or "inherit",
        expires=maybe_time(expires),
        warned=bool(warned),
        static=bool(static),
        tags=said.tags,
        custom=said.custom,
        named=said.named,
    )


def allocation_row(held: Allocation) -> Row:
    """The columns of `ALLOCATION`."""
    return (
        held.id,
        held.claim,
        held.vrf,
        held.subnet,
        packed(held.ip),
        held.length,
        micros(held.since),
        held.hostname,
        held.block,
        held.title,
        held.lease,
        maybe_micros(held.held_until),
        maybe_micros(held.until),
        maybe_micros(held.cooling_until),
        *standing_row(held),
    )


def standing_row(held: Allocation) -> Row:
    """Where it stands, as columns that are null for nearly all."""
    return (
        None if held.standing == "primary" else held.standing,
        held.behind,
        held.replaces,
        maybe_micros(held.named_at),
        body(Lent(held.lender, held.waits_until, held.waits_for)) if held.lender or held.waits_until else None,
    )


def allocation_of(row: Sequence[Any]) -> Allocation:
    """An allocation from the columns of `ALLOCATION`."""
    id_, claim, vrf, subnet, address, length, since, hostname, block, title, lease, held, until, cooling, *stands = row
    allocation = Allocation(
        id=id_,
        claim=claim,
        vrf=vrf,
        subnet=subnet,
        ip=text_of(address),
        length=length,
        since=time_of(since),
        hostname=hostname,
        block=block,
        title=title,
        lease=bool(lease),
        held_until=maybe_time(held),
        until=maybe_time(until),
        cooling_until=maybe_time(cooling),
    )
    return allocation if stands == _STANDS_ALONE else _standing(allocation, stands)


def _standing(allocation: Allocation, stands: Sequence[Any]) -> Allocation:
    """What few allocations have."""
    standing, behind, replaces, named_at, more = stands
    lent = Lent() if more is None else _lent(more)
    return msgspec.structs.replace(
        allocation,
        standing=standing or "primary",
        behind=behind,
        lender=lent.lender,
        waits_until=lent.waits_until,
        waits_for=lent.waits_for,
        replaces=replaces,
        named_at=maybe_time(named_at),
    )


def attachment_row(attached: Attachment) -> Row:
    """The columns of `ATTACHMENT`."""
    return (attached.allocation, attached.interface, micros(attached.since), maybe_micros(attached.until))


def attachment_of(row: Sequence[Any]) -> Attachment:
    """An attachment from the columns of `ATTACHMENT`."""
    allocation, interface, since, until = row
    return Attachment(allocation=allocation, interface=interface, since=time_of(since), until=maybe_time(until))


def observation_row(seen: Observation) -> Row:
    """The columns of `OBSERVATION`."""
    times = (micros(seen.since), micros(seen.last), micros(seen.until))
    return (seen.vrf, packed(seen.ip), seen.subnet, seen.mac, seen.source, *times, seen.claim)


def observation_of(row: Sequence[Any]) -> Observation:
    """An observation from the columns of `OBSERVATION`."""
    vrf, address, subnet, mac, source, since, last, until, claim = row
    return Observation(
        vrf=vrf,
        subnet=subnet,
        ip=text_of(address),
        source=source,
        since=time_of(since),
        last=time_of(last),
        until=time_of(until),
        mac=mac,
        claim=claim,
    )


def zone_change_row(change: ZoneChange) -> Row:
    """The columns of `ZONE_CHANGE`."""
    return (change.zone, change.serial, change.sequence, body(change.removed), body(change.added))


def zone_change_of(row: Sequence[Any]) -> ZoneChange:
    """A zone's change from the columns of `ZONE_CHANGE`."""
    zone, serial, sequence, removed, added = row
    return ZoneChange(zone, serial, sequence, _records(removed), _records(added))


def zone_of(text: str | bytes, serial: int) -> Zone:
    """A zone as it was made, with the serial that it has now."""
    return msgspec.structs.replace(msgspec.json.decode(text, type=Zone), serial=serial)
