"""What secondaries log when they do not follow is what the page for troubles says."""

import secrets
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.cli.conftest import Command
from tests.house.sources import ROOT
from tests.lab.processes import free_port
from tests.lab.secondaries import At, Bind, Feed, Key, Knot, Nsd, PowerDns, Secondary
from tests.whole.serving import Serving

pytestmark = pytest.mark.whole
ZONE: Final = "prod.example."
SERVERS: Final[tuple[type[Secondary], ...]] = (Bind, Knot, Nsd, PowerDns)
SAID: Final = {
    "secret": ("tsig indicates error", "failed to verify TSIG", "tsig error (Bad Signature)", "Not Authorized"),
    "name": ("tsig indicates error", "failed to verify TSIG", "tsig error (Bad Key)", "Not Authorized"),
    "unsigned": ("Transfer status: REFUSED", "failed (not allowed)", "error code REFUSED", "Query Refused"),
}
"""By what is wrong with its key, what each server says."""


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A service with a zone."""
    with Serving(tmp_path_factory.mktemp("symptoms") / "data", "--roles", "api,dns") as running:
        Command({"TENURE_URL": running.url, "TENURE_DATA": str(running.data)})("zone", "create", ZONE)
        yield running


@pytest.mark.parametrize("wrong", SAID)
@pytest.mark.parametrize("number", range(len(SERVERS)), ids=lambda number: SERVERS[number].__name__)
def test_what_is_wrong_with_a_key_is_in_the_log(tmp_path: Path, serving: Serving, number: int, wrong: str) -> None:
    kind, said = SERVERS[number], SAID[wrong][number]
    assert kind.available()
    tenure = Command({"TENURE_URL": serving.url, "TENURE_DATA": str(serving.data)})
    name = f"{kind.__name__}-{wrong}".lower()
    tenure("tsig-key", "create", name)
    at, other = At("127.0.0.1", free_port()), b64encode(secrets.token_bytes(32)).decode()
    tenure("secondary", "create", name, at.address, "--port", str(at.port), "--key", name)
    keys = {"secret": Key(f"{name}.", "hmac-sha256", other), "name": Key("other.", "hmac-sha256", other)}
    with kind(tmp_path / name, at, Feed(At(*serving.dns), keys.get(wrong), (ZONE.rstrip("."),))) as server:
        server.start()
        server.says(said)
    tenure("secondary", "delete", name)


def test_the_page_has_these_words() -> None:
    page = (ROOT / "docs/how-to/troubleshoot.md").read_text()
    assert [said for row in SAID.values() for said in row if f"`{said}`" not in page] == []
