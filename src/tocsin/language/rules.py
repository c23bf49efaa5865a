"""What may stand where? Nodes are made here, for text and JSON alike, and refused when a part is misplaced.

A type that merely cannot match (`1 = 'a'`) is no error: it is UNKNOWN when an event comes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from tocsin.errors import ExpressionError, InvalidInput
from tocsin.language.evaluate import value_of
from tocsin.language.functions import unknown_function
from tocsin.language.geometry_rules import AS_IN, require_geometry, require_metres, require_point, require_relation
from tocsin.language.limits import measure, too_deep
from tocsin.language.misplaced import Misplaced, describe, refuse_since
from tocsin.language.strings import ends_in_escape, like_problem, regex_problem
from tocsin.language.text_rules import require_text
from tocsin.language.tokens import too_many_nodes
from tocsin.model.expression import (
    ARRAY_FUNCTIONS,
    ELEMENT_FUNCTIONS,
    MAX_DEPTH,
    MAX_LISTS,
    MAX_NODES,
    MEASURES,
    OPEN_END,
    PREDICATE_FUNCTIONS,
    SPATIAL_FUNCTIONS,
    STRING_FUNCTIONS,
    TEMPORAL_FUNCTIONS,
    TEXT,
    AnyElement,
    Arithmetic,
    ArithmeticOperator,
    Array,
    Attribute,
    Between,
    Call,
    Comparison,
    ComparisonOperator,
    Constant,
    Expression,
    In,
    Interval,
    IsNull,
    Like,
    Not,
    Span,
    conjunction,
    disjunction,
    is_condition,
    is_distance,
    walk,
)
from tocsin.model.values import LARGEST_INTEGER, Box, Instant, Point, Shape

# ---- conditions


def all_of(operands: Sequence[Expression], *, span: Span | None = None) -> Expression:
    for operand in operands:
        _require_condition(operand, "AND joins conditions")
    return conjunction(operands, span)


def any_of(operands: Sequence[Expression], *, span: Span | None = None) -> Expression:
    for operand in operands:
        _require_condition(operand, "OR joins conditions")
    return disjunction(operands, span)


def negated(operand: Expression, *, span: Span | None = None) -> Expression:
    _require_condition(operand, "NOT reverses a condition")
    return Not(operand, span=span)


def whole(root: Expression) -> Expression:
    """The root of a tree: a condition, within the limits."""
    _require_condition(root, "a condition is needed, such as price <= 580")
    return root


def check_size(root: Expression) -> None:
    """Raise `ExpressionError` when a tree is too deep or too large."""
    depth, nodes = measure(root, MAX_NODES)
    if nodes > MAX_NODES:
        raise too_many_nodes()
    if depth > MAX_DEPTH:
        raise ExpressionError(too_deep(depth))


def _require_condition(node: Expression, rule: str) -> None:
    if not is_condition(node):
        raise Misplaced(f"{rule}; {describe(node)} is none", node)


# ---- predicates


def comparison(op: ComparisonOperator, left: Expression, right: Expression, *, span: Span | None = None) -> Expression:
    if is_distance(left) or is_distance(right):
        require_metres(op, *((right, left) if is_distance(left) else (left, right)))
        return Comparison(op, left, right, span=span)
    _require_scalar(left)
    _require_scalar(right)
    return Comparison(op, left, right, span=span)


def arithmetic(op: ArithmeticOperator, left: Expression, right: Expression, *, span: Span | None = None) -> Expression:
    _require_scalar(left)
    _require_scalar(right)
    return Arithmetic(op, left, right, span=span)


def within(operand: Expression, items: Sequence[Expression], *, span: Span | None = None) -> Expression:
    _require_scalar(operand)
    for item in items:
        _require_scalar(item)
    if not items:
        raise Misplaced("IN needs at least one value, as in color IN ('silver', 'gold')")
    return In(operand, tuple(items), span=span)


def between(operand: Expression, low: Expression, high: Expression, *, span: Span | None = None) -> Expression:
    for part in (operand, low, high):
        _require_scalar(part)
    return Between(operand, low, high, span=span)


def like(operand: Expression, pattern: Expression, *, span: Span | None = None) -> Expression:
    _require_scalar(operand)
    inner = _inside_string_functions(pattern)
    if not (isinstance(inner, Constant) and isinstance(inner.value, str)):
        raise Misplaced(
            f"LIKE needs a pattern in single quotes, as in name LIKE 'ipad%', not {describe(inner)}", pattern
        )
    if ends_in_escape(inner.value):
        raise Misplaced(r"the pattern ends in a \ that escapes nothing; a backslash itself is written \\", pattern)
    if problem := like_problem(inner.value):
        refuse_since(problem, pattern)
    return Like(operand, pattern, span=span)


def is_null(operand: Expression, *, span: Span | None = None) -> Expression:
    if _is_place(operand) or (isinstance(operand, Interval) and not any(map(_is_attribute, operand.children()))):
        return Constant(False, span=span)  # as of any constant, though of these nothing else is asked
    _require_scalar(operand)
    return IsNull(operand, span=span)


def _is_attribute(node: Expression) -> bool:
    return isinstance(node, Attribute)


def _is_place(node: Expression) -> bool:
    return isinstance(node, Constant) and isinstance(node.value, Point | Box | Shape)


def _require_scalar(node: Expression) -> None:
    if _is_place(node):
        raise Misplaced("a geometry has no place here; it is an argument of spatial functions, say S_INTERSECTS", node)
    if isinstance(node, Array):
        raise Misplaced("an array has no place here; it is an argument of, say, A_CONTAINS", node)
    if isinstance(node, Interval):
        raise Misplaced("an interval has no place here; it is an argument of, say, T_DURING", node)
    if is_distance(node):
        raise Misplaced(f"a distance is compared with a number of metres, {AS_IN}", node)


def attribute(name: str, *, span: Span | None = None) -> Attribute:
    if "\x00" in name[1:]:  # which parts a name from what is asked of it; templates have names that begin with one
        raise Misplaced("an attribute's name has no character NUL in it")
    return Attribute(name, span=span)


# ---- functions


def call(name: str, arguments: Sequence[Expression], *, span: Span | None = None) -> Expression:
    """A function of STRING_FUNCTIONS, MEASURES, PREDICATE_FUNCTIONS or ELEMENT_FUNCTIONS, its name in capitals."""
    if name in ELEMENT_FUNCTIONS:
        return any_element(arguments, span=span)
    if name in STRING_FUNCTIONS:
        _require_count(name, arguments, 1, "a string")
        _require_string(name, arguments[0])
    elif name in ARRAY_FUNCTIONS:
        _require_count(name, arguments, 2, "attributes or arrays such as ('a', 'b')")
        for argument in arguments:
            _require_array(name, argument)
    elif name in SPATIAL_FUNCTIONS:
        _require_count(name, arguments, 2, "attributes, or geometries such as POINT(x y) and POLYGON((...))")
        for argument in arguments:
            require_geometry(name, argument)
        if name not in ("S_INTERSECTS", "S_DISJOINT"):
            require_relation()
    elif name in TEMPORAL_FUNCTIONS:
        _require_count(name, arguments, 2, "attributes, dates, timestamps or INTERVAL(start, end)")
        for argument in arguments:
            _require_time(name, argument)
    elif name in MEASURES:
        _require_count(name, arguments, 2, "an attribute and POINT(longitude latitude)")
        require_point(name, arguments)
    elif name == TEXT:
        require_text(arguments)
    elif name in PREDICATE_FUNCTIONS:
        _require_count(name, arguments, 2, "an attribute and a regular expression in single quotes")
        _require_regex(name, *arguments)
    else:
        raise Misplaced(unknown_function(name))
    return Call(name, tuple(arguments), span=span)


def any_element(arguments: Sequence[Expression], *, span: Span | None = None) -> Expression:
    """ANY of a list's attribute and a condition on its elements."""
    _require_count("ANY", arguments, 2, "the attribute of a list and a condition on its elements, as in price > 3")
    items, condition = arguments
    if not isinstance(items, Attribute):
        raise Misplaced(f"ANY needs the attribute of a list, not {describe(items)}", items)
    _require_condition(condition, "ANY asks for a condition that some element fulfils")
    if _lists_in(condition) == MAX_LISTS:
        raise Misplaced(f"ANY nests more than {MAX_LISTS} deep; at most {MAX_LISTS} is allowed", condition)
    return AnyElement(items, condition, span=span)


