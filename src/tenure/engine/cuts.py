"""Where a zone begins inside another one, ours or by NS records somebody else's: nothing that is said may be hidden.

What is at or below such a cut is said by the zone inside alone. Hand-made records, names of allocations and
names that templates compute are looked for whenever a cut comes, and cuts whenever a template does.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from tenure.engine import names
from tenure.engine.draft import Draft
from tenure.engine.state import State
from tenure.errors import Conflict
from tenure.model.dnsdata import Zone
from tenure.naming.reverse import classless_span, pointer_name, zone_span
from tenure.naming.templates import parse_template, readings

_SHOWN: Final = 20


def is_at_or_below(name: str, above: str) -> bool:
    """Whether a name is another, or below it."""
    return name == above or name.endswith("." + above)


def unshadowed(draft: Draft, vrf: str, name: str) -> None:
    """Refuse a new zone that would hide what is said in the zone around it, or that lies in what is delegated.

    A dynamic lease that is called as the zone loses that name. What the zone would hide must have been wanted.

    Raises:
        Conflict: With the first 20 names, and how many there are.
    """
    around = names.zone_around(draft.state, vrf, name)
    if around is None:
        return
    made = _made_below(draft.state, around, name)
    reverse = zone_span(name) is not None  # pointers go to the innermost zone
    held, count = ([], 0) if reverse else held_below(draft, around, name)
    if made or count:
        holders, count = (made + held)[:_SHOWN], len(made) + count
        raise Conflict(
            f"zone {name} would hide what zone {around.name} says of {', '.join(holders[:3])}"
            f"{f' and {count - 3} more' if count > 3 else ''}: rename, release or delete that first",
            zone=around.id,
            holders=holders,
            count=count,
            pointer="/name",
        )
    refuse_computed(draft.state, around, name)
    cut = names.cut_above(draft.state, around, name)
    if cut is not None:
        said = f"{cut} is delegated by records of zone {around.name}: no zone below it is asked for here"
        raise Conflict(said, zone=around.id, name=cut, pointer="/name")


def held_below(draft: Draft, zone: Zone, cut: str) -> tuple[list[str], int]:
    """Names of allocations at or below a cut, those that were read and those that this batch gives; how many.

    A dynamic lease that is called as the cut itself loses the name: what a client says bars nobody.
    """
    labels: dict[str, None] = {}
    unseen = 0
    for _, allocation in list(names.automatic(draft, zone, cut)):
        if allocation.lease:
            names.unname(draft, allocation)
        else:
            labels[f"{names.full_name(draft.state, allocation)}"] = None
    for hostname, domain in names.relative_names(draft.state, zone.vrf, cut):
        found, count = draft.facts.holders.get(("below", zone.vrf, domain, hostname), ([], 0))
        labels.update(dict.fromkeys(found))
        unseen += count - len(found)
    for table, key in draft.facts.net:
        row = draft.facts.allocations.get(key[0]) if table == "allocations" else None
        called = None if row is None or row.vrf != zone.vrf else names.full_name(draft.state, row)
        if called is not None and is_at_or_below(called, cut):
            labels[called] = None
    return list(labels), len(labels) + unseen


def refuse_computed(state: State, zone: Zone, cut: str) -> None:
    """Refuse a cut at or below which a template of a zone around it has names, of whatever addresses.

    Raises:
        Conflict: Says which names.

    Cost: one look where the vrf has no template; else the networks, and the subnets of those around the cut.
    """
    if not state.templates[zone.vrf]:
        return
    for _, domain in names.relative_names(state, zone.vrf, cut):
        hidden = _computed_below(cut, domain, _templates(state, zone.vrf, domain))
        if hidden is not None:
            said = f"addresses are called {hidden} by a template, and {cut} would hide that"
            raise Conflict(said, zone=zone.id, name=cut, holders=[hidden], count=1, pointer="/name")


def unhidden(state: State, vrf: str, domain: str, templates: Collection[str]) -> None:
    """Refuse templates that have names at or below where another zone begins in their domain.

    Raises:
        Conflict: With the first 20 of those cuts.

    Cost: nothing without a template; else a look at the zones of the vrf, and at the records of the domain's.
    """
    cuts = _cuts(state, vrf, domain) if templates else ()
    hidden = {cut: name for cut in cuts if (name := _computed_below(cut, domain, templates)) is not None}
    if hidden:
        first = list(hidden)[:_SHOWN]
        said = f"the template calls addresses {hidden[first[0]]}, and {', '.join(first)} would hide that"
        raise Conflict(said, holders=first, count=len(hidden), pointer="/name_template")


def _made_below(state: State, zone: Zone, name: str) -> list[str]:
    """The owners of what people made at or below a name, or where a classless zone has its aliases."""
    made, span = state.made.get(zone.id, {}), classless_span(name)
    pointed = set() if span is None else {pointer_name(4, number) for number in range(span[0], span[1] + 1)}
    return sorted(owner for owner in made if is_at_or_below(owner, name) or owner in pointed)


def _templates(state: State, vrf: str, domain: str) -> Iterator[str]:
    """The templates that are said of a domain's zone, its networks and their subnets."""
    zone = state.zone_named(vrf, domain)
    said = [] if zone is None else [zone.name_template]
    for network in state.networks.values():
        if (network.vrf, network.domain) == (vrf, domain):
            said += [network.name_template, *(space.subnet.name_template for space in state.spaces(network.id))]
    return (template for template in dict.fromkeys(said) if template is not None)


def _computed_below(cut: str, domain: str, templates: Iterable[str]) -> str | None:
    """What is computed at or below a cut: all names of a template, or one address's; None: nothing."""
    for text in templates:
        template, written = parse_template(text), f"{text}.{domain}"
        if is_at_or_below(f"{template.after}.{domain}".partition(".")[2], cut):
            return written
        for version, number in readings(cut):
            if is_at_or_below(called := f"{template.name(version, number)}.{domain}", cut):
                return called
    return None


def _cuts(state: State, vrf: str, domain: str) -> Iterator[str]:
    """Where zones begin inside a domain: those that are served here, and by NS records those that are not."""
    for zone in state.zones.values():
        if zone.vrf == vrf and zone.name.endswith("." + domain):
            yield zone.name
    around = state.zone_named(vrf, domain)
    for owner, there in state.made.get(around.id, {}).items() if around is not None else ():
        if any(record.type == "NS" for record in there.values()):
            yield owner
