"""Tags and a site's own fields: one rule for everything that has them."""

import re
from math import isfinite
from typing import Final, Protocol, TypeVar

import msgspec

from tenure.errors import InvalidValue
from tenure.model.policy import Custom

MOST_LABELS: Final = 64
LONGEST_VALUE: Final = 1024
_LARGEST: Final = 2**53
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_TAG: Final = re.compile(r"[a-z0-9][a-z0-9._:/-]{0,62}")
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._/-]{0,62}")  # without the colon that follows it in a filter


class Labelled(Protocol):
    """What has tags and fields of a site's own."""

    @property
    def tags(self) -> tuple[str, ...]:
        """Words."""

    @property
    def custom(self) -> Custom:
        """Values by name."""


T = TypeVar("T", bound=Labelled)


def labelled(thing: T) -> T:
    """A thing with its tags in order, each once, after they and its own fields were found sound.

    Raises:
        InvalidValue: There are more than 64 of them; a tag is no lower-case word of letters, digits and `._:/-`, at
            most 63, or a name none of these without `:`; a text is longer than 1,024 characters or has one that
            controls; a number cannot be written in JSON.
    """
    if not thing.tags and not thing.custom:
        return thing
    for at, tag in enumerate(thing.tags):
        _word(tag, _TAG, "._:/-", f"/tags/{at}")
    for name, value in thing.custom.items():
        _word(name, _NAME, "._/-", "/custom")
        _value(value, f"/custom/{name}")
    tags = tuple(sorted(set(thing.tags)))
    for field, found in (("tags", len(tags)), ("custom", len(thing.custom))):
        if found > MOST_LABELS:
            raise InvalidValue(f"{field} are at most {MOST_LABELS}", pointer=f"/{field}", maximum=MOST_LABELS)
    return thing if tags == thing.tags else msgspec.structs.replace(thing, tags=tags)  # type: ignore[type-var]


def _word(text: str, form: re.Pattern[str], marks: str, pointer: str) -> None:
    if not form.fullmatch(text):
        raise InvalidValue(
            f"{text[:80]!r} is no lower-case word of at most 63 letters, digits and {marks}", pointer=pointer
        )


def _value(value: str | int | float | bool, pointer: str) -> None:
    if isinstance(value, str):
        if len(value) > LONGEST_VALUE or _CONTROL.search(value):
            raise InvalidValue(f"a text of at most {LONGEST_VALUE} printable characters is needed", pointer=pointer)
    elif not isfinite(value) or (isinstance(value, int) and abs(value) > _LARGEST):
        raise InvalidValue("a number that every reader of JSON can read is needed", pointer=pointer)
