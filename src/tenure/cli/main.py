"""The `tenure` command. A command's module is loaded when the command is asked for, so that each starts light."""

import sys
from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup
from typer.main import get_group

from tenure import __version__

PLACES: Final = {
    "allocate": "everyday",
    "reserve": "everyday",
    "bind": "everyday",
    "rebind": "everyday",
    "release": "everyday",
    "move": "moves",
    "attach": "moves",
    "detach": "moves",
    "rename": "moves",
    "observe": "observe",
    "harvest": "harvest",
    "renumber": "renumber",
    "why": "questions",
    "history": "questions",
    "find": "questions",
    "capacity": "questions",
    "watch": "questions",
    "tag": "tag",
    "import": "imports",
    "simulate": "simulate",
    "serve": "serve",
    "demo": "demo",
    "vrf": "vrf",
    "location": "location",
    "network": "network",
    "subnet": "subnet",
    "range": "range",
    "machine": "machine",
    "claim": "claim",
    "address": "address",
    "block": "block",
    "routes": "routes",
    "zone": "zone",
    "record": "record",
    "secondary": "secondary",
    "tsig-key": "tsig_key",
    "event": "event",
    "token": "token",
}
"""Every command, and the module below `tenure.cli` that has it; a module of that name is a group of its own."""


class Commands(MutableMapping[str, Any]):
    """The commands by name; each is loaded when it is looked up."""

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            place = PLACES[name]
            group = get_group(import_module(f"tenure.cli.{place}").app)
            self._loaded[name] = group.commands.get(name, group)
        return self._loaded[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(PLACES)

    def __len__(self) -> int:
        return len(PLACES)


class Root(TyperGroup):
    """The command itself, with its commands loaded late."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = Commands()


app = typer.Typer(cls=Root, no_args_is_help=True, pretty_exceptions_enable=False)


def _tell_version(wanted: bool) -> None:
    if wanted:
        print(f"tenure {__version__}")
        raise typer.Exit


@app.callback(
    epilog="Settings: flags, then TENURE_URL, TENURE_TOKEN and TENURE_DATA, then the file of --config or "
    "TENURE_CONFIG. Exit status: 0 done, 1 refused, 2 wrong usage, 3 the service does not answer."
)
def tenure(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_tell_version, help="Print the version, and end.")
    ] = False,
) -> None:
    """Tenure owns the IP addresses of the networks it manages."""


def main() -> None:
    """Run the command."""
    try:
        app()
    except BrokenPipeError:  # whoever read our output has seen enough
        sys.stderr.close()
        sys.exit(0)


if __name__ == "__main__":
    main()
