"""Which subscriptions does each message satisfy? One loop over messages for every structure.

`find` is one function for every structure: each registers its own beside its layout. What a message has, and the order
of what is found, are theirs in common.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tocsin.index.narrowing.kernels import Coming
from tocsin.index.spatial_text.kernels.layouts import LEFT, LOWER, RIGHT, UPPER, Keywords, Message, Regions, Seen
from tocsin.index.spatial_text.kernels.reading import forget_message, has_token, message_at, read_message
from tocsin.kernels.answers.ordering import SPARE, put_in_order
from tocsin.kernels.choosing import choose
from tocsin.kernels.jit import inlined, kernel
from tocsin.kernels.packing import viewed


def find(structure: Any, regions: Regions, place: int, message: Message, seen: Seen, found: int) -> int:
    """Write to `seen.hits` from `found` on the subscriptions of a place that a message satisfies, each once.

    Returns where they end. Adds to `seen.examined` how many were compared.
    """
    raise NotImplementedError("for kernels")


def register(layout: type, found: Callable[..., int]) -> None:
    """Let a structure be matched: a kernel that does what `find` says for its layout."""
    choose(find, layout, found)


@kernel
def match_messages(
    structure: Any,
    keywords: Keywords,
    regions: Regions,
    coming: Coming,
    memory: Seen,
    first: int,
    ends: NDArray[np.int64],
    out: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> tuple[int, int]:
    """Match events from `first` on. Returns like `match_all`; adds to `counts` how many were compared."""
    held, words, grid = viewed(structure), viewed(keywords), viewed(regions)
    given, seen = viewed(coming), viewed(memory)
    alive, hits = given.alive, seen.hits
    total = len(given.events.starts) - 1
    written = np.int64(0)
    for event in range(first, total):
        tokens = read_message(words, grid, given, event, seen)
        found = np.int64(0)
        seen.examined[0] = 0
        if tokens > 0:
            for place in range(len(seen.has)):
                if seen.has[place]:
                    found = find(held, grid, np.int64(place), message_at(seen, np.int64(place), tokens), seen, found)
        forget_message(seen, tokens)
        if written + found + SPARE > len(out):
            return (event, written) if event > first else (-1 - found - SPARE, np.int64(0))
        counts[0] += seen.examined[0]
        written += put_in_order(hits, found, alive, seen.words, seen.summary, seen.buckets, out, written)
        ends[event] = written
    return total, written


@inlined
def meets_region(regions: Regions, one: int, message: Message) -> bool:
    """Whether a subscription's region and a message's share a point."""
    boxes = regions.boxes
    return (
        (boxes[one, LEFT] <= message.right)
        & (message.left <= boxes[one, RIGHT])
        & (boxes[one, LOWER] <= message.upper)
        & (message.lower <= boxes[one, UPPER])
    )


@inlined
def has_all_tokens(regions: Regions, one: int, seen: Seen) -> bool:
    """Whether a message has all that a subscription asks for."""
    for i in range(regions.token_starts[one], regions.token_starts[one + 1]):
        if not has_token(seen, regions.tokens[i]):
            return False
    return True
