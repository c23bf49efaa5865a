"""`Similar` by counting with weights: finds subscriptions with enough of their tokens' weight in a message.

Source: Yan and Garcia-Molina 1994, counting with weights; Yu et al. 2015, section 6.2, equation 5.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tocsin.index.spatial_text.kernels.layouts import Message, Seen
from tocsin.index.spatial_text.kernels.resembling import Everyone, Similarity, find_everyone, register_alike
from tocsin.jit.decorators import inlined, inner
from tocsin.papers.location_aware.keyword_first.kernels.counting import Inverted


class WeighedLists(NamedTuple):
    """Subscriptions by token, and all subscriptions."""

    inverted: Inverted
    everyone: Everyone


@inner
def find_by_weight(
    structure: WeighedLists,
    asked: Similarity,
    place: int,
    message: Message,
    seen: Seen,
    found: int,
) -> int:
    """`find_alike`: subscriptions with enough weight if they touch the message; all, if touching alone may suffice."""
    if asked.near <= 0.0:
        return find_everyone(structure.everyone, asked, place, message, seen, found)
    inverted = structure.inverted
    first_list = np.int64(place) * inverted.tokens[0]
    found = np.int64(found)
    for i in range(message.tokens):
        token = np.int64(seen.tokens[i])
        number = first_list + token
        for k in range(inverted.starts[number], inverted.starts[number + 1]):
            found = _add(np.int64(inverted.entries[k]), asked, token, message, seen, found)
    return found


@inlined
def _add(one: int, asked: Similarity, token: int, message: Message, seen: Seen, found: int) -> int:
    """Add a token's weight to a subscription's sum. When the sum first suffices, write it to `seen.hits`."""
    before = seen.sums[one] if seen.stamps[one] == message.stamp else 0.0
    after, enough = before + asked.weighed.weights[token], asked.near * asked.weighed.totals[one]
    seen.stamps[one], seen.sums[one] = message.stamp, after
    seen.hits[found] = one
    return np.int64(found + (before < enough <= after))


register_alike(WeighedLists, find_by_weight)
