"""The loop over events that all structures of conjunctions share.

`find` is specialised by each structure through `choose`, when `match_conjunctions` is compiled. The structures share
the rest: reading the event's fields and codes, mapping conjunctions to their owners, and sorting these.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.fields.kernels.code_sets import scalar_values
from tocsin.index.fields.kernels.layouts import Fields
from tocsin.jit.decorators import kernel
from tocsin.jit.views import viewed
from tocsin.kernels.answers.ordering import SPARE, put_in_order
from tocsin.kernels.programs.layouts import Bound, Events


class Values(NamedTuple):
    """Room for an event's scalar values."""

    fields: Annotated[NDArray[np.int32], "values"]  # distinct
    codes: Annotated[NDArray[np.int32], "values"]
    payloads: Annotated[NDArray[np.int64], "values"]


class Scratch(NamedTuple):
    """Memory for one call."""

    values: Values
    hits: Annotated[NDArray[np.int32], "conjunctions + 1"]  # conjunctions found for an event
    words: Annotated[NDArray[np.uint64], "words"]  # 0 between events
    summary: Annotated[NDArray[np.uint64], "words // 64 + 1"]  # 0 between events
    buckets: Annotated[NDArray[np.int32], "buckets"]


class Question(NamedTuple):
    """Events, and the conjunctions to match them with. C conjunctions, S subscriptions."""

    structure: Any  # the structure that `find` searches
    room: Any  # its own memory, which every event leaves unchanged
    fields: Fields
    owners: NDArray[np.int32]  # (C,) the subscription
    alive: NDArray[np.uint64]  # (S / 64 + 1,)
    events: Events
    bound: Bound
    scratch: Scratch


def find(
    structure: Any, fields: Fields, values: Values, count: int, room: Any, hits: NDArray[np.int32]
) -> tuple[int, int, int]:
    """Write the conjunctions that hold for an event of `count` values: how many, of how many examined, and verified."""
    raise NotImplementedError("for kernels")


@kernel
def match_conjunctions(
    question: Question, first: int, ends: NDArray[np.int64], out: NDArray[np.int32], counts: NDArray[np.int64]
) -> tuple[int, int]:
    """Match events from `first` on. Returns like `match_all`; adds to `counts`: candidates examined, and verified."""
    asked = viewed(question)
    structure, room, fields, owners = asked.structure, asked.room, asked.fields, asked.owners
    events, bound, scratch = asked.events, asked.bound, asked.scratch
    values, hits = scratch.values, scratch.hits
    written = np.int64(0)
    for event in range(first, len(events.starts) - 1):
        count = scalar_values(fields, events, bound, event, values.fields, values.codes, values.payloads)
        found, examined, verified = find(structure, fields, values, count, room, hits)
        for i in range(found):
            hits[i] = owners[hits[i]]
        if written + found + SPARE > len(out):
            return (event, written) if event > first else (-1 - found - SPARE, np.int64(0))
        counts[0] += examined
        counts[1] += verified
        written += put_in_order(hits, found, asked.alive, scratch.words, scratch.summary, scratch.buckets, out, written)
        ends[event] = written
    return len(events.starts) - 1, written
