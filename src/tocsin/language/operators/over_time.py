"""COUNT, SUM, PREVIOUS, SINCE and others: values of several events of one object, and BY, which says whose events.

An engine sees one event and has no such values; a monitor remembers, and adds them to events under names of their own
(`model.readings`). So every comparison with one has the access keys that a comparison of an attribute has.

COUNT is 0 where nothing was counted. Most subscriptions ask for a number above 0, so a monitor would add zeros for
nothing. A comparison that is FALSE at 0 is therefore compiled to a name that is absent at 0; all else to another one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple, cast

from tocsin.language.canonical import to_text
from tocsin.language.json_form import to_json
from tocsin.language.misplaced import Misplaced
from tocsin.language.operators.duration import duration_problem, microseconds_of
from tocsin.language.operators.leaves import Leaves, Lowered
from tocsin.language.operators.named import refuse_named
from tocsin.language.operators.operands import Operand, Path
from tocsin.language.operators.operator import (
    ATOM,
    Function,
    Json,
    Piece,
    describe,
    listed_text,
    lowered,
    require_condition,
)
from tocsin.language.stored import stored_expression
from tocsin.language.truths import Truth, truth_of
from tocsin.model.elements import Values
from tocsin.model.expression import (
    AnyElement,
    Attribute,
    Call,
    Constant,
    Expression,
    IsNull,
    Span,
    attributes,
    fold,
    walk_all,
)
from tocsin.model.readings import Reading, as_key, as_over_time, attribute_of, reading_of
from tocsin.model.values import Value

COUNT: Final = "COUNT"
COUNT_DISTINCT: Final = "COUNT_DISTINCT"
PREVIOUS: Final = "PREVIOUS"
SINCE: Final = "SINCE"
AGGREGATES: Final = ("SUM", "AVG", "MIN", "MAX")
BY: Final = "BY"
MOST_DEPTH: Final = 8
"""The most functions over time inside each other."""


@dataclass(frozen=True, slots=True)
class OverTime(Call):
    """A function of several events. Its arguments are about other events, so they are inner expressions.

    `by` names the attributes that identify its object, if the subscription has a key of its own.
    """

    by: tuple[str, ...] = ()

    def children(self) -> tuple[Expression, ...]:
        return ()

    def with_children(self, parts: Sequence[Any]) -> Expression:
        return self

    def inner(self) -> tuple[Expression, ...]:
        return self.arguments

    def with_inner(self, parts: Sequence[Expression]) -> Expression:
        return OverTime(self.name, tuple(parts), by=self.by)


class Term(NamedTuple):
    """The parts of a function over time."""

    function: str
    attribute: str | None
    condition: Expression | None
    span: int | None  # in microseconds


def term_of(node: OverTime) -> Term:
    """The parts of a function over time."""
    attribute = node.arguments[0].name if isinstance(node.arguments[0], Attribute) and node.name != SINCE else None
    span = None
    conditions = node.arguments
    if node.name not in (PREVIOUS, SINCE):
        span = microseconds_of(str(cast(Constant, node.arguments[-1]).value))
        conditions = node.arguments[:-1]
    if node.name in (COUNT, SINCE):
        return Term(node.name, None, conditions[0], span)
    return Term(node.name, attribute, conditions[1] if len(conditions) > 1 else None, span)


class _OverTime(Function):
    """The common part of functions over time."""

    takes = None
    example = ""
    has_attribute = True
    has_span = True
    advised_by = r"'P|SINCE"

    def call(self, name: str, arguments: Sequence[Expression], *, span: Span | None = None) -> Expression:
        if len(arguments) not in self._counts():
            counted = "one argument" if len(arguments) == 1 else f"{len(arguments)} arguments"
            raise Misplaced(f"{name} is about several events, as in {name}{self.example}; it has {counted} here")
        rest = list(arguments)
        if self.has_attribute and not isinstance(attribute := rest.pop(0), Attribute):
            raise Misplaced(f"{name} needs an attribute first, as in {name}{self.example}", attribute)
        if self.has_span:
            self._require_span(name, rest.pop())
        for condition in rest:
            require_condition(condition, f"{name} takes a condition, as in {name}{self.example}")
            refuse_named(condition, name)
            _refuse_nested(condition)
        return OverTime(name, tuple(arguments), span=span)

    def _counts(self) -> Sequence[int]:
        return (self.has_attribute + 1 + self.has_span,)

    def _require_span(self, name: str, length: Expression) -> None:
        if not (isinstance(length, Constant) and isinstance(length.value, str)):
            raise Misplaced(
                f"{name} needs a length of time in single quotes, as in {name}{self.example}, not {describe(length)}",
                length,
            )
        if problem := duration_problem(length.value):
            raise Misplaced(problem, length)

    def is_condition(self, node: Any) -> bool:
        return False

    def text(self, node: Any, parts: Sequence[Piece]) -> Piece:
        return Piece(node.name + listed_text([to_text(one) for one in node.arguments]), ATOM)

    def json(self, node: Any, parts: Sequence[Json]) -> Json:
        return {"op": node.name.lower(), "args": [to_json(one) for one in node.arguments]}

    def value(self, node: Any, parts: Sequence[Any], values: Values) -> Value | None:
        if not is_count(node):
            return cast("Value | None", values.get(name_of(node)))
        return cast("Value | None", values.get(name_of(node), values.get(name_of(node, or_zero=True), 0.0)))

    def operand(self, node: Any) -> Operand:
        return Path(name_of(node, or_zero=is_count(node)))

    def has_recipe(self, node: Any) -> bool:
        """Not for a value whose name holds its constants."""
        return False

    def rule_of_values(self, node: Any) -> tuple[Callable[..., str | None], Sequence[Expression]] | None:
        return (duration_problem, node.arguments[-1:]) if self.has_span else None

    def advice(self, node: Any, text: str) -> str:
        """A span of 0, in which there are only the events of one instant."""
        return "its span is 0, so only events of one instant count together" if term_of(node).span == 0 else ""


class Counted(_OverTime):
    names, has_attribute = (COUNT,), False
    example = "(type = 'login' AND ok = FALSE, 'PT10M')"


class CountedDistinct(_OverTime):
    names = (COUNT_DISTINCT,)
    example = "(card, type = 'payment', 'P1D')"


class Aggregated(_OverTime):
    names = AGGREGATES
    example = "(amount, type = 'payment', 'P1D')"


class Previous(_OverTime):
    names, has_span = (PREVIOUS,), False
    example = "(temperature) or PREVIOUS(temperature, ok = TRUE)"

    def _counts(self) -> Sequence[int]:
        return (1, 2)


class Since(_OverTime):
    names, has_attribute, has_span = (SINCE,), False, False
    example = "(type = 'heartbeat')"


class By(Function):
    """BY(user, condition): the condition, of which the functions over time are about the events of one user."""

    names, takes = (BY,), None

    def require(self, name: str, arguments: Sequence[Expression]) -> None:
        if len(arguments) < 2:
            raise Misplaced("BY is written BY(user, condition), or BY(host, user, condition)")
        *keys, condition = arguments
        for key in keys:
            if not isinstance(key, Attribute):
                raise Misplaced(f"BY needs attributes before the condition, not {describe(key)}", key)
        require_condition(condition, "BY takes a condition last")

    def is_condition(self, node: Call) -> bool:
        """Only as the whole of an expression, which `language.rules.whole` allows."""
        return False

    def describe(self, node: Call) -> str:
        return "BY, which encloses a whole subscription,"

    def value(self, node: Call, parts: Sequence[Any], values: Values) -> Truth:
        return truth_of(parts[-1])

    def lower(self, node: Call, leaves: Leaves, negated: bool) -> Lowered:
        """The condition, with functions over time that name the key; a monitor looks for the keys that there are."""
        by = key_of(node)
        leaves.reads([as_key(by)])
        return lowered(keyed(node.arguments[-1], by), leaves, negated=negated)


def keyed(condition: Expression, by: tuple[str, ...]) -> Expression:
    """A condition in which functions over time are about the events of one object by a key."""
    if not by:
        return condition

    def combine(node: Expression, parts: Sequence[Expression]) -> Expression:
        if isinstance(node, OverTime):
            return OverTime(node.name, node.arguments, by=by)
        return node.with_children(parts) if parts else node

    return fold(condition, combine)


def key_of(tree: Expression) -> tuple[str, ...]:
    """The attributes of a subscription's own key; empty if it has none."""
    if not is_by(tree):
        return ()
    return tuple(cast(Attribute, one).name for one in cast(Call, tree).arguments[:-1])


