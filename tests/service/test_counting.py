"""What a named claim costs above the engine, counted in calls: making both records, and little else."""

from tenure.model import uses as u
from tenure.model.holding import ClaimRequest
from tenure.service import zoning
from tenure.service.links import Links
from tenure.service.zones import Notes
from tests.engine.test_counting import calls_of
from tests.service.zoning_oracle import ZonedWorld

NOTED = 28
"""Calls for both records of a name: where they are, and making them."""


class Noting:
    """Claims whose events are followed as the writer follows them."""

    def __init__(self) -> None:
        self.world = ZonedWorld()
        self.links = Links(self.world.state)
        self.made = 0
        self.do(u.CreateVrf(name="default"))
        self.do(u.CreateNetwork(name="prod", fields={"domain": "prod.example."}))
        self.do(u.CreateSubnet(network="prod", cidr="10.0.0.0/16"))

    def do(self, use: u.Use) -> int:
        """Calls for what the use means for zones."""
        made, notes = self.world.plan(use), Notes(self.links)

        def follow() -> None:
            zoning.follow(made.draft)
            notes.note(made.events)

        return calls_of(follow)

    def claims(self) -> int:
        """Calls for one claim, once what its subnet has was looked up."""
        costs = []
        for _ in range(4):
            self.made += 1
            request = ClaimRequest(network="prod", hostname=f"vm-{self.made}")
            costs.append(self.do(u.ClaimAddresses(request=request, handle=f"h{self.made}")))
        return min(costs)


def test_both_records_of_a_name_cost_little() -> None:
    assert Noting().claims() <= NOTED


def test_many_zones_subnets_and_records_cost_a_claim_nothing() -> None:
    noting = Noting()
    before = noting.claims()
    for at in range(1, 40):
        noting.do(u.CreateNetwork(name=f"n{at}", fields={"domain": f"n{at}.example.", "name_template": "ip-{ip-hex}"}))
        noting.do(u.CreateSubnet(network=f"n{at}", cidr=f"10.{at}.0.0/24"))
        noting.do(u.CreateRecord(zone="prod.example.", name=f"r{at}", type="A", data="192.0.2.1"))
    assert noting.claims() <= before + 1, "there are zones of another length now"
