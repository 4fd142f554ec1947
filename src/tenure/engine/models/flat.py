"""Every subnet serves everybody, but one that is bound to a location serves only what is there."""

from collections.abc import Iterator

from tenure.engine.rooms import Offered
from tenure.engine.space import Space
from tenure.engine.strategies.view import Wish


def spaces(wish: Wish, offered: Offered[Space]) -> Iterator[Space]:
    """Subnets bound to the host's place first, then those that are everywhere; without a host, all of them."""
    yield from offered.along(wish.path)
    yield from offered.everywhere()
    if not wish.path:
        yield from (space for space in offered.all() if space.subnet.locations)
