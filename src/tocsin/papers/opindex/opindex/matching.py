"""Matches a batch against the lists of an OpIndex: allocates memory and calls the kernel."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.index.found import Found, collect
from tocsin.index.tables import new_table
from tocsin.kernels.answers.ordering import BUCKETS
from tocsin.kernels.programs.layouts import Bound
from tocsin.papers.opindex.opindex.kernels.events import OpQuestion, OpScratch, widest_event
from tocsin.papers.opindex.opindex.kernels.layouts import OPERATORS, Coding, Counters, OpLists
from tocsin.papers.opindex.opindex.kernels.matching import match_opindex
from tocsin.papers.opindex.opindex.prefixes import depths

BY_RANK: Final = Coding(*(frozen(np.empty(0), kind) for kind in (np.int32, np.int64, np.int32, np.int32)))
"""The coding of lists that never change."""


class Matching:
    """What matching needs in addition to the lists. Threads may share it, because each batch gets its own memory."""

    def __init__(
        self,
        compiled: CompiledExpressions,
        lists: OpLists,
        segments: int,
        signature_bits: int,
        coding: Coding = BY_RANK,
    ) -> None:
        self._compiled = compiled
        self._lists = lists
        self._depths = depths(lists.prefixes)
        self._segments, self._signature_bits = segments, signature_bits
        self._coding = coding

    def match(self, batch: EventBatch, bound: Bound, alive: NDArray[np.uint64]) -> Found:
        """All matches of a batch among live subscriptions."""
        values = widest_event(self._lists.fields, self._coding.order, self._depths, batch.arrays, bound.attributes)
        question = OpQuestion(
            lists=self._lists,
            segments=self._segments,
            bits=self._signature_bits,
            coding=self._coding,
            leaves=self._compiled.arrays,
            events=batch.arrays,
            bound=bound,
            alive=alive,
            scratch=self._new_scratch(values, len(alive)),
        )
        counts = np.zeros(2, np.int64)
        starts, found = collect(len(batch), lambda first, ends, out: match_opindex(question, first, ends, out, counts))
        return Found(starts, found, int(counts[0]), int(counts[1]))

    def _new_scratch(self, values: int, words: int) -> OpScratch:
        counted, clauses = self._lists.counted, self._lists.clauses
        return new_table(
            OpScratch,
            values=values,
            operators=OPERATORS,
            counters=_longest(counted),
            bitmaps=_longest(clauses),
            found=len(counted.owners) + len(clauses.owners),
            words=words,
            buckets=BUCKETS,
        )


def _longest(counters: Counters) -> int:
    """The length of the longest counter array of a pivot."""
    return int((counters.stops - counters.starts[: len(counters.stops)]).max(initial=0))
