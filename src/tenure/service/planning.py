"""One turn's uses become one batch: read by key once, planned one by one, each by itself."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from tenure.engine import wants
from tenure.engine.draft import Draft, Moment
from tenure.engine.facts import Facts, Wanted
from tenure.engine.holdings import holding
from tenure.engine.plan import Plan, plan
from tenure.errors import StoreUnavailable, TenureError
from tenure.model import uses as u
from tenure.model.answers import Answer, Answers, Failure, Holding
from tenure.model.events import Entry, TokenCreated, TsigKeyCreated
from tenure.service import zoning
from tenure.service.memory import Memory
from tenure.service.queue import Key, Waiting, reused
from tenure.service.zones import Move, Notes
from tenure.store.interface import Batch, DataRefused, Head, KeyUse, Replay, Turn

INTERNAL = "internal"
"""Code of a failure that is a bug of ours."""

_OF_TIME: Final = (u.ExpireLeases, u.Lapse, u.HarvestNetwork, u.Tend)
"""What nobody does while the clock is not trusted."""

_OF_SECRETS: Final = (u.CreateToken, u.CreateTsigKey, u.Together)
"""What may bring secrets, which the ledger never sees."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Answer).decode


class Broken(Exception):
    """Planning a use ended in what no use should meet: what it did to the memory is not known."""

    def __init__(self, item: Waiting) -> None:
        super().__init__(repr(item.asked))
        self.item = item


class Outcome(NamedTuple):
    """What became of one use in this turn; `replayed` if an idempotency key brought the answer back."""

    answer: Answer
    replayed: bool = False


class Change(NamedTuple):
    """What one use will record."""

    id: str
    asked: u.Submission
    plan: Plan


class Planned:
    """The uses of one turn, planned. `unwind` takes all of it back.

    Attributes:
        outcomes: One a use, in order.
        changes: Those of them that record something.
        digests: With what body each idempotency key came, before or in this turn, by actor and key.
        batch, move, head: What they come to, and the end of the ledger with it; after `prepare`.
    """

    batch: Batch | None
    move: Move
    head: Head

    def __init__(self, memory: Memory, turn: Turn) -> None:
        self.outcomes: list[Outcome] = []
        self.changes: list[Change] = []
        self.notes = Notes(memory.links)
        self.facts = Facts()
        self.batch = None
        self.digests: dict[tuple[str, str], bytes] = {}
        self._tried: list[Draft] = []
        self._memory = memory
        self._turn = turn

    def unwind(self) -> None:
        """Make the state as it was before the turn. Idempotent."""
        self.forget_tried()
        while self.changes:
            self.changes.pop().plan.draft.unwind()

    def forget_tried(self) -> None:
        """Take back what dry runs did: those of one call see each other, and nobody else sees them. Idempotent."""
        while self._tried:
            self._tried.pop().unwind()

    def add(self, asked: u.Submission, moment: Moment) -> Answer:
        """Plan one use after the others; what it answers. What a dry run did stays until `forget_tried`.

        Raises:
            TenureError: It is refused, and nothing of it remains.
        """
        made = plan(asked, self._memory.state, self.facts, moment)
        try:
            zoning.follow(made.draft)
            if made.events and not asked.dry_run:
                self.notes.note(made.events, made.draft.serials)
                self.changes.append(Change(next(moment.ids), asked, made))
                if asked.key:
                    self.digests.setdefault((asked.actor, asked.key), asked.digest)
        except BaseException:
            made.draft.unwind()
            raise
        if asked.dry_run:
            self._tried.append(made.draft)
        return made.answer

    def draft(self, asked: u.Submission, moment: Moment) -> Draft:
        """The memory and the facts as they are after the uses before this one."""
        return Draft(asked, self._memory.state, self.facts, moment)

    def prepare(self, batch: str) -> Batch:
        """All that shall be recorded, as one transaction.

        Raises:
            DataRefused: A text or a number of an answer cannot be encoded: no database would take it either.
        """
        begun = self._turn.head
        sequence = begun.sequence + sum(len(change.plan.events) for change in self.changes)
        self.move = self.notes.move(self._memory.serials, sequence, self._memory.first_serial)
        self.head = Head(begun.epoch, sequence, batch, self._turn.now)
        secret = [change for change in self.changes if isinstance(change.asked.use, _OF_SECRETS)]
        self.batch = Batch(
            batch,
            list(self._entries(batch)),
            [self.move.stamp_row(image) for image in self.facts.net.values()],
            self.move.changes,
            list(self._keys()),
            dict(pair for change in secret for pair in _digests(change)),
            dict(pair for change in secret for pair in _sealed(change)),
        )
        return self.batch

    def _entries(self, batch: str) -> Iterator[Entry]:
        sequence = self._turn.head.sequence
        for change in self.changes:
            asked = change.asked
            for event in change.plan.events:
                sequence += 1
                yield Entry(
                    sequence=sequence,
                    batch=batch,
                    change=change.id,
                    time=self._turn.now,
                    actor=asked.actor,
                    source=asked.source,
                    request_id=asked.request_id,
                    event=self.move.stamp(event),
                )

    def _keys(self) -> Iterator[KeyUse]:
        for change in self.changes:
            asked = change.asked
            if asked.key:
                answer = _encoded(change.plan.answer)
                yield KeyUse(asked.actor, asked.key, asked.item, asked.digest, change.id, answer)


