"""How does one predicate become a leaf? Each is compiled to a literal: `leaf * 2 + negated`.

A negated literal holds where the leaf is FALSE, never where it is UNKNOWN, so NOT costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from tocsin.columns.expressions.like_tokens import like_tokens
from tocsin.columns.expressions.naming import array_asked, meant, names_asked, others_asked, place_asked
from tocsin.columns.expressions.operands import Const, Null, Number, Operand, Path, Truth, classify
from tocsin.columns.expressions.pools import Leaf, Pools
from tocsin.columns.payloads import HIGHEST, JUST_ABOVE, JUST_BELOW, LOWEST
from tocsin.kernels import codes
from tocsin.language import evaluate
from tocsin.model.expression import (
    MIRRORED,
    MIRRORED_FUNCTIONS,
    SPATIAL_FUNCTIONS,
    And,
    AnyElement,
    Array,
    Between,
    Call,
    Comparison,
    Constant,
    Expression,
    In,
    IsNull,
    Like,
    Not,
    Or,
    attributes,
    disjunction,
    expanded_between,
    has_attributes,
    is_circle,
)
from tocsin.model.readings import PLACED, PLACED_OR_NOT, SOME, WHETHER, as_instant
from tocsin.model.values import Box, Point, Scalar, Shape

_COMPARISONS = {
    "=": codes.EQUAL,
    "<>": codes.DIFFERENT,
    "<": codes.LESS,
    "<=": codes.LESS_OR_EQUAL,
    ">": codes.GREATER,
    ">=": codes.GREATER_OR_EQUAL,
}
_ARRAY = {
    "A_EQUALS": codes.EQUALS,
    "A_CONTAINS": codes.CONTAINS,
    "A_CONTAINEDBY": codes.CONTAINED_BY,
    "A_OVERLAPS": codes.OVERLAPS,
}
_ARITHMETIC = {
    "+": codes.TERM_ADD,
    "-": codes.TERM_SUBTRACT,
    "*": codes.TERM_MULTIPLY,
    "/": codes.TERM_DIVIDE,
    "%": codes.TERM_MODULO,
    "DIV": codes.TERM_INTEGER_DIVIDE,
    "^": codes.TERM_POWER,
}


class PredicateCompiler:
    """Compiles predicates into leaves of shared pools."""

    def __init__(self, pools: Pools) -> None:
        self.pools = pools
        self._compilers: dict[type, Callable[..., int]] = {
            Comparison: self._comparison,
            Like: self._like,
            IsNull: self._is_null,
            Call: self._call,
            AnyElement: lambda node: self._of_elements(node, WHETHER),
        }

    def literal(self, node: Expression) -> int:
        """The literal of a predicate (anything but AND, OR, NOT, IN, BETWEEN)."""
        if isinstance(node, Constant):
            return self._leaf(codes.TRUE_LEAF if node.value is True else codes.FALSE_LEAF)
        compiler = self._compilers.get(type(node))
        if compiler is not None:
            return compiler(node)
        path = classify(node)
        assert isinstance(path, Path)
        return self._constant_comparison("=", path, Const(True))

    def some_element(self, node: AnyElement) -> int:
        """The literal of ANY where it need not be known whether it is FALSE."""
        return self._of_elements(node, SOME)

    def placed(self, node: Call | Comparison) -> int:
        """The literal of a spatial function, or of a circle, where it need not be known whether it is FALSE."""
        return self._of_place(node, PLACED)

    def _of_place(self, node: Call | Comparison, kind: str) -> int:
        """A boolean of the event, under a name that says what is asked; a leaf where that is a point or a box."""
        asked = place_asked(node, kind)
        if asked is None:
            return self._intersects(cast(Call, node))
        for name in others_asked(node):
            self.pools.attributes.number(name)
        return self._constant_comparison("=", Path(asked), Const(True))

    def _of_elements(self, node: AnyElement, kind: str) -> int:
        """A boolean of the event, under a name that says what is asked of the elements; and what that looks at."""
        *inner, asked = names_asked(node, kind)
        for name in inner:
            self.pools.attributes.number(name)
        return self._constant_comparison("=", Path(asked), Const(True))

    def in_literals(self, node: In) -> list[int] | None:
        """IN over constants as one literal a type, to be joined by OR; None when some operand is no constant."""
        path = classify(node.operand)
        items = [classify(item) for item in node.items]
        if not isinstance(path, Path) or (path.transform and not self._all_strings(items)):
            return None
        groups: dict[int, list[tuple[int, int]]] = {}
        for item in items:
            if not isinstance(item, Const) or isinstance(item.value, Point | Box | Shape):
                return None
            element = self.pools.payload(item.value)
            groups.setdefault(element[0], []).append(element)
        return [self._set_literal(path, kind, sorted(set(elements))) for kind, elements in groups.items()]

    def between_literal(self, node: Between) -> int | None:
        """BETWEEN two constants of one type as one range; None when it is anything else."""
        path, low, high = classify(node.operand), classify(node.low), classify(node.high)
        if not (isinstance(path, Path) and isinstance(low, Const) and isinstance(high, Const)):
            return None
        if isinstance(low.value, Point | Box | Shape) or isinstance(high.value, Point | Box | Shape):
            return None
        kind, lowest = self.pools.payload(low.value)
        other, highest = self.pools.payload(high.value)
        if kind != other or (path.transform and kind != codes.STRING):
            return None
        return self._range(path, kind, lowest, highest)

    @staticmethod
    def _all_strings(items: Sequence[Operand]) -> bool:
        return all(isinstance(item, Const) and isinstance(item.value, str) for item in items)

    def _leaf(self, kind: int, **fields: int) -> int:
        return 2 * self.pools.leaves.number(Leaf(kind, **fields))

    def _unknown(self) -> int:
        return self._leaf(codes.UNKNOWN_LEAF)

    def _on(self, path: Path, kind: int = codes.UNTYPED) -> dict[str, int]:
        """The attribute of a leaf, or its reading as an instant where it is compared with one."""
        name = as_instant(path.attribute) if kind == codes.INSTANT else path.attribute
        return {
            "attribute": self.pools.attributes.number(name),
            "transform": self.pools.transforms.number(path.transform),
        }

    def _range(self, path: Path, kind: int, low: int, high: int) -> int:
        return self._leaf(codes.RANGE, **self._on(path, kind), type=kind, low=low, high=high)

    def _set_literal(self, path: Path, kind: int, elements: list[tuple[int, int]]) -> int:
        if len(elements) == 1:
            return self._range(path, kind, elements[0][1], elements[0][1])
        number = self.pools.sets.number(tuple(elements))
        return self._leaf(codes.IN_SET, **self._on(path, kind), type=kind, other=number)

    # Comparisons

    def _comparison(self, node: Comparison) -> int:
        if is_circle(node):
            return self._of_place(node, PLACED_OR_NOT)
        left, right = classify(node.left), classify(node.right)
        if isinstance(left, Null) or isinstance(right, Null):
            return self._unknown()
        if isinstance(left, Const) and isinstance(right, Const):
            return self._two_constants(node.op, left, right)
        if isinstance(left, Path) and isinstance(right, Const):
            return self._constant_comparison(node.op, left, right)
        if isinstance(left, Const) and isinstance(right, Path):
            return self._constant_comparison(MIRRORED[node.op], right, left)
        if isinstance(left, Truth) or isinstance(right, Truth):
            return self._truth_comparison(node, left, right)
        return self._term_comparison(node, left, right)

    def _two_constants(self, op: str, left: Const, right: Const) -> int:
        if type(left.value) is not type(right.value) or isinstance(left.value, Point | Box | Shape):
            return self._unknown()
        holds = {
            "=": left.value == right.value,
            "<>": left.value != right.value,
            "<": left.value < right.value,  # type: ignore[operator]
            "<=": left.value <= right.value,  # type: ignore[operator]
            ">": left.value > right.value,  # type: ignore[operator]
            ">=": left.value >= right.value,  # type: ignore[operator]
        }[op]
        return self._leaf(codes.TRUE_LEAF if holds else codes.FALSE_LEAF)

    def _constant_comparison(self, op: str, path: Path, constant: Const) -> int:
        value = constant.value
        if isinstance(value, Point | Box | Shape) or (path.transform and not isinstance(value, str)):
            return self._unknown()
        kind, at = self.pools.payload(value)
        if op in ("=", "<>"):
            return self._range(path, kind, at, at) + (op == "<>")
        low, high = LOWEST, HIGHEST
        if op == "<":
            high = self.pools.payload(value, JUST_BELOW)[1]
        elif op == "<=":
            high = at
        elif op == ">":
            low = self.pools.payload(value, JUST_ABOVE)[1]
        else:
            low = at
        return self._range(path, kind, low, high)

    def _term_comparison(self, node: Comparison, left: Operand, right: Operand) -> int:
        for operand in (left, right):
            if isinstance(operand, Const) and type(operand.value) is not float:
                return self._unknown()  # arithmetic against what is no number
        first, second = self._term(node.left), self._term(node.right)
        return self._leaf(codes.COMPARE, attribute=first, other=second, operation=_COMPARISONS[node.op])

    def _term(self, node: Expression) -> int:
        steps: list[tuple[int, int, int]] = []
        self._term_steps(node, steps)
        return self.pools.terms.number(tuple(steps))

    def _term_steps(self, node: Expression, steps: list[tuple[int, int, int]]) -> None:
        """Postfix order; an operand that is no number makes the term null through an attribute that none has."""
        operand = classify(node)
        if isinstance(operand, Number):
            self._term_steps(operand.node.left, steps)
            self._term_steps(operand.node.right, steps)
            steps.append((_ARITHMETIC[operand.node.op], 0, 0))
        elif isinstance(operand, Path):
            on = self._on(operand)
            steps.append((codes.TERM_ATTRIBUTE, on["attribute"], on["transform"]))
        elif isinstance(operand, Const) and type(operand.value) is float:
            steps.append((codes.TERM_NUMBER, self.pools.constants.number(operand.value), 0))
        else:
            steps.append((codes.TERM_NULL, 0, 0))

    # Conditions as values

    def _truth_comparison(self, node: Comparison, left: Operand, right: Operand) -> int:
        for operand in (left, right):
            if isinstance(operand, Number) or (isinstance(operand, Path) and operand.transform):
                return self._unknown()
            if isinstance(operand, Const) and not isinstance(operand.value, bool):
                return self._unknown()
        steps: list[tuple[int, int]] = []
        self._truth_steps(node, steps)
        return self._leaf(codes.TRUTH, attribute=self.pools.truths.number(tuple(steps)))

    def _truth_steps(self, node: Expression, steps: list[tuple[int, int]]) -> None:
        """A condition in postfix order, with leaves that are no truth programs themselves."""
        if isinstance(node, Not):
            self._truth_steps(node.operand, steps)
            steps.append((codes.TRUTH_NOT, 0))
        elif isinstance(node, And | Or):
            code = codes.TRUTH_AND if isinstance(node, And) else codes.TRUTH_OR
            self._truth_steps(node.operands[0], steps)
            for operand in node.operands[1:]:
                self._truth_steps(operand, steps)
                steps.append((code, 0))
        elif (other := meant(node)) is not None:
            self._truth_steps(other, steps)
        elif isinstance(node, In):
            self._truth_steps(disjunction(Comparison("=", node.operand, item) for item in node.items), steps)
        elif isinstance(node, Between):
            literal = self.between_literal(node)
            if literal is None:
                self._truth_steps(expanded_between(node), steps)
            else:
                steps.append((codes.TRUTH_LEAF, literal >> 1))
        elif isinstance(node, IsNull) and isinstance(classify(node.operand), Truth):
            self._truth_steps(node.operand, steps)
            steps.append((codes.TRUTH_IS_NULL, 0))
        elif isinstance(node, Comparison) and self._compares_truths(node):
            self._truth_steps(node.left, steps)
            self._truth_steps(node.right, steps)
            steps.append((_COMPARISONS[node.op], 0))
        else:
            literal = self.literal(node)
            steps.append((codes.TRUTH_LEAF, literal >> 1))
            if literal & 1:
                steps.append((codes.TRUTH_NOT, 0))

    @staticmethod
    def _compares_truths(node: Comparison) -> bool:
        operands = (classify(node.left), classify(node.right))
        boolean = all(
            isinstance(o, Truth)
            or (isinstance(o, Path) and not o.transform)
            or (isinstance(o, Const) and isinstance(o.value, bool))
            for o in operands
        )
        return boolean and any(isinstance(o, Truth) for o in operands)

    # Other predicates

    def _is_null(self, node: IsNull) -> int:
        operand = classify(node.operand)
        if isinstance(operand, Const):
            return self._leaf(codes.FALSE_LEAF)
        if isinstance(operand, Null):
            return self._leaf(codes.TRUE_LEAF)
        if isinstance(operand, Path) and not operand.transform:
            return self._leaf(codes.IS_NULL, attribute=self.pools.attributes.number(operand.attribute))
        if isinstance(operand, Truth):
            steps: list[tuple[int, int]] = []
            self._truth_steps(node, steps)
            return self._leaf(codes.TRUTH, attribute=self.pools.truths.number(tuple(steps)))
        return self._leaf(codes.TERM_IS_NULL, attribute=self._term(node.operand))

    def _like(self, node: Like) -> int:
        operand, pattern = classify(node.operand), classify(node.pattern)
        if not isinstance(pattern, Const) or not isinstance(pattern.value, str):
            return self._unknown()
        if isinstance(operand, Const) and isinstance(operand.value, str):
            return self._folded(node)
        if not isinstance(operand, Path):
            return self._unknown()
        number = self.pools.patterns.number(like_tokens(pattern.value))
        return self._leaf(codes.LIKE, **self._on(operand), type=codes.STRING, other=number)

    def _folded(self, node: Expression) -> int:
        """A predicate without attributes: what the reference evaluator says."""
        truth = evaluate(node, {})
        kind = codes.UNKNOWN_LEAF if truth is None else codes.TRUE_LEAF if truth else codes.FALSE_LEAF
        return self._leaf(kind)

    def _call(self, node: Call) -> int:
        if node.name == "MATCHES":
            return self._matches(node)
        if node.name in SPATIAL_FUNCTIONS:
            return self._of_place(node, PLACED_OR_NOT)
        return self._array(node)

    def _matches(self, node: Call) -> int:
        operand, pattern = classify(node.arguments[0]), classify(node.arguments[1])
        if isinstance(operand, Const) and isinstance(operand.value, str):
            return self._folded(node)
        if not isinstance(operand, Path) or not isinstance(pattern, Const) or not isinstance(pattern.value, str):
            return self._unknown()
        on = self._on(operand)
        number = self.pools.regexes.number((pattern.value, on["transform"]))
        return self._leaf(codes.REGEX, **on, type=codes.STRING, other=number)

    def _intersects(self, node: Call) -> int:
        left, right = (classify(a) for a in node.arguments)
        if isinstance(left, Const):
            left, right = right, left
        if isinstance(left, Const):
            return self._folded(node)
        is_of_place = isinstance(left, Path) and not left.transform
        if not is_of_place or not isinstance(right, Const) or not isinstance(right.value, Point | Box):
            return self._unknown()
        attribute = self.pools.attributes.number(cast(Path, left).attribute)
        box = self.pools.boxes.number(right.value.bounds())
        return self._leaf(codes.INTERSECTS, attribute=attribute, type=codes.GEOMETRY, other=box)

    def _array(self, node: Call) -> int:
        left, right = node.arguments
        name = node.name
        if isinstance(left, Array) and not has_attributes(left):
            left, right, name = right, left, MIRRORED_FUNCTIONS.get(name, name)
        if isinstance(left, Array) and not has_attributes(left):
            return self._folded(node)
        first = self._list_number(left)
        if first is None:
            return self._unknown()
        on = {"attribute": first, "operation": _ARRAY[name]}
        if isinstance(right, Array) and not has_attributes(right):
            constants = [item.value for item in right.items if isinstance(item, Constant)]
            scalars: list[Scalar] = [value for value in constants if not isinstance(value, Point | Box | Shape)]
            if len(scalars) < len(right.items):
                return self._unknown()
            number = self.pools.sets.number(tuple(sorted({self.pools.payload(s) for s in scalars})))
            return self._leaf(codes.ARRAY_SET, **on, type=codes.LIST, other=number)
        other = self._list_number(right)
        return self._unknown() if other is None else self._leaf(codes.ARRAY_PAIR, **on, type=codes.LIST, other=other)

    def _list_number(self, node: Expression) -> int | None:
        """The number of an attribute, or of the list that an array of attributes is; None of anything else."""
        if isinstance(node, Array):
            for name in attributes(node):
                self.pools.attributes.number(name)
            return self.pools.attributes.number(array_asked(node))
        path = classify(node)
        if not isinstance(path, Path) or path.transform:
            return None
        return self.pools.attributes.number(path.attribute)
