"""Rules that make nodes for text and JSON alike, and reject parts in places where they are not allowed.

A type that cannot match (`1 = 'a'`) is not an error. Such a condition is UNKNOWN for every event.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Final

from tocsin.errors import ExpressionError, InvalidInput
from tocsin.language.functions import unknown_function
from tocsin.language.misplaced import Misplaced
from tocsin.language.operators.operator import FUNCTIONS, require_condition
from tocsin.language.tokens import too_many_nodes
from tocsin.model.expression import MAX_DEPTH, MAX_NODES, Attribute, Call, Constant, Expression, Span
from tocsin.model.values import LARGEST_INTEGER, Instant


def whole(root: Expression) -> Expression:
    """Check the root of a tree, which must be a condition."""
    if not (isinstance(root, Call) and root.name == "BY"):
        require_condition(root, "a condition is needed, such as price <= 580")
    return root


def check_size(root: Expression) -> None:
    """Raise `ExpressionError` when a tree is too deep or too large."""
    depth, nodes = measure(root, MAX_NODES)
    if nodes > MAX_NODES:
        raise too_many_nodes()
    if depth > MAX_DEPTH:
        raise ExpressionError(too_deep(depth))


def attribute(name: str, *, span: Span | None = None) -> Attribute:
    if "\x00" in name[1:]:  # NUL separates a name from its reading. Templates use names that begin with NUL.
        raise Misplaced("the name of an attribute cannot have the character NUL in it")
    return Attribute(name, span=span)


def call(name: str, arguments: Sequence[Expression], *, span: Span | None = None) -> Expression:
    """Make a function call; the name is in capitals."""
    function = FUNCTIONS.get(name)
    if function is None:
        raise Misplaced(unknown_function(name))
    return function.call(name, arguments, span=span)


def placed(make: Callable[..., Expression], *parts: Any, span: Span) -> Expression:
    """Call `make(*parts)`; an error about the whole gets the position `span`."""
    try:
        return make(*parts, span=span)
    except Misplaced as error:
        if error.node is None:
            error.node = Constant(False, span=span)
        raise


# ---- constants


def number(value: float, written: str, is_integer: bool, *, span: Span | None = None) -> Constant:
    """Make a number that float64 holds; `written` is its spelling, and `is_integer` whether that is an integer's."""
    if abs(value) >= LARGEST_INTEGER and not (_is_exact(written) if is_integer else _keeps_digits(written, value)):
        raise Misplaced(f"{written[:40]} cannot be represented exactly; write it as a string")
    if math.isnan(value):
        raise Misplaced("NaN cannot be compared; to ask whether a value is missing, write IS NULL")
    if not math.isfinite(value):
        raise Misplaced(f"{written[:40]} is beyond the largest number (about 1.8e308)")
    return Constant(value + 0.0, span=span)  # + 0.0 turns negative zero into zero


def _is_exact(integer: str) -> bool:
    digits = integer.lstrip("+-0")
    return len(digits) <= 16 and int(digits) <= LARGEST_INTEGER


def _keeps_digits(written: str, value: float) -> bool:
    """Whether float64 keeps all digits of a large number: it does for 1e300, not for 9007199254740993.0."""
    return not math.isfinite(value) or Decimal(written) in (Decimal(repr(value)), Decimal(value))


def date(written: str, *, span: Span | None = None) -> Constant:
    if len(written) != 10:
        raise Misplaced(
            f"DATE is written DATE('2024-05-31'), not {written[:40]!r}; with a time of day it is a TIMESTAMP"
        )
    return Constant(instant(written), span=span)


def timestamp(written: str, *, span: Span | None = None) -> Constant:
    return Constant(instant(written), span=span)


def instant(written: str) -> Instant:
    """The instant of a date or timestamp."""
    try:
        return Instant.parse(written)
    except InvalidInput as error:
        raise Misplaced(str(error)) from None


_MANY: Final = 1 << 62


def measure(root: Expression, most_nodes: int = _MANY) -> tuple[int, int]:
    """The depth of a tree (1 for a single node) and the number of its nodes.

    Inner expressions count as nested in their node. Counting stops once there are more than `most_nodes`.
    """
    depth = nodes = 0
    level: list[Expression] = [root]
    while level and nodes <= most_nodes:
        depth += 1
        nodes += len(level)
        level = [child for node in level for child in (*node.children(), *node.inner())]
    return depth, nodes


def too_deep(depth: int) -> str:
    """The message for an expression that nests too deep."""
    return f"the expression nests {depth} deep; at most {MAX_DEPTH} is allowed"
