"""From the names that a caller gave to the ids behind them, and from loose values to their one form."""

from typing import TypeVar

import msgspec

from tenure.engine.fields import labelled
from tenure.engine.space import Space
from tenure.engine.state import State
from tenure.errors import Conflict, InvalidValue, NotFound, StaleRevision
from tenure.model.addressing import Network
from tenure.model.holding import ClaimRequest
from tenure.model.policy import Family
from tenure.model.topology import Location
from tenure.naming.hostnames import LONGEST_NAME, parse_hostname
from tenure.net.addresses import parse_address, version_of
from tenure.net.identifiers import parse_mac
from tenure.net.moments import moment

T = TypeVar("T")

_MOST = 1024
_FAMILIES: dict[frozenset[int], Family] = {
    frozenset({4}): "v4",
    frozenset({6}): "v6",
    frozenset({4, 6}): "dual",
}
_BROADCAST = "255.255.255.255"
LONGEST_HANDLE = 512
LONGEST_NOTE = 1024


def resolved(state: State, kind: str, name: str, pointer: str = "") -> str:
    """The id of a vrf, location, network, subnet or range.

    Raises:
        NotFound: There is none; `pointer` names the field that asked.
    """
    found = state.find(kind, name)
    if found is None:
        raise NotFound(f"there is no {kind} {name!r}", kind=kind, name=name, pointer=pointer)
    return found


def network(state: State, name: str, pointer: str = "/network") -> Network:
    """A network by name or id."""
    return state.networks[resolved(state, "network", name, pointer)]


def space(state: State, name: str, pointer: str = "/subnet") -> Space:
    """A subnet by id or, where only one has it, by prefix."""
    return state.subnets[resolved(state, "subnet", name, pointer)]


def location(state: State, name: str, pointer: str = "/host") -> Location:
    """A place by name or id."""
    return state.locations[resolved(state, "location", name, pointer)]


def only_host(place: Location, pointer: str = "/host") -> None:
    """Refuse a place that is no host where one is meant.

    Raises:
        InvalidValue: It is a rack, a site or a region: fact `kind` says which.
    """
    if place.kind != "host":
        raise InvalidValue(f"{place.name} is a {place.kind}; name a host", pointer=pointer, kind=place.kind)


def normalized(request: ClaimRequest, state: State) -> ClaimRequest:
    """The content of a claim as it is compared: ids for names, one spelling for everything, a family said.

    Raises:
        NotFound, InvalidValue: With the field's pointer.
    """
    net = network(state, request.network)
    subnet = None if request.subnet is None else space(state, request.subnet).subnet.id
    if subnet is not None and state.subnets[subnet].subnet.network != net.id:
        raise InvalidValue(f"subnet {request.subnet!r} is not of network {net.name}", pointer="/subnet")
    address = None if request.address is None else str(parse_address(request.address, "/address"))
    addresses = _several(request.addresses) if request.addresses else ()
    _together(request)
    return labelled(
        msgspec.structs.replace(
            request,
            network=net.id,
            subnet=subnet,
            host=None if request.host is None else location(state, request.host).id,
            machine=None if request.machine is None else plain(request.machine, "/machine"),
            mac=None if request.mac is None else parse_mac(request.mac, "/mac"),
            hostname=None if request.hostname is None else relative_name(request.hostname, net.domain),
            family=_family(state, net, request, subnet, (address,) if address else addresses),
            address=address,
            project=plain(request.project, "/project"),
            purpose=request.purpose and plain(request.purpose, "/purpose", LONGEST_NOTE),
            addresses=addresses,
            expires=None if request.expires is None else moment(request.expires, "/expires"),
            reservation=None if request.reservation is None else plain(request.reservation, "/from", LONGEST_HANDLE),
        )
    )


def _several(addresses: tuple[str, ...]) -> tuple[str, ...]:
    """Addresses in their one spelling, each once."""
    found: dict[str, None] = {}
    for at, text in enumerate(addresses):
        address = str(parse_address(text, f"/addresses/{at}"))
        if address in found:
            raise InvalidValue(f"{text} stands twice", pointer=f"/addresses/{at}", value=text)
        found[address] = None
    return tuple(found)


