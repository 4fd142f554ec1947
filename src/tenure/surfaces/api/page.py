"""The readable page of the API: the OpenAPI document as HTML, without scripts and without other servers."""

import json
from html import escape
from typing import Any

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1c2024; }
h2 { margin-top: 3rem; border-bottom: 1px solid #d9dee3; }
summary { cursor: pointer; padding: .3rem 0; }
code, pre { font: 14px/1.45 ui-monospace, monospace; }
pre { background: #f4f6f8; padding: .7rem; overflow-x: auto; }
.method { display: inline-block; min-width: 4.2rem; font-weight: 600; }
table { border-collapse: collapse; } td { padding: .15rem .8rem .15rem 0; vertical-align: top; }
@media (prefers-color-scheme: dark) { body { background: #14171a; color: #e4e8eb; } pre { background: #1f2428; } }
"""


def page(document: dict[str, Any]) -> str:
    """The page for an OpenAPI document."""
    sections = [_section(tag["name"], document) for tag in document["tags"]]
    title = f"{document['info']['title']} {document['info']['version']}"
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(title)}: the API</title>"
        f"<meta name=viewport content='width=device-width'><style>{_STYLE}</style><h1>{escape(title)}: the API</h1>"
        f"<p>{escape(document['info']['summary'])} The same as a document for programs: "
        f"<a href=/openapi.json>/openapi.json</a>. Send <code>Authorization: Bearer TOKEN</code>.</p>"
        + "".join(sections)
    )


def _section(tag: str, document: dict[str, Any]) -> str:
    operations = [
        _operation(method, path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if tag in operation["tags"]
    ]
    return f"<h2 id={tag}>{escape(tag.capitalize())}</h2>" + "".join(operations)


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")
    return (
        f"<details id={operation['operationId']}><summary><code><span class=method>{method.upper()}</span> "
        f"{escape(path)}</code> {escape(operation['summary'])}</summary>"
        f"<p>{escape(operation.get('description', ''))}</p>"
        + _parameters(operation["parameters"])
        + (f"<p>Send</p><pre>{_json(body)}</pre>" if body is not None else "")
        + "".join(_answer(status, answer) for status, answer in operation["responses"].items())
        + "</details>"
    )


def _parameters(parameters: list[dict[str, Any]]) -> str:
    rows = [
        f"<tr><td><code>{escape(each['name'])}</code><td>{each['in']}"
        f"<td>{escape(each.get('description') or each['schema'].get('description', ''))}"
        for each in parameters
    ]
    return f"<table>{''.join(rows)}</table>"


def _answer(status: str, answer: dict[str, Any]) -> str:
    shown = ""
    for content in answer.get("content", {}).values():
        if "example" in content:
            shown = f"<pre>{_json(content['example'])}</pre>"
    return f"<p><b>{status}</b> {escape(answer['description'])}</p>{shown}"


def _json(value: Any) -> str:
    return escape(value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False))
