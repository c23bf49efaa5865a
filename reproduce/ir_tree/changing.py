"""An IR-tree for the best intervals that contain a value, with insertion, deletion and rescoring in place.

Every interval is in the list of one node of an interval tree. The list is an R-tree in order of score, as in `ir_tree`.
Here the interval tree is fixed and balanced over all codes, so the ends of an interval determine its node. The R-trees
grow and shrink like B+-trees, and maintain the extents of their nodes.

Cost: a query for k takes O((k + log c) b log_b n) for c codes. A change takes O(b log_b n), or occasionally O(n log n),
when arrays are too short or much too long. Memory: 24 bytes per entry of a node, with nodes a third to entirely full;
also 30 to 60 per interval and 4 per code.

Source: Machanavajjhala et al. 2008, section 3.1. Departs: docs/papers/ranked_pubsub.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from operator import index
from typing import Final, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reproduce.ir_tree import checks
from reproduce.ir_tree.kernels import changes
from reproduce.ir_tree.kernels.layouts import BRANCHING as ROOM
from reproduce.ir_tree.kernels.layouts import (
    CHANGING,
    COUNT,
    ENTRIES,
    FIRST,
    FREE,
    FREE_PLACE,
    GROUP,
    HOLDER,
    ITEMS,
    LACKING,
    LAST,
    PLACES,
    ROW,
    SLOTS,
    STATE,
    ChangingTrees,
)
from reproduce.ir_tree.kernels.layouts import LEAST as FILL
from reproduce.ir_tree.kernels.packing import lists_of, pack_lists, rows_needed
from reproduce.ir_tree.kernels.walk import STATE_WIDTH
from tocsin.columns.arrays import frozen, starts_of
from tocsin.errors import InvalidInput
from tocsin.index.scored.intervals import ScoredIntervals
from tocsin.index.scored.kernels.cursors import begin_cursor, move_cursor
from tocsin.index.scored.ranker import BestPlaces
from tocsin.index.scored.tree import BRANCHING, MOST_BRANCHING, best_of
from tocsin.jit.views import Packed

Scalar = TypeVar("Scalar", bound=np.generic)

LEAST_BRANCHING: Final = 4
"""With fewer, a node could have a single entry, and a tree could become as deep as it has intervals."""

_ROWS_EACH: Final = 8
"""An upper bound on the rows of blocks per interval, spare ones included."""
_FEW: Final = 1024


class ChangingIRTree:
    """Intervals in groups, each with a score and an owner; an owner has at most one per group. Not thread-safe.

    It answers like a `Ranker`. A place is valid in `scores` and `owners` until the next change.
    """

    def __init__(self, last: ArrayLike, branching: int = BRANCHING) -> None:
        """An empty tree. The codes of group g are 0 to last[g], (G,).

        Raises `InvalidInput` for an impossible code or branching factor. Cost: linear in the codes of all groups.
        """
        if not LEAST_BRANCHING <= branching <= MOST_BRANCHING:
            raise InvalidInput(
                f"branching is {branching}; a node of a tree that changes has {LEAST_BRANCHING} to {MOST_BRANCHING} "
                "entries"
            )
        self._last = frozen(checks.domain_of(last), np.int64)
        self._branching = branching
        self._least = max(2, branching // 3)
        self._changes = 0
        self._roots = np.full(int((self._last + 1).sum()), -1, np.int32)
        self._hold(ScoredIntervals.of(*(np.empty(0, np.int32),) * 3, np.empty(0), np.empty(0, np.int32), self._last))

    @classmethod
    def of(cls, intervals: ScoredIntervals, branching: int = BRANCHING) -> ChangingIRTree:
        """A tree of the given intervals, with the same places. Nodes are three quarters full.

        Raises `InvalidInput` if an owner has two in a group: give each an owner of its own. Cost: O(n log n).
        """
        groups = np.repeat(np.arange(len(intervals.ranges.last)), np.diff(intervals.ranges.starts))
        checks.check_distinct(groups, intervals.owners.astype(np.int64))
        tree = cls(intervals.ranges.last, branching)
        tree._hold(intervals)
        return tree

    def __len__(self) -> int:
        """The number of intervals."""
        return self._count

    @property
    def groups(self) -> int:
        """The number of groups."""
        return len(self._last)

    @property
    def structure(self) -> ChangingTrees:
        """Its arrays, which `index.scored.kernels.cursors` walks; valid until the next change."""
        return self._trees

    @property
    def scores(self) -> NDArray[np.float64]:
        """(N,) by place; undefined for free places."""
        return frozen(self._trees.scores, np.float64)

    @property
    def owners(self) -> NDArray[np.int32]:
        """(N,) by place; undefined for free places."""
        return frozen(self._trees.items[HOLDER::ROW], np.int32)

    def insert(self, group: int, low: int, high: int, score: float, owner: int) -> None:
        """Insert an interval of the codes from `low` to `high`, both included.

        Raises `InvalidInput`, and changes nothing, for an interval that is reversed or exceeds the group's codes, a
        score that is not finite, or an owner that has an interval in the group. Cost: O(b log_b n).
        """
        group, low, high, owner = index(group), index(low), index(high), index(owner)
        checks.check_interval(self._last, group, low, high, score, owner)
        self._changes += 1
        while (place := changes.insert_one(self._table, group, low, high, float(score), owner)) == changes.NO_ROOM:
            self._make_room()
        if place == changes.NONE:
            checks.refuse_taken(group, owner)
        self._count += 1

    def delete(self, group: int, owner: int) -> None:
        """Delete an owner's interval from a group. Raises `InvalidInput` if there is none. Cost: O(b log_b n)."""
        group, owner = index(group), index(owner)
        checks.check_holder(self._last, group, owner)
        self._changes += 1
        while (place := changes.delete_one(self._table, group, owner)) == changes.NO_ROOM:
            self._make_room()
        if place == changes.NONE:
            checks.refuse_unknown(group, owner)
        self._count -= 1
        self._tighten()

    def rescore(self, group: int, owner: int, score: float) -> None:
        """Change the score of an owner's interval in a group.

        Raises `InvalidInput` if there is none, or if the score is not finite. Cost: O(b log_b n).
        """
        group, owner = index(group), index(owner)
        checks.check_holder(self._last, group, owner)
        checks.check_score(score)
        self._changes += 1
        while (place := changes.rescore_one(self._table, group, owner, float(score))) == changes.NO_ROOM:
            self._make_room()
        if place == changes.NONE:
            checks.refuse_unknown(group, owner)

    def insert_many(
        self, groups: ArrayLike, lows: ArrayLike, highs: ArrayLike, scores: ArrayLike, owners: ArrayLike
    ) -> None:
        """`insert` for each row of columns of equal length, (M,). If any row is refused, none is inserted."""
        own, holders = checks.whole("groups", groups), checks.whole("owners", owners)
        firsts, lasts = checks.whole("lows", lows), checks.whole("highs", highs)
        values = np.ascontiguousarray(scores, np.float64)
        checks.check_lengths(own, firsts, lasts, values, holders)
        checks.check_intervals(self._last, own, firsts, lasts, values, holders)
        checks.check_distinct(own, holders)
        for i in np.flatnonzero(self._find(own, holders) >= 0)[:1].tolist():
            checks.refuse_taken(int(own[i]), int(holders[i]))
        rows = np.stack([own, firsts, lasts, holders], axis=1).astype(np.int32).reshape(-1)
        self._each(len(holders), lambda first: changes.insert_many(self._table, rows, values, first))

    def delete_many(self, groups: ArrayLike, owners: ArrayLike) -> None:
        """`delete` for each row of columns of equal length, (M,). If any row is refused, none is deleted."""
        own, holders = self._known(groups, owners)
        checks.check_distinct(own, holders)
        numbers = own.astype(np.int32), holders.astype(np.int32)
        self._each(len(holders), lambda first: changes.delete_many(self._table, *numbers, first))
        self._tighten()

    def rescore_many(self, groups: ArrayLike, owners: ArrayLike, scores: ArrayLike) -> None:
        """`rescore` for each row of columns of equal length, (M,). If any row is refused, none is changed.

        If an owner occurs twice, the last score counts.
        """
        own, holders = self._known(groups, owners)
        values = np.ascontiguousarray(scores, np.float64)
        checks.check_lengths(own, values)
        for score in values[~np.isfinite(values)][:1].tolist():
            checks.check_score(score)
        numbers = own.astype(np.int32), holders.astype(np.int32)
        self._each(len(holders), lambda first: changes.rescore_many(self._table, *numbers, values, first))

    def intervals(self) -> ScoredIntervals:
        """The intervals that it holds, in the form for a static index. Cost: O(n log n)."""
        rows = self._trees.items.reshape(-1, ROW)[: self._trees.state[PLACES]]
        held = np.flatnonzero(rows[:, GROUP] != FREE)
        groups, lows, highs, owners = (rows[held, column] for column in (GROUP, FIRST, LAST, HOLDER))
        return ScoredIntervals.of(groups, lows, highs, self._trees.scores[held], owners, self._last)

    def new_state(self) -> NDArray[np.int64]:
        """Memory for a cursor."""
        return np.zeros(STATE_WIDTH, np.int64)

    def cursor(self, group: int, code: int) -> Iterator[int]:
        """The places of the intervals of a group that a code stabs, best first.

        Raises `InvalidInput` when the next one is requested after a change.
        """
        state, begun = self.new_state(), self._changes
        if 0 <= code <= self._last[group]:
            begin_cursor(self._trees, group, code, state)
            while (place := int(move_cursor(self._trees, code, state))) >= 0:
                yield place
                if self._changes != begun:
                    raise InvalidInput("the tree has changed since this cursor began; ask for a new one")

    def best(self, groups: NDArray[np.int32], codes: NDArray[np.int32], k: int) -> BestPlaces:
        """The k best places of each query: a group and a code, which is negative for a value that stabs nothing.

        Raises `InvalidInput` for an unknown group or code. Cost: O((k + log c) b log_b n) each.
        """
        return best_of(self._trees, self._last, min(k, max(len(self), 1)), self.new_state(), groups, codes)

    def sizes(self) -> dict[str, int]:
        """Bytes of the structure, including spare room, and of the scores and owners."""
        scores = self._trees.scores.nbytes + self._trees.items.nbytes // ROW
        return {"structure": sum(int(array.nbytes) for array in self._trees) - scores, "scores": scores}

    def _known(self, groups: ArrayLike, owners: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Columns of groups and owners, which must have intervals there."""
        own, holders = checks.whole("groups", groups), checks.whole("owners", owners)
        checks.check_lengths(own, holders)
        for group in own[(own < 0) | (own >= self.groups)][:1].tolist():
            checks.check_group(self._last, group)
        for i in np.flatnonzero(self._find(own, holders) < 0)[:1].tolist():
            checks.refuse_unknown(int(own[i]), int(holders[i]))
        return own, holders

    def _find(self, groups: NDArray[np.int64], owners: NDArray[np.int64]) -> NDArray[np.int32]:
        found = np.empty(len(owners), np.int32)
        changes.find(self._table, groups, owners, found)
        return found

    def _each(self, count: int, change: Callable[[int], int]) -> None:
        """Let a kernel make `count` changes, and make room whenever it stops early."""
        self._changes += 1
        done = change(0)
        while done < count:
            self._make_room()
            done = change(done)
        self._count = int(self._trees.state[COUNT])

    def _hold(self, intervals: ScoredIntervals) -> None:
        """Hold exactly these intervals, in arrays with some room."""
        ranges, count = intervals.ranges, len(intervals)
        room = count + count // 4
        groups = np.repeat(np.arange(len(ranges.last), dtype=np.int32), np.diff(ranges.starts))
        items = np.stack([groups, ranges.lows, ranges.highs, intervals.owners], axis=1).reshape(-1)
        slots = np.full(1 << (4 * room // 3 + 1).bit_length(), -1, np.int32)
        none = np.empty(0, np.int32), np.empty(0, np.int64)
        starts = np.array(starts_of(self._last + 1, len(self._last)))
        state = self._state(count)
        scores = _longer(intervals.scores, room)
        self._adopt(ChangingTrees(starts, self._roots, *none, _longer(items, ROW * room), scores, slots, state))
        changes.enter_slots(self._table)
        lists = np.empty(count, np.int64)
        lists_of(self._table, lists)
        order = np.argsort(lists, kind="stable")
        lists = lists[order]
        rows = int(rows_needed(lists, self._branching, self._least))
        self._lengthen(rows + rows // 4 + (self._reserve() if count else 0))
        if count:
            pack_lists(self._table, lists, order)

    def _state(self, count: int) -> NDArray[np.int64]:
        """The state (see `reproduce.ir_tree.kernels.layouts`) for `count` intervals at the first places."""
        state = np.full(STATE, -1, np.int64)
        state[:LACKING] = 0
        state[[PLACES, COUNT, ROOM, FILL]] = count, count, self._branching, self._least
        state[FREE_PLACE] = -1
        return state

    def _adopt(self, trees: ChangingTrees) -> None:
        self._trees = trees
        self._packed = Packed(trees, CHANGING)
        self._table = self._packed.places
        self._count = int(trees.state[COUNT])
        rows = (len(trees.keys) - self._most_rows(0)) // (2 * _ROWS_EACH)
        self._fewest = max(rows, (len(trees.scores) - _FEW) // 4)

    def _reserve(self) -> int:
        """The largest number of rows that one change can take."""
        levels = math.log(max(self._count, 2), self._least)
        return (int(levels) + 4) * (self._branching + 1)

    def _most_rows(self, count: int) -> int:
        """With more rows than this, too many are unused for this number of intervals."""
        return _ROWS_EACH * count + 2 * self._reserve() + _FEW

    def _make_room(self) -> None:
        """Enlarge the arrays that a kernel found too short."""
        trees, lacking = self._trees, self._trees.state[LACKING]
        if lacking == ENTRIES:
            rows = len(trees.keys) + len(trees.keys) // 2 + self._reserve()
            if rows <= self._most_rows(int(trees.state[COUNT])):
                self._lengthen(rows)
            else:
                self._rebuild()
        elif lacking == ITEMS:
            room = len(trees.scores) + len(trees.scores) // 2 + 16
            self._adopt(trees._replace(items=_longer(trees.items, ROW * room), scores=_longer(trees.scores, room)))
        elif lacking == SLOTS:
            self._adopt(trees._replace(slots=np.full(2 * len(trees.slots), -1, np.int32)))
            changes.enter_slots(self._table)

    def _lengthen(self, rows: int) -> None:
        trees = self._trees
        self._adopt(trees._replace(entries=_longer(trees.entries, ROW * rows), keys=_longer(trees.keys, rows)))

    def _tighten(self) -> None:
        """Rebuild if most of the room is unused after deletions."""
        if self._count < self._fewest:
            self._rebuild()

    def _rebuild(self) -> None:
        """Pack the current intervals. Cost: O(n log n)."""
        held = self.intervals()
        lists = np.empty(int(self._trees.state[PLACES]), np.int64)
        lists_of(self._table, lists)
        self._roots[lists[lists >= 0]] = -1
        self._hold(held)


def _longer(array: NDArray[Scalar], size: int) -> NDArray[Scalar]:
    """A copy with `size` elements; those after the array's own are undefined."""
    longer = np.empty(size, array.dtype)
    longer[: len(array)] = array
    return longer
