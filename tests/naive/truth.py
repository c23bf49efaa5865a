"""Is an expression TRUE, FALSE or UNKNOWN of an event? SQL's three values, node by node, children first.

Every node has a result: a value, or None for null. A condition's result is its truth, with None for UNKNOWN,
so a condition in a scalar's place needs no rule, and a scalar in a condition's place needs one: anything but
a boolean is UNKNOWN.

Of a value that is a range a comparison with a constant can be TRUE and can be FALSE, and so can be a condition that
is made of such: a truth is then what it can be, `EITHER` for both, and UNKNOWN for neither.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from tests.naive.addresses import address, in_network
from tests.naive.arithmetic import computed
from tests.naive.flatten import Flat, everything
from tests.naive.instants import date_of, duration, hour, moment_of, weekday
from tests.naive.places import SPATIAL, Result, intersects, metres_between
from tests.naive.ranges import COMPARE, MIRRORED, Either, Truth, can_be, is_of_type, judge, truth_that
from tests.naive.strings import accenti, casei, like, matches, number
from tests.naive.texts import text
from tests.naive.versions import Version, version
from tests.strategies.pools import PRESENT
from tocsin.model.expression import (
    And,
    AnyAttribute,
    AnyElement,
    Arithmetic,
    Array,
    Attribute,
    Between,
    Call,
    Comparison,
    Constant,
    EachElement,
    ElementAt,
    Expression,
    In,
    Interval,
    IsNull,
    Like,
    Not,
    Or,
    SomeValue,
    walk,
)
from tocsin.model.values import UNTYPED, Instant, Range, Shape, Value


def truth(expression: Expression, values: Mapping[str, Value]) -> Truth:
    """TRUE, FALSE, UNKNOWN (None) or EITHER of an expression on an event's flattened values."""
    return _as_truth(result(expression, values))


def result(expression: Expression, values: Mapping[str, Value]) -> Result:
    """What any expression is of an event: a truth or another value, None for null; no recursion."""
    results: dict[int, Result] = {}
    for node in reversed(list(walk(expression))):
        results[id(node)] = _result(node, [results[id(child)] for child in node.children()], values)
    return results[id(expression)]


def concerns(expression: Expression, values: Mapping[str, Value]) -> bool:
    """Whether an event concerns a subscription: its expression can be TRUE."""
    return True in can_be(truth(expression, values))


def _as_truth(found: Result) -> Truth:
    """A result in a condition's place: a truth is itself, anything else UNKNOWN."""
    return found if isinstance(found, bool | Either) else None


def _result(node: Expression, operands: list[Result], values: Mapping[str, Value]) -> Result:
    match node:
        case Constant(value):
            return value
        case Attribute(name):
            return values.get(name)
        case Array(items):
            elements = [values.get(item.name) if isinstance(item, Attribute) else item.value for item in items]
            return tuple(elements) if all(type(one) in (float, str, bool, Instant) for one in elements) else None
        case Arithmetic(op):
            return computed(op, node.children(), *operands)
        case Interval():
            return None
        case Call():
            return _called(node, operands, values)
        case IsNull():
            return operands[0] is None
        case EachElement(items, condition):
            elements = _elements(values, items.name)
            return None if elements is None else _all(_truths(condition, elements))
        case ElementAt(items, Constant(position), of):
            return _element_at(_elements(values, items.name), int(position), of)  # type: ignore[arg-type]
        case AnyAttribute(_, condition):
            return _any(_truths(condition, _inside(values, everything(values))))
        case AnyElement(items, condition):
            elements = _elements(values, items.name)
            return None if elements is None else _any(_truths(condition, elements))
        case SomeValue(items, condition):
            return _some(values, items.name, condition)
        case _:
            return _condition(node, operands)


