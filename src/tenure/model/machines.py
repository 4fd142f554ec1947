"""What holds addresses: machines and their interfaces."""

import msgspec

from tenure.model.policy import MachineKind


class Machine(msgspec.Struct, frozen=True):
    """A computer (`managed`, or an `instance` that an orchestrator runs) or a `device` that nobody boots."""

    id: str
    name: str
    kind: MachineKind = "managed"
    location: str | None = None
    revision: int = 1


class Interface(msgspec.Struct, frozen=True):
    """A network port of a machine, known by its MAC (`52:54:00:0a:0b:0c`)."""

    id: str
    machine: str
    mac: str
    name: str = ""
    revision: int = 1
