"""CloudEvents 1.0 over HTTP, structured and binary, as events.

The members of an event's data are its attributes, as in an event that is posted plainly. The context attributes are
in `cloudevent`: a condition names `cloudevent.type`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote

from starlette.datastructures import Headers

from tocsin.records.geojson import as_record
from tocsin.service.names import integral
from tocsin.service.problems import Problem

CONTEXT: Final = "cloudevent"
ROUTE: Final = "cloudevents"
"""Under which their keys are kept."""
_REQUIRED: Final = ("id", "source", "type")
_NAME: Final = re.compile(r"[a-z0-9]{1,64}")
_MOST: Final = 1024
"""Characters of a context attribute, and of the id and the source together."""


def is_binary(headers: Headers) -> bool:
    """Whether a request is a CloudEvent whose context is in headers."""
    return "ce-specversion" in headers


def of_headers(headers: Headers, data: Any) -> tuple[dict[str, Any], str]:
    """The event of a request in binary mode, and its key."""
    context: dict[str, Any] = {}
    for name, value in headers.items():
        if name.startswith("ce-"):
            context[name[3:]] = unquote(value, errors="replace")
    return _event(context, data)


def of_document(document: Any) -> tuple[dict[str, Any], str]:
    """The event of a document in structured mode, and its key."""
    if not isinstance(document, dict):
        raise _wrong("a CloudEvent is a JSON object")
    if "data_base64" in document:
        raise _wrong("data is a JSON object here, not base64")
    context = {name: value for name, value in document.items() if name != "data"}
    for name in context:
        _require_name(name)
    return _event({name: value for name, value in context.items() if value is not None}, document.get("data"))


def _event(context: Mapping[str, Any], data: Any) -> tuple[dict[str, Any], str]:
    if context.get("specversion") != "1.0":
        raise _wrong(f"specversion is {str(context.get('specversion'))!r:.20}; it is 1.0")
    for name in _REQUIRED:
        if not isinstance(context.get(name), str) or not context[name]:
            raise _wrong(f"{name} is missing, or not a text")
    for name, value in context.items():
        _require_name(name)
        if not isinstance(integral(value), str | int | bool) or len(str(value)) > _MOST:
            raise _wrong(f"the context attribute {name!r:.40} is not one of CloudEvents")
    if not isinstance(data, dict):
        raise _wrong("data is not a JSON object")
    record = as_record(data)
    if CONTEXT in record:
        raise _wrong(f"data has a member {CONTEXT}, where the context goes")
    return {**record, CONTEXT: dict(context)}, f"{context['source']}\n{context['id']}"


def _require_name(name: str) -> None:
    """Also of an attribute that is null, which says that it is absent."""
    if not _NAME.fullmatch(name):
        raise _wrong(f"the context attribute {name!r:.40} is not one of CloudEvents")


def compared(event: Mapping[str, Any]) -> bytes:
    """What is the same if an event comes again, also in another mode.

    Binary mode has no order of attributes, and the type of the data is that of the body.
    """
    context = {name: value for name, value in event[CONTEXT].items() if name != "datacontenttype"}
    return json.dumps({**event, CONTEXT: context}, sort_keys=True).encode()


def _wrong(detail: str) -> Problem:
    return Problem(422, "cloudevent", f"{detail}; see https://cloudevents.io")
