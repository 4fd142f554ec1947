"""Frames between the processes of a node: any octets, however cut, are frames or a FrameError."""

import pytest
from hypothesis import strategies as st

from tenure.model.addressing import Vrf
from tenure.model.answers import Failure, Made, Reply
from tenure.model.holding import ClaimRequest
from tenure.model.uses import ClaimAddresses, CreateNetwork, Submission, Together
from tenure.service import frames as f
from tests.fuzz.mutation import cut, mutated
from tests.fuzz.rounds import Rounds

pytestmark = pytest.mark.fuzz

_CLAIM = ClaimAddresses(request=ClaimRequest(network="prod", count=2), handle="vm-1")
_NETWORK = CreateNetwork(name="prod", fields={"domain": "prod.example.", "labels": {"a": [1, None, 1.5, True]}})
_REFUSAL = Failure("conflict", "no", {"facts": "X"})
FRAMES: list[f.Frame] = [
    f.Hello(),
    f.Ask(1, (Submission(use=_CLAIM, actor="token:t", digest=b"\0\xff"), Submission(use=_NETWORK, actor="dhcp"))),
    f.Ask(2, (Submission(use=Together(uses=(_CLAIM, _NETWORK)), actor="é"),)),
    f.Told(3, (Reply(_REFUSAL, "e:1"), Reply(Made(vrf=Vrf(id="V", name="v")), "e:2", replayed=True))),
    f.Refused(2**40, _REFUSAL),
    f.Figures("dns", {"udp": 7.0}),
    f.AskHealth(4),
    f.Health(4, ("late",), {"dns": {"udp": 7.0}}),
    f.Follow("dns-1", "E:17"),
    f.Following("E:17", 4711),
    f.StartOver(),
    f.Ack(17),
]
BODIES = [f.pack(frame)[4:] for frame in FRAMES]
BODIES += [
    body.replace(b"\xa1X", nest) for body in BODIES for nest in (b"\x91" * 9, b"\x91" * 3000) if b"\xa1X" in body
]


def test_frames_are_frames_or_refused(rounds: Rounds) -> None:
    rounds.feed(_are_frames, _streams().flatmap(cut), number=300)


@st.composite
def _streams(draw: st.DrawFn) -> bytes:
    """Bodies with their lengths; or damaged as a whole, lengths too."""
    bodies = draw(st.lists(mutated(BODIES), min_size=1, max_size=3))
    stream = b"".join(len(body).to_bytes(4) + body for body in bodies)
    return draw(mutated([stream])) if draw(st.booleans()) else stream


def _are_frames(pieces: list[bytes]) -> None:
    unpacker = f.Unpacker()
    try:
        found = [frame for piece in pieces for frame in unpacker.feed(piece)]
    except f.FrameError:
        return
    assert len(unpacker._buffer) <= sum(map(len, pieces))
    again = [frame for frame in found for frame in f.Unpacker().feed(f.pack(frame))]
    assert repr(again) == repr(found)  # a NaN is no other NaN
