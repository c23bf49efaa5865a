"""Assembling a segment from subscriptions in columns: concatenate, sort by id, build the index."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts, frozen
from tocsin.columns.compressed import CompressedTexts
from tocsin.columns.expressions.forgetting import without_the_unused
from tocsin.columns.expressions.joining import joined
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.errors import UnsuitableIndex
from tocsin.index import Matcher, Part, Plan, build_structure, matcher_builder, question_of
from tocsin.index.alive import living
from tocsin.model.subscription import Subscription
from tocsin.segment.ids import as_ids
from tocsin.segment.segment import Segment, Snapshot


def laid(parts: Sequence[Part], order: NDArray[np.int64]) -> Part:
    """The subscriptions `order[i]` of the concatenated parts, as one part; their ids must come out sorted."""
    chosen = pa.array(order)
    return Part(
        all_ids(parts).take(chosen),
        joined([part.compiled for part in parts], order),
        _concatenated([part.sources for part in parts]).take(chosen),
        np.concatenate([np.empty(0), *(part.scores for part in parts)])[order],
        _optional([part.payloads for part in parts], parts, chosen),
        _optional([part.weights for part in parts], parts, chosen),
    )


def assemble(part: Part, plan: Plan) -> Segment:
    """A segment of subscriptions with sorted ids, under the planned index."""
    if len(part) >= _MANY:
        give_back()  # the memory used by reading
    matcher = _matcher(part, plan)
    if len(part) >= _MANY:
        give_back()
    return Segment(
        as_ids(part.ids),
        frozen(part.scores, np.float64),
        (CompressedTexts if len(part) >= _MANY else Texts).of_arrow(part.sources),
        plan,
        matcher,
        None if part.payloads is None else Texts.of_arrow(part.payloads),
        None if part.weights is None else Texts.of_arrow(part.weights),
    )


_MANY: Final = 10_000
"""For this many subscriptions, building takes longer than giving memory back."""


def _matcher(part: Part, plan: Plan) -> Matcher:
    try:
        matcher: Matcher = build_structure(question_of(None), part, plan)
    except UnsuitableIndex as error:
        raise UnsuitableIndex(error.reason, error.number, part.ids[error.number].as_py()) from None
    return matcher


def merged(snapshots: Sequence[Snapshot], plan: Plan) -> tuple[Segment, list[NDArray[np.int64]]]:
    """One segment of the live subscriptions of several sources, and the new number of each old one, -1 if removed.

    Cost: linear, plus sorting the ids.
    """
    firsts = np.cumsum([0, *(len(one) for one in snapshots)])
    parts = [one.part() for one in snapshots if len(one)]
    alive = np.concatenate([first + living(one.alive, len(one)) for first, one in zip(firsts, snapshots, strict=False)])
    order = alive[pc.sort_indices(all_ids(parts).take(pa.array(alive))).to_numpy()]
    numbers = np.full(firsts[-1], -1, np.int64)
    numbers[order] = np.arange(len(order))
    part = laid(parts, order)
    if len(order) < firsts[-1]:
        part = replace(part, compiled=without_the_unused(part.compiled))
    return assemble(part, plan), np.split(numbers, firsts[1:-1])


def all_ids(parts: Sequence[Part]) -> pa.Array:
    """The ids of all parts, concatenated."""
    return _concatenated([part.ids for part in parts])


def require_suitable(plan: Plan, subscription: Subscription) -> None:
    """Raise `UnsuitableIndex` if the planned index cannot hold a subscription."""
    try:
        matcher_builder(plan.index, plan.options).build(compile_expressions([subscription.where]))
    except UnsuitableIndex as error:
        raise UnsuitableIndex(error.reason, error.number, subscription.id) from None


def _optional(given: Sequence[pa.Array | None], parts: Sequence[Part], chosen: pa.Array) -> pa.Array | None:
    """Optional texts of subscriptions, empty if absent; None if all are."""
    if all(one is None for one in given):
        return None
    columns = [
        pa.nulls(len(part), pa.large_string()) if one is None else one for one, part in zip(given, parts, strict=True)
    ]
    texts = pc.fill_null(_concatenated(columns), "").take(chosen)
    return texts if pc.any(pc.not_equal(texts, "")).as_py() else None


def _concatenated(arrays: Sequence[pa.Array]) -> pa.Array:
    return pa.concat_arrays(arrays) if arrays else pa.array([], pa.large_string())


def give_back() -> None:
    """Return unused memory from the allocators to the system, as far as possible. Cost: some milliseconds.

    After much reading or building, the C library of Linux keeps hundreds of megabytes. It never returns small pieces by
    itself, and large ones by a threshold that grows with them.
    """
    pa.default_memory_pool().release_unused()
    with suppress(AttributeError, OSError):  # not glibc
        ctypes.CDLL(None).malloc_trim(0)
