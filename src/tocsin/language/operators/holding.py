"""HOLDS and SOME: conditions that are TRUE or FALSE, and never UNKNOWN.

`HOLDS(c)` is FALSE where `c` is FALSE or UNKNOWN. `SOME(x, c)` is about the value of `x` or, if that is a list, about
any of its elements. Other systems mostly decide in this way, so conditions that come from them are made of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

from tocsin.language.canonical import name_text, to_text
from tocsin.language.json_form import to_json
from tocsin.language.misplaced import Misplaced
from tocsin.language.operators.any_element import SomeElement
from tocsin.language.operators.leaves import Leaves, TruthStep
from tocsin.language.operators.named import refuse_named
from tocsin.language.operators.operator import (
    ATOM,
    Function,
    Json,
    Piece,
    describe,
    listed_text,
    operator_of,
    require_condition,
    require_count,
    truth_steps,
)
from tocsin.language.operators.outer import is_outer
from tocsin.language.operators.over_time import refuse_over_time
from tocsin.language.truths import EITHER, Truth, truth_of
from tocsin.model.elements import ELEMENT, GIVEN, Values
from tocsin.model.expression import (
    And,
    AnyAttribute,
    AnyElement,
    Attribute,
    Call,
    Comparison,
    Constant,
    Expression,
    IsNull,
    Not,
    Or,
    SomeValue,
    Span,
    conjunction,
    disjunction,
    fold,
    walk,
)
from tocsin.model.readings import PART

MAX_SOME: Final = 6
"""The most levels of SOME within SOME. Each level doubles the condition. SOME about `element` alone adds one ANY."""


def fails(node: Expression) -> Expression:
    """A condition that is TRUE exactly where another is FALSE or UNKNOWN. Recurses to the tree's depth.

    >>> from tocsin.language import parse, to_text
    >>> to_text(fails(parse("a = 1 AND b IS NULL")))
    'NOT a = 1 OR (a = 1) IS NULL OR b IS NOT NULL'
    """
    if isinstance(node, And):
        return disjunction(fails(operand) for operand in node.operands)
    if isinstance(node, Or):
        return conjunction(fails(operand) for operand in node.operands)
    held = _held(node)
    if held is not None:
        return fails(held)
    return Not(node) if isinstance(node, IsNull) else disjunction((Not(node), _is_unknown(node)))


def _is_unknown(node: Expression) -> Expression:
    """Whether a condition is UNKNOWN. IS NULL of a bare attribute would ask whether it is there, not what it is."""
    return IsNull(Comparison("=", node, Constant(True)) if isinstance(node, Attribute) else node)


def _held(node: Expression) -> Expression | None:
    """What a HOLDS or a SOME is about; None for other nodes."""
    if isinstance(node, SomeValue):
        return node.meaning
    return node.arguments[0] if isinstance(node, Call) and node.name == "HOLDS" else None


class _Holding(Function):
    """Conditions that are TRUE where another is, and FALSE elsewhere. That other one is the node's only child."""

    def value(self, node: Expression, parts: Sequence[Any], values: Values) -> Truth:
        truth = truth_of(parts[0])
        return truth if truth is EITHER else truth is True

    def where(self, node: Expression, negated: bool) -> Expression:
        (held,) = node.children()
        return fails(held) if negated else held

    def literal(self, node: Expression, leaves: Leaves) -> int:
        return leaves.truth(self.truth_steps(node, leaves))

    def truth_steps(self, node: Expression, leaves: Leaves) -> list[TruthStep]:
        (held,) = node.children()
        return truth_steps(conjunction((held, Not(_is_unknown(held)))), leaves)


class Holds(_Holding):
    names, takes, of_what = ("HOLDS",), 1, "a condition, as in price > 3"
    described = "a condition with HOLDS"

    def describe(self, node: Call) -> str:
        return self.described

    def require(self, name: str, arguments: Sequence[Expression]) -> None:
        require_condition(arguments[0], "HOLDS takes a condition")

    def needed(self, node: Call, wanted: bool, values: Values) -> str:
        (held,) = node.arguments
        return f"{to_text(held)} is {'TRUE' if wanted else 'FALSE or UNKNOWN'}"