def is_by(tree: Expression) -> bool:
    """Whether an expression has a key of its own."""
    return isinstance(tree, Call) and tree.name == BY


def with_key(condition: Expression, by: Sequence[str]) -> Expression:
    """A condition with a key of its own; the condition itself if there is none."""
    return Call(BY, (*map(Attribute, by), condition)) if by else condition


def is_count(node: Expression) -> bool:
    """Whether a node counts, and so has a value of every object."""
    return isinstance(node, OverTime) and node.name in (COUNT, COUNT_DISTINCT)


@lru_cache(1 << 14)
def name_of(node: OverTime, *, or_zero: bool = False) -> str:
    """The name under which a monitor adds the value of a function; with `or_zero`, the one that has zeros, too."""
    return as_over_time(to_text(with_key(IsNull(node), node.by)), or_zero=or_zero)


@lru_cache(1 << 12)
def over_time_of(reading: Reading) -> OverTime:
    """The function over time whose value is a reading, with its key."""
    tree = stored_expression(reading.rest)
    absent = cast(Call, tree).arguments[-1] if is_by(tree) else tree
    node = cast(OverTime, cast(IsNull, absent).operand)
    return OverTime(node.name, node.arguments, by=key_of(tree))


def functions_in(tree: Expression) -> list[OverTime]:
    """The functions over time in an expression, each once, in order; not those inside of others."""
    by = key_of(tree)
    found = (node for node in walk_all_outside(tree) if isinstance(node, OverTime))
    return list(dict.fromkeys(OverTime(one.name, one.arguments, by=one.by or by) for one in found))


