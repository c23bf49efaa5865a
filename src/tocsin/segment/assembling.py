"""How do subscriptions in columns become a segment? Laid end to end, in one order, under one index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts, frozen
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.joining import joined
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.errors import UnsuitableIndex
from tocsin.index import Matcher, Plan, matcher_builder
from tocsin.model.subscription import Subscription
from tocsin.segment.segment import Ids, Segment


@dataclass(frozen=True, slots=True)
class Part:
    """Some subscriptions, in any order; their ids are of one kind."""

    ids: pa.Array  # int64, or large_string
    compiled: CompiledExpressions
    sources: pa.Array
    scores: NDArray[np.float64]
    payloads: pa.Array | None = None  # JSON texts, null or empty for none; None where nobody has any
    weights: pa.Array | None = None  # the same

    def __len__(self) -> int:
        return len(self.ids)


def assemble(parts: Sequence[Part], order: NDArray[np.int64], plan: Plan) -> Segment:
    """A segment whose i-th subscription is number `order[i]` of the parts laid end to end; ids must come in order."""
    chosen = pa.array(order)
    compiled = joined([part.compiled for part in parts], order)
    scores = np.concatenate([np.empty(0), *(part.scores for part in parts)])[order]
    ids = as_ids(all_ids(parts).take(chosen))
    return Segment(
        ids,
        frozen(scores, np.float64),
        Texts.of_arrow(_concatenated([part.sources for part in parts]).take(chosen)),
        plan,
        _built(compiled, plan, ids),
        _optional([part.payloads for part in parts], parts, chosen),
        _optional([part.weights for part in parts], parts, chosen),
    )


def _built(compiled: CompiledExpressions, plan: Plan, ids: Ids) -> Matcher:
    try:
        return matcher_builder(plan.index, plan.options).build(compiled, plan.statistics)
    except UnsuitableIndex as error:
        known = ids[error.number] if isinstance(ids, np.ndarray) else ids.arrow()[error.number].as_py()
        raise UnsuitableIndex(error.reason, error.number, known if isinstance(known, str) else int(known)) from None


def all_ids(parts: Sequence[Part]) -> pa.Array:
    """The ids of all parts, end to end."""
    return _concatenated([part.ids for part in parts])


def as_ids(ids: pa.Array) -> Ids:
    """Ids as a segment keeps them."""
    return frozen(ids.to_numpy(), np.int64) if pa.types.is_integer(ids.type) else Texts.of_arrow(ids)


def require_suitable(plan: Plan, subscription: Subscription) -> None:
    """Raise `UnsuitableIndex` where the planned index cannot hold a subscription."""
    try:
        matcher_builder(plan.index, plan.options).build(compile_expressions([subscription.where]))
    except UnsuitableIndex as error:
        raise UnsuitableIndex(error.reason, error.number, subscription.id) from None


def _optional(given: Sequence[pa.Array | None], parts: Sequence[Part], chosen: pa.Array) -> Texts | None:
    """Texts that a subscription may have, empty for none; None where nobody has any."""
    if all(one is None for one in given):
        return None
    columns = [
        pa.nulls(len(part), pa.large_string()) if one is None else one for one, part in zip(given, parts, strict=True)
    ]
    texts = pc.fill_null(_concatenated(columns), "").take(chosen)
    return Texts.of_arrow(texts) if pc.any(pc.not_equal(texts, "")).as_py() else None


def _concatenated(arrays: Sequence[pa.Array]) -> pa.Array:
    return pa.concat_arrays(arrays) if arrays else pa.array([], pa.large_string())
