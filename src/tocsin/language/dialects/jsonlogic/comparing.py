"""Comparisons of JSON Logic, for every type of value that an event may have.

Each comparison is TRUE, FALSE, or raises an error. So it is read into two conditions: `wanted` says which. A rule that
raises an error matches nothing, and an error is never negated.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

from tocsin.language.dialects.dialect import (
    TRUTHS,
    Reader,
    all_of,
    any_of,
    call,
    compared,
    is_list,
    is_number,
    is_string,
    not_true,
    one_of,
)
from tocsin.language.evaluate import evaluate
from tocsin.language.operators.number import as_number
from tocsin.model.elements import ELEMENT
from tocsin.model.expression import (
    Attribute,
    Call,
    Comparison,
    ComparisonOperator,
    Constant,
    Expression,
    IsNull,
    Not,
    attributes,
    fold,
)

Scalar: TypeAlias = str | float | bool | None
Outcome: TypeAlias = bool | None
"""The result of a comparison; None if it raises an error."""

MOST_VARIABLES: Final = 6
"""The most variables in the arithmetic of one comparison. Each doubles the condition."""

SAID: Final[dict[str, ComparisonOperator]] = {"==": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_OPPOSITE: Final[dict[str, str]] = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_MOMENT: Final = r"^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d"
_DURATION: Final = r"^\d[\d:]*[dhms][\ddhms:]*$"
_OF_INSTANTS: Final[dict[ComparisonOperator, tuple[str, ...]]] = {
    "=": ("T_EQUALS",),
    "<>": ("T_BEFORE", "T_AFTER"),
    "<": ("T_BEFORE",),
    "<=": ("T_BEFORE", "T_EQUALS"),
    ">": ("T_AFTER",),
    ">=": ("T_AFTER", "T_EQUALS"),
}
_MIRRORED: Final[dict[str, str]] = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


class Variable(NamedTuple):
    """A value of the event, or of an element of a list."""

    name: str

    @property
    def value(self) -> Attribute:
        return Attribute(self.name)

    @property
    def is_element(self) -> bool:
        """Whether it is a whole element of a list."""
        return self.name == ELEMENT


class Sum(NamedTuple):
    """Arithmetic: an expression in which NUMBER is applied to the variables."""

    node: Expression
    variables: tuple[Variable, ...]
    is_bare: bool = False
    """Whether it is one variable, beside arithmetic."""


Operand: TypeAlias = Variable | Sum | Constant | None
"""A part of a comparison; None is null."""


# ---- what values are


def is_null(variable: Variable, reader: Reader) -> Expression:
    """Whether there is no value. There is none inside a list, where tocsin reads the values of all objects."""
    if variable.is_element:
        reader.fail(
            'tocsin cannot tell an element null from an element that is an object; compare {"var": ""} by ===, '
            "or the fields of the objects"
        )
    return any_of([IsNull(variable.value), *_in_lists(variable)])


def is_absent(variable: Variable) -> Expression:
    """Whether an event has no such member, not even null."""
    return any_of([Not(call("GIVEN", variable.value)), *_in_lists(variable)])


def _in_lists(variable: Variable) -> list[Expression]:
    """Whether an outer value is a list."""
    outer = [variable.name[:at] for at, letter in enumerate(variable.name) if letter == "."]
    return [is_list(Attribute(name)) for name in outer]


def is_true(variable: Variable, wanted: bool, reader: Reader) -> Expression:
    """Whether a value counts as true: not null, 0, an empty text, false or an empty list."""
    nothing = one_of(variable.value, (Constant(0.0), Constant(""), Constant(False)))
    falsy = any_of([is_null(variable, reader), nothing, Not(call("ANY", variable.value, Constant(True)))])
    return not_true(falsy) if wanted else falsy


def _is_scalar(value: Attribute) -> Expression:
    return any_of([is_string(value), is_number(value), one_of(value, TRUTHS)])


# ---- strict comparisons


def same(variable: Variable, constant: Constant | None, wanted: bool, reader: Reader) -> Expression:
    """`===`."""
    node = is_null(variable, reader) if constant is None else compared(variable.value, "=", constant)
    return node if wanted else not_true(node)


def same_constants(left: Constant | None, right: Constant | None) -> bool:
    return left == right


# ---- loose comparisons


def compare(op: str, left: Operand, right: Operand, wanted: bool, reader: Reader) -> Expression:
    """`==`, `!=`, `<`, `<=`, `>` or `>=`."""
    if not isinstance(left, Variable | Sum) and not isinstance(right, Variable | Sum):
        return Constant(outcome(op, _scalar(left), _scalar(right)) is wanted)
    if not isinstance(left, Variable | Sum):
        return compare(_MIRRORED[op], right, left, wanted, reader)
    if isinstance(left, Variable) and isinstance(right, Variable):
        return _variables(op, left, right, wanted, reader)
    if isinstance(left, Variable) and not isinstance(right, Sum):
        assert not isinstance(right, Variable)
        return _with_constant(op, left, _scalar(right), wanted, reader)
    sides = []
    for one in (left, right):
        if isinstance(one, Variable):
            sides.append(Sum(call("NUMBER", one.value), (one,), is_bare=True))
        elif isinstance(one, Sum):
            sides.append(one)
        else:
            number = number_of(op, one)
            if number is None:
                return Constant(False)  # it raises an error for every event
            sides.append(Sum(Constant(number), ()))
    return _sums(op, sides[0], sides[1], wanted, reader)


def outcome(op: str, left: Scalar, right: Scalar) -> Outcome:
    """The result of a loose comparison of two constants.

    >>> outcome("==", "5.0", 5.0), outcome("==", None, False), outcome("<", "a", 5.0)
    (True, True, None)
    """
    if op in ("==", "!="):
        equal = _equal(left, right)
        return equal if equal is None else equal is (op == "==")
    if isinstance(left, str) and isinstance(right, str):
        return _ordered(op, left, right)
    numbers = _number_of(op, left), _number_of(op, right)
    if numbers[0] is not None and numbers[1] is not None:
        return _ordered(op, numbers[0], numbers[1])
    return None if float in (type(left), type(right)) else False


def _ordered(op: str, left: str | float, right: str | float) -> bool:
    order = (left > right) - (left < right)  # type: ignore[operator]
    return {"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[op]


def _equal(left: Scalar, right: Scalar) -> Outcome:
    for one, other in ((left, right), (right, left)):
        if one is None:
            return other in (None, "") if other is None or isinstance(other, str) else float(other) == 0
        if isinstance(one, bool) and isinstance(other, str):
            return other == str(one).lower()
        if type(one) is float and isinstance(other, str):
            number = as_number(other)
            return None if number is None else number == one
    return left == right


def _number_of(op: str, value: Scalar) -> float | None:
    """The number as which a constant is compared with a number; None if the comparison raises an error."""
    if isinstance(value, str):
        return 0.0 if value == "" and op not in ("==", "!=") else as_number(value)
    return 0.0 if value is None else float(value)


def number_of(op: str, constant: Constant | None) -> float | None:
    """A constant as a number, where it is compared or computed with one; None if that raises an error."""
    return _number_of(op, _scalar(constant))


def _scalar(constant: Operand) -> Scalar:
    if constant is None:
        return None
    assert isinstance(constant, Constant) and isinstance(constant.value, str | float | bool)
    return constant.value


def _with_constant(op: str, variable: Variable, constant: Scalar, wanted: bool, reader: Reader) -> Expression:
    """A variable compared with a constant: an OR over the types of its values."""
    value = variable.value
    said = SAID[op if wanted else _OPPOSITE[op]]
    parts = [is_null(variable, reader)] if outcome(op, None, constant) is wanted else []
    number = _number_of(op, constant)
    if type(constant) is float:
        parts.append(compared(call("NUMBER", value), said, Constant(constant)))
    else:
        booleans = [Constant(one) for one in (True, False) if outcome(op, one, constant) is wanted]
        parts += [one_of(value, booleans)] if booleans else []
        parts += [compared(value, said, Constant(number))] if number is not None else []
    return any_of([*parts, *_strings(op, variable, constant, wanted)])


def _strings(op: str, variable: Variable, constant: Scalar, wanted: bool) -> list[Expression]:
    """The strings for which a comparison with a constant comes out as wanted."""
    value, is_equality = variable.value, op in ("==", "!=")
    said = SAID[op if wanted else _OPPOSITE[op]]
    if isinstance(constant, str) or (is_equality and type(constant) is not float):
        text = constant if isinstance(constant, str) else "" if constant is None else str(constant).lower()
        return [compared(value, said, Constant(text))]
    empty = [compared(value, "=", Constant(""))] if outcome(op, "", constant) is wanted else []
    if type(constant) is float:
        return empty
    number = call("NUMBER", value)
    parts = [*empty, all_of([is_string(value), compared(number, said, Constant(float(constant or 0)))])]
    if not wanted:
        parts.append(all_of([is_string(value), compared(value, "<>", Constant("")), IsNull(number)]))
    return parts


# ---- two variables


def same_variables(left: Variable, right: Variable, wanted: bool, reader: Reader) -> Expression:
    """`===` of two variables. Two lists, or two objects, are neither the same nor different here."""
    both_null = all_of([is_null(left, reader), is_null(right, reader)])
    equal = any_of([*_alike("=", left.value, right.value), both_null])
    if wanted:
        return equal
    comparable = any_of(
        [is_null(one, reader) for one in (left, right)] + [_is_scalar(one.value) for one in (left, right)]
    )
    return all_of([comparable, not_true(_both(_DURATION, left.value, right.value)), not_true(equal)])


def _variables(op: str, left: Variable, right: Variable, wanted: bool, reader: Reader) -> Expression:
    """Two variables compared: an OR over the types of their values."""
    said = SAID[op if wanted else _OPPOSITE[op]]
    alike = _alike(said, left.value, right.value)
    if op in ("==", "!="):
        return any_of([*alike, *_unlike_equal(said == "=", left, right, reader)])
    return any_of([*alike, *_unlike_ordered(op, left, right, wanted, reader)])


def _alike(said: ComparisonOperator, left: Attribute, right: Attribute) -> list[Expression]:
    """Values of one type. Two dates are compared as instants. Of two durations, only equal texts are compared."""
    moments = _both(_MOMENT, left, right)
    texts = all_of([not_true(moments), not_true(_both(_DURATION, left, right)), Comparison(said, left, right)])
    equal = [Comparison("=", left, right)] if said in ("=", "<=", ">=") else []
    return [texts, *equal, all_of([moments, any_of([call(name, left, right) for name in _OF_INSTANTS[said]])])]


def _both(pattern: str, left: Attribute, right: Attribute) -> Expression:
    return all_of([call("MATCHES", one, Constant(pattern)) for one in (left, right)])


def _unlike_equal(equal: bool, left: Variable, right: Variable, reader: Reader) -> list[Expression]:
    """Values of two types that are equal, or that are not, by `==`."""
    numbers = Comparison("=" if equal else "<>", *[call("NUMBER", one.value) for one in (left, right)])
    parts = [all_of([any_of([is_number(left.value), is_number(right.value)]), numbers])]
    for one, other in ((left, right), (right, left)):
        value, text = one.value, other.value
        spelled = any_of(
            [
                all_of([compared(value, "=", Constant(truth)), compared(text, "=", Constant(str(truth).lower()))])
                for truth in (True, False)
            ]
        )
        empty = one_of(text, (Constant(0.0), Constant(""), Constant(False)))
        if equal:
            parts += [spelled, all_of([is_null(one, reader), any_of([is_null(other, reader), empty])])]
        else:
            parts.append(all_of([one_of(value, TRUTHS), is_string(text), not_true(spelled)]))
            parts.append(all_of([is_null(one, reader), _is_scalar(text), not_true(empty)]))
    return parts


def _unlike_ordered(op: str, left: Variable, right: Variable, wanted: bool, reader: Reader) -> list[Expression]:
    """Values of two types in order, as numbers."""
    sums = [Sum(call("NUMBER", one.value), (one,)) for one in (left, right)]
    numbers = _sums(op, sums[0], sums[1], wanted, reader)
    parts = [all_of([not_true(all_of([is_string(left.value), is_string(right.value)])), numbers])]
    if wanted:
        return parts
    for one, other in ((left.value, right), (right.value, left)):  # FALSE, where a number would raise an error
        text = [is_string(one), compared(one, "<>", Constant("")), IsNull(call("NUMBER", one))]
        parts.append(all_of([*text, any_of([is_null(other, reader), one_of(other.value, TRUTHS)])]))
    return parts


# ---- arithmetic


def _sums(op: str, left: Sum, right: Sum, wanted: bool, reader: Reader) -> Expression:
    """Arithmetic compared: an OR over the ways in which its variables are empty, which count as 0."""
    if len(left.variables) + len(right.variables) > MOST_VARIABLES:
        reader.fail(f"arithmetic has more than {MOST_VARIABLES} variables in one comparison; they double the condition")
    said = SAID[op if wanted else _OPPOSITE[op]]
    strict = op in ("==", "!=")
    parts = []
    for (guards, one), (others, other) in itertools.product(
        _cases(left, strict, reader), _cases(right, strict, reader)
    ):
        compared_both = Comparison(said, one, other)
        if attributes(compared_both):
            parts.append(all_of([*guards, *others, compared_both]))
        elif evaluate(compared_both, {}):
            parts.append(all_of([*guards, *others]))
    return any_of(parts)


def _cases(side: Sum, strict: bool, reader: Reader) -> list[tuple[list[Expression], Expression]]:
    found = []
    for count in range(len(side.variables) + 1):
        for empty in itertools.combinations(side.variables, count):
            guards = [_counts_as_zero(one, strict and side.is_bare, reader) for one in empty]
            found.append((guards, _with_zeros(side.node, empty)))
    return found


def _counts_as_zero(variable: Variable, only_null: bool, reader: Reader) -> Expression:
    empty = [] if only_null else [compared(variable.value, "=", Constant(""))]
    return any_of([is_null(variable, reader), *empty])


def _with_zeros(node: Expression, empty: Sequence[Variable]) -> Expression:
    names = {one.name for one in empty}

    def combine(one: Expression, parts: Sequence[Expression]) -> Expression:
        if isinstance(one, Call) and isinstance(parts[0], Attribute) and parts[0].name in names:
            return Constant(0.0)
        return one.with_children(parts)

    return fold(node, combine)
