"""Sites of any number of hosts, on which claims are planned and recorded nowhere: what deciding alone costs."""

import random
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import count

from tenure.engine.facts import Facts, Wanted
from tenure.engine.plan import Moment, plan
from tenure.engine.wants import want
from tenure.model import events as e
from tenure.model import uses as u
from tenure.model.holding import Allocation, Claim, ClaimRequest
from tenure.model.policy import StrategyName
from tenure.simulate.blocks import NETWORK, begin
from tenure.simulate.world import Policy, Site, World

SUBNET = "10.0.0.0/12"
RACKED = 40
"""Hosts in a rack."""
_CALICO_BLOCK = 26
"""Of `host_block`, as Calico has it; with 16 addresses each, 20 blocks would not do for the smallest site."""
_SECOND = timedelta(seconds=1)


class Hall:
    """A site, and what is held there.

    Args:
        hosts: How many; claims come from all alike.
        seed: Of who claims and what is released.
    """

    def __init__(self, strategy: StrategyName, hosts: int, seed: int) -> None:
        policy = Policy(strategy, _CALICO_BLOCK if strategy == "host_block" else None)
        self._state = begin(World(policy, SUBNET, Site(hosts, max(1, hosts // RACKED))))
        self._hosts = hosts
        self._rng = random.Random(seed)
        self._ids = (f"{number:08x}" for number in count())
        self._held: list[tuple[Claim, Allocation]] = []

    def begin(self, number: int, batch: int) -> float:
        """Plan so many claims from all hosts in turn, in batches: the first of each cuts a block. Else as `claim`."""
        hosts = [at % self._hosts for at in range(number)]
        return sum(self._claim(hosts[at : at + batch]) for at in range(0, number, batch))

    def claim(self, number: int) -> float:
        """Plan so many claims from any hosts, and keep what they get; seconds of the processor."""
        return self._claim([self._rng.randrange(self._hosts) for _ in range(number)])

    def _claim(self, hosts: Sequence[int]) -> float:
        requests = (ClaimRequest(network=NETWORK, host=f"h{host}") for host in hosts)
        return self._plan([u.ClaimAddresses(request=request, handle=next(self._ids)) for request in requests], Facts())

    def release(self, number: int) -> float:
        """Plan so many releases of what is held as one batch; seconds of the processor."""
        facts = Facts()
        self._rng.shuffle(self._held)
        gone, self._held = self._held[:number], self._held[number:]
        for claim, allocation in gone:
            facts.put("claims", claim)
            facts.put("allocations", allocation)
        return self._plan([u.ReleaseClaim(claim=claim.id) for claim, _ in gone], facts)

    def _plan(self, asked: Sequence[u.Use], facts: Facts) -> float:
        """A second passes, and a batch is planned as the writer does it; a refusal is a mistake here."""
        self._state.advance(self._state.now + _SECOND)
        moment = Moment(now=self._state.now, ids=self._ids)
        began = time.process_time()
        wanted = Wanted()
        for use in asked:
            want(wanted, use, self._state)
        facts.want(wanted)
        plans = [plan(u.Submission(use=use, actor="bench"), self._state, facts, moment) for use in asked]
        took = time.process_time() - began
        self._held += _allocated(event for each in plans for event in each.events)
        return took


def _allocated(events: Iterator[e.Event]) -> Iterator[tuple[Claim, Allocation]]:
    return ((event.claim, event.allocation) for event in events if isinstance(event, e.AddressAllocated))
