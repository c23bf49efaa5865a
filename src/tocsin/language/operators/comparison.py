"""`=`, `<>`, `<`, `<=`, `>`, `>=` and IS NULL."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final, cast

from tocsin.kernels import codes
from tocsin.language.canonical import constant_text, name_text, to_text
from tocsin.language.evaluate import evaluate
from tocsin.language.needs import subject
from tocsin.language.operators.arithmetic import as_moment, may_be_instant, term_of
from tocsin.language.operators.leaves import Leaves, TruthStep
from tocsin.language.operators.now import by_distance, is_now
from tocsin.language.operators.operands import Const, Null, Operand, Path, Truth, classify
from tocsin.language.operators.operator import (
    FUNCTIONS,
    PREDICATE,
    SUM,
    Json,
    Operation,
    Operator,
    Piece,
    truth_steps,
)
from tocsin.language.operators.scalars import is_place, require_scalar
from tocsin.language.operators.threshold import above_zero, advice_on_threshold
from tocsin.language.truths import OPPOSITES, compare, compare_range
from tocsin.language.truths import Truth as TruthValue
from tocsin.model.elements import Values
from tocsin.model.expression import (
    COMPARISONS,
    MIRRORED,
    Attribute,
    Call,
    Comparison,
    ComparisonOperator,
    Constant,
    Expression,
    Interval,
    IsNull,
    Span,
)
from tocsin.model.values import Instant, Range, type_name

_CODES: Final = {
    "=": codes.EQUAL,
    "<>": codes.DIFFERENT,
    "<": codes.LESS,
    "<=": codes.LESS_OR_EQUAL,
    ">": codes.GREATER,
    ">=": codes.GREATER_OR_EQUAL,
}


def comparison(op: ComparisonOperator, left: Expression, right: Expression, *, span: Span | None = None) -> Expression:
    """Make the node of a comparison. Raises `Misplaced` for operands that cannot be compared."""
    for side in (left, right):
        if isinstance(side, Call) and FUNCTIONS[side.name].comparison:
            FUNCTIONS[side.name].require_comparison(op, left, right)
            return Comparison(op, left, right, span=span)
    left, right = read_together(left, right)
    return Comparison(op, left, right, span=span)


def read_together(*operands: Expression) -> tuple[Expression, ...]:
    """The operands of a comparison; a function may read the others in its own way, as `IP(source) = '10.0.0.1'` does.

    Raises `Misplaced` for operands that cannot be compared.
    """
    for operand in operands:
        require_scalar(operand)
    for call in [one for one in operands if isinstance(one, Call)]:
        operands = tuple(FUNCTIONS[call.name].beside(call, one) for one in operands)
    return operands


def compared(op: ComparisonOperator, left: Expression, right: Expression, of_left: Any, of_right: Any) -> TruthValue:
    """Compare two nodes by their values. A range is compared only with constants.

    An attribute's string is read as an instant when it is compared with one, or with a sum or a difference
    (`model.readings`).
    """
    if _is_instant(right):
        of_left = as_moment(left, of_left)
    if _is_instant(left):
        of_right = as_moment(right, of_right)
    if isinstance(of_left, Range):
        return compare_range(op, of_left, of_right) if isinstance(right, Constant) else None
    if isinstance(of_right, Range):
        return compare_range(MIRRORED[op], of_right, of_left) if isinstance(left, Constant) else None
    return compare(op, of_left, of_right)


def _is_instant(node: Expression) -> bool:
    return (isinstance(node, Constant) and isinstance(node.value, Instant)) or is_now(node) or may_be_instant(node)


class Compared(Operator):
    nodes: ClassVar[type | None] = Comparison
    described = "a comparison"
    advised_by = r'[=<>]\s*"'

    def operations(self) -> Mapping[str, Operation]:
        def maker(op: ComparisonOperator) -> Callable[[Sequence[Expression]], Expression]:
            return lambda parts: comparison(op, *parts)

        return {op: Operation(maker(op), 2) for op in COMPARISONS}

    def text(self, node: Comparison, parts: Sequence[Piece]) -> Piece:
        left, right = (part.at_least(SUM) for part in parts)
        return Piece(f"{left} {node.op} {right}", PREDICATE)

    def json(self, node: Comparison, parts: Sequence[Json]) -> Json:
        return {"op": node.op, "args": list(parts)}

    def value(self, node: Comparison, parts: Sequence[Any], values: Values) -> TruthValue:
        return compared(node.op, node.left, node.right, *parts)

    def needed(self, node: Comparison, wanted: bool, values: Values) -> str:
        op, left, right = node.op, node.left, node.right
        if isinstance(left, Constant):
            op, left, right = MIRRORED[op], right, left
        if isinstance(left, Attribute) and isinstance(right, Constant):
            op = op if wanted else OPPOSITES[op]
            return f"{subject(left, type_name(right.value), values)} {op} {constant_text(right.value)}"
        text = to_text(node if wanted else Comparison(OPPOSITES[node.op], node.left, node.right))
        return f"{text}, for two values of one type" if evaluate(node, values) is None else text

    def advice(self, node: Comparison, text: str) -> str:
        """`color = "gold"`, where a string was probably meant; and a count that never reaches its number."""
        if reason := advice_on_threshold(node):
            return reason
        right = node.right
        if not (isinstance(node.left, Attribute) and isinstance(right, Attribute) and right.span and text):
            return ""
        if not text[right.span.start : right.span.end].startswith('"'):
            return ""
        return f"{name_text(right.name)} in double quotes is an attribute; a text is {constant_text(right.name)}"

    def meant(self, node: Comparison) -> Expression | None:
        return by_distance(node)

    def where(self, node: Comparison, negated: bool) -> Expression | None:
        return above_zero(node, negated)

    def literal(self, node: Comparison, leaves: Leaves) -> int:
        left, right = classify(node.left), classify(node.right)
        if isinstance(left, Null) or isinstance(right, Null):
            return leaves.known(None)
        if isinstance(left, Const) and isinstance(right, Const):
            return leaves.known(cast(bool | None, compare(node.op, left.value, right.value)))
        if isinstance(left, Path) and isinstance(right, Const):
            return leaves.compared(node.op, left, right.value)
        if isinstance(left, Const) and isinstance(right, Path):
            return leaves.compared(MIRRORED[node.op], right, left.value)
        if isinstance(left, Truth) or isinstance(right, Truth):
            return leaves.truth(self.truth_steps(node, leaves)) if _are_truths(left, right) else leaves.known(None)
        if any(isinstance(one, Const) and type(one.value) not in (float, Instant) for one in (left, right)):
            return leaves.known(None)  # arithmetic has no such value
        dated = any(is_now(one) or may_be_instant(one) for one in (node.left, node.right))
        return leaves.terms(_CODES[node.op], *(term_of(one, dated=dated) for one in (node.left, node.right)))

    def truth_steps(self, node: Comparison, leaves: Leaves) -> list[TruthStep]:
        left, right = classify(node.left), classify(node.right)
        if _are_truths(left, right) and (isinstance(left, Truth) or isinstance(right, Truth)):
            return [*truth_steps(node.left, leaves), *truth_steps(node.right, leaves), (_CODES[node.op], 0)]
        return leaves.steps_of(self.literal(node, leaves))


def _are_truths(*operands: Operand) -> bool:
    """Whether all operands may be truths: conditions, attributes and booleans."""
    return all(
        isinstance(one, Truth)
        or (isinstance(one, Path) and not one.transform)
        or (isinstance(one, Const) and isinstance(one.value, bool))
        for one in operands
    )


# ---- IS NULL


def is_null(operand: Expression, *, span: Span | None = None) -> Expression:
    """Make the node of IS NULL; FALSE for a geometry, or an interval between constants."""
    ends = operand.children() if isinstance(operand, Interval) else ()
    if is_place(operand) or (ends and not any(isinstance(end, Attribute) for end in ends)):
        return Constant(False, span=span)
    require_scalar(operand)
    return IsNull(operand, span=span)


class Absence(Operator):
    nodes, described = IsNull, "a condition with IS NULL"

    def operations(self) -> Mapping[str, Operation]:
        return {"ISNULL": Operation(lambda parts: is_null(*parts), 1)}

    def text(self, node: IsNull, parts: Sequence[Piece]) -> Piece:
        operand = parts[0].at_least(SUM)
        return Piece(f"{operand} IS NULL", PREDICATE, f"{operand} IS NOT NULL")

    def json(self, node: IsNull, parts: Sequence[Json]) -> Json:
        return {"op": "isNull", "args": list(parts)}

    def value(self, node: IsNull, parts: Sequence[Any], values: Values) -> bool:
        return parts[0] is None

    def needed(self, node: IsNull, wanted: bool, values: Values) -> str:
        if isinstance(node.operand, Attribute):
            return f"{name_text(node.operand.name)} {'absent' if wanted else 'present'}"
        return f"{'no value' if wanted else 'a value'} for {to_text(node.operand)}"

    def literal(self, node: IsNull, leaves: Leaves) -> int:
        operand = classify(node.operand)
        if isinstance(operand, Const | Null):
            return leaves.known(isinstance(operand, Null))
        if isinstance(operand, Path) and not operand.transform:
            return leaves.is_null(operand.attribute)
        if isinstance(operand, Truth):
            return leaves.truth(self.truth_steps(node, leaves))
        return leaves.term_is_null(term_of(node.operand))

    def truth_steps(self, node: IsNull, leaves: Leaves) -> list[TruthStep]:
        if isinstance(classify(node.operand), Truth):
            return [*truth_steps(node.operand, leaves), (codes.TRUTH_IS_NULL, 0)]
        return leaves.steps_of(self.literal(node, leaves))