def _together(request: ClaimRequest) -> None:
    """Refuse what cannot be asked for in one claim."""
    if not 1 <= request.count <= _MOST:
        raise InvalidValue(f"count must be 1 to {_MOST}", pointer="/count", minimum=1, maximum=_MOST)
    if len(request.addresses) > _MOST:
        raise InvalidValue(f"addresses must be at most {_MOST}", pointer="/addresses", maximum=_MOST)
    by_name = request.address is not None or bool(request.addresses)
    if by_name and request.count != 1:
        raise InvalidValue("count must be 1 where an address is named", pointer="/count", allowed=[1])
    if request.address is not None and request.addresses:
        raise InvalidValue("name one address, or several", pointer="/addresses")
    if request.contiguous and (by_name or request.reservation is not None):
        raise InvalidValue("what is named cannot be chosen side by side", pointer="/contiguous", allowed=[False])
    if request.alias and request.machine is None and request.mac is None:
        raise InvalidValue("an alias needs a machine or a mac that it stands beside", pointer="/alias")


def host_address(text: str, pointer: str) -> str:
    """The one spelling of an address that a host or a router may have.

    Raises:
        InvalidValue: It is malformed, unspecified, multicast or broadcast.
    """
    address = parse_address(text, pointer)
    if address.is_multicast or address.is_unspecified or str(address) == _BROADCAST:
        raise InvalidValue(f"{address} is no host's address", pointer=pointer, value=text)
    return str(address)


def relative_name(name: str, domain: str | None, pointer: str = "/hostname") -> str:
    """A host name as it is held: relative to its network's domain, in lower-case A-labels.

    A fully qualified one in that domain means the same.

    Raises:
        InvalidValue: It is no host name; it is fully qualified and its records would be in another zone than the
            network's, or it is that zone itself.
    """
    found = parse_hostname(name, pointer)
    if not found.endswith("."):
        return found
    if domain is None:
        raise InvalidValue(
            f"{name} is fully qualified, and the network has no domain that it could be in", pointer=pointer, value=name
        )
    if not found.endswith("." + domain):
        what = "is that zone itself" if found == domain else "would have its records in another zone"
        raise InvalidValue(
            f"addresses of this network are called by names in {domain}, and {name} {what}; make a record there",
            pointer=pointer,
            value=name,
            domain=domain,
        )
    return found.removesuffix("." + domain)


def called(name: str) -> str | None:
    """The host name that the name of a machine or a client is, in lower case; None where it is none, or is absolute."""
    lower = name.lower()
    try:
        found = parse_hostname(lower)
    except InvalidValue:
        return None
    return found if found == lower and not found.endswith(".") else None


def plain(text: str, pointer: str, most: int = LONGEST_NAME) -> str:
    """A name or a word as it is, if every database, log and screen can keep it.

    Raises:
        InvalidValue: It is empty, longer than `most`, or has characters that cannot be printed.
    """
    if not 0 < len(text) <= most or not text.isprintable():
        raise InvalidValue(f"1 to {most} printable characters are needed", pointer=pointer, minimum=1, maximum=most)
    return text


def _family(state: State, net: Network, request: ClaimRequest, subnet: str | None, named: tuple[str, ...]) -> Family:
    if named:
        said: Family = _FAMILIES[frozenset(map(version_of, named))]
        if request.family not in (None, said):
            what = named[0] if len(named) == 1 else "what is named"
            raise InvalidValue(f"{what} is not of family {request.family}", pointer="/family", allowed=[said])
        return said
    if subnet is not None:
        said = "v4" if state.subnets[subnet].version == 4 else "v6"
        if request.family not in (None, said):
            raise InvalidValue(f"that subnet is not of family {request.family}", pointer="/family", allowed=[said])
        return said
    if request.family is not None:
        return request.family
    offered = state.families[net.id, 4] > 0, state.families[net.id, 6] > 0
    return "dual" if offered == (True, True) else "v6" if offered == (False, True) else "v4"


def matching(revision: int, if_match: int | None) -> None:
    """Refuse a change of what the caller has not seen as it is.

    Raises:
        StaleRevision: `if_match` is given and is not the revision.
    """
    if if_match is not None and if_match != revision:
        raise StaleRevision(
            f"it changed since you read it: its revision is {revision}, not {if_match}", revision=revision
        )


def unnamed(state: State, kind: str, name: str, but: str | None = None) -> None:
    """Refuse a name that another vrf, location or network has, or that cannot be one."""
    plain(name, "/name")
    found = state.find(kind, name)
    if found is not None and found != but:
        raise Conflict(f"there is a {kind} {name!r} already", kind=kind, name=name, id=found, pointer="/name")
