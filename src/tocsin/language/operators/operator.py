"""The record of an operator: its syntax, its meaning, and what it is compiled to."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias

from tocsin.language.misplaced import Misplaced
from tocsin.language.operators.leaves import Leaves, Lowered, TruthStep
from tocsin.language.operators.operands import OPERANDS, Operand
from tocsin.language.operators.operands import Truth as TruthOperand
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
    """A text, how tightly it binds, and the text of its NOT if NOT is written inside (`a NOT IN (1)`)."""

    text: str
    binding: int
    opposite: str = ""

    def at_least(self, binding: int) -> str:
        """The text, in parentheses when it binds less tightly than `binding`."""
        return self.text if self.binding >= binding else f"({self.text})"


class Operation(NamedTuple):
    """How an operation of CQL2 JSON becomes a node."""

    make: Make
    takes: int | None = None
    """The number of arguments; None for any number."""
    takes_arrays: bool = False
    ends_in_list: bool = False
    """Whether the last argument is an array. Its items are passed to `make` one by one."""


class Operator:
    """An operator, or a family of them. `node` is always one of its own; `parts` are the results of its children.

    A record must define `described`, `text`, `json` and `value`. A condition must also define `literal` or `meant`.
    """

    nodes: ClassVar[type | None] = None
    """The class of its nodes. None for functions and for comparisons of a measure, which are found in other ways."""
    described: ClassVar[str] = ""
    """What a node is, in the user's words."""
    no_scalar: ClassVar[str] = ""
    """Why a node cannot be compared or computed with; empty if it can."""
    only_compared: ClassVar[str] = ""
    """Why a node may be compared, but not computed with; empty if it may."""
    advised_by: ClassVar[str] = ""
    """A regular expression that finds every text on which `advice` might have something to say."""

    # ---- syntax

    def operations(self) -> Mapping[str, Operation]:
        """Its operations in CQL2 JSON, by name in capitals."""
        return {}

    def describe(self, node: Any) -> str:
        return self.described

    def is_condition(self, node: Any) -> bool:
        """Whether a node may be used as a condition."""
        return True

    def text(self, node: Any, parts: Sequence[Piece]) -> Piece:
        """Write a node as CQL2 text."""
        raise NotImplementedError

    def json(self, node: Any, parts: Sequence[Json]) -> Json:
        """Write a node as CQL2 JSON."""
        raise NotImplementedError

    # ---- meaning

    def value(self, node: Any, parts: Sequence[Any], values: Values) -> Value | Truth:
        """The value of a node for an event, or its truth; None for no value or UNKNOWN."""
        raise NotImplementedError

    def needed(self, node: Any, wanted: bool, values: Values) -> str:
        """Describe what would make a condition TRUE, or FALSE; empty if the condition's text says it."""
        return ""

    def unknown_because(self, node: Any, values: Values) -> str:
        """The cause why a condition is UNKNOWN, to be added to `needed`; empty if there is nothing to add."""
        return ""

    def came(self, node: Any, values: Values) -> str | None:
        """Describe what an event has for a condition; None to show the values of its attributes."""
        return None

    def details(self, node: Any, values: Values) -> list[str]:
        """Lines that `explain` adds below a condition."""
        return []

    def advice(self, node: Any, text: str) -> str:
        """Advice on a node that is probably a mistake; `text` is its source text, if there is one."""
        return ""

    # ---- compilation

    def meant(self, node: Any) -> Expression | None:
        """The expression that a node is short for, with the same truth for every event.

        None if it is not a shorthand.
        """
        return None

    def where(self, node: Any, negated: bool) -> Expression | None:
        """An expression that is TRUE exactly when the node, or its NOT, is TRUE; None if there is none.

        It may be UNKNOWN when the node is FALSE.
        """
        return None

    def lower(self, node: Any, leaves: Leaves, negated: bool) -> Lowered:
        """A condition, or its NOT, as leaves. They need to agree with it only on when it is TRUE."""
        return self.literal(node, leaves) ^ negated

    def literal(self, node: Any, leaves: Leaves) -> int:
        """A condition as one leaf that is TRUE, FALSE and UNKNOWN exactly when the condition is."""
        raise NotImplementedError

    def truth_steps(self, node: Any, leaves: Leaves) -> list[TruthStep]:
        """The steps of a condition that is used as a value."""
        return leaves.steps_of(self.literal(node, leaves))

    def asked_by(self, reading: Reading) -> Expression | None:
        """The condition of this operator that was compiled to a reading; None for any other reading."""
        return None

    def has_recipe(self, node: Any) -> bool:
        """Whether texts that differ only in constants and names compile to the same kinds of leaves."""
        return True

    def rule_of_values(self, node: Any) -> tuple[Callable[..., str | None], Sequence[Expression]] | None:
        """A check of the constants in some parts, run for each text of a form; None if there is nothing to check.

        The check returns an error message, or None.
        """
        return None


