"""The parts of a template: which a kind has, their schema, and their check."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from tocsin.service.deliver.protocols import Sending
from tocsin.service.names import only
from tocsin.service.problems import invalid

TEMPLATE: Final = "template"
HEADERS: Final = "headers"
"""The part that has a text for each name."""
_MOST_TEXT: Final = 16_384
_MOST_HEADERS: Final = 20
_TEXT: Final = {"type": "string", "maxLength": _MOST_TEXT}


def schema(kind: Sending) -> dict[str, Any]:
    """The schema of the templates of a kind."""
    parts = {part: dict(_TEXT) for part in kind.parts if part != HEADERS}
    if HEADERS in kind.parts:
        names = {"propertyNames": {"pattern": f"^(?:{kind.header_pattern})$"}} if kind.header_pattern else {}
        parts[HEADERS] = {
            "type": "object", "additionalProperties": dict(_TEXT), "maxProperties": _MOST_HEADERS, **names
        }  # fmt: skip
    return {"type": "object", "properties": parts, "additionalProperties": False}


def checked_template(kind: Sending, template: object) -> dict[str, Any]:
    """The parts of a template as they are stored, none of them empty; raises a `Problem`. It parses nothing."""
    if not isinstance(template, dict):
        raise invalid(f"template is an object with some of {', '.join(kind.parts)}", field=TEMPLATE)
    only(template, frozenset(kind.parts), f"template of kind {kind.name}")
    parts = {part: _part(kind, part, content) for part, content in template.items()}
    return {part: content for part, content in parts.items() if content}


def _part(kind: Sending, part: str, content: object) -> str | dict[str, str]:
    if part != HEADERS:
        return _text(content, part)
    if not isinstance(content, dict) or len(content) > _MOST_HEADERS:
        raise invalid(f"{TEMPLATE}.{HEADERS} is an object with at most {_MOST_HEADERS} texts", field=TEMPLATE)
    for name in content:
        if not re.fullmatch(kind.header_pattern, name):
            raise invalid(f"{TEMPLATE}.{HEADERS} has {name!r:.80}, which a template may not name", field=TEMPLATE)
    return {name: _text(text, f"{HEADERS}.{name}") for name, text in content.items()}


def _text(content: object, place: str) -> str:
    if not isinstance(content, str) or len(content) > _MOST_TEXT:
        raise invalid(f"{TEMPLATE}.{place} is a text of at most {_MOST_TEXT:,} characters", field=TEMPLATE)
    return content


def stored_template(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The template among the options of a destination."""
    return options.get(TEMPLATE)
