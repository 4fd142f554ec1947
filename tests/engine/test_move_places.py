"""Where a claim may be bound, moved and evacuated to."""

import pytest

from tenure.errors import InvalidValue
from tenure.model import uses as u
from tests.engine.world import site


@pytest.mark.parametrize(("place", "kind"), [("r1", "rack"), ("s1", "site")])
def test_a_claim_moves_to_hosts_only(place: str, kind: str) -> None:
    world = site("10.0.0.0/24")
    held = world.claim(host="h0-0")
    waiting = world.claim(host="h0-0", defer=True)
    for use, pointer in (
        (u.RebindClaim(claim=held.claim.id, host=place), "/host"),
        (u.BindClaim(claim=waiting.claim.id, host=place), "/host"),
        (u.EvacuateHost(host="h0-0", to=place), "/to"),
    ):
        with pytest.raises(InvalidValue, match=f"{place} is a {kind}; name a host") as refused:
            world.do(use)
        assert (refused.value.facts["kind"], refused.value.facts["pointer"]) == (kind, pointer)


def test_a_claim_at_a_rack_stays_or_is_renumbered_there_and_moves_to_a_host() -> None:
    """DHCP binds at a rack where its relay is the rack's."""
    world = site("10.0.0.0/24")
    held = world.claim(host="r1")

    def moved(host: str, renumber: bool = False) -> str:
        answer = world.do(u.RebindClaim(claim=held.claim.id, host=host, renumber=renumber))
        return str(answer.addresses[0].ip)

    ip = held.addresses[0].ip
    assert moved("r1") == ip
    other = moved("r1", renumber=True)
    assert other != ip
    assert moved("h1-0") == other
