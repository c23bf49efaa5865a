"""What is an expression? A tree of immutable nodes, each with its place in the source text.

Places do not count when trees are compared: two texts that mean the same tree are equal. `And` and `Or` are n-ary
and flat: a child of an `And` is never an `And` (build them with `conjunction` and `disjunction`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, TypeAlias, TypeVar

from tocsin.model.values import Geometry, Instant

Result = TypeVar("Result")
ComparisonOperator: TypeAlias = Literal["=", "<>", "<", "<=", ">", ">="]
ArithmeticOperator: TypeAlias = Literal["+", "-", "*", "/", "%", "DIV", "^"]

COMPARISONS: Final = ("=", "<>", "<", "<=", ">", ">=")
MIRRORED: Final[dict[ComparisonOperator, ComparisonOperator]] = {
    "=": "=",
    "<>": "<>",
    "<": ">",
    "<=": ">=",
    ">": "<",
    ">=": "<=",
}
"""The comparison with its operands the other way round."""
ARITHMETIC: Final = ("+", "-", "*", "/", "%", "DIV", "^")
STRING_FUNCTIONS: Final = ("CASEI", "ACCENTI")
ARRAY_FUNCTIONS: Final = ("A_EQUALS", "A_CONTAINS", "A_CONTAINEDBY", "A_OVERLAPS")
MIRRORED_FUNCTIONS: Final = {"A_CONTAINS": "A_CONTAINEDBY", "A_CONTAINEDBY": "A_CONTAINS"}
"""The others mean the same with their arguments the other way round."""
SPATIAL_FUNCTIONS: Final = (
    *("S_INTERSECTS", "S_DISJOINT", "S_CONTAINS", "S_WITHIN"),
    *("S_EQUALS", "S_TOUCHES", "S_OVERLAPS", "S_CROSSES"),
)
DISTANCE: Final = "DISTANCE_M"
MEASURES: Final = (DISTANCE,)
"""Functions whose value is a number that is compared with a constant, and nothing else."""
TEXT_FUNCTIONS: Final = ("MATCHES",)
TEXT: Final = "TEXT"
"""The function of an attribute, words, and perhaps how words are made."""
ELEMENT_FUNCTIONS: Final = ("ANY",)
TEMPORAL_FUNCTIONS: Final = (
    *("T_AFTER", "T_BEFORE", "T_CONTAINS", "T_DISJOINT", "T_DURING", "T_EQUALS", "T_FINISHEDBY", "T_FINISHES"),
    *("T_INTERSECTS", "T_MEETS", "T_METBY", "T_OVERLAPPEDBY", "T_OVERLAPS", "T_STARTEDBY", "T_STARTS"),
)
PREDICATE_FUNCTIONS: Final = ARRAY_FUNCTIONS + SPATIAL_FUNCTIONS + TEXT_FUNCTIONS + TEMPORAL_FUNCTIONS + (TEXT,)

MAX_DEPTH: Final = 256
MAX_NODES: Final = 100_000
MAX_LISTS: Final = 8
"""How deep lists may lie in lists, in conditions of any element."""


class Span(NamedTuple):
    """Where a node stands in its source text: code points, the end excluded."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Node:
    """Any node. `span` is None for nodes that no text produced."""

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    def children(self) -> tuple[Expression, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class Constant(Node):
    """A literal: `580` (a float), `'gold'`, `TRUE`, `DATE('2024-05-31')`, `POINT(1 2)`, `BBOX(0, 0, 1, 1)`."""

    value: float | str | bool | Instant | Geometry

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Constant):
            return NotImplemented
        return type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True, slots=True)
class Attribute(Node):
    """The value of an event's attribute; dotted for nested objects. In a condition's place: TRUE when it is true."""

    name: str


@dataclass(frozen=True, slots=True)
class Array(Node):
    """An array literal, `('ipad2', '64gb', model)`: a set. Only the argument of an array function."""

    items: tuple[Constant | Attribute, ...]

    def children(self) -> tuple[Expression, ...]:
        return self.items


@dataclass(frozen=True, slots=True)
class Interval(Node):
    """`INTERVAL('2024-05-01', '..')`: all instants between two, of which one or both may be open (`OPEN_END`).

    Only the argument of a temporal function.
    """

    start: Expression
    end: Expression

    def children(self) -> tuple[Expression, ...]:
        return self.start, self.end


OPEN_END: Final = Constant("..")
"""An end of an interval that has none."""


@dataclass(frozen=True, slots=True)
class Arithmetic(Node):
    """`left op right` on numbers. A leading minus before anything but a number is `-1 * x`."""

    op: ArithmeticOperator
    left: Expression
    right: Expression

    def children(self) -> tuple[Expression, ...]:
        return self.left, self.right


@dataclass(frozen=True, slots=True)
class Comparison(Node):
    """`left op right`: TRUE or FALSE for two values of one type, else UNKNOWN."""

    op: ComparisonOperator
    left: Expression
    right: Expression

    def children(self) -> tuple[Expression, ...]:
        return self.left, self.right


@dataclass(frozen=True, slots=True)
class In(Node):
    """`operand IN (items)`: an OR of `=`."""

    operand: Expression
    items: tuple[Expression, ...]

    def children(self) -> tuple[Expression, ...]:
        return self.operand, *self.items


@dataclass(frozen=True, slots=True)
class Between(Node):
    """`operand BETWEEN low AND high`: `operand >= low AND operand <= high`."""

    operand: Expression
    low: Expression
    high: Expression

    def children(self) -> tuple[Expression, ...]:
        return self.operand, self.low, self.high


