"""Which subscriptions does each event satisfy? One loop over events for every structure that finds conjunctions.

`new_room` and `find` are one function for each structure: which one is meant is known when `match_conjunctions` is
compiled. All else is theirs in common: the event's fields and codes, the owners of what is found, their order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from tocsin.kernels.access_layouts import Fields
from tocsin.kernels.be_tree import HeldTree, find_in_tree, room_for_tree
from tocsin.kernels.code_sets import scalar_values
from tocsin.kernels.jit import kernel
from tocsin.kernels.k_index import HeldLists, find_in_lists, room_for_lists
from tocsin.kernels.layouts import Bound, Events
from tocsin.kernels.ordering import BUCKETS, SPARE, put_in_order
from tocsin.kernels.packing import borrowed


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


@overload(new_room, inline="always", strict=False)
def _new_room(structure: Any, fields: Any, widest: Any) -> Any:
    if _is(structure, HeldLists):
        return lambda structure, fields, widest: room_for_lists(structure, fields, widest)
    if _is(structure, HeldTree):
        return lambda structure, fields, widest: room_for_tree(structure, fields, widest)
    return None


@overload(find, inline="always", strict=False)
def _find(
    structure: Any, fields: Any, own_fields: Any, own_codes: Any, payloads: Any, count: Any, room: Any, hits: Any
) -> Any:
    if _is(structure, HeldLists):
        return lambda structure, fields, own_fields, own_codes, payloads, count, room, hits: find_in_lists(
            structure, fields, own_fields, own_codes, payloads, count, room, hits
        )
    if _is(structure, HeldTree):
        return lambda structure, fields, own_fields, own_codes, payloads, count, room, hits: find_in_tree(
            structure, own_fields, own_codes, count, room, hits
        )
    return None


def _is(structure: Any, layout: type) -> bool:
    return isinstance(structure, types.BaseTuple) and getattr(structure, "instance_class", None) is layout


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
