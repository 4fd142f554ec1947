"""How many addresses a network can still give, and who is told when they are few."""

from collections.abc import Iterator
from itertools import islice

import msgspec

from tenure.engine.draft import Draft
from tenure.engine.space import Space
from tenure.engine.state import State
from tenure.model import events as e
from tenure.model.addressing import Network
from tenure.model.policy import Family


def open_spaces(state: State, network: str, version: int) -> Iterator[Space]:
    """The subnets of one version from which a network still gives addresses."""
    return (space for space in state.spaces(network, version) if not space.subnet.draining)


def available(state: State, network: str) -> dict[int, int]:
    """Available addresses by IP version, of each version that a network has. Cost: one step a subnet."""
    versions = (version for version in (4, 6) if state.families[network, version])
    return {version: sum(space.available for space in open_spaces(state, network, version)) for version in versions}


def watch(draft: Draft, limit: int) -> int:
    """Record which networks became depleted or are so no longer, at most `limit`; how many.

    One is depleted while it has fewer addresses of a family available than its `low_threshold`.

    Cost: one step a subnet of each network that has a threshold.
    """
    networks = list(draft.state.networks.values())
    found = (event for network in networks if (event := _crossed(draft.state, network)) is not None)
    events = list(islice(found, limit))
    for event in events:
        draft.record(event)
    return len(events)


def _crossed(state: State, network: Network) -> e.NetworkDepleted | e.NetworkReplenished | None:
    if not (network.low_threshold or network.depleted):
        return None
    few = [(n, version) for version, n in available(state, network.id).items() if n < network.low_threshold]
    if bool(few) == network.depleted:
        return None
    after = msgspec.structs.replace(network, depleted=bool(few), revision=network.revision + 1)
    if not few:
        return e.NetworkReplenished(network=after)
    fewest, version = min(few)
    family: Family = "v4" if version == 4 else "v6"
    return e.NetworkDepleted(network=after, family=family, available=fewest)
