"""A file on disk, and which reader reads it."""

from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal, get_args

from tenure.errors import InvalidValue
from tenure.exchange import csv_file, dnsmasq, hosts_file, site_file
from tenure.exchange.reading import Reading

Kind = Literal["csv", "hosts", "dnsmasq", "site"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

_LARGEST: Final = 256 * 2**20
_READERS: Final[dict[Kind, Callable[[str, str], Reading]]] = {
    "csv": csv_file.read,
    "hosts": hosts_file.read,
    "dnsmasq": dnsmasq.read,
    "site": site_file.read,
}


def read(path: Path, kind: Kind | None = None) -> Reading:
    """Read a file as what it is said to be, or looks like.

    Raises:
        InvalidValue: It cannot be read, is no text, is over 256 MiB, or does not look like any kind.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise InvalidValue(f"{path} is larger than {_LARGEST // 2**20} MiB; split it")
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InvalidValue(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidValue(f"{path} is no text in UTF-8") from None
    if "\0" in text:
        raise InvalidValue(f"{path} has a NUL character, so that it is no text")
    return _READERS[kind or guessed(path.name, text)](str(path), text)


def guessed(name: str, text: str) -> Kind:
    """What a file is, by its name, else by its first line that says something.

    Raises:
        InvalidValue: It looks like none.
    """
    suffix = name.rpartition(".")[2].lower()
    if suffix in ("toml", "json"):
        return "site"
    if suffix == "csv":
        return "csv"
    if "dnsmasq" in name:
        return "dnsmasq"
    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "")
    if set(first.replace(" ", "").split(",")) <= set(csv_file.COLUMNS):
        return "csv"
    if first[:1].isdigit() or ":" in first.partition(" ")[0]:
        return "hosts"
    if "=" in first:
        return "dnsmasq"
    raise InvalidValue(f"{name} does not look like any of {', '.join(KINDS)}; say --kind")
