"""What may be asked of machines and their lives."""

from datetime import datetime

import msgspec

from tenure.model.policy import Allocate, Custom, Harvest, MachineKind, OnOverride
from tenure.model.uses.asking import Asking


class NewInterface(msgspec.Struct, frozen=True):
    """An interface as sent with a machine; `network` is a name or id."""

    mac: str
    name: str = ""
    duid: str | None = None
    network: str | None = None
    boot: bool = False
    allocate: Allocate = "inherit"


class CreateMachine(Asking, frozen=True, kw_only=True):
    """Make a machine with its interfaces."""

    name: str
    kind: MachineKind = "managed"
    location: str | None = None
    interfaces: tuple[NewInterface, ...] = ()
    harvest: Harvest = "inherit"
    tags: tuple[str, ...] = ()
    custom: Custom = msgspec.field(default_factory=dict)


class ChangeMachine(Asking, frozen=True, kw_only=True):
    """Change a machine; `interfaces`, if sent, is the whole new list."""

    machine: str
    changes: dict[str, object]


class DeleteMachine(Asking, frozen=True, kw_only=True):
    """Close a machine that holds nothing."""

    machine: str


class CommissionMachine(Asking, frozen=True, kw_only=True):
    """Begin to commission a machine (new or ready)."""

    machine: str


class ReadyMachine(Asking, frozen=True, kw_only=True):
    """A machine passed commissioning: it gets the addresses that are decided then."""

    machine: str


class DeployMachine(Asking, frozen=True, kw_only=True):
    """Give a ready machine to its user, with the addresses that are decided then.

    `host`: Where it runs; None: its own location, if that is a host. `reservation` (an id, or a handle of
    `project`) or `address`: what its boot interface uses for this deployment instead of what it has.
    `static_acknowledged`: Somebody will change what was written by hand into the machine.
    """

    machine: str
    host: str | None = None
    reservation: str | None = None
    address: str | None = None
    on_override: OnOverride | None = None
    static_acknowledged: bool = False
    project: str = "default"


class ReleaseMachine(Asking, frozen=True, kw_only=True):
    """Take a deployed machine back: what it was given for the deployment goes, its own stays or comes back."""

    machine: str


class RetireMachine(Asking, frozen=True, kw_only=True):
    """End a machine's life: everything that it holds is released."""

    machine: str


class SeeMachine(Asking, frozen=True, kw_only=True):
    """A machine was seen using its network, now or at a time that is past."""

    machine: str
    at: datetime | None = None
