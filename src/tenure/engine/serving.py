"""Who serves zones: a server whose name is in a zone that is served here has an address there that a person made.

An allocation's address alone does not do: it must be possible to release it. This server's own name in a zone,
`ns.<zone>`, needs none as long as it serves that zone: it has the addresses of the listeners.
"""

from collections.abc import Iterator

from tenure.engine import names
from tenure.engine.state import State
from tenure.errors import Conflict, InUse
from tenure.model.dnsdata import Zone
from tenure.naming.authority import own_server


def served_by(state: State, vrf: str, server: str) -> Iterator[Zone]:
    """The zones of a vrf that a server serves, as they say, as the vrf does, or as this server's own name in one.

    Cost: those zones; of one of the vrf's servers a look at all zones.
    """
    of_vrf = state.vrfs[vrf].name_servers
    for id_ in state.aimed.get(server, ()):
        if id_ in state.zones and state.zones[id_].vrf == vrf:
            yield state.zones[id_]
    home = state.zone_named(vrf, server.partition(".")[2])
    if home is not None and own_server(home.name) == server and not (home.name_servers or of_vrf or home.catalog):
        yield home
    if server in of_vrf:
        yield from (z for z in state.zones.values() if z.vrf == vrf and not z.name_servers and not z.catalog)


def who_names(state: State, vrf: str, server: str) -> list[str]:
    """The zones, and the vrf, that name a server: labels for a refusal."""
    aimed = (state.zones[id_] for id_ in state.aimed.get(server, ()) if id_ in state.zones)
    found = [f"zone {zone.name}" for zone in aimed if zone.vrf == vrf]
    return found + ([f"vrf {state.vrfs[vrf].name}"] if server in state.vrfs[vrf].name_servers else [])


def reachable(state: State, vrf: str, servers: tuple[str, ...]) -> None:
    """Refuse name servers in zones of a vrf where they have no address that a person made, or are aliases.

    Raises:
        Conflict: Says what to do; pointer says which of `name_servers`.
    """
    for at, server in enumerate(servers):
        home = names.zone_around(state, vrf, server)
        if home is None or server in names.own_names(state, home):
            continue
        there = [*state.made.get(home.id, {}).get(server, {}).values()]
        alias = next((record for record in there if record.type == "CNAME"), None)
        if alias is not None:
            said = f"{server} is an alias of {alias.data}; name that itself"
            raise Conflict(said, name=server, record=alias.id, pointer=f"/name_servers/{at}")
        if not any(record.type in ("A", "AAAA") for record in there):
            raise Conflict(
                f"{server} is in zone {home.name} and has no address there that a person made, which no release"
                f" takes away: first `tenure record create {home.name} {_relative(server, home)} A ADDRESS`",
                name=server,
                zone=home.id,
                pointer=f"/name_servers/{at}",
            )


def not_own(state: State, zone: Zone) -> None:
    """Refuse that this server's own name in a zone goes while others are served by it, and a person made no address.

    To be asked once the zone is as it will be, or gone.

    Raises:
        InUse: With who is served by that name.
    """
    own = own_server(zone.name)
    named = who_names(state, zone.vrf, own)
    now = state.zones.get(zone.id)
    if not named or (now is not None and names.own_names(state, now)):
        return
    there = {} if now is None else state.made.get(zone.id, {}).get(own, {})
    if not any(record.type in ("A", "AAAA") for record in there.values()):
        said = f"{own}, this server's own name in zone {zone.name}, would have no address, and serves"
        raise InUse(f"{said} {', '.join(named[:20])}", holders=named[:20], count=len(named))


def _relative(name: str, zone: Zone) -> str:
    return "@" if name == zone.name else name.removesuffix("." + zone.name)
