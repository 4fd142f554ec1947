"""The suite that every store must pass, second half: what is read by key for a batch, and lists for people.

As for `store_contract`, a store's own tests subclass these classes and give the fixture `open_store`.
"""

import random
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tenure.errors import InvalidValue
from tenure.model import events as e
from tenure.model.access import Token
from tenure.model.dnsdata import Zone
from tenure.model.holding import Allocation, Claim
from tenure.model.machines import Machine
from tenure.model.placement import Block
from tenure.model.policy import BlockKind
from tenure.model.topology import Location
from tenure.store.interface import Page, Seen
from tenure.testing import ledgers as x
from tenure.testing.ledgers import START, Scribe
from tenure.testing.store_contract import StoreFixtures

SECOND = timedelta(seconds=1)
MAC = "52:54:00:00:00:01"


class FactsContract(StoreFixtures):
    """The closure of what is wanted."""

    @pytest.fixture
    def held(self, site: Scribe) -> tuple[Claim, Allocation, Allocation]:
        """A machine whose interface wears one of its claim's two addresses."""
        one = x.claim(1, machine=x.ident(10), interface=x.ident(11))
        a = x.allocation(31, one, "10.0.0.5", hostname="vm")
        b = x.allocation(32, one, "2001:db8::5", hostname="vm")
        site.write(*x.machine(10, "vm", MAC, "52:54:00:00:00:02"))
        site.write(x.given(one, a, x.ident(11)), x.given(one, b, opens=False))
        return one, a, b

    @pytest.mark.parametrize(
        "wanted",
        [
            {"handles": [("default", "h-1")]},
            {"claims": [x.ident(1)]},
            {"hostnames": ["vm"]},
            {"addresses": [(x.VRF.id, "10.0.0.5")]},
            {"macs": [MAC]},
            {"machines": ["vm"]},
            {"machines": [x.ident(10)]},
        ],
    )
    def test_each_key_brings_the_claim_and_all_that_it_holds(
        self, site: Scribe, held: tuple[Claim, Allocation, Allocation], wanted: dict[str, Any]
    ) -> None:
        one, a, b = held
        facts = site.facts(**wanted)
        assert facts.claims == {one.id: one}
        assert facts.held == {one.id: {a.id: a, b.id: b}}
        assert facts.handles["default", "h-1"] == one.id
        assert list(facts.attached[a.id]) == [x.ident(11)]
        assert facts.named["vm"] == {a.id: a, b.id: b}

    @pytest.mark.parametrize("wanted", [{"macs": [MAC]}, {"machines": ["vm"]}])
    def test_an_interface_brings_its_machine_and_that_its_interfaces(
        self, site: Scribe, held: object, wanted: dict[str, Any]
    ) -> None:
        facts = site.facts(**wanted)
        assert facts.machine_names["vm"] == x.ident(10)
        assert list(facts.ports[x.ident(10)]) == [x.ident(11), x.ident(12)]
        assert facts.uses == {x.ident(11): {x.ident(31): None}}
        assert facts.claimed == {x.ident(10): {x.ident(1): None}}

    def test_an_interface_brings_its_pending_claims(self, site: Scribe) -> None:
        site.write(*x.machine(10, "vm", MAC))
        site.write(e.ClaimDeferred(claim=x.claim(1, bound=None, interface=x.ident(11))))
        facts = site.facts(macs=[MAC])
        assert facts.pending == {x.ident(11): {x.ident(1): None}}

    def test_what_is_not_there_is_known_to_be_absent(self, site: Scribe) -> None:
        facts = site.facts(
            handles=[("default", "no")], addresses=[(x.VRF.id, "10.0.0.9")], hostnames=["no"],
            macs=[MAC], machines=["no"], tokens=["no"], claims=["no"],
        )  # fmt: skip
        assert facts.handles == {("default", "no"): None}
        assert facts.addresses == {(x.VRF.id, "10.0.0.9"): None}
        assert (facts.named, facts.macs, facts.machine_names) == ({"no": {}}, {MAC: None}, {"no": None})
        assert (facts.token_names, facts.claims) == ({"no": None}, {})

    def test_a_token_is_found_by_name_and_by_id(self, site: Scribe) -> None:
        token = Token(id=x.ident(4), name="ci", role="admin", since=START)
        site.write(e.TokenCreated(token=token), digests={token.id: b"d" * 32})
        for name in ("ci", token.id):
            assert site.facts(tokens=[name]).token_names[name] == token.id

    def test_a_resting_address_brings_its_latest_past(self, site: Scribe) -> None:
        with site.store.turn() as turn:
            now = turn.now
        first, last = x.claim(1), x.claim(2)
        a, b = x.allocation(31, first, "10.0.0.5"), x.allocation(32, last, "10.0.0.5")
        site.write(x.given(first, a), x.taken(x.released(first), a, now - SECOND))
        site.write(x.given(last, b), x.taken(x.released(last), b, now, rest=3600))
        rested = x.allocation(33, x.claim(3), "10.0.0.6")
        site.write(x.given(x.claim(3), rested), x.taken(x.released(x.claim(3)), rested, START - 10 * SECOND, rest=1))
        facts = site.facts(addresses=[(x.VRF.id, "10.0.0.5"), (x.VRF.id, "10.0.0.6")])
        assert facts.addresses == {(x.VRF.id, "10.0.0.5"): None, (x.VRF.id, "10.0.0.6"): None}
        assert list(facts.allocations) == [b.id]

    def test_holders_are_named_and_counted(self, site: Scribe) -> None:
        site.write(*x.machine(500, "m"), e.MachineChanged(machine=Machine(x.ident(500), "m", location="L")))
        for n in range(1, 26):
            one = x.claim(n, host="L", machine="M")
            site.write(x.given(one, x.allocation(100 + n, one, f"10.0.0.{n + 4}")))
        network, machine, place = (
            ("network", x.NETWORK.id, "", ""),
            ("machine", "M", "", ""),
            ("location", "L", "", ""),
        )
        whole, part = ("subnet", x.SUBNET.id, "", ""), ("subnet", x.SUBNET.id, "10.0.0.6", "10.0.0.7")
        nobody = ("network", "no", "", "")
        found = site.facts(holders=[network, machine, place, whole, part, nobody]).holders
        assert [(len(found[key][0]), found[key][1]) for key in (network, machine, place, whole)] == [
            (20, 25), (20, 25), (20, 26), (20, 25),
        ]  # fmt: skip
        assert found[network][0][0] == "claim h-1"
        assert found[part] == (["10.0.0.6", "10.0.0.7"], 2)
        assert found[nobody] == ([], 0)

    def test_ended_promises_are_found_oldest_first(self, site: Scribe) -> None:
        for n, seconds in enumerate((30, 10, 20), 1):
            one = x.claim(n, project="dhcp", handle=f"dhcp:{n}")
            end = datetime(2020, 1, 1, tzinfo=START.tzinfo) + seconds * SECOND
            site.write(x.given(one, x.allocation(100 + n, one, f"10.0.0.{n}", lease=True, held_until=end)))
        facts = site.facts(expired=2)
        assert facts.expired == [x.ident(102), x.ident(103)]
        assert set(facts.claims) == {x.ident(2), x.ident(3)}
        assert site.facts().expired == []


