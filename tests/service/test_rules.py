"""The rules of the ledger (docs/explanation/ledger.md): *rule → test → planted fault*, each of them executed.

A rule's test passes on the code as it is, and fails, by an assertion, once its fault is planted.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.service import rules_outcome as o
from tests.service import rules_turn as t
from tests.service.world import World


class Rule(NamedTuple):
    """A rule by its number in docs/explanation/ledger.md."""

    number: int
    test: Callable[[World], None]
    fault: Callable[[pytest.MonkeyPatch], None]


RULES = (
    Rule(1, t.durable_before_answer, t.never_commits),
    Rule(2, t.views_before_answer, t.tells_late),
    Rule(3, t.refusals_leave_nothing, t.keeps_refused),
    Rule(4, t.together_or_not, t.takes_apart),
    Rule(5, t.later_sees_earlier, t.blind_to_earlier),
    Rule(6, t.only_the_culprit, t.fails_them_all),
    Rule(7, t.dry_runs_record_nothing, t.dry_runs_are_real),
    Rule(8, t.urgent_first, t.nobody_is_urgent),
    Rule(9, t.batches_give_way, t.batches_go_whole),
    Rule(10, t.bounded_queue, t.unbounded_queue),
    Rule(11, t.patience_ends, t.endless_patience),
    Rule(12, o.found_is_success, o.never_found),
    Rule(13, o.absent_is_nothing, o.always_found),
    Rule(14, o.undecided_is_said, o.keeps_the_undecided),
    Rule(15, o.same_key_same_answer, o.forgets_keys),
    Rule(16, o.one_in_flight, o.all_in_flight),
    Rule(17, o.released_is_shown, o.shows_the_past),
    Rule(18, o.others_are_followed, o.deaf_to_others),
    Rule(19, o.shorter_ledger_new_epoch, o.trusts_any_ledger),
    Rule(20, o.noticed_after_all_stopped, o.remembers_nothing),
    Rule(21, o.restores_differ, o.counts_epochs),
    Rule(22, o.steps_suspend_expiry, o.never_suspends),
    Rule(23, o.time_never_goes_back, o.follows_the_clock),
    Rule(24, t.one_serial_step, t.counts_every_record),
    Rule(25, t.zones_are_the_allocations, t.forgets_to_remove),
    Rule(26, t.no_serial_twice, t.begins_at_one),
    Rule(27, o.ledger_is_the_truth, o.loses_promises),
    Rule(28, o.upkeep_is_one_nodes, o.keeps_keys),
    Rule(29, o.followed_once_in_order, o.follows_blindly),
    Rule(30, t.bugs_stay_alone, t.bugs_spread),
)

each_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.number}-{rule.test.__name__}")


@pytest.fixture
def world(tmp_path: Path, seed: int) -> Iterator[World]:
    """A fresh ledger."""
    world = World(tmp_path, seed)
    yield world
    world.close()


@each_rule
def test_rule(rule: Rule, world: World) -> None:
    rule.test(world)


@pytest.mark.faults
@each_rule
def test_planted_fault_is_caught(rule: Rule, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    rule.fault(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        rule.test(world)


def test_the_document_names_each_rule_and_its_test() -> None:
    text = (Path(__file__).parents[2] / "docs/explanation/ledger.md").read_text("utf-8")
    for rule in RULES:
        line = next(line for line in text.splitlines() if line.startswith(f"{rule.number}. **"))
        assert f"`{rule.test.__name__}`" in line
        assert f"`{rule.fault.__name__}`" in line
