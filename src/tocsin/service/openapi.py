"""The OpenAPI 3.1 document of all calls, and the same as a page without scripts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from http import HTTPStatus
from typing import Any

import tocsin
from tocsin.service.api import Call
from tocsin.service.problems import MEDIA_TYPE
from tocsin.service.schemas import SCHEMAS

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif } body { max-width: 60rem; margin: 2rem auto;
padding: 0 1rem } code { font-size: 0.95em } h2 { border-top: 1px solid #8888; padding-top: 1rem; font-size: 1.1rem }
table { border-collapse: collapse } td { padding: 0.1rem 1rem 0.1rem 0; vertical-align: top }
"""


_TOKEN = "`tocsin token create` makes one. The cookie of a session stands for it, too: POST /v1/session"


def document(calls: Sequence[Call]) -> dict[str, Any]:
    """The OpenAPI document."""
    paths: dict[str, dict[str, Any]] = {}
    for call in calls:
        paths.setdefault(call.path, {})[call.method.lower()] = _operation(call)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "tocsin",
            "version": tocsin.__version__,
            "summary": "Matches events against standing subscriptions, and delivers the matches.",
        },
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "description": _TOKEN}},
        },
    }


def _operation(call: Call) -> dict[str, Any]:
    names = re.findall(r"{(\w+)}", call.path)
    parameters = [{"name": one, "in": "path", "required": True, "schema": {"type": "string"}} for one in names]
    parameters += [
        {"name": one.name, "in": one.place, "description": one.about, "schema": dict(one.schema)}
        for one in call.options
    ]
    operation: dict[str, Any] = {
        "operationId": f"{call.method.lower()}{re.sub(r'[^a-z0-9]+', '_', call.path.lower()).rstrip('_')}",
        "summary": call.about,
        "parameters": parameters,
        "responses": _responses(call),
    }
    if call.scopes:  # none is needed where there are no tokens
        operation["security"] = [{"token": [scope]} for scope in call.scopes] + [{}]
    if call.takes:
        content = {kind: {"schema": _reference(name)} for kind, name in call.takes.items()}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _responses(call: Call) -> dict[str, Any]:
    schema = {"type": "string"} if call.gives is None else _reference(call.gives)
    good: dict[str, Any] = {"description": HTTPStatus(call.status).phrase}
    if call.status != HTTPStatus.NO_CONTENT:
        others = {kind: {"schema": _reference(name)} for kind, name in call.gives_for.items()}
        good["content"] = {call.media_type: {"schema": schema}, **others}
    responses = {str(call.status): good}
    if call.method in ("PUT",):
        responses["201"] = {**good, "description": HTTPStatus.CREATED.phrase}
    denied = (401, 403) if call.scopes else ()
    for status in sorted({*call.problems, *denied, 421}):
        content = {MEDIA_TYPE: {"schema": _reference("Problem")}}
        responses[str(status)] = {"description": HTTPStatus(status).phrase, "content": content}
    return responses


def _reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def page(calls: Sequence[Call]) -> str:
    """The calls as a page."""
    parts = [
        "<!doctype html><html lang='en'><meta charset='utf-8'><meta name='viewport' content='width=device-width'>",
        f"<title>tocsin: the HTTP interface</title><style>{_STYLE}</style><h1>The HTTP interface of tocsin</h1>",
        "<p>The same as a document: <a href='/openapi.json'>/openapi.json</a></p>",
    ]
    for call in calls:
        parts.append(f"<h2><code>{call.method} {escape(call.path)}</code></h2><p>{escape(call.about)}.</p><table>")
        rows = [(one.name, one.about) for one in call.options]
        rows += [("body", f"{name} ({kind})") for kind, name in call.takes.items()]
        rows += [("answer", f"{call.status}, {call.gives or call.media_type}")]
        if call.scopes:
            rows.append(("scope", " or ".join(call.scopes)))
        parts += [f"<tr><td><code>{escape(name)}</code></td><td>{escape(about)}</td></tr>" for name, about in rows]
        parts.append("</table>")
    return "".join(parts)