def _lists_in(condition: Expression) -> int:
    """How deep a condition looks into lists that lie in lists."""
    inner = [_lists_in(node.condition) for node in walk(condition) if isinstance(node, AnyElement)]
    return 1 + max(inner) if inner else 0


def array(items: Sequence[Expression], *, span: Span | None = None) -> Array:
    return Array(tuple(map(_element, items)), span=span)


def _element(item: Expression) -> Constant | Attribute:
    """An element of an array: a constant, computed where it has to be, or an attribute."""
    if _is_place(item):
        raise Misplaced("an array holds numbers, strings, booleans, dates and timestamps", item)
    if isinstance(item, Constant | Attribute):
        return item
    if isinstance(item, Array):
        raise Misplaced(NO_LISTS_IN_LISTS.format("an array inside an array"), item, unsupported=True)
    if not _is_computed(item):
        reason = f"{describe(item)} inside an array is not supported yet; write constants and attributes"
        raise Misplaced(reason, item, unsupported=True)
    value = value_of(item, {})
    if not isinstance(value, str | float):
        raise Misplaced(f"{describe(item)} inside an array has no value; write one that has", item)
    return Constant(value, span=item.span)


NO_LISTS_IN_LISTS: Final = "{} is not supported, for a list of an event holds no lists; leave the inner parentheses out"


def _is_computed(item: Expression) -> bool:
    """Whether an element is made of constants alone; of a template's placeholders nothing can be computed."""
    if not isinstance(item, Arithmetic) and not (isinstance(item, Call) and item.name in STRING_FUNCTIONS):
        return False
    leaves = [node for node in walk(item) if not node.children()]
    return all(isinstance(one, Constant) and not str(one.value).startswith("\x00") for one in leaves)


