"""Search of blocks: first the headers, then the bytes of 64 postings at once, then records.

Each test passes whatever the next one would (`layouts`). There are no branches except between blocks.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.index.window.blocks.kernels.layouts import (
    ACROSS,
    BLOCK,
    HELD,
    LEAST_NEED,
    LEAST_SHARE,
    LEFT,
    LOWER,
    MOST_REST,
    MOST_WEIGHT,
    NEED,
    NO_RANK,
    REST,
    RIGHT,
    SHARE,
    SIGNATURES,
    SLACK,
    STEPS,
    UP,
    UPPER,
    WEIGHT,
    Blocks,
    BlocksAndLate,
    Scratch,
)
from tocsin.index.window.blocks.kernels.tuning import retune_blocks
from tocsin.index.window.kernels.disseminating import reach_all, register
from tocsin.index.window.kernels.layouts import EXAMINED, FIRST_WORD, THETA, WITHIN, Interests, State, Words
from tocsin.index.window.kernels.scoring import score_of, shared_with
from tocsin.jit.decorators import inlined, inner
from tocsin.jit.intrinsics import prefetch

_SLACK = np.float32(SLACK)
_NONE = np.float32(0.0)
_HALF = np.float32(0.5)
AT_ONCE = 2048
"""Candidates are collected up to about this many before their records are read."""


@inlined
def _disseminate(structure: BlocksAndLate, state: State, x: float, y: float, norm: float, count: int) -> int:
    found = reach_by_blocks(structure.blocks, structure.scratch, state, x, y, norm, count)
    return reach_all(structure.late, state, x, y, norm, count, found)


@inlined
def _retune(structure: BlocksAndLate, state: State, slot: int) -> None:
    retune_blocks(structure.blocks, state.interests, slot)


@inner
def reach_by_blocks(blocks: Blocks, scratch: Scratch, state: State, x: float, y: float, norm: float, count: int) -> int:
    """Write the slots in blocks that a message reaches, from the start of `work.hits`; returns how many."""
    diagonal = state.rules.diagonal
    across, up = np.float32((x - blocks.origin[0]) / diagonal), np.float32((y - blocks.origin[1]) / diagonal)
    words = order_words(blocks, scratch, state, norm, count)
    chosen = np.int64(0)
    for i in range(words):
        chosen = _choose_blocks(blocks, scratch, state.words, np.int64(i), across, up, norm, chosen)
    found, waiting = np.int64(0), np.int64(0)
    for i in range(chosen):
        waiting = _choose_postings(blocks, scratch, state.words, np.int64(i), across, up, norm, waiting)
        if waiting > AT_ONCE - BLOCK or i == chosen - 1:
            found = _verify(blocks, scratch, state, x, y, norm, waiting, found)
            waiting = np.int64(0)
    return found


@inlined
def order_words(blocks: Blocks, scratch: Scratch, state: State, norm: float, count: int) -> int:
    """Write the words of a message that have blocks, most frequent first, and the rest after each; returns how many."""
    order, ranks, all_words = scratch.order, blocks.ranks, state.words
    words = np.int64(0)
    for i in range(count):
        word = state.work.words[i]
        rank = ranks[word]
        if rank == NO_RANK:
            continue
        place = words
        while place > 0 and ranks[order[place - 1]] < rank:
            order[place] = order[place - 1]
            place -= 1
        order[place] = word
        words += 1
    after = 0.0
    for i in range(words):
        present = all_words.present[order[i]]
        scratch.rests[i], scratch.gains[i] = np.float32(np.sqrt(after) / norm), np.float32(present / norm)
        after += present * (present / all_words.squares[order[i]])
    return words


@inlined
def _choose_blocks(
    blocks: Blocks, scratch: Scratch, words: Words, i: int, x: float, y: float, norm: float, chosen: int
) -> int:
    """Append the blocks of a word whose headers pass; returns the new number."""
    word = np.int64(scratch.order[i])
    weight, rest = np.float32(words.present[word] / np.sqrt(words.squares[word]) / norm), scratch.rests[i]
    first, stop = blocks.firsts[word], blocks.stops[word]
    headers, margins = blocks.headers, scratch.margins
    left, right = headers[LEFT, first:stop], headers[RIGHT, first:stop]
    lower, upper = headers[LOWER, first:stop], headers[UPPER, first:stop]
    need, share = headers[LEAST_NEED, first:stop], headers[LEAST_SHARE, first:stop]
    most_weight, most_rest = headers[MOST_WEIGHT, first:stop], headers[MOST_REST, first:stop]
    for b in range(np.uint64(stop - first)):
        dx, dy = left[b] - x, lower[b] - y
        dx = dx if dx > x - right[b] else x - right[b]
        dy = dy if dy > y - upper[b] else y - upper[b]
        dx = dx if dx > _NONE else _NONE
        dy = dy if dy > _NONE else _NONE
        gain = weight * most_weight[b] + rest * most_rest[b] + _SLACK
        margins[b] = gain - need[b] - share[b] * np.sqrt(dx * dx + dy * dy)
    at = chosen
    for b in range(stop - first):
        scratch.chosen[at], scratch.under[at] = np.int32(first + b), np.int32(i)
        at += np.int64(margins[b] >= _NONE)
    for b in range(chosen, at):
        place = np.int64(scratch.chosen[b]) * 512
        for line in range(8):
            prefetch(blocks.codes, place + 64 * line)
        for line in range(4):
            prefetch(blocks.owners, np.int64(scratch.chosen[b]) * BLOCK + 16 * line)
        prefetch(blocks.scales, np.int64(scratch.chosen[b]) * 16)
    return at


@inlined
def _choose_postings(
    blocks: Blocks, scratch: Scratch, words: Words, i: int, x: float, y: float, norm: float, waiting: int
) -> int:
    """Append the owners of a block's postings whose bytes pass; returns the new number."""
    block, place = np.int64(scratch.chosen[i]), np.int64(scratch.under[i])
    word = np.int64(scratch.order[place])
    heavy = np.sqrt(words.squares[word])
    weight, rest = np.float32(words.present[word] / heavy / norm), scratch.rests[place]
    shared = _add_shared(blocks, scratch, block, place, np.float32(1.0 / heavy))
    codes, scale, margins = blocks.codes[block], blocks.scales[block], scratch.margins
    across, up = codes[ACROSS * BLOCK : (ACROSS + 1) * BLOCK], codes[UP * BLOCK : (UP + 1) * BLOCK]
    need, share = codes[NEED * BLOCK : (NEED + 1) * BLOCK], codes[SHARE * BLOCK : (SHARE + 1) * BLOCK]
    weights, rests = codes[WEIGHT * BLOCK : (WEIGHT + 1) * BLOCK], codes[REST * BLOCK : (REST + 1) * BLOCK]
    x0, y0, x_step, y_step = scale[ACROSS] - x, scale[UP] - y, scale[STEPS + ACROSS], scale[STEPS + UP]
    fixed, need_step = _SLACK - scale[NEED], scale[STEPS + NEED]
    weight0, weight_step = scale[WEIGHT], scale[STEPS + WEIGHT]
    share0, share_step = scale[SHARE], scale[STEPS + SHARE]
    rest0, rest_step = rest * scale[REST], rest * scale[STEPS + REST]
    blur = (x_step + y_step) * _HALF
    for t in range(BLOCK):
        dx, dy = x0 + x_step * np.float32(across[t]), y0 + y_step * np.float32(up[t])
        own = weight0 + weight_step * np.float32(weights[t])
        more, most = own * shared[t], rest0 + rest_step * np.float32(rests[t])
        gain = fixed + own * weight + (more if more < most else most) - need_step * np.float32(need[t])
        margins[t] = gain - (share0 + share_step * np.float32(share[t])) * (np.sqrt(dx * dx + dy * dy) - blur)
    rank, owners, at = blocks.ranks[word], blocks.owners[block], waiting
    for t in range(np.int64(scale[HELD])):
        scratch.candidates[at], scratch.by[at] = owners[t], rank
        at += np.int64(margins[t] >= _NONE)
    return at


