"""The host chooses: only the subnets of the cluster (the rack, the site) that it is in serve it."""

from collections.abc import Iterator

from tenure.engine.rooms import Offered
from tenure.engine.space import Space
from tenure.engine.strategies.view import Wish


def spaces(wish: Wish, offered: Offered[Space]) -> Iterator[Space]:
    """Subnets bound to a place on the host's path, the nearest place first."""
    return offered.along(wish.path)
