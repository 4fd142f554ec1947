"""What networks, subnets, machines and claims are found by: their tags and custom fields, each as one word."""

from collections.abc import Mapping
from typing import Final, Protocol

LABELLED: Final = {"networks": "network", "subnets": "subnet", "machines": "machine", "claims": "claim"}
"""The kind of thing that a table holds, of those that have labels."""


class Labelled(Protocol):
    """A thing that has labels."""

    @property
    def tags(self) -> tuple[str, ...]:
        """Each once."""

    @property
    def custom(self) -> Mapping[str, str | int | float | bool]:
        """By name."""


def labels(thing: Labelled) -> tuple[str, ...]:
    """All labels of a thing, in order.

    Cost: linear in them; a thing without any costs two look-ups.
    """
    if not thing.tags and not thing.custom:
        return ()
    fields = (of_field(name, as_text(value)) for name, value in thing.custom.items())
    return tuple(sorted({*map(of_tag, thing.tags), *fields}))


def of_tag(tag: str) -> str:
    """The label of a tag."""
    return f"t:{tag}"


def of_field(name: str, value: str) -> str:
    """The label of a custom field with a value as text; names hold no `=`."""
    return f"c:{name}={value}"


def as_text(value: str | int | float | bool) -> str:
    """A custom field's value as people ask for it: `true` and `false` as in JSON, numbers as they are written."""
    return str(value).lower() if isinstance(value, bool) else str(value)
