"""Who uses claims, as they are called now, and which hosts still announce what moved away."""

from collections.abc import Iterable, Sequence

from tenure.model.holding import Claim
from tenure.store.interface import Reads, Seen, Users
from tenure.surfaces.api.operations import Asked


async def users(asked: Asked, claims: Sequence[Claim]) -> Users:
    """The machines and interfaces of claims, as they are called now."""
    machines = {claim.machine for claim in claims if claim.machine is not None}
    interfaces = {claim.interface for claim in claims if claim.interface is not None}
    if not machines and not interfaces:
        return Users({}, {})
    seen: Seen[Users] = await asked.backing.read(asked.backing.committed.reads.users, machines, interfaces)
    return seen.value


async def announcing(asked: Asked, claims: Iterable[Claim]) -> set[str]:
    """The hosts that claims left, without those that are gone: they announce nothing any more."""
    left = {claim.leaving for claim in claims if claim.leaving is not None}
    return await asked.backing.read(_here, asked.backing.committed.reads, left) if left else set()


def _here(reads: Reads, ids: set[str]) -> set[str]:
    return {id_ for id_ in ids if reads.location(id_).value is not None}
