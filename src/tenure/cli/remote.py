"""Commands that ask the service: the options that all of them have, where the service is, and the exit status."""

import os
import re
import sys
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, cast

from typer import Context, Exit, Option, Typer
from typer.core import TyperCommand
from typer.main import get_command

from tenure.client.client import Client, connect
from tenure.client.problems import AnswerLost, Unreachable
from tenure.errors import InvalidValue, NotPermitted, TenureError

REFUSED: Final = 1
WRONG_USAGE: Final = 2
NO_ANSWER: Final = 3

_PANEL: Final = "Every command"
_ADMIN_TOKEN: Final = "admin-token"
_DEFAULT_URL: Final = "http://127.0.0.1:8080"
_DEFAULT_DATA: Final = "tenure-data"
Shared = tuple[Callable[..., None], ...]
_FIELD: Final = re.compile(r"^/([a-z_]+)\b(?!/)|^In the query, ([a-z_]+)\b|`([a-z_]+)`|\b([a-z]+(?:_[a-z]+)+)\b")
"""A field of the API as sentences name it."""
_FLAG: Final = re.compile(r"(?<![\w-])(--[a-z-]+) true\b")
"""A field that is true: on the command line the option alone."""
_ANY: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}


class Session:
    """One command's run: what was said about the service, and the client that follows from it.

    Attributes:
        json: Whether a program reads the output.
        dry_run: Whether a change is only tried.
        if_match: The revision that a change is meant for.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self.json = bool(options.get("json"))
        self.dry_run = bool(options.get("dry_run"))
        self.if_match: int | None = options.get("if_match")
        self._options = options
        self._missing = ""

    @cached_property
    def client(self) -> Client:
        """The client; nothing was sent yet."""
        return connect(self.url, self._token)

    def close(self) -> None:
        """Close the connection, if there is one."""
        if "client" in self.__dict__:
            self.client.close()

    @property
    def change(self) -> dict[str, Any]:
        """What the calls that change something are told besides their fields."""
        return {"dry_run": self.dry_run}

    @property
    def edit(self) -> dict[str, Any]:
        """The same for a change of something that is there."""
        return {"dry_run": self.dry_run, "if_match": self.if_match}

    @cached_property
    def url(self) -> str:
        """Where the service is."""
        said = self._options.get("url") or os.environ.get("TENURE_URL")
        if said:
            return str(said)
        if self._file or os.environ.get("TENURE_API"):
            api = self._settings.api
            return f"http://{type(api)(_ANY.get(api.address, api.address), api.port)}"
        return _DEFAULT_URL

    @property
    def data(self) -> Path:
        """The data directory of a service on this machine."""
        said = self._options.get("data") or os.environ.get("TENURE_DATA")
        if said:
            return Path(said)
        return Path(self._settings.data if self._file else _DEFAULT_DATA)

    @property
    def _token(self) -> str | None:
        said = self._options.get("token") or os.environ.get("TENURE_TOKEN")
        if said:
            return str(said)
        try:
            return (self.data / _ADMIN_TOKEN).read_text("ascii").strip()
        except OSError as error:
            self._missing = f"{self.data / _ADMIN_TOKEN} cannot be read: {error.strerror}"
            return None

    def explained(self, error: TenureError) -> TenureError:
        """An error as it concerns who typed the command: who sent no token hears where one was looked for."""
        if isinstance(error, NotPermitted) and self._missing:
            advice = "say --token or TENURE_TOKEN, or with --data where the service on this machine has its data"
            return NotPermitted(f"There is no token: {self._missing}; {advice}.")
        return error

    @property
    def _file(self) -> str | None:
        return self._options.get("config") or os.environ.get("TENURE_CONFIG")

    @cached_property
    def _settings(self) -> Any:
        from tenure import settings

        return settings.read({"config": self._file}, os.environ)


def session(ctx: Context) -> Session:
    """The session of a command that runs."""
    return cast(Session, ctx.obj)


def _everywhere(
    json: Annotated[
        bool, Option("--json", help="Print one JSON value and nothing else.", rich_help_panel=_PANEL)
    ] = False,
    url: Annotated[
        str | None,
        Option(
            metavar="URL",
            help=f"The service; else TENURE_URL; {_DEFAULT_URL}. unix:PATH is a socket.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    token: Annotated[
        str | None,
        Option(
            metavar="TOKEN",
            help="Else TENURE_TOKEN, else the file admin-token in the data directory.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    data: Annotated[
        str | None,
        Option(
            metavar="DIR",
            help=f"Data directory of a service on this machine; else TENURE_DATA; {_DEFAULT_DATA}.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    config: Annotated[
        str | None,
        Option(metavar="FILE", help="TOML file of the service's settings; else TENURE_CONFIG.", rich_help_panel=_PANEL),
    ] = None,
) -> None:
    """The options of every command."""


def _on_changes(
    dry_run: Annotated[
        bool,
        Option("--dry-run", help="Answer what would happen, and change nothing.", rich_help_panel=_PANEL),
    ] = False,
) -> None:
    """The options of every change."""


def _on_edits(
    if_match: Annotated[
        int | None,
        Option(metavar="REVISION", help="Refuse if it has another revision by now.", rich_help_panel=_PANEL),
    ] = None,
) -> None:
    """The options of a change of what is there."""


def _options_of(function: Callable[..., None]) -> list[Any]:
    app = Typer(add_completion=False)
    app.command()(function)
    return list(get_command(app).params)


_OURS: Final = {each.name for each in _options_of(_everywhere)}
"""Options that are no fields, whatever the API calls so: `data` is a record's there."""


