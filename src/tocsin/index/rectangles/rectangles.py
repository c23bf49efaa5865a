"""Expressions as rectangles: two axes, a rectangle of rank codes, and whether the expression asks for more.

A subscription's rectangle comes from the two ranges, or the box, in its outermost AND that leave the least of the map.
Anything else it asks for is verified. So a structure of rectangles takes any number of dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, frozen_table, numbered, starts_of
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.joining import subset
from tocsin.columns.expressions.narrowing import narrowed
from tocsin.columns.payloads import keys_of
from tocsin.index.fields.fields import fields_and_keys
from tocsin.index.filtering.boxes import with_boxes_around, without_attributes_of_boxes
from tocsin.index.filtering.index import require_suitable
from tocsin.index.rectangles.kernels.choosing import NEVER, NO_RECTANGLE, Rectangles, Sides, choose_rectangles
from tocsin.index.rectangles.kernels.layouts import Axes, Groups, RectangleTables, Seen
from tocsin.index.tables import bytes_of_table, new_table
from tocsin.kernels import codes
from tocsin.kernels.answers.ordering import BUCKETS
from tocsin.kernels.compacting import AT_ONCE
from tocsin.kernels.distinct import sorted_groups
from tocsin.language.canonical import name_text
from tocsin.model.readings import attribute_of


class Coded(NamedTuple):
    """Expressions, their axes, and the rectangle of each that has one. X axes."""

    expressions: CompiledExpressions
    axes: Axes
    sizes: NDArray[np.int64]  # (X,) number of codes of an axis
    chosen: Rectangles

    @classmethod
    def of(cls, compiled: CompiledExpressions) -> Coded:
        """Cost: O(P log P)."""
        compiled = _only_used(compiled)
        fields, keys = fields_and_keys(_only_ranges(compiled), np.ones(len(compiled.attributes)))
        places, edge_starts, edges, boxes, own_axes = _places(compiled, len(fields.kinds))
        lengths = np.concatenate([np.diff(fields.operand_starts), np.diff(edge_starts), [0]])
        sizes = 2 * lengths.astype(np.int64) + 1
        chosen = choose_rectangles(compiled.arrays, keys, Sides(sizes, boxes, own_axes))
        return cls(compiled, Axes(fields, places, edge_starts, edges), sizes, chosen)


def attributes_of(axes: Axes) -> NDArray[np.int64]:
    """(X,) the number of an axis's attribute; -1 for the axis that every event has."""
    of_fields = np.repeat(np.arange(len(axes.fields.starts) - 1), np.diff(axes.fields.starts))
    with_places = np.flatnonzero(axes.places >= 0)
    of_places = with_places[np.argsort(axes.places[with_places])].repeat(2)
    return np.concatenate([of_fields, of_places, [-1]]).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Held:
    """Expressions, and their rectangles on pairs of axes. S subscriptions, X axes."""

    FOUND_BY: ClassVar = "one rectangle", "a rectangle and other conditions"

    expressions: CompiledExpressions
    axes: Axes
    groups: Groups
    sizes: NDArray[np.int64]  # (X,) number of codes of an axis
    asks_more: NDArray[np.bool_]  # (S,)

    @classmethod
    def of(cls, compiled: CompiledExpressions) -> Held:
        """The rectangles of expressions; raises `UnsuitableIndex` for one that has none. Cost: O(P log P).

        Shapes, and OR of several boxes, are found by the boxes around them, and verified.
        """
        boxed = with_boxes_around(compiled)
        coded, axes, sizes, chosen = Coded.of(boxed)
        suits = chosen.axes[:, 0] != NO_RECTANGLE
        require_suitable(suits, "its outermost AND needs no range of an attribute and no box")
        groups = _grouped(chosen.axes, chosen.rectangles, len(sizes))
        whole = coded if boxed is compiled else _only_used(without_attributes_of_boxes(compiled, boxed))
        return cls(whole, axes, groups, frozen(sizes, np.int64), frozen(chosen.asks_more, np.bool_))

    @property
    def tables(self) -> RectangleTables:
        """The kernels' tables."""
        return RectangleTables(self.axes, self.groups)

    def finds(self) -> NDArray[np.bool_]:
        """(S,) which have a rectangle; the others never hold."""
        mask = np.zeros(len(self.expressions), bool)
        mask[self.groups.members] = True
        return mask

    def place(self, number: int) -> str:
        """The attributes whose ranges or box form its rectangle. Cost: linear in the rectangles."""
        pair = self.pair_of(number)
        names = [self._name(int(axes[pair])) for axes in (self.groups.axes, self.groups.seconds)]
        return f"looked for in a rectangle of {' and '.join(dict.fromkeys(name for name in names if name))}"

    def pair_of(self, number: int) -> int:
        """The pair of axes of a subscription's rectangle, which it must have. Cost: linear."""
        place = np.flatnonzero(self.groups.members == number)[0]
        return int(np.searchsorted(self.groups.starts, place, side="right")) - 1

    def _name(self, axis: int) -> str:
        attribute = int(attributes_of(self.axes)[axis])
        return "" if attribute < 0 else name_text(attribute_of(self.expressions.attributes[attribute]))

    def nbytes(self) -> int:
        """Bytes of the rectangles and their tables, without operands and expressions."""
        own = bytes_of_table((self.axes.fields, self.groups, self.asks_more))
        return own - int(self.axes.fields.operands.nbytes)

    def operand_bytes(self) -> int:
        """Bytes of the operands and edges."""
        return int(self.axes.fields.operands.nbytes + self.axes.edges.nbytes)

    def new_seen(self, *, stamps: bool) -> Seen:
        """A thread's memory for kernels; with `stamps` they record which subscriptions were met."""
        count = len(self.expressions)
        stamped, words = count if stamps else 0, count // 64 + 1
        lengths = {"axes": len(self.sizes), "subscriptions": count, "words": words, "stamped": stamped}
        seen = new_table(Seen, **lengths, spare=AT_ONCE, buckets=BUCKETS)
        seen.lows[-1] = 0
        return seen


