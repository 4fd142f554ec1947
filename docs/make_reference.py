"""Makes docs/reference/api.md and events.md from the code: `python -m docs.make_reference`."""

import json
import typing
from pathlib import Path
from typing import Any

import msgspec

from tenure.model import events
from tenure.surfaces.api.application import described

_REFERENCE = Path(__file__).parent / "reference"

_CONVENTIONS = """\
# The REST API

Made from the same operations that serve, by `docs/make_reference.py`. The whole document, with every schema, is
`/openapi.json` (OpenAPI 3.1), and a page to read is `/docs`.

- **Who asks.** `Authorization: Bearer TOKEN` on everything but `/healthz` and `/readyz`; `/docs` and `/openapi.json`
  are open on loopback. A viewer may read, an admin may change.
- **Errors** are `application/problem+json` (RFC 9457) with a stable `code`, a JSON `pointer` to the field and the
  `allowed` values where they can be listed; [errors](errors.md) has them all. Unknown fields and parameters are refused
  by name; so is a field of a later release.
- **Lists** take `limit` (at most 1000) and the cursor `after`, and answer `{"items": […], "next": …}`.
- **Changes** take `?dry_run=true` (answers what would happen, records nothing) and `If-Match` with the revision from
  `ETag`; every POST takes `Idempotency-Key`: sent again it brings the same answer back, for a day.
- **Sequence.** Every answer carries `Tenure-Sequence`, the place in the ledger that it reflects; a read with
  `?at_least=` one waits until this node is there.
- **Bodies** are JSON of at most 8 MiB, batches and imports of 32 MiB.
"""

_EVENTS = """\
# Events

Every kind of event that the ledger holds and `GET /v1/events` gives, in the envelope
`{"sequence", "time", "actor", "kind", "subject", "data", "change"}`. Names are never changed. Events of one change
share `change`. `data` is what the last column names. Made from the code by `docs/make_reference.py`.

| kind | when | data |
|---|---|---|
"""


def api_page() -> str:
    """The reference of the API."""
    document = described()
    sections = [_section(tag["name"], document) for tag in document["tags"]]
    return _CONVENTIONS + "".join(sections)


def events_page() -> str:
    """The reference of the events."""
    return _EVENTS + "".join(_event(event) for event in typing.get_args(events.Event))


def _section(tag: str, document: dict[str, Any]) -> str:
    found = [
        _operation(method, path, operation, document["components"]["schemas"])
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if tag in operation["tags"]
    ]
    return f"\n## {tag.capitalize()}\n" + "".join(found)


def _operation(method: str, path: str, operation: dict[str, Any], schemas: dict[str, Any]) -> str:
    lines = [f"\n### {operation['summary']}: `{method.upper()} {path}`\n"]
    if operation.get("description"):
        lines.append(operation["description"] + "\n")
    query = [each for each in operation["parameters"] if each["in"] == "query"]
    if query:
        lines.append("Query: " + ", ".join(_parameter(each) for each in query) + ".\n")
    for content in operation.get("requestBody", {}).get("content", {}).values():
        lines += ["", *_fields(content["schema"], schemas), "```json", _json(content["example"]), "```\n"]
    lines.append(_answers(operation["responses"]))
    return "\n".join(lines).replace("\n\n\n", "\n\n")


def _parameter(parameter: dict[str, Any]) -> str:
    values = parameter["schema"].get("enum")
    return f"`{parameter['name']}`" + (f" ({', '.join(values)})" if values else "")


def _fields(schema: dict[str, Any], schemas: dict[str, Any]) -> list[str]:
    if schema.get("type") == "array":
        return [f"A list of at most {schema['maxItems']:,}, each:", "", *_fields(schema["items"], schemas)]
    whole = schemas[schema["$ref"].rpartition("/")[2]]
    required = set(whole.get("required", ()))
    rows = [
        f"| `{name}`{' (required)' if name in required else ''} | {_kind(part)} |"
        for name, part in whole["properties"].items()
    ]
    return ["| field | value |", "|---|---|", *rows, ""]


def _kind(schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(_kind(part) for part in schema["anyOf"])
    if "$ref" in schema:
        return f"`{schema['$ref'].rpartition('/')[2]}`"
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}, at most {schema.get('maxItems', 'any')}"
    bounds = [
        f"{word} {schema[name]:,}"
        for name, word in (("minimum", "from"), ("maximum", "to"), ("maxLength", "up to"))
        if name in schema
    ]
    return " ".join([schema.get("type", "object"), *bounds])


def _answers(responses: dict[str, Any]) -> str:
    shown = [
        content["example"]
        for answer in responses.values()
        for content in answer.get("content", {}).values()
        if "example" in content
    ]
    told = ", ".join(f"{status} ({_codes(answer) or answer['description']})" for status, answer in responses.items())
    first = shown[0] if shown else None
    example = first if isinstance(first, str) else _json(first)
    return f"Answers: {told}.\n" + (f"\n```json\n{example.rstrip()}\n```\n" if shown else "")


def _codes(answer: dict[str, Any]) -> str:
    for content in answer.get("content", {}).values():
        if "examples" in content:
            return ", ".join(f"`{code}`" for code in content["examples"])
    return ""


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2 if len(json.dumps(value)) > 100 else None)


def _event(event: Any) -> str:
    sentence = (event.__doc__ or "").strip().partition("\n")[0]
    fields = ", ".join(f"`{field.encode_name}`" for field in msgspec.structs.fields(event))
    return f"| `{event.__struct_config__.tag}` | {sentence} | {fields} |\n"


if __name__ == "__main__":
    (_REFERENCE / "api.md").write_text(api_page())
    (_REFERENCE / "events.md").write_text(events_page())
