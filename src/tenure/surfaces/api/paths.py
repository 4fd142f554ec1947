"""Paths in which a name has a slash: `%2F` is part of the name, and does not end it."""

from typing import Any, Final
from urllib.parse import unquote

_SLASH: Final = "%2F"


def routed(scope: Any) -> str:
    """The path that operations are found by: decoded, but for the slashes of names.

    ASGI decodes them with the rest (RFC 3986 section 2.2 has them differ); `raw_path` still tells which is which.
    """
    path: str = scope["path"]
    if _SLASH.encode() not in (scope.get("raw_path") or b"").upper():
        return path
    return "/".join(part.replace("/", _SLASH) for part in _parts(scope))


def name_in(scope: Any, template: str, parameter: str, value: str) -> str:
    """A parameter of the path as its caller wrote it; `value` is what routing made of it.

    Args:
        template: The operation's path, as `/v1/locations/{location}`.
    """
    if _SLASH not in value or not scope.get("raw_path"):
        return value
    return _parts(scope)[template.split("/").index(f"{{{parameter}}}")]


def _parts(scope: Any) -> list[str]:
    return [unquote(part) for part in scope["raw_path"].decode("latin-1").split("/")]
