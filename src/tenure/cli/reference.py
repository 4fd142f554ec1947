"""docs/reference/cli.md, written from the commands: `python -m tenure.cli.reference > docs/reference/cli.md`."""

from collections.abc import Iterator
from typing import Any

from typer import Context
from typer.main import get_command

from tenure.cli.main import app
from tenure.cli.remote import Remote

_INTRODUCTION = """# The command

Made from the commands themselves by `python -m tenure.cli.reference`; do not edit.

Where the service is, and who asks: the flag, then `TENURE_URL`, `TENURE_TOKEN` and `TENURE_DATA`, then the TOML file of
`--config` or `TENURE_CONFIG` (its `api` and `data`), then `http://127.0.0.1:8080` and `./tenure-data`. Without a token,
the file `admin-token` in the data directory is read.

With `--json` a command prints one JSON value on standard output and nothing else (`watch` one value a line). A progress
bar is drawn on standard error if that is a terminal. Durations are `300`, `5m`, `12h` or `7d`.

| exit status | meaning |
|---|---|
| 0 | done |
| 1 | refused; the sentence is on standard error |
| 2 | wrong usage |
| 3 | the service does not answer |

`tenure --install-completion` adds completion to the shell.
"""


def reference() -> str:
    """The whole page."""
    root = get_command(app)
    parts = [_INTRODUCTION, _shared()]
    for words, command in commands(root, ("tenure",)):
        parts.append(_section(words, command))
    return "\n".join(parts)


def commands(group: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command below a group, with its words; a group itself is none."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*words, name))
        else:
            yield (*words, name), command


def _shared() -> str:
    rows = [_row(option) for option in _everywhere()]
    return "## Options of every command that asks the service\n\n" + _table("option", rows)


def _everywhere() -> list[Any]:
    return Remote(name="").params


def _section(words: tuple[str, ...], command: Any) -> str:
    context = Context(command, info_name=" ".join(words))
    usage = context.get_usage().partition(": ")[2].replace("{", "").replace("}", "")
    shared = {option.name for option in _everywhere()} if isinstance(command, Remote) else set()
    own = [each for each in command.params if each.name not in shared and each.name != "help"]
    arguments = [_row(each) for each in own if each.param_type_name == "argument"]
    options = [_row(each) for each in own if each.param_type_name == "option"]
    text = [f"## {' '.join(words)}", "", command.help.strip(), "", f"    {usage}", ""]
    text += [_table("argument", arguments)] if arguments else []
    text += [_table("option", options)] if options else []
    return "\n".join([*text, *_examples(command)])


def _examples(command: Any) -> list[str]:
    lines = [line.strip() for line in (command.epilog or "").splitlines()]
    return [*(f"    {line}" for line in lines if line and not line.startswith("Example")), ""]


def _row(parameter: Any) -> tuple[str, str]:
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar}`", _plain(parameter.help)
    names = " / ".join((*parameter.opts, *parameter.secondary_opts))
    metavar = "" if parameter.is_flag else f" {parameter.metavar or ''}"
    return f"`{names}{metavar}`".replace(" `", "`"), _plain(parameter.help)


def _plain(text: str | None) -> str:
    return (text or "").replace("|", "\\|")


def _table(first: str, rows: list[tuple[str, str]]) -> str:
    return "\n".join([f"| {first} | |", "|---|---|", *(f"| {name} | {text} |" for name, text in rows), ""])


if __name__ == "__main__":
    print(reference(), end="")
