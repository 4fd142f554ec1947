"""Where a value departs from its schema, and what would be right: for the person who sent it.

msgspec decodes fast and stops at the first fault with a path that leaves out
list positions. Only when it refuses, the value is walked here, and every fault is named.
"""

import re
import types
import typing
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec

from tenure.errors import InvalidValue

_MOST_FAULTS = 20
_LONGEST_SHOWN = 64
_OF_LENGTH = re.compile("`str` of length (>=|<=) ([0-9]+)")
_BOUNDS = {">=": "at least", "<=": "at most"}

LATER: dict[type, frozenset[str]] = {}
"""Fields of each schema that a later release implements: refused by name until then."""

LATER_VALUES: dict[str, frozenset[str]] = {
    "model": frozenset({"vlan"}),
    "role": frozenset({"operator", "project"}),
}
"""Values that a later release implements, by field."""


class Fault(msgspec.Struct, omit_defaults=True):
    """One thing that is wrong, at a JSON pointer."""

    pointer: str
    detail: str
    allowed: list[Any] | None = None


def refuse(shape: Any, value: Any, where: str = "") -> InvalidValue:
    """The error that names what is wrong with `value`, at most the first 20 faults."""
    found = []
    for fault in faults(shape, value, where):
        found.append(fault)
        if len(found) == _MOST_FAULTS:
            break
    first = found[0] if found else Fault(where, "is not as the schema says")
    facts: dict[str, Any] = {"pointer": first.pointer}
    if first.allowed is not None:
        facts["allowed"] = first.allowed
    if len(found) > 1:
        facts["errors"] = msgspec.to_builtins(found)
    return InvalidValue(f"{first.pointer or 'The body'} {first.detail}.", **facts)


def faults(shape: Any, value: Any, where: str) -> Iterator[Fault]:
    """Everything that is wrong with `value` as a `shape`, in order."""
    bare = _bare(shape, value)
    if _is_struct(bare):
        yield from _struct_faults(bare, value, where)
    elif _is_list(bare) and isinstance(value, list):
        yield from _list_faults(shape, bare, value, where)
    else:
        yield from _leaf_faults(shape, bare, value, where)


def nul(value: Any, where: str = "") -> str | None:
    """The pointer of the first string with a NUL in it, or None."""
    if isinstance(value, str):
        return where if "\0" in value else None
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for name, part in items:
        if isinstance(name, str) and "\0" in name:
            return where
        found = nul(part, f"{where}/{_escaped(name)}")
        if found is not None:
            return found
    return None


def _struct_faults(shape: type[msgspec.Struct], value: Any, where: str) -> Iterator[Fault]:
    if not isinstance(value, dict):
        yield Fault(where, f"must be an object, not {_kind(value)}")
        return
    fields = {field.encode_name: field for field in msgspec.structs.fields(shape)}
    config = shape.__struct_config__
    for name in value:
        if name not in fields and name != config.tag_field and config.forbid_unknown_fields:
            yield _unknown(shape, name, where, list(fields))
    for name, field in fields.items():
        if name in value:
            yield from faults(field.type, value[name], f"{where}/{_escaped(name)}")
        elif field.required:
            yield Fault(f"{where}/{_escaped(name)}", "is missing")


def _unknown(shape: type, name: str, where: str, known: list[str]) -> Fault:
    pointer = f"{where}/{_escaped(name)}"
    if len(name) > _LONGEST_SHOWN:
        return Fault(where, f"has a field whose name begins {name[:_LONGEST_SHOWN]!r}, which is not a field here")
    if name in LATER.get(shape, ()):
        return Fault(pointer, "is not implemented yet")
    return Fault(pointer, "is not a field here", sorted(known))


def _list_faults(shape: Any, bare: Any, value: list[Any], where: str) -> Iterator[Fault]:
    item = typing.get_args(bare)[0]
    found = False
    for place, part in enumerate(value):
        for fault in faults(item, part, f"{where}/{place}"):
            found = True
            yield fault
    if not found:
        yield from _leaf_faults(shape, bare, value, where)


def _leaf_faults(shape: Any, bare: Any, value: Any, where: str) -> Iterator[Fault]:
    try:
        msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        field = where.rpartition("/")[2]
        if typing.get_origin(bare) is Literal:
            allowed = list(typing.get_args(bare))
            later = isinstance(value, str) and value in LATER_VALUES.get(field, ())
            said = f"{value!r} is not implemented yet" if later else f"must be one of {_listed(allowed)}"
            yield Fault(where, said, allowed)
        else:
            yield Fault(where, _reworded(str(error), shape))


def _reworded(message: str, shape: Any) -> str:
    """msgspec's sentence as a predicate of the field."""
    expected = message.partition(" - at ")[0]
    if "RFC3339" in expected or "`datetime" in expected:
        return "must be a time with its zone (RFC 3339), as 2026-11-24T15:00:00Z"
    for meta in _metas(shape):
        if meta.pattern is not None and "matching regex" in expected:
            return f"must be {meta.description or 'text of the form ' + meta.pattern}"
    said = "must be " + expected.removeprefix("Expected ").replace(", got", ", not")
    return _OF_LENGTH.sub(lambda found: f"text of {_BOUNDS[found[1]]} {found[2]} characters", said)


def _metas(shape: Any) -> Iterator[msgspec.Meta]:
    for part in (shape, *typing.get_args(shape)):
        for meta in getattr(part, "__metadata__", ()):
            if isinstance(meta, msgspec.Meta):
                yield meta


def _bare(shape: Any, value: Any) -> Any:
    """The one type that `value` was meant as: without Annotated, and without None and UNSET beside it."""
    while True:
        origin = typing.get_origin(shape)
        if origin is Annotated:
            shape = typing.get_args(shape)[0]
        elif origin in (typing.Union, types.UnionType):
            choices = [c for c in typing.get_args(shape) if c not in (type(None), msgspec.UnsetType)]
            if len(choices) > 1:  # a word or an object: what was sent says which was meant
                choices = [c for c in choices if _is_struct(c) == isinstance(value, dict)]
            if len(choices) != 1 or value is None:
                return shape
            shape = choices[0]
        else:
            return shape


def _is_struct(bare: Any) -> bool:
    return isinstance(bare, type) and issubclass(bare, msgspec.Struct)


def _is_list(bare: Any) -> bool:
    return typing.get_origin(bare) in (list, tuple)


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def _listed(values: list[Any]) -> str:
    return ", ".join(str(value) for value in values)


def _escaped(name: str | int) -> str:
    return str(name).replace("~", "~0").replace("/", "~1")