@dataclass(frozen=True, slots=True)
class Like(Node):
    r"""`operand LIKE pattern`: `%` any run, `_` one code point, `\` escapes. The pattern is a string constant, or one
    inside CASEI or ACCENTI."""

    operand: Expression
    pattern: Expression

    def children(self) -> tuple[Expression, ...]:
        return self.operand, self.pattern


@dataclass(frozen=True, slots=True)
class IsNull(Node):
    """`operand IS NULL`: TRUE or FALSE, never UNKNOWN."""

    operand: Expression

    def children(self) -> tuple[Expression, ...]:
        return (self.operand,)


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A function: `name` is one of STRING_FUNCTIONS or PREDICATE_FUNCTIONS, in capitals."""

    name: str
    arguments: tuple[Expression, ...]

    def children(self) -> tuple[Expression, ...]:
        return self.arguments


@dataclass(frozen=True, slots=True)
class AnyElement(Node):
    """`ANY(items, condition)`: TRUE when an element of the list makes the condition TRUE, FALSE when all make it FALSE.

    The names in the condition are an element's own: it is an expression about another event, and no child of this one.
    """

    items: Attribute
    condition: Expression

    def children(self) -> tuple[Expression, ...]:
        return (self.items,)


@dataclass(frozen=True, slots=True)
class Not(Node):
    operand: Expression

    def children(self) -> tuple[Expression, ...]:
        return (self.operand,)


@dataclass(frozen=True, slots=True)
class And(Node):
    """TRUE when every operand is; at least two operands, none of them an And."""

    operands: tuple[Expression, ...]

    def children(self) -> tuple[Expression, ...]:
        return self.operands


@dataclass(frozen=True, slots=True)
class Or(Node):
    """TRUE when any operand is; at least two operands, none of them an Or."""

    operands: tuple[Expression, ...]

    def children(self) -> tuple[Expression, ...]:
        return self.operands


Expression: TypeAlias = (
    Constant
    | Attribute
    | Array
    | Interval
    | Arithmetic
    | Comparison
    | In
    | Between
    | Like
    | IsNull
    | Call
    | AnyElement
    | Not
    | And
    | Or
)


def conjunction(operands: Iterable[Expression], span: Span | None = None) -> Expression:
    """AND of the operands, flat; one operand is itself."""
    flat = tuple(p for o in operands for p in (o.operands if isinstance(o, And) else (o,)))
    return flat[0] if len(flat) == 1 else And(flat, span=span)


def expanded_between(node: Between) -> Expression:
    """BETWEEN as an AND of two comparisons."""
    return conjunction((Comparison(">=", node.operand, node.low), Comparison("<=", node.operand, node.high)))


def disjunction(operands: Iterable[Expression], span: Span | None = None) -> Expression:
    """OR of the operands, flat; one operand is itself."""
    flat = tuple(p for o in operands for p in (o.operands if isinstance(o, Or) else (o,)))
    return flat[0] if len(flat) == 1 else Or(flat, span=span)


def is_condition(node: Expression) -> bool:
    """Whether a node may stand where a truth value is needed (a bare attribute may: it is TRUE when it is true)."""
    if isinstance(node, Constant):
        return isinstance(node.value, bool)
    if isinstance(node, Call):
        return node.name in PREDICATE_FUNCTIONS
    return not isinstance(node, Array | Interval | Arithmetic)


def is_text(node: Expression) -> bool:
    """Whether it asks for words of a text."""
    return isinstance(node, Call) and node.name == TEXT


def is_distance(node: Expression) -> bool:
    return isinstance(node, Call) and node.name == DISTANCE


def asks_distance(node: Expression) -> bool:
    """Whether a node compares a distance."""
    return isinstance(node, Comparison) and (is_distance(node.left) or is_distance(node.right))


def is_circle(node: Expression) -> bool:
    """Whether it does so as `DISTANCE_M(attribute, point) <= metres`, or `<`."""
    return (
        isinstance(node, Comparison)
        and isinstance(node.left, Call)
        and node.left.name == DISTANCE
        and isinstance(node.left.arguments[0], Attribute)
        and node.op in ("<", "<=")
    )


def is_of_place(node: Expression) -> bool:
    """Whether a node is a predicate about a place: a spatial function, or a circle."""
    return is_circle(node) or (isinstance(node, Call) and node.name in SPATIAL_FUNCTIONS)


def has_attributes(node: Expression) -> bool:
    """Whether it is an array whose elements are not all constants: what it holds is an event's own."""
    return isinstance(node, Array) and any(isinstance(item, Attribute) for item in node.items)


def may_be_short(node: Expression) -> bool:
    """Whether a node may be short for others, as temporal functions, TEXT and distances are."""
    return isinstance(node, Call) or asks_distance(node)


def walk(root: Expression) -> Iterator[Expression]:
    """Every node, parents before children, left to right; no recursion. What `ANY` asks of elements is not walked."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children()))


def attributes(root: Expression) -> list[str]:
    """The names of the attributes that an expression looks at, each once, in order of appearance."""
    return list(dict.fromkeys(n.name for n in walk(root) if isinstance(n, Attribute)))


def fold(root: Expression, combine: Callable[[Expression, Sequence[Result]], Result]) -> Result:
    """`combine(node, results of its children)` for every node, children first; the root's result.

    Parents come before children in `walk`, so that backwards every node finds its children's results on top
    of a stack, the first child uppermost.
    """
    results: list[Result] = []
    for node in reversed(list(walk(root))):
        count = len(node.children())
        if count:
            mine = results[-count:]
            mine.reverse()
            del results[-count:]
            results.append(combine(node, mine))
        else:
            results.append(combine(node, ()))
    return results[0]
