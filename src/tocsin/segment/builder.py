"""Building a segment from chunks of subscriptions: compile each chunk, then remove duplicate ids and sort."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.columns.expressions.instances import compile_instances
from tocsin.columns.expressions.recipes import RecipeBook
from tocsin.columns.expressions.writer import compile_conjunctions
from tocsin.errors import InvalidInput
from tocsin.index import Part, Plan
from tocsin.language import Templates
from tocsin.model.subscription import Reject, Subscription, SubscriptionId, shown
from tocsin.records import ConjunctionColumns, SubscriptionChunk, chunk_of
from tocsin.segment.assembling import all_ids, assemble, laid
from tocsin.segment.ids import Ids, as_ids
from tocsin.segment.segment import Segment

_STRING, _INTEGER = pa.large_string(), pa.int64()
_KIND_NAMES: Final = {_STRING: ("strings", "a string"), _INTEGER: ("integers", "an integer")}

Taken = Callable[[Ids], "NDArray[np.bool_]"]
"""Tells which of some sorted ids are taken already."""


class SegmentBuilder:
    """Collects subscriptions and builds one segment of them."""

    def __init__(self) -> None:
        self.rejects: list[Reject] = []
        self.superseded: list[SubscriptionId] = []  # ids of records that a later one replaced
        self.rows = np.empty(0, np.int64)  # those of the subscriptions in `part`, once it is made
        self._parts: list[tuple[NDArray[np.int64], Part]] = []  # with their rows
        self._book = RecipeBook()

    def add(self, chunk: SubscriptionChunk) -> None:
        """Compile a chunk, and keep its rejects."""
        self.rejects.extend(chunk.rejects)
        if not len(chunk):
            return
        for kind, places in _kinds(chunk.ids):
            if len(places):
                whole = len(places) == len(chunk)
                taken = chunk if whole else chunk.some(places)
                self._parts.append((taken.rows, _part(taken, kind, self._book)))

    def kind(self) -> pa.DataType:
        """The more frequent kind of ids; strings on a tie."""
        strings = sum(len(part) for _, part in self._parts if part.ids.type == _STRING)
        return _STRING if 2 * strings >= sum(len(part) for _, part in self._parts) else _INTEGER

    def finish(
        self, plan: Plan, *, kind: pa.DataType | None = None, keep_last: bool = False, taken: Taken | None = None
    ) -> Segment:
        """A segment of the subscriptions in `part`, under the planned index."""
        return assemble(self.part(kind=kind, keep_last=keep_last, taken=taken), plan)

    def part(self, *, kind: pa.DataType | None = None, keep_last: bool = False, taken: Taken | None = None) -> Part:
        """The accepted subscriptions, sorted by id; `rejects` has the others. Cost: O(n log n).

        Ids of another kind than `kind` (default: the most frequent) are rejected, as are `taken` ids. Of equal ids all
        but the first are rejected. With `keep_last` the last one is kept, and `superseded` has the ids of the others.
        """
        kind = self.kind() if kind is None else kind
        given = self._of_kind(kind)
        parts = [part for _, part in given]
        rows = np.concatenate([np.empty(0, np.int64), *(rows for rows, _ in given)])
        order = self._distinct(all_ids(parts), rows, keep_last=keep_last, taken=taken)
        self.rows = rows[order]
        return laid(parts, order)

    def _of_kind(self, kind: pa.DataType) -> list[tuple[NDArray[np.int64], Part]]:
        """The parts with ids of one kind; the others are rejected."""
        given, self._parts = self._parts, []
        for rows, part in given:
            if part.ids.type != kind:
                most, this = _KIND_NAMES[kind][0], _KIND_NAMES[part.ids.type][1]
                self._reject(rows, part.ids, f"most ids are {most}, but this one is {this}; use one kind")
        return [(rows, part) for rows, part in given if part.ids.type == kind]

    def _distinct(
        self, ids: pa.Array, rows: NDArray[np.int64], *, keep_last: bool, taken: Taken | None
    ) -> NDArray[np.int64]:
        """The places of the ids that are kept, sorted by id."""
        by_row = np.argsort(-rows if keep_last else rows, kind="stable")
        ranked = ids.take(pa.array(by_row))
        order = by_row[_stable_order(ranked)]
        in_order = ids.take(pa.array(order))
        again = np.zeros(len(order), bool)
        again[1:] = pc.equal(in_order[1:], in_order[:-1]).to_numpy(zero_copy_only=False) if len(order) > 1 else False
        if keep_last:
            self.superseded = ids.take(pa.array(order[again])).to_pylist()
        else:
            doubles = order[again]
            self._reject(rows[doubles], ids.take(pa.array(doubles)), "exists already; the first one is kept")
        order = order[~again]
        if taken is not None and len(order):
            is_taken = taken(as_ids(ids.take(pa.array(order))))
            self._reject(rows[order[is_taken]], ids.take(pa.array(order[is_taken])), "exists already")
            order = order[~is_taken]
        return order

    def _reject(self, rows: NDArray[np.int64], ids: pa.Array, reason: str) -> None:
        for row, name in zip(rows.tolist(), ids.to_pylist(), strict=True):
            words = f"a subscription {shown(name)} {reason}" if reason.startswith("exists") else reason
            self.rejects.append(Reject(row, name, "id", words))


def _stable_order(ids: pa.Array) -> NDArray[np.int64]:
    """The places sorted by id, with equal ids in their original order."""
    if ids.type == _INTEGER:
        return np.argsort(ids.to_numpy(), kind="stable")
    order: NDArray[np.int64] = pc.sort_indices(ids).to_numpy().astype(np.int64)  # stable, as Arrow documents
    return order


def _kinds(ids: pa.Array | list[Any]) -> list[tuple[pa.DataType, NDArray[np.int64]]]:
    """The places of the strings, and of the integers."""
    if isinstance(ids, pa.Array):
        return [(ids.type, np.arange(len(ids)))]
    strings = np.fromiter((isinstance(name, str) for name in ids), bool, len(ids))
    return [(_STRING, np.flatnonzero(strings)), (_INTEGER, np.flatnonzero(~strings))]


def _part(chunk: SubscriptionChunk, kind: pa.DataType, book: RecipeBook) -> Part:
    where = chunk.where
    compiled = compile_conjunctions(*where) if isinstance(where, ConjunctionColumns) else compile_instances(where, book)
    return Part(
        chunk.ids if isinstance(chunk.ids, pa.Array) else pa.array(chunk.ids, kind),
        compiled,
        chunk.sources if isinstance(chunk.sources, pa.Array) else pa.array(chunk.sources, _STRING),
        chunk.scores,
        None if chunk.payloads is None else pa.array(chunk.payloads, _STRING),
        None if chunk.weights is None else pa.array(chunk.weights, _STRING),
    )


def build_segment(subscriptions: Iterable[Subscription], plan: Plan) -> Segment:
    """Build a segment of subscriptions with distinct ids of one kind; raises `InvalidInput` otherwise."""
    builder = SegmentBuilder()
    builder.add(chunk_of(enumerate(subscriptions), Templates(), []))
    segment = builder.finish(plan)
    if builder.rejects:
        raise InvalidInput(builder.rejects[0].reason)
    return segment