class ReadsContract(StoreFixtures):
    """Lists in pages, single things, search."""

    @pytest.fixture
    def many(self, site: Scribe) -> Scribe:
        """Seven claims, each with an address; the last was released and rests, one more waits."""
        site.write(*x.machine(10, "vm", MAC), e.LocationCreated(location=Location("rack", "r1", "rack")))
        site.write(e.LocationCreated(location=Location("host", "h1", "host", "rack")))
        for n in range(1, 8):
            one = x.claim(n, host="host" if n < 4 else None, machine=x.ident(10) if n == 1 else None)
            held = x.allocation(100 + n, one, f"10.0.{n}.5", hostname=f"web-{n}")
            site.write(x.given(one, held, x.ident(11) if n == 1 else None))
        site.write(x.taken(x.released(one), held, rest=300), e.ClaimDeferred(claim=x.claim(8, bound=None)))
        site.write(e.BlockOwned(block=Block(x.SUBNET.id, "10.0.1.0/28", "host")))
        site.write(e.ZoneCreated(zone=Zone(id=x.ident(90), vrf=x.VRF.id, name="prod.example.")))
        return site

    def test_pages_hold_everything_once_and_in_order(self, many: Scribe) -> None:
        reads = many.store.reads
        pages = _pages(lambda after: reads.claims(after, 3))
        assert [len(page.items) for page in pages] == [3, 3, 1]
        assert [h.claim.id for page in pages for h in page.items] == [x.ident(n) for n in (1, 2, 3, 4, 5, 6, 8)]
        assert {page.head.sequence for page in pages} == {many.store.head().sequence}
        addresses = _pages(lambda after: reads.addresses(after, 4, now=START))
        assert [a.held.ip for page in addresses for a in page.items] == [f"10.0.{n}.5" for n in range(1, 7)]

    @pytest.mark.parametrize("limit", [0, 1001, -1])
    def test_a_limit_has_bounds(self, many: Scribe, limit: int) -> None:
        with pytest.raises(InvalidValue):
            many.store.reads.vrfs("", limit)

    @pytest.mark.parametrize("cursor", ["x", "00", "5b5d", "5b315d", '["a"]'])
    def test_a_cursor_is_one_that_a_page_gave(self, many: Scribe, cursor: str) -> None:
        with pytest.raises(InvalidValue):
            many.store.reads.networks(cursor)

    def test_claims_are_filtered(self, many: Scribe) -> None:
        def numbers(**filters: Any) -> list[int]:
            return [int(holding.claim.id, 16) for holding in many.store.reads.claims(**filters).items]

        assert numbers(host="host") == [1, 2, 3]
        assert numbers(machine=x.ident(10)) == [1]
        assert numbers(handle="h-2") == numbers(handle="h-2", project="default", network=x.NETWORK.id) == [2]
        assert (numbers(state="released"), numbers(state="pending")) == ([7], [8])
        assert numbers(state="bound") == [1, 2, 3, 4, 5, 6]
        assert numbers(project="blue") == numbers(network="no") == []

    def test_a_holding_says_what_its_user_needs(self, many: Scribe) -> None:
        found = many.store.reads.claim(x.ident(1)).value
        assert found is not None
        held = found.addresses[0]
        assert (held.ip, held.prefix_length, held.gateway) == ("10.0.1.5", 16, "10.0.0.1")
        assert held.name == "web-1.prod.example."
        assert many.store.reads.claim("no").value is None

    def test_addresses_are_filtered(self, many: Scribe) -> None:
        def numbers(**filters: Any) -> list[int]:
            found = many.store.reads.addresses(now=START, **filters).items
            return [int(known.allocation.id, 16) - 100 for known in found]

        assert numbers(network=x.NETWORK.id) == [1, 2, 3, 4, 5, 6]
        assert numbers(location="rack") == numbers(location="host") == [1, 2, 3]
        assert numbers(state="cooling") == [7]
        assert numbers(q="10.0.2.5") == numbers(q="web-2") == numbers(q="10.0.2.0/24") == [2]
        assert numbers(q="WEB") == [1, 2, 3, 4, 5, 6]
        assert numbers(network="no") == numbers(q="2001:db8::/32") == []

    def test_an_address_tells_its_holder_or_whose_it_was(self, many: Scribe) -> None:
        reads = many.store.reads
        held = reads.address(x.VRF.id, "10.0.1.5", START).value
        assert held is not None and held.claim.id == x.ident(1)
        assert [port.mac for port in held.interfaces] == [MAC]
        assert [machine.name for machine in held.machines] == ["vm"]
        rests = reads.address(x.VRF.id, "10.0.7.5", START + 299 * SECOND).value
        assert rests is not None and rests.claim.id == x.ident(7)
        assert reads.address(x.VRF.id, "10.0.7.5", START + 300 * SECOND).value is None

    def test_a_released_address_still_tells_its_interfaces(self, many: Scribe) -> None:
        one = x.claim(1, host="host", machine=x.ident(10))
        held = x.allocation(101, one, "10.0.1.5", hostname="web-1")
        many.write(x.taken(x.released(one), held, port=x.ident(11)))
        known = many.store.reads.address(x.VRF.id, "10.0.1.5", START).value
        assert known is not None and [port.mac for port in known.interfaces] == [MAC]

    def test_why_finds_the_entry_that_gave_it(self, many: Scribe) -> None:
        known = many.store.reads.address(x.VRF.id, "10.0.2.5", START).value
        assert known is not None
        (entry,) = many.store.reads.given(known.allocation).value
        assert isinstance(entry.event, e.AddressAllocated)
        assert entry.event.allocation == known.allocation

    def test_holders_are_read_many_at_once(self, many: Scribe) -> None:
        reads = many.store.reads
        asked = [f"10.0.{n}.5" for n in range(1, 9)] * 200
        found = reads.holders(x.VRF.id, asked).value
        one_by_one = [reads.address(x.VRF.id, f"10.0.{n}.5", START).value for n in range(1, 7)]
        assert {known.allocation.ip: known for known in found} == {
            known.allocation.ip: known for known in one_by_one if known is not None
        }
        assert reads.holders("no", asked).value == reads.holders(x.VRF.id, []).value == []

    def test_users_are_told_as_they_were_last(self, many: Scribe) -> None:
        machine, port = many.store.reads.machine("vm").value, x.ident(11)
        assert machine is not None
        asked = ([x.ident(10), "no"], [port, "no"])
        users = many.store.reads.users(*asked)
        assert users.value.machines == {x.ident(10): machine.machine}
        assert users.value.interfaces == {port: machine.interfaces[0]}
        assert users.head == many.store.head()
        many.write(*x.machine(20, "gone", "52:54:00:00:00:20"))
        gone = many.store.reads.machine("gone").value
        assert gone is not None
        many.write(e.InterfaceDeleted(interface=gone.interfaces[0]), e.MachineDeleted(machine=gone.machine))
        closed = many.store.reads.users([x.ident(20)], [x.ident(21)]).value
        assert (closed.machines[x.ident(20)].name, closed.interfaces[x.ident(21)].mac) == ("gone", "52:54:00:00:00:20")
        assert many.store.reads.users([], []).value == ({}, {})

    def test_a_renumbering_has_left_what_is_held_without_a_successor(self, many: Scribe) -> None:
        """Neither leases, nor what a later address of its claim replaces; stuck is what is written down by hand."""
        reads = many.store.reads
        assert reads.unmoved(x.SUBNET.id).value == (6, [], 0)
        by_hand = [x.claim(n, static=True) for n in range(30, 55)]
        many.write(*(x.given(one, x.allocation(200 + n, one, f"10.0.9.{n}")) for n, one in enumerate(by_hand)))
        lease = x.claim(60, project="dhcp", handle="dhcp:1", static=True)
        many.write(x.given(lease, x.allocation(160, lease, "10.0.9.60", lease=True)))
        moving = x.claim(2, host="host")
        next_ = x.allocation(170, moving, "10.0.9.70", subnet="elsewhere", replaces=x.ident(102))
        many.write(x.given(moving, next_, opens=False))
        found = reads.unmoved(x.SUBNET.id)
        assert (found.value.left, found.value.total) == (5 + 25, 25)
        assert [holding.claim.id for holding in found.value.stuck] == [one.id for one in by_hand[:20]]
        assert [held.ip for held in found.value.stuck[0].addresses] == ["10.0.9.0"]
        assert found.head == many.store.head()
        assert reads.unmoved("no").value == (0, [], 0)

    def test_history_pages_by_sequence(self, many: Scribe) -> None:
        pages = _pages(lambda after: many.store.reads.history(x.VRF.id, "10.0.7.5", after, 1))
        kinds = [line.entry.event.kind for page in pages for line in page.items]
        assert kinds == ["tenure.address.allocated", "tenure.address.released"]

    def test_things_are_found_by_name_and_by_id(self, many: Scribe) -> None:
        reads = many.store.reads
        assert reads.vrf("default").value == reads.vrf(x.VRF.id).value == x.VRF
        assert reads.network("prod").value == x.NETWORK
        assert reads.subnet("10.0.0.0/16").value == reads.subnet(x.SUBNET.id).value == x.SUBNET
        assert reads.location("h1").value == reads.location("host").value
        machine = reads.machine("vm").value
        assert machine is not None and [port.mac for port in machine.interfaces] == [MAC]
        zone = reads.zone("prod.example.").value
        assert zone is not None and zone.id == x.ident(90)
        nothing: list[Seen[Any]] = [
            reads.vrf("x"),
            reads.subnet("x"),
            reads.range("x"),
            reads.machine("x"),
            reads.zone("x"),
        ]
        assert [seen.value for seen in nothing] == [None] * 5
        assert reads.token("x").value is None

    def test_inventory_is_listed_and_filtered(self, many: Scribe) -> None:
        reads = many.store.reads
        assert reads.subnets(network=x.NETWORK.id).items == [x.SUBNET]
        assert reads.subnets(network="no").items == []
        assert reads.ranges(subnet=x.SUBNET.id).items == []
        assert [place.id for place in reads.locations(parent="rack").items] == ["host"]
        assert [place.id for place in reads.locations(kind="rack", q="r").items] == ["rack"]
        assert [m.machine.name for m in reads.machines(q="v").items] == ["vm"]
        assert [zone.name for zone in reads.zones(vrf=x.VRF.id).items] == ["prod.example."]
        assert [(b.block.cidr, b.in_use) for b in reads.blocks(location="host", network=x.NETWORK.id).items] == [
            ("10.0.1.0/28", 1)
        ]
        assert reads.tokens().items == []
        assert reads.blocks(location="no").items == []

    def test_blocks_are_listed_with_their_kind_and_use(self, many: Scribe) -> None:
        small, grown = (Block(x.SUBNET.id, f"10.0.1.0/{length}", "host") for length in (28, 27))
        wide = [Block(x.SUBNET.id, cidr, "rack", kind) for cidr, kind in _WIDE]
        many.write(*(e.BlockOwned(block=block) for block in wide), e.BlockResized(before=small, block=grown))
        blocks = _pages(lambda after: many.store.reads.blocks(after, 2))
        assert [(owned.block, owned.in_use) for page in blocks for owned in page.items] == [
            (wide[0], 1), (wide[1], 3), (wide[2], 6), (grown, 1),
        ]  # fmt: skip
        assert [owned.block for owned in many.store.reads.blocks(location="host").items] == [grown]

    @pytest.mark.parametrize(
        ("q", "understood_as", "labels"),
        [
            ("10.0.2.5", "address", ["10.0.2.5"]),
            ("10.0.0.0/16", "prefix", ["10.0.0.0/16", *(f"10.0.{n}.5" for n in range(1, 7))]),
            ("52-54-00-00-00-01", "mac", [MAC, "vm", "10.0.1.5"]),
            ("vm", "name", ["vm"]),
            ("h-3", "name", ["h-3"]),
            ("web-3", "name", ["web-3"]),
            ("prod", "name", ["prod", "prod.example."]),
            (x.ident(4), "name", ["h-4"]),
            ("nothing", "name", []),
            ("", "name", []),
        ],
    )
    def test_search_understands(self, many: Scribe, q: str, understood_as: str, labels: list[str]) -> None:
        found = many.store.reads.search(q).value
        assert (found.understood_as, [item.label for item in found.items]) == (understood_as, labels)
        assert len(many.store.reads.search(q, 1).value.items) <= 1


