"""How is a batch matched against lists, be they built at once or changed one by one? Memory, and a kernel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.index.boolean.opindex.kernels.events import OpScratch, widest_event
from tocsin.index.boolean.opindex.kernels.layouts import OPERATORS, Counters, OpLists, Prefixes
from tocsin.index.boolean.opindex.kernels.lists import match_opindex
from tocsin.index.boolean.opindex.prefixes import depths
from tocsin.index.found import collect
from tocsin.index.protocols import Found
from tocsin.kernels.answers.ordering import BUCKETS
from tocsin.kernels.programs.layouts import Bound


class Matching:
    """What matching needs beside the lists. Many threads may use it: memory is made for each batch."""

    def __init__(self, compiled: CompiledExpressions, prefixes: Prefixes, segments: int, signature_bits: int) -> None:
        self._leaves = compiled.arrays
        self._subscriptions = len(compiled)
        self._depths = depths(prefixes)
        self._options = segments, signature_bits

    def match(self, lists: OpLists, batch: EventBatch, bound: Bound, alive: NDArray[np.uint64]) -> Found:
        """All matches of a batch among those that are alive."""
        values = widest_event(lists.fields, self._depths, batch.arrays, bound.attributes, 0)
        scratch = _new_scratch(lists.counters, values, self._subscriptions)
        counts = np.zeros(2, np.int64)
        starts, found = collect(
            len(batch),
            lambda first, ends, out: match_opindex(
                lists,
                self._leaves,
                batch.arrays,
                bound,
                alive,
                scratch,
                *self._options,
                first,
                ends,
                out,
                counts,
            ),
        )
        return Found(starts, found, int(counts[0]), int(counts[1]))


def _new_scratch(counters: Counters, values: int, subscriptions: int) -> OpScratch:
    widest = int((counters.stops - counters.starts).max(initial=0))
    most_bitmaps = int((counters.bitmap_stops - counters.bitmap_starts).max(initial=0))
    words = subscriptions // 64 + 1
    return OpScratch(
        np.empty(values, np.int32),
        np.empty(values, np.int64),
        np.empty(values, np.int64),
        np.empty(values, np.uint64),
        np.empty(values, np.uint64),
        np.empty(values, np.uint64),
        np.empty(OPERATORS * values + 1, np.int32),
        np.empty(OPERATORS * values + 1, np.uint64),
        np.empty(widest + 1, np.int32),
        np.empty(most_bitmaps + 1, np.uint64),
        np.empty(len(counters.owners) + len(counters.bitmap_owners) + 1, np.int32),
        np.zeros(words, np.uint64),
        np.zeros(words // 64 + 1, np.uint64),
        np.empty(BUCKETS, np.int32),
    )
