"""Console examples of the documents: what is typed after `$`, and what must come; `…` stands for anything."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Step(NamedTuple):
    """A command and the lines that it must print."""

    command: str
    expected: list[str]

    def check(self, output: str) -> None:
        """Fail unless the output is what was expected; spaces at ends of lines do not count."""
        printed = [line.rstrip() for line in output.strip().splitlines()]
        assert _matches(self.expected, printed), "\n".join((f"$ {self.command}", *printed))


def _matches(expected: list[str], printed: list[str]) -> bool:
    if not expected:
        return not printed
    if expected[0] == "…":
        return any(_matches(expected[1:], printed[first:]) for first in range(len(printed) + 1))
    return bool(printed) and _alike(expected[0], printed[0]) and _matches(expected[1:], printed[1:])


def _alike(expected: str, printed: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, expected.rstrip().split("…"))), printed) is not None


def steps(page: Path) -> Iterator[Step]:
    """Every command of a page, in order."""
    for block in re.findall(r"```console\n(.*?)```", page.read_text(), re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *expected = part.rstrip().split("\n")
            yield Step(command, expected)
