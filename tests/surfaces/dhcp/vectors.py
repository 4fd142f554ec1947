"""Reads vectors that are written as text triples: what it is, the bytes, what they mean."""

from pathlib import Path

from msgspec import Struct

from tenure.surfaces.dhcp.v4_wire import Message

_HERE = Path(__file__).parent / "vectors"
_BYTES_FIELDS = ("chaddr", "sname", "file")


class Vector(Struct, frozen=True):
    """One triple; `message` is None where the bytes mean nothing, and `reason` says why."""

    title: str
    canonical: bool
    wire: bytes
    message: Message | None
    reason: str


def read(name: str) -> list[Vector]:
    """The vectors of one file."""
    text = (_HERE / name).read_text()
    paragraphs = [p for p in text.split("\n\n") if p.strip() and not p.startswith("#")]
    return [_vector(paragraph) for paragraph in paragraphs]


def _vector(paragraph: str) -> Vector:
    head, means = paragraph.split("\nmeans", 1)
    title, octets = head.split("\nbytes\n")
    malformed = means.startswith(" malformed: ")
    return Vector(
        title=title.lstrip("> "),
        canonical=title.startswith(">"),
        wire=_octets(octets),
        message=None if malformed else _message(means.split("\n")),
        reason=means.removeprefix(" malformed: ").strip() if malformed else "",
    )


def _octets(text: str) -> bytes:
    parts = []
    for word in text.split():
        octets, _, times = word.partition("*")
        parts.append(bytes.fromhex(octets) * int(times or 1))
    return b"".join(parts)


def _message(lines: list[str]) -> Message:
    fields: dict[str, object] = dict.fromkeys(Message.__struct_fields__, 0) | dict.fromkeys(_BYTES_FIELDS, b"")
    options: dict[int, bytes] = {}
    for line in filter(None, map(str.strip, lines)):
        name, value, *rest = [*line.split(), ""]
        if name == "option":
            options[int(value)] = bytes.fromhex(rest[0])
        else:
            fields[name] = bytes.fromhex(value) if name in _BYTES_FIELDS else int(value, 0)
    return Message(**{**fields, "options": options})  # type: ignore[arg-type]
