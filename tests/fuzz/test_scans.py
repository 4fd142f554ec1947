"""Output of scanners, damaged: sightings in their one spelling, or a sentence that names the output."""

from pathlib import Path

import pytest
from hypothesis import strategies as st

from tenure.errors import InvalidValue
from tenure.exchange import scans
from tenure.net.addresses import parse_address
from tenure.net.identifiers import parse_mac
from tests.fuzz.mutation import mutated
from tests.fuzz.rounds import Rounds

pytestmark = pytest.mark.fuzz

SCANS = Path(__file__).parents[1] / "exchange" / "scans"
CORPUS = [path.read_bytes() for path in sorted(SCANS.iterdir())]
CORPUS += [
    b"[" * 5000,
    b"<a>" * 5000,
    b'[{"dst":"10.0.0.1","lladdr":"5254000a0b0c","state":["STALE"],"confirmed":1e9}]',
]


def test_scans_that_are_damaged_are_sightings_or_a_sentence(rounds: Rounds) -> None:
    kinds = st.sampled_from([None, *scans.KINDS])
    rounds.feed(lambda example: _is_read(*example), st.tuples(mutated(CORPUS), kinds), number=300)


def _is_read(octets: bytes, kind: scans.Kind | None) -> None:
    try:
        scan = scans.read("output", octets.decode("utf-8", "replace"), kind)
    except InvalidValue as error:
        _is_said(error.message)
        return
    assert len(set(scan.sighted)) == len(scan.sighted)
    for each in scan.sighted:
        assert each.ip == str(parse_address(each.ip))
        assert each.mac is None or each.mac == parse_mac(each.mac)
    for note in scan.notes:
        _is_said(note)


def _is_said(sentence: str) -> None:
    assert sentence.startswith("output")
    assert sentence.encode()
