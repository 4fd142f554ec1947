"""Typed settings, read once: flags, then `TENURE_*` variables, then a TOML file, then the default.

`SETTINGS` is the one list; the command's flags, the names of the variables,
the keys of the file and docs/reference/settings.md all follow it.
"""

import tomllib
from collections.abc import Callable, Mapping
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

import msgspec

from tenure.errors import InvalidValue

Role = Literal["api", "dhcp", "dns"]
LogLevel = Literal["debug", "info", "warning", "error"]

ROLES: tuple[Role, ...] = ("api", "dhcp", "dns")
LOG_LEVELS: tuple[LogLevel, ...] = ("debug", "info", "warning", "error")

_LONGEST_INTERFACE = 15  # IFNAMSIZ with its NUL
_LONGEST_PATH = 4096


class Endpoint(msgspec.Struct, frozen=True):
    """An IP address as text and a port; port 0 takes a free one."""

    address: str
    port: int

    def __str__(self) -> str:
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"


class Listener(msgspec.Struct, frozen=True):
    """Where DNS is asked, and whose zones it answers from there: those of a vrf, or of the only one that has any."""

    endpoint: Endpoint
    vrf: str | None = None

    def __str__(self) -> str:
        return str(self.endpoint) if self.vrf is None else f"{self.endpoint}={self.vrf}"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All that `tenure serve` can be told; see `SETTINGS` for what each one means."""

    data: str = "tenure-data"
    database: str | None = None
    api: Endpoint = Endpoint("127.0.0.1", 8080)
    api_socket: str | None = None
    dns: tuple[Listener, ...] = (Listener(Endpoint("127.0.0.1", 5353)),)
    transfer_from: tuple[str, ...] = ()
    dhcp4: tuple[str, ...] = ()
    roles: tuple[Role, ...] = ROLES
    clock_margin: int = 5
    queue: int = 10_000
    retention_days: int | None = None
    log_level: LogLevel = "info"

    @property
    def directory(self) -> Path:
        """The data directory."""
        return Path(self.data)

    @property
    def store(self) -> str | Path:
        """The database's URL, or the file of the embedded one."""
        return self.database or self.directory / "tenure.sqlite"


class Setting(NamedTuple):
    """One setting.

    Attributes:
        name: Field of `Settings`, key of the file; with dashes the flag, as `TENURE_<NAME>` the variable.
        parse: From text or the file's own value to the field's; raises ValueError, whose text says what is allowed.
    """

    name: str
    parse: Callable[[Any], object]

    @property
    def variable(self) -> str:
        """Its environment variable."""
        return f"TENURE_{self.name.upper()}"

    @property
    def flag(self) -> str:
        """Its flag."""
        return "--" + self.name.replace("_", "-")


def read(flags: Mapping[str, object], environ: Mapping[str, str]) -> Settings:
    """Read the settings from all their places; the first place that names one wins.

    Args:
        flags: By field name, `config` (the file's path) among them; None means not given.
        environ: The environment; `TENURE_CONFIG` names the file where no flag does. An empty variable is not given.

    Raises:
        InvalidValue: A value is malformed or out of bounds, or the file is unreadable or has a key that is none;
            fact `setting` names it.
    """
    file = flags.get("config") or environ.get("TENURE_CONFIG")
    written = _file(Path(str(file))) if file else {}
    found: dict[str, object] = {}
    for setting in SETTINGS:
        for origin, value in _places(setting, flags, environ, written):
            if value is not None:
                found[setting.name] = _parsed(setting, origin, value)
                break
    return msgspec.convert(found, Settings)


def _places(
    setting: Setting, flags: Mapping[str, object], environ: Mapping[str, str], written: Mapping[str, object]
) -> tuple[tuple[str, object], ...]:
    return (
        (setting.flag, flags.get(setting.name)),
        (setting.variable, environ.get(setting.variable) or None),
        (f"{setting.name} in the configuration file", written.get(setting.name)),
    )


def _parsed(setting: Setting, origin: str, value: object) -> object:
    try:
        return setting.parse(value)
    except ValueError as error:
        raise InvalidValue(f"{origin}: {error}.", setting=setting.name) from None


