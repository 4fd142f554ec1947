"""Questions and answers as text, those of the standards among them."""

from collections.abc import Iterator
from ipaddress import ip_network
from pathlib import Path
from typing import NamedTuple

import dns.flags
import dns.message
import dns.rcode
import dns.rrset
import pytest

from tenure.model.dnsdata import Zone
from tenure.naming.templates import Stretch, parse_template
from tenure.surfaces.dns.answer import answer
from tenure.surfaces.dns.table import ZoneTable
from tests.surfaces.dns.naive import Filled, Stretched, zone_text

TEXT = (Path(__file__).parent / "vectors" / "answers.txt").read_text()
TEMPLATE = parse_template("ip-{ip-dashed}.dyn")
SECTIONS = {"says": "answer", "authority": "authority", "additional": "additional"}


class Vector(NamedTuple):
    """One question, and all that is said."""

    title: str
    asked: str
    rcode: str
    authoritative: bool
    said: dict[str, set[str]]


def paragraphs(first: str) -> Iterator[tuple[str, list[str]]]:
    for paragraph in TEXT.split("\n\n"):
        head, *lines = [line for line in paragraph.splitlines() if not line.startswith("#")] or [""]
        if head.startswith(first):
            yield head.removeprefix(first), lines


def vectors() -> Iterator[Vector]:
    for title, (asked, says, *lines) in paragraphs("> "):
        rcode, *flags = says.removeprefix("says ").split()
        said: dict[str, set[str]] = {section: set() for section in SECTIONS.values()}
        section = "answer"
        for line in lines:
            if line.startswith(" "):
                said[section].add(" ".join(line.split()))
            else:
                section = SECTIONS[line]
        yield Vector(title, asked.removeprefix("asks "), rcode, "AA" in flags, said)


def stretch(prefix: str) -> Stretch:
    network = ip_network(prefix)
    first, last = int(network[0]), int(network[-1])
    return Stretch(network.version, first, last, TEMPLATE, "prod.test.", "prod.test.", False, 300)


@pytest.fixture(scope="module")
def table() -> ZoneTable:
    made = ZoneTable()
    stretches = (
        Stretched(stretch("10.1.0.0/24"), {int.from_bytes((10, 1, 0, 6))}),
        Stretched(stretch("2001:db8::/64"), set()),
    )
    for name, lines in paragraphs("zone "):
        zone = Zone(id=name, vrf="default", name=name)
        text = "\n".join(line.strip() for line in lines)
        made.put(made.build(Filled(zone, zone_text(text, name), stretches if name == "prod.test." else ())))
    return made


@pytest.mark.parametrize("vector", list(vectors()), ids=lambda vector: vector.title)
@pytest.mark.parametrize("edns", [-1, 0])
def test_answers(table: ZoneTable, vector: Vector, edns: int) -> None:
    name, kind = vector.asked.split()
    query = dns.message.make_query(name, kind, use_edns=edns)
    given = answer(query.to_wire(), table, False)
    assert given is not None
    message = dns.message.from_wire(given)
    assert query.is_response(message)
    assert dns.rcode.to_text(message.rcode()) == vector.rcode
    assert bool(message.flags & dns.flags.AA) == vector.authoritative
    told = {section: set(lines(getattr(message, section))) for section in SECTIONS.values()}
    assert told == vector.said
    assert sum(map(len, told.values())) == sum(len(rrset) for rrset in message.answer) + sum(
        len(rrset) for rrset in (*message.authority, *message.additional)
    )


def lines(rrsets: list[dns.rrset.RRset]) -> Iterator[str]:
    for rrset in rrsets:
        for rdata in rrset:
            soa = rrset.rdtype == dns.rdatatype.SOA
            yield f"{rrset.name} SOA" if soa else f"{rrset.name} {rrset.ttl} IN {rrset.rdtype.name} {rdata}"
