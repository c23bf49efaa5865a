"""The loop over events of every structure that finds subscriptions by boxes.

Two things are chosen when the loop is compiled. By the layout of a family's tables: how an event is read, and which
places are looked at. By the layout of a structure: `find`, what it has at a place. Each registers its own beside its
layout. The order of what is found is the same for all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tocsin.index.filtering.kernels.layouts import Coming
from tocsin.kernels.answers.ordering import SPARE, keep_living, put_in_order
from tocsin.kernels.jit import inlined, kernel
from tocsin.kernels.packing import choose, viewed

NOT_IN_ORDER: Final = -1
"""What `find_in_order` says where it does not write what is found in its order."""


def find(structure: Any, table: Any, place: int, asked: Any, seen: Any, found: int) -> int:
    """Write to `seen.hits` from `found` on the subscriptions of a place that an event meets, each once; where they end.

    `table` is what the family has of subscriptions. No subscription is at two places.
    """
    raise NotImplementedError("for kernels")


def read_event(tables: Any, coming: Coming, event: int, seen: Any) -> int:
    """Write to `seen` what an event has, and return how much; `forget_event` clears it."""
    raise NotImplementedError("for kernels")


def forget_event(tables: Any, seen: Any, count: int) -> None:
    """Make `seen` ready for the next event."""
    raise NotImplementedError("for kernels")


def find_everywhere(tables: Any, structure: Any, seen: Any, count: int) -> int:
    """Write to `seen.hits` what is found at all places of an event, each once, and return how many.

    Adds to `seen.examined` how many were compared.
    """
    raise NotImplementedError("for kernels")


def find_in_order(tables: Any, structure: Any, seen: Any, count: int, out: NDArray[np.int32], at: int) -> int:
    """Write to out[at:] what is found, ascending, and return how many; adds to `seen.examined`.

    NOT_IN_ORDER where it cannot; less than that, `NOT_IN_ORDER - room`, where it needs so much room.
    """
    raise NotImplementedError("for kernels")


@inlined
def never_in_order(tables: Any, structure: Any, seen: Any, count: int, out: NDArray[np.int32], at: int) -> int:
    """`find_in_order` of a family whose structures find in no order."""
    return np.int64(NOT_IN_ORDER)


def register(layout: type, found: Callable[..., int]) -> None:
    """Let a structure be matched: a kernel that does what `find` says for its layout."""
    choose(find, layout, found)


def register_tables(
    layout: type,
    read: Callable[..., int],
    forget: Callable[..., None],
    everywhere: Callable[..., int],
    in_order: Callable[..., int] = never_in_order,
) -> None:
    """Let structures over a family's tables be matched: kernels that do what the functions above say."""
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
    """Match events from `first` on. Returns like `match_all`; adds to `counts` how many were compared."""
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
