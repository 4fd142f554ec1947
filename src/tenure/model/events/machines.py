"""What happened to machines and their interfaces."""

from tenure.model.events.happening import Happening, Subject
from tenure.model.machines import Interface, Machine


class MachineCreated(Happening, frozen=True, kw_only=True, tag="tenure.machine.created"):
    """A machine was made."""

    machine: Machine

    def subject(self) -> Subject:
        """The machine."""
        return Subject(machine=self.machine.id)


class MachineChanged(Happening, frozen=True, kw_only=True, tag="tenure.machine.changed"):
    """A machine was changed; `machine` is as it is now."""

    machine: Machine

    def subject(self) -> Subject:
        """The machine."""
        return Subject(machine=self.machine.id)


class MachineDeleted(Happening, frozen=True, kw_only=True, tag="tenure.machine.deleted"):
    """A machine was closed; its interfaces have events of their own."""

    machine: Machine

    def subject(self) -> Subject:
        """The machine."""
        return Subject(machine=self.machine.id)


class InterfaceCreated(Happening, frozen=True, kw_only=True, tag="tenure.interface.created"):
    """A machine got an interface."""

    interface: Interface

    def subject(self) -> Subject:
        """The machine."""
        return Subject(machine=self.interface.machine)


class InterfaceChanged(Happening, frozen=True, kw_only=True, tag="tenure.interface.changed"):
    """An interface was changed; `interface` is as it is now."""

    interface: Interface

    def subject(self) -> Subject:
        """The machine."""
        return Subject(machine=self.interface.machine)


class InterfaceDeleted(Happening, frozen=True, kw_only=True, tag="tenure.interface.deleted"):
    """An interface was closed."""

    interface: Interface

    def subject(self) -> Subject:
        """The machine."""
        return Subject(machine=self.interface.machine)


class MachineEnlisted(Happening, frozen=True, kw_only=True, tag="tenure.machine.enlisted"):
    """An unknown client got a lease where machines enlist: it is a `new` machine."""

    machine: Machine

    def subject(self) -> Subject:
        """The machine."""
        return Subject(machine=self.machine.id)


class MachineCommissioned(Happening, frozen=True, kw_only=True, tag="tenure.machine.commissioned"):
    """Commissioning of a machine was begun."""

    machine: Machine

    def subject(self) -> Subject:
        """The machine."""
        return Subject(machine=self.machine.id)


class MachineReadied(Happening, frozen=True, kw_only=True, tag="tenure.machine.readied"):
    """A machine passed commissioning."""

    machine: Machine

    def subject(self) -> Subject:
        """The machine."""
        return Subject(machine=self.machine.id)


class MachineDeployed(Happening, frozen=True, kw_only=True, tag="tenure.machine.deployed"):
    """A machine was given to its user: nothing automatic changes its addresses from now on."""

    machine: Machine

    def subject(self) -> Subject:
        """The machine."""
        return Subject(machine=self.machine.id)


class MachineReleased(Happening, frozen=True, kw_only=True, tag="tenure.machine.released"):
    """A machine was taken back from its user: it is ready again."""

    machine: Machine

    def subject(self) -> Subject:
        """The machine."""
        return Subject(machine=self.machine.id)


class MachineRetired(Happening, frozen=True, kw_only=True, tag="tenure.machine.retired"):
    """A machine was retired; what it held was released in the same change."""

    machine: Machine

    def subject(self) -> Subject:
        """The machine."""
        return Subject(machine=self.machine.id)


class MachineSeen(Happening, frozen=True, kw_only=True, tag="tenure.machine.seen"):
    """A machine was seen using its network; told now and then, not each time."""

    machine: Machine

    def subject(self) -> Subject:
        """The machine."""
        return Subject(machine=self.machine.id)
