"""How is a batch matched with a structure that finds conjunctions? Memory for a call, and the kernel they share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.index.fields.kernels.code_sets import most_scalar_values
from tocsin.index.fields.kernels.layouts import Fields
from tocsin.index.found import Found, collect
from tocsin.kernels.answers.ordering import BUCKETS
from tocsin.kernels.programs.layouts import Bound
from tocsin.papers.opindex.conjunctions.kernels import Question, Scratch, Values, match_conjunctions


@dataclass(frozen=True, slots=True)
class FindsConjunctions:
    """A structure that has a `find` in `kernels`, and what it finds. C conjunctions."""

    structure: Any
    new_room: Callable[[int], Any]  # its own memory, for events of so many values
    fields: Fields
    owners: NDArray[np.int32]  # (C,) the subscription

    def match(self, batch: EventBatch, bound: Bound, alive: NDArray[np.uint64]) -> Found:
        """All matches of a batch among the subscriptions that are alive."""
        widest = most_scalar_values(self.fields, batch.arrays, bound.attributes)
        scratch = self._new_scratch(widest, len(alive))
        about = (self.structure, self.new_room(widest), self.fields, self.owners)
        question = Question(*about, alive, batch.arrays, bound, scratch)
        counts = np.zeros(2, np.int64)
        starts, found = collect(
            len(batch), lambda first, ends, out: match_conjunctions(question, first, ends, out, counts)
        )
        return Found(starts, found, int(counts[0]), int(counts[1]))

    def _new_scratch(self, widest: int, words: int) -> Scratch:
        return Scratch(
            Values(np.empty(widest, np.int32), np.empty(widest, np.int32), np.empty(widest, np.int64)),
            np.empty(len(self.owners) + 1, np.int32),
            np.zeros(words, np.uint64),
            np.zeros(words // 64 + 1, np.uint64),
            np.empty(BUCKETS, np.int32),
        )
