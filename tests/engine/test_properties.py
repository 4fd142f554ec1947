"""Random uses on random states: whatever is asked, what is remembered stays true."""

from contextlib import suppress
from datetime import timedelta
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tenure.engine.fingerprint import fingerprint
from tenure.engine.state import State
from tenure.engine.strategies import STRATEGIES
from tenure.errors import TenureError
from tenure.model import uses as u
from tenure.model.holding import ClaimRequest
from tenure.model.leases import Client, Place
from tenure.net.addresses import number_of
from tests.engine import naive
from tests.engine.world import START, World, site

HOSTS = ["h0-0", "h0-1", "h1-0", "r0", "s1", "gone", ""]
CIDRS = ["10.0.0.0/26", "10.0.0.32/28", "10.0.1.0/27", "10.0.0.0/25", "10.0.0.64/26", "2001:db8::/122", "10.0.9.0/31"]
ADDRESSES = [f"10.0.0.{n}" for n in (0, 1, 5, 31, 32, 40, 63)] + ["10.0.1.9", "2001:db8::7", "nonsense", "10.0.9.1"]
MACS = [f"52:54:00:00:00:0{n}" for n in range(4)] + ["bad", "52-54-00-00-00-01"]
NAMES = ["web", "db", "a-b", "Bad_Name", "", "x\0y", "m0", "m1"]
NETWORKS = ["prod", "lab", "none"]
HANDLES = [f"k{n}" for n in range(6)] + ["dhcp:x", ""]


def maybe(values: list[Any]) -> st.SearchStrategy[Any]:
    return st.none() | st.sampled_from(values)


