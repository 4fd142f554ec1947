"""First starts: two `tenure serve` on one new PostgreSQL make one site, and each follows what the other changes."""

from pathlib import Path

import httpx
import pytest

from tests.lab.postgres import Cluster
from tests.whole.serving import Serving, soa, until

pytestmark = pytest.mark.whole


def test_two_first_starts_make_one_site_and_follow_each_other(tmp_path: Path, postgres_url: str) -> None:
    options = ("--database", postgres_url)
    with (
        Serving(tmp_path / "one", *options, ready=False) as one,
        Serving(tmp_path / "other", *options, ready=False) as other,
    ):
        one.wait_ready()
        other.wait_ready()
        tokens = [node.data / "admin-token" for node in (one, other) if (node.data / "admin-token").exists()]
        assert len(tokens) == 1
        headers = {"Authorization": f"Bearer {tokens[0].read_text().strip()}"}
        with httpx.Client(base_url=one.url, headers=headers, trust_env=False) as client:
            client.post("/v1/networks", json={"name": "prod", "domain": "prod.example."}).raise_for_status()
            assert soa(one.dns, "prod.example.")
        until(lambda: (soa(other.dns, "prod.example.") or b"\0\0\0\5")[3] & 15 == 0)
        with httpx.Client(base_url=other.url, headers=headers, trust_env=False) as client:
            assert [each["name"] for each in client.get("/v1/networks").json()["items"]] == ["prod"]
            assert [each["name"] for each in client.get("/v1/vrfs").json()["items"]] == ["default"]
        assert (one.terminate(), other.terminate()) == (0, 0)


def test_a_database_that_does_not_exist_is_one_sentence(tmp_path: Path, postgres_cluster: Cluster) -> None:
    with Serving(tmp_path / "data", "--database", postgres_cluster.url("nowhere"), ready=False) as refused:
        assert refused.wait() == 1
    assert len(refused.output.splitlines()) == 1 and "nowhere" in refused.output
    assert not (tmp_path / "data").exists()
