"""Computes the weights of postings, and the sums and maxima of those after them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.index.window.kernels.layouts import ALPHA, NORM, THETA, Interests, X, Y
from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.jit.views import viewed
from tocsin.papers.skype.skype.kernels.layouts import Leaves, Postings


@kernel
def weigh_postings(
    leaves: Leaves,
    interests: Interests,
    squares: NDArray[np.float64],
    slots: NDArray[np.int32],
    starts: NDArray[np.int64],
    words: NDArray[np.int32],
    diagonal: float,
    postings: Postings,
) -> None:
    """Write the weights of the postings, subscription by subscription. Sorts the `words` of each by rank."""
    held, all_, out = viewed(leaves), viewed(interests), viewed(postings)
    for i in range(len(slots)):
        slot = np.int64(slots[i])
        _sort_by_rank(held.ranks, words, starts[i], starts[i + 1])
        record, leaf = all_.records[slot], held.leaf_of[slot]
        alpha, norm, box = record[ALPHA], record[NORM], held.boxes[leaf]
        inner = min(record[X] - box[0], box[2] - record[X], record[Y] - box[1], box[3] - record[Y]) / diagonal
        rest, most = 0.0, 0.0
        for at in range(starts[i + 1] - 1, starts[i] - 1, -1):
            weight = np.sqrt(squares[words[at]]) / norm
            out.owners[at], out.inners[at] = np.int32(slot), max(inner, 0.0)
            out.shares[at], out.needs[at] = alpha / (1.0 - alpha), record[THETA] / (1.0 - alpha)
            out.weights[at], out.rest_sums[at], out.rest_maxima[at] = weight, rest, most
            rest, most = rest + weight, max(most, weight)
            out.sums[at], out.maxima[at] = rest, most
        held.nearness[leaf] = min(held.nearness[leaf], nearness_of(record[THETA], alpha))


@inlined
def _sort_by_rank(ranks: NDArray[np.int32], words: NDArray[np.int32], first: int, stop: int) -> None:
    for at in range(first + 1, stop):
        word = words[at]
        place = at
        while place > first and ranks[word] < ranks[words[place - 1]]:
            words[place] = words[place - 1]
            place -= 1
        words[place] = word


@kernel
def bound_groups(leaves: Leaves, postings: Postings) -> None:
    """Write bounds on the rest of its group for each posting, and the postings of each slot."""
    held, out = viewed(leaves), viewed(postings)
    for group in range(len(held.starts) - 1):
        least, share, most = np.inf, 0.0, 0.0
        for at in range(held.starts[group + 1] - 1, held.starts[group] - 1, -1):
            least, share = min(least, out.needs[at]), max(share, out.shares[at])
            most = max(most, out.maxima[at])
            out.floors[at], out.most_shares[at], out.most_maxima[at] = least, share, most
            slot = np.int64(out.owners[at])
            held.places[held.place_starts[slot] + held.place_counts[slot]] = np.int32(at)
            held.place_counts[slot] += 1
            held.groups[at] = np.int32(group)


@inner
def retune_postings(leaves: Leaves, postings: Postings, interests: Interests, slot: int) -> None:
    """Write a changed threshold into the postings of a subscription, and into the lower bounds over it."""
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
    """The least worth of a place with which a message can reach, if the words are worth 1 (Lemma 6)."""
    return (theta - (1.0 - alpha)) / alpha if alpha > 0.0 else -np.inf
