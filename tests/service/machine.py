"""The state machine: the service beside a plain dictionary, over nodes that crash, wait and follow each other."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from ipaddress import ip_address, ip_network
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from msgspec.structs import replace

from tenure.engine.facts import Wanted
from tenure.model import uses as u
from tenure.model.answers import Answer, Failure, Holding, Leased
from tenure.model.dnsdata import Record
from tenure.model.holding import ClaimRequest
from tenure.model.leases import Client, Place
from tenure.naming.reverse import owner_number
from tenure.service.contents import zone_contents
from tenure.service.replay import Rebuilt, differences
from tenure.store.interface import Store, Turn
from tests.service.world import Node, World, submission

HANDLES = [f"h{n}" for n in range(10)]
HOSTS = ["a1", "a2", "b1", "b2"]
NAMES = ["web", "db", "mail"]
MACS = [f"52:54:00:00:00:{n:02x}" for n in range(6)]
SUBNETS = {
    "10.0.0.0/26": "prod",
    "2001:db8::/120": "prod",
    "10.0.1.0/28": "small",
    "10.0.2.0/28": "clusters",
    "10.0.3.0/28": "clusters",
}
KEPT = {
    "10.0.0.1",
    "10.0.0.0",
    "10.0.0.63",
    "2001:db8::",
    "10.0.1.0",
    "10.0.1.15",
    "10.0.2.0",
    "10.0.2.15",
    "10.0.3.0",
    "10.0.3.15",
    *(f"10.0.0.{n}" for n in range(20, 24)),
}
DYNAMIC = {f"10.0.0.{n}" for n in range(40, 46)}
LINK = Place(link=int(ip_address("10.0.0.1")))


class Later:
    """A store whose database clock runs as far ahead as the world's clock has been moved."""

    def __init__(self, store: Store, world: World) -> None:
        self._store = store
        self._world = world

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @contextmanager
    def turn(self) -> Iterator[Turn]:
        """A turn at the later time."""
        with self._store.turn() as turn:
            turn.now = max(turn.now + self._world.ahead, turn.head.time or turn.now)
            yield turn


def _same(first: ClaimRequest, again: ClaimRequest, family: Any) -> bool:
    """Whether two requests have the same content; a family that is not said is what it was when it was decided."""
    return replace(first, family=first.family or family) == replace(again, family=again.family or family)


