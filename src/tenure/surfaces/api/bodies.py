"""A request's body: bounded while it streams in, then decoded, or refused with a pointer to what is wrong."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import msgspec

from tenure.errors import InvalidValue
from tenure.surfaces.api.problems import Malformed, TooLarge, UnsupportedMediaType
from tenure.surfaces.api.shape import nul, refuse

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

LIMIT = 8 * 2**20
BATCH_LIMIT = 32 * 2**20


class Disconnected(Exception):
    """The client went away before its body was whole."""


async def read_body(receive: Receive, declared: str | None, limit: int) -> bytes:
    """The whole body.

    Raises:
        TooLarge: It says that it is longer than `limit` bytes, or turns out to be; no more than that is held.
        Disconnected: The client went away.
    """
    if declared is not None and declared.isdecimal() and int(declared) > limit:
        raise _too_large(limit)
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body", False):
        return _bounded(message.get("body", b""), limit)
    parts, length = [], 0
    while True:
        if message["type"] == "http.disconnect":
            raise Disconnected
        part = message.get("body", b"")
        length += len(part)
        if length > limit:
            raise _too_large(limit)
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)
        message = await receive()


def check_media_type(content_type: str | None, encoding: str | None) -> None:
    """Refuse a body that says it is something else than JSON, or packed.

    Raises:
        UnsupportedMediaType: So it is.
    """
    said = (content_type or "").partition(";")[0].strip().lower()
    if said != "application/json":
        raise UnsupportedMediaType(f"Send application/json, not {said or 'a body without Content-Type'}.")
    if encoding is not None and encoding.strip().lower() != "identity":
        raise UnsupportedMediaType("Send the body as it is, without Content-Encoding.")


def decode(body: bytes, decoder: msgspec.json.Decoder[Any], shape: Any, where: str = "", whole: bool = True) -> Any:
    """The body as a value of `shape`; unless it is decoded `whole`, its parts are looked at for NUL later.

    Raises:
        Malformed: It is no JSON.
        InvalidValue: It is not as the schema says; fact `pointer` tells where.
    """
    if whole and b"\\u0000" in body:
        _refuse_nul(body, where)
    try:
        return decoder.decode(body)
    except msgspec.ValidationError:
        raise refuse(shape, _plain(body), where) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(f"The body is not JSON: {error}.") from None


def _plain(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(f"The body is not JSON: {error}.") from None


def _refuse_nul(body: bytes, where: str) -> None:
    pointer = nul(_plain(body), where)
    if pointer is not None:
        raise InvalidValue(f"{pointer or 'The body'} must not contain a NUL character.", pointer=pointer)


def _bounded(body: bytes, limit: int) -> bytes:
    if len(body) > limit:
        raise _too_large(limit)
    return body


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"The body may have at most {limit // 2**20} MiB.", limit=limit)
