"""Which subscriptions does each event satisfy? One loop over events for every structure that finds conjunctions.

`new_room` and `find` are one function for each structure, which registers its own by `overload`: which one is meant is
known when `match_conjunctions` is compiled. All else is theirs in common: the event's fields and codes, the owners of
what is found, their order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tocsin.index.fields.kernels.code_sets import scalar_values
from tocsin.index.fields.kernels.layouts import Fields
from tocsin.kernels.answers.ordering import BUCKETS, SPARE, put_in_order
from tocsin.kernels.jit import kernel
from tocsin.kernels.packing import borrowed
from tocsin.kernels.programs.layouts import Bound, Events


def new_room(structure: Any, fields: Fields, widest: int) -> Any:
    """What `find` needs of memory for events of at most `widest` values; it is left as it was."""
    raise NotImplementedError("for kernels")


def find(
    structure: Any,
    fields: Fields,
    own_fields: NDArray[np.int32],
    own_codes: NDArray[np.int32],
    payloads: NDArray[np.int64],
    count: int,
    room: Any,
    hits: NDArray[np.int32],
) -> tuple[int, int, int]:
    """Write the conjunctions that hold for an event of `count` values: how many, of how many examined, and verified."""
    raise NotImplementedError("for kernels")


@kernel
def match_conjunctions(
    structure: Any,
    fields: Fields,
    owners: NDArray[np.int32],
    events: Events,
    bound: Bound,
    alive: NDArray[np.uint64],
    widest: int,
    first: int,
    ends: NDArray[np.int64],
    out: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> tuple[int, int]:
    """Match events from `first` on. Returns like `match_all`; adds to `counts`: candidates examined, and verified.

    `owners` has the subscription of each conjunction; `widest` is `most_scalar_values` of the events.
    """
    structure, fields, owners, events, bound, alive, ends, out, counts = borrowed(
        (structure, fields, owners, events, bound, alive, ends, out, counts)
    )
    own_fields = np.empty(widest, np.int32)
    own_codes = np.empty(widest, np.int32)
    payloads = np.empty(widest, np.int64)
    room = new_room(structure, fields, widest)
    hits = np.empty(len(owners) + 1, np.int32)
    words = np.zeros(len(alive), np.uint64)
    summary = np.zeros(len(alive) // 64 + 1, np.uint64)
    buckets = np.empty(BUCKETS, np.int32)
    written = np.int64(0)
    for event in range(first, len(events.starts) - 1):
        count = scalar_values(fields, events, bound, event, own_fields, own_codes, payloads)
        found, examined, verified = find(structure, fields, own_fields, own_codes, payloads, count, room, hits)
        for i in range(found):
            hits[i] = owners[hits[i]]
        if written + found + SPARE > len(out):
            return (event, written) if event > first else (-1 - found - SPARE, np.int64(0))
        counts[0] += examined
        counts[1] += verified
        written += put_in_order(hits, found, alive, words, summary, buckets, out, written)
        ends[event] = written
    return len(events.starts) - 1, written
