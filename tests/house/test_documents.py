"""What is documented is there, and what is there is documented."""

import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest

from tenure.errors import error_classes
from tests.house.sources import ROOT

LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(#[^)]*)?\)")
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    local = [link for link, _ in LINK.findall(path.read_text()) if "://" not in link]
    assert [link for link in local if not (path.parent / link).exists()] == []


def test_every_document_is_in_the_index() -> None:
    index = ROOT / "docs" / "README.md"
    listed = {(index.parent / link).resolve() for link, _ in LINK.findall(index.read_text()) if "://" not in link}
    assert sorted(set((ROOT / "docs").rglob("*.md")) - listed - {index}) == []


def test_every_error_code_is_documented() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "reference" / "errors.md").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(set(rows)), "a code has one row"
    assert set(error_classes()) - {"tenure_error", "request_error"} - set(rows) == set()


def test_every_error_code_is_the_name_in_snake_case() -> None:
    for code, kind in error_classes().items():
        assert code.replace("_", "") == kind.__name__.lower()
        assert kind.code == code


def test_every_dependency_is_explained() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pinned = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    text = (ROOT / "docs" / "explanation" / "dependencies.md").read_text().lower()
    names = [re.split(r"[\[=]", line)[0].lower().replace("_", "-") for line in pinned]
    assert [line for line in pinned if "==" not in line] == []
    assert [name for name in names if f"**{name}**" not in text] == []


def test_every_word_of_make_is_in_contributing() -> None:
    words = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE)
    text = (ROOT / "CONTRIBUTING.md").read_text()
    assert [word for word in words if word != "words" and f"make {word}" not in text] == []
