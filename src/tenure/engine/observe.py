"""What was seen on the network: strangers are avoided, holders are seen, and who shares an address is told of both."""

from datetime import timedelta
from typing import Final

from tenure.engine import lifecycle, resolve
from tenure.engine.adopting import over
from tenure.engine.draft import Draft
from tenure.engine.space import Space
from tenure.errors import InvalidValue
from tenure.model import events as e
from tenure.model.answers import Observed, Sight
from tenure.model.holding import Allocation, Claim
from tenure.model.observed import Observation
from tenure.model.uses import ObserveAddresses, Sighting
from tenure.net.addresses import number_of, parse_address
from tenure.net.identifiers import parse_mac

OBSERVED_FOR: Final = timedelta(hours=24)
"""How long what was seen counts."""

TOLD_AGAIN: Final = OBSERVED_FOR / 4
"""How long the same sighting is not recorded again."""

MOST_SIGHTINGS: Final = 10_000
DECLINE: Final = "decline"

_VIRTUAL: Final = ("00:00:5e:00:01:", "00:00:5e:00:02:")
"""How the MACs begin by which routers share an address (RFC 9568, section 7.3)."""


def observe_addresses(use: ObserveAddresses, draft: Draft) -> Observed:
    """Take in what was seen: on addresses that nobody holds strangers, on others their holders, or a conflict.

    A holder is an interface that uses the address, another of its machine, or whoever a claim without an interface is
    kept for; where only the address was seen, it is taken for its holder. Gateways, DNS servers and edges of a subnet
    are expected to be seen. Nothing is ever given up because of a sighting.

    Returns:
        What came of each, in order.

    Raises:
        NotFound: There is no such vrf.
        InvalidValue: A sighting is malformed (`pointer` says which), or there are more than 10,000.

    Cost: a look at each.
    """
    vrf = resolve.resolved(draft.state, "vrf", use.vrf, "/vrf")
    if len(use.sightings) > MOST_SIGHTINGS:
        raise InvalidValue(
            f"at most {MOST_SIGHTINGS:,} sightings are taken at once", pointer="/sightings", maximum=MOST_SIGHTINGS
        )
    sound = [_sound(one, f"/sightings/{at}") for at, one in enumerate(use.sightings)]
    return Observed(tuple([_seen(draft, vrf, one) for one in sound]))


def declined(draft: Draft, claim: Claim, allocation: Allocation) -> None:
    """Record that a DHCP client found somebody else on its address; once in a while, however often it says so."""
    space, number = draft.state.subnets[allocation.subnet], number_of(allocation.ip)
    told = space.strangers.get(number)
    if told is None or told - draft.moment.now <= OBSERVED_FOR - TOLD_AGAIN:
        seen = _observation(draft, space, Sighting(ip=allocation.ip, source=DECLINE), claim)
        draft.record(e.AddressDisputed(claim=claim, allocation=allocation, observed=seen))


def _sound(sighting: Sighting, pointer: str) -> Sighting:
    return Sighting(
        ip=str(parse_address(sighting.ip, f"{pointer}/ip")),
        mac=None if sighting.mac is None else parse_mac(sighting.mac, f"{pointer}/mac"),
        source=resolve.plain(sighting.source, f"{pointer}/source"),
    )


def _seen(draft: Draft, vrf: str, sighting: Sighting) -> Sight:
    version = 6 if ":" in sighting.ip else 4
    number = number_of(sighting.ip)
    machine = _machine(draft, sighting.mac)
    if machine is not None:
        lifecycle.seen(draft, machine, draft.moment.now)
    held = draft.facts.addresses[vrf, sighting.ip]
    if held is not None:
        return _on_held(draft, sighting, held)
    space = draft.state.space_at(vrf, version, number)
    if space is None:
        return Sight(sighting.ip, "elsewhere")
    if space.is_expected(number):
        return Sight(sighting.ip, "known")
    return _on_free(draft, space, sighting)


