"""The IR-tree under changes: the rate of changes, and queries compared with a static tree of the same intervals."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from reproduce.loads import coded

from benchmarks.calibration import median_seconds, seconds
from benchmarks.ranked import drawn
from benchmarks.rows import Row
from reproduce.ir_tree import ChangingIRTree
from tocsin.index import Ranker, ranker_builder
from tocsin.index.scored.intervals import ScoredIntervals

_KS = (1, 20, 100)
_QUERIES = 20_000
_CHANGED = 4  # a quarter is deleted, another inserted, a third rescored
_SINGLY = 20_000


def rows(count: int) -> Iterator[Row]:
    """Measure on the paper's intervals and on short ones, as in `ranked`."""
    _warm()
    for load in ("paper", "short"):
        more = count // _CHANGED
        intervals, codes = coded(*drawn(load, count + more, 1, _QUERIES))
        codes = np.ascontiguousarray(codes.reshape(-1), np.int32)
        yield from _one(load, intervals, codes, np.random.default_rng(2), more)


def _one(
    load: str, intervals: ScoredIntervals, codes: NDArray[np.int32], random: np.random.Generator, more: int
) -> Iterator[Row]:
    lasting, coming = np.split(random.permutation(len(intervals)), [len(intervals) - more])
    held = _chosen(intervals, lasting)
    taken = median_seconds(lambda: ChangingIRTree.of(held))
    other = median_seconds(lambda: ranker_builder("ir_tree", {}).build(held))
    note = f"{taken:.2f} s, the static one {other:.2f} s"
    yield Row("ir_tree", load, "build", len(held) / taken, "intervals/s", note)
    tree = ChangingIRTree.of(held)
    yield from _queries(load, "built", tree, codes)
    going, rescored = lasting[:more], lasting[more : 2 * more]
    groups = np.zeros(more, np.int32)
    new_scores = random.permutation(intervals.scores[rescored])
    yield _changes(load, "delete", more, seconds(lambda: tree.delete_many(groups, intervals.owners[going])))
    yield _changes(load, "insert", more, seconds(lambda: tree.insert_many(*_columns(intervals, coming))))
    once = seconds(lambda: tree.rescore_many(groups, intervals.owners[rescored], new_scores))
    yield _changes(load, "rescore", more, once)
    yield from _singly(load, tree, intervals, coming[:_SINGLY])
    yield from _queries(load, "changed", tree, codes)


def _singly(load: str, tree: ChangingIRTree, intervals: ScoredIntervals, chosen: NDArray[np.int64]) -> Iterator[Row]:
    """One call for each change."""
    rows = list(zip(*(column.tolist() for column in _columns(intervals, chosen)), strict=True))

    def churn() -> None:
        for group, low, high, score, owner in rows:
            tree.delete(group, owner)
            tree.insert(group, low, high, score, owner)

    yield _changes(load, "one by one", 2 * len(rows), seconds(churn))


def _queries(load: str, state: str, tree: ChangingIRTree, codes: NDArray[np.int32]) -> Iterator[Row]:
    """Queries on the tree, in turns with a static one of the same intervals."""
    held = tree.intervals()
    static = ranker_builder("ir_tree", {}).build(held)
    size, static_size = (sum(one.sizes().values()) for one in (tree, static))
    for k in _KS:
        other = _rate(static, codes, k)
        own = _rate(tree, codes, k)
        other = (other + _rate(static, codes, k)) / 2
        groups = np.zeros(len(codes), np.int32)
        looked_at, others = (one.best(groups, codes, k).examined / len(codes) for one in (tree, static))
        note = f"{own / other:.2f} x the static one's, {looked_at:,.0f} intervals looked at by {others:,.0f}; "
        note += f"{size / len(held):.1f} B an interval by {static_size / len(held):.1f}"
        yield Row("ir_tree", load, f"best {k}, {state}", own, "queries/s", note)


def _rate(ranker: Ranker | ChangingIRTree, codes: NDArray[np.int32], k: int) -> float:
    groups = np.zeros(len(codes), np.int32)
    return len(codes) / median_seconds(lambda: ranker.best(groups, codes, k), 5)


def _changes(load: str, what: str, count: int, taken: float) -> Row:
    return Row("ir_tree", load, what, count / taken, "changes/s", f"{1e6 * taken / count:.2f} us each, of {count:,}")


def _chosen(intervals: ScoredIntervals, chosen: NDArray[np.int64]) -> ScoredIntervals:
    return ScoredIntervals.of(*_columns(intervals, chosen), intervals.ranges.last)


def _columns(intervals: ScoredIntervals, chosen: NDArray[np.int64]) -> tuple[NDArray, ...]:
    """Groups, ends, scores and owners of selected intervals of one group."""
    ranges = intervals.ranges
    ends = ranges.lows[chosen], ranges.highs[chosen]
    return np.zeros(len(chosen), np.int32), *ends, intervals.scores[chosen], intervals.owners[chosen]


def _warm() -> None:
    """Compile the kernels that change a tree."""
    tree = ChangingIRTree([9])
    tree.insert_many([0], [1], [2], [1.0], [1])
    tree.rescore_many([0], [1], [2.0])
    tree.delete_many([0], [1])
    tree.insert(0, 1, 2, 1.0, 1)
    tree.delete(0, 1)
