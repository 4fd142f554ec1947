"""What a page says to do: its fenced blocks in order, and what its first comment says that it needs.

CONTRIBUTING.md tells writers of pages the rules; they are few:

    <!-- examples: serve -->      what runs before the first block (`Needs`)
    ```console                    `$ ` a command, `client$ ` one elsewhere; then what it prints; `…` is anything
    ```toml title="tenure.toml"   a file that the commands after it find
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from tests.house.sources import ROOT

Needs = Literal["nothing", "serve", "demo", "postgresql", "link"]

_FENCE = re.compile(r"^```(\w*)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NEEDS = re.compile(r"<!-- examples: (\w+) -->")
_PROMPT = re.compile(r"^(client)?\$ ", re.MULTILINE)


class Block(NamedTuple):
    """A fenced block: its language, the file that it is, if it is one, and its text."""

    language: str
    title: str
    text: str


class Command(NamedTuple):
    """A command, on which machine it is typed ("" or `client`), and the lines that it must print."""

    machine: str
    text: str
    expected: list[str]


class Page(NamedTuple):
    """A document with examples."""

    path: Path
    needs: Needs
    blocks: list[Block]

    @property
    def name(self) -> str:
        """Its path from the root of the project."""
        return str(self.path.relative_to(ROOT))


def read(path: Path) -> Page:
    """A page, taken apart."""
    text = path.read_text()
    said = _NEEDS.search(text)
    needs = said[1] if said else "nothing"
    assert needs in get_args(Needs), f"{path}: examples: {needs}"
    return Page(path, needs, [Block(*found) for found in _FENCE.findall(text)])  # type: ignore[arg-type]


def documents() -> list[Path]:
    """Every document of the project."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def commands(block: Block) -> Iterator[Command]:
    """The commands of a console block; a line that ends in a backslash goes on in the next one."""
    parts = _PROMPT.split(block.text)
    assert not parts[0].strip(), f"a console block begins with a command: {parts[0]!r}"
    for machine, part in zip(parts[1::2], parts[2::2], strict=True):
        lines = part.rstrip().split("\n")
        typed = [lines.pop(0)]
        while typed[-1].endswith("\\"):
            typed.append(lines.pop(0))
        yield Command(machine or "", "\n".join(typed), lines)
