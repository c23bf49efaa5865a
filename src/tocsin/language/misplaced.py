"""What is said of a part that may not stand where it does? A reason, and what the part is in a user's words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from tocsin.model.expression import (
    And,
    AnyElement,
    Arithmetic,
    Array,
    Attribute,
    Between,
    Call,
    Comparison,
    Constant,
    Expression,
    In,
    Interval,
    IsNull,
    Like,
    Not,
    Or,
)
from tocsin.model.values import type_name


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


def describe(node: Expression) -> str:
    """What a node is, in a user's words."""
    if isinstance(node, Constant):
        if isinstance(node.value, str):
            return f"the string '{node.value[:40]}'"
        if isinstance(node.value, bool):
            return f"the boolean {str(node.value).upper()}"
        kind = type_name(node.value)
        return f"the number {node.value:g}" if isinstance(node.value, float) else f"{_article(kind)} {kind}"
    if isinstance(node, Attribute):
        return f"the attribute {node.name[:60]}"
    if isinstance(node, Call):
        return f"the result of {node.name}"
    return _DESCRIPTIONS[type(node)]


def _article(noun: str) -> str:
    return "an" if noun[0] in "aeiou" else "a"


_DESCRIPTIONS: Final[dict[type, str]] = {
    Array: "an array",
    Interval: "an interval",
    Arithmetic: "an arithmetic expression",
    Comparison: "a comparison",
    In: "a condition with IN",
    Between: "a condition with BETWEEN",
    Like: "a condition with LIKE",
    IsNull: "a condition with IS NULL",
    AnyElement: "a condition with ANY",
    Not: "a condition with NOT",
    And: "a condition with AND",
    Or: "a condition with OR",
}
