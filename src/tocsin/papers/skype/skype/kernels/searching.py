"""Skype's search: leaf by leaf, word by word, group by group.

Paper: Wang et al. 2016, Algorithm 1. Departs: the bound of unseen keywords (Theorem 5.2) is tested only at the first
common word, because later the sum may lack words of a skipped group. Remaining candidates are scored by their records.
"""

from __future__ import annotations

import numpy as np

from tocsin.index.window.kernels.disseminating import reach_all
from tocsin.index.window.kernels.layouts import EXAMINED, THETA, State
from tocsin.index.window.kernels.scoring import score_of, shared_with
from tocsin.jit.decorators import inlined, inner
from tocsin.papers.skype.skype.kernels.building import retune_postings
from tocsin.papers.skype.skype.kernels.layouts import NO_RANK, OUT, SLACK, Leaves, Postings, Scratch, Skype


@inlined
def search_tree(structure: Skype, state: State, x: float, y: float, norm: float, count: int) -> int:
    """`disseminate` over the tree and the late subscriptions."""
    words = order_words(structure.leaves, structure.scratch, state, norm, count)
    met = np.int64(0)
    for leaf in range(len(structure.leaves.nearness)):
        met = _search_leaf(structure, state, np.int64(leaf), words, x, y, met)
    found = _verify(state, met, x, y, norm)
    return reach_all(structure.late, state, x, y, norm, count, found)


@inlined
def retune_tree(structure: Skype, state: State, slot: int) -> None:
    """`retune` for the tree; late subscriptions have no statistics."""
    retune_postings(structure.leaves, structure.postings, state.interests, slot)


@inner
def order_words(leaves: Leaves, scratch: Scratch, state: State, norm: float, count: int) -> int:
    """Write a message's words that have lists, rarest first, with sums and maxima from each on; returns the count."""
    order, ranks, all_words = scratch.order, leaves.ranks, state.words
    words = np.int64(0)
    for i in range(count):
        word = state.work.words[i]
        rank = ranks[word]
        if rank == NO_RANK:
            continue
        place = words
        while place > 0 and ranks[order[place - 1]] > rank:
            order[place] = order[place - 1]
            place -= 1
        order[place] = word
        words += 1
    scratch.sums[words], scratch.maxima[words] = 0.0, 0.0
    for i in range(words - 1, -1, -1):
        weight = all_words.present[order[i]] / np.sqrt(all_words.squares[order[i]]) / norm
        scratch.weights[i] = weight
        scratch.sums[i], scratch.maxima[i] = scratch.sums[i + 1] + weight, max(scratch.maxima[i + 1], weight)
    return words


@inner
def _search_leaf(structure: Skype, state: State, leaf: int, words: int, x: float, y: float, met: int) -> int:
    """Write the subscriptions met in a leaf, after `met` others; returns how many now."""
    leaves, switches = structure.leaves, structure.switches
    box = leaves.boxes[leaf]
    dx, dy = max(box[0] - x, x - box[2], 0.0), max(box[1] - y, y - box[3], 0.0)
    outer = np.sqrt(dx * dx + dy * dy) / state.rules.diagonal
    if switches.cell and 1.0 - outer < leaves.nearness[leaf] - SLACK:
        return met
    for i in range(words):
        rank = leaves.ranks[structure.scratch.order[i]]
        low, high = leaves.list_starts[leaf], leaves.list_starts[leaf + 1]
        stop = high
        while low < high:
            middle = (low + high) >> 1
            if leaves.list_ranks[middle] < rank:
                low = middle + 1
            else:
                high = middle
        if low == stop or leaves.list_ranks[low] != rank:
            continue
        for group in range(leaves.group_starts[low], leaves.group_starts[low + 1]):
            met = _search_group(structure, state, np.int64(group), np.int64(i), outer, met)
    return met


@inlined
def _search_group(structure: Skype, state: State, group: int, i: int, outer: float, met: int) -> int:
    """Write the subscriptions met in a group, after `met` others; returns how many now."""
    switches, postings, scratch = structure.switches, structure.postings, structure.scratch
    first, stop = structure.leaves.starts[group], structure.leaves.starts[group + 1]
    worth, sums = 1.0 - outer, scratch.sums[i]
    if switches.group and is_beyond(postings, first, worth, sums):
        return met
    if switches.early:
        stop = _first_beyond(postings, first, stop, worth, sums)
    shares, hits = state.work.shares, state.work.hits
    maximum = scratch.maxima[i] if switches.prefix > 1 else 1.0
    for at in range(first, stop):
        slot = np.int64(postings.owners[at])
        if shares[slot] != 0.0:
            continue
        share = postings.shares[at]
        near = worth - postings.inners[at] if switches.bounds and outer > 0.0 else worth
        needed = postings.needs[at] - share * near - SLACK * (1.0 + share)
        if switches.prefix and is_behind_prefix(postings, at, maximum, needed):
            continue
        hits[met] = np.int32(slot)
        met += 1
        shares[slot] = 1.0
        if switches.unseen:
            first_common = postings.weights[at] * scratch.weights[i]
            unseen = min(postings.rest_sums[at] * scratch.maxima[i + 1], postings.rest_maxima[at] * scratch.sums[i + 1])
            if first_common + unseen < needed:
                shares[slot] = OUT
    return met


@inlined
def is_beyond(postings: Postings, at: int, worth: float, sums: float) -> bool:
    """Whether no subscription from a place of a group on is reached (Theorems 5.3, at its beginning, and 5.4)."""
    share = postings.most_shares[at]
    return postings.floors[at] - share * worth - SLACK * (1.0 + share) > sums * postings.most_maxima[at]


@inlined
def _first_beyond(postings: Postings, first: int, stop: int, worth: float, sums: float) -> int:
    """The place from which on no subscription of a group is reached. Bisection works: both sides are monotone."""
    low, high = first, stop
    while low < high:
        middle = (low + high) >> 1
        if is_beyond(postings, middle, worth, sums):
            high = middle
        else:
            low = middle + 1
    return low


@inlined
def is_behind_prefix(postings: Postings, at: int, maximum: float, needed: float) -> bool:
    """Whether this word and all after it are worth less than needed (Definition 5)."""
    return postings.sums[at] * maximum < needed


@inlined
def _verify(state: State, met: int, x: float, y: float, norm: float) -> int:
    """Keep the candidates whose threshold is reached, and clear the marks of all that were met; returns how many."""
    work, records, shares = state.work, state.interests.records, state.work.shares
    kept = np.int64(0)
    for i in range(met):
        slot = np.int64(work.hits[i])
        is_candidate = shares[slot] > 0.0
        shares[slot] = 0.0
        if is_candidate:
            work.counts[EXAMINED] += 1
            score = score_of(records[slot], x, y, norm, shared_with(state, slot), state.rules.diagonal)
            if score >= records[slot, THETA]:
                work.hits[kept], work.hit_scores[kept] = np.int32(slot), score
                kept += 1
    return kept
