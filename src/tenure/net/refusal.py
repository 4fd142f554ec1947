"""How a text that cannot be read is refused: shown in part, whatever it holds."""

from typing import Final

from tenure.errors import InvalidValue

_SHOWN: Final = 64


def refusal(text: str, what: str, pointer: str = "") -> InvalidValue:
    """The error to raise for `text`.

    Args:
        text: What was given; of a long one the first 64 characters are shown, and unprintable ones escaped; one with a
            space is quoted.
        what: The rest of the sentence, as "is not a MAC address".
        pointer: JSON pointer of the field (RFC 6901).
    """
    shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
    spelled = ascii(shown) if not (shown and shown.isprintable()) else repr(shown) if " " in shown else shown
    return InvalidValue(f"{spelled} {what}", pointer=pointer, value=shown)
