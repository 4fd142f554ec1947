"""What each use needs read by key, before it can be planned.

A use that is malformed wants nothing: its planner says what is wrong with it.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from tenure.engine.enlist import enlisted_name
from tenure.engine.facts import Wanted
from tenure.engine.harvest import ripe, supposed
from tenure.engine.lapse import want_due
from tenure.engine.leases import lease_handle
from tenure.engine.moves import MOST_EVACUATED
from tenure.engine.observe import MOST_SIGHTINGS
from tenure.engine.resolve import relative_name
from tenure.engine.space import Space
from tenure.engine.state import State
from tenure.engine.stretches import covered, holders_key, left_out, whole
from tenure.engine.zone_wants import ZONED, alike
from tenure.errors import InvalidValue
from tenure.model import uses as u
from tenure.model.holding import ClaimRequest
from tenure.net.addresses import Prefix, parse_address, parse_prefix, text_of
from tenure.net.identifiers import parse_mac
from tenure.net.rangeset import Pair


def wanted(use: u.Use, state: State) -> Wanted:
    """The keys that planning `use` will look up."""
    found = Wanted()
    want(found, use, state)
    return found


def want(found: Wanted, use: u.Use, state: State) -> None:
    """Add the keys that planning `use` will look up to those of its batch."""
    ask = _WANTS.get(type(use))
    if ask is not None:
        ask(found, use, state)


def _claim(found: Wanted, use: u.ClaimAddresses, state: State) -> None:
    request = use.request
    if use.handle is not None:
        found.handles.add((request.project, use.handle))
    if request.hostname is not None:
        network = state.find("network", request.network)
        _hostname(found, request.hostname, None if network is None else state.networks[network].domain)
    if request.machine is not None:
        found.machines.add(request.machine)
        found.hostnames.add(request.machine.lower())
    if request.reservation is not None:
        found.claims.add(request.reservation)
        found.handles.add((request.project, request.reservation))
    if request.address is not None or request.addresses:
        _addresses(found, request, state)
    if request.mac is not None:
        _mac(found, request.mac)
        names = _machine_names(request)
        found.machines.update(names)
        found.hostnames.update(name.lower() for name in names)


def _hostname(found: Wanted, name: str, domain: str | None) -> None:
    try:
        found.hostnames.add(relative_name(name, domain))
    except InvalidValue:  # once a claim, where `suppress` costs three calls
        return


def _addresses(found: Wanted, request: ClaimRequest, state: State) -> None:
    """Addresses that are asked for by name: whoever was seen on them is read."""
    network = state.find("network", request.network)
    if network is not None:
        for text in (request.address, *request.addresses):
            with suppress(InvalidValue):
                found.addresses.add((state.networks[network].vrf, str(parse_address(text or ""))))


def _machine_names(request: Any) -> list[str]:
    """The name that a new machine of this claim would have."""
    try:
        mac = parse_mac(request.mac)
    except InvalidValue:
        return []
    return [request.machine or request.hostname or "instance-" + mac.replace(":", "")]


def _mac(found: Wanted, text: str) -> None:
    with suppress(InvalidValue):
        found.macs.add(parse_mac(text))


def _by_claim(
    found: Wanted,
    use: u.BindClaim | u.RebindClaim | u.SettleClaim | u.ReleaseClaim | u.ChangeClaim,
    state: State,
) -> None:
    found.claims.add(use.claim)


def _held_address(found: Wanted, use: Any, state: State) -> None:
    vrf = state.find("vrf", use.vrf)
    with suppress(InvalidValue):
        found.addresses.add((vrf or use.vrf, str(parse_address(use.ip))))


def _reassign(found: Wanted, use: u.ReassignAddress, state: State) -> None:
    _held_address(found, use, state)
    found.called = True
    if use.interface is not None:
        _interface(found, use.interface)
    if use.machine is not None:
        found.machines.add(use.machine)
    if use.claim is not None:
        found.claims.add(use.claim)
    if use.address is not None:
        with suppress(InvalidValue):
            found.observed.add((state.find("vrf", use.vrf) or use.vrf, str(parse_address(use.address))))


def _rename(found: Wanted, use: u.RenameAddress, state: State) -> None:
    _held_address(found, use, state)
    vrf = state.find("vrf", use.vrf)
    with suppress(InvalidValue):
        address = parse_address(use.ip)
        space = None if vrf is None else state.space_at(vrf, address.version, int(address))
        if use.hostname is not None and space is not None:
            _hostname(found, use.hostname, state.networks[space.subnet.network].domain)


def _attach(found: Wanted, use: u.AttachAddress | u.DetachAddress, state: State) -> None:
    _held_address(found, use, state)
    found.called = True
    if use.interface is not None:
        _interface(found, use.interface)


def _interface(found: Wanted, name: str) -> None:
    """An interface by id or MAC."""
    found.interfaces.add(name)
    _mac(found, name)


def _rebind(found: Wanted, use: u.RebindClaim, state: State) -> None:
    found.claims.add(use.claim)
    found.called = found.called or use.renumber


def _evacuate(found: Wanted, use: u.EvacuateHost, state: State) -> None:
    found.called = found.called or use.renumber
    host = state.find("location", use.host)
    if host is not None and state.claims_at[host] <= MOST_EVACUATED:
        found.hosts.add(host)


def _tend(found: Wanted, use: u.Tend, state: State) -> None:
    found.settling = max(found.settling, use.limit)


def _together(found: Wanted, use: u.Together, state: State) -> None:
    for one in use.uses:
        want(found, one, state)


def _create_machine(found: Wanted, use: u.CreateMachine, state: State) -> None:
    found.machines.add(use.name)
    found.hostnames.add(use.name.lower())
    for interface in use.interfaces:
        _mac(found, interface.mac)


def _change_machine(found: Wanted, use: u.ChangeMachine, state: State) -> None:
    found.machines.add(use.machine)
    if isinstance(use.changes.get("name"), str):
        found.machines.add(str(use.changes["name"]))
        found.hostnames.add(str(use.changes["name"]).lower())
    interfaces = use.changes.get("interfaces")
    for entry in interfaces if isinstance(interfaces, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("mac"), str):
            _mac(found, entry["mac"])


def _machine(found: Wanted, use: Any, state: State) -> None:
    found.machines.add(use.machine)


def _step(found: Wanted, use: Any, state: State) -> None:
    found.machines.add(use.machine)
    found.homes.add(use.machine)


def _deploy_machine(found: Wanted, use: u.DeployMachine, state: State) -> None:
    _step(found, use, state)
    if use.reservation is not None:
        found.claims.add(use.reservation)
        found.handles.add((use.project, use.reservation))
    if use.address is not None:
        with suppress(InvalidValue):
            address = str(parse_address(use.address, "/address"))
            found.addresses.update((vrf, address) for vrf in state.vrfs)


def _holders(kind: str, field: str) -> Callable[[Wanted, Any, State], None]:
    def ask(found: Wanted, use: Any, state: State) -> None:
        id_ = state.find(kind, getattr(use, field))
        if id_ is not None:
            found.holders.add((kind, id_, "", ""))

    return ask


def _create_subnet(found: Wanted, use: u.CreateSubnet, state: State) -> None:
    network = state.find("network", use.network)
    if network is not None:
        _around(found, state, state.networks[network].vrf, use.cidr)
        alike(found, state, state.networks[network], use.fields.get("name_template"))


def _change_subnet(found: Wanted, use: u.ChangeSubnet, state: State) -> None:
    subnet, cidr = state.find("subnet", use.subnet), use.changes.get("cidr")
    if subnet is not None and use.changes.keys() & {"cidr", "name_template"}:
        was = state.subnets[subnet].subnet
        alike(found, state, state.networks[was.network], use.changes.get("name_template", was.name_template))
    if subnet is not None and use.changes.get("locations"):
        found.spread.add(subnet)
    if subnet is None or not isinstance(cidr, str):
        return
    space = state.subnets[subnet]
    prefix = _around(found, state, space.subnet.vrf, cidr)
    if prefix is not None and prefix.version == space.version:
        _between(found, space, left_out(space, prefix))
        inside = state.crossing(space.subnet.vrf, prefix.version, int(prefix.network_address), prefix.prefixlen)
        _between(found, space, ((other.first, other.last) for other in inside if other is not space))


def _delete_subnet(found: Wanted, use: u.DeleteSubnet, state: State) -> None:
    """Who holds its addresses; and who is called as they will be by the subnet around them."""
    _holders("subnet", "subnet")(found, use, state)
    subnet = state.find("subnet", use.subnet)
    if subnet is not None:
        space = state.subnets[subnet]
        for other in state.crossing(space.subnet.vrf, space.version, space.first, space.prefix_length):
            if other is not space and other.prefix_length < space.prefix_length:
                alike(found, state, state.networks[other.subnet.network], other.subnet.name_template)


def _around(found: Wanted, state: State, vrf: str, cidr: str) -> Prefix | None:
    """Who holds the addresses of a prefix in the subnets that it lies in."""
    try:
        prefix = parse_prefix(cidr)
    except InvalidValue:
        return None
    for space in state.crossing(vrf, prefix.version, int(prefix.network_address), prefix.prefixlen):
        if space.prefix_length < prefix.prefixlen:
            _between(found, space, (whole(prefix),))
    return prefix


def _create_range(found: Wanted, use: u.CreateRange, state: State) -> None:
    subnet = state.find("subnet", use.subnet)
    if subnet is not None:
        with suppress(InvalidValue):
            _between(found, state.subnets[subnet], covered(state.subnets[subnet], use.start, use.end))


def _change_range(found: Wanted, use: u.ChangeRange, state: State) -> None:
    old = state.ranges.get(use.range)
    if old is None:
        return
    space, changes = state.subnets[old.subnet], use.changes
    kept = old if changes.get("role", old.role) == old.role else None
    with suppress(InvalidValue):
        start, end = (str(changes.get(name, getattr(old, name))) for name in ("start", "end"))
        _between(found, space, covered(space, start, end, kept))


def _delete_range(found: Wanted, use: u.DeleteRange, state: State) -> None:
    old = state.ranges.get(use.range)
    if old is not None:
        space = state.subnets[old.subnet]
        _between(found, space, covered(space, old.start, old.end))


def _between(found: Wanted, space: Space, stretches: Iterable[Pair]) -> None:
    found.holders.update(holders_key(space, stretch) for stretch in stretches)


def _offer(found: Wanted, use: u.LeaseOffer | u.LeaseCommit, state: State) -> None:
    _lease(found, use, state)
    found.last.update(found.handles)
    found.homes.add(use.client.mac)
    if use.client.hostname is not None:
        found.hostnames.add(use.client.hostname.lower())


def _commit(found: Wanted, use: u.LeaseCommit, state: State) -> None:
    _offer(found, use, state)
    name = enlisted_name(use.client.mac)
    found.machines.add(name)
    found.hostnames.add(name)


def _lease(found: Wanted, use: Any, state: State) -> None:
    found.macs.add(use.client.mac)
    if use.place.link is None:
        return
    for vrf in state.vrfs:
        space = state.space_at(vrf, 4, use.place.link)
        if space is not None:
            found.handles.add(lease_handle(space.subnet.id, use.client.mac))


def _decline(found: Wanted, use: u.LeaseDecline, state: State) -> None:
    _lease(found, use, state)
    if use.place.link is not None and use.address < 1 << 32:
        found.observed.update((vrf, text_of(4, use.address)) for vrf in state.vrfs)


def _expire(found: Wanted, use: u.ExpireLeases, state: State) -> None:
    found.expired = use.limit


def _lapse(found: Wanted, use: u.Lapse, state: State) -> None:
    want_due(found, state, use.limit)


def _harvest(found: Wanted, use: u.HarvestNetwork, state: State) -> None:
    network = state.find("network", use.network)
    asked = None if network is None else ripe(state, supposed(use, state.networks[network]), use.limit)
    if asked is not None:
        found.harvest.add(asked)


def _renumber(found: Wanted, use: u.RenumberSubnet, state: State) -> None:
    """How many addresses there are to move, where it begins."""
    subnet = state.find("subnet", use.subnet)
    if subnet is not None and state.subnets[subnet].subnet.renumbering is None:
        static = use.fields.get("static_acknowledged") is True
        found.renumbering.add((subnet, static, state.now, 0))


def _observe(found: Wanted, use: u.ObserveAddresses, state: State) -> None:
    vrf = state.find("vrf", use.vrf)
    for sighting in use.sightings[:MOST_SIGHTINGS]:
        with suppress(InvalidValue):
            found.addresses.add((vrf or use.vrf, str(parse_address(sighting.ip))))
        if sighting.mac is not None:
            _mac(found, sighting.mac)


def _create_token(found: Wanted, use: u.CreateToken, state: State) -> None:
    found.tokens.add(use.name)


def _revoke_token(found: Wanted, use: u.RevokeToken, state: State) -> None:
    found.tokens.add(use.token)


_WANTS: dict[type, Callable[[Wanted, Any, State], None]] = {
    u.ClaimAddresses: _claim,
    u.BindClaim: _by_claim,
    u.RebindClaim: _rebind,
    u.SettleClaim: _by_claim,
    u.EvacuateHost: _evacuate,
    u.ReleaseClaim: _by_claim,
    u.ChangeClaim: _by_claim,
    u.ReassignAddress: _reassign,
    u.RenameAddress: _rename,
    u.AttachAddress: _attach,
    u.DetachAddress: _attach,
    u.Together: _together,
    u.CreateMachine: _create_machine,
    u.ChangeMachine: _change_machine,
    u.DeleteMachine: _machine,
    u.CommissionMachine: _machine,
    u.ReadyMachine: _step,
    u.DeployMachine: _deploy_machine,
    u.ReleaseMachine: _machine,
    u.RetireMachine: _machine,
    u.SeeMachine: _machine,
    u.DeleteNetwork: _holders("network", "network"),
    u.DeleteLocation: _holders("location", "location"),
    u.DeleteSubnet: _delete_subnet,
    u.ChangeSubnet: _change_subnet,
    u.CreateSubnet: _create_subnet,
    u.CreateRange: _create_range,
    u.ChangeRange: _change_range,
    u.DeleteRange: _delete_range,
    u.LeaseOffer: _offer,
    u.LeaseCommit: _commit,
    u.LeaseRelease: _lease,
    u.LeaseDecline: _decline,
    u.LeaseInform: _lease,
    u.ObserveAddresses: _observe,
    u.HarvestNetwork: _harvest,
    u.RenumberSubnet: _renumber,
    u.Lapse: _lapse,
    u.ExpireLeases: _expire,
    u.Tend: _tend,
    u.CreateToken: _create_token,
    u.RevokeToken: _revoke_token,
    **ZONED,
}
