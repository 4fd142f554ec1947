"""Tags and custom fields of many things at once: those that the filters of their list let pass."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, Final, NamedTuple

import msgspec
from msgspec import Meta
from starlette.responses import Response

from tenure.errors import InvalidValue, StaleRevision
from tenure.model.answers import Failure, Holding, MachineWithInterfaces
from tenure.model.policy import Custom
from tenure.model.uses import ChangeClaim, ChangeMachine, ChangeNetwork, ChangeSubnet, Submission, Use
from tenure.store.interface import Page, Reads
from tenure.surfaces.api import claims, machines, networks, subnets
from tenure.surfaces.api.operations import Asked, Noun, answer
from tenure.surfaces.api.schemas import Change, CustomValue, FieldName, Input, Tags

MOST: Final = 10_000
_PAGE: Final = 1000
_PIECE: Final = 256
"""Things that the writer gets at once, so that DHCP goes between them."""
_TRIES: Final = 3
_SHOWN: Final = 20
_EVERYWHERE: Final = ("limit", "after", "at_least")
"""Parameters of a list that are no filters."""


class TagsEdit(Input):
    """Tags that each gets, and tags that each loses; what is in both goes."""

    add: Tags = msgspec.field(default_factory=list)
    remove: Tags = msgspec.field(default_factory=list)


class LabelsIn(Input):
    """What to change of each: its tags, and custom fields, of which a null goes."""

    tags: TagsEdit = msgspec.field(default_factory=TagsEdit)
    custom: Annotated[dict[FieldName, CustomValue | None], Meta(max_length=64)] = msgspec.field(default_factory=dict)


class RefusedOut(msgspec.Struct):
    """A thing that could not be changed, and why."""

    id: str
    name: str
    code: str
    detail: str


class LabelledOut(msgspec.Struct):
    """How many the filters let pass, how many of them were changed, and the names of the first 20 of these.

    `refused`: those that could not be changed, the first 20, and `refused_count` of them.
    """

    count: int
    changed: int
    first: list[str]
    refused: list[RefusedOut]
    refused_count: int


class _Thing(NamedTuple):
    """What is known of a thing that has labels."""

    id: str
    name: str
    tags: tuple[str, ...]
    custom: Custom
    revision: int

    def edited(self, body: LabelsIn) -> dict[str, object]:
        """The changes that this thing needs; empty if it is so already."""
        tags = tuple(sorted({*self.tags, *body.tags.add} - {*body.tags.remove}))
        custom = {name: value for name, value in {**self.custom, **body.custom}.items() if value is not None}
        found: dict[str, object] = {}
        if tags != self.tags:
            found["tags"] = list(tags)
        if custom != self.custom:
            found["custom"] = custom
        return found


class _Kind(NamedTuple):
    """How things of one noun are listed and changed."""

    noun: str
    query: Any
    listed: Callable[[Reads, Any], Page[Any]]
    one: Callable[[Reads, str], Any]
    thing: Callable[[Any], _Thing]
    use: Callable[[str, dict[str, object]], Use]


def _of_claim(holding: Holding) -> _Thing:
    claim = holding.claim
    return _Thing(claim.id, claim.handle, claim.tags, claim.custom, claim.revision)


def _of_machine(known: MachineWithInterfaces) -> _Thing:
    machine = known.machine
    return _Thing(machine.id, machine.name, machine.tags, machine.custom, machine.revision)


_KINDS: Final = (
    _Kind(
        "networks",
        networks.NetworkList,
        lambda reads, query: networks.listed(reads, query, {}),
        lambda reads, name: reads.network(name),
        lambda it: _Thing(it.id, it.name, it.tags, it.custom, it.revision),
        lambda name, changes: ChangeNetwork(network=name, changes=changes),
    ),
    _Kind(
        "subnets",
        subnets.SubnetList,
        lambda reads, query: subnets.listed(reads, query, {}),
        lambda reads, name: reads.subnet(name),
        lambda it: _Thing(it.id, it.cidr, it.tags, it.custom, it.revision),
        lambda name, changes: ChangeSubnet(subnet=name, changes=changes),
    ),
    _Kind(
        "machines",
        machines.MachineList,
        lambda reads, query: machines.listed(reads, query, {}),
        lambda reads, name: reads.machine(name),
        _of_machine,
        lambda name, changes: ChangeMachine(machine=name, changes=changes),
    ),
    _Kind(
        "claims",
        claims.ClaimList,
        claims.listed,
        lambda reads, name: reads.claim(name),
        _of_claim,
        lambda name, changes: ChangeClaim(claim=name, changes=changes),
    ),
)


def _filters(shape: type[msgspec.Struct], noun: str) -> Any:
    """The query of a bulk change: the filters of the list, and what every change knows."""
    fields = [(each.name, each.type, each.default) for each in msgspec.structs.fields(shape)]
    kept = [each for each in fields if each[0] not in _EVERYWHERE]
    return msgspec.defstruct(
        f"{noun.capitalize()}Labelled", kept, bases=(Change,), kw_only=True, forbid_unknown_fields=True
    )


def _offer(kind: _Kind) -> Noun:
    """The operation for one noun."""
    noun = Noun(kind.noun)

    @noun.operation(
        "PATCH",
        f"/v1/{kind.noun}",
        f"Change tags and custom fields of many {kind.noun}",
        name=f"label_{kind.noun}",
        query=_filters(kind.query, kind.noun),
        body=LabelsIn,
        example={"tags": {"add": ["rack-a"], "remove": ["spare"]}, "custom": {"owner": "alice", "until": None}},
        gives={200: LabelledOut},
        answers={200: LabelledOut(2, 2, ["prod", "lab"], [], 0)},
        refusals=("not_found", "conflict"),
        creates=True,
    )
    async def label(asked: Asked) -> Response:
        """Of those that the filters let pass, at most 10,000. Try it with `dry_run` first: it says how many, and which.

        Each is changed by itself; if the call is cut off, repeating it does the rest: an Idempotency-Key only keeps
        a second call away while the first is worked on, and the answer to a repetition is that of now.
        """
        things = await _meant(asked, kind)
        wanted = [(thing, changes) for thing in things if (changes := thing.edited(asked.body))]
        refused: list[RefusedOut] = []
        for first in range(0, len(wanted), _PIECE):
            refused += await _changed(asked, kind, wanted[first : first + _PIECE])
        not_done = {each.id for each in refused}
        done = [thing.name for thing, _ in wanted if thing.id not in not_done]
        return answer(LabelledOut(len(things), len(done), done[:_SHOWN], refused[:_SHOWN], len(refused)))

    return noun


async def _meant(asked: Asked, kind: _Kind) -> list[_Thing]:
    """All that the filters let pass.

    Raises:
        InvalidValue: More than may be changed at once.
    """
    filters = {name: getattr(asked.query, name) for name in asked.query.__struct_fields__ if name != "dry_run"}
    things: list[_Thing] = []
    after: str | None = None
    while True:
        page: Page[Any] = await asked.look(kind.listed, kind.query(limit=_PAGE, after=after, **filters))
        things += map(kind.thing, page.items)
        if len(things) > MOST or (page.next and len(things) == MOST):
            raise InvalidValue(f"The filters let more than {MOST:,} {kind.noun} pass; change fewer at once.")
        if page.next is None:
            return things
        after = page.next


_Wanted = Sequence[tuple[_Thing, dict[str, object]]]


async def _changed(asked: Asked, kind: _Kind, wanted: _Wanted) -> list[RefusedOut]:
    """Change each if it is still as it was read, else read it again and try once more; who was refused."""
    refused: list[RefusedOut] = []
    for left in range(_TRIES - 1, -1, -1):
        replies = await asked.submit_all(list(_submissions(asked, kind, wanted)))
        failed = [(thing, reply.answer) for (thing, _), reply in zip(wanted, replies, strict=True)]
        stale = []
        for thing, found in failed:
            if isinstance(found, Failure) and found.code == StaleRevision.code and left:
                stale.append(thing)
            elif isinstance(found, Failure):
                refused.append(RefusedOut(thing.id, thing.name, found.code, found.message))
        wanted = [pair for pair in await asyncio.gather(*(_again(asked, kind, each) for each in stale)) if pair]
        if not wanted:
            break
    return refused


def _submissions(asked: Asked, kind: _Kind, wanted: _Wanted) -> Iterator[Submission]:
    for thing, changes in wanted:
        use = kind.use(thing.id, changes)
        # Without a key: a list has no places that stay the same, and what is so already is not changed again.
        yield msgspec.structs.replace(asked.submission(use), if_match=thing.revision, key="")


async def _again(asked: Asked, kind: _Kind, thing: _Thing) -> tuple[_Thing, dict[str, object]] | None:
    """A thing as it is by now; None if it is gone, or needs no change any more."""
    found = (await asked.look(kind.one, thing.id)).value
    now = None if found is None else kind.thing(found)
    changes = {} if now is None else now.edited(asked.body)
    return None if now is None or not changes else (now, changes)


NOUNS: Final = tuple(map(_offer, _KINDS))
"""The operations, each with its noun."""
