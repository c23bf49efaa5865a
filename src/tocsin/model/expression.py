"""Expression trees of immutable nodes, each with its position in the source text.

Comparing trees ignores positions, so two texts with the same meaning give equal trees. `And` and `Or` are n-ary and
flat: a child of an `And` is never an `And` (build them with `conjunction` and `disjunction`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar, cast

from tocsin.model.values import Geometry, Instant

Result = TypeVar("Result")
ComparisonOperator: TypeAlias = Literal["=", "<>", "<", "<=", ">", ">="]
ArithmeticOperator: TypeAlias = Literal["+", "-", "*", "/", "%", "DIV", "^"]

COMPARISONS: Final = ("=", "<>", "<", "<=", ">", ">=")
_Mirrored: TypeAlias = dict[ComparisonOperator, ComparisonOperator]
MIRRORED: Final[_Mirrored] = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""The operator to use when the operands are swapped."""
ARITHMETIC: Final = ("+", "-", "*", "/", "%", "DIV", "^")
MAX_DEPTH: Final = 256
MAX_NODES: Final = 100_000


class Span(NamedTuple):
    """A node's position in its source text, in code points; the end is excluded."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Node:
    """Base of all nodes. `span` is None for a node that no text produced."""

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    def children(self) -> tuple[Expression, ...]:
        return ()

    def with_children(self, parts: Sequence[Any]) -> Expression:
        """The same node with other children and without a span. Most nodes have no other fields than their children."""
        return cast(Expression, type(self)(*parts) if parts else self)

    def inner(self) -> tuple[Expression, ...]:
        """Expressions about another event, such as a list element. They are not children of this node."""
        return ()

    def with_inner(self, parts: Sequence[Expression]) -> Expression:
        """The same node with other inner expressions."""
        return cast(Expression, self)


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
    """The value of an event's attribute, dotted for nested objects.

    As a condition it is TRUE when the value is true.
    """

    name: str


@dataclass(frozen=True, slots=True)
class Array(Node):
    """An array literal, `('ipad2', '64gb', model)`: a set. It occurs only as an argument of an array function."""

    items: tuple[Constant | Attribute, ...]

    def children(self) -> tuple[Expression, ...]:
        return self.items

    def with_children(self, parts: Sequence[Any]) -> Expression:
        return Array(tuple(parts))


@dataclass(frozen=True, slots=True)
class Interval(Node):
    """`INTERVAL('2024-05-01', '..')`: all instants between two ends. One or both ends may be open (`OPEN_END`).

    It occurs only as an argument of a temporal function.
    """

    start: Expression
    end: Expression

    def children(self) -> tuple[Expression, ...]:
        return self.start, self.end


OPEN_END: Final = Constant("..")
"""The open end of an interval."""


@dataclass(frozen=True, slots=True)
class Arithmetic(Node):
    """`left op right` on numbers or instants. A leading minus before anything but a number is `-1 * x`."""

    op: ArithmeticOperator
    left: Expression
    right: Expression

    def children(self) -> tuple[Expression, ...]:
        return self.left, self.right

    def with_children(self, parts: Sequence[Any]) -> Expression:
        return Arithmetic(self.op, *parts)


@dataclass(frozen=True, slots=True)
class Comparison(Node):
    """`left op right`: TRUE or FALSE for two values of one type, else UNKNOWN."""

    op: ComparisonOperator
    left: Expression
    right: Expression

    def children(self) -> tuple[Expression, ...]:
        return self.left, self.right

    def with_children(self, parts: Sequence[Any]) -> Expression:
        return Comparison(self.op, *parts)


@dataclass(frozen=True, slots=True)
class In(Node):
    """`operand IN (items)`: an OR of `=`."""

    operand: Expression
    items: tuple[Expression, ...]

    def children(self) -> tuple[Expression, ...]:
        return self.operand, *self.items

    def with_children(self, parts: Sequence[Any]) -> Expression:
        return In(parts[0], tuple(parts[1:]))


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
    r"""`operand LIKE pattern`: `%` any run, `_` one code point, `\` escapes.

    The pattern is a string constant, or one inside CASEI or ACCENTI.
    """

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
    """A function call. The name is in capitals and is one that `language/operators/` knows."""

    name: str
    arguments: tuple[Expression, ...]

    def children(self) -> tuple[Expression, ...]:
        return self.arguments

    def with_children(self, parts: Sequence[Any]) -> Expression:
        return Call(self.name, tuple(parts))


@dataclass(frozen=True, slots=True)
class AnyElement(Node):
    """`ANY(items, condition)`: TRUE when an element of the list makes the condition TRUE, FALSE when all make it FALSE.

    The names in the condition are attributes of an element.
    """

    items: Attribute
    condition: Expression

    def children(self) -> tuple[Expression, ...]:
        return (self.items,)

    def with_children(self, parts: Sequence[Any]) -> Expression:
        return type(self)(parts[0], self.condition)

    def inner(self) -> tuple[Expression, ...]:
        return (self.condition,)

    def with_inner(self, parts: Sequence[Expression]) -> Expression:
        return type(self)(self.items, *parts)


@dataclass(frozen=True, slots=True)
class EachElement(AnyElement):
    """`EACH(items, condition)`: TRUE when all elements of the list make the condition TRUE, FALSE when one is FALSE."""


EVERYTHING: Final = "\x00*"
"""The attribute of which all values of an event are the elements. Templates use other names that begin with NUL."""


@dataclass(frozen=True, slots=True)
class AnyAttribute(AnyElement):
    """`ANY_ATTRIBUTE(condition)`: TRUE when some value of the event makes the condition TRUE."""


@dataclass(frozen=True, slots=True)
class ElementAt(Node):
    """`AT(items, 0, price)`: the value of an expression for the element at a position, from the end if negative.

    The names in the expression are attributes of the element.
    """

    items: Attribute
    position: Constant
    of: Expression

    def children(self) -> tuple[Expression, ...]:
        return self.items, self.position

    def with_children(self, parts: Sequence[Any]) -> Expression:
        return ElementAt(parts[0], parts[1], self.of)

    def inner(self) -> tuple[Expression, ...]:
        return (self.of,)

    def with_inner(self, parts: Sequence[Expression]) -> Expression:
        return ElementAt(self.items, self.position, *parts)


@dataclass(frozen=True, slots=True)
class SomeValue(Node):
    """`SOME(items, condition)`: TRUE when the value itself, or an element of the list, makes the condition TRUE.

    `meaning` says the same by other nodes: `SOME` is TRUE where it is TRUE, and otherwise FALSE.
    """

    items: Attribute
    condition: Expression
    meaning: Expression

    def children(self) -> tuple[Expression, ...]:
        return (self.meaning,)

    def with_children(self, parts: Sequence[Any]) -> Expression:
        """The same node or, if its meaning changed, a HOLDS of what it now means."""
        return self if parts[0] == self.meaning else Call("HOLDS", (parts[0],))


@dataclass(frozen=True, slots=True)
class Not(Node):
    operand: Expression

    def children(self) -> tuple[Expression, ...]:
        return (self.operand,)


@dataclass(frozen=True, slots=True)
class And(Node):
    """TRUE when every operand is TRUE. It has at least two operands, and none is an And."""

    operands: tuple[Expression, ...]

    def children(self) -> tuple[Expression, ...]:
        return self.operands

    def with_children(self, parts: Sequence[Any]) -> Expression:
        return And(tuple(parts))


@dataclass(frozen=True, slots=True)
class Or(Node):
    """TRUE when any operand is TRUE. It has at least two operands, and none is an Or."""

    operands: tuple[Expression, ...]

    def children(self) -> tuple[Expression, ...]:
        return self.operands

    def with_children(self, parts: Sequence[Any]) -> Expression:
        return Or(tuple(parts))


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
    | EachElement
    | AnyAttribute
    | ElementAt
    | SomeValue
    | Not
    | And
    | Or
)


def conjunction(operands: Iterable[Expression], span: Span | None = None) -> Expression:
    """The flat AND of the operands; a single operand is returned as it is."""
    flat = tuple(p for o in operands for p in (o.operands if isinstance(o, And) else (o,)))
    return flat[0] if len(flat) == 1 else And(flat, span=span)


def disjunction(operands: Iterable[Expression], span: Span | None = None) -> Expression:
    """The flat OR of the operands; a single operand is returned as it is."""
    flat = tuple(p for o in operands for p in (o.operands if isinstance(o, Or) else (o,)))
    return flat[0] if len(flat) == 1 else Or(flat, span=span)


def walk(root: Expression, ends_at: type[Node] | tuple[()] = ()) -> Iterator[Expression]:
    """Yield every node without recursion: parents before children, left to right. Inner expressions are not walked.

    Nodes of the type `ends_at` count as if they had no children.
    """
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, ends_at):
            stack.extend(reversed(node.children()))


def walk_all(root: Expression) -> Iterator[Expression]:
    """Like `walk`, but yields the nodes of inner expressions too, after the node that holds them."""
    for node in walk(root):
        yield node
        for inner in node.inner():
            yield from walk_all(inner)


def attributes(root: Expression) -> list[str]:
    """The names of the attributes in an expression, each once, in order of appearance."""
    return list(dict.fromkeys(n.name for n in walk(root) if isinstance(n, Attribute)))


def fold(
    root: Expression, combine: Callable[[Expression, Sequence[Result]], Result], ends_at: type[Node] | tuple[()] = ()
) -> Result:
    """Call `combine(node, results of its children)` for every node, children first, and return the root's result.

    `walk` puts parents before children. In reverse, every node finds its children's results on top of a stack, the
    first child uppermost.
    """
    results: list[Result] = []
    for node in reversed(list(walk(root, ends_at))):
        count = 0 if isinstance(node, ends_at) else len(node.children())
        if count:
            mine = results[-count:]
            mine.reverse()
            del results[-count:]
            results.append(combine(node, mine))
        else:
            results.append(combine(node, ()))
    return results[0]
