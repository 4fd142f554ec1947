"""The network configuration of a machine whose image does not ask DHCP, from what it holds."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple

from starlette.responses import Response

from tenure.errors import Conflict
from tenure.model.addressing import Network, Subnet
from tenure.model.answers import MachineWithInterfaces
from tenure.model.machines import Interface
from tenure.model.policy import Dhcp
from tenure.store.interface import KnownAddress, Reads, Seen
from tenure.surfaces.api.config_forms import FORMS, MEDIA, Port, Use, use_of
from tenure.surfaces.api.inventory import found
from tenure.surfaces.api.operations import Asked, Noun
from tenure.surfaces.api.schemas import Read

NOUN = Noun("machines")

_MTU: Final = ("mtu", "26")


class ConfigQuery(Read, kw_only=True):
    """In which form."""

    format: Literal["netplan", "eni", "network_data"]


class _Read(NamedTuple):
    """All that a configuration is made from, as it was at one moment."""

    machine: MachineWithInterfaces
    held: list[KnownAddress]
    networks: dict[str, Network]
    subnets: dict[str, Subnet]


def _read(reads: Reads, name: str) -> Seen[_Read]:
    seen = reads.machine(name)
    machine: MachineWithInterfaces = found(seen.value, "machine", name)
    held = reads.on_machines([machine.machine.id]).get(machine.machine.id, [])
    held = [each for each in held if each.held.standing != "shelved" and not each.allocation.lease]
    networks = {id_: reads.network(id_).value for id_ in {each.claim.network for each in held}}
    subnets = {id_: reads.subnet(id_).value for id_ in {each.allocation.subnet for each in held}}
    return Seen(
        _Read(
            machine,
            held,
            {id_: network for id_, network in networks.items() if network is not None},
            {id_: subnet for id_, subnet in subnets.items() if subnet is not None},
        ),
        seen.head,
    )


def _ports(read: _Read) -> list[Port]:
    """The ports that use something, those that boot first; a family's way out is the first gateway that there is."""
    ways: set[int] = set()
    named = Counter(each.name for each in read.machine.interfaces)
    ports = []
    for interface in _in_order(read.machine.interfaces):
        its = [each for each in read.held if _port_of(read, each) == interface.id]
        if its:
            port = _port(interface, its, read, ways)
            ports.append(port if named[port.name] == 1 else port._replace(name=""))
    return ports


def _in_order(interfaces: Iterable[Interface]) -> list[Interface]:
    return sorted(interfaces, key=lambda each: not each.boot)


def _port_of(read: _Read, known: KnownAddress) -> str | None:
    """The machine's interface that uses an address. A claim that names the machine alone is on a port of its network,
    else on the one that it boots from.
    """
    ports = _in_order(read.machine.interfaces)
    attached = {each.id for each in known.interfaces}
    on = [each.id for each in ports if each.id in attached]
    near = [each.id for each in ports if each.network == known.claim.network]
    return next(iter([*on, *near, *(each.id for each in ports)]), None)


def _port(interface: Interface, known: list[KnownAddress], read: _Read, ways: set[int]) -> Port:
    servers = dict.fromkeys(server for each in known for server in each.held.dns_servers)
    networks = [read.networks[each.claim.network] for each in known if each.claim.network in read.networks]
    domains = dict.fromkeys(network.domain.rstrip(".") for network in networks if network.domain)
    sizes = [size for each in known if (size := _mtu_of(read, each)) is not None]
    return Port(
        interface.name,
        interface.mac,
        tuple(_use(each, read, ways) for each in known),
        tuple(servers),
        tuple(domains),
        min(sizes, default=None),
    )


def _use(known: KnownAddress, read: _Read, ways: set[int]) -> Use:
    held, network = known.held, read.networks.get(known.claim.network)
    version = 6 if ":" in held.ip else 4
    gateway = None if version in ways else held.gateway
    if gateway is not None:
        ways.add(version)
    return use_of(held.ip, held.prefix_length, gateway, network.name if network else known.claim.network)


def _mtu_of(read: _Read, known: KnownAddress) -> int | None:
    """The DHCP option 26 of its subnet, else of its network: the same that a client would hear (RFC 2132, 5.1)."""
    subnet, network = read.subnets.get(known.allocation.subnet), read.networks.get(known.claim.network)
    for thing in (subnet, network):
        size = _mtu(thing.dhcp) if thing is not None else None
        if size is not None:
            return size
    return None


def _mtu(dhcp: Dhcp) -> int | None:
    said: Mapping[str, Any] = dhcp.options
    value = next((said[name] for name in _MTU if name in said), None)
    if isinstance(value, str) and value.startswith("hex:"):
        return int.from_bytes(bytes.fromhex(value.removeprefix("hex:")))
    return None if value is None else int(str(value))


_EXAMPLE = Port(
    "eth0",
    "52:54:00:0a:0b:0c",
    (use_of("10.0.3.65", 24, "10.0.3.1", "prod"),),
    ("10.0.3.2",),
    ("prod.example",),
    None,
)


@NOUN.operation(
    "GET",
    "/v1/machines/{machine}/network-config",
    "Write a machine's network configuration",
    name="network_config_of_machine",
    query=ConfigQuery,
    media="application/yaml",
    gives={200: str},
    answers={200: FORMS["netplan"]([_EXAMPLE])},
    texts={MEDIA[form]: FORMS[form]([_EXAMPLE]) for form in ("eni", "network_data")},
    refusals=("not_found", "conflict"),
)
async def network_config(asked: Asked) -> Response:
    """For an image without DHCP, from what the machine holds, aliases too; neither leases nor what is shelved.

    `netplan` is YAML, `eni` is `/etc/network/interfaces`, `network_data` OpenStack's `network_data.json`. The way out
    is one gateway a family, that of the port which boots if it has one. An MTU is that of DHCP's option 26. An
    interface without a plain name of its own is called as systemd does by its MAC.
    """
    name = asked.path("machine")
    read = (await asked.look(_read, name)).value
    ports = _ports(read)
    if not ports:
        raise Conflict(f"{read.machine.machine.name} holds no address that it could be configured with.", name=name)
    form = asked.query.format
    return Response(FORMS[form](ports), media_type=MEDIA[form])
