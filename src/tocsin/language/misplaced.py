"""The error for a part of an expression in a place where it is not allowed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from tocsin.model.expression import Expression


class Misplaced(Exception):
    """A part is in a place where it is not allowed. The parsers add the position of `node`, or of the whole.

    It never leaves this package: it becomes an `ExpressionError`.
    """

    def __init__(self, reason: str, node: Expression | None = None, unsupported: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.node = node
        self.unsupported = unsupported


_IS_STORED: Final[ContextVar[bool]] = ContextVar("is_stored", default=False)


@contextmanager
def as_stored() -> Iterator[None]:
    """Accept what an earlier release accepted, so that texts stored by it keep their meaning."""
    token = _IS_STORED.set(True)
    try:
        yield
    finally:
        _IS_STORED.reset(token)


def refuse_since(reason: str, node: Expression) -> None:
    """Raise `Misplaced` for a form that earlier releases accepted, except in a text that one of them stored."""
    if not _IS_STORED.get():
        raise Misplaced(reason, node)