@inlined
def _add_shared(blocks: Blocks, scratch: Scratch, block: int, place: int, by: float) -> NDArray[np.float32]:
    """Sum the gains of the words after one, for each posting of a block whose signature has them."""
    shared, signs = scratch.shared, blocks.signatures[block, SIGNATURES : SIGNATURES + BLOCK]
    for t in range(BLOCK):
        shared[t] = _NONE
    for i in range(place):
        bit, gain = blocks.bits[scratch.order[i]], scratch.gains[i] * by
        for t in range(BLOCK):
            shared[t] += gain if (signs[t] & bit) != 0 else _NONE
    return shared


@inlined
def _verify(
    blocks: Blocks, scratch: Scratch, state: State, x: float, y: float, norm: float, waiting: int, found: int
) -> int:
    """Append candidates whose threshold is reached to the hits, each under its rarest common word; the new number."""
    work, interests, words = state.work, state.interests, state.words
    records, diagonal = interests.records, state.rules.diagonal
    for i in range(waiting):
        prefetch(records, 8 * np.int64(scratch.candidates[min(i + 12, waiting - 1)]))
        slot = np.int64(scratch.candidates[i])
        score = score_of(records[slot], x, y, norm, shared_with(state, slot), diagonal)
        if score >= records[slot, THETA] and _is_rarest(blocks, interests, words, slot, np.int64(scratch.by[i])):
            work.hits[found], work.hit_scores[found] = np.int32(slot), score
            found += 1
    work.counts[EXAMINED] += waiting
    return found


@inlined
def _is_rarest(blocks: Blocks, interests: Interests, words: Words, slot: int, rank: int) -> bool:
    """Whether no common word has a lower rank, that is, is rarer."""
    held = interests.words
    for i in range(FIRST_WORD, FIRST_WORD + WITHIN):
        word = np.int64(held[slot, i])
        if word > 0 and words.present[word] > 0.0 and blocks.ranks[word] < rank:
            return False
        if word < 0:
            for place in range(~word + 1, ~word + 1 + interests.longer[~word]):
                other = np.int64(interests.longer[place])
                if words.present[other] > 0.0 and blocks.ranks[other] < rank:
                    return False
    return True


register(BlocksAndLate, _disseminate, _retune)
