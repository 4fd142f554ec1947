"""A random one of the lowest free addresses: what Neutron does.

Blocks play no part. Servers of Neutron that allocate at the same time meet less
often that way; Tenure has one writer, and needs it only to look the same.
"""

from collections.abc import Iterator
from hashlib import blake2b

from tenure.engine.strategies.view import Candidate, View, Wish

WINDOW = 1000
"""How many of the lowest free addresses it chooses among. Neutron's, before it could allocate many at once, was 10."""


def candidates(wish: Wish, view: View) -> Iterator[Candidate]:
    """A random one of each subnet's lowest free addresses, in the order of the subnets.

    The same seed gives the same answer in the same subnet. Cost: at most `WINDOW` pages of 256 addresses, and few
    where many are free.
    """
    for space in view.spaces:
        number = space.nth_free(_random(view.seed, space.available) % min(space.available, WINDOW))
        if number is not None:
            yield Candidate(space.subnet.id, number, None, None)


def _random(seed: int, available: int) -> int:
    """The addresses of one request share its seed, and what is available differs from one to the next."""
    return int.from_bytes(blake2b(f"{seed}/{available}".encode(), digest_size=8).digest())
