"""Whether an answer is what the OpenAPI document says of it."""

import json
import re
from functools import cache
from typing import Any

import httpx
import jsonschema_rs

from tenure.surfaces.api.application import described

_UNDOCUMENTED = {405, 500}
"""Answers of no operation: another method, and a bug."""


def check_documented(answer: httpx.Response) -> None:
    """Assert that its operation promises the status, the media type, the headers and the body."""
    operation = _operation(answer.request.method, answer.request.url.path)
    if operation is None or answer.status_code in _UNDOCUMENTED:
        return
    promised = operation["responses"][str(answer.status_code)]
    for name in promised.get("headers", {}):
        if name != "Location" or "dry_run" not in answer.request.url.query.decode():
            assert name.lower() in answer.headers, f"{name} is promised for {operation['operationId']}"
    if "content" not in promised:
        assert answer.content == b""
        return
    media = answer.headers["content-type"]
    assert media in promised["content"]
    content = promised["content"][media]
    if media.endswith("json"):
        validate(content["schema"], answer.json())


def validate(schema: dict[str, Any], value: Any) -> None:
    """Assert that a value is as a schema of the document says."""
    _validator(json.dumps(schema)).validate(value)


@cache
def _validator(schema: str) -> Any:
    return jsonschema_rs.Draft202012Validator({**json.loads(schema), "components": described()["components"]})


def _operation(method: str, path: str) -> Any:
    for template, methods in described()["paths"].items():
        if method.lower() in methods and re.fullmatch(re.sub(r"{\w+}", "[^/]+", template), path):
            return methods[method.lower()]
    return None
