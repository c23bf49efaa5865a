"""The OpenAPI 3.1 document of all calls, and the same as a page without scripts."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html import escape
from http import HTTPStatus
from typing import Any, Final

import tocsin
from tocsin.service.api import Call
from tocsin.service.deliver import documents
from tocsin.service.deliver.kinds import sending_kinds
from tocsin.service.document_rules import WHOLE, with_rules
from tocsin.service.examples import EXAMPLES, LINES, OF_ANSWERS
from tocsin.service.problems import MEDIA_TYPE
from tocsin.service.schemas import SCHEMAS
from tocsin.service.sent import SCHEMAS as SENT
from tocsin.service.sent import STREAM, STREAM_EXAMPLE

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif } body { max-width: 60rem; margin: 2rem auto;
padding: 0 1rem } code { font-size: 0.95em } h2 { border-top: 1px solid #8888; padding-top: 1rem }
h3 { font-size: 1.1rem } table { border-collapse: collapse } td { padding: 0.1rem 1rem 0.1rem 0; vertical-align: top }
"""


_TOKEN = "`tocsin token create` makes one. The cookie of a session stands for it, too: POST /v1/session"


TAGS: Final = {
    "events": ("Publishing", r"/v1/events"),
    "subscriptions": ("Standing conditions on events", r"/v1/(subscriptions|activity|regions)"),
    "matching": ("Questions that store nothing", r"/v1/(match|check|explain|dry-run)"),
    "webhooks": (
        "Destinations to which the service sends",
        r"/v1/destinations/{id}/(enable|rotate-secret|replay|dead-letters|attempts|test|preview)",
    ),
    "deliveries": ("What destinations got", r"/v1/(destinations/{id}/(deliveries|ack|stream)|stream)"),
    "destinations": ("Where matches are delivered", r"/v1/destinations"),
    "windows": ("The best recent messages for each subscription", r"/v1/windows"),
    "fences": ("Objects that enter and leave subscriptions", r"/v1/fences"),
    "access": ("Sessions and the audit log", r"/v1/(session|audit)"),
    "operations": ("The server itself", r"/(healthz|readyz|metrics|openapi.json|docs|v1/clock)"),
}
"""Groups of calls: what each is, and its paths. The first one that has a path counts."""
_HEADERS: Final = {
    "X-Request-Id": "The id of the request, by which logs name it: the one that was sent, or a new one",
    "ETag": "The version, for If-Match",
    "Location": "The path of what was made",
    "Retry-After": "In how many seconds to try again",
    "WWW-Authenticate": "Which token is needed",
    "Idempotent-Replayed": "true, if the same request came before and this is its answer",
}
_OF_STATUS: Final = {201: "Location", 401: "WWW-Authenticate", 403: "WWW-Authenticate", 429: "Retry-After",
                     503: "Retry-After"}  # fmt: skip


def document(calls: Sequence[Call]) -> dict[str, Any]:
    """The OpenAPI document."""
    paths: dict[str, dict[str, Any]] = {}
    for call in calls:
        paths.setdefault(call.path, {})[call.method.lower()] = _operation(call)
    schemas = {**SCHEMAS, **documents.schemas()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "tocsin",
            "version": tocsin.__version__,
            "summary": "Matches events against standing subscriptions, and delivers the matches.",
        },
        "servers": [{"url": "/", "description": "The server that this document is from"}],
        "tags": [{"name": name, "description": about} for name, (about, _) in TAGS.items()],
        "paths": paths,
        "webhooks": {name: item for kind in sending_kinds() for name, item in kind.requests().items()},
        "components": {
            "schemas": {name: with_rules(name, schema) for name, schema in schemas.items()} | SENT,
            "headers": {name: {"description": about, "schema": {"type": "string"}} for name, about in _HEADERS.items()},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "description": _TOKEN}},
        },
    }


def tag_of(call: Call) -> str:
    """The group of a call."""
    return next(name for name, (_, paths) in TAGS.items() if re.match(rf"{paths}(/|$)", call.path))


