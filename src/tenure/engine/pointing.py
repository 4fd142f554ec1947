"""Which reverse zones the subnets of a vrf want.

    /24 and shorter, all IPv6   the zones on its octets or nibbles
    longer, `plain`             the octet's, unless a subnet around it has a zone for it already
    longer, `rfc2317`           one of its own, that the octet's zone points into
    longer, `auto`              `plain` in a subnet of /24 or shorter, where a person made the octet's zone, and
                                where the addresses are private: nobody above points into those; else `rfc2317`
    `off`                       none

It follows from the subnets and the zones that people keep, and from nothing else.
"""

from collections.abc import Iterable, Iterator
from typing import Final, Literal

from tenure.engine.space import Space
from tenure.engine.state import State
from tenure.naming.reverse import classless_span, classless_zone, is_private, zone_at, zone_length, zone_span, zones_for
from tenure.net.addresses import parse_prefix, width

LAST_CUT: Final = {4: 24, 6: 124}
"""The longest zones on octets and nibbles: smaller subnets share one, or (IPv4) have one of their own."""


def is_classless(space: Space) -> bool:
    """Whether a subnet may have a zone by RFC 2317."""
    return space.version == 4 and space.prefix_length > LAST_CUT[4]


def pointed(state: State, space: Space) -> Literal["off", "plain", "rfc2317"]:
    """How a subnet's pointers are kept, `auto` decided. Cost: a look at the subnets that cross it."""
    said = space.subnet.reverse
    if said == "off":
        return "off"
    if not is_classless(space):
        return "plain"
    if said != "auto":
        return said
    if is_private(space.first):
        return "plain"
    octet = state.zone_named(space.subnet.vrf, octet_zone(space))
    kept = octet is not None and octet.kept
    return "plain" if kept or any(s.prefix_length <= LAST_CUT[4] for s in _around(state, space)) else "rfc2317"


def wanted_by(state: State, space: Space) -> list[str]:
    """The names of the zones that a subnet wants. At most 128."""
    how = pointed(state, space)
    if how == "off":
        return []
    if not is_classless(space):
        return [name for name, _, _ in zones_for(parse_prefix(space.subnet.cidr))]
    if how == "rfc2317":
        return [classless_zone(space.first, space.prefix_length)]
    return [] if any(_around(state, space)) else [octet_zone(space)]


def wanting(state: State, vrf: str, name: str) -> Iterator[Space]:
    """The subnets that want a zone; none for a name that is no reverse zone's.

    Cost: a look at the subnets around the zone; for one of an octet (IPv6: the last nibble) at those in it too.
    """
    span = zone_span(name)
    if span is None:
        return
    version, first, last = span
    length = width(version) - (last - first).bit_length()
    for found in state.prefixes.crossing(vrf, version, first, length):
        space = state.subnets[found]
        if space.prefix_length > length != LAST_CUT[version]:
            return  # those inside have zones of their own
        if _wants(state, space, name, length):
            yield space


def without_keeping(spaces: Iterable[Space], name: str) -> Iterator[Space]:
    """Those of the subnets that want a zone that would want it even if no person kept it.

    One that is `auto`, and not private, wants its octet's zone for that alone: a subnet around it has it otherwise.
    """
    own = classless_span(name) is not None
    for space in spaces:
        if own or space.subnet.reverse != "auto" or not is_classless(space) or is_private(space.first):
            yield space


def octet_zone(space: Space) -> str:
    """The name of the zone on the last octet around an IPv4 subnet longer than /24."""
    return zone_at(4, space.first, LAST_CUT[4])[0]


def _wants(state: State, space: Space, name: str, length: int) -> bool:
    if is_classless(space):
        return name in wanted_by(state, space)
    return space.subnet.reverse != "off" and zone_length(space.version, space.prefix_length) == length


def _around(state: State, space: Space) -> Iterator[Space]:
    """The shorter subnets around one that have zones."""
    for other in state.crossing(space.subnet.vrf, space.version, space.first, space.prefix_length):
        if other.prefix_length < space.prefix_length and other.subnet.reverse != "off":
            yield other
