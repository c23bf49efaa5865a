"""How do subscriptions in columns become something that answers relaxed rankings? Their dimensions, under the plan."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.index import Plan, ranker_builder
from tocsin.index.relaxed.dimensions import compile_dimensions
from tocsin.index.relaxed.index import RelaxedIndex, build_relaxed
from tocsin.language import parse_any

_MOVES_NOT: Final = r'(?i)\bnot\s*\(|"not"'
"""A text in which NOT may stand before a group: compiled, its conjuncts are others than those of the tree."""


def relaxed_index(
    compiled: CompiledExpressions, sources: pa.Array, weights: pa.Array | None, plan: Plan
) -> RelaxedIndex:
    """Of expressions with their texts, and weights as JSON texts. Cost: linear, and some parsing where it is needed."""
    odd = pc.match_substring_regex(sources, _MOVES_NOT).to_numpy(zero_copy_only=False).astype(bool)
    texts = _parsed_weights(weights)
    dimensions = compile_dimensions(compiled, odd, lambda number: parse_any(sources[number].as_py()), texts)
    ranker = ranker_builder(plan.ranker, plan.ranker_options)
    return build_relaxed(dimensions, ranker, plan.statistics, is_scan=plan.index == "scan")


def _parsed_weights(weights: pa.Array | None) -> dict[int, Mapping[str, float]]:
    if weights is None:
        return {}
    given = pc.not_equal(pc.fill_null(weights, ""), "").to_numpy(zero_copy_only=False)
    parsed = lru_cache(1 << 16)(json.loads)  # of a million, most say the same
    return {number: parsed(weights[number].as_py()) for number in np.flatnonzero(given).tolist()}
