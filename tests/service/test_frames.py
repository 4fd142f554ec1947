"""Frames: whatever a surface may ask and whatever comes back survives the way between processes."""

import typing
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.errors import InvalidValue, StoreUnavailable, error_classes
from tenure.model import answers, uses
from tenure.model.answers import Failure, Reply
from tenure.model.holding import ClaimRequest
from tenure.model.uses import ClaimAddresses, Submission, Together
from tenure.service.frames import Ask, Frame, FrameError, Hello, Refused, Told, Unpacker, error_of, failure_of, pack

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    int: st.integers(-(2**63), 2**64 - 1),
    float: st.floats(allow_nan=False),
    object: JSON,
    datetime: st.datetimes(timezones=st.just(UTC)),
}


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Any value of a type that travels: structs are walked field by field."""
    if kind in PLAIN:
        return PLAIN[kind]
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return st.deferred(lambda: struct(kind))
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Union or type(kind).__name__ == "UnionType":
        return st.one_of([values(part) for part in parts])
    if origin is tuple:
        return st.lists(values(parts[0]), max_size=2).map(tuple)
    if origin is list:
        return st.lists(values(parts[0]), max_size=2)
    if origin is dict:
        return st.dictionaries(values(parts[0]), values(parts[1]), max_size=2)
    return st.from_type(kind)


def struct(kind: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    """Any value of one struct, each field by its type."""
    hints = typing.get_type_hints(kind)
    return st.builds(kind, **{name: values(hints[name]) for name in kind.__struct_fields__})


def sent(frame: Any) -> Any:
    """What arrives of a frame."""
    (arrived,) = Unpacker().feed(pack(frame))
    return arrived


USES = [kind for kind in typing.get_args(uses.Use) if kind is not Together]
ANSWERS = [kind for kind in typing.get_args(answers.Answer) if kind is not answers.Answers]


@pytest.mark.parametrize("kind", USES, ids=lambda kind: kind.__name__)
@settings(max_examples=25)
@given(data=st.data())
def test_every_use_survives_encoding(kind: type[msgspec.Struct], data: st.DataObject) -> None:
    use = data.draw(struct(kind))
    submission = Submission(use=Together(uses=(use, use)), actor="token:é", digest=b"\0\xff", if_match=3, urgent=True)
    assert sent(Ask(7, (submission, Submission(use=use, actor="dhcp")))) == Ask(
        7, (submission, Submission(use=use, actor="dhcp"))
    )


@pytest.mark.parametrize("kind", ANSWERS, ids=lambda kind: kind.__name__)
@settings(max_examples=25)
@given(data=st.data())
def test_every_answer_survives_encoding(kind: type[msgspec.Struct], data: st.DataObject) -> None:
    answer = data.draw(struct(kind))
    told = Told(2**40, (Reply(answers.Answers((answer,)), "e:1"), Reply(answer, "e:2", replayed=True)))
    assert sent(told) == told


@pytest.mark.parametrize("cls", [cls for cls in error_classes().values() if cls.__module__ == "tenure.errors"])
def test_every_error_survives_with_its_facts(cls: type) -> None:
    error = cls("It is so.", pointer="/a", holders=["b"], count=2)
    again = error_of(failure_of(error))
    assert type(again) is cls and again.message == "It is so." and again.facts == error.facts


def test_an_error_of_an_unknown_code_is_the_stores_trouble() -> None:
    assert type(error_of(Failure("of_a_later_release", "x"))) is StoreUnavailable


@given(st.lists(st.integers(1, 40), max_size=30))
def test_frames_are_found_however_the_bytes_are_cut(cuts: list[int]) -> None:
    frames: list[Frame] = [Hello(), Told(1, ()), Ask(2, (claim("x" * 30),)), Hello()]
    stream = b"".join(map(pack, frames))
    unpacker, at = Unpacker(), 0
    found: list[Frame] = []
    for cut in [*cuts, len(stream)]:
        found += unpacker.feed(stream[at : at + cut])
        at += cut
    assert found == frames


@pytest.mark.parametrize("data", [b"\xff\xff\xff\xff", b"\0\0\0\x01\xc1", b"\0\0\0\0", b"\0\0\0\x03\x92\xa3x"])
def test_what_is_no_frame_is_refused(data: bytes) -> None:
    with pytest.raises(FrameError):
        list(Unpacker().feed(data))


@pytest.mark.parametrize(
    "build", [lambda: claim("\ud800"), lambda: claim("x" * 68_000_000), lambda: claim("a", count=2**70)]
)
def test_what_no_frame_can_carry_is_refused_before_it_is_sent(build: Callable[[], Submission]) -> None:
    with pytest.raises(InvalidValue):
        pack(Ask(1, (build(),)))


def test_what_nests_too_deeply_is_refused_by_both_ends() -> None:
    deep: list[object] = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(InvalidValue):
        pack(Refused(1, Failure("conflict", "x", {"at": deep})))
    body = pack(Refused(1, Failure("conflict", "x", {"at": "!"})))[4:].replace(b"\xa1!", b"\x91" * 5000 + b"\xc0")
    with pytest.raises(FrameError):
        list(Unpacker().feed(len(body).to_bytes(4) + body))


def claim(handle: str, count: int = 1) -> Submission:
    return Submission(
        use=ClaimAddresses(request=ClaimRequest(network="n", count=count), handle=handle), actor="token:t"
    )
