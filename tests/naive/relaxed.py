"""Which subscriptions hold in part, and how much of each? Every dimension of every one against every event."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, TypeAlias, TypeVar

from tests.naive.flatten import flatten
from tests.naive.truth import concerns
from tocsin.errors import RecordError
from tocsin.model.expression import And, Attribute, Expression, walk
from tocsin.model.values import Value

Id = TypeVar("Id", str, int)
Weights: TypeAlias = Mapping[str, float]
Combine: TypeAlias = str | Callable[[list[float]], float]
Dimension: TypeAlias = tuple[tuple[str, ...], list[Expression]]


def relaxed(
    subscriptions: Sequence[tuple[Id, Expression, Weights]],
    events: Sequence[Mapping[str, object]],
    k: int,
    combine: Combine = "sum",
    drop: Collection[str] = (),
) -> list[tuple[int, Id, float]]:
    """The k highest scores of each event as (row, id, score): rows ascending, scores descending, then ids."""
    held = [(name, dimensions(tree), weights) for name, tree, weights in subscriptions]
    best: list[tuple[int, Id, float]] = []
    for row, event in enumerate(events):
        try:
            values, _ = flatten(event)
        except RecordError:
            continue  # a bad event concerns nobody
        scores = [(name, score_of(parts, weights, values, combine, drop)) for name, parts, weights in held]
        ranked = sorted((-score, name) for name, score in scores if score is not None)
        best += [(row, name, -negative) for negative, name in ranked[:k]]
    return best


def score_of(
    parts: Sequence[Dimension],
    weights: Weights,
    values: Mapping[str, Value],
    combine: Combine = "sum",
    drop: Collection[str] = (),
) -> float | None:
    """The score of a subscription's dimensions on an event's flattened values; None where none of them holds."""
    holding = [
        weight_of(names, weights)
        for names, conjuncts in parts
        if not set(names) & set(drop) and all(concerns(conjunct, values) for conjunct in conjuncts)
    ]
    if not holding:
        return None
    return _COMBINE[combine](holding) if isinstance(combine, str) else combine(holding)


def dimensions(tree: Expression) -> list[Dimension]:
    """The attributes and conjuncts of each dimension, ordered by attributes, then by place in the expression."""
    found: list[Dimension] = []
    alone: dict[str, list[Expression]] = {}  # the conjuncts of a dimension of one attribute
    for conjunct in _conjuncts(tree):
        names = tuple(sorted({node.name for node in walk(conjunct) if isinstance(node, Attribute)}))
        if len(names) == 1 and names[0] in alone:
            alone[names[0]].append(conjunct)
            continue
        found.append((names, [conjunct]))
        if len(names) == 1:
            alone[names[0]] = found[-1][1]
    return sorted(found, key=lambda dimension: dimension[0])  # stable: places stay in order


def weight_of(names: tuple[str, ...], weights: Weights) -> float:
    """The weight of a dimension: its attribute's, or 1.0 where it has none or is of no attribute or of several."""
    return float(weights.get(names[0], 1.0)) if len(names) == 1 else 1.0


def _conjuncts(tree: Expression) -> Iterator[Expression]:
    """The conditions of the AND at the root, from left to right; an AND in an AND is part of it."""
    if isinstance(tree, And):
        for operand in tree.operands:
            yield from _conjuncts(operand)
    else:
        yield tree


def _sum(weights: list[float]) -> float:
    """One after the other: `sum` of Python 3.12 and later makes up for rounding."""
    total = 0.0
    for weight in weights:
        total += weight
    return total


_COMBINE: Final[dict[str, Callable[[list[float]], float]]] = {"sum": _sum, "max": max, "min": min}
