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
    standing: Literal["primary", "alias", "shelved"]


class Displaced(TypedDict):
    """What became of an address because of another: `shelved`, `kept`, `released`, `restored` or `returned`."""

    ip: str
    became: str
    claim: str


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
    expires: str | None
    shared: bool
    queue: bool
    kept: Literal["life", "deployment"] | None
    harvest: Literal["inherit", "never", "allowed"]
    tags: list[str]
    custom: dict[str, Any]
    revision: int
    addresses: list[HeldAddress]
    displaced: list[Displaced]
    effective_by: str | None


class BatchItem(TypedDict, total=False):
    """What came of one item of a batch: a claim or a problem."""

    status: int
    claim: Claim
    problem: dict[str, Any]


class Renumbering(TypedDict):
    """How far the replacement of a subnet's addresses is; `stuck` are the first claims of those that it leaves."""

    subnet: str
    cidr: str
    state: Literal["running", "stopped", "none"]
    to: str | None
    since: str | None
    wave: int | None
    lease_time: int | None
    static_acknowledged: bool
    moved: int
    left: int
    stuck: list[Claim]
    stuck_count: int
    reason: str | None


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
