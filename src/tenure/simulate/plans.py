"""Whole plans: each event of a workload as the use that a caller would submit, its rows kept in memory."""

from collections import deque
from datetime import timedelta
from itertools import count
from typing import Final

from tenure.engine.facts import Facts
from tenure.engine.plan import Moment, Plan, plan
from tenure.engine.space import Space
from tenure.engine.state import State
from tenure.engine.strategies import host_block
from tenure.engine.wants import wanted
from tenure.errors import Conflict, Exhausted, InvalidValue
from tenure.model import uses as u
from tenure.model.holding import Allocation, Claim, ClaimRequest
from tenure.net.addresses import number_of
from tenure.simulate.blocks import NETWORK, START, fields_of
from tenure.simulate.counting import Tables
from tenure.simulate.drive import Figures
from tenure.simulate.world import World

_REMEMBERED: Final = 20_000
"""So many of the claims that were released last are known, so that releases that come again meet them."""

_ALL: Final = 100_000
"""Changes that time alone may make at once: more than are ever due."""


def drive(world: World) -> "WholePlans":
    """An allocator of whole plans for a world.

    Raises:
        InvalidValue: The policy has a cap that no network has.
    """
    policy = world.policy
    if policy.strategy == "host_block" and policy.cap != host_block.CAP:
        raise InvalidValue(f"Whole plans give a host {host_block.CAP} blocks of host_block at most; say that cap.")
    return WholePlans(world)


class _Rows:
    """Claims with their open allocations, as a store would keep them; `settling`: those with a hand-over."""

    def __init__(self) -> None:
        self.claims: dict[str, Claim] = {}
        self.allocations: dict[str, dict[str, Allocation]] = {}
        self.settling: dict[str, Claim] = {}

    def read(self, facts: Facts, claim: str) -> None:
        """Let a plan know a claim, and what hangs on it."""
        facts.put("claims", self.claims[claim])
        for allocation in self.allocations[claim].values():
            facts.put("allocations", allocation)

    def apply(self, facts: Facts) -> None:
        """Keep what a plan wrote."""
        for table, _, row, _ in facts.net.values():
            if table == "claims":
                self._keep(row)
            elif table == "allocations":
                held = self.allocations[row.claim]
                if row.until is None:
                    held[row.id] = row
                else:
                    del held[row.id]

    def _keep(self, claim: Claim) -> None:
        self.claims[claim.id] = claim
        self.allocations.setdefault(claim.id, {})
        if claim.settles is not None:
            self.settling[claim.id] = claim
        elif self.settling:
            self.settling.pop(claim.id, None)

    def forget(self, claim: str) -> None:
        """A claim is asked for no more."""
        del self.claims[claim], self.allocations[claim]


