"""Random zones with wildcards, cuts, aliases, a zone below and computed names: answers are those of a simple server."""

from ipaddress import ip_address

import dns.message
import dns.name
import dns.rdatatype
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.model.dnsdata import Record, Zone, ZoneChange
from tenure.naming.authority import Delegated
from tenure.naming.hostnames import wire
from tenure.naming.templates import Stretch, parse_template
from tenure.surfaces.dns.answer import answer
from tenure.surfaces.dns.table import ZoneTable
from tests.surfaces.dns.naive import Filled, Naive, Stretched, ahead, said

A, NS, CNAME, MX, TXT, AAAA, SRV, DS = 1, 2, 5, 15, 16, 28, 33, 43
ZONE = Zone(id="f", vrf="v", name="prod.example.")
CHILD = Zone(id="c", vrf="v", name="b.prod.example.")
OTHER = Zone(id="o", vrf="v", name="example.net.")
KINDS = (A, NS, CNAME, MX, AAAA, DS)

LABELS = st.sampled_from(["a", "b", "c", "d", "*", "a-10-0-0-1", "a-10-0-0-2", "x"])
BELOW = st.lists(LABELS, min_size=1, max_size=4).map(lambda labels: "".join(f"{label}." for label in labels))
TARGETS = st.builds(str.__add__, st.one_of(st.just(""), BELOW), st.sampled_from([ZONE.name, OTHER.name, "nowhere."]))
RDATA = {
    A: st.integers(1, 3).map(lambda last: bytes((192, 0, 2, last))),
    AAAA: st.integers(1, 3).map(lambda last: bytes(15) + bytes((last,))),
    NS: TARGETS.map(wire),
    CNAME: TARGETS.map(wire),
    MX: TARGETS.map(lambda target: b"\0\x0a" + wire(target)),
    SRV: TARGETS.map(lambda target: bytes(6) + wire(target)),
}
VALUES = st.sampled_from([A, A, AAAA, NS, CNAME, CNAME, MX, SRV]).flatmap(
    lambda kind: RDATA[kind].map(lambda rdata: (kind, rdata))
)
TEMPLATES = st.sampled_from(["a-{ip-dashed}", "a-{ip-dashed}.c", "x.a-{ip-dashed}.c", "{ip-hex}.d.c", "c.{ip-hex}"])


def records_of(zone: Zone) -> st.SearchStrategy[tuple[Record, ...]]:
    record = st.builds(lambda below, value: Record(below + zone.name, value[0], 300, value[1]), BELOW, VALUES)
    return st.lists(record, max_size=10).map(lambda records: tuple(dict.fromkeys(sound(records))))


def sound(records: list[Record]) -> list[Record]:
    """Without what may not be together: a CNAME and others, and NS of a wildcard."""
    first: dict[str, Record] = {}
    for record in records:
        first.setdefault(record.owner, record)
    return [
        record
        for record in records
        if (record is first[record.owner] or CNAME not in (record.type, first[record.owner].type))
        and not (record.type == NS and record.owner.startswith("*"))
    ]


@st.composite
def stretches(draw: st.DrawFn) -> tuple[Stretched, ...]:
    template = parse_template(draw(TEMPLATES))
    first, found = 0x0A000000, []
    for size in draw(st.lists(st.integers(1, 3), max_size=2)):
        stretch = Stretch(4, first, first + size - 1, template, ZONE.name, ZONE.name, False, ZONE.ttl)
        found.append(Stretched(stretch, draw(st.sets(st.integers(first, first + size - 1)))))
        first += size + 1
    return tuple(found)


@st.composite
def views(draw: st.DrawFn) -> list[Filled]:
    served_child = draw(st.booleans())
    below = (Delegated(CHILD, ("ns.b.prod.example.", "ns.example.com.")),) if served_child else ()
    filled = [Filled(ZONE, draw(records_of(ZONE)), draw(stretches()), below)]
    if served_child:
        apart = tuple(record for record in filled[0].records if record.owner != CHILD.name or record.type != CNAME)
        filled[0] = filled[0]._replace(records=apart)
        filled.append(Filled(CHILD, draw(records_of(CHILD))))
    filled.append(Filled(OTHER, draw(records_of(OTHER))))
    return filled


@settings(deadline=None, max_examples=50)
@given(st.data(), views(), st.lists(TARGETS, min_size=1, max_size=6))
def test_answers_are_those_of_a_simple_server(data: st.DataObject, filled: list[Filled], asked: list[str]) -> None:
    table = ZoneTable([ip_address("127.0.0.1")])
    for each in filled:
        before = data.draw(records_of(each.zone))
        table.put(table.build(each._replace(records=before)))
        become(table, each.zone, before, each.records)
    naive = Naive(tuple(table.records(each.zone.id)) for each in filled)
    for each in filled:
        assert {*ahead(each.stretches, each.records)} <= {*table.records(each.zone.id)}
    for name in {*asked, *(record.owner for each in filled for record in (*each.records, *every(each)))}:
        for kind in KINDS:
            check(table, naive, name, kind)


def become(table: ZoneTable, zone: Zone, before: tuple[Record, ...], after: tuple[Record, ...]) -> None:
    """Change a zone; its journal must lead from the one to the other."""
    served = table.zones[wire(zone.name)]
    was = set(served.snapshot())
    removed = tuple(record for record in before if record not in after)
    added = tuple(record for record in after if record not in before)
    table.apply(ZoneChange(zone.id, zone.serial + 1, 1, removed, added))
    step = (served.journal.since(zone.serial) or [])[0]
    assert {*step.removed} <= was and not {*step.added} & was
    assert (was - {*step.removed}) | {*step.added} == set(served.snapshot())


def every(filled: Filled) -> list[Record]:
    """The computed records of each stretch, as if none were taken."""
    return list(ahead([each._replace(taken=set()) for each in filled.stretches], ()))


def check(table: ZoneTable, naive: Naive, name: str, kind: int) -> None:
    query = dns.message.make_query(name, dns.rdatatype.RdataType(kind))
    given = answer(query.to_wire(), table, True)
    assert given is not None
    message = dns.message.from_wire(given)
    parsed = dns.name.from_text(name)
    if table.find(wire(name)) is None:
        assert message.rcode() == dns.rcode.REFUSED
        return
    assert said(message) == naive.answer(parsed, kind)
    known = {(owner, record.type, record.rdata) for owner, record in naive.addresses()}
    told = [(rrset.name, int(rrset.rdtype), rdata.to_wire()) for rrset in message.additional for rdata in rrset]
    assert len(told) == len(set(told)) and set(told) <= known