def _require_count(name: str, arguments: Sequence[Expression], count: int, what: str) -> None:
    if len(arguments) != count:
        needed = "one argument" if count == 1 else "two arguments"
        raise Misplaced(f"{name} takes {needed} ({what}), not {len(arguments)}")


def _require_string(name: str, node: Expression) -> None:
    inner = _inside_string_functions(node)
    fits = isinstance(inner.value, str) if isinstance(inner, Constant) else isinstance(inner, Attribute)
    if not fits:
        raise Misplaced(f"{name} needs a string or an attribute, not {describe(node)}", node)


def _require_array(name: str, node: Expression) -> None:
    if not isinstance(node, Attribute | Array):
        raise Misplaced(f"{name} needs an attribute or an array such as ('a', 'b'), not {describe(node)}", node)


def _require_time(name: str, node: Expression) -> None:
    if isinstance(node, Attribute | Interval) or (isinstance(node, Constant) and isinstance(node.value, Instant)):
        return
    reason = f"{name} needs an attribute, DATE('2024-05-31'), TIMESTAMP('2024-05-31T08:15:00Z') or INTERVAL(start, end)"
    raise Misplaced(f"{reason}, not {describe(node)}", node)


def _require_regex(name: str, subject: Expression, pattern: Expression) -> None:
    if not isinstance(_inside_string_functions(subject), Attribute):
        raise Misplaced(
            f"{name} looks at an attribute, or CASEI or ACCENTI of one, not at {describe(subject)}", subject
        )
    if not (isinstance(pattern, Constant) and isinstance(pattern.value, str)):
        raise Misplaced(f"{name} needs a regular expression in single quotes, not {describe(pattern)}", pattern)
    problem = regex_problem(pattern.value)
    if problem:
        raise Misplaced(f"{pattern.value[:60]!r} is no regular expression (RE2 syntax): {problem}", pattern)


def _inside_string_functions(node: Expression) -> Expression:
    while isinstance(node, Call) and node.name in STRING_FUNCTIONS:
        node = node.arguments[0]
    return node


# ---- constants


def number(value: float, written: str, is_integer: bool, *, span: Span | None = None) -> Constant:
    """A number that float64 holds; `written` is its spelling, `is_integer` whether that is an integer's."""
    if abs(value) >= LARGEST_INTEGER and not (_is_exact(written) if is_integer else _keeps_digits(written, value)):
        raise Misplaced(f"{written[:40]} cannot be represented exactly; write it as a string")
    if math.isnan(value):
        raise Misplaced("NaN is no number that can be compared; whether a value is missing is asked by IS NULL")
    if not math.isfinite(value):
        raise Misplaced(f"{written[:40]} is beyond the largest number (about 1.8e308)")
    return Constant(value + 0.0, span=span)  # + 0.0: there is no negative zero


def _is_exact(integer: str) -> bool:
    digits = integer.lstrip("+-0")
    return len(digits) <= 16 and int(digits) <= LARGEST_INTEGER


def _keeps_digits(written: str, value: float) -> bool:
    """Whether all digits of a large number are in the float64: they are in 1e300, and not in 9007199254740993.0."""
    return not math.isfinite(value) or Decimal(written) in (Decimal(repr(value)), Decimal(value))


def date(written: str, *, span: Span | None = None) -> Constant:
    if len(written) != 10:
        raise Misplaced(
            f"DATE is written DATE('2024-05-31'), not {written[:40]!r}; with a time of day it is a TIMESTAMP"
        )
    return Constant(_instant(written), span=span)


def timestamp(written: str, *, span: Span | None = None) -> Constant:
    return Constant(_instant(written), span=span)


def _instant(written: str) -> Instant:
    try:
        return Instant.parse(written)
    except InvalidInput as error:
        raise Misplaced(str(error)) from None


def interval(ends: Sequence[Expression], *, span: Span | None = None) -> Interval:
    """INTERVAL of dates and timestamps in single quotes, '..' for an open end, or attributes."""
    _require_count("INTERVAL", ends, 2, "a start and an end, as in INTERVAL('2024-05-01', '..')")
    start, end = map(_interval_end, ends)
    if isinstance(start, Constant) and isinstance(end, Constant) and OPEN_END not in (start, end):
        first, last = start.value, end.value
        if isinstance(first, Instant) and isinstance(last, Instant) and first > last:
            raise Misplaced("the interval ends before it begins; write INTERVAL(start, end)")
    return Interval(start, end, span=span)


def _interval_end(node: Expression) -> Expression:
    if isinstance(node, Attribute) or node == OPEN_END:
        return node
    if isinstance(node, Constant) and isinstance(node.value, Instant):
        return node
    if isinstance(node, Constant) and isinstance(node.value, str):
        try:
            return Constant(_instant(node.value), span=node.span)
        except Misplaced as error:
            raise Misplaced(f"{error.reason}; an open end is '..'", node) from None
    reason = "an interval begins and ends at a date or timestamp in single quotes, '..' or an attribute"
    raise Misplaced(f"{reason}, not at {describe(node)}", node)