class ReplayContract(StoreFixtures):
    """Random batches read back as a plain dictionary says."""

    @settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.integers(0, 2**32), st.integers(1, 12))
    def test_random_batches_read_back_the_same(self, site: Scribe, seed: int, batches: int) -> None:
        model = _Model(random.Random(seed), site)
        for _ in range(batches):
            model.batch()
        model.check()


class _Model:
    """Claims and addresses in dictionaries, moved at random beside the store."""

    def __init__(self, rng: random.Random, scribe: Scribe) -> None:
        self._rng = rng
        self._scribe = scribe
        with scribe.store.snapshot() as now:
            self._base = now.head.sequence * 1000 + 1000
            self._others = {held.number for held in now.held(START + 3600 * SECOND)}
        self._claims: dict[str, Claim] = {}
        self._held: dict[str, Allocation] = {}

    def batch(self) -> None:
        """One to twelve changes in one transaction; most touch what the same batch touched before."""
        events = [event for _ in range(self._rng.randrange(1, 12)) if (event := self._change()) is not None]
        if events:
            self._scribe.write(*events)

    def _change(self) -> e.Event | None:
        if self._held and self._rng.random() < 0.45:
            return self._take(self._rng.choice(sorted(self._held)))
        number = 0x0A000000 + self._rng.randrange(2, 20)
        ip = ".".join(str(octet) for octet in number.to_bytes(4, "big"))
        if ip in self._held or number in self._others:
            return None
        self._base += 1
        one = x.claim(self._base, handle=f"random-{ip}")
        self._claims[one.id] = one
        self._held[ip] = x.allocation(self._base, one, ip, hostname=f"n{self._rng.randrange(3)}")
        return x.given(one, self._held[ip])

    def _take(self, ip: str) -> e.Event:
        held = self._held.pop(ip)
        self._claims[held.claim] = x.released(self._claims[held.claim])
        return x.taken(self._claims[held.claim], held)

    def check(self) -> None:
        """The store tells of each claim and address what the dictionaries do."""
        facts = self._scribe.facts(claims=self._claims)
        assert facts.claims == self._claims
        found = {held.ip: held for claim in self._claims for held in facts.held.get(claim, {}).values()}
        assert found == self._held
        with self._scribe.store.snapshot() as now:
            numbers = {held.number for held in now.held(START + 3600 * SECOND)}
        assert numbers == self._others | {int.from_bytes(map(int, ip.split("."))) for ip in self._held}
        for claim in list(self._held.values()):
            self._scribe.write(self._take(claim.ip))


_WIDE: Final[tuple[tuple[str, BlockKind], ...]] = (
    ("10.0.1.0/24", "rack"),
    ("10.0.0.0/22", "site"),
    ("10.0.0.0/16", "region"),
)


def _pages(read: Callable[[str], Page[Any]]) -> list[Page[Any]]:
    pages = [read("")]
    while pages[-1].next is not None:
        pages.append(read(pages[-1].next))
    return pages
