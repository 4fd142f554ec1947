"""What the DNS process says should be known, and keeps nobody from asking for other zones."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from tenure.surfaces.dns.followers import Behind

_MOST: Final = 5
"""How many are named."""


class Known(NamedTuple):
    """What there is to say.

    Attributes:
        unseen: Vrfs whose zones nobody can ask for.
        closed: TSIG keys that cannot be opened, and why not.
        silent: Secondaries that have not answered at all.
    """

    unseen: Sequence[str]
    closed: Mapping[str, str]
    behind: Behind
    silent: Sequence[str]


def sentences(known: Known) -> Iterator[str]:
    """One for each kind of thing that there is."""
    if known.unseen:
        yield f"DNS zones of these address spaces are served by no listener, and to no key: {_few(known.unseen)}"
    if known.closed:
        why = next(iter(known.closed.values()))
        yield f"TSIG keys that DNS does not know (BADKEY): {_few(sorted(known.closed))}. {why}"
    if known.behind.zones:
        first = [f"{secondary} with {zone}" for secondary, zone in known.behind.first]
        yield f"Secondaries that are behind: {_few(first, known.behind.zones)}"
    if known.silent:
        yield f"Secondaries that have never answered when told of a zone: {_few(known.silent)}"


def _few(names: Sequence[str], count: int = 0) -> str:
    shown = names[:_MOST]
    more = max(count, len(names)) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")
