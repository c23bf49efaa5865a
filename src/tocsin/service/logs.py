"""The log of a server, on standard error: lines of text, or of JSON.

Times are ISO 8601 in UTC. Whatever a record quotes, its line has no control character: neither the lines of others nor
a terminal can be changed by what somebody sent.
"""

from __future__ import annotations

import json
import logging
import sys
from typing import Any, Final

from tocsin.service.times import time_text
from tocsin.service.tracing import ACCESS, current
from tocsin.spelling import printable

TEXT, JSON = "text", "json"
FORMATS: Final = (TEXT, JSON)
_MOST_TEXT: Final = 8192
"""Characters of a message, and of a traceback."""


def configure(form: str, *, access: bool) -> None:
    """Write the logs of this process in one of `FORMATS`, with or without a line for each request."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines() if form == TEXT else JsonLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.captureWarnings(form == JSON)  # lines of text are as those of other commands
    logging.getLogger("tocsin.service").setLevel(logging.INFO)
    ACCESS.setLevel(logging.INFO if access else logging.WARNING)


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    """What a record has beside its message: what its logger added, and the request that it is about."""
    fields = dict(getattr(record, "fields", {}))
    trace = current()
    if trace is not None:
        fields["request_id"] = trace.id
        if trace.parent is not None:
            fields["traceparent"] = trace.parent
    return fields


def _message(record: logging.LogRecord) -> str:
    return printable(record.getMessage().strip()[:_MOST_TEXT])


def _traceback(formatter: logging.Formatter, record: logging.LogRecord) -> list[str]:
    """The lines of an error. Of a long one, the end says what happened."""
    if not record.exc_info:
        return []
    text = formatter.formatException(record.exc_info)[-_MOST_TEXT:]
    return [printable(line) for line in text.splitlines()]


class Lines(logging.Formatter):
    """Lines of text: time, level, logger and message, then the request. Lines of a traceback are indented."""

    def format(self, record: logging.LogRecord) -> str:
        fields = _fields(record)
        names = ("token", "tenant", "request_id", "traceparent")
        shown = "".join(f" {name}={fields[name]}" for name in names if name in fields)
        time = time_text(int(record.created * 1000))
        lines = [f"{time} {record.levelname} {record.name}: {_message(record)}{printable(shown)}"]
        return "\n    ".join([*lines, *_traceback(self, record)])


class JsonLines(logging.Formatter):
    """A JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        document: dict[str, Any] = {
            "time": time_text(int(record.created * 1000)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _message(record),
        }
        for name, value in _fields(record).items():
            document[name] = printable(value) if isinstance(value, str) else value
        if lines := _traceback(self, record):
            document["traceback"] = lines
        return json.dumps(document)
