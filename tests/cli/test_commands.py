"""The commands themselves: documented, in step with the API, and light."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from tenure.cli.main import PLACES, app
from tenure.cli.reference import commands, reference
from tenure.surfaces.api.application import described
from tests.cli.conftest import Command

ALL = dict(commands(get_command(app), ("tenure",)))
CHANGES = {
    "create", "set", "delete", "allocate", "reserve", "bind", "rebind", "release", "import", "settle", "evacuate",
    "drain", "move", "attach", "detach", "rename", "observe", "harvest", "renumber", "tag", "commission", "ready",
    "deploy", "retire", "seen",
}  # fmt: skip
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"

BODIES = {
    ("tenure", "vrf", "create"): ("/v1/vrfs", "post"),
    ("tenure", "vrf", "set"): ("/v1/vrfs/{vrf}", "patch"),
    ("tenure", "location", "create"): ("/v1/locations", "post"),
    ("tenure", "location", "set"): ("/v1/locations/{location}", "patch"),
    ("tenure", "network", "create"): ("/v1/networks", "post"),
    ("tenure", "network", "set"): ("/v1/networks/{network}", "patch"),
    ("tenure", "subnet", "create"): ("/v1/networks/{network}/subnets", "post"),
    ("tenure", "subnet", "set"): ("/v1/subnets/{subnet}", "patch"),
    ("tenure", "range", "create"): ("/v1/subnets/{subnet}/ranges", "post"),
    ("tenure", "range", "set"): ("/v1/ranges/{range}", "patch"),
    ("tenure", "machine", "create"): ("/v1/machines", "post"),
    ("tenure", "machine", "set"): ("/v1/machines/{machine}", "patch"),
    ("tenure", "machine", "deploy"): ("/v1/machines/{machine}/deploy", "post"),
    ("tenure", "machine", "seen"): ("/v1/machines/{machine}/seen", "post"),
    ("tenure", "claim", "create"): ("/v1/claims", "post"),
    ("tenure", "claim", "set"): ("/v1/claims/{claim}", "patch"),
    ("tenure", "allocate"): ("/v1/claims", "post"),
    ("tenure", "renumber"): ("/v1/subnets/{subnet}/renumber", "post"),
    ("tenure", "token", "create"): ("/v1/tokens", "post"),
    ("tenure", "zone", "create"): ("/v1/zones", "post"),
    ("tenure", "zone", "set"): ("/v1/zones/{zone}", "patch"),
    ("tenure", "record", "create"): ("/v1/zones/{zone}/records", "post"),
    ("tenure", "record", "set"): ("/v1/zones/{zone}/records/{record}", "patch"),
    ("tenure", "tsig-key", "create"): ("/v1/tsig-keys", "post"),
    ("tenure", "secondary", "create"): ("/v1/secondaries", "post"),
    ("tenure", "secondary", "set"): ("/v1/secondaries/{secondary}", "patch"),
}


def _fields(path: str, method: str) -> set[str]:
    document = described()
    schema = document["paths"][path][method]["requestBody"]["content"]["application/json"]["schema"]
    while "$ref" in schema:
        schema = _at(document, schema["$ref"])
    return set(schema["properties"])


def _at(document: Any, reference: str) -> Any:
    for word in reference.removeprefix("#/").split("/"):
        document = document[word]
    return document


@pytest.mark.parametrize("words", BODIES, ids=" ".join)
def test_every_field_of_a_body_is_an_option_or_an_argument(words: tuple[str, ...]) -> None:
    known = {str(parameter.name).removesuffix("_") for parameter in ALL[words].params}
    wanted = _fields(*BODIES[words]) - {"dhcp"}
    assert wanted - known == set()
    if "dhcp" in _fields(*BODIES[words]):
        assert {name for name in known if name.startswith("dhcp_")} == {
            *("dhcp_enabled", "dhcp_lease_time", "dhcp_authoritative", "dhcp_option")
        }


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_help_has_an_example_and_every_parameter_a_text(words: tuple[str, ...]) -> None:
    command = ALL[words]
    assert command.help
    assert " ".join(words) in command.epilog
    assert [parameter.name for parameter in command.params if not parameter.help] == []
    shown = Command({"COLUMNS": "200"})(*words[1:], "--help")
    assert "Example" in shown


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_every_command_that_asks_has_json_and_every_change_a_dry_run(words: tuple[str, ...]) -> None:
    names = {parameter.name for parameter in ALL[words].params}
    if words[1] in ("serve", "demo", "simulate"):
        return
    assert {"json", "url", "token", "data", "config"} <= names
    assert ("dry_run" in names) == (words[-1] in CHANGES)


def test_the_reference_is_current() -> None:
    assert PAGE.read_text() == reference(), "python -m tenure.cli.reference > docs/reference/cli.md"


def test_help_lists_every_command() -> None:
    shown = Command({"COLUMNS": "200"})("--help")
    assert [name for name in PLACES if name not in shown] == []


def test_completion_knows_commands_and_options() -> None:
    env = {"_TENURE_COMPLETE": "complete_bash", "COMP_WORDS": "tenure netw", "COMP_CWORD": "1"}
    assert Command(env)().split() == ["network"]
    env |= {"COMP_WORDS": "tenure allocate --ho", "COMP_CWORD": "2"}
    assert {"--host", "--hostname", "--hosts-from"} <= set(Command(env)().split())


def test_allocate_starts_without_what_it_does_not_need() -> None:
    heavy = ["tenure.engine", "tenure.surfaces", "sqlalchemy", "fastapi", "httpx", "rich", "msgspec", "asyncio"]
    program = (
        "import sys\nfrom tenure.cli.main import main\nsys.argv = ['tenure', 'allocate', 'prod', '--url', 'http://127.0.0.1:1']\n"
        f"try:\n    main()\nexcept SystemExit as end:\n    print(end.code, [m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "3 []", done.stderr