class Planner:
    """Plans turns.

    Args:
        ids: Fresh ids.
        seed: A fresh number for each use.
        clock_margin: Seconds added to the last DHCP promise before an address is given to another.
    """

    def __init__(self, ids: Iterator[str], seed: Callable[[], int], clock_margin: int) -> None:
        self.ids = ids
        self._seed = seed
        self._clock_margin = clock_margin

    def plan(self, items: Sequence[Waiting], turn: Turn, memory: Memory, *, trusted: bool) -> Planned:
        """Plan each of `items`; what a refused one began is taken back, and the others go on.

        Args:
            trusted: Whether the clock is: without it nothing ends by time alone.

        Raises:
            Broken: One of them met a bug.
        """
        planned = Planned(memory, turn)
        try:
            self._plan(planned, items, turn, memory, trusted)
        except BaseException:
            planned.unwind()
            raise
        return planned

    def _plan(self, planned: Planned, items: Sequence[Waiting], turn: Turn, memory: Memory, trusted: bool) -> None:
        if trusted:
            memory.state.advance(turn.now)
        keys = {item.key for item in items if item.key is not None}
        replays = turn.replays(keys) if keys else {}
        planned.digests.update(turn.digests({key[:2] for key in keys}) if keys else {})
        wanted = Wanted()
        asked = [_wants(item, wanted, replays, memory, trusted=trusted) for item in items]
        planned.facts = _facts(turn, wanted)
        moment = Moment(turn.now, self.ids, clock_margin=self._clock_margin, serials=memory.serials)
        line = None
        for item, each in zip(items, asked, strict=True):
            if item.line is not line or not item.asked.dry_run:
                planned.forget_tried()
                line = item.line
            moment.seed = self._seed()
            try:
                planned.outcomes.append(_outcome(planned, item.asked, each, moment))
            except Exception as error:
                raise Broken(item) from error
        planned.forget_tried()


def _facts(turn: Turn, wanted: Wanted) -> Facts:
    """What a turn's uses want.

    Raises:
        DataRefused: Something that is kept cannot be read: whoever wants it must not be in the way of the others.
    """
    try:
        return turn.facts(wanted)
    except (TenureError, DataRefused):
        raise
    except Exception as error:
        raise DataRefused(f"the facts of a turn cannot be read: {error!r}") from error


def _outcome(planned: Planned, asked: u.Submission, needs: Replay | TenureError | None, moment: Moment) -> Outcome:
    if not asked.dry_run and planned.digests.get((asked.actor, asked.key), asked.digest) != asked.digest:
        return Outcome(failure(reused()))
    if isinstance(needs, TenureError):
        return Outcome(failure(needs))
    if isinstance(needs, Replay):
        return Outcome(_current(_decode(needs.answer), planned.draft(asked, moment)), replayed=True)
    try:
        return Outcome(planned.add(asked, moment))
    except TenureError as error:
        return Outcome(failure(error))


def failure(error: TenureError) -> Failure:
    """An error as an answer."""
    return Failure(error.code, error.message, error.facts)


def bug(message: str) -> Failure:
    """The answer to whoever met a bug of ours."""
    return Failure(INTERNAL, message)


def _wants(
    item: Waiting, wanted: Wanted, replays: dict[Key, Replay], memory: Memory, *, trusted: bool
) -> Replay | TenureError | None:
    """As `_needs`.

    Raises:
        Broken: It met a bug.
    """
    try:
        return _needs(item, wanted, replays, memory, trusted=trusted)
    except Exception as error:
        raise Broken(item) from error


def _needs(
    item: Waiting, wanted: Wanted, replays: dict[Key, Replay], memory: Memory, *, trusted: bool
) -> Replay | TenureError | None:
    """Add what a use needs to what the turn wants; or an earlier answer, or the refusal, that spares planning it."""
    before = replays.get(item.key) if item.key is not None else None
    if before is not None:
        wanted.claims.update(_claims(_decode(before.answer)))
        return before
    if not trusted and isinstance(item.asked.use, _OF_TIME):
        return StoreUnavailable("upkeep is suspended, because the clock has stepped")
    try:
        wants.want(wanted, item.asked.use, memory.state)
    except TenureError as error:
        return error
    return None


def _digests(change: Change) -> Iterator[tuple[str, bytes]]:
    """SHA-256 of each new token's secret, by the token's id: the ledger never sees it."""
    secrets = [each.digest for each in _asked(change) if isinstance(each, u.CreateToken)]
    tokens = [event.token.id for event in change.plan.events if isinstance(event, TokenCreated)]
    return zip(tokens, secrets, strict=True)


def _sealed(change: Change) -> Iterator[tuple[str, bytes]]:
    """Each new TSIG key's secret, encrypted, by the key's id: the ledger never sees it."""
    secrets = [each.sealed for each in _asked(change) if isinstance(each, u.CreateTsigKey)]
    keys = [event.key.id for event in change.plan.events if isinstance(event, TsigKeyCreated)]
    return zip(keys, secrets, strict=True)


def _asked(change: Change) -> tuple[u.Use, ...]:
    use = change.asked.use
    return use.uses if isinstance(use, u.Together) else (use,)


def _encoded(answer: Answer) -> bytes:
    try:
        return _encode(answer)
    except (UnicodeEncodeError, OverflowError) as error:
        raise DataRefused(str(error)) from error


def _claims(answer: Answer) -> Iterator[str]:
    if isinstance(answer, Holding):
        yield answer.claim.id
    elif isinstance(answer, Answers):
        for each in answer.items:
            yield from _claims(each)


def _current(answer: Answer, draft: Draft) -> Answer:
    """An earlier answer, with each claim as it is now: one that was released since is shown as released."""
    if isinstance(answer, Answers):
        return Answers(tuple(_current(each, draft) for each in answer.items))
    if not isinstance(answer, Holding):
        return answer
    claim = draft.facts.claims.get(answer.claim.id, answer.claim)
    return holding(draft, claim, created=answer.created)
