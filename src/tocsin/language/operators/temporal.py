"""The temporal functions, as comparisons of the ends of instants and intervals, joined by AND or OR.

An instant begins and ends at itself. An open end lies before, or after, every instant. The ends of an interval of
attributes are compared as they are. Source: OGC 21-065r2, after Allen 1983.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias, cast

from tocsin.language.canonical import instant_text, to_text
from tocsin.language.evaluate import value_of
from tocsin.language.misplaced import Misplaced
from tocsin.language.operators.operator import (
    ATOM,
    Function,
    Json,
    Operator,
    Piece,
    describe,
    listed_text,
    require_count,
)
from tocsin.language.rules import instant
from tocsin.language.truths import Truth
from tocsin.model.elements import Values
from tocsin.model.expression import (
    OPEN_END,
    Attribute,
    Call,
    Comparison,
    ComparisonOperator,
    Constant,
    Expression,
    Interval,
    Not,
    Span,
    conjunction,
    disjunction,
    walk,
)
from tocsin.model.readings import as_instant, is_reading
from tocsin.model.values import EARLIEST, Instant, Value

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
"""Comparisons between the ends of the first argument (small letters) and of the second (capitals)."""
_ANY_OF: Final[dict[str, _Law]] = {"T_DISJOINT": (("start", ">", "END"), ("end", "<", "START"))}

TEMPORAL_FUNCTIONS: Final = tuple(sorted(_ALL_OF | _ANY_OF))


def expanded(node: Call) -> Expression:
    """A temporal function as comparisons of instants. Two attributes are compared by their readings as instants.

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
    return Comparison(">=" if holds else "<", known[0], Constant(EARLIEST))  # UNKNOWN if the value is not an instant


def _is_open(end: Expression) -> bool:
    return isinstance(end, Constant) and isinstance(end.value, bool)


def _place(end: Expression) -> int:
    """Before (-1), among (0) or after (1) all instants."""
    return (1 if cast(Constant, end).value else -1) if _is_open(end) else 0


class Relation(Function):
    names, of_what = TEMPORAL_FUNCTIONS, "attributes, dates, timestamps or INTERVAL(start, end)"

    def require(self, name: str, arguments: Sequence[Expression]) -> None:
        for node in arguments:
            is_instant = isinstance(node, Constant) and isinstance(node.value, Instant)
            if not is_instant and not isinstance(node, Attribute | Interval):
                times = "DATE('2024-05-31'), TIMESTAMP('2024-05-31T08:15:00Z') or INTERVAL(start, end)"
                raise Misplaced(f"{name} needs an attribute, {times}, not {describe(node)}", node)

    def value(self, node: Call, parts: Sequence[Any], values: Values) -> Value | Truth:
        return value_of(expanded(node), values)

    def needed(self, node: Call, wanted: bool, values: Values) -> str:
        """The comparisons that it stands for, if they are with constants."""
        meant = expanded(node)
        parts = list(walk(meant))
        if any(is_reading(one.name) for one in parts if isinstance(one, Attribute)) or Constant(EARLIEST) in parts:
            return ""
        return to_text(meant if wanted else Not(meant))

    def meant(self, node: Call) -> Expression:
        return expanded(node)


# ---- INTERVAL


def interval(ends: Sequence[Expression], *, span: Span | None = None) -> Interval:
    """Make the node of INTERVAL: dates and timestamps in single quotes, '..' for an open end, or attributes."""
    require_count("INTERVAL", ends, 2, "a start and an end, as in INTERVAL('2024-05-01', '..')")
    start, end = map(_interval_end, ends)
    if isinstance(start, Constant) and isinstance(end, Constant) and OPEN_END not in (start, end):
        first, last = start.value, end.value
        if isinstance(first, Instant) and isinstance(last, Instant) and (problem := _order_problem(first, last)):
            raise Misplaced(problem)
    return Interval(start, end, span=span)


def _order_problem(first: Instant, last: Instant) -> str | None:
    return "the interval ends before it begins; write INTERVAL(start, end)" if first > last else None


def _interval_end(node: Expression) -> Expression:
    if isinstance(node, Attribute) or node == OPEN_END:
        return node
    if isinstance(node, Constant) and isinstance(node.value, Instant):
        return node
    if isinstance(node, Constant) and isinstance(node.value, str):
        try:
            return Constant(instant(node.value), span=node.span)
        except Misplaced as error:
            raise Misplaced(f"{error.reason}; an open end is '..'", node) from None
    reason = "an interval begins and ends at a date or timestamp in single quotes, '..' or an attribute"
    raise Misplaced(f"{reason}, not at {describe(node)}", node)


class Intervals(Operator):
    nodes, described = Interval, "an interval"
    no_scalar = "an interval is not allowed here; it is an argument of functions such as T_DURING"

    def is_condition(self, node: Interval) -> bool:
        return False

    def text(self, node: Interval, parts: Sequence[Piece]) -> Piece:
        ends = zip(node.children(), parts, strict=True)
        texts = [f"'{instant_text(end.value)}'" if isinstance(end, Constant) else part.text for end, part in ends]
        return Piece("INTERVAL" + listed_text(texts), ATOM)

    def json(self, node: Interval, parts: Sequence[Json]) -> Json:
        ends = zip(node.children(), parts, strict=True)
        return {"interval": [instant_text(end.value) if isinstance(end, Constant) else part for end, part in ends]}

    def value(self, node: Interval, parts: Sequence[Any], values: Values) -> None:
        """An interval has no value; `expanded` looks at its ends."""
        return

    def rule_of_values(self, node: Interval) -> tuple[Callable[..., str | None], Sequence[Expression]] | None:
        ends = [end for end in node.children() if isinstance(end, Constant) and isinstance(end.value, Instant)]
        return (_order_problem, ends) if len(ends) == 2 else None