def _file(path: Path) -> dict[str, object]:
    try:
        written = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidValue(f"The configuration file {path} cannot be read: {error}.", setting="config") from None
    names = {setting.name for setting in SETTINGS}
    for key in written:
        if key not in names:
            raise InvalidValue(f"The configuration file {path} has {key!r}, which is no setting.", setting=key)
    return written


def _text(value: object) -> str:
    if not isinstance(value, str | Path) or not str(value) or "\0" in str(value):
        raise ValueError(f"{value!r} is not a text")
    return str(value)


def _path(value: object) -> str:
    path = _text(value)
    if len(path) > _LONGEST_PATH:
        raise ValueError(f"a path has at most {_LONGEST_PATH} characters")
    return path


def _database(value: object) -> str:
    """The URL; what is refused is not repeated, because there may be a password in it."""
    url = _text(value)
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("postgresql", "postgres") and parts.port != 0
    except ValueError:
        known = False
    if not known:
        raise ValueError("a database is a URL like postgresql://user@host/name; without one, SQLite is used")
    return url


def _endpoint(value: object) -> Endpoint:
    text = _text(value)
    address, colon, port = text.rpartition(":")
    try:
        literal = ip_address("127.0.0.1" if address == "localhost" else address.removeprefix("[").removesuffix("]"))
    except ValueError:
        colon = ""
    if not colon or not (port.isascii() and port.isdigit() and int(port) <= 65535):
        raise ValueError(f"{text!r} is not ADDR:PORT, as 127.0.0.1:8080 or [::1]:8080 with a port of 0 to 65535")
    return Endpoint(str(literal), int(port))


def _names(value: object) -> tuple[str, ...]:
    parts = value if isinstance(value, list | tuple) else [value]
    names = [name.strip() for part in parts for name in _text(part).split(",")]
    return tuple(dict.fromkeys(name for name in names if name))


def _listeners(value: object) -> tuple[Listener, ...]:
    found = tuple(Listener(_endpoint(where), vrf or None) for where, _, vrf in map(_divided, _names(value)))
    taken = [each.endpoint for each in found if each.endpoint.port]
    if not found or len(set(taken)) < len(taken):
        raise ValueError(f"{value!r} is not a list of ADDR:PORT or ADDR:PORT=VRF, each endpoint once")
    return found


def _divided(text: str) -> tuple[str, str, str]:
    where, equals, vrf = text.partition("=")
    if equals and not vrf:
        raise ValueError(f"{text!r} names no vrf")
    return where, equals, vrf


def _prefixes(value: object) -> tuple[str, ...]:
    try:
        return tuple(str(ip_network(name)) for name in _names(value))
    except ValueError as error:
        raise ValueError(f"{error}: a prefix is ADDR/LENGTH or one address, without host bits") from None


def _interfaces(value: object) -> tuple[str, ...]:
    names = _names(value)
    for name in names:
        if len(name) > _LONGEST_INTERFACE or "/" in name or any(letter.isspace() for letter in name):
            raise ValueError(f"{name!r} is not the name of a network interface")
    return names


def _roles(value: object) -> tuple[str, ...]:
    names = _names(value)
    for name in names:
        if name not in ROLES:
            raise ValueError(f"{name!r} is not one of the roles {', '.join(ROLES)} (the writer always runs)")
    return names


def _between(low: int, high: int) -> Callable[[object], int]:
    def parse(value: object) -> int:
        text = str(value)
        if isinstance(value, bool) or not (text.isascii() and text.isdigit() and low <= int(text) <= high):
            raise ValueError(f"{text!r} is not a whole number from {low} to {high}")
        return int(text)

    return parse


def _log_level(value: object) -> str:
    if value not in LOG_LEVELS:
        raise ValueError(f"{value!r} is not one of {', '.join(LOG_LEVELS)}")
    return str(value)


SETTINGS: tuple[Setting, ...] = (
    Setting("data", _path),
    Setting("database", _database),
    Setting("api", _endpoint),
    Setting("api_socket", _path),
    Setting("dns", _listeners),
    Setting("transfer_from", _prefixes),
    Setting("dhcp4", _interfaces),
    Setting("roles", _roles),
    Setting("clock_margin", _between(0, 3600)),
    Setting("queue", _between(100, 1_000_000)),
    Setting("retention_days", _between(1, 36_500)),
    Setting("log_level", _log_level),
)
