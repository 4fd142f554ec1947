"""From messages that are right to messages that are nearly right: bits turned, pieces cut, put in, exchanged."""

from collections.abc import Callable, Sequence

from hypothesis import strategies as st

_TELLING = [b"\0", b"\x01", b"\x3f", b"\x40", b"\x7f", b"\x80", b"\xc0", b"\xff", b"\0\0", b"\xff\xff", b"\xc0\x0c"]
_MOST_CHANGES = 4
_LONGEST_PIECE = 300

Change = Callable[[st.DrawFn, bytes, Sequence[bytes]], bytes]


@st.composite
def mutated(draw: st.DrawFn, corpus: Sequence[bytes]) -> bytes:
    """A message of `corpus` with up to four changes, or any octets."""
    if draw(st.integers(0, 15)) == 0:
        return draw(st.binary(max_size=_LONGEST_PIECE))
    octets = draw(st.sampled_from(corpus))
    for change in draw(st.lists(st.sampled_from(_CHANGES), max_size=_MOST_CHANGES)):
        octets = change(draw, octets, corpus)
    return octets


@st.composite
def mutated_text(draw: st.DrawFn, corpus: Sequence[str]) -> str:
    """As `mutated`, for text; what is no UTF-8 any more is read as it can be."""
    if draw(st.integers(0, 7)) == 0:
        return draw(st.text(max_size=_LONGEST_PIECE))
    return draw(mutated([text.encode() for text in corpus])).decode("utf-8", "replace")


@st.composite
def cut(draw: st.DrawFn, octets: bytes) -> list[bytes]:
    """The same octets in pieces, as a stream brings them."""
    places = sorted(draw(st.lists(st.integers(0, len(octets)), max_size=6)))
    return [octets[first:last] for first, last in zip([0, *places], [*places, len(octets)], strict=True)]


def _span(draw: st.DrawFn, octets: bytes) -> tuple[int, int]:
    first = draw(st.integers(0, len(octets)))
    return first, min(len(octets), first + draw(st.sampled_from([1, 2, 4, 16, _LONGEST_PIECE])))


def _turned(draw: st.DrawFn, octets: bytes, corpus: Sequence[bytes]) -> bytes:
    at = draw(st.integers(0, max(0, 8 * len(octets) - 1)))
    changed = int.from_bytes(octets) ^ (1 << at) if octets else 0
    return changed.to_bytes(len(octets))


def _set(draw: st.DrawFn, octets: bytes, corpus: Sequence[bytes]) -> bytes:
    at, new = draw(st.integers(0, len(octets))), draw(st.sampled_from(_TELLING))
    return octets[:at] + new + octets[at + len(new) :]


def _without(draw: st.DrawFn, octets: bytes, corpus: Sequence[bytes]) -> bytes:
    first, last = _span(draw, octets)
    return octets[:first] + octets[last:]


def _ended(draw: st.DrawFn, octets: bytes, corpus: Sequence[bytes]) -> bytes:
    return octets[: draw(st.integers(0, len(octets)))]


def _with_more(draw: st.DrawFn, octets: bytes, corpus: Sequence[bytes]) -> bytes:
    at = draw(st.integers(0, len(octets)))
    return octets[:at] + draw(st.one_of(st.sampled_from(_TELLING), st.binary(max_size=20))) + octets[at:]


def _repeated(draw: st.DrawFn, octets: bytes, corpus: Sequence[bytes]) -> bytes:
    first, last = _span(draw, octets)
    return octets[:last] + octets[first:last] * draw(st.sampled_from([1, 2, 20])) + octets[last:]


def _spliced(draw: st.DrawFn, octets: bytes, corpus: Sequence[bytes]) -> bytes:
    other = draw(st.sampled_from(corpus))
    return octets[: draw(st.integers(0, len(octets)))] + other[draw(st.integers(0, len(other))) :]


def _exchanged(draw: st.DrawFn, octets: bytes, corpus: Sequence[bytes]) -> bytes:
    other = draw(st.sampled_from(corpus))
    first, last = _span(draw, other)
    at = draw(st.integers(0, len(octets)))
    return octets[:at] + other[first:last] + octets[at + last - first :]


_CHANGES: list[Change] = [_turned, _set, _without, _ended, _with_more, _repeated, _spliced, _exchanged]
