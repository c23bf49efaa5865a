"""The loop over events of every structure that finds subscriptions by boxes.

Two things are resolved when the loop is compiled. The layout of a family's tables gives how an event is read and which
places are searched. The layout of a structure gives `find`, the search of one place. Each registers its own beside its
layout. The order of matches is the same for all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tocsin.index.filtering.kernels.layouts import Coming
from tocsin.jit.decorators import inlined, kernel
from tocsin.jit.views import choose, viewed
from tocsin.kernels.answers.ordering import SPARE, keep_living, put_in_order

NOT_IN_ORDER: Final = -1
"""The result of `find_in_order` if it cannot write matches in order."""


def find(structure: Any, table: Any, place: int, asked: Any, seen: Any, found: int) -> int:
    """Write the subscriptions of a place that an event meets to `seen.hits` from `found` on; returns the end.

    Each is written once. `table` is the family's table of subscriptions. No subscription is at two places.
    """
    raise NotImplementedError("for kernels")


def read_event(tables: Any, coming: Coming, event: int, seen: Any) -> int:
    """Write an event's values to `seen`, and return their number; `forget_event` clears them."""
    raise NotImplementedError("for kernels")


def forget_event(tables: Any, seen: Any, count: int) -> None:
    """Clear `seen` for the next event."""
    raise NotImplementedError("for kernels")


def find_everywhere(tables: Any, structure: Any, seen: Any, count: int) -> int:
    """Write the subscriptions found at all places of an event to `seen.hits`, each once; returns how many.

    Adds the number of subscriptions compared to `seen.examined`.
    """
    raise NotImplementedError("for kernels")


def find_in_order(tables: Any, structure: Any, seen: Any, count: int, out: NDArray[np.int32], at: int) -> int:
    """Write matches to out[at:], ascending; returns how many, and adds to `seen.examined`.

    Returns NOT_IN_ORDER if it cannot, or `NOT_IN_ORDER - room` if it needs that much room.
    """
    raise NotImplementedError("for kernels")


@inlined
def never_in_order(tables: Any, structure: Any, seen: Any, count: int, out: NDArray[np.int32], at: int) -> int:
    """`find_in_order` for families whose structures do not find matches in order."""
    return np.int64(NOT_IN_ORDER)


def register(layout: type, found: Callable[..., int]) -> None:
    """Register a structure's kernel, which implements `find` for its layout."""
    choose(find, layout, found)


def register_tables(
    layout: type,
    read: Callable[..., int],
    forget: Callable[..., None],
    everywhere: Callable[..., int],
    in_order: Callable[..., int] = never_in_order,
) -> None:
    """Register the kernels of a family's tables, which implement the functions above."""
    choose(read_event, layout, read)
    choose(forget_event, layout, forget)
    choose(find_everywhere, layout, everywhere)
    choose(find_in_order, layout, in_order)


@kernel
def match_events(
    structure: Any,
    tables: Any,
    coming: Coming,
    memory: Any,
    first: int,
    ends: NDArray[np.int64],
    out: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> tuple[int, int]:
    """Match events from `first` on. Returns like `match_all`; adds the number of subscriptions compared to `counts`."""
    finds, own, given, seen = viewed(structure), viewed(tables), viewed(coming), viewed(memory)
    alive, total = given.alive, len(given.events.starts) - 1
    written = np.int64(0)
    for event in range(first, total):
        count = read_event(own, given, event, seen)
        seen.clock[0] += 1
        seen.examined[0] = 0
        found, needed = np.int64(0), np.int64(0)
        number = np.int64(find_in_order(own, finds, seen, count, out, written))
        if number == NOT_IN_ORDER:
            found = np.int64(find_everywhere(own, finds, seen, count))
            needed = found + SPARE if written + found + SPARE > len(out) else np.int64(0)
        elif number < NOT_IN_ORDER:
            needed = NOT_IN_ORDER - number
        forget_event(own, seen, count)
        if needed > 0:
            return (event, written) if event > first else (-1 - needed, np.int64(0))
        counts[0] += seen.examined[0]
        if number == NOT_IN_ORDER:
            number = np.int64(
                put_in_order(seen.hits, found, alive, seen.words, seen.summary, seen.buckets, out, written)
            )
        elif given.is_anyone_gone:
            number = np.int64(keep_living(alive, out, np.uint64(written), np.uint64(written + number)))
        written += number
        ends[event] = written
    return total, written
