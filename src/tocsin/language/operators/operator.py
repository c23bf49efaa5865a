"""The record of an operator: its forms, its meaning, and what it is compiled to."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias

from tocsin.language.misplaced import Misplaced
from tocsin.language.operators.leaves import Leaves, Lowered, TruthStep
from tocsin.language.truths import Truth
from tocsin.model.elements import Values
from tocsin.model.expression import Call, Comparison, ComparisonOperator, Expression, Not, Span
from tocsin.model.readings import Reading
from tocsin.model.values import Value

Json: TypeAlias = Any
Make: TypeAlias = Callable[[Sequence[Expression]], Expression]

# How tightly a text binds, as the rules of the grammar nest.
OR: Final = 1
AND: Final = 2
NOT: Final = 3
PREDICATE: Final = 4
SUM: Final = 5
TERM: Final = 6
POWER: Final = 7
ATOM: Final = 8


class Piece(NamedTuple):
    """A text, how tightly it binds, and the text of its NOT where that is written inside (`a NOT IN (1)`)."""

    text: str
    binding: int
    opposite: str = ""

    def at_least(self, binding: int) -> str:
        """The text, in parentheses when it binds less tightly than its place needs."""
        return self.text if self.binding >= binding else f"({self.text})"


class Operation(NamedTuple):
    """How an operation of CQL2 JSON becomes a node."""

    make: Make
    takes: int | None = None
    """How many arguments it has; None for any number."""
    takes_arrays: bool = False
    ends_in_list: bool = False
    """Whether its last argument is an array whose items are handed to `make` one by one."""


class Operator:
    """An operator, or a family of them. `node` is always one of its own; `parts` are what became of its children.

    A record must have `described`, `text`, `json` and `value`; and, where it is a condition, `literal` or `meant`.
    """

    nodes: ClassVar[type | None] = None
    """The class of its nodes; None for those that others tell apart (functions, and comparisons of a measure)."""
    described: ClassVar[str] = ""
    """What a node is, in a user's words."""
    no_scalar: ClassVar[str] = ""
    """Why a node is not compared, nor computed with; empty where it is."""
    advised_by: ClassVar[str] = ""
    """A regular expression that finds all texts in which `advice` may have something to say."""

    # ---- its forms

    def operations(self) -> Mapping[str, Operation]:
        """By name in capitals, its operations in CQL2 JSON."""
        return {}

    def describe(self, node: Any) -> str:
        return self.described

    def is_condition(self, node: Any) -> bool:
        """Whether a node may stand where a truth is needed."""
        return True

    def text(self, node: Any, parts: Sequence[Piece]) -> Piece:
        """The node as CQL2 text."""
        raise NotImplementedError

    def json(self, node: Any, parts: Sequence[Json]) -> Json:
        """The node as CQL2 JSON."""
        raise NotImplementedError

    # ---- its meaning

    def value(self, node: Any, parts: Sequence[Any], values: Values) -> Value | Truth:
        """The value of a node about an event, or its truth; None is neither."""
        raise NotImplementedError

    def needed(self, node: Any, wanted: bool, values: Values) -> str:
        """What would make a condition TRUE, or FALSE, in words; empty for what its text says as well."""
        return ""

    def unknown_because(self, node: Any, values: Values) -> str:
        """What a condition that is UNKNOWN is so because of, where that is to be told beside `needed`."""
        return ""

    def came(self, node: Any, values: Values) -> str | None:
        """What an event has for a condition, in words; None for the values of its attributes."""
        return None

    def details(self, node: Any, values: Values) -> list[str]:
        """Lines that `explain` tells below a condition."""
        return []

    def advice(self, node: Any, text: str) -> str:
        """What a node probably means otherwise; `text` is what it was parsed from, if anything."""
        return ""

    # ---- what it is compiled to

    def meant(self, node: Any) -> Expression | None:
        """What a node is short for: an expression with the same truth about every event. None of what is not."""
        return None

    def where(self, node: Any, negated: bool) -> Expression | None:
        """What is TRUE exactly where a node, or its NOT, is, but perhaps UNKNOWN where that is FALSE; None for none."""
        return None

    def lower(self, node: Any, leaves: Leaves, negated: bool) -> Lowered:
        """A condition, or its NOT, in leaves: only where it is TRUE needs to be right."""
        return self.literal(node, leaves) ^ negated

    def literal(self, node: Any, leaves: Leaves) -> int:
        """A condition as one leaf that is TRUE, FALSE and UNKNOWN as it is."""
        raise NotImplementedError

    def truth_steps(self, node: Any, leaves: Leaves) -> list[TruthStep]:
        """The steps of a condition that is used as a value."""
        return leaves.steps_of(self.literal(node, leaves))

    def asked_by(self, reading: Reading) -> Expression | None:
        """A condition of this operator that is compiled to a reading; None of any other reading."""
        return None

    def has_recipe(self, node: Any) -> bool:
        """Whether texts that differ in constants and names alone are compiled alike: to the same leaves of others."""
        return True

    def rule_of_values(self, node: Any) -> tuple[Callable[..., str | None], Sequence[Expression]] | None:
        """What says what is wrong with the strings of some parts, so that it can be asked of each text of a form."""
        return None


