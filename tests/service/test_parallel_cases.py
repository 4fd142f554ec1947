"""Cases from the trackers of others that need many callers at once; each names its source."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tenure.model import uses as u
from tenure.model.answers import Answer, Failure, Holding
from tests.service.world import Node, World, addresses, claim, submission


@pytest.fixture
def world(tmp_path: Path, seed: int) -> Iterator[World]:
    """A fresh ledger."""
    world = World(tmp_path, seed)
    yield world
    world.close()


@pytest.fixture
def node(world: World) -> Iterator[Node]:
    """A writer with its thread; everything must fit together when it has stopped."""
    node = world.site()
    node.writer.start()
    yield node
    node.writer.stop()
    node.check()


def at_once(node: Node, uses: list[u.Use]) -> list[Answer]:
    """Each asked by a thread of its own, all of them let go together."""
    answers: list[Answer | None] = [None] * len(uses)
    together = threading.Barrier(len(uses))

    def ask(at: int) -> None:
        together.wait(60)
        (reply,) = node.submit(submission(uses[at])).result(60)
        answers[at] = reply.answer

    threads = [threading.Thread(target=ask, args=(at,)) for at in range(len(uses))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [answer for answer in answers if answer is not None]


def blocks(node: Node) -> dict[str | None, list[str]]:
    """Host blocks by owner."""
    found: dict[str | None, list[str]] = {}
    with node.store.snapshot() as now:
        for block in now.blocks():
            if block.kind == "host":
                found.setdefault(block.owner, []).append(block.cidr)
    return found


@pytest.mark.parametrize("callers", [16, 250])
def test_parallel_claims_get_different_addresses_and_none_fails(node: Node, callers: int) -> None:
    """netbox 2519, nautobot 8297, NIPAP 1175: "next address", 16 at once. LP 1954763: 250 at once all end well."""
    held = addresses(at_once(node, [claim(f"c{n}") for n in range(callers)]))
    assert len(held) == len(set(held)) == callers


def test_parallel_claims_of_one_address_have_one_winner(node: Node) -> None:
    """netbox 10282."""
    answers = at_once(node, [claim(f"c{n}", address="10.0.3.77") for n in range(8)])
    assert addresses(answers) == ["10.0.3.77"]
    assert [each.code for each in answers if isinstance(each, Failure)] == ["already_allocated"] * 7


def test_a_claim_that_was_tried_out_is_promised_to_nobody(node: Node) -> None:
    """phpipam 742: only a claim promises; what a dry run showed is had by who claims first."""
    (tried,) = node.submit(submission(claim("a"), dry_run=True)).result(60)
    other, real = (node.submit(submission(claim(name))).result(60)[0].answer for name in ("b", "a"))
    assert addresses([tried.answer]) == addresses([other])
    assert addresses([other]) != addresses([real])


def test_parallel_claims_under_one_handle_are_one(node: Node) -> None:
    """netbox-operator 500 turned round: one realm's handle is one claim, whoever repeats it."""
    answers = at_once(node, [claim("same")] * 8)
    assert len({each.claim.id for each in answers if isinstance(each, Holding)}) == 1
    assert len(answers) == 8


def test_parallel_first_requests_of_a_host_take_one_block(node: Node) -> None:
    """calicoctl 1378."""
    at_once(node, [claim(f"c{n}", host="h1") for n in range(10)])
    assert [len(each) for each in blocks(node).values()] == [1]


@pytest.fixture
def made(node: Node) -> Callable[[u.Use], None]:
    """Records a change of the inventory."""

    def make(use: u.Use) -> None:
        (reply,) = node.submit(submission(use)).result(60)
        assert not isinstance(reply.answer, Failure), reply.answer

    return make


@pytest.mark.parametrize("boundary", ["soft", "hard"])
def test_forty_hosts_at_once_have_forty_blocks(node: Node, made: Callable[[u.Use], None], boundary: str) -> None:
    """libcalico-go 785: one block each, and no failure."""
    made(u.ChangeNetwork(network="prod", changes={"boundary": boundary, "block_length_v4": 29}))
    made(u.CreateSubnet(network="prod", cidr="10.0.8.0/21"))
    for n in range(40):
        made(u.CreateLocation(name=f"c{n}", kind="host"))
    answers = at_once(node, [claim(f"c{n}", host=f"c{n}") for n in range(40)])
    assert len(addresses(answers)) == 40
    found = blocks(node)
    assert len(found) == 40
    assert all(len(each) == 1 for each in found.values())
