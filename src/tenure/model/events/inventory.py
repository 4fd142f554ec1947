"""What happened to address spaces, places, networks, subnets, ranges, blocks and tokens."""

from tenure.model.access import Token
from tenure.model.addressing import Network, Range, Subnet, Vrf
from tenure.model.events.happening import Happening, Subject
from tenure.model.placement import Block
from tenure.model.policy import Family
from tenure.model.topology import Location


class VrfCreated(Happening, frozen=True, kw_only=True, tag="tenure.vrf.created"):
    """An address space was made."""

    vrf: Vrf

    def subject(self) -> Subject:
        """The vrf."""
        return Subject(vrf=self.vrf.id)


class VrfChanged(Happening, frozen=True, kw_only=True, tag="tenure.vrf.changed"):
    """An address space was renamed; `vrf` is as it is now."""

    vrf: Vrf

    def subject(self) -> Subject:
        """The vrf."""
        return Subject(vrf=self.vrf.id)


class VrfDeleted(Happening, frozen=True, kw_only=True, tag="tenure.vrf.deleted"):
    """An address space was closed."""

    vrf: Vrf

    def subject(self) -> Subject:
        """The vrf."""
        return Subject(vrf=self.vrf.id)


class LocationCreated(Happening, frozen=True, kw_only=True, tag="tenure.location.created"):
    """A place was made."""

    location: Location


class LocationChanged(Happening, frozen=True, kw_only=True, tag="tenure.location.changed"):
    """A place was changed; `location` is as it is now."""

    location: Location


class LocationDeleted(Happening, frozen=True, kw_only=True, tag="tenure.location.deleted"):
    """A place was closed."""

    location: Location


class NetworkCreated(Happening, frozen=True, kw_only=True, tag="tenure.network.created"):
    """A network was made."""

    network: Network

    def subject(self) -> Subject:
        """The network's vrf."""
        return Subject(vrf=self.network.vrf)


class NetworkChanged(Happening, frozen=True, kw_only=True, tag="tenure.network.changed"):
    """A network was changed; `network` is as it is now."""

    network: Network

    def subject(self) -> Subject:
        """The network's vrf."""
        return Subject(vrf=self.network.vrf)


class NetworkDeleted(Happening, frozen=True, kw_only=True, tag="tenure.network.deleted"):
    """A network was closed."""

    network: Network

    def subject(self) -> Subject:
        """The network's vrf."""
        return Subject(vrf=self.network.vrf)


class NetworkBudgetCrossed(Happening, frozen=True, kw_only=True, tag="tenure.network.budget_crossed"):
    """The spine's routes of a network passed its `route_budget`, or are within it again (`network.over_budget`)."""

    network: Network
    routes: int

    def subject(self) -> Subject:
        """The network's vrf."""
        return Subject(vrf=self.network.vrf)


class SubnetCreated(Happening, frozen=True, kw_only=True, tag="tenure.subnet.created"):
    """A subnet was made."""

    subnet: Subnet

    def subject(self) -> Subject:
        """The subnet's vrf."""
        return Subject(vrf=self.subnet.vrf)


class SubnetChanged(Happening, frozen=True, kw_only=True, tag="tenure.subnet.changed"):
    """A subnet was changed; `subnet` is as it is now."""

    subnet: Subnet

    def subject(self) -> Subject:
        """The subnet's vrf."""
        return Subject(vrf=self.subnet.vrf)


class SubnetDeleted(Happening, frozen=True, kw_only=True, tag="tenure.subnet.deleted"):
    """A subnet was closed."""

    subnet: Subnet

    def subject(self) -> Subject:
        """The subnet's vrf."""
        return Subject(vrf=self.subnet.vrf)


class RangeCreated(Happening, frozen=True, kw_only=True, tag="tenure.range.created"):
    """A range was set aside."""

    range: Range


class RangeChanged(Happening, frozen=True, kw_only=True, tag="tenure.range.changed"):
    """A range was changed; `range` is as it is now."""

    range: Range


class RangeDeleted(Happening, frozen=True, kw_only=True, tag="tenure.range.deleted"):
    """A range was given back."""

    range: Range


class BlockOwned(Happening, frozen=True, kw_only=True, tag="tenure.block.owned"):
    """A location took a block."""

    block: Block


class BlockSurrendered(Happening, frozen=True, kw_only=True, tag="tenure.block.surrendered"):
    """A block went back; `block` is as it was."""

    block: Block


class BlockResized(Happening, frozen=True, kw_only=True, tag="tenure.block.resized"):
    """A block grew by its buddy, or shrank to one of its halves; `before` is as it was."""

    before: Block
    block: Block


class TokenCreated(Happening, frozen=True, kw_only=True, tag="tenure.token.created"):
    """A token was made; its secret is not here."""

    token: Token


class TokenRevoked(Happening, frozen=True, kw_only=True, tag="tenure.token.revoked"):
    """A token was revoked."""

    token: Token


class EpochStarted(Happening, frozen=True, kw_only=True, tag="tenure.ledger.epoch_started"):
    """The ledger had become shorter than what a node remembered: followers start over."""

    epoch: str
    reason: str


class NetworkDepleted(Happening, frozen=True, kw_only=True, tag="tenure.network.depleted"):
    """A network has fewer addresses of a family available than its `low_threshold` (`network.depleted`)."""

    network: Network
    family: Family
    available: int

    def subject(self) -> Subject:
        """The network's vrf."""
        return Subject(vrf=self.network.vrf)


class NetworkReplenished(Happening, frozen=True, kw_only=True, tag="tenure.network.replenished"):
    """A network that was depleted has enough addresses available again."""

    network: Network

    def subject(self) -> Subject:
        """The network's vrf."""
        return Subject(vrf=self.network.vrf)
