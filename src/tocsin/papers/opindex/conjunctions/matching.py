"""Matches a batch against a structure of conjunctions: allocates memory and calls the shared kernel."""

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
from tocsin.index.tables import new_table
from tocsin.kernels.answers.ordering import BUCKETS
from tocsin.kernels.programs.layouts import Bound
from tocsin.papers.opindex.conjunctions.kernels import Question, Scratch, match_conjunctions


@dataclass(frozen=True, slots=True)
class FindsConjunctions:
    """A structure with a `find` in `kernels`, and the owners of its conjunctions. C conjunctions."""

    structure: Any
    new_room: Callable[[int], Any]  # makes its own memory for events with at most this many values
    fields: Fields
    owners: NDArray[np.int32]  # (C,) the subscription

    def match(self, batch: EventBatch, bound: Bound, alive: NDArray[np.uint64]) -> Found:
        """All matches of a batch among live subscriptions."""
        widest = most_scalar_values(self.fields, batch.arrays, bound.attributes)
        lengths = {"values": widest, "conjunctions": len(self.owners), "words": len(alive), "buckets": BUCKETS}
        about = (self.structure, self.new_room(widest), self.fields, self.owners)
        question = Question(*about, alive, batch.arrays, bound, new_table(Scratch, **lengths))
        counts = np.zeros(2, np.int64)
        starts, found = collect(
            len(batch), lambda first, ends, out: match_conjunctions(question, first, ends, out, counts)
        )
        return Found(starts, found, int(counts[0]), int(counts[1]))
