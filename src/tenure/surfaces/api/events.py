"""The ledger as JSON."""

import typing
from datetime import datetime
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta
from starlette.responses import Response

from tenure.errors import EpochChanged, InvalidValue
from tenure.model.events import Entry, Event
from tenure.store.interface import Head
from tenure.surfaces.api.backing import epoch_of, place_of, position_of
from tenure.surfaces.api.operations import Asked, Noun, answer
from tenure.surfaces.api.schemas import Limit, Read, Sequence, Wait, seconds_of

NOUN = Noun("events")

KINDS: Final = tuple(str(event.__struct_config__.tag) for event in typing.get_args(Event))
"""Every kind of event, in the order of the model."""


class EventQuery(Read):
    """Where to begin, which kinds (with commas between), and whether to wait for the next one."""

    after: Sequence | None = None
    kinds: Annotated[str, Meta(max_length=2048, examples=["tenure.address.allocated"])] | None = None
    limit: Limit = 100
    wait: Wait | None = None


class SubjectOut(msgspec.Struct, omit_defaults=True):
    """What an event is about."""

    project: str | None = None
    vrf: str | None = None
    ip: str | None = None
    claim: str | None = None
    machine: str | None = None
    zone: str | None = None


class EventOut(msgspec.Struct):
    """A row of the ledger; `data` is the event's own."""

    sequence: int
    time: datetime
    actor: str
    kind: str
    subject: SubjectOut
    data: dict[str, Any]
    change: str

    @staticmethod
    def example() -> "EventOut":
        """One to show."""
        return EventOut(
            4711,
            datetime.fromisoformat("2026-11-24T15:00:00+00:00"),
            "token:ci",
            "tenure.vrf.created",
            SubjectOut(vrf="blue"),
            {"vrf": {"id": "0a1b2c3d4e5f60718293", "name": "blue", "revision": 1}},
            "9f8e7d6c5b4a39281706",
        )


class EventsOut(msgspec.Struct):
    """A piece of the ledger; `next` is null at its end, `position` is where to go on from later."""

    items: list[EventOut]
    next: str | None
    position: str


@NOUN.operation(
    "GET",
    "/v1/events",
    "Read the ledger",
    name="list_events",
    query=EventQuery,
    gives={200: EventsOut},
    answers={200: EventsOut([EventOut.example()], None, "5f1c:4711")},
    refusals=("epoch_changed",),
)
async def list_(asked: Asked) -> Response:
    """Events after a place in the ledger, in order, without gaps.

    Go on with `after` = `position`. With `wait` an empty answer is held back until something happens.
    """
    kinds = _kinds(asked.query.kinds)
    entries, head = await asked.until(
        lambda: _look(asked, kinds), lambda seen: bool(seen[0]), seconds_of(asked.query.wait)
    )
    more = len(entries) == asked.query.limit
    end = entries[-1].sequence if more else max(head.sequence, *(each.sequence for each in entries), 0)
    position = f"{head.epoch}:{end}"
    vrfs = await vrfs_of(asked, entries)
    items = [event_out(each, vrfs) for each in entries]
    return answer(EventsOut(items, position if more and end < head.sequence else None, position))


async def _look(asked: Asked, kinds: tuple[str, ...]) -> tuple[list[Entry], Head]:
    after, limit = asked.query.after, asked.query.limit
    committed = asked.backing.committed

    def read() -> tuple[list[Entry], Head]:
        head = committed.head()
        if after is not None and epoch_of(after) != head.epoch:
            raise EpochChanged("The ledger started a new epoch: start over from the present.", epoch=head.epoch)
        return committed.entries(place_of(after or "0"), limit, kinds), head

    entries, head = await asked.backing.read(read)
    asked.position = position_of(head)
    asked.backing.advance(asked.position)
    return entries, head


def _kinds(sent: str | None) -> tuple[str, ...]:
    kinds = tuple(kind for kind in (sent or "").split(",") if kind)
    for kind in kinds:
        if kind not in KINDS:
            raise InvalidValue(f"{kind[:64]!r} is no kind of event.", parameter="kinds", allowed=list(KINDS))
    return kinds


async def vrfs_of(asked: Asked, entries: list[Entry]) -> dict[str, str]:
    """The names of the vrfs that entries are about, by id."""
    names = asked.backing.names
    await names.know(vrfs={vrf for each in entries if (vrf := each.event.subject().vrf) is not None})
    return names.vrfs


def event_out(entry: Entry, vrfs: dict[str, str]) -> EventOut:
    """An entry as it is answered: vrfs by name, as in every other answer."""
    data = msgspec.to_builtins(entry.event)
    kind = data.pop("kind")
    subject = entry.event.subject()
    return EventOut(
        entry.sequence,
        entry.time,
        entry.actor,
        kind,
        SubjectOut(
            subject.project,
            vrfs.get(subject.vrf or "", subject.vrf),
            subject.ip,
            subject.claim,
            subject.machine,
            subject.zone,
        ),
        data,
        entry.change,
    )
