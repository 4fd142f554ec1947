"""What holds addresses: machines and their interfaces."""

from datetime import datetime
from typing import Final

import msgspec

from tenure.model.policy import Allocate, Custom, Harvest, MachineKind, MachineState

BEGINNING: Final[dict[MachineKind, MachineState | None]] = {"managed": "new", "instance": "ready", "device": None}
"""The state that a machine of each kind begins in."""


class Machine(msgspec.Struct, frozen=True):
    """A computer (`managed`, or an `instance` that an orchestrator runs) or a `device` that nobody boots.

    Attributes:
        state: Where it is in its life; None: as its kind begins (see `lifecycle`).
        harvest: Whether its pre-allocated addresses may be harvested; `inherit`: as the network says.
        seen: When it was last known to use its network; None: never.
        tags: Sorted, each once.
    """

    id: str
    name: str
    kind: MachineKind = "managed"
    location: str | None = None
    revision: int = 1
    state: MachineState | None = None
    harvest: Harvest = "inherit"
    seen: datetime | None = None
    tags: tuple[str, ...] = ()
    custom: Custom = {}

    @property
    def lifecycle(self) -> MachineState | None:
        """Where it is in its life: a managed machine begins `new`, an instance `ready`; a device has none."""
        return None if self.kind == "device" else self.state or BEGINNING[self.kind]


class Interface(msgspec.Struct, frozen=True):
    """A network port of a machine, known by its MAC (`52:54:00:0a:0b:0c`).

    Attributes:
        duid: Its machine's DHCP unique identifier, one spelling; interfaces of a machine may share it.
        network: Id of the network that it is plugged into, if that is known.
        boot: Whether the machine boots from it. Where no interface of a machine says so, the first made does.
        allocate: Whether it gets an address by itself; `inherit`: as its network's `interfaces` says.
    """

    id: str
    machine: str
    mac: str
    name: str = ""
    revision: int = 1
    duid: str | None = None
    network: str | None = None
    boot: bool = False
    allocate: Allocate = "inherit"
