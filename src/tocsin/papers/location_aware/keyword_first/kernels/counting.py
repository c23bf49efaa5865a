"""The counting method: finds subscriptions with all of their tokens in a message, then compares regions.

Source: Yan and Garcia-Molina 1994, the counting method; Yu et al. 2015, section 2.3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.filtering.kernels.layouts import meets
from tocsin.index.filtering.kernels.matching import register
from tocsin.index.spatial_text.kernels.layouts import Message, Regions, Seen
from tocsin.jit.decorators import inlined, inner


class Inverted(NamedTuple):
    """Subscriptions by token. L lists, T entries."""

    tokens: NDArray[np.int64]  # (1,) tokens per place; list p * tokens[0] + t is token t's at place p
    starts: NDArray[np.int64]  # (L + 1,) entries [starts[l], starts[l + 1])
    entries: NDArray[np.int32]  # (T,) subscriptions


@inner
def find_by_keywords(inverted: Inverted, regions: Regions, place: int, message: Message, seen: Seen, found: int) -> int:
    """`find`: compares each subscription found in as many of the message's lists as it has tokens."""
    first_list = np.int64(place) * inverted.tokens[0]
    entries, stamps, counts, starts = inverted.entries, seen.stamps, seen.counts, regions.token_starts
    found = np.int64(found)
    for i in range(message.tokens):
        number = first_list + np.int64(seen.tokens[i])
        for k in range(inverted.starts[number], inverted.starts[number + 1]):
            one = np.int64(entries[k])
            count = np.int64(counts[one]) + 1 if stamps[one] == message.stamp else np.int64(1)
            stamps[one], counts[one] = message.stamp, count
            if count == starts[one + 1] - starts[one]:
                found = _compare(regions, one, message, seen, found)
    return found


@inlined
def _compare(regions: Regions, one: int, message: Message, seen: Seen, found: int) -> int:
    """Write a subscription to `seen.hits` if its region meets the message."""
    seen.examined[0] += 1
    seen.hits[found] = one
    return np.int64(found + meets(regions.boxes, one, message))


register(Inverted, find_by_keywords)
