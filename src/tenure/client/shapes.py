"""What the service answers, for type checkers; at run time they are plain dicts, and may hold more."""

from typing import Any, Literal, TypedDict


class HeldAddress(TypedDict):
    """One address of a claim, with what its user needs to configure it."""

    ip: str
    prefix_length: int
    subnet: str
    gateway: str | None
    dns_servers: list[str]
    block: str | None
    title: str | None
    name: str | None


class Claim(TypedDict):
    """A claim and what it holds."""

    id: str
    state: Literal["pending", "bound", "released"]
    handle: str
    project: str
    network: str
    host: str | None
    machine: str | None
    mac: str | None
    hostname: str | None
    purpose: str
    static: bool
    since: str
    bound: str | None
    leaving: str | None
    settles: str | None
    released: str | None
    revision: int
    addresses: list[HeldAddress]


class BatchItem(TypedDict, total=False):
    """What came of one item of a batch: a claim or a problem."""

    status: int
    claim: Claim
    problem: dict[str, Any]


class Event(TypedDict):
    """A row of the ledger."""

    sequence: int
    time: str
    actor: str
    kind: str
    subject: dict[str, Any]
    data: dict[str, Any]
    change: str


class Found(TypedDict):
    """A thing that was found, and where it is."""

    kind: str
    id: str
    label: str
    url: str


class Count(TypedDict):
    """Addresses counted: capacity = in_use + reserved + cooling + available."""

    capacity: int
    in_use: int
    reserved: int
    cooling: int
    available: int


class Ready(TypedDict):
    """Whether the node can allocate, and if not, why."""

    ready: bool
    reasons: list[str]
    notes: list[str]
