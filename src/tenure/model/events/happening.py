"""What every event is: a tagged value that says what it is about."""

import msgspec

from tenure.model.holding import Allocation, Claim


class Subject(msgspec.Struct, frozen=True):
    """What an event is about: the ledger's searchable columns."""

    project: str | None = None
    vrf: str | None = None
    ip: str | None = None
    claim: str | None = None
    machine: str | None = None
    zone: str | None = None


class Happening(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True):
    """An event; it carries all that its rows need, and never a secret."""

    def subject(self) -> Subject:
        """What the event is about."""
        return Subject()

    @property
    def kind(self) -> str:
        """The event's name on the wire: `tenure.<noun>.<past participle>`."""
        return str(self.__struct_config__.tag)


def of_claim(claim: Claim) -> Subject:
    """A claim, and whose it is."""
    return Subject(project=claim.project, claim=claim.id, machine=claim.machine)


def of_address(claim: Claim, allocation: Allocation) -> Subject:
    """An address, its claim and machine."""
    return Subject(project=claim.project, vrf=allocation.vrf, ip=allocation.ip, claim=claim.id, machine=claim.machine)
