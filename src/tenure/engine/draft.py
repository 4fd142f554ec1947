"""A plan in the making.

A planner decides step by step; each event that it
records is reduced into state and facts at once, so that its next step (the
second address of a claim, the second claim of a batch) sees it. A refusal
unwinds what was reduced; nothing of a refused use remains.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from tenure.engine.facts import Facts, Undo
from tenure.engine.images import images
from tenure.errors import TenureError
from tenure.model import events
from tenure.model.answers import Answer
from tenure.model.events import Event
from tenure.model.uses import Submission

if TYPE_CHECKING:
    from tenure.engine.state import State

T = TypeVar("T")

_REMEMBERED: Final[dict[type, str]] = {
    events.VrfCreated: "vrf", events.VrfChanged: "vrf", events.VrfDeleted: "vrf",
    events.NetworkCreated: "network", events.NetworkChanged: "network", events.NetworkDeleted: "network",
    events.SubnetCreated: "subnet", events.SubnetChanged: "subnet", events.SubnetDeleted: "subnet",
    events.RangeCreated: "range", events.RangeChanged: "range", events.RangeDeleted: "range",
    events.ZoneCreated: "zone", events.ZoneReshaped: "zone", events.ZoneDeleted: "zone",
}  # fmt: skip
"""Events about things of which somebody asks how they were before."""


class Moment(msgspec.Struct):
    """When and with what luck a use is decided: all that the pure engine gets from outside.

    Attributes:
        now: Time of the decision, UTC.
        ids: Fresh ids, never ending.
        seed: Random bits for strategies that want them.
        clock_margin: Seconds added to the last DHCP promise before an address is given to another.
        serials: Of each zone that was there before, by id.
    """

    now: datetime
    ids: Iterator[str]
    seed: int = 0
    clock_margin: int = 5
    serials: Mapping[str, int] = {}


class Draft:
    """A plan in the making.

    Attributes:
        state: The allocator's memory, with this draft's events reduced into it.
        facts: What was read by key, with this draft's events taken in.
        events: What will be recorded, in order.
        was: Vrfs, networks, subnets, ranges and zones that it made, changed or deleted, as they were before it,
            by id; None for what is new.
        serials: Those that it gave to zones, by id.
    """

    __slots__ = ("_undo", "asked", "events", "facts", "moment", "serials", "state", "was")

    def __init__(self, asked: Submission, state: "State", facts: Facts, moment: Moment) -> None:
        self.asked = asked
        self.state = state
        self.facts = facts
        self.moment = moment
        self.events: list[Event] = []
        self.was: dict[str, Any] = {}
        self.serials: dict[str, int] = {}
        self._undo: list[Undo] = []

    def record(self, event: Event) -> None:
        """Decide that `event` happened: everybody after this sees it."""
        kind = _REMEMBERED.get(type(event))
        if kind is not None:
            id_ = getattr(event, kind).id
            self.was.setdefault(id_, self.state.known(kind, id_))
        self._undo.append(self.state.reduce(event))
        self._undo.extend(self.facts.reduce(images(event)))
        self.events.append(event)

    def attempt(self, step: Callable[[], T]) -> T:
        """What `step` answers; if it is refused, what it recorded is taken back, and nothing before that.

        Raises:
            TenureError: As `step`.
        """
        undoable, told = len(self._undo), len(self.events)
        try:
            return step()
        except TenureError:
            self._unwind_to(undoable)
            del self.events[told:]
            raise

    def unwind(self) -> None:
        """Make state and facts as they were before the draft. Idempotent."""
        self._unwind_to(0)
        self.events.clear()

    def _unwind_to(self, depth: int) -> None:
        while len(self._undo) > depth:
            self._undo.pop()()


class Plan(msgspec.Struct):
    """An answer, and the events that make it true. `draft.unwind()` takes it back while it is the latest."""

    answer: Answer
    events: list[Event]
    draft: Draft
