"""Leaves as rows of shared pools: the implementation of `language.operators.leaves.Leaves`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from tocsin.columns.expressions.leaf_kinds import LEAF_KINDS
from tocsin.columns.expressions.pools import Leaf, Pools, like_tokens
from tocsin.columns.payloads import HIGHEST, JUST_ABOVE, JUST_BELOW, LOWEST
from tocsin.kernels import codes
from tocsin.language.operators.function_value import needs_of
from tocsin.language.operators.leaves import Lowered, TermStep, TruthStep, Value
from tocsin.language.operators.operands import Path
from tocsin.language.operators.operator import lowered
from tocsin.model.expression import Expression
from tocsin.model.readings import PART, as_instant, has_instants, reading_of
from tocsin.model.values import Bounds, Box, Point, Shape

_GROUP_COST: Final = 4
"""Cheap leaves come first and groups last. AND and OR stop early; their order never changes an answer."""


class PooledLeaves:
    """Leaves of shared pools."""

    def __init__(self, pools: Pools) -> None:
        self._pools = pools

    def known(self, truth: bool | None) -> int:
        kind = codes.UNKNOWN_LEAF if truth is None else codes.TRUE_LEAF if truth else codes.FALSE_LEAF
        return self._leaf(kind)

    def compared(self, op: str, path: Path, constant: Value) -> int:
        if isinstance(constant, Point | Box | Shape) or (path.transform and not isinstance(constant, str)):
            return self.known(None)
        kind, at = self._pools.payload(constant)
        if op in ("=", "<>"):
            return self._range(path, kind, at, at) + (op == "<>")
        low, high = LOWEST, HIGHEST
        if op == "<":
            high = self._pools.payload(constant, JUST_BELOW)[1]
        elif op == "<=":
            high = at
        elif op == ">":
            low = self._pools.payload(constant, JUST_ABOVE)[1]
        else:
            low = at
        return self._range(path, kind, low, high)

    def between(self, path: Path, low: Value, high: Value) -> int | None:
        if isinstance(low, Point | Box | Shape) or isinstance(high, Point | Box | Shape):
            return None
        kind, lowest = self._pools.payload(low)
        other, highest = self._pools.payload(high)
        if kind != other or (path.transform and kind != codes.STRING):
            return None
        return self._range(path, kind, lowest, highest)

    def one_of(self, path: Path, values: Sequence[Value]) -> list[int] | None:
        groups: dict[int, list[tuple[int, int]]] = {}
        for value in values:
            if isinstance(value, Point | Box | Shape):
                return None
            element = self._pools.payload(value)
            groups.setdefault(element[0], []).append(element)
        return [self._in_set(path, kind, sorted(set(elements))) for kind, elements in groups.items()]

    def is_null(self, attribute: str) -> int:
        return self._leaf(codes.IS_NULL, attribute=self._attribute(attribute))

    def like(self, path: Path, pattern: str) -> int:
        number = self._pools.patterns.number(like_tokens(pattern))
        return self._leaf(codes.LIKE, **self._on(path), type=codes.STRING, other=number)

    def matches(self, path: Path, pattern: str) -> int:
        on = self._on(path)
        number = self._pools.regexes.number((pattern, on["transform"]))
        return self._leaf(codes.REGEX, **on, type=codes.STRING, other=number)

    def in_box(self, attribute: str, bounds: Bounds) -> int:
        box = self._pools.boxes.number(bounds)
        return self._leaf(codes.INTERSECTS, attribute=self._attribute(attribute), type=codes.GEOMETRY, other=box)

    def array(self, attribute: str, operation: int, constants: Sequence[Value]) -> int:
        scalars = [value for value in constants if not isinstance(value, Point | Box | Shape)]
        if len(scalars) < len(constants):
            return self.known(None)
        number = self._pools.sets.number(tuple(sorted({self._pools.payload(one) for one in scalars})))
        first = self._attribute(attribute)
        return self._leaf(codes.ARRAY_SET, attribute=first, operation=operation, type=codes.LIST, other=number)

    def arrays(self, attribute: str, operation: int, other: str) -> int:
        first, second = self._attribute(attribute), self._attribute(other)
        return self._leaf(codes.ARRAY_PAIR, attribute=first, operation=operation, type=codes.LIST, other=second)

    def terms(self, operation: int, left: Sequence[TermStep], right: Sequence[TermStep]) -> int:
        first, second = self._term(left), self._term(right)
        return self._leaf(codes.COMPARE, attribute=first, other=second, operation=operation)

    def term_is_null(self, term: Sequence[TermStep]) -> int:
        return self._leaf(codes.TERM_IS_NULL, attribute=self._term(term))

    def truth(self, steps: Sequence[TruthStep]) -> int:
        return self._leaf(codes.TRUTH, attribute=self._pools.truths.number(tuple(steps)))

    def asked(self, name: str, needed: Iterable[str] = ()) -> int:
        self.reads(needed)
        return self.compared("=", Path(name), True)

    def reads(self, names: Iterable[str]) -> None:
        for name in names:
            self._attribute(name)

    def steps_of(self, literal: int) -> list[TruthStep]:
        step = (codes.TRUTH_LEAF, literal >> 1)
        return [step, (codes.TRUTH_NOT, 0)] if literal & 1 else [step]

    def group(self, is_and: bool, parts: Sequence[Lowered]) -> Lowered:
        if len(parts) == 1:
            return parts[0]
        mark = codes.OPEN_AND if is_and else codes.OPEN_OR
        places: list[int] = []
        for part in sorted(parts, key=self._cost):
            if isinstance(part, int):
                places.append(part)
            elif part[0] == mark:
                places.extend(part[2:])
            else:
                places.extend(part)
        return [mark, len(places), *places]

    def names_of(self, condition: Expression) -> set[str]:
        pools = Pools()
        lowered(condition, PooledLeaves(pools))
        return set(pools.attributes.items)

    # ---- rows of the pools

    def _leaf(self, kind: int, **fields: int) -> int:
        return 2 * self._pools.leaves.number(Leaf(kind, **fields))

    def _attribute(self, name: str) -> int:
        attributes = self._pools.attributes
        if PART in name and name not in attributes.numbers and (reading := reading_of(name)).is_value:
            self.reads(needs_of(reading))  # first, since they are looked for only while the name is new
        return attributes.number(name)

    def _on(self, path: Path, kind: int = codes.UNTYPED) -> dict[str, int]:
        """The attribute of a leaf, or its reading as an instant if it is compared with one.

        The value of a function is an instant or it is not; its strings are not read as instants.
        """
        is_read = kind == codes.INSTANT and has_instants(path.attribute)
        name = as_instant(path.attribute) if is_read else path.attribute
        return {"attribute": self._attribute(name), "transform": self._pools.transforms.number(path.transform)}

    def _range(self, path: Path, kind: int, low: int, high: int) -> int:
        return self._leaf(codes.RANGE, **self._on(path, kind), type=kind, low=low, high=high)

    def _in_set(self, path: Path, kind: int, elements: list[tuple[int, int]]) -> int:
        if len(elements) == 1:
            return self._range(path, kind, elements[0][1], elements[0][1])
        number = self._pools.sets.number(tuple(elements))
        return self._leaf(codes.IN_SET, **self._on(path, kind), type=kind, other=number)

    def _term(self, steps: Sequence[TermStep]) -> int:
        return self._pools.terms.number(tuple(self._term_step(*step) for step in steps))

    def _term_step(self, code: int, value: str | float, transform: str) -> tuple[int, int, int]:
        argument = 0
        if isinstance(value, str):
            argument = self._attribute(value)
        elif code in codes.WITH_CONSTANT:
            argument = self._pools.constants.number(value)
        return code, argument, self._pools.transforms.number(transform)

    def _cost(self, part: Lowered) -> int:
        if isinstance(part, list):
            return _GROUP_COST
        return LEAF_KINDS[self._pools.leaves.items[part >> 1].kind].cost
