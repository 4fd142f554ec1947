"""What is wrong in a zone's file: BIND's named-checkzone says it where it is installed, else our own checks."""

import shutil
import subprocess
from typing import Final, NamedTuple

_CHECKER: Final = "named-checkzone"
_SECONDS: Final = 300


class Checked(NamedTuple):
    """What a check came to, and who made it.

    Attributes:
        said: Lines, as they were said.
    """

    by: str
    sound: bool
    said: list[str]


def checked(text: str, origin: str) -> Checked:
    """Look a zone's file over.

    Args:
        text: All of it.
        origin: The zone's name, absolute.
    """
    program = shutil.which(_CHECKER)
    return _by_bind(program, text, origin) if program is not None else _by_ourselves(text, origin)


def _by_bind(program: str, text: str, origin: str) -> Checked:
    done = subprocess.run(
        [program, "-i", "local", origin, "/dev/stdin"],  # asks no other server about names elsewhere
        input=text,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    return Checked(_CHECKER, done.returncode == 0, (done.stdout + done.stderr).splitlines())


def _by_ourselves(text: str, origin: str) -> Checked:
    from tenure.exchange.zone_check import problems

    found = problems(text, origin)
    return Checked("tenure", not found, found or [f"zone {origin} is sound"])