def _called(node: Call, operands: list[Result], values: Mapping[str, Value]) -> Result:
    match node:
        case Call(name, arguments) if name.startswith("T_"):
            return _in_time(name, *arguments, values)
        case Call("HOLDS", _):
            held = can_be(_as_truth(operands[0]))
            return truth_that(True in held, held != {True})
        case Call("AT_LEAST"):
            return _at_least(int(operands[0]), [_as_truth(one) for one in operands[1:]])  # type: ignore[arg-type]
        case Call("NOW"):
            return PRESENT
        case Call("OUTER", (Attribute(name),)):
            whole = getattr(values, "whole", values).get(name)
            return whole if whole is None or isinstance(whole, float | str | bool | Instant) else UNTYPED
        case Call("LENGTH", (Attribute(name),)):
            elements = getattr(values, "lists", {}).get(name)
            counted = operands[0] if elements is None else elements
            return float(len(counted)) if isinstance(counted, str | list) else None
        case Call("GIVEN", (Attribute(name),)):
            return name in values or name in getattr(values, "nulls", ())
    return _FUNCTIONS[node.name](*operands)


def _elements(values: Mapping[str, Value], name: str) -> list[Flat | None] | None:
    """The elements of a list, which know the event that they are in; None if there is no list."""
    elements = getattr(values, "lists", {}).get(name)
    return None if elements is None else _inside(values, elements)


def _truths(condition: Expression, elements: list[Flat | None]) -> list[Truth]:
    return [None if one is None else truth(condition, one) for one in elements]


def _inside(values: Mapping[str, Value], elements: list[Flat | None]) -> list[Flat | None]:
    for one in elements:
        if one is not None:
            one.whole = getattr(values, "whole", values)  # type: ignore[attr-defined]
    return elements


def _some(values: Mapping[str, Value], name: str, condition: Expression) -> bool:
    """Whether an element of a list, or else the value itself, makes a condition TRUE; of nothing none is."""
    elements = _elements(values, name)
    if elements is None:
        one = Flat(
            {
                inside.removeprefix(f"{name}."): value
                for inside, value in values.items()
                if inside.startswith(f"{name}.")
            }
        )
        lists = getattr(values, "lists", {}).items()
        one.lists = {inside.removeprefix(f"{name}."): items for inside, items in lists if inside.startswith(f"{name}.")}
        if name in values:
            one["element"] = values[name]
        nulls = getattr(values, "nulls", ())
        within = {inside.removeprefix(f"{name}.") for inside in nulls if inside.startswith(f"{name}.")}
        one.nulls = frozenset(within | ({"element"} if name in nulls else set()))
        asks_of_null = any(isinstance(node, Call) and node.name == "GIVEN" for node in walk(condition))
        named = {node.name for node in walk(condition) if isinstance(node, Attribute)}
        named |= {node.items.name for node in walk(condition) if isinstance(node, SomeValue)}
        is_given = "element" in one or named & one.keys() or (asks_of_null and name in nulls)
        elements = _inside(values, [one]) if is_given else []
    return any(one is not None and concerns(condition, one) for one in elements)


def _condition(node: Expression, operands: list[Result]) -> Truth:
    match node:
        case Comparison(op, left, right):
            return _against(op, left, right, *operands)
        case In(operand, items):
            return _any(
                _against("=", operand, item, operands[0], n) for item, n in zip(items, operands[1:], strict=True)
            )
        case Between(operand, lowest, highest):
            if isinstance(operands[0], Range) and _is_reversed(node) and is_of_type(*operands[:2]):
                return False  # nothing lies within
            low = _against(">=", operand, lowest, *operands[:2])
            return _all((low, _against("<=", operand, highest, operands[0], operands[2])))
        case Like():
            return like(*operands)
        case Not():
            inner = can_be(_as_truth(operands[0]))
            return truth_that(False in inner, True in inner)
        case And():
            return _all(map(_as_truth, operands))
        case Or():
            return _any(map(_as_truth, operands))
    raise TypeError(f"no expression: {node!r}")


