"""What follows from a threshold that changes? Statistics that lag behind in one direction alone.

A stored threshold that is too small only prunes less. So a rise is written where the subscription itself is, and a
fall to every statistic of its groups and its leaf at once.
"""

from __future__ import annotations

import numpy as np

from tocsin.index.window.kernels.layouts import ALPHA, THETA, Interests
from tocsin.kernels.jit import inlined, inner
from tocsin.papers.skype.skype.kernels.layouts import Leaves, Postings


@inner
def retune_postings(leaves: Leaves, postings: Postings, interests: Interests, slot: int) -> None:
    """Write a threshold into the postings of a subscription, and into what bounds them from below."""
    if slot >= len(leaves.place_starts) or leaves.place_counts[slot] == 0:
        return
    record = interests.records[slot]
    need = record[THETA] / (1.0 - record[ALPHA])
    start = leaves.place_starts[slot]
    for i in range(start, start + leaves.place_counts[slot]):
        at = np.int64(leaves.places[i])
        postings.needs[at] = need
        first = leaves.starts[leaves.groups[at]]
        while at >= first and postings.floors[at] > need:
            postings.floors[at] = need
            at -= 1
    leaf = leaves.leaf_of[slot]
    leaves.nearness[leaf] = min(leaves.nearness[leaf], nearness_of(record[THETA], record[ALPHA]))


@inlined
def nearness_of(theta: float, alpha: float) -> float:
    """What a place must be worth where the words are worth 1 (Lemma 6)."""
    return (theta - (1.0 - alpha)) / alpha if alpha > 0.0 else -np.inf