class ByReading(Operator):
    """Conditions that another index answers: their truth is a reading of the event (`index.conditions`)."""

    held: ClassVar[str]
    """The kind of reading that is TRUE where a condition holds, and absent elsewhere."""
    held_or_not: ClassVar[str]
    """The kind that is FALSE, too, where the condition fails."""

    def reading(self, node: Any, leaves: Leaves, kind: str) -> int:
        """The literal of a reading of this kind."""
        raise NotImplementedError

    def lower(self, node: Any, leaves: Leaves, negated: bool) -> int:
        return self.literal(node, leaves) ^ 1 if negated else self.reading(node, leaves, self.held)

    def literal(self, node: Any, leaves: Leaves) -> int:
        return self.reading(node, leaves, self.held_or_not)


class Function(Operator):
    """Functions that take the same arguments, by name in capitals. Their nodes are calls."""

    names: ClassVar[Sequence[str]] = ()
    takes: ClassVar[int | None] = 2
    """The number of arguments; None if `require` checks it."""
    of_what: ClassVar[str] = ""
    """What the arguments are, in the user's words."""
    takes_arrays: ClassVar[bool] = False
    comparison: ClassVar[Operator | None] = None
    """The record of comparisons with the function's value, if that is a number that can only be compared."""

    def require(self, name: str, arguments: Sequence[Expression]) -> None:
        """Raise `Misplaced` for arguments that are not allowed."""

    def operand(self, node: Call) -> Operand:
        """What a call is as an operand of other operators."""
        return TruthOperand(node)

    def of_constant(self, name: str) -> Callable[[str], str] | None:
        """What the function makes of a string constant; None if it is not a function of one string."""
        return None

    def beside(self, node: Call, other: Expression) -> Expression:
        """The other operand of a comparison with a call, as it is read there. Raises `Misplaced` if it may not be."""
        return other

    def require_comparison(self, op: ComparisonOperator, left: Expression, right: Expression) -> None:
        """Raise `Misplaced` for a comparison that is not allowed."""

    def call(self, name: str, arguments: Sequence[Expression], *, span: Span | None = None) -> Expression:
        """Make the node of a call. Raises `Misplaced` for arguments that are not allowed."""
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


# ---- registration and lookup

OPERATORS: Final[list[Operator]] = []
FUNCTIONS: Final[dict[str, Function]] = {}
OPERATIONS: Final[dict[str, Operation]] = {}
"""The operations of CQL2 JSON, by name in capitals."""
_BY_NODE: Final[dict[type, Operator]] = {}


def register(operator: Operator) -> None:
    """Register an operator. Raises `ValueError` if its name, or its class of nodes, is taken."""
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
        OPERANDS.update(dict.fromkeys([*names, *([operator.nodes] if operator.nodes else [])], operator.operand))


def unregister(operator: Operator) -> None:
    """Remove an operator."""
    OPERATORS.remove(operator)
    for name in operator.operations():
        del OPERATIONS[name]
    if isinstance(operator, Function):
        for name in operator.names:
            del FUNCTIONS[name], OPERANDS[name]
    if operator.nodes is not None:
        del _BY_NODE[operator.nodes]
        OPERANDS.pop(operator.nodes, None)


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
    """Whether any operator might have advice on a text. Most texts have none and need not be parsed for it."""
    return _finds(tuple(operator.advised_by for operator in OPERATORS if operator.advised_by)).search(text) is not None


@lru_cache(1)
def _finds(parts: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(parts), re.IGNORECASE)


# ---- compilation


def lowered(node: Expression, leaves: Leaves, *, negated: bool = False) -> Lowered:
    """Lower a condition, or its NOT, to a literal or a group that is TRUE when it is. Recurses to the tree's depth."""
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
    """The steps of a condition that is used as a value, in postfix order."""
    while (meant := operator_of(node).meant(node)) is not None:
        node = meant
    return operator_of(node).truth_steps(node, leaves)


def asked_by_reading(reading: Reading) -> Expression | None:
    """The condition that was compiled to a reading; None if no operator uses such readings."""
    return next((tree for one in OPERATORS if (tree := one.asked_by(reading)) is not None), None)


# ---- checks of operands


def describe(node: Expression) -> str:
    """What a node is, in the user's words."""
    return operator_of(node).describe(node)


def is_condition(node: Expression) -> bool:
    """Whether a node may be used as a condition."""
    return operator_of(node).is_condition(node)


def require_condition(node: Expression, rule: str) -> None:
    """Raise `Misplaced` unless a node is a condition. A bare attribute is one: TRUE when its value is true."""
    if not is_condition(node):
        raise Misplaced(f"{rule}; {describe(node)} is not a condition", node)


_COUNTED: Final = ("no", "one", "two", "three", "four")


def require_count(name: str, arguments: Sequence[Expression], count: int, what: str) -> None:
    """Raise `Misplaced` unless a function has the number of arguments that it takes."""
    if len(arguments) != count:
        needed = "one argument" if count == 1 else f"{_COUNTED[count]} arguments"
        raise Misplaced(f"{name} takes {needed} ({what}), not {len(arguments)}")


def listed_text(texts: Sequence[str]) -> str:
    """Join texts with commas, in parentheses."""
    return "(" + ", ".join(texts) + ")"