def _all(truths: Iterable[Truth]) -> Truth:
    """Kleene's AND: can be TRUE when all can, can be FALSE when any can."""
    seen = [can_be(one) for one in truths]
    return truth_that(all(True in one for one in seen), any(False in one for one in seen))


def _any(truths: Iterable[Truth]) -> Truth:
    """Kleene's OR: can be TRUE when any can, can be FALSE when all can."""
    seen = [can_be(one) for one in truths]
    return truth_that(any(True in one for one in seen), all(False in one for one in seen))


def _element_at(elements: list[Flat | None] | None, position: int, of: Expression) -> Result:
    """What an expression is of the element at a position; a list, an object or a place has no type there."""
    if elements is None or not -len(elements) <= position < len(elements):
        return None
    element = elements[position]
    found = None if element is None else _result(of, [_result(one, [], element) for one in of.children()], element)
    return found if found is None or isinstance(found, float | str | bool | Instant) else UNTYPED


def _at_least(needed: int, truths: list[Truth]) -> Truth:
    """TRUE if so many are TRUE, whatever the others may be; FALSE if too few of them are TRUE even then."""
    held = [True in can_be(one) for one in truths]
    failed = [False in can_be(one) for one in truths]
    return truth_that(sum(held) >= needed, len(truths) - sum(failed) < needed)


def _against(op: str, left: Expression, right: Expression, one: Result, other: Result) -> Truth:
    """A comparison of two nodes by their results; a range is compared with a constant and nothing else."""
    one, other = _read(left, one, right), _read(right, other, left)
    if isinstance(other, Range):
        op, left, right, one, other = MIRRORED[op], right, left, other, one
    if isinstance(one, Range):
        return judge(op, one, other) if isinstance(right, Constant) else None
    return compare(op, one, other)


def _in_time(name: str, one: Expression, other: Expression, values: Mapping[str, Value]) -> Truth:
    """Allen's relations, by what the standard's table says of starts and ends."""
    (a, b), (c, d) = _ends(one), _ends(other)
    before, equal, after = "<", "=", ">"
    needed = {
        "T_AFTER": [(a, after, d)],
        "T_BEFORE": [(b, before, c)],
        "T_CONTAINS": [(a, before, c), (b, after, d)],
        "T_DURING": [(a, after, c), (b, before, d)],
        "T_EQUALS": [(a, equal, c), (b, equal, d)],
        "T_FINISHEDBY": [(a, before, c), (b, equal, d)],
        "T_FINISHES": [(a, after, c), (b, equal, d)],
        "T_MEETS": [(b, equal, c)],
        "T_METBY": [(a, equal, d)],
        "T_OVERLAPPEDBY": [(a, after, c), (a, before, d), (b, after, d)],
        "T_OVERLAPS": [(a, before, c), (b, after, c), (b, before, d)],
        "T_STARTEDBY": [(a, equal, c), (b, after, d)],
        "T_STARTS": [(a, equal, c), (b, before, d)],
    }
    if name in needed:
        return _all(_ordered(*three, values) for three in needed[name])
    apart = _any([_ordered(a, after, d, values), _ordered(b, before, c, values)])
    if name == "T_DISJOINT":
        return apart
    return truth_that(False in can_be(apart), True in can_be(apart))


_FAR: Final = {"start": -math.inf, "end": math.inf}


def _ends(node: Expression) -> tuple[Expression | float, Expression | float]:
    if not isinstance(node, Interval):
        return node, node
    start = _FAR["start"] if node.start == Constant("..") else node.start
    return start, _FAR["end"] if node.end == Constant("..") else node.end


