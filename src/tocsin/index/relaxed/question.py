"""The question behind `Relaxed`: the top-k subscriptions by the weights of their dimensions that hold."""

from __future__ import annotations

from typing import Any, ClassVar, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tocsin.columns.events.batch import EventBatch
from tocsin.index.found import Found
from tocsin.index.plan import Chosen, Plan
from tocsin.index.protocols import THE_BEST_FIRST, Arrays
from tocsin.index.question import Part, Subscriptions, top
from tocsin.index.relaxed.dimensions import Dimensions, Weights, compile_dimensions
from tocsin.index.relaxed.index import RelaxedIndex, build_relaxed, restored_relaxed
from tocsin.language.stored import stored_expression, stored_weights
from tocsin.model.expression import Expression
from tocsin.model.ranking import Relaxed

RANKER: Final = "sopt_r_tree"
"""The default ranker."""

_WORDS: Final = "(?:not|holds|some|named|at_least|each|given|ip_in)"
_OF_ATTRIBUTES: Final = r"interval\s*\(\s*(?:[^'\s]|'[^']*'\s*,\s*[^'\s])"
_MOVES_NOT: Final = rf'(?i)\b{_WORDS}\s*\(|"{_WORDS}"|\b{_OF_ATTRIBUTES}|^@'
"""A text with a function that stands for other conditions, with NOT before a group, or with an interval of attributes.

Its compiled conjuncts may differ from those of the tree.
"""


class MostHolds:
    """Answers `Relaxed`, with a `RelaxedIndex` for each source."""

    name: ClassVar[str] = THE_BEST_FIRST
    purpose: ClassVar[str] = "relaxed rankings and Top(k)"
    key: ClassVar[str] = "ranker"
    default: ClassVar[Chosen | None] = Chosen(RANKER)
    counts_parts: ClassVar[bool] = True

    def structure(self, part: Part, builder: Any, plan: Plan) -> RelaxedIndex:
        """Cost: linear in the subscriptions, and some parsing where it is needed."""
        return build_relaxed(dimensions_of(part), builder, plan.statistics, is_scan=plan.index == "scan")

    def arrays(self, structure: RelaxedIndex) -> Arrays:
        """The index's rows, and the tables that depend on them."""
        return structure.arrays()

    def restored(self, arrays: Arrays, part: Part, builder: Any, plan: Plan) -> RelaxedIndex:
        """Cost: an eighth of `structure`."""
        return restored_relaxed(arrays, len(part), builder, is_scan=plan.index == "scan")

    def answer(self, subscriptions: Subscriptions, batch: EventBatch, ranking: Relaxed) -> Found:
        """The best of all sources' best."""
        found = subscriptions.answers(self, batch, ranking)
        assert found.scores is not None
        return top(found, found.scores, ranking.k)

    def needs_a_key(self, ranking: Relaxed, alike: float) -> bool:
        """False: one dimension that holds makes an answer, and it may be any."""
        return False


def dimensions_of(part: Part) -> Dimensions:
    """The dimensions of a source's subscriptions, with their weights."""
    odd = pc.match_substring_regex(part.sources, _MOVES_NOT).to_numpy(zero_copy_only=False).astype(bool)
    weights = _parsed_weights(part.weights, len(part))

    def tree_of(number: int) -> Expression:
        return stored_expression(part.sources[number].as_py())

    return compile_dimensions(part.compiled, odd, tree_of, weights)


def _parsed_weights(weights: pa.Array | None, count: int) -> Weights:
    """The weights of subscriptions. Each distinct text is parsed once, since many are equal."""
    if weights is None:
        return Weights([{}], np.zeros(count, np.int64))
    texts = pc.fill_null(weights, "").dictionary_encode()
    parsed = [stored_weights(text) if text else {} for text in texts.dictionary.to_pylist()]
    return Weights(parsed, texts.indices.to_numpy().astype(np.int64))
