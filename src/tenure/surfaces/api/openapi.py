"""The OpenAPI 3.1 document, made from the same operations and schemas that serve."""

import json
import re
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

import msgspec

from tenure import __version__
from tenure.model.answers import Failure
from tenure.surfaces.api.auth import OPEN
from tenure.surfaces.api.imports import SHAPES
from tenure.surfaces.api.operations import JSON, Noun, Operation
from tenure.surfaces.api.problems import PROBLEM, TITLES, Problem, Unauthenticated, problem_of, status_of
from tenure.surfaces.api.schemas import Reference

_REF = "#/components/schemas/{name}"

_EVERY_READ = ("invalid_value", "epoch_changed", "store_unavailable")
_EVERY_CHANGE = ("not_permitted", "invalid_value", "stale_revision", "store_unavailable", "outcome_unknown")
_EVERY_BODY = ("malformed", "too_large", "unsupported_media_type")

Schema = dict[str, Any]


def document(nouns: Iterable[Noun]) -> Schema:
    """The whole document."""
    operations = [operation for noun in nouns for operation in noun.operations]
    schemas = _Schemas(operations)
    paths: dict[str, Schema] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tenure",
            "version": __version__,
            "summary": "Tenure owns the IP addresses of the networks it manages.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{"bearer": []}],
        "tags": [{"name": name} for name in dict.fromkeys(operation.noun for operation in operations)],
        "paths": paths,
        "components": {
            "schemas": schemas.reached_from(paths),
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


class _Schemas:
    """The schemas of all shapes, each named once."""

    def __init__(self, operations: list[Operation]) -> None:
        shapes: list[Any] = [Problem, Reference, *SHAPES.values()]
        for operation in operations:
            shapes += [operation.query, operation.body or Problem]
            shapes += [shape or Problem for shape in operation.gives.values()]
        schemas, self.components = msgspec.json.schema_components(shapes, ref_template=_REF)
        self._of = {id(shape): schema for shape, schema in zip(shapes, schemas, strict=True)}
        self._kept = shapes  # so that ids stay theirs
        self.components["Problem"]["additionalProperties"] = True
        self.components["ImportIn"]["properties"]["items"]["items"] = self._import_item()

    def of(self, shape: Any) -> Schema:
        """The schema, or a reference to it."""
        return self._of[id(shape)]

    def fields(self, shape: Any) -> tuple[dict[str, Schema], list[str]]:
        """The schemas of an object's fields, and which are required."""
        whole = self.components[self.of(shape)["$ref"].rpartition("/")[2]]
        return whole.get("properties", {}), whole.get("required", [])

    def reached_from(self, paths: Schema) -> Schema:
        """Those that the paths refer to, directly or by way of others: queries were only taken apart."""
        reached: Schema = {}
        waiting = _references(paths)
        while waiting:
            name = waiting.pop()
            if name not in reached:
                reached[name] = self.components[name]
                waiting |= _references(reached[name])
        return dict(sorted(reached.items()))

    def _import_item(self) -> Schema:
        kinds: dict[str, list[str]] = {}
        for kind, shape in SHAPES.items():
            kinds.setdefault(self.of(shape)["$ref"], []).append(kind)
        return {
            "oneOf": [
                {"allOf": [{"$ref": ref}], "required": ["kind"], "properties": {"kind": {"enum": names}}}
                for ref, names in kinds.items()
            ]
        }


def _references(value: Any) -> set[str]:
    return set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(value, default=str)))


def _operation(operation: Operation, schemas: _Schemas) -> Schema:
    found: Schema = {
        "operationId": operation.name,
        "tags": [operation.noun],
        "summary": operation.summary,
        "parameters": [*_path_parameters(operation, schemas), *_query_parameters(operation, schemas)],
        "responses": _responses(operation, schemas),
    }
    if operation.description:
        found["description"] = re.sub(r"\n +", "\n", operation.description)
    if operation.changes:
        found["parameters"] += _headers(operation)
    if operation.path in OPEN:
        found["security"] = []
    if operation.body is not None:
        found["requestBody"] = {
            "required": not operation.optional,
            "content": {JSON: {"schema": schemas.of(operation.body), "example": operation.example}},
        }
    return found