def _ordered(left: Expression | float, op: str, right: Expression | float, values: Mapping[str, Value]) -> Truth:
    """Whether one end is before, at or after another; infinity is what is open."""
    if isinstance(left, float) and isinstance(right, float):
        return COMPARE[op](left, right)
    if isinstance(left, float) or isinstance(right, float):
        holds = COMPARE[op](left, 0.0) if isinstance(left, float) else COMPARE[op](0.0, right)
        return _of_an_instant(_moment(right if isinstance(left, float) else left, values), holds)  # type: ignore[arg-type]
    one, other = _moment(left, values), _moment(right, values)
    if isinstance(left, Constant):
        op, left, right, one, other = MIRRORED[op], right, left, other, one
    if isinstance(one, Range):
        return judge(op, one, other) if isinstance(right, Constant) else None
    return compare(op, one, other) if isinstance(other, Instant) else None


def _moment(node: Expression, values: Mapping[str, Value]) -> Result:
    """A constant, or what an attribute is to who asks for an instant."""
    if isinstance(node, Constant):
        return node.value
    found = values.get(node.name)  # type: ignore[attr-defined]
    return _read(node, found, Constant(Instant(0))) if isinstance(found, str) else found


def _of_an_instant(moment: Result, holds: bool) -> Truth:
    """What is known of every instant; a range without an end reaches as far as an interval without one."""
    earliest = Instant(-(2**63) + 2)
    if isinstance(moment, Range):
        return judge(">=" if holds else "<", moment, earliest)
    return holds if isinstance(moment, Instant) else None


def _read(node: Expression, result: Result, against: Expression) -> Result:
    """An attribute's string as what it is compared with: an instant where that is one and the string says one."""
    is_instant = isinstance(against, Constant) and isinstance(against.value, Instant)
    may_be_instant = isinstance(against, Arithmetic) and against.op in ("+", "-")
    is_now = isinstance(against, Call) and against.name == "NOW"
    if not ((is_instant or may_be_instant or is_now) and isinstance(node, Attribute) and isinstance(result, str)):
        return result
    return moment_of(result)


def _is_reversed(node: Between) -> bool:
    """Whether the bounds are constants, the lower above the upper: of no value at all is that TRUE."""
    low, high = node.low, node.high
    return isinstance(low, Constant) and isinstance(high, Constant) and compare(">", low.value, high.value) is True


def compare(op: str, left: Result, right: Result) -> Truth:
    """Two numbers, two strings, two truths or two instants; UNKNOWN for anything else."""
    if isinstance(left, bool | Either) and isinstance(right, bool | Either):
        found = {COMPARE[op](one, other) for one in can_be(left) for other in can_be(right)}
        return truth_that(True in found, False in found)
    if type(left) is not type(right) or not isinstance(left, float | str | Instant | Version):
        return None
    return COMPARE[op](left, right)


def _on_sets(law: Callable[[set[object], set[object]], bool]) -> Callable[..., Truth]:
    """A function of two lists as sets; an item is its type and its value, so that 1 is not TRUE."""

    def function(left: Result, right: Result) -> Truth:
        if not isinstance(left, tuple) or not isinstance(right, tuple):
            return None
        return law({(type(item), item) for item in left}, {(type(item), item) for item in right})

    return function


_FUNCTIONS: Final[dict[str, Callable[..., Result]]] = {
    "CASEI": casei,
    "ACCENTI": accenti,
    "MATCHES": matches,
    "NUMBER": number,
    "HOUR": hour,
    "WEEKDAY": weekday,
    "DATE_OF": date_of,
    "DURATION": duration,
    "TEXT": text,
    "IP": address,
    "SEMVER": version,
    "IP_IN": in_network,
    "A_EQUALS": _on_sets(lambda left, right: left == right),
    "A_CONTAINS": _on_sets(lambda left, right: right <= left),
    "A_CONTAINEDBY": _on_sets(lambda left, right: left <= right),
    "A_OVERLAPS": _on_sets(lambda left, right: bool(left & right)),
    "DISTANCE_M": metres_between,
    **SPATIAL,
    "S_INTERSECTS": lambda left, right: (
        SPATIAL["S_INTERSECTS"](left, right) if Shape in (type(left), type(right)) else intersects(left, right)
    ),
}
