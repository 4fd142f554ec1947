"""What the supervisor and a process say to each other, beside signals and exit codes."""

from typing import Final

import msgspec

from tenure.settings import Settings

READY: Final = b"ready\n"
"""What a process writes when it does its work."""
REFUSED: Final = 3
"""Exit code of a process that cannot do its work and has said why: starting it again would not help."""


class Errand(msgspec.Struct, frozen=True):
    """What the supervisor tells a process, as JSON on its standard input.

    Attributes:
        supervisor: Process id; when it ends, so does the child.
        sockets: Descriptors of listening sockets by name.
        ready: Descriptor to write `READY` to.
    """

    settings: Settings
    supervisor: int
    sockets: dict[str, int]
    ready: int
