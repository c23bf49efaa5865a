"""Errors as answers: problem details (RFC 9457), each with a type, a status and a sentence that says what to do."""

from __future__ import annotations

import errno
import json
import logging
import sqlite3
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from starlette.responses import Response

from tocsin import spelling
from tocsin.errors import (
    ExpressionError,
    InvalidInput,
    MissingExtra,
    RecordError,
    StoreError,
    TocsinError,
    UnknownSubscription,
)
from tocsin.service.tracing import Trace, completed, current

_LOG: Final = logging.getLogger("tocsin.service")
MEDIA_TYPE: Final = "application/problem+json"
_MOST_TEXT: Final = 2000
"""Characters of a message that an answer repeats."""
_MOST_FIELD: Final = 200
_FULL: Final = (
    sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_TRUNCATE,
    sqlite3.SQLITE_IOERR_SHMSIZE,
)  # fmt: skip
"""What SQLite says on a full disk, and not where a disk cannot be read."""
_NO_SPACE: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def printable(text: str, most: int = _MOST_TEXT) -> str:
    """The beginning of a text, with escapes in place of what a terminal would obey."""
    return spelling.printable(text[:most], lines=True)[:most]


def refusal(row: int, field: str | None, reason: str, **more: Any) -> dict[str, Any]:
    """The member of a report that tells of a record that was refused."""
    return {"row": row, **more, "field": printable(field, _MOST_FIELD) if field else None, "reason": printable(reason)}


class Problem(TocsinError):
    """A request that is refused. `more` are further members of the answer, and `headers` its headers."""

    def __init__(
        self, status: int, kind: str, detail: str, *, headers: Mapping[str, str] | None = None, **more: Any
    ) -> None:
        self.status, self.kind, self.detail = status, kind, printable(detail)
        self.more = {name: printable(value) if isinstance(value, str) else value for name, value in more.items()}
        self.headers = dict(headers or {})
        super().__init__(self.detail)

    def document(self) -> dict[str, Any]:
        """The members of the answer."""
        about = {
            "type": f"urn:tocsin:problem:{self.kind}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
        }
        return about | {name: value for name, value in self.more.items() if value is not None}

    def response(self) -> Response:
        """The answer."""
        return Response(self._body(current()), self.status, self.headers, MEDIA_TYPE)

    def message(self, trace: Trace) -> bytes:
        """The answer to a request as the last bytes of a connection, for what no application answers."""
        body = self._body(trace)
        own = {"content-type": MEDIA_TYPE, "content-length": str(len(body)), "connection": "close"}
        pairs = [(name.encode(), text.encode("latin-1")) for name, text in (own | self.headers).items()]
        first = f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}".encode()
        lines = [first, *(b"%s: %s" % pair for pair in completed(pairs, trace))]
        return b"\r\n".join([*lines, b"", body])

    def _body(self, trace: Trace | None) -> bytes:
        document = self.document()
        if trace is not None:
            document["request_id"] = trace.id
        return json.dumps(document, ensure_ascii=True).encode()


def unknown(what: str, name: object) -> Problem:
    """Nothing has that name."""
    return Problem(404, "unknown", f"there is no {what} {str(name)!r:.80}")


def invalid(detail: str, **more: Any) -> Problem:
    """A value that cannot be used."""
    return Problem(422, "invalid", detail, **more)


def conflict(detail: str, **more: Any) -> Problem:
    """A request that contradicts what is there."""
    return Problem(409, "conflict", detail, **more)


def disk_full() -> Problem:
    """A change that the disk has no room for."""
    return Problem(507, "full", "the disk is full; nothing of this request was stored, and nothing stored was lost")


def of_expression(error: ExpressionError) -> Problem:
    """A condition that cannot be understood, with the place and what to write."""
    reason, _, hint = error.reason.partition("; ")
    place = {"line": error.line, "column": error.column} if error.offset is not None else {}
    shown = str(error).partition("\n")[2]
    caret = spelling.UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", shown) or None  # as wide as before
    return invalid(error.reason, field="where", **place, reason=reason, hint=hint or None, caret=caret)


def of_error(error: Exception) -> Problem:
    """The answer to an error of the library."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, ExpressionError):
        return of_expression(error)
    if isinstance(error, RecordError):
        return invalid(error.reason, field=error.field or None)
    if isinstance(error, UnknownSubscription):
        return Problem(404, "unknown", str(error))
    if isinstance(error, InvalidInput | MissingExtra):  # such as for rules in a language whose package is missing
        return invalid(str(error))
    if is_full(error):
        return disk_full()
    if isinstance(error, StoreError):
        _LOG.error("a request failed: %s", error)  # which names folders of the server
        return Problem(
            503, "store", "the store cannot be used now; the log has the reason", headers={"Retry-After": "1"}
        )
    return Problem(500, "internal", "the server failed; its log has the reason")


def partly(error: Exception, stored: int, *, has_key: bool) -> Problem:
    """The error of a bulk whose first lines were stored before it.

    With `has_key`, the request has a key or one for each line.
    """
    again = "send it again with the same keys, which stores no line twice" if has_key else "send the others again"
    what = f"the first {stored:,} lines of the request are stored, and the others are not"
    return _stored(error, f"{what}: {again}", stored)


def undelivered(error: Exception, what: str, *, has_key: bool, stored: int | None = None) -> Problem:
    """The error of a request that is done, with so many lines that are `stored`, whose deliveries are made later."""
    again = "send it again with the same key, or not at all" if has_key else "do not send it again"
    return _stored(error, f"{what}, and its deliveries are made later: {again}", stored)


def _stored(error: Exception, what: str, stored: int | None) -> Problem:
    problem = of_error(error)
    reason = problem.detail.partition("; nothing of this request was stored")[0]
    more = {**problem.more, "stored": stored}
    return Problem(problem.status, problem.kind, f"{reason}; {what}", headers=problem.headers, **more)


def is_full(error: BaseException | None) -> bool:
    """Whether a full disk, or a database at its limit, refused a change."""
    while error is not None:
        if isinstance(error, OSError):
            return error.errno in _NO_SPACE
        if isinstance(error, sqlite3.OperationalError):
            return getattr(error, "sqlite_errorcode", 0) in _FULL
        error = error.__cause__
    return False
