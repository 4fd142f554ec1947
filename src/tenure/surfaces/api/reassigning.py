"""What may be done to a held address: given to somebody else, renamed, attached to interfaces and detached."""

from datetime import datetime

from msgspec.structs import replace
from starlette.responses import Response

from tenure.errors import InvalidValue
from tenure.model.answers import Displaced
from tenure.model.policy import NameFollows, OnOverride
from tenure.model.uses import AttachAddress, DetachAddress, ReassignAddress, RenameAddress
from tenure.naming.hostnames import parse_hostname
from tenure.net.addresses import parse_address
from tenure.net.identifiers import looks_like_mac, parse_mac
from tenure.surfaces.api.claims import BOUND, ClaimOut, answered
from tenure.surfaces.api.operations import Asked, Noun
from tenure.surfaces.api.schemas import AddressText, Change, Hostname, Input, Reference

NOUN = Noun("addresses")

_RECEIVERS = ("interface", "machine", "claim", "address")


class AddressChange(Change):
    """In which vrf."""

    vrf: Reference = "default"


class ReassignIn(Input):
    """Who gets the address: an interface (MAC or id), a machine, or a claim (id). Or which `address` its holder gets.

    `dns` says when names follow; left out: at once where no DHCP lease is active, else when the client uses the new
    address. `static_acknowledged`: somebody changes what was written by hand into the machine.
    """

    interface: Reference | None = None
    machine: Reference | None = None
    claim: Reference | None = None
    address: AddressText | None = None
    on_override: OnOverride | None = None
    static_acknowledged: bool = False
    dns: NameFollows | None = None


class RenameIn(Input):
    """Its new name in the network's zone; null: that of its machine, or none."""

    hostname: Hostname | None


class AttachIn(Input):
    """Which interface (MAC or id) uses it."""

    interface: Reference


class DetachIn(Input):
    """Which interface (MAC or id) uses it no longer; left out: the only one that does."""

    interface: Reference | None = None


_BY_MAC = {"interface": "52:54:00:0a:0b:0c"}
_GIVEN = replace(
    BOUND,
    machine="vm-18",
    revision=2,
    displaced=(Displaced("10.0.3.70", "shelved", "9a8b7c6d5e4f30201000"),),
    effective_by=datetime.fromisoformat("2026-11-24T16:00:30+00:00"),
)
_RENAMED = replace(
    BOUND, hostname="db-1", revision=2, addresses=(replace(BOUND.addresses[0], name="db-1.prod.example."),)
)


@NOUN.operation(
    "POST",
    "/v1/addresses/{ip}/reassign",
    "Give a held address to somebody else, or its holder another",
    query=AddressChange,
    body=ReassignIn,
    example={**_BY_MAC, "dns": "when_acked"},
    gives={200: ClaimOut},
    answers={200: _GIVEN},
    refusals=("not_found", "conflict", "already_allocated", "exhausted"),
)
async def reassign(asked: Asked) -> Response:
    """Move an address to another interface, machine or claim, or give its holder another; the machine may be off.

    A DHCP client that uses the old address is refused at its next request, and gets the new one; nobody else gets
    the old one before its promise ends. `displaced` says what became of what the receiver had. An address that was
    written down by hand (`static`) needs `static_acknowledged`.
    """
    body = asked.body
    said = [name for name in _RECEIVERS if getattr(body, name) is not None]
    if len(said) != 1:
        raise InvalidValue(
            f"Say one of interface, machine, claim or address, not {len(said)}.",
            pointer=f"/{said[1]}" if said else "",
            allowed=list(_RECEIVERS),
        )
    use = ReassignAddress(
        vrf=asked.query.vrf,
        ip=_ip(asked),
        interface=None if body.interface is None else _interface(body.interface),
        machine=body.machine,
        claim=body.claim,
        address=None if body.address is None else str(parse_address(body.address, "/address")),
        on_override=body.on_override,
        static_acknowledged=body.static_acknowledged,
        dns=body.dns,
    )
    return await answered(asked, use)


@NOUN.operation(
    "PATCH",
    "/v1/addresses/{ip}",
    "Rename a held address",
    name="rename_address",
    query=AddressChange,
    body=RenameIn,
    example={"hostname": "db-1"},
    gives={200: ClaimOut},
    answers={200: _RENAMED},
    refusals=("not_found", "conflict"),
)
async def rename(asked: Asked) -> Response:
    """Call an address otherwise; its forward and reverse records change together. The claim is answered."""
    said = asked.body.hostname
    hostname = None if said is None else parse_hostname(said, "/hostname")
    return await answered(asked, RenameAddress(vrf=asked.query.vrf, ip=_ip(asked), hostname=hostname))


@NOUN.operation(
    "POST",
    "/v1/addresses/{ip}/attach",
    "Let an interface use a held address",
    name="attach_address",
    query=AddressChange,
    body=AttachIn,
    example=_BY_MAC,
    gives={200: ClaimOut},
    answers={200: BOUND},
    refusals=("not_found", "conflict"),
)
async def attach(asked: Asked) -> Response:
    """Attach an address to an interface: a shared one beside others, any other instead of who uses it now. Repeatable.

    The address moves with its name, and its host route follows.
    """
    use = AttachAddress(vrf=asked.query.vrf, ip=_ip(asked), interface=_interface(asked.body.interface))
    return await answered(asked, use)


@NOUN.operation(
    "POST",
    "/v1/addresses/{ip}/detach",
    "Let an interface use a held address no longer",
    name="detach_address",
    query=AddressChange,
    body=DetachIn,
    optional=True,
    example=_BY_MAC,
    gives={200: ClaimOut},
    answers={200: BOUND},
    refusals=("not_found", "conflict"),
)
async def detach(asked: Asked) -> Response:
    """Detach an address; its claim keeps it. Without a body, from the only interface that uses it."""
    said = None if asked.body is None else asked.body.interface
    interface = None if said is None else _interface(said)
    return await answered(asked, DetachAddress(vrf=asked.query.vrf, ip=_ip(asked), interface=interface))


def _ip(asked: Asked) -> str:
    return str(parse_address(asked.path("ip"), ""))


def _interface(said: str) -> str:
    """A MAC in its one spelling, or an id as it is."""
    return parse_mac(said, "/interface") if looks_like_mac(said) else said
