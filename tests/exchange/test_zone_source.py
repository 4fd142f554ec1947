"""Zone files as they come, and as nobody would write them."""

import itertools
import random
from collections.abc import Iterator
from typing import Any

import dns.name
import dns.zone
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.errors import InvalidValue
from tenure.exchange.zone_source import (
    MOST_GENERATED,
    MOST_UNREADABLE,
    SourceRecord,
    Unreadable,
    _entries,
    file_records,
    origin_name,
    primary_of,
)

ORIGIN = dns.name.from_text("example.")
WORDS = ["$TTL", "$ORIGIN", "$GENERATE", "1-3", "www", "@", "*", "60", "1h", "IN", "CH", "A", "TXT", "SOA", "MX", "10"]
WORDS += ["192.0.2.1", "a.b.", '"x', '"y"', "(", ")", ";", "\\", "\\300", "\n", " ", "\t", "straße", "\x00", "."]


def _records(text: str) -> list[SourceRecord]:
    return [each for each in file_records(text, ORIGIN) if isinstance(each, SourceRecord)]


def _faults(text: str) -> list[tuple[int, str]]:
    return [(each.line, each.why) for each in file_records(text, ORIGIN) if isinstance(each, Unreadable)]


def test_names_ttls_and_lines_are_as_written() -> None:
    text = """$TTL 1h
@ SOA ns admin (
        1 ; serial
        2 3 4 5 )
  NS ns.other.
WWW 60 IN A 192.0.2.1
    IN 90 TXT "a;b" c
$ORIGIN deep
x A 192.0.2.2
"""
    assert [(each.line, each.owner, each.type, each.ttl, each.data) for each in _records(text)] == [
        (2, "example.", "SOA", 3600, "ns.example. admin.example. 1 2 3 4 5"),
        (5, "example.", "NS", 3600, "ns.other."),
        (6, "www.example.", "A", 60, "192.0.2.1"),
        (7, "www.example.", "TXT", 90, '"a;b" "c"'),
        (9, "x.deep.example.", "A", 3600, "192.0.2.2"),
    ]


def test_what_hangs_on_a_line_that_cannot_be_read_is_refused_with_it() -> None:
    assert _faults("$TTL 5\na..b A 192.0.2.1\n A 192.0.2.2\nc A 192.0.2.3\n") == [
        (2, "A DNS label is empty."),
        (3, "the last used name is undefined"),
    ]
    assert [line for line, _ in _faults("$TTL 5\n$ORIGIN a..b.\nx A 192.0.2.1\n")] == [2, 3]
    assert [line for line, _ in _faults("$TTL 5\n$TTL x\nx A 192.0.2.1\ny 7 A 192.0.2.1\n")] == [2, 3]


def test_a_parenthesis_that_never_closes_costs_its_line_only() -> None:
    text = "$TTL 5\na TXT (\nb A 192.0.2.1\n"
    assert [line for line, _ in _faults(text)] == [2]
    assert [each.owner for each in _records(text)] == ["b.example."]


class Counted(list[str]):
    """Lines that know how often one was read."""

    read = 0

    def __iter__(self) -> Iterator[str]:
        for line in super().__iter__():
            self.read += 1
            yield line

    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        self.read += len(found) if isinstance(place, slice) else 1
        return found


@pytest.mark.parametrize("line", ["(" * 500, "(", ")", "a (", "x", '"(', "() ("])
def test_each_line_is_read_twice_however_many_parentheses_are_open(line: str) -> None:
    lines = Counted([line] * 5000)
    assert len(list(_entries(lines))) == 5000
    assert lines.read == 10_000


@given(st.lists(st.text("()x", max_size=3), max_size=30))
def test_entries_end_where_their_parentheses_do(lines: list[str]) -> None:
    at, expected = 0, []
    while at < len(lines):
        depths = list(itertools.accumulate(each.count("(") - each.count(")") for each in lines[at:]))
        end = next((at + many for many, depth in enumerate(depths, 1) if depth <= 0), at + 1)
        expected.append((at + 1, "\n".join(lines[at:end])))
        at = end
    assert list(_entries(lines)) == expected