def attributes_of_all(tree: Expression) -> list[str]:
    """The attributes in an expression, and those of other events inside of functions over time, each once."""
    inner = (name for node in functions_in(tree) for one in node.arguments for name in attributes_of_all(one))
    return list(dict.fromkeys([*attributes(tree), *inner]))


def attributes_behind(name: str) -> Sequence[str]:
    """The attributes of events that a compiled name is about."""
    reading = reading_of(name)
    if reading.is_over_time:
        node = over_time_of(reading)
        return [*node.by, *attributes_of_all(node)]
    return json.loads(reading.rest) if reading.is_key else [attribute_of(name)]


def walk_all_outside(tree: Expression) -> list[Expression]:
    """The nodes of an expression, without what is inside of functions over time."""
    nodes: list[Expression] = []

    def combine(node: Expression, parts: Sequence[None]) -> None:
        nodes.append(node)

    fold(tree, combine)
    return nodes[::-1]


def depth_of(tree: Expression) -> int:
    """How many functions over time enclose each other at most."""
    inner = [
        max((depth_of(one) for one in node.arguments), default=0)
        for node in walk_all_outside(tree)
        if isinstance(node, OverTime)
    ]
    return 1 + max(inner) if inner else 0


def needs_monitor(function: str) -> str:
    """Why one event does not tell the value of a function."""
    return (
        f"a subscription asks about several events, by {function}; match them with tocsin.Monitor(engine, key=...), "
        "which remembers"
    )


def refuse_over_time(condition: Expression, within: str) -> None:
    """Raise `Misplaced` for a function over time within a condition on elements, of which none is remembered."""
    for node in walk_all(condition):
        if isinstance(node, OverTime):
            raise Misplaced(f"{node.name} is about whole events; it cannot stand in {within}", node)


def _refuse_nested(condition: Expression) -> None:
    if depth_of(condition) >= MOST_DEPTH:
        raise Misplaced(f"functions over time nest more than {MOST_DEPTH} deep; at most {MOST_DEPTH} is allowed")
    for node in walk_all(condition):
        if isinstance(node, AnyElement):
            refuse_over_time(node.condition, "a condition on elements")
