"""What do the temporal functions mean? Comparisons of the ends of instants and intervals, joined by AND or OR.

An instant begins and ends at itself. An end that is open lies before, or beyond, every instant. The ends of an interval
of attributes are compared as they come. Source: OGC 21-065r2, which has them from Allen 1983.
"""

from __future__ import annotations

from typing import Final, TypeAlias, cast

from tocsin.model.expression import (
    OPEN_END,
    Attribute,
    Call,
    Comparison,
    ComparisonOperator,
    Constant,
    Expression,
    Interval,
    conjunction,
    disjunction,
)
from tocsin.model.readings import as_instant
from tocsin.model.values import EARLIEST

_Law: TypeAlias = tuple[tuple[str, ComparisonOperator, str], ...]

_ALL_OF: Final[dict[str, _Law]] = {
    "T_AFTER": (("start", ">", "END"),),
    "T_BEFORE": (("end", "<", "START"),),
    "T_CONTAINS": (("start", "<", "START"), ("end", ">", "END")),
    "T_DURING": (("start", ">", "START"), ("end", "<", "END")),
    "T_EQUALS": (("start", "=", "START"), ("end", "=", "END")),
    "T_FINISHEDBY": (("start", "<", "START"), ("end", "=", "END")),
    "T_FINISHES": (("start", ">", "START"), ("end", "=", "END")),
    "T_INTERSECTS": (("start", "<=", "END"), ("end", ">=", "START")),
    "T_MEETS": (("end", "=", "START"),),
    "T_METBY": (("start", "=", "END"),),
    "T_OVERLAPPEDBY": (("start", ">", "START"), ("start", "<", "END"), ("end", ">", "END")),
    "T_OVERLAPS": (("start", "<", "START"), ("end", ">", "START"), ("end", "<", "END")),
    "T_STARTEDBY": (("start", "=", "START"), ("end", ">", "END")),
    "T_STARTS": (("start", "=", "START"), ("end", "<", "END")),
}
"""Of the first argument start and end, of the second one in capitals."""
_ANY_OF: Final[dict[str, _Law]] = {"T_DISJOINT": (("start", ">", "END"), ("end", "<", "START"))}


def expanded(node: Call) -> Expression:
    """A temporal function as comparisons of instants; two attributes are compared by their readings as such.

    >>> from tocsin.language import parse, to_text
    >>> to_text(expanded(parse("T_DURING(ts, INTERVAL('2024-05-01', '2024-06-01'))")))
    "ts > DATE('2024-05-01') AND ts < DATE('2024-06-01')"
    """
    first, second = node.arguments
    ends = {"start": _start(first), "end": _end(first), "START": _start(second), "END": _end(second)}
    is_any = node.name in _ANY_OF
    law = _ANY_OF[node.name] if is_any else _ALL_OF[node.name]
    parts = [_compared(ends[left], op, ends[right]) for left, op, right in law]
    return (disjunction if is_any else conjunction)(dict.fromkeys(parts))


_BEFORE_ALL: Final = Constant(False)
_AFTER_ALL: Final = Constant(True)
"""The two open ends."""


def _start(node: Expression) -> Expression:
    if not isinstance(node, Interval):
        return node
    return _BEFORE_ALL if node.start == OPEN_END else node.start


def _end(node: Expression) -> Expression:
    if not isinstance(node, Interval):
        return node
    return _AFTER_ALL if node.end == OPEN_END else node.end


def _compared(left: Expression, op: ComparisonOperator, right: Expression) -> Expression:
    if isinstance(left, Attribute) and isinstance(right, Attribute):
        return Comparison(op, Attribute(as_instant(left.name)), Attribute(as_instant(right.name)))
    if not (_is_open(left) or _is_open(right)):
        return Comparison(op, left, right)
    places = _place(left), _place(right)
    holds = places[0] < places[1] if op[0] == "<" else places[0] > places[1] if op[0] == ">" else False
    if places[0] == places[1] and "=" in op:
        holds = True
    known = [side for side in (left, right) if isinstance(side, Attribute)]
    if not known:
        return Constant(holds)
    return Comparison(">=" if holds else "<", known[0], Constant(EARLIEST))  # UNKNOWN of what is no instant


def _is_open(end: Expression) -> bool:
    return isinstance(end, Constant) and isinstance(end.value, bool)


def _place(end: Expression) -> int:
    """Before, among or beyond all instants."""
    return (1 if cast(Constant, end).value else -1) if _is_open(end) else 0