def test_a_record_has_an_end() -> None:
    held = "x TXT (" + "\n a" * 998 + ")\n"
    assert len(_records("$TTL 5\n" + held)) == 1
    assert _faults("$TTL 5\n" + held.replace(")", "\n a\n a)"))[0] == (2, "unbalanced parentheses")
    ((_, why),) = _faults("$TTL 5\nx TXT " + "a " * 200_000)
    assert why == "no record is longer than 262,144 characters"


def test_what_is_no_zone_file_is_not_read_to_its_end() -> None:
    found = list(
        file_records("$TTL 5\nx A 192.0.2.1\n" + "no " * 999 + "\n" + "no\n" * 5000 + "y A 192.0.2.2\n", ORIGIN)
    )
    assert len(found) == 1 + MOST_UNREADABLE + 1
    last = found[-1]
    assert isinstance(last, Unreadable)
    assert (last.line, last.why) == (1003, "1,000 could not be read; 4,003 lines are not looked at")
    assert max(len(each.text) for each in found if isinstance(each, Unreadable)) < 250


def test_what_is_generated_is_bounded() -> None:
    assert len(_records("$TTL 5\n$GENERATE 0-255 h$ A 10.0.0.$\n")) == 256
    text = "$TTL 5\n$GENERATE 0-99999999 h$ A 10.0.0.1\n$GENERATE 1-9 g$ A 10.0.0.1\ny A 192.0.2.1\n"
    why = f"the file has $GENERATE make more than {MOST_GENERATED:,} records"
    *faults, last = file_records(text, ORIGIN)
    assert [(each.line, each.why) for each in faults if isinstance(each, Unreadable)] == [(2, why), (3, why)]
    assert isinstance(last, SourceRecord)
    assert last.owner == "y.example."


def test_the_same_record_has_the_same_key_however_it_is_written() -> None:
    one, two = _records("$TTL 5\nx AAAA 2001:DB8:0::1\nX 9 AAAA 2001:db8::1\n")
    assert one.key == two.key
    one, two = _records("$TTL 5\nx MX 10 Mail\nx MX 10 mail.example.\n")
    assert one.key == two.key


@given(st.lists(st.sampled_from(WORDS) | st.text(max_size=3), max_size=40).map(" ".join))
def test_whatever_is_written_each_line_is_a_record_or_a_fault(text: str) -> None:
    for each in file_records(text, ORIGIN):
        assert each.line is not None
        assert 1 <= each.line <= text.count("\n") + 1
        if isinstance(each, SourceRecord):
            assert _records(f"{each.owner} {each.ttl} {each.type} {each.data}")[0].key == each.key


def test_dnspython_reads_the_same(rng: random.Random) -> None:
    lines = [f"h{rng.randrange(999)} {rng.choice([60, 60, 90])} A 10.0.{rng.randrange(9)}.{n}" for n in range(200)]
    text = "$TTL 5\n@ SOA a b 1 2 3 4 5\n@ NS a.x.\n" + "\n".join(lines) + "\n$GENERATE 5-9/2 g$ CNAME h${-5,3,d}\n"
    zone = dns.zone.from_text(text, ORIGIN, relativize=False)
    expected = {(name.to_text(), rdata.to_text()) for name, _, rdata in zone.iterate_rdatas()}
    assert {(each.owner, each.data) for each in _records(text)} == expected


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("axfr://192.0.2.53", ("192.0.2.53", 53)),
        ("axfr://192.0.2.53:5353/", ("192.0.2.53", 5353)),
        ("axfr://[2001:db8::53]:5353", ("2001:db8::53", 5353)),
    ],
)
def test_servers_are_named_by_address(source: str, found: tuple[str, int]) -> None:
    assert primary_of(source) == found


@pytest.mark.parametrize("source", ["axfr://", "axfr://ns.example", "axfr://192.0.2.1:0", "axfr://2001:db8::1", "x"])
def test_what_names_no_server_is_refused(source: str) -> None:
    with pytest.raises(InvalidValue):
        primary_of(source)


def test_zones_have_names() -> None:
    assert origin_name("EXAMPLE").to_text() == "example."
    for name in (".", "", "a..b", "a" * 64):
        with pytest.raises(InvalidValue):
            origin_name(name)