def _machine(draft: Draft, mac: str | None) -> str | None:
    interface = None if mac is None else draft.facts.macs.get(mac)
    return None if interface is None else draft.facts.interfaces[interface].machine


def _on_free(draft: Draft, space: Space, sighting: Sighting) -> Sight:
    if _told(draft, space, sighting, None):
        return Sight(sighting.ip, "known")
    draft.record(e.AddressObserved(observation=_observation(draft, space, sighting, None)))
    return Sight(sighting.ip, "stranger")


def _on_held(draft: Draft, sighting: Sighting, held: Allocation) -> Sight:
    claim, space = draft.facts.claims[held.claim], draft.state.subnets[held.subnet]
    if _is_holder(draft, sighting.mac, claim, held):
        _trust(draft, space, sighting)
        if sighting.mac is None and claim.machine is not None:
            lifecycle.seen(draft, claim.machine, draft.moment.now)
        return Sight(sighting.ip, "holder", claim.id)
    if _told(draft, space, sighting, claim):
        return Sight(sighting.ip, "known", claim.id)
    seen = _observation(draft, space, sighting, claim)
    draft.record(e.AddressDisputed(claim=claim, allocation=held, observed=seen))
    return Sight(sighting.ip, "conflict", claim.id)


def _is_holder(draft: Draft, mac: str | None, claim: Claim, held: Allocation) -> bool:
    """Whether a MAC may be seen there: nobody can tell where none was seen, or none is known.

    The MAC that a claim asked with says who that is only while no machine has it: its interface may have been given
    another since, and the address to another.
    """
    attached = draft.facts.attached.get(held.id, {})
    asked = claim.request.mac if claim.machine is None and claim.interface is None else None
    if mac is None or mac == asked or (claim.request.shared and mac.startswith(_VIRTUAL)):
        return True
    interface = draft.facts.macs.get(mac)
    if interface is None:
        return not (attached or asked)
    users = {claim.machine, *(draft.facts.interfaces[i].machine for i in attached if i in draft.facts.interfaces)}
    users.discard(None)
    mine = interface in attached or draft.facts.interfaces[interface].machine in users
    return mine or not (attached or users or asked)


def _told(draft: Draft, space: Space, sighting: Sighting, claim: Claim | None) -> bool:
    """Whether just this was recorded not long ago, or more was than there is room for.

    Where several use an address in turn, each sighting is another's than the last: they are told of once, and again
    after an hour.
    """
    last, now = draft.facts.observations.get((space.subnet.vrf, sighting.ip)), draft.moment.now
    if last is None or last.last + TOLD_AGAIN <= now or last.claim != (None if claim is None else claim.id):
        return False
    if sighting.mac in (None, last.mac):
        return True
    changes, where = draft.state.changed_macs, f"{space.subnet.vrf} {sighting.ip}"
    if not changes.room(where, 1, now):
        return True
    changes.note(where, now)
    return False


def _trust(draft: Draft, space: Space, sighting: Sighting) -> None:
    """Whoever was seen there as a stranger has the address now."""
    seen = draft.facts.observations.get((space.subnet.vrf, sighting.ip))
    if seen is not None and seen.until > draft.moment.now and sighting.mac is not None and seen.mac == sighting.mac:
        over(draft, seen)


def _observation(draft: Draft, space: Space, sighting: Sighting, claim: Claim | None) -> Observation:
    now, vrf = draft.moment.now, space.subnet.vrf
    before = draft.facts.observations.get((vrf, sighting.ip))
    if before is not None and (before.until <= now or sighting.mac not in (None, before.mac)):
        before = None  # that was somebody else, or long ago
    return Observation(
        vrf=vrf,
        subnet=space.subnet.id,
        ip=sighting.ip,
        mac=sighting.mac if before is None else before.mac,
        source=sighting.source,
        since=now if before is None else before.since,
        last=now,
        until=now + OBSERVED_FOR,
        claim=None if claim is None else claim.id,
    )
