"""What a deployment asks for instead of what the machine's boot interface has."""

from typing import NamedTuple

from tenure.engine import resolve
from tenure.engine.draft import Draft
from tenure.engine.machines import home_handle
from tenure.engine.reservations import reservation_named
from tenure.errors import Conflict, InvalidValue
from tenure.model.addressing import Network
from tenure.model.holding import MACHINES, Claim
from tenure.model.machines import Interface, Machine
from tenure.model.uses import DeployMachine
from tenure.net.addresses import version_of


class Override(NamedTuple):
    """An address, or a reservation's, that an interface uses for a deployment.

    Attributes:
        reservation: Id of an open claim. address: Canonical text. One of the two.
        suffices: Whether it brings an address of each family that the network has, so that no other is needed.
        use: The deployment, which says what becomes of what the interface has.
    """

    interface: Interface
    network: Network
    reservation: str | None
    address: str | None
    suffices: bool
    use: DeployMachine

    @property
    def handle(self) -> str:
        """The handle of the claim that it is."""
        return f"{home_handle(self.interface.id)}:deploy"


def wanted_override(draft: Draft, use: DeployMachine, interface: Interface | None) -> Override | None:
    """What `reservation` or `address` of a deployment means for its boot interface; None where neither is named.

    Raises:
        NotFound, NotPermitted: The reservation is not here, or another project's.
        InvalidValue: Both are named, or `on_override` with neither; the address is malformed.
        Conflict: The machine has no boot interface in a network that is known, or in another than the reservation.
    """
    if use.reservation is None and use.address is None:
        if use.on_override is not None:
            raise InvalidValue("on_override goes with an address, or with from", pointer="/on_override")
        return None
    if use.reservation is not None and use.address is not None:
        raise InvalidValue("name an address or a reservation, not both", pointer="/address")
    if interface is None:
        raise Conflict(f"machine {use.machine} has no interface to boot from", machine=use.machine)
    if use.address is not None:
        address = resolve.host_address(use.address, "/address")
        network = _plugged(draft, interface)
        brings = {version_of(address)}
        return Override(interface, network, None, address, _suffices(draft, network, brings), use)
    claim = reservation_named(draft, str(use.reservation), use.project)
    network = draft.state.networks[claim.network]
    if interface.network not in (None, network.id):
        raise Conflict(
            f"{interface.mac} is plugged into network {_plugged(draft, interface).name}, and the reservation is of"
            f" {network.name}",
            pointer="/from",
        )
    brings = {version_of(held.ip) for held in draft.facts.held[claim.id].values()}
    return Override(interface, network, claim.id, None, _suffices(draft, network, brings), use)


def repeated(draft: Draft, machine: Machine, override: Override | None) -> bool:
    """Whether a deployed machine is deployed with this override already. None of it: as it is.

    Raises:
        Conflict: It is deployed without, or with another.
    """
    if override is None:
        return True
    known = draft.facts.handles.get((MACHINES, override.handle))
    if known is not None and _same(draft.facts.claims[known], override):
        return True
    raise Conflict(
        f"machine {machine.name} is deployed already, otherwise; release it first, or reassign its address",
        machine=machine.name,
        state="deployed",
    )


def _same(claim: Claim, override: Override) -> bool:
    asked = claim.request
    said = (override.address, override.reservation, override.use.on_override)
    return (asked.address, asked.reservation, asked.on_override) == said


def _plugged(draft: Draft, interface: Interface) -> Network:
    network = draft.state.networks.get(interface.network or "")
    if network is None:
        raise Conflict(
            f"{interface.mac} is plugged into no network that is known; say which it is", interface=interface.mac
        )
    return network


def _suffices(draft: Draft, network: Network, brings: set[int]) -> bool:
    return {version for version in (4, 6) if draft.state.families[network.id, version]} <= brings