class Some(_Holding):
    nodes, names, described = SomeValue, ("SOME",), "a condition with SOME"

    def call(self, name: str, arguments: Sequence[Expression], *, span: Span | None = None) -> Expression:
        require_count(name, arguments, 2, "an attribute and a condition on its value, as in element > 3")
        items, condition = arguments
        if not isinstance(items, Attribute):
            raise Misplaced(f"SOME needs an attribute, not {describe(items)}", items)
        require_condition(condition, "SOME takes a condition for values")
        if not isinstance(condition, SomeValue):  # it was checked when it was made
            _refuse_of_events(condition)
        if MAX_SOME in (_levels(condition), _inner_lists(condition)):
            raise Misplaced(f"SOME nests more than {MAX_SOME} deep; at most {MAX_SOME} is allowed", condition)
        return SomeValue(items, condition, _meaning(items, condition), span=span)

    def describe(self, node: Any) -> str:
        return self.described

    def text(self, node: Any, parts: Sequence[Piece]) -> Piece:
        return Piece("SOME" + listed_text([name_text(node.items.name), to_text(node.condition)]), ATOM)

    def json(self, node: Any, parts: Sequence[Json]) -> Json:
        return {"op": "some", "args": [to_json(node.items), to_json(node.condition)]}

    def needed(self, node: Any, wanted: bool, values: Values) -> str:
        items, condition = name_text(node.items.name), to_text(_innermost(node.condition))
        if wanted:
            return f"{items}, or an element of it, with {condition}"
        return f"no {items}, and no element of it, with {condition}"

    def details(self, node: Any, values: Values) -> list[str]:
        """The element that satisfies the condition or, if none does, the closest one."""
        asked = AnyElement(node.items, node.condition)
        return cast(SomeElement, operator_of(asked)).details(asked, values)


def _refuse_of_events(condition: Expression) -> None:
    """Reject what is about a whole event in a condition on a value."""
    if any(isinstance(node, AnyAttribute) for node in walk(condition)):
        raise Misplaced("ANY_ATTRIBUTE is about a whole event, not about a value; it cannot stand in SOME", condition)
    refuse_named(condition, "SOME")
    refuse_over_time(condition, "SOME")


def _meaning(items: Attribute, condition: Expression) -> Expression:
    """The condition on the value itself, or on an element of the list.

    A value that is not a list satisfies `SOME(element, c)` where it satisfies `c`. So lists within lists add one ANY a
    level, and nothing to the first alternative.
    """
    of_value = _innermost(condition)
    itself = _about(items.name, of_value)
    if _concerns_lists(of_value):
        null: list[Expression] = [Call(GIVEN, (items,))] if any(_is_given(node) for node in walk(condition)) else []
        is_given = [*null, *(Not(IsNull(one)) for one in dict.fromkeys((items, *_attributes_in(itself))))]
        is_no_list = IsNull(AnyElement(items, Constant(True)))
        itself = conjunction((disjunction(is_given), is_no_list, itself))
    return disjunction((itself, AnyElement(items, condition)))


def _innermost(condition: Expression) -> Expression:
    """The condition on a value within all SOME that are about `element`, and so about lists within lists."""
    while isinstance(condition, SomeValue) and condition.items.name == ELEMENT:
        condition = condition.condition
    return condition


def _inner_lists(condition: Expression) -> int:
    """How many levels of lists within lists a condition on a value enters."""
    if isinstance(condition, SomeValue) and condition.items.name == ELEMENT:
        return 1 + _inner_lists(condition.condition)
    return 0


_OF_SCALARS: Final = frozenset(("CASEI", "ACCENTI", "MATCHES", "NUMBER"))


def _concerns_lists(node: Expression, negated: bool = False) -> bool:
    """Whether a condition on a value may be TRUE of a list as a whole, or where there is no value."""
    if isinstance(node, Not | And | Or):
        negated ^= isinstance(node, Not)
        return any(_concerns_lists(child, negated) for child in node.children())
    if isinstance(node, IsNull) or (isinstance(node, Constant) and isinstance(node.value, bool)):
        return True
    if isinstance(node, AnyElement):
        return node.items.name == ELEMENT
    if isinstance(node, SomeValue):
        return negated or _concerns_lists(node.condition)
    if isinstance(node, Call) and node.name not in _OF_SCALARS and not node.name.startswith("T_"):
        return node.name != "HOLDS" or negated or _concerns_lists(node.arguments[0])
    return any(_concerns_lists(child) for child in node.children() if not isinstance(child, Constant))


def _about(path: str, condition: Expression) -> Expression:
    """A condition on an element, as one on an attribute: `element` is the attribute, other names are its fields.

    The names of a template begin with `PART`; the joined name does so, too.
    """

    def name_of(attribute: Attribute) -> Attribute:
        return Attribute(path if attribute.name == ELEMENT else f"{path}.{attribute.name.removeprefix(PART)}")

    def combine(node: Expression, parts: Sequence[Expression]) -> Expression:
        if isinstance(node, SomeValue):
            items = name_of(node.items)
            return SomeValue(items, node.condition, _meaning(items, node.condition))
        if is_outer(node):
            return node
        return name_of(node) if isinstance(node, Attribute) else node.with_children(parts)

    return fold(condition, combine)


def _is_given(node: Expression) -> bool:
    return isinstance(node, Call) and node.name == GIVEN


def _attributes_in(condition: Expression) -> list[Expression]:
    outer = {id(node.children()[0]) for node in walk(condition) if is_outer(node)}
    return [node for node in walk(condition) if isinstance(node, Attribute) and id(node) not in outer]


def _levels(condition: Expression) -> int:
    """How many levels of SOME within SOME a condition has, without those for lists within lists."""
    condition = _innermost(condition)
    inner = [_levels(node.condition) for node in walk(condition) if isinstance(node, SomeValue)]
    return 1 + max(inner) if inner else 0
