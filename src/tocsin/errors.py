"""Every error that tocsin raises.

    TocsinError
    ├── InvalidInput            (also a ValueError) a value that the caller gave cannot be used
    │   ├── ExpressionError         an expression cannot be understood: line, column, caret, what was expected
    │   │   └── UnsupportedError        it is CQL2 that this version does not evaluate yet
    │   ├── RecordError             a record (event or subscription) cannot be used: row, id, field, reason
    │   ├── DuplicateSubscription   the id is taken
    │   ├── UnknownIndex            no registered index has that name, or it has no such option
    │   └── UnsuitableIndex         an index that was asked for by name cannot hold some subscription
    ├── UnknownSubscription     (also a KeyError) no subscription has that id
    ├── ServiceError            a service refused a request of a client, or could not be reached
    ├── LeftOut                 an answer was too large for what was asked of it
    ├── HalfChanged             a change failed halfway, and the object can no longer be used
    ├── StoreError              a store (of an engine, fences or a window) cannot be opened or written
    ├── SegmentError            files of an index are missing, damaged or of another version
    └── MissingExtra            (also an ImportError) an optional dependency is not installed

A message says what came, what is allowed, and what to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any


class TocsinError(Exception):
    """The root of every error that tocsin raises on purpose."""


class InvalidInput(TocsinError, ValueError):
    """A value that the caller gave cannot be used; the error is also a `ValueError`."""


class ExpressionError(InvalidInput):
    """An expression cannot be understood.

    `str(error)` shows the line with a caret below the position.

    Attributes
    ----------
    reason : str
        The message in one line.
    text : str
        The whole expression.
    offset : int or None
        The position in `text`, in code points from 0; None if the error has no position.
    line, column : int
        The same position, both counted from 1; 0 without a position.

    Examples
    --------
    >>> from tocsin.language import parse
    >>> try:
    ...     parse("price = 1 AND size ?")
    ... except ExpressionError as error:
    ...     (error.line, error.column)
    (1, 20)
    """

    def __init__(self, reason: str, text: str = "", offset: int | None = None) -> None:
        self.reason = reason
        self.text = text
        self.offset = offset
        self.line, self.column = _place(text, offset)
        super().__init__(self._render())

    def _render(self) -> str:
        if self.offset is None:
            return self.reason
        source = self.text.split("\n")[self.line - 1] if self.text else ""
        shown, caret = _window(source, self.column)
        return f"line {self.line}, column {self.column}: {self.reason}\n  {shown}\n  {' ' * caret}^"

    def __reduce__(self) -> tuple[type[ExpressionError], tuple[str, str, int | None]]:
        return type(self), (self.reason, self.text, self.offset)


class UnsupportedError(ExpressionError):
    """Valid CQL2 that this version does not evaluate yet; the message names the function."""


def in_field(field: str, reason: str) -> str:
    """The reason, preceded by the field that is to blame if there is one."""
    return f"{field}: {reason}" if field else reason


class RecordError(InvalidInput):
    """A record (an event, a message or a subscription) cannot be used as a whole.

    Attributes
    ----------
    reason : str
        The message, without the field.
    field : str
        The field that is to blame; empty if no single one is.
    """

    def __init__(self, reason: str, field: str = "") -> None:
        self.reason = reason
        self.field = field
        super().__init__(in_field(field, reason))

    def __reduce__(self) -> tuple[type[RecordError], tuple[str, str]]:
        return type(self), (self.reason, self.field)


class DuplicateSubscription(InvalidInput):
    """A subscription with that id exists already."""


class UnknownSubscription(TocsinError, KeyError):
    """No subscription has that id; the error is also a `KeyError`."""

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would show it in quotes


class UnknownIndex(InvalidInput):
    """No registered index has that name, or it has no such option."""


class UnsuitableIndex(InvalidInput):
    """An index that was asked for by name cannot hold a subscription; `auto` never raises this.

    Attributes
    ----------
    reason : str
        What the index cannot hold.
    number : int
        The position of the subscription among those given to the index, from 0.
    subscription : str or int or None
        Its id; None until that is known.
    """

    def __init__(self, reason: str, number: int, subscription: str | int | None = None) -> None:
        self.reason = reason
        self.number = number
        self.subscription = subscription
        who = f"number {number}" if subscription is None else repr(subscription)
        super().__init__(f"subscription {who}: {reason}")

    def __reduce__(self) -> tuple[type[UnsuitableIndex], tuple[str, int, str | int | None]]:
        return type(self), (self.reason, self.number, self.subscription)


class SegmentError(TocsinError):
    """Files of a compiled index are missing, damaged or of another version."""


class StoreError(TocsinError):
    """The store of an engine, fences or a window cannot be opened or written. What was acknowledged before is kept."""


class LeftOut(TocsinError):
    """An answer of the service was too large to have this value; the message says how to read it."""


class HalfChanged(TocsinError):
    """A change of an object in memory failed halfway, for lack of memory or by an interrupt. It cannot be used again.

    Every call raises this, since an answer might be wrong. A durable object is read from its store again instead.
    """


class ServiceError(TocsinError):
    """A service refused a request of a client, or could not be reached.

    Attributes
    ----------
    status : int
        The HTTP status; 0 if there was no answer.
    kind : str
        The kind of the problem, such as `"conflict"`; `"unreachable"` if there was no answer.
    detail : str
        What was refused, and why.
    more : dict
        Further members of the answer, such as `earliest` where deliveries are gone.
    """

    def __init__(self, status: int, kind: str, detail: str, more: Mapping[str, Any] | None = None) -> None:
        self.status, self.kind, self.detail, self.more = status, kind, detail, dict(more or {})
        super().__init__(detail)

    def __reduce__(self) -> tuple[type[ServiceError], tuple[int, str, str, dict[str, Any]]]:
        return type(self), (self.status, self.kind, self.detail, self.more)


class MissingExtra(TocsinError, ImportError):
    """An optional dependency is not installed; the message names what to install.

    Attributes
    ----------
    lack : str or None
        What is missing, as in `pyspark is not installed`, where an extra of tocsin brings it.
    """

    lack: str | None = None


def missing_extra(extra: str, lack: str) -> MissingExtra:
    """The error where something is missing that an extra of tocsin brings."""
    error = MissingExtra(f"{lack}: pip install 'tocsin[{extra}]'")
    error.lack = lack
    return error


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Around imports of libraries that an extra of tocsin brings: `MissingExtra` where one cannot be imported.

    Where blocks are nested, the error names the extra of the outer one, which brings what the inner ones need, too.
    """
    try:
        yield
    except ImportError as error:
        lack = error.lack if isinstance(error, MissingExtra) else _lack_of(error)
        if lack is None:  # a fault of ours
            raise
        raise missing_extra(extra, lack) from None


def _lack_of(error: ImportError) -> str | None:
    """Which library is missing or broken; None if it is a module of tocsin."""
    library = (error.name or "tocsin").partition(".")[0]
    if library == "tocsin":
        return None
    return f"{library} " + ("is not installed" if isinstance(error, ModuleNotFoundError) else f"is broken ({error})")


def _place(text: str, offset: int | None) -> tuple[int, int]:
    if offset is None:
        return 0, 0
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def _window(line: str, column: int, width: int = 100) -> tuple[str, int]:
    """The part of a long line around `column`, and the caret's position in it."""
    at = column - 1
    if len(line) <= width:
        return line, at
    start = max(0, min(at - width // 2, len(line) - width))
    head = "..." if start > 0 else ""
    tail = "..." if start + width < len(line) else ""
    return head + line[start : start + width] + tail, at - start + len(head)