requests = st.builds(
    ClaimRequest,
    network=st.sampled_from(NETWORKS),
    subnet=st.none() | st.none() | st.sampled_from(CIDRS),
    host=maybe(HOSTS[:5]) | maybe(HOSTS),
    machine=st.none() | maybe(NAMES),
    mac=st.none() | maybe(MACS),
    hostname=st.none() | maybe(NAMES),
    family=maybe(["v4", "v6", "dual"]),
    address=st.none() | st.none() | st.sampled_from(ADDRESSES),
    during_cooldown=st.booleans(),
    count=st.sampled_from([1, 1, 1, 2, 5, 0]),
    defer=st.booleans(),
)
settings_of = st.fixed_dictionaries(
    {},
    optional={
        "model": st.sampled_from(["flat", "clustered"]),
        "strategy": st.sampled_from(list(STRATEGIES)),
        "boundary": st.sampled_from(["soft", "hard"]),
        "cooldown": st.sampled_from([0, 300, -1]),
        "domain": st.sampled_from(["prod.example.", "lab.example.", "bad", None]),
        "block_length_v4": st.sampled_from([26, 28, 29, 30, 31, 32, None, 4]),
        "rack_block_length_v4": st.sampled_from([26, 27, 28, None]),
        "block_length_v6": st.sampled_from([124, 126, None]),
        "name": st.sampled_from(["prod", "lab", "prod"]),
        "harvest": st.booleans(),
        "harvest_after": st.sampled_from([0, 400]),
        "harvest_below": st.sampled_from([0, 70, -1]),
        "low_threshold": st.sampled_from([0, 10, 70]),
        "nothing": st.just(1),
    },
)
subnet_fields = st.fixed_dictionaries(
    {},
    optional={
        "gateway": st.sampled_from([*ADDRESSES, None, 7]),
        "dns_servers": st.lists(st.sampled_from(ADDRESSES), max_size=2) | st.none() | st.just("10.0.0.1"),
        "locations": st.lists(st.sampled_from(HOSTS), max_size=2) | st.just(5),
        "use_all_addresses": st.booleans(),
        "cidr": st.sampled_from([*CIDRS, "10.0.0.1/26", "x"]),
    },
)
clients = st.builds(Client, mac=st.sampled_from(MACS[:4]), hostname=maybe(["web", "Foo", "db", "a..b"]))
places = st.builds(
    Place, link=maybe([0x0A000001, 0x0A000101, 0x0B000001]), circuit_id=maybe(["aa", "bb"]), remote_id=st.none()
)
lease_addresses = st.integers(0x0A000000, 0x0A00003F)
machines = st.sampled_from(["m0", "m1", "m2", "", "x\0"])
interfaces = st.lists(
    st.builds(u.NewInterface, mac=st.sampled_from(MACS), name=st.sampled_from(["", "eth0"])), max_size=2
)
machine_changes = st.fixed_dictionaries(
    {},
    optional={
        "name": machines | st.just(3),
        "location": maybe(HOSTS),
        "interfaces": st.lists(st.fixed_dictionaries({"mac": st.sampled_from(MACS)}) | st.just(1), max_size=2)
        | st.just(0),
    },
)
forms = st.sampled_from(["selecting", "init-reboot", "renewing", "rebinding"])
LEASE = -1  # stands for the address that the client holds
CLAIM = "?claim"  # stands for one of the claims there are
RANGE = "?range"
ends = st.sampled_from(ADDRESSES)
roles = st.sampled_from(["dynamic", "reserved"])
likely = st.builds(
    ClaimRequest,
    network=st.sampled_from(["prod", "prod", "lab"]),
    host=maybe(HOSTS[:3]),
    mac=st.none() | st.sampled_from(MACS[:4]),
    hostname=st.none() | st.none() | st.sampled_from(NAMES[:2]),
    address=st.none() | st.none() | st.sampled_from(ADDRESSES),
    during_cooldown=st.booleans(),
    count=st.sampled_from([1, 1, 2, 7]),
    defer=st.sampled_from([False, False, True]),
    queue=st.sampled_from([False, False, True]),
    static=st.sampled_from([False, False, True]),
    expires=st.none() | st.none() | st.sampled_from([START + timedelta(seconds=n) for n in (300, 9000, 90_000)]),
)
here = st.builds(Place, link=st.sampled_from([0x0A000001, 0x0A000001, 0x0A000101]), circuit_id=maybe(["aa"]))
leased = st.integers(0x0A000026, 0x0A00003E)
sightings = st.builds(
    u.Sighting,
    ip=st.sampled_from([f"10.0.0.{n}" for n in range(8)] + ["10.0.0.33", "10.0.0.45", "10.0.1.2", "2001:db8::1"]),
    mac=maybe(MACS[:4]),
)
observed = st.builds(u.ObserveAddresses, sightings=st.lists(sightings, min_size=1, max_size=6).map(tuple))
waves = st.fixed_dictionaries(
    {},
    optional={
        "wave": st.sampled_from([1, 3, 0]),
        "lease_time": st.sampled_from([60, 3600]),
        "static_acknowledged": st.booleans(),
        "stopped": st.booleans(),
    },
)
renumbered = st.builds(u.RenumberSubnet, subnet=st.sampled_from(CIDRS[:3]), to=maybe(CIDRS[:3]), fields=waves)
ready_made = [
    u.CreateMachine(name="m0", interfaces=(u.NewInterface(mac=MACS[0], network="prod"),)),
    u.CommissionMachine(machine="m0"),
    u.ReadyMachine(machine="m0"),
    u.DeployMachine(machine="m0"),
    u.ReleaseMachine(machine="m0"),
]
offers = st.builds(u.LeaseOffer, client=clients, place=here, requested=st.none() | leased)
selecting = st.builds(u.LeaseCommit, client=clients, place=here, address=leased, form=st.just("selecting"))
often: st.SearchStrategy[Any] = st.sampled_from(
    [
        *[st.builds(u.ClaimAddresses, request=likely, handle=maybe(HANDLES[:6]))] * 4,
        *[st.builds(u.ReleaseClaim, claim=st.just(CLAIM))] * 2,
        st.builds(u.BindClaim, claim=st.just(CLAIM), host=st.sampled_from(HOSTS[:3])),
        st.builds(u.RebindClaim, claim=st.just(CLAIM), host=st.sampled_from(HOSTS[:3]), renumber=st.booleans()),
        offers,
        selecting,
        selecting,
        st.builds(u.LeaseRelease, client=clients, place=here, address=st.just(LEASE)),
        st.builds(u.LeaseDecline, client=clients, place=here, address=st.just(LEASE)),
        st.builds(u.ExpireLeases, limit=st.just(5)),
        observed,
        observed,
        renumbered,
        st.sampled_from([u.Lapse(), u.Lapse(limit=1), u.Tend(), u.HarvestNetwork(network="prod")]),
        st.sampled_from(ready_made),
    ]
).flatmap(lambda kind: kind)
seldom: st.SearchStrategy[Any] = st.one_of(
    st.builds(u.ClaimAddresses, request=requests, handle=maybe(HANDLES)),
    st.builds(u.ReleaseClaim, claim=st.just(CLAIM), handle=st.none() | maybe(HANDLES)),
    st.builds(u.BindClaim, claim=st.just(CLAIM), host=st.sampled_from(HOSTS)),
    st.builds(u.RebindClaim, claim=st.just(CLAIM), host=st.sampled_from(HOSTS), renumber=st.booleans()),
    st.builds(u.CreateNetwork, name=st.sampled_from(NETWORKS), fields=settings_of),
    st.builds(u.ChangeNetwork, network=st.sampled_from(NETWORKS), changes=settings_of),
    st.builds(u.DeleteNetwork, network=st.sampled_from(NETWORKS)),
    st.builds(u.CreateSubnet, network=st.sampled_from(NETWORKS), cidr=st.sampled_from(CIDRS), fields=subnet_fields),
    st.builds(u.ChangeSubnet, subnet=st.sampled_from(CIDRS), changes=subnet_fields),
    st.builds(u.DeleteSubnet, subnet=st.sampled_from(CIDRS)),
    st.builds(
        u.CreateRange,
        subnet=st.sampled_from(CIDRS),
        start=ends,
        end=ends,
        role=st.sampled_from(["dynamic", "reserved"]),
    ),
    st.builds(
        u.ChangeRange,
        range=st.just(RANGE),
        changes=st.fixed_dictionaries({}, optional={"start": ends, "end": ends, "role": st.just("dynamic")}),
    ),
    st.builds(u.DeleteRange, range=st.just(RANGE)),
    st.builds(
        u.CreateLocation, name=st.sampled_from(["h2-0", "gone"]), kind=st.just("host"), parent=maybe(["r0", "none"])
    ),
    st.builds(u.ChangeLocation, location=st.sampled_from(HOSTS), changes=st.just({"parent": "r1"})),
    st.builds(u.DeleteLocation, location=st.sampled_from(HOSTS)),
    st.builds(u.CreateMachine, name=machines, location=maybe(HOSTS), interfaces=interfaces.map(tuple)),
    st.builds(u.ChangeMachine, machine=machines, changes=machine_changes),
    st.builds(u.DeleteMachine, machine=machines),
    st.builds(u.LeaseOffer, client=clients, place=places, requested=st.none() | lease_addresses),
    st.builds(u.LeaseCommit, client=clients, place=places, address=lease_addresses, form=forms),
    st.builds(u.LeaseRelease, client=clients, place=places, address=lease_addresses),
    st.builds(u.LeaseDecline, client=clients, place=places, address=lease_addresses),
    st.builds(u.LeaseInform, client=clients, place=places, address=lease_addresses),
    st.builds(u.ExpireLeases, limit=st.sampled_from([1, 5])),
    st.builds(u.ObserveAddresses, sightings=st.just((u.Sighting(ip="x"),)), vrf=st.sampled_from(["default", "none"])),
    renumbered,
    st.builds(u.CancelRenumbering, subnet=st.sampled_from(CIDRS)),
    st.builds(u.HarvestNetwork, network=st.sampled_from(NETWORKS), limit=st.sampled_from([0, 1])),
    st.builds(u.ReadCapacity, network=st.sampled_from(NETWORKS), by_location=st.booleans()),
)
plain_uses = st.sampled_from([often, often, often, seldom]).flatmap(lambda group: group)
together = st.lists(plain_uses, max_size=3).map(lambda many: u.Together(uses=tuple(many)))
steps = st.tuples(
    st.sampled_from([plain_uses, plain_uses, plain_uses, plain_uses, together]).flatmap(lambda group: group),
    st.integers(0, 99),
    st.sampled_from([0, 0, 0, 1, 60, 400, 8000, 90_000]),
)


