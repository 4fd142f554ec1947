"""Names of hosts and domains: how they are read, shown, joined, and written on the wire.

Inside, a name is lower-case ASCII (A-labels); an absolute one ends with a dot. What is refused
is refused loudly: the only mending is of case and of Unicode form (NFC), which change no meaning.

Unicode is read by IDNA 2008 (package `idna`, which httpx brings), not by Python's `encodings.idna`:
that is IDNA 2003, which turns `straße` into `strasse` without a word. `idna` loads
large tables, so it is imported when the first such name comes, not before.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from tenure.errors import InvalidValue
from tenure.net.refusal import refusal

LONGEST_LABEL: Final = 63
LONGEST_NAME: Final = 253  # in text without escapes, the last dot left out
LONGEST_WIRE: Final = 255

_LABEL: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
_ANY_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?|[0-9]{1,3}/[0-9]{1,2}")  # 0/25 is RFC 2317's
_DOTTED_QUAD: Final = re.compile(r"[0-9]+(?:\.[0-9]+){3}")
_LONGEST_INPUT: Final = 4 * LONGEST_NAME  # Unicode is mostly shorter than its A-label; this only bounds the work
_NIBBLES_END: Final = ".ip6.arpa."
_NIBBLES_TEXT: Final = 63 + len(_NIBBLES_END)
_NIBBLES_DOTS: Final = "." * 31
_NIBBLES_WIRE_END: Final = b"\x03ip6\x04arpa\x00"
_TOKEN: Final = re.compile(r"\\([0-9]{3})|\\([^0-9])|\.|[^\\.]+", re.DOTALL)
_LENGTHS: Final = tuple(bytes((length,)) for length in range(LONGEST_LABEL + 1))
_SPECIAL: Final = frozenset(b'."();@$\\')


def parse_hostname(text: str, pointer: str = "") -> str:
    """Read a host name: one label, or labels with dots between.

    Args:
        text: In any case, ASCII or Unicode. With a trailing dot it is fully qualified, and
            no domain is to be added to it.
        pointer: JSON pointer of the field, for the error.

    Returns:
        Lower-case A-labels; the trailing dot is kept.

    Raises:
        InvalidValue: An empty label; a character other than letters, digits and hyphens; a hyphen at an end
            of a label; a label over 63 octets or a name over 253; what looks like an IPv4 address;
            an A-label that no Unicode name has; fully qualified with a last label of digits only.

    Source: RFC 1123 section 2.1; RFC 1035 section 2.3.4; RFC 5891 section 5; RFC 3696 section 2.
    """
    if len(text) <= LONGEST_LABEL and _LABEL.fullmatch(text) and text[:4] != "xn--":
        return text  # most of them, and each is read again wherever it comes in
    return _parse_name(text, _parse_label, pointer)


def parse_name(text: str, pointer: str = "", *, wildcard: bool = False) -> str:
    """Read a name that need not be a host's, as an owner or target of a record: it may have underscores.

    Args:
        text, pointer: As of `parse_hostname`.
        wildcard: Whether its first label may be `*`.

    Returns:
        As `parse_hostname`. A label such as `0/25`, by which others call a classless reverse zone, is taken too.

    Raises:
        InvalidValue: As of `parse_hostname`.

    Source: RFC 8552 section 1.1; RFC 2317 section 4; RFC 4592 section 2.1.1.
    """
    below = text.removeprefix("*.") if wildcard else text
    if wildcard and text == "*":
        return text
    name = _parse_name(below, _parse_any_label, pointer)
    if below == text:
        return name
    if len(name.removesuffix(".")) + len("*.") > LONGEST_NAME:
        raise refusal(text, f"is longer than {LONGEST_NAME} octets", pointer)
    return "*." + name


def parse_domain(text: str, pointer: str = "") -> str:
    """Read the name of a domain or zone, with or without its trailing dot; give it with the dot.

    Raises:
        InvalidValue: As for a fully qualified host name; the root.
    """
    return parse_hostname(text if text.endswith(".") else text + ".", pointer)


def display(name: str) -> str:
    """The name for people: A-labels as Unicode, where that reads back to the same label; the rest as it is."""
    if "xn--" not in name:
        return name
    return ".".join(_unicode_of(label) or label for label in name.split("."))


def fqdn(hostname: str, domain: str, pointer: str = "/hostname") -> str:
    """The absolute name of a host: `hostname` under `domain`, or alone if it is fully qualified.

    Args:
        hostname: As `parse_hostname` gave it.
        domain: As `parse_domain` gave it.
        pointer: JSON pointer of the field, for the error.

    Raises:
        InvalidValue: Together they are longer than 253 octets.
    """
    if hostname.endswith("."):
        return hostname
    name = f"{hostname}.{domain}"
    if len(name) > LONGEST_NAME + 1:
        raise InvalidValue(
            f"{hostname} under {domain} is longer than {LONGEST_NAME} octets", pointer=pointer, value=hostname
        )
    return name


def absolute(name: str, zone: str, pointer: str) -> str:
    """The absolute name that a record of a zone means by its owner, or by a name in its data.

    Args:
        name, zone, pointer: As of `fqdn`.

    Raises:
        InvalidValue: Together they are longer than 253 octets; or the name is relative and ends as the zone is called,
            which nobody means.
    """
    if ("." + name).endswith("." + zone[:-1]):
        raise InvalidValue(
            f"{name} would be {name}.{zone}: end it with a dot, or leave {zone[:-1]} out", pointer=pointer, value=name
        )
    return fqdn(name, zone, pointer)


def wire(name: str) -> bytes:
    """An absolute name in wire form, uncompressed, its case as it is.

    Args:
        name: ASCII with a trailing dot; `\\.` and `\\DDD` escape, as in a zone file.

    Raises:
        InvalidValue: Not absolute, not ASCII, an empty label, or too long for the wire.

    Cost: about 0.5 µs where the name's parent was seen of late: parents are cached, names are not.
    Source: RFC 1035 section 3.1, and section 5.1 for escapes.
    """
    if len(name) == _NIBBLES_TEXT and _is_nibbles(name):
        return b"\x01" + name[:63].replace(".", "\x01").encode("ascii") + _NIBBLES_WIRE_END
    label, _, parent = name.partition(".")
    if not parent or "\\" in label or not label.isascii():
        return _joined(_labels(name), name)
    return _checked(_label_wire(label.encode("ascii"), name) + _parent_wire(parent), name)


def from_wire(octets: bytes) -> str:
    """The name that `octets` hold, whole and uncompressed, with what needs it escaped; case as it is.

    Raises:
        InvalidValue: Truncated, compressed, over 255 octets, or with something after its end.
    """
    labels = []
    at = 0
    while at < len(octets) and 0 < octets[at] <= LONGEST_LABEL:
        end = at + 1 + octets[at]
        labels.append(_label_text(octets[at + 1 : end]) + ".")
        at = end
    if len(octets) > LONGEST_WIRE or at != len(octets) - 1 or octets[at]:
        raise InvalidValue("the octets are not one uncompressed name", value=octets[:256].hex())
    return "".join(labels) or "."


def _parse_name(text: str, parse_label: Callable[[str, str, str], str], pointer: str) -> str:
    if len(text) > _LONGEST_INPUT:
        raise refusal(text, f"is longer than {LONGEST_NAME} octets", pointer)
    relative = text.removesuffix(".")
    labels = [parse_label(label, text, pointer) for label in relative.split(".")]
    name = ".".join(labels)
    if len(name) > LONGEST_NAME:
        raise refusal(text, f"is longer than {LONGEST_NAME} octets", pointer)
    if _DOTTED_QUAD.fullmatch(name):
        raise refusal(text, "looks like an IPv4 address, not a host name", pointer)
    if relative == text:
        return name
    if labels[-1].isdigit():
        raise refusal(text, "ends with a label of digits only, which no top-level domain is", pointer)
    return name + "."


def _parse_any_label(label: str, text: str, pointer: str) -> str:
    found = label.lower()
    if found.isascii() and len(found) <= LONGEST_LABEL and _ANY_LABEL.fullmatch(found) and found[:4] != "xn--":
        return found
    return _parse_label(label, text, pointer)


def _parse_label(label: str, text: str, pointer: str) -> str:
    ascii_label = label.lower() if label.isascii() else _a_label(label, text, pointer)
    if not ascii_label:
        raise refusal(text, "has an empty label", pointer)
    if len(ascii_label) > LONGEST_LABEL:
        raise refusal(text, f"has a label longer than {LONGEST_LABEL} octets", pointer)
    if ascii_label[0] == "-" or ascii_label[-1] == "-":
        raise refusal(text, "has a label that begins or ends with a hyphen", pointer)
    if not _LABEL.fullmatch(ascii_label):
        raise refusal(text, "may have letters, digits, hyphens and dots only", pointer)
    if ascii_label.startswith("xn--") and _unicode_of(ascii_label) is None:
        raise refusal(text, "has an A-label (xn--) that stands for no Unicode name", pointer)
    return ascii_label


def _a_label(label: str, text: str, pointer: str) -> str:
    """As written if IDNA allows it, else in lower case: Cherokee is allowed in its capitals only."""
    import idna

    composed = unicodedata.normalize("NFC", label)
    try:
        return idna.alabel(composed).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        pass
    try:
        return idna.alabel(unicodedata.normalize("NFC", composed.lower())).decode("ascii")
    except (idna.IDNAError, UnicodeError) as error:
        raise refusal(text, f"is not a name by IDNA 2008 ({error})", pointer) from None


def _unicode_of(label: str) -> str | None:
    """What an A-label stands for; None for any other label, and for one that IDNA 2008 does not allow."""
    if not label.startswith("xn--"):
        return None
    import idna

    try:
        return idna.ulabel(label)
    except (idna.IDNAError, UnicodeError):
        return None


@lru_cache(maxsize=16384)
def _parent_wire(name: str) -> bytes:
    return _joined(_labels(name), name)


def _joined(labels: list[bytes], name: str) -> bytes:
    if labels == [b"", b""]:
        return b"\0"
    if labels[-1] or len(labels) == 1:
        raise refusal(name, "is not absolute: it has no trailing dot")
    return _checked(b"".join(_label_wire(label, name) for label in labels[:-1]) + b"\0", name)


def _label_wire(label: bytes, name: str) -> bytes:
    if not 0 < len(label) <= LONGEST_LABEL:
        raise refusal(name, f"has a label that is not of 1 to {LONGEST_LABEL} octets")
    return _LENGTHS[len(label)] + label


def _checked(packed: bytes, name: str) -> bytes:
    if len(packed) > LONGEST_WIRE:
        raise refusal(name, f"is longer than {LONGEST_WIRE} octets on the wire")
    return packed


def _labels(name: str) -> list[bytes]:
    """The labels of a name, escapes resolved; the last is empty if the name is absolute."""
    if not name.isascii():
        raise refusal(name, "is not ASCII")
    if "\\" not in name:
        return name.encode("ascii").split(b".")
    labels = [bytearray()]
    at = 0
    while at < len(name):
        token = _TOKEN.match(name, at)
        if token is None or (token[1] and int(token[1]) > 255):
            raise refusal(name, "has a backslash without a character or three digits up to 255 after it")
        if token[0] == ".":
            labels.append(bytearray())
        else:
            labels[-1] += bytes((int(token[1]),)) if token[1] else (token[2] or token[0]).encode("ascii")
        at = token.end()
    return [bytes(label) for label in labels]


def _label_text(label: bytes) -> str:
    if label.replace(b"-", b"").isalnum():
        return label.decode("ascii")
    return "".join(map(_octet_text, label))


def _octet_text(octet: int) -> str:
    if octet in _SPECIAL:
        return "\\" + chr(octet)
    return chr(octet) if 0x20 < octet < 0x7F else f"\\{octet:03d}"


def _is_nibbles(name: str) -> bool:
    """Whether this is a whole IPv6 pointer name: 32 labels of one character, with parents too many for a cache."""
    return name.endswith(_NIBBLES_END) and name[1:63:2] == _NIBBLES_DOTS and name.isascii() and name[0:63:2].isalnum()
