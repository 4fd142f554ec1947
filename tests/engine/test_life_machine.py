"""Nothing automatic takes an address from who is safe; and each way in which it could is caught."""

from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tenure.engine import harvest, leases, observe, plan
from tenure.engine.claims import end
from tenure.engine.draft import Draft
from tenure.engine.links import link_of
from tenure.model.answers import Nothing
from tenure.model.holding import Claim
from tenure.model.machines import Machine
from tenure.model.uses import LeaseRelease
from tests.engine import reading
from tests.engine.life_machine import Life

TestLife = Life.TestCase
TestLife.settings = settings(max_examples=40, stateful_step_count=30, suppress_health_check=list(HealthCheck))


def deployed_machines_are_harvested(patch: pytest.MonkeyPatch) -> None:
    """Whoever decides takes a deployed machine for one that is ready."""
    lifecycle = Machine.lifecycle.fget  # type: ignore[attr-defined]

    def ready(machine: Machine) -> Any:
        return lifecycle(machine) if lifecycle(machine) != "deployed" else "ready"

    for room in (harvest, reading):
        patch.setattr(room, "_is_ripe", _blindly(room._is_ripe, "lifecycle", property(ready), Machine))


def static_claims_are_harvested(patch: pytest.MonkeyPatch) -> None:
    """Whoever decides does not see what was said of a claim."""
    for room in (harvest, reading):
        patch.setattr(room, "_is_ripe", _blindly(room._is_ripe, "static", False, Claim))


def _blindly(right: Callable[..., Any], name: str, value: Any, kind: type) -> Callable[..., Any]:
    """The same decision, by one to whom an attribute of all of a kind looks like `value`."""

    def decide(*asked: Any, **more: Any) -> Any:
        with pytest.MonkeyPatch.context() as blind:
            blind.setattr(kind, name, value)
            return right(*asked, **more)

    return decide


def a_release_by_dhcp_ends_a_claim(patch: pytest.MonkeyPatch) -> None:
    """An allocation is taken for a lease."""

    def release(use: LeaseRelease, draft: Draft) -> Nothing:
        link = link_of(draft, use.place)
        known = None if link is None else leases._known(draft, link, use.client)
        if known is not None:
            end(draft, draft.facts.claims[known.claim], "returned")
        return Nothing()

    patch.setitem(plan._PLANNERS, LeaseRelease, release)


def a_decline_ends_a_claim(patch: pytest.MonkeyPatch) -> None:
    """What is right for a lease is done to an allocation."""
    patch.setattr(leases, "declined", lambda draft, claim, allocation: end(draft, claim, "declined"))


def a_stranger_takes_what_he_is_seen_on(patch: pytest.MonkeyPatch) -> None:
    """A conflict is decided for the stranger."""

    def on_held(draft: Draft, sighting: Any, held: Any) -> Any:
        said = right(draft, sighting, held)
        if said.outcome == "conflict":
            end(draft, draft.facts.claims[held.claim], "released")
        return said

    right = observe._on_held
    patch.setattr(observe, "_on_held", on_held)


@pytest.mark.parametrize(
    "plant",
    [
        deployed_machines_are_harvested,
        static_claims_are_harvested,
        a_release_by_dhcp_ends_a_claim,
        a_decline_ends_a_claim,
        a_stranger_takes_what_he_is_seen_on,
    ],
)
def test_a_planted_fault_is_caught(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    quick = settings(
        max_examples=600,
        stateful_step_count=60,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    with pytest.raises(AssertionError, match="which was safe"):
        run_state_machine_as_test(Harvested, settings=quick)


class Harvested(Life):
    """A network that would have everything back."""

    fixed: ClassVar[dict[str, object]] = {
        "address_mode": "dhcp",
        "allocate_on": "commission",
        "harvest": True,
        "harvest_after": 3600,
        "harvest_below": 60,
    }