def filled(use: Any, world: World, at: int) -> Any:
    """The use, with one of the claims or ranges that there are in the place of the sign for one."""
    if isinstance(use, u.Together):
        return u.Together(uses=tuple(filled(each, world, at + n) for n, each in enumerate(use.uses)))
    claims = [c.id for c in world.tables.open("claims")] or [c.id for c in world.tables.all("claims")] or ["none"]
    if getattr(use, "address", None) == LEASE:
        held = [number_of(a.ip) for a in world.tables.open("allocations") if a.lease] or [0x0A000028]
        return type(use)(client=use.client, place=use.place, address=held[at % len(held)])
    ranges = [r.id for r in world.tables.ranges] or ["none"]
    for sign, name, there in ((CLAIM, "claim", claims), (RANGE, "range", ranges)):
        if getattr(use, name, None) == sign:
            fields = {f: getattr(use, f) for f in use.__struct_fields__}
            return type(use)(**{**fields, name: there[at % len(there)]})
    return use


def begin(boundary: str = "soft", **network: Any) -> World:
    world = site("10.0.0.0/26", "10.0.1.0/27", domain="prod.example.", boundary=boundary, **network)
    world.do(u.CreateNetwork(name="lab"))
    world.do(u.CreateSubnet(network="lab", cidr="2001:db8::/122"))
    world.do(u.CreateRange(subnet="10.0.0.0/26", start="10.0.0.40", end="10.0.0.60", role="dynamic"))
    return world


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(steps, min_size=5, max_size=25), st.sampled_from(["soft", "hard"]))
def test_whatever_is_asked_what_is_remembered_stays_true(asked: list[Any], boundary: str) -> None:
    """Every step: a refusal or an undo leaves all as it was (asserted by the world), and the naive model agrees."""
    world = begin(boundary)
    for use, at, seconds in asked:
        world.wait(seconds)
        with suppress(TenureError):
            world.do(filled(use, world, at))
        naive.check(world)
    replayed = State()
    for event in world.events:
        replayed.reduce(event)
    replayed.advance(world.now)
    loaded = State.load(world.tables, world.now)
    said = fingerprint(world.state)
    assert differences(said, fingerprint(replayed)) == {}
    assert differences(said, fingerprint(loaded)) == {}


def differences(one: Any, other: Any) -> dict[str, Any]:
    """Where two fingerprints differ, by path."""
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return {} if one == other else {"": (one, other)}
    keys = one.keys() | other.keys()
    found = {key: differences(one.get(key), other.get(key)) for key in keys}
    return {f"{key}/{path}": what for key, below in found.items() for path, what in below.items()}
