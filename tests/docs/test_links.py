"""Anchors lead to headings, and the sentences of troubleshoot.md are those of the code."""

import ast
import re
from pathlib import Path

import pytest

from tests.docs.pages import documents
from tests.house.sources import PACKAGE, ROOT, sources

TROUBLES = ROOT / "docs" / "how-to" / "troubleshoot.md"


def _anchors(page: Path) -> set[str]:
    """The anchors that a renderer makes of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", documents(), ids=lambda page: str(page.relative_to(ROOT)))
def test_anchors_lead_to_headings(page: Path) -> None:
    found = re.findall(r"\]\(([^)#\s:]*)#([^)]+)\)", page.read_text())
    assert [each for each in found if each[1] not in _anchors((page.parent / each[0]) if each[0] else page)] == []


def _sentences() -> str:
    """Every text of the product, what is filled in left out."""
    texts = []
    for source in sources(PACKAGE):
        for node in ast.walk(source.tree):
            if isinstance(node, ast.JoinedStr):
                texts.append("".join(str(v.value) if isinstance(v, ast.Constant) else "…" for v in node.values))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
    return "\n".join(texts)


def test_every_sentence_of_troubleshoot_is_one_that_is_said() -> None:
    said = _sentences()
    headings = re.findall(r"^### `(.+)`$", TROUBLES.read_text(), re.MULTILINE)
    parts = {part.strip(" .:") for heading in headings for part in heading.split("…")} - {""}
    system = {"Permission denied"}
    said = said.replace("UDP port …", "UDP port 67")
    assert len(headings) > 15
    assert sorted(part for part in parts - system if part not in said) == []
