"""What the engine answers: the one door to it, and which planner answers which use."""

from collections.abc import Callable
from typing import Any

from tenure.engine import (
    attaching,
    capacity,
    changing,
    claims,
    harvest,
    inventory,
    lapse,
    leases,
    lifecycle,
    machines,
    moves,
    observe,
    reassign,
    records,
    renumber,
    subnets,
    tend,
    transfers,
    zones,
)
from tenure.engine.draft import Draft, Moment, Plan
from tenure.engine.facts import Facts
from tenure.engine.state import State
from tenure.errors import TenureError
from tenure.model import uses as u
from tenure.model.answers import Answer, Answers
from tenure.model.uses import Submission

__all__ = ["Draft", "Moment", "Plan", "plan"]


def plan(asked: Submission, state: State, facts: Facts, moment: Moment) -> Plan:
    """Answer a use, and say what must be recorded for the answer to be true.

    Deterministic: the same arguments give the same plan. The plan's events are
    reduced into `state` and `facts` already, so that the next use of the batch
    sees them; `plan.draft.unwind()` takes them back.

    Args:
        asked: The use and its circumstances.
        state: The allocator's memory at the ledger's head.
        facts: What `wants.wanted` of the batch's uses asked for.
        moment: Time, ids and luck.

    Raises:
        TenureError: A refusal; state and facts are as they were.

    Cost: see each planner; for one address O(1) amortized in allocations, hosts and blocks.
    """
    draft = Draft(asked, state, facts, moment)
    try:
        answer = _plan_use(asked.use, draft)
    except BaseException:
        draft.unwind()
        raise
    return Plan(answer, draft.events, draft)


def _plan_use(use: u.Use, draft: Draft) -> Answer:
    return _PLANNERS[type(use)](use, draft)  # type: ignore[no-any-return]


def _together(use: u.Together, draft: Draft) -> Answers:
    """Plan each in turn; the first refusal is all the answer, and says which it was."""
    answers = []
    for at, one in enumerate(use.uses):
        try:
            answers.append(_plan_use(one, draft))
        except TenureError as error:
            error.facts["item"] = at
            raise
    return Answers(tuple(answers))


_PLANNERS: dict[type, Callable[[Any, Draft], Any]] = {
    u.CreateVrf: inventory.create_vrf,
    u.ChangeVrf: inventory.change_vrf,
    u.DeleteVrf: inventory.delete_vrf,
    u.CreateLocation: inventory.create_location,
    u.ChangeLocation: inventory.change_location,
    u.DeleteLocation: inventory.delete_location,
    u.CreateNetwork: inventory.create_network,
    u.ChangeNetwork: inventory.change_network,
    u.DeleteNetwork: inventory.delete_network,
    u.CreateSubnet: subnets.create_subnet,
    u.ChangeSubnet: subnets.change_subnet,
    u.DeleteSubnet: subnets.delete_subnet,
    u.CreateRange: subnets.create_range,
    u.ChangeRange: subnets.change_range,
    u.DeleteRange: subnets.delete_range,
    u.CreateMachine: machines.create_machine,
    u.ChangeMachine: machines.change_machine,
    u.DeleteMachine: machines.delete_machine,
    u.CommissionMachine: lifecycle.commission_machine,
    u.ReadyMachine: lifecycle.ready_machine,
    u.DeployMachine: lifecycle.deploy_machine,
    u.ReleaseMachine: lifecycle.release_machine,
    u.RetireMachine: lifecycle.retire_machine,
    u.SeeMachine: lifecycle.see_machine,
    u.ClaimAddresses: claims.claim_addresses,
    u.BindClaim: claims.bind_claim,
    u.RebindClaim: moves.rebind_claim,
    u.SettleClaim: moves.settle_claim,
    u.EvacuateHost: moves.evacuate_host,
    u.ReleaseClaim: claims.release_claim,
    u.ChangeClaim: changing.change_claim,
    u.ReassignAddress: reassign.reassign_address,
    u.RenameAddress: reassign.rename_address,
    u.AttachAddress: attaching.attach_address,
    u.DetachAddress: attaching.detach_address,
    u.Together: _together,
    u.LeaseOffer: leases.lease_offer,
    u.LeaseCommit: leases.lease_commit,
    u.LeaseRelease: leases.lease_release,
    u.LeaseDecline: leases.lease_decline,
    u.LeaseInform: leases.lease_inform,
    u.ObserveAddresses: observe.observe_addresses,
    u.HarvestNetwork: harvest.harvest_network,
    u.RenumberSubnet: renumber.renumber_subnet,
    u.CancelRenumbering: renumber.cancel_renumbering,
    u.ExpireLeases: leases.expire_leases,
    u.Lapse: lapse.lapse,
    u.Tend: tend.tend,
    u.ReadCapacity: capacity.read_capacity,
    u.CreateZone: zones.create_zone,
    u.ChangeZone: zones.change_zone,
    u.DeleteZone: zones.delete_zone,
    u.CreateRecord: records.create_record,
    u.ChangeRecord: records.change_record,
    u.DeleteRecord: records.delete_record,
    u.CreateTsigKey: transfers.create_tsig_key,
    u.DeleteTsigKey: transfers.delete_tsig_key,
    u.CreateSecondary: transfers.create_secondary,
    u.ChangeSecondary: transfers.change_secondary,
    u.DeleteSecondary: transfers.delete_secondary,
    u.CreateToken: inventory.create_token,
    u.RevokeToken: inventory.revoke_token,
}
