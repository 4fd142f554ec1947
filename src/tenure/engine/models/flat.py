"""Every subnet serves everybody, but one that is bound to a location serves only what is there."""

from collections.abc import Iterator

from tenure.engine.space import Space
from tenure.engine.strategies.view import Wish


def spaces(wish: Wish, offered: list[Space]) -> Iterator[Space]:
    """Subnets bound to the host's place first, then those that are everywhere; without a host, all of them."""
    path = set(wish.path)
    yield from (space for space in offered if path.intersection(space.subnet.locations))
    yield from (space for space in offered if not space.subnet.locations)
    if not path:
        yield from (space for space in offered if space.subnet.locations)