class WholePlans:
    """See `Drive`."""

    def __init__(self, world: World) -> None:
        self.state = State()
        self._now = START
        self._ids = map(str, count(1))
        self._seed = 0
        self._rows = _Rows()
        self._claims: dict[int, str] = {}
        self._released: deque[int] = deque()
        self._racks = [world.site.rack_of(host) for host in range(world.site.hosts)]
        self._retired: set[str] = set()
        self.space = self._begin(world)
        self.capacity = self.space.capacity
        self._tables = Tables(self.state, self.space)

    def _begin(self, world: World) -> Space:
        """The site, its network and its subnet."""
        self.state.advance(self._now)
        self._do(u.CreateVrf(name="default"))
        for rack in range(world.site.racks):
            self._do(u.CreateLocation(name=f"r{rack}", kind="rack"))
        for host, rack in enumerate(self._racks):
            self._do(u.CreateLocation(name=f"h{host}", kind="host", parent=f"r{rack}"))
        prefix = world.prefix
        self._do(u.CreateNetwork(name=NETWORK, fields=fields_of(world.policy, prefix.version)))
        self._do(u.CreateSubnet(network=NETWORK, cidr=str(prefix), fields={"use_all_addresses": True}))
        return next(iter(self.state.subnets.values()))

    def _do(self, use: u.Use, *claims: str) -> Plan:
        """Plan a use that these claims must be known for, and keep what it writes."""
        facts = Facts()
        facts.want(wanted(use, self.state))
        for claim in claims:
            self._rows.read(facts, claim)
        facts.settling.extend(claims)  # of the uses here, only `Tend` looks at them
        moment = Moment(now=self._now, ids=self._ids, seed=self._seed)
        made = plan(u.Submission(use=use, actor="simulate"), self.state, facts, moment)
        self._rows.apply(facts)
        return made

    def claim(self, workload: int, host: int) -> bool:
        """Give a workload an address."""
        self._seed += 1
        request = ClaimRequest(network=NETWORK, host=f"h{host}")
        try:
            made = self._do(u.ClaimAddresses(request=request, handle=str(workload)))
        except Exhausted:
            return False
        claim = self._claims[workload] = made.answer.claim.id  # type: ignore[union-attr]
        self._loosen(claim)
        return True

    def release(self, workload: int) -> bool:
        """Take back what a workload holds."""
        claim = self._claims.get(workload)
        if claim is None or not self._do(u.ReleaseClaim(claim=claim, handle=str(workload)), claim).events:
            return False
        self._released.append(workload)
        if len(self._released) > _REMEMBERED:
            self._rows.forget(self._claims.pop(self._released.popleft()))
        if self._retired:
            self._left(self._rows.claims[claim].host)
        return True

    def move(self, workload: int, host: int, renumber: bool) -> bool:
        """Let a workload be elsewhere."""
        claim = self._claims[workload]
        before = self._rows.claims[claim].host
        self._seed += renumber
        try:
            self._do(u.RebindClaim(claim=claim, host=f"h{host}", renumber=renumber), claim)
        except (Conflict, Exhausted):
            return False
        self._loosen(claim)
        self._left(before)
        return True

    def _loosen(self, claim: str) -> None:
        """An address that lies in no block is a route of its own, whatever right it was given by."""
        host = self._rows.claims[claim].host
        for allocation in self._rows.allocations[claim].values():
            if allocation.block is None:
                self.space.loosen(number_of(allocation.ip), host)

    def replace(self, host: int) -> None:
        """The host comes again as another; the old one goes with the last that it holds."""
        name = f"h{host}"
        old = self.state.names["location", name]
        self._do(u.ChangeLocation(location=old, changes={"name": f"{name} {old}"}))
        self._do(u.CreateLocation(name=name, kind="host", parent=f"r{self._racks[host]}"))
        self._retired.add(old)
        self._left(old)

    def _left(self, place: str | None) -> None:
        """Somebody left a host, which may be one that was kept for him."""
        if place in self._retired and not self.state.claims_at[place]:
            self._retired.discard(place)
            self._do(u.DeleteLocation(location=place))

    def add_rack(self, rack: int, hosts: tuple[int, ...]) -> None:
        """A rack of new hosts."""
        self._do(u.CreateLocation(name=f"r{rack}", kind="rack"))
        for host in hosts:
            self._do(u.CreateLocation(name=f"h{host}", kind="host", parent=f"r{rack}"))
            self._racks.append(rack)

    def remove_rack(self, rack: int) -> None:
        """A rack goes, with its hosts."""
        for host in [host for host, at in enumerate(self._racks) if at == rack]:
            self._do(u.DeleteLocation(location=f"h{host}"))
        self._do(u.DeleteLocation(location=f"r{rack}"))

    def tick(self, now: float) -> None:
        """Time passes."""
        self._now = START + timedelta(seconds=now)
        self.state.advance(self._now)
        settling = self._rows.settling.values()
        due = [claim.id for claim in settling if claim.settles is not None and claim.settles <= self._now]
        self._do(u.Tend(limit=_ALL), *due)

    def figures(self) -> Figures:
        """What routers hold now."""
        return self._tables.figures()
