"""What is said of a part that may not stand where it does?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from tocsin.model.expression import Expression


class Misplaced(Exception):
    """A part that may not stand where it does; the parsers add the place of `node`, or of the whole.

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
    """Accept what an earlier release accepted, for texts that it stored: they keep their meaning."""
    token = _IS_STORED.set(True)
    try:
        yield
    finally:
        _IS_STORED.reset(token)


def refuse_since(reason: str, node: Expression) -> None:
    """Refuse what earlier releases accepted: raise `Misplaced`, but not of a text that one of them stored."""
    if not _IS_STORED.get():
        raise Misplaced(reason, node)
