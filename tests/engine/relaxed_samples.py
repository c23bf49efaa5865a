"""What the tests of relaxed rankings share: indexes, questions, and subscriptions as a user writes them."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

import tocsin
from tests import strategies as own
from tests.naive.relaxed import Combine
from tests.strategies.pools import often
from tests.strategies.weighted import Weighted
from tocsin.model.expression import Expression

RANKERS: Final = ("sopt_r_tree", "ir_tree", "interval_tree", "segment_tree", "scored_r_tree")
INDEXES: Final = ("auto", "scan", *RANKERS)
STRING_IDS: Final = ("a", "b", "B", "é", "z", "｡", "😀", "", "a b", "10", "9", "a\x00")
INTEGER_IDS: Final = (0, -1, 5, 10, 9, 2**53, 2**53 + 1, 2**63 - 1, 2**63 - 2, -(2**63), 7, 8)

Sub: TypeAlias = tuple[Any, Expression, Mapping[str, float]]


def counted(weights: list[float]) -> float:
    """How many hold."""
    return float(len(weights))


def capped(weights: list[float]) -> float:
    """Their sum, but no more than 1.2."""
    return min(math.fsum(weights), 1.2)


def missing(weights: list[float]) -> float:
    """Below 0 always."""
    return -1.0 / (1.0 + math.fsum(weights) + len(weights))


class Asked(NamedTuple):
    """A relaxed ranking before it is made, so that tests are read while there is none."""

    k: int
    combine: Combine = "sum"
    drop: Collection[str] = ()

    def ranking(self) -> Any:
        return tocsin.Relaxed(self.k, combine=self.combine, drop=self.drop)  # type: ignore[attr-defined]


def questions(names: Sequence[str]) -> SearchStrategy[Asked]:
    """Small ks, every way to combine, and some of the names dropped."""
    combines = st.sampled_from(("sum", "sum", "sum", "max", "min", counted, capped, missing))
    dropped = st.lists(st.sampled_from(names), max_size=2, unique=True)
    collections = st.sampled_from((tuple, list, set, frozenset))
    drops = st.tuples(dropped, collections).map(lambda drawn: drawn[1](drawn[0]))
    return st.builds(Asked, st.integers(1, 6), combines, often(st.just(()), drops, odds=3))


@st.composite
def subscriptions(draw: DrawFn, trees: SearchStrategy[Expression], most: int = 8) -> list[Sub]:
    """Weighted trees under ids that are in no order."""
    names = draw(st.one_of(st.permutations(STRING_IDS), st.permutations(INTEGER_IDS)))
    drawn: list[Weighted] = draw(st.lists(own.weighted(trees), min_size=1, max_size=most))
    return [(name, tree, weights) for name, (tree, weights) in zip(names, drawn, strict=False)]


def records(subscriptions: Sequence[Sub]) -> list[dict[str, Any]]:
    """Subscriptions as a user writes them: half as text, half as JSON; no weights are None, an empty object or absent.

    Scores are there to be ignored.
    """
    made: list[dict[str, Any]] = []
    for place, (name, tree, weights) in enumerate(subscriptions):
        where = tocsin.to_json(tree) if place % 2 else tocsin.to_text(tree)
        made.append({"id": name, "where": where, "score": float(place - 3)})
        if weights or place % 3:
            made[-1]["weights"] = dict(weights) or (None if place % 3 == 1 else {})
    return made


def tuples(answer: tocsin.Answer) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in answer.table.to_pylist()]