class Function(Operator):
    """Functions of the same arguments, by their names in capitals. Their nodes are calls."""

    names: ClassVar[Sequence[str]] = ()
    takes: ClassVar[int | None] = 2
    """How many arguments it has; None where `require` counts them."""
    of_what: ClassVar[str] = ""
    """What the arguments are, in a user's words."""
    takes_arrays: ClassVar[bool] = False
    comparison: ClassVar[Operator | None] = None
    """Of a function whose value is a number that is only compared: the record of such comparisons."""

    def require(self, name: str, arguments: Sequence[Expression]) -> None:
        """Raise `Misplaced` for arguments that it cannot have."""

    def require_comparison(self, op: ComparisonOperator, left: Expression, right: Expression) -> None:
        """Raise `Misplaced` for a comparison that it cannot be in."""

    def call(self, name: str, arguments: Sequence[Expression], *, span: Span | None = None) -> Expression:
        """The node of a call. Raise `Misplaced` for arguments that it cannot have."""
        if self.takes is not None:
            require_count(name, arguments, self.takes, self.of_what)
        self.require(name, arguments)
        return Call(name, tuple(arguments), span=span)

    def operations(self) -> Mapping[str, Operation]:
        def maker(name: str) -> Make:
            return lambda parts: self.call(name, parts)

        return {name: Operation(maker(name), self.takes, self.takes_arrays) for name in self.names}

    def describe(self, node: Call) -> str:
        return f"the result of {node.name}"

    def text(self, node: Call, parts: Sequence[Piece]) -> Piece:
        return Piece(node.name + listed_text([part.text for part in parts]), ATOM)

    def json(self, node: Call, parts: Sequence[Json]) -> Json:
        return {"op": node.name.lower(), "args": list(parts)}


# ---- finding a record

OPERATORS: Final[list[Operator]] = []
FUNCTIONS: Final[dict[str, Function]] = {}
OPERATIONS: Final[dict[str, Operation]] = {}
"""Those of CQL2 JSON, by their names in capitals."""
_BY_NODE: Final[dict[type, Operator]] = {}


def register(operator: Operator) -> None:
    """Make an operator known. Raise `ValueError` where a name, or a class of nodes, has one already."""
    names = operator.names if isinstance(operator, Function) else ()
    taken = [name for name in names if name in FUNCTIONS]
    if taken or operator.nodes in _BY_NODE:
        raise ValueError(f"{taken or operator.nodes} has an operator already")
    OPERATORS.append(operator)
    OPERATIONS.update(operator.operations())
    if operator.nodes is not None:
        _BY_NODE[operator.nodes] = operator
    if isinstance(operator, Function):
        FUNCTIONS.update(dict.fromkeys(names, operator))


def unregister(operator: Operator) -> None:
    """Forget an operator."""
    OPERATORS.remove(operator)
    for name in operator.operations():
        del OPERATIONS[name]
    if isinstance(operator, Function):
        for name in operator.names:
            del FUNCTIONS[name]
    if operator.nodes is not None:
        del _BY_NODE[operator.nodes]


def operator_of(node: Expression) -> Operator:
    """The record of a node."""
    if isinstance(node, Call):
        return FUNCTIONS[node.name]
    if isinstance(node, Comparison):
        for side in (node.left, node.right):
            if isinstance(side, Call) and (of_measure := FUNCTIONS[side.name].comparison):
                return of_measure
    return _BY_NODE[type(node)]


def may_need_advice(text: str) -> bool:
    """Whether a text has anything that operators give advice about: most have not, and need not be parsed for it."""
    return _finds(tuple(operator.advised_by for operator in OPERATORS if operator.advised_by)).search(text) is not None


@lru_cache(1)
def _finds(parts: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(parts), re.IGNORECASE)


# ---- what a condition is compiled to


def lowered(node: Expression, leaves: Leaves, *, negated: bool = False) -> Lowered:
    """What is TRUE where a condition, or its NOT, is: a literal or a group. As deep as the tree."""
    while True:
        operator = operator_of(node)
        if isinstance(node, Not):
            node, negated = node.operand, not negated
        elif (meant := operator.meant(node)) is not None:
            node = meant
        elif (other := operator.where(node, negated)) is not None:
            node, negated = other, False
        else:
            return operator.lower(node, leaves, negated)


def truth_steps(node: Expression, leaves: Leaves) -> list[TruthStep]:
    """A condition that is used as a value, in postfix order, with leaves that are no such conditions themselves."""
    while (meant := operator_of(node).meant(node)) is not None:
        node = meant
    return operator_of(node).truth_steps(node, leaves)


def asked_by_reading(reading: Reading) -> Expression | None:
    """A condition that is compiled to a reading; None where no operator asks for such."""
    return next((tree for one in OPERATORS if (tree := one.asked_by(reading)) is not None), None)


# ---- what may stand where


def describe(node: Expression) -> str:
    """What a node is, in a user's words."""
    return operator_of(node).describe(node)


def is_condition(node: Expression) -> bool:
    """Whether a node may stand where a truth is needed."""
    return operator_of(node).is_condition(node)


def require_condition(node: Expression, rule: str) -> None:
    """Raise `Misplaced` for what is no condition; a bare attribute is one, TRUE when it is true."""
    if not is_condition(node):
        raise Misplaced(f"{rule}; {describe(node)} is none", node)


def require_count(name: str, arguments: Sequence[Expression], count: int, what: str) -> None:
    """Raise `Misplaced` for more or fewer arguments than a function takes."""
    if len(arguments) != count:
        needed = "one argument" if count == 1 else "two arguments"
        raise Misplaced(f"{name} takes {needed} ({what}), not {len(arguments)}")


def listed_text(texts: Sequence[str]) -> str:
    """Texts between parentheses."""
    return "(" + ", ".join(texts) + ")"