def _path_parameters(operation: Operation, schemas: _Schemas) -> list[Schema]:
    names = re.findall(r"{(\w+)}", operation.path)
    schema = schemas.of(Reference)
    return [{"name": name, "in": "path", "required": True, "schema": schema} for name in names]


def _query_parameters(operation: Operation, schemas: _Schemas) -> list[Schema]:
    fields, required = schemas.fields(operation.query)
    return [
        {"name": name, "in": "query", "required": name in required, "schema": _without_null(schema)}
        for name, schema in fields.items()
        if schema.get("type") != "null"
    ]


def _without_null(schema: Schema) -> Schema:
    """A parameter is there or not: it is never null."""
    choices = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    return choices[0] if len(choices) == 1 else schema


def _headers(operation: Operation) -> list[Schema]:
    headers = [_header("If-Match", "The revision that it must have, as in `ETag`; else 412.", '"3"')]
    if operation.method == "POST":
        text = "Sent again with the same request, it brings the same answer back; with another one, 422 `key_reused`."
        headers.append(_header("Idempotency-Key", text, "5b1d8c1e-order-17"))
    return headers


def _header(name: str, description: str, example: str) -> Schema:
    schema = {"type": "string", "maxLength": 255, "examples": [example]}
    return {"name": name, "in": "header", "required": False, "description": description, "schema": schema}


def _responses(operation: Operation, schemas: _Schemas) -> Schema:
    found: Schema = {}
    for status, shape in operation.gives.items():
        found[str(status)] = _response(operation, status, shape, schemas)
    by_status: dict[int, list[str]] = {}
    for code in _codes(operation):
        by_status.setdefault(status_of(code), []).append(code)
    if operation.path not in OPEN:
        found["401"] = _problem("No token, or one that is not known", [Unauthenticated("Send a token.")])
    for status, codes in sorted(by_status.items()):
        found.setdefault(str(status), _refusal(codes))
    return found


def _response(operation: Operation, status: int, shape: Any, schemas: _Schemas) -> Schema:
    response: Schema = {
        "description": HTTPStatus(status).phrase,
        "headers": {"Tenure-Sequence": _answer_header("Place in the ledger that the answer reflects.", "5f1c:4711")},
    }
    if shape is not None:
        example = msgspec.to_builtins(operation.answers[status])
        response["content"] = {operation.media: {"schema": schemas.of(shape), "example": example}}
        for media, text in operation.texts.items() if status == HTTPStatus.OK else ():
            response["content"][media] = _written(media, text)
        if "revision" in (example if isinstance(example, dict) else {}):
            response["headers"]["ETag"] = _answer_header("The revision.", '"3"')
    if status in (201, 202):
        response["headers"]["Location"] = _answer_header("Where it is from now on.", operation.path + "/4f1d2c3b4a59")
    return response


def _written(media: str, text: str) -> Schema:
    """An answer that is not made by msgspec: text, or JSON of somebody else's schema."""
    if media == JSON:
        return {"schema": {"type": "object"}, "example": json.loads(text)}
    return {"schema": {"type": "string"}, "example": text}


def _answer_header(description: str, example: str) -> Schema:
    return {"description": description, "schema": {"type": "string"}, "example": example}


def _codes(operation: Operation) -> list[str]:
    codes = list(operation.refusals)
    if operation.path.startswith("/v1/"):
        codes += _EVERY_CHANGE if operation.changes else _EVERY_READ
    else:
        codes.append("invalid_value")
    if operation.method == "POST":
        codes.append("key_reused")
    if operation.body is not None:
        codes += _EVERY_BODY
    return list(dict.fromkeys(codes))


def _refusal(codes: list[str]) -> Schema:
    return _problem("; ".join(TITLES[code] for code in codes), [Failure(code, TITLES[code] + ".") for code in codes])


def _problem(description: str, examples: list[Any]) -> Schema:
    values = {each.code: {"value": problem_of(each)} for each in examples}
    schema = {"$ref": _REF.format(name="Problem")}
    return {"description": description, "content": {PROBLEM: {"schema": schema, "examples": values}}}