class Remote(TyperCommand):
    """A command that asks the service."""

    shared: ClassVar[Shared] = (_everywhere,)

    def __init__(self, *args: Any, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        more = [option for function in self.shared for option in _options_of(function)]
        self._more = [option.name for option in more]
        self.params = [*self.params, *more]

    def invoke(self, ctx: Any) -> Any:
        """Run it; a refusal is one sentence on standard error and the exit status."""
        ctx.obj = Session({name: ctx.params.pop(name) for name in self._more})
        ctx.call_on_close(ctx.obj.close)
        try:
            return super().invoke(ctx)
        except (Unreachable, AnswerLost) as error:
            raise complained(error, NO_ANSWER) from None
        except TenureError as error:
            said = in_options(ctx.obj.explained(error), [each for each in self.params if each.name not in _OURS])
            wrong = "setting" in said.facts or "option" in said.facts
            raise complained(said, WRONG_USAGE if wrong else REFUSED) from None


class Change(Remote):
    """A command that changes something."""

    shared: ClassVar[Shared] = (_on_changes, _everywhere)


class Edit(Change):
    """A command that changes what is there."""

    shared: ClassVar[Shared] = (_on_edits, _on_changes, _everywhere)


def in_options(error: TenureError, params: Iterable[Any]) -> TenureError:
    """A refusal in the words of the command line: what the API calls a field is the command's option or argument.

    A value that was typed, and that is wrong, is told with where it was typed; fact `option`.
    """
    options = _spoken(params)
    said = _FIELD.sub(lambda found: options.get(found[1] or found[2] or found[3] or found[4], found[0]), error.message)
    said = _FLAG.sub(r"\1", said)
    at = str(error.facts.get("pointer") or error.facts.get("parameter") or "")
    option = options.get(at.strip("/").split("/")[0])
    if option is None or not isinstance(error, InvalidValue):
        return type(error)(said, **error.facts)
    named = re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", said)
    return type(error)(said if named else f"{option}: {said}", **{**error.facts, "option": option})


def _spoken(params: Iterable[Any]) -> dict[str, str]:
    """What a command calls the fields of the API: an option by its name, an argument as its help does."""
    said = sorted(params, key=lambda each: each.opts[-1].startswith("--"))  # where both are of one field, the option
    return {
        str(each.name).strip("_"): each.opts[-1]
        if each.opts[-1].startswith("--")
        else str(each.metavar or "").strip("…")
        for each in said
        if each.opts[-1].startswith("--") or each.metavar
    }


def complained(error: TenureError, status: int) -> Exit:
    """Say an error's sentence, and what was allowed, on standard error; the exit to raise."""
    print(sentence(error), file=sys.stderr)
    return Exit(status)


def sentence(error: TenureError) -> str:
    """An error in words: its sentence, and what would be right where that can be listed."""
    said = error.message
    allowed = error.facts.get("allowed")
    listed = ", ".join(map(str, allowed)) if isinstance(allowed, list) else ""
    more = f" Allowed: {listed}." if listed and listed not in said else ""
    if said.split(" ")[0].isalpha() and not said.startswith(str(error.facts.get("value", " "))):
        said = said[:1].upper() + said[1:]  # but a value, a file or a field that it begins with stays as it is
    return said.rstrip(".") + "." + more