def _operation(call: Call) -> dict[str, Any]:
    names = re.findall(r"{(\w+)}", call.path)
    parameters = [{"name": one, "in": "path", "required": True, "schema": {"type": "string"}} for one in names]
    parameters += [
        {"name": one.name, "in": one.place, "description": one.about, "schema": dict(one.schema)}
        for one in call.options
    ]
    operation: dict[str, Any] = {
        "operationId": f"{call.method.lower()}{re.sub(r'[^a-z0-9]+', '_', call.path.lower()).rstrip('_')}",
        "tags": [tag_of(call)],
        "summary": call.about,
        "parameters": parameters,
        "responses": _responses(call),
    }
    if call.scopes:  # none is needed where there are no tokens
        operation["security"] = [{"token": [scope]} for scope in call.scopes] + [{}]
    if call.takes:
        content = {kind: _content(name, _request_example(call, name)) for kind, name in call.takes.items()}
        whole = {**WHOLE, "Destination": documents.rules()}
        for kind, name in call.takes.items():
            if name in whole and call.method != "PATCH":
                content[kind]["schema"] = {"allOf": [_reference(name), whole[name]]}
        operation["requestBody"] = {"required": not call.may_be_empty, "content": content}
    return operation


def _content(name: str, example: Any) -> dict[str, Any]:
    return {"schema": _reference(name)} | ({} if example is None else {"example": example})


def _request_example(call: Call, name: str) -> Any:
    """An example of a body; None of one that is not text."""
    if name == "Lines":
        return json.dumps(LINES.get(call.path, EXAMPLES["Event"])) + "\n"
    return EXAMPLES.get(name)


def _responses(call: Call) -> dict[str, Any]:
    good: dict[str, Any] = {"description": HTTPStatus(call.status).phrase, "headers": _headers(*call.tells)}
    if call.status != HTTPStatus.NO_CONTENT:
        good["content"] = _answer_content(call)
    responses = {str(call.status): good}
    if call.method == "PUT":
        made = {"description": HTTPStatus.CREATED.phrase, "headers": _headers(*call.tells, _OF_STATUS[201])}
        responses["201"] = {**good, **made}
    if call.is_versioned:
        responses["304"] = {"description": "The client has this version", "headers": _headers("ETag")}
    denied = (401, 403) if call.scopes else ()
    for status in sorted({*call.problems, *denied, 421}):
        content = {MEDIA_TYPE: {"schema": _reference("Problem")}}
        more = (_OF_STATUS[status],) if status in _OF_STATUS else ()
        responses[str(status)] = {
            "description": HTTPStatus(status).phrase, "headers": _headers(*more), "content": content,
        }  # fmt: skip
    return responses


def _answer_content(call: Call) -> dict[str, Any]:
    if call.media_type == "text/event-stream":
        return {call.media_type: _content(STREAM, STREAM_EXAMPLE)}
    if call.gives is None:
        return {call.media_type: {"schema": {"type": "string"}}}
    example = OF_ANSWERS.get(call.gives, EXAMPLES.get(call.gives))
    others = {kind: {"schema": _reference(name)} for kind, name in call.gives_for.items()}
    return {call.media_type: _content(call.gives, example), **others}


def _headers(*names: str) -> dict[str, dict[str, str]]:
    """Some headers, with the one that all answers have."""
    return {name: {"$ref": f"#/components/headers/{name}"} for name in ("X-Request-Id", *names)}


def _reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def page(calls: Sequence[Call]) -> str:
    """The calls as a page."""
    parts = [
        "<!doctype html><html lang='en'><meta charset='utf-8'><meta name='viewport' content='width=device-width'>",
        f"<title>tocsin: the HTTP interface</title><style>{_STYLE}</style><h1>The HTTP interface of tocsin</h1>",
        "<p>The same as a document: <a href='/openapi.json'>/openapi.json</a></p>",
    ]
    for name, (about, _) in TAGS.items():
        parts.append(f"<h2>{name.capitalize()}</h2><p>{escape(about)}.</p>")
        parts += [_section(call) for call in calls if tag_of(call) == name]
    return "".join(parts)


def _section(call: Call) -> str:
    rows = [(one.name, one.about) for one in call.options]
    rows += [("body", f"{name} ({kind})") for kind, name in call.takes.items()]
    rows += [("answer", f"{call.status}, {call.gives or call.media_type}")]
    if call.scopes:
        rows.append(("scope", " or ".join(call.scopes)))
    cells = [f"<tr><td><code>{escape(name)}</code></td><td>{escape(about)}</td></tr>" for name, about in rows]
    head = f"<h3><code>{call.method} {escape(call.path)}</code></h3><p>{escape(call.about)}.</p>"
    return f"{head}<table>{''.join(cells)}</table>"
