"""AT_LEAST: whether at least n of some conditions are TRUE.

It is never multiplied out. A program counts the conditions that are TRUE, and those that are FALSE. An index needs
conditions of which one must be TRUE. If n of m conditions are TRUE, then so is one of any m - n + 1 of them, so
groups of that size are added.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

from tocsin.kernels import codes
from tocsin.language.explain import explain
from tocsin.language.misplaced import Misplaced
from tocsin.language.operators.leaves import Leaves, Lowered, TruthStep
from tocsin.language.operators.operator import Function, describe, lowered, require_condition, truth_steps
from tocsin.language.truths import EITHER, Truth, truth_from, truth_of
from tocsin.model.elements import Values
from tocsin.model.expression import Call, Constant, Expression, fold

AT_LEAST: Final = "AT_LEAST"
_AS_IN: Final = "as in AT_LEAST(2, a = 1, b = 1, c = 1)"


class AtLeast(Function):
    names, takes = (AT_LEAST,), None

    def require(self, name: str, arguments: Sequence[Expression]) -> None:
        if len(arguments) < 2:
            raise Misplaced(f"{name} takes a number and one or more conditions, {_AS_IN}")
        needed, *conditions = arguments
        if not isinstance(needed, Constant) or not isinstance(needed.value, float):
            raise Misplaced(f"{name} begins with a number, {_AS_IN}, not with {describe(needed)}", needed)
        if not needed.value.is_integer() or not 1 <= needed.value <= len(conditions):
            allowed = "1" if len(conditions) == 1 else f"a whole number from 1 to {len(conditions)}"
            raise Misplaced(f"{needed.value:g} of {len(conditions)} conditions; {allowed} is allowed", needed)
        for condition in conditions:
            require_condition(condition, f"{name} takes conditions")
        if max(map(_counts_in, conditions)) == codes.MOST_COUNTS:
            raise Misplaced(f"{name} nests more than {codes.MOST_COUNTS} deep; at most {codes.MOST_COUNTS} is allowed")

    def describe(self, node: Call) -> str:
        return f"a condition with {AT_LEAST}"

    def value(self, node: Call, parts: Sequence[Any], values: Values) -> Truth:
        """TRUE if n can be TRUE; FALSE if so many are FALSE that n cannot be TRUE; else UNKNOWN."""
        needed, truths = int(parts[0]), [truth_of(part) for part in parts[1:]]
        held = sum(truth is True or truth is EITHER for truth in truths)
        failed = sum(truth is False or truth is EITHER for truth in truths)
        return truth_from(held >= needed, failed > len(truths) - needed)

    def came(self, node: Call, values: Values) -> str | None:
        held = sum(explain(one, values).matched for one in node.arguments[1:])
        return f"{held} of {len(node.arguments) - 1} hold"

    def needed(self, node: Call, wanted: bool, values: Values) -> str:
        number = _needed(node)
        return f"{'at least' if wanted else 'fewer than'} {number} of {len(node.arguments) - 1}"

    def details(self, node: Call, values: Values) -> list[str]:
        """What each condition says."""
        return [line[2:] for one in node.arguments[1:] for line in explain(one, values).lines[1:]]

    def lower(self, node: Call, leaves: Leaves, negated: bool) -> Lowered:
        conditions = node.arguments[1:]
        count = len(conditions)
        needed = count - _needed(node) + 1 if negated else _needed(node)
        parts = [lowered(one, leaves, negated=negated) for one in conditions]
        if needed in (1, count):
            return leaves.group(needed == count, parts)
        width = count - needed + 1
        firsts = sorted({min(first, count - width) for first in range(0, count, width)})
        some = [leaves.group(False, parts[first : first + width]) for first in firsts]
        return leaves.group(True, [*some, self.literal(node, leaves) ^ negated])

    def literal(self, node: Call, leaves: Leaves) -> int:
        return leaves.truth(self.truth_steps(node, leaves))

    def truth_steps(self, node: Call, leaves: Leaves) -> list[TruthStep]:
        conditions, needed = node.arguments[1:], _needed(node)
        steps: list[TruthStep] = [(codes.TRUTH_COUNT, needed), (codes.TRUTH_FAILS, len(conditions) - needed + 1)]
        for condition in conditions:
            steps += [*truth_steps(condition, leaves), (codes.TRUTH_ADD, 0)]
        return [*steps, (codes.TRUTH_COUNTED, 0)]


def _needed(node: Call) -> int:
    return int(cast(float, cast(Constant, node.arguments[0]).value))


def _counts_in(condition: Expression) -> int:
    """How many levels of AT_LEAST within AT_LEAST a condition has."""

    def combine(node: Expression, parts: Sequence[int]) -> int:
        return max(parts, default=0) + (isinstance(node, Call) and node.name == AT_LEAST)

    return fold(condition, combine)