class Machine(RuleBasedStateMachine):
    """Claims, leases, binding, moving, waiting, crashing; the dictionary says what must be true after each step."""

    steps: ClassVar[int] = 0
    world: World

    def make_world(self) -> World:
        """A fresh ledger; each store's machine has its own."""
        raise NotImplementedError

    def __init__(self) -> None:
        super().__init__()
        self.world = self.make_world()
        self.held: dict[str, Holding] = {}
        self.waiting: dict[str, Holding] = {}
        self.leases: dict[str, str] = {}
        self.asked: dict[str, ClaimRequest] = {}
        self.rebuilt = Rebuilt()
        self.node: Node = self.world.node("one", self.wrap)
        self.views: dict[str, Counter[Record]] = self._loaded()

    @staticmethod
    def furnish(node: Node) -> None:
        """Two racks of two hosts, a soft network of both families, a first-free one, a clustered one."""
        node.ok(u.CreateVrf(name="default"))
        for rack in "ab":
            node.ok(u.CreateLocation(name=rack, kind="rack"))
            for host in "12":
                node.ok(u.CreateLocation(name=rack + host, kind="host", parent=rack))
        node.ok(u.CreateNetwork(name="prod", fields={"domain": "prod.example.", "cooldown": 60, "ttl": 30}))
        node.ok(u.CreateNetwork(name="small", fields={"strategy": "first_free", "cooldown": 0, "boundary": "hard"}))
        node.ok(u.CreateNetwork(name="clusters", fields={"model": "clustered", "domain": "prod.example."}))
        racks = {"10.0.2.0/28": ["a"], "10.0.3.0/28": ["b"]}
        for cidr, network in SUBNETS.items():
            fields: dict[str, object] = {"locations": racks.get(cidr, [])}
            if cidr == "10.0.0.0/26":
                fields["gateway"] = "10.0.0.1"
            node.ok(u.CreateSubnet(network=network, cidr=cidr, fields=fields))
        node.ok(u.CreateRange(subnet="10.0.0.0/26", start="10.0.0.20", end="10.0.0.23", role="reserved"))
        node.ok(u.CreateRange(subnet="10.0.0.0/26", start="10.0.0.40", end="10.0.0.45", role="dynamic"))

    # Steps

    @rule(
        handle=st.sampled_from(HANDLES),
        network=st.sampled_from(["prod", "prod", "small", "clusters"]),
        host=st.sampled_from([None, *HOSTS]),
        name=st.sampled_from([None, None, *NAMES]),
        mac=st.sampled_from([None, None, *MACS]),
        family=st.sampled_from([None, None, "v4", "v6", "dual"]),
        count=st.sampled_from([1, 1, 1, 2]),
        defer=st.sampled_from([False, False, False, True]),
    )
    def claim(self, handle: str, **request: Any) -> None:
        """A claim: new, repeated, or refused because something stands in the way."""
        hostname = request.pop("name")
        self._claim(handle, ClaimRequest(hostname=hostname, **request))

    @rule(handle=st.sampled_from(HANDLES), last=st.integers(0, 63), during=st.booleans())
    def claim_by_address(self, handle: str, last: int, during: bool) -> None:
        """A claim of one address by name."""
        address = f"10.0.0.{last}"
        before = self.ips()
        answer = self._claim(handle, ClaimRequest(network="prod", address=address, during_cooldown=during))
        if isinstance(answer, Holding) and answer.created:
            assert [a.ip for a in answer.addresses] == [address] and address not in before

    def _claim(self, handle: str, request: ClaimRequest) -> Answer:
        answer = self.answer(u.ClaimAddresses(request=request, handle=handle))
        known = self.held.get(handle) or self.waiting.get(handle)
        if isinstance(answer, Failure):
            assert answer.code in {"conflict", "exhausted", "already_allocated", "invalid_value"}, answer
            return answer
        assert isinstance(answer, Holding)
        if known is not None:
            assert not answer.created and _same(self.asked[handle], request, answer.claim.request.family)
            assert [a.ip for a in answer.addresses] == [a.ip for a in known.addresses]
            return answer
        assert answer.created
        self.asked[handle] = request
        self._took(handle, answer, fresh=True)
        return answer

    @precondition(lambda self: self.waiting)
    @rule(data=st.data(), host=st.sampled_from(HOSTS))
    def bind(self, data: st.DataObject, host: str) -> None:
        """A pending claim is bound."""
        handle = data.draw(st.sampled_from(sorted(self.waiting)))
        answer = self.answer(u.BindClaim(claim=self.waiting[handle].claim.id, host=host))
        if isinstance(answer, Holding):
            del self.waiting[handle]
            self._took(handle, answer, fresh=True)

    @precondition(lambda self: self.held)
    @rule(data=st.data(), host=st.sampled_from(HOSTS), renumber=st.booleans())
    def rebind(self, data: st.DataObject, host: str, renumber: bool) -> None:
        """A claim moves, with its addresses or without."""
        handle = data.draw(st.sampled_from(sorted(self.held)))
        before = self.held[handle]
        answer = self.answer(u.RebindClaim(claim=before.claim.id, host=host, renumber=renumber))
        if isinstance(answer, Holding):
            if not renumber:
                assert [a.ip for a in answer.addresses] == [a.ip for a in before.addresses]
            self._took(handle, answer, fresh=renumber)

    @precondition(lambda self: self.held or self.waiting)
    @rule(data=st.data(), wrong=st.sampled_from([False, False, True]))
    def release(self, data: st.DataObject, wrong: bool) -> None:
        """A claim is released; a release that names another handle frees nothing."""
        handle = data.draw(st.sampled_from(sorted(self.held | self.waiting)))
        holding = self.held.get(handle) or self.waiting[handle]
        named = "somebody" if wrong else handle
        answer = self.answer(u.ReleaseClaim(claim=holding.claim.id, handle=named))
        if wrong:
            assert isinstance(answer, Failure) and answer.code == "conflict"
            return
        assert isinstance(answer, Holding) and answer.claim.state == "released"
        for held in (self.held, self.waiting, self.asked):
            held.pop(handle, None)
        again = self.answer(u.ReleaseClaim(claim=holding.claim.id, handle=handle))
        assert isinstance(again, Holding) and again.claim == answer.claim

    @rule(mac=st.sampled_from(MACS), name=st.sampled_from([None, *NAMES]), take=st.booleans())
    def lease(self, mac: str, name: str | None, take: bool) -> None:
        """A DHCP client is offered an address, and may take it. An offer alone changes nothing but a pending claim."""
        client = Client(mac=mac, hostname=name)
        offered = self.answer(u.LeaseOffer(client=client, place=LINK))
        if isinstance(offered, Failure):  # its pending claim cannot be bound: no room, or its name was taken meanwhile
            assert offered.code in {"exhausted", "conflict"}, offered
            assert mac in {self.asked[handle].mac for handle in self.waiting}
            return
        assert isinstance(offered, Leased)
        self._refresh()
        if offered.lease is None:
            return
        ip = str(ip_address(offered.lease.address))
        assert ip in DYNAMIC if offered.lease.dynamic else ip in self.ips()
        if take:
            use = u.LeaseCommit(client=client, place=LINK, address=offered.lease.address, form="selecting")
            given = self.answer(use)
            assert isinstance(given, Leased) and given.lease is not None, given
            assert given.lease.address == offered.lease.address and given.lease.held_until is not None
            if given.lease.dynamic:
                self.leases[mac] = ip

    @precondition(lambda self: self.leases)
    @rule(data=st.data(), way=st.sampled_from([u.LeaseRelease, u.LeaseDecline]), mine=st.booleans())
    def give_back(self, data: st.DataObject, way: Any, mine: bool) -> None:
        """A client releases or declines its lease; one that it does not hold is ignored."""
        mac = data.draw(st.sampled_from(sorted(self.leases)))
        by = mac if mine else "52:54:00:00:01:00"
        self.answer(way(client=Client(mac=by), place=LINK, address=int(ip_address(self.leases[mac]))))
        if mine:
            del self.leases[mac]

    @rule(seconds=st.sampled_from([1, 40, 100, 3000, 8000]))
    def wait(self, seconds: int) -> None:
        """Time passes for everybody, and upkeep does what time alone does."""
        self.world.clock.pause(seconds)
        self.world.ahead += timedelta(seconds=seconds)
        self.answer(u.ExpireLeases())
        self.answer(u.Tend())
        self._refresh()

    @rule()
    def crash(self) -> None:
        """The node's memory is gone; another opens the same ledger."""
        self.world.nodes.remove(self.node)
        self.node.die()
        self.node = self.world.node("one", self.wrap)
        self.views = self._loaded()

    @rule(length=st.sampled_from([None, 27, 28, 30, 32]), cooldown=st.sampled_from([0, 60]))
    def retune(self, length: int | None, cooldown: int) -> None:
        """Blocks of another length from now on, and another cooldown."""
        self.ok(u.ChangeNetwork(network="prod", changes={"block_length_v4": length, "cooldown": cooldown}))

    @rule(handles=st.lists(st.sampled_from(HANDLES), min_size=2, max_size=4, unique=True), host=st.sampled_from(HOSTS))
    def together(self, handles: list[str], host: str) -> None:
        """Several claims or none."""
        request = ClaimRequest(network="prod", host=host, family="v4")
        before = self.ips()
        answer = self.answer(
            u.Together(uses=tuple(u.ClaimAddresses(request=request, handle=handle) for handle in handles))
        )
        if isinstance(answer, Failure):
            assert self._ips_of_store() == before
            return
        for handle, holding in zip(handles, answer.items, strict=True):  # type: ignore[union-attr]
            assert isinstance(holding, Holding)
            if holding.created:
                self.asked[handle] = request
                self._took(handle, holding, fresh=True)

    @rule(handle=st.sampled_from(HANDLES), host=st.sampled_from(HOSTS))
    def dry_run(self, handle: str, host: str) -> None:
        """What would happen; nothing does."""
        before = self.node.sequence
        use = u.ClaimAddresses(request=ClaimRequest(network="prod", host=host), handle=handle)
        self.node.answer(use, dry_run=True)
        assert self.node.sequence == before

    # What must be true

    @invariant()
    def nothing_twice(self) -> None:
        """No address twice, none that is kept, none outside; the store holds what was answered, and nothing else."""
        type(self).steps += 1
        ips = self.ips()
        assert len(set(ips)) == len(ips)
        assert not KEPT.intersection(ips)
        for holding in self.held.values():
            for address in holding.addresses:
                assert address.ip not in DYNAMIC
                cidr = next(c for c in SUBNETS if ip_address(address.ip) in ip_network(c))
                assert SUBNETS[cidr] == self.asked[holding.claim.handle].network
        assert self._ips_of_store() == sorted(ips)

    @invariant()
    def names_are_the_allocations(self) -> None:
        """Forward and reverse zones name what is held under a name, and nothing else; the views say so too."""
        self._follow()
        found = self._loaded()
        assert self.views == found
        forward, pointers = Counter[tuple[str, str]](), Counter[str]()
        zones = self.node.writer.memory.state.zones
        for zone, records in found.items():
            for record in records:
                if record.type in (1, 28):
                    forward[record.owner, str(ip_address(record.rdata))] += 1
                else:
                    version, number = owner_number(zones[zone].name, record.owner) or (0, 0)
                    pointers[str(ip_address(number.to_bytes(4 if version == 4 else 16, "big")))] += 1
        shelved = self._shelved()
        held = [a for h in self.held.values() for a in h.addresses if a.ip not in shelved]
        said = Counter((a.name, a.ip) for a in held if a.name is not None)
        of_leases = {ip for _, ip in forward} - {ip for _, ip in said}
        assert of_leases <= set(self.leases.values())
        assert {key: n for key, n in forward.items() if key[1] not in of_leases} == said
        assert pointers == Counter(ip for _, ip in forward.elements())

    def _shelved(self) -> set[str]:
        """Addresses that another one of their interface stands before; each interface has one primary of a family."""
        claims = {h.claim.id: h.claim for h in self.held.values() if h.claim.interface is not None}
        if not claims:
            return set()
        with self.node.store.turn() as turn:
            facts = turn.facts(Wanted(claims=set(claims)))
        held = [(claims[id_], a) for id_ in claims for a in facts.held[id_].values()]
        ports = [(c.interface, c.network, ":" in a.ip, a.standing) for c, a in held]
        firsts = Counter(port[:3] for port in ports if port[3] == "primary")
        assert set(firsts.values()) <= {1}
        assert firsts.keys() == {port[:3] for port in ports}
        return {a.ip for _, a in held if a.standing == "shelved"}

    @invariant()
    def ledger_is_the_truth(self) -> None:
        """The ledger replays to the same tables and the same state."""
        assert differences(self.node.store, self.rebuilt) == []
        assert self.node.writer.memory.head == self.node.store.head()

    def teardown(self) -> None:
        """Let go of the ledger."""
        self.world.close()

    # Words

    def wrap(self, store: Store) -> Store:
        """On SQLite the node's clock is the database's, and a test sets it."""
        return store

    def answer(self, use: u.Use) -> Answer:
        """The answer to one use; nothing is ever a bug."""
        answer = self.node.replies(submission(use))[0].answer
        assert not (isinstance(answer, Failure) and answer.code == "internal"), answer
        return answer

    def ok(self, use: u.Use) -> Answer:
        """The answer to a use that must succeed."""
        answer = self.answer(use)
        assert not isinstance(answer, Failure), answer
        return answer

    def ips(self) -> list[str]:
        """All addresses that somebody holds."""
        return sorted([a.ip for h in self.held.values() for a in h.addresses] + list(self.leases.values()))

    def _ips_of_store(self) -> list[str]:
        with self.node.store.snapshot() as snapshot:
            versions = {s.id: 4 if "." in s.cidr else 16 for s in snapshot.subnets}
            held = [row for row in snapshot.held(self.world.clock.now()) if row.cooling_until is None]
            return sorted(str(ip_address(row.number.to_bytes(versions[row.subnet], "big"))) for row in held)

    def _took(self, handle: str, holding: Holding, *, fresh: bool) -> None:
        """A claim has these addresses now; new ones were nobody's a moment ago."""
        if holding.claim.state == "pending":
            assert not holding.addresses
            self.waiting[handle] = holding
            return
        others = [a.ip for name, h in self.held.items() if name != handle for a in h.addresses]
        mine = [a.ip for a in holding.addresses]
        assert mine and (not fresh or not set(mine).intersection([*others, *self.leases.values()]))
        self.held[handle] = holding

    def _refresh(self) -> None:
        """Learn what happens by itself: pending claims bound by a DISCOVER, leases that ended."""
        with self.node.store.turn() as turn:
            known = {handle: holding.claim.id for handle, holding in self.waiting.items()}
            leases = {("dhcp", self._lease_handle(mac)): mac for mac in self.leases}
            facts = turn.facts(Wanted(claims=set(known.values()), handles=set(leases)))
        for (_, handle), mac in leases.items():
            if facts.handles["dhcp", handle] is None:
                del self.leases[mac]
        for handle, claim in known.items():
            if facts.claims[claim].state == "bound":
                answer = self.answer(u.ClaimAddresses(request=self.asked[handle], handle=handle))
                assert isinstance(answer, Holding)
                del self.waiting[handle]
                self._took(handle, answer, fresh=True)

    def _lease_handle(self, mac: str) -> str:
        subnet = self.node.writer.memory.state.find("subnet", "10.0.0.0/26")
        return f"dhcp:{subnet}:{mac}"

    def _loaded(self) -> dict[str, Counter[Record]]:
        with self.node.store.snapshot() as snapshot:
            return {zone.id: Counter(records) for zone, *_, records in zone_contents(snapshot)}

    def _follow(self) -> None:
        """What a DNS view makes of what this node published since it was last asked."""
        told, self.node.told[:] = list(self.node.told), []
        for committed in told:
            if committed.reload:
                self.views = self._loaded()
                continue
            for change in committed.zone_changes:
                records = self.views[change.zone]
                records.subtract(change.removed)
                records.update(change.added)
                self.views[change.zone] = +records
