"""The site that is measured: 500 hosts in 20 racks on one network, and claims from all of them in turn."""

import asyncio
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tenure.app.seed import seed
from tenure.model import uses as u
from tenure.model.answers import Failure, Holding, Reply
from tenure.model.holding import ClaimRequest
from tenure.service.writer import Writer

RACKS = 20
HOSTS = 25
NETWORK = "prod"
CIDR = "10.0.0.0/8"
LEASED = "172.16.0.0/12"
PRELOAD = 1000
"""Claims of one batch while a site is filled."""

_ACTOR = "token:bench"
_numbers = itertools.count()


def host(number: int) -> str:
    """The host of the claim with this number: neighbours in time are no neighbours in space."""
    return f"h{number % RACKS}-{number // RACKS % HOSTS}"


def furnish(writer: Writer, directory: Path) -> None:
    """Make the site in an empty ledger, and the administrator with a token in `directory`."""
    asyncio.run(seed(writer.submit, directory))
    answered(writer, list(_inventory()))


def claims(count: int, *, named: bool = False) -> list[u.Submission]:
    """That many claims that nobody made before; with a hostname each if `named`."""
    return [_claim(next(_numbers), named=named) for _ in range(count)]


def answered(writer: Writer, asked: Sequence[u.Submission]) -> list[Reply]:
    """Submit and wait; every one must succeed."""
    replies = writer.submit(asked).result()
    for reply in replies:
        assert not isinstance(reply.answer, Failure), reply.answer
    return replies


def fill(writer: Writer, count: int, progress: Callable[[int], object]) -> float:
    """Make `count` named claims, straight through the writer; claims a second."""
    began = time.perf_counter()
    for done in range(0, count, PRELOAD):
        answered(writer, claims(min(PRELOAD, count - done), named=True))
        progress(done)
    return count / (time.perf_counter() - began) if count else 0.0


def held(replies: Sequence[Reply]) -> set[str]:
    """The addresses among answers."""
    return {a.ip for reply in replies if isinstance(reply.answer, Holding) for a in reply.answer.addresses}


def _claim(number: int, *, named: bool) -> u.Submission:
    request = ClaimRequest(network=NETWORK, host=host(number), hostname=f"vm-{number}" if named else None)
    return u.Submission(
        use=u.ClaimAddresses(request=request, handle=f"nova:{number:012x}/port-1"),
        actor=_ACTOR,
        source="127.0.0.1",
        patience=60.0,
    )


def _inventory() -> Iterator[u.Submission]:
    uses: list[u.Use] = [u.CreateLocation(name="hall", kind="site")]
    for rack in range(RACKS):
        uses.append(u.CreateLocation(name=f"r{rack}", kind="rack", parent="hall"))
        uses += [u.CreateLocation(name=f"h{rack}-{n}", kind="host", parent=f"r{rack}") for n in range(HOSTS)]
    uses += [
        u.CreateNetwork(name=NETWORK, fields={"domain": "prod.example."}),
        u.CreateSubnet(network=NETWORK, cidr=CIDR, fields={"gateway": "10.0.0.1"}),
        u.CreateNetwork(name="leased", fields={"domain": "leased.example."}),
        u.CreateSubnet(network="leased", cidr=LEASED, fields={"gateway": "172.16.0.1"}),
        u.CreateRange(subnet=LEASED, start="172.20.0.0", end="172.27.255.255", role="dynamic"),
    ]
    return (u.Submission(use=use, actor=_ACTOR, source="127.0.0.1", patience=60.0) for use in uses)