def _only_used(compiled: CompiledExpressions) -> CompiledExpressions:
    """The expressions without unused leaves, with comparisons that form one range merged."""
    return subset(narrowed(compiled), np.arange(len(compiled), dtype=np.int32))


def _only_ranges(compiled: CompiledExpressions) -> CompiledExpressions:
    """The same leaves, with keys only for ranges."""
    kinds = np.where(compiled.arrays.leaf_kinds == codes.RANGE, codes.RANGE, codes.TRUE_LEAF)
    return replace(compiled, arrays=compiled.arrays._replace(leaf_kinds=frozen(kinds, np.uint8)))


def _places(
    compiled: CompiledExpressions, fields: int
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """The attributes with boxes by number, the edges of their axes, each leaf's box as codes, and its first axis."""
    arrays = compiled.arrays
    leaves = np.flatnonzero(arrays.leaf_kinds == codes.INTERSECTS)
    distinct, numbers = numbered(arrays.leaf_attributes[leaves].astype(np.int64))
    places = np.full(len(compiled.attributes), -1, np.int32)
    places[distinct] = np.arange(len(distinct))
    sides = keys_of(arrays.boxes[arrays.leaf_others[leaves]].reshape(-1)).reshape(-1, 4)
    axes = np.stack([2 * numbers, 2 * numbers + 1, 2 * numbers, 2 * numbers + 1], axis=1).astype(np.int32)
    starts, edges = sorted_groups(
        frozen(axes.reshape(-1), np.int32), frozen(sides.reshape(-1), np.int64), 2 * len(distinct)
    )
    boxes = np.zeros((len(arrays.leaf_kinds), 4), np.int32)
    for axis in range(2 * len(distinct)):
        rows, columns = np.nonzero(axes == axis)
        ranks = np.searchsorted(edges[starts[axis] : starts[axis + 1]], sides[rows, columns])
        boxes[leaves[rows], columns] = 2 * ranks + 1
    own = np.full(len(arrays.leaf_kinds), -1, np.int32)
    own[leaves] = fields + 2 * numbers
    return frozen(places, np.int32), frozen(starts, np.int64), frozen(edges, np.int64), boxes, own


def _grouped(axes: NDArray[np.int32], rectangles: NDArray[np.int32], count: int) -> Groups:
    """The rectangles by pairs of axes."""
    able = np.flatnonzero(axes[:, 0] != NEVER)
    pairs, numbers = numbered(axes[able, 0].astype(np.int64) * count + axes[able, 1])
    members = able[np.argsort(numbers, kind="stable")]
    return frozen_table(
        Groups(
            firsts=np.searchsorted(pairs // count, np.arange(count + 1)).astype(np.int32),
            axes=(pairs // count).astype(np.int32),
            seconds=(pairs % count).astype(np.int32),
            starts=starts_of(np.bincount(numbers, minlength=len(pairs)), len(pairs)),
            members=members.astype(np.int32),
            rectangles=rectangles,
        )
    )
