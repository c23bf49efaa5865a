"""Whom does a message reach? Everyone who shares a word with it is scored.

Baseline: an inverted file, term at a time, without a bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tocsin.index.window.kernels.disseminating import register
from tocsin.index.window.kernels.layouts import EXAMINED, THETA, Lists, State
from tocsin.index.window.kernels.scoring import score_of
from tocsin.kernels.jit import inlined, inner


class InvertedFile(NamedTuple):
    """Slots by word."""

    lists: Lists


@inner
def reach_all(lists: Lists, state: State, x: float, y: float, norm: float, count: int, found: int) -> int:
    """Write those in the lists of a message's words whose threshold it reaches, behind `found` others; how many now."""
    work, records, diagonal = state.work, state.interests.records, state.rules.diagonal
    shares, hits = work.shares, work.hits
    stop = found
    for i in range(count):
        word = work.words[i]
        square, start = state.words.squares[word], lists.starts[word]
        for at in range(start, start + lists.counts[word]):
            slot = np.int64(lists.pool[at])
            before = shares[slot]
            hits[stop] = np.int32(slot)
            stop += np.int64(before == 0.0)
            shares[slot] = before + square
    kept = found
    for i in range(found, stop):
        slot = np.int64(hits[i])
        score = score_of(records[slot], x, y, norm, shares[slot], diagonal)
        shares[slot] = 0.0
        if score >= records[slot, THETA]:
            hits[kept], work.hit_scores[kept] = np.int32(slot), score
            kept += 1
    work.counts[EXAMINED] += stop - found
    return kept


@inlined
def _disseminate(structure: InvertedFile, state: State, x: float, y: float, norm: float, count: int) -> int:
    return reach_all(structure.lists, state, x, y, norm, count, np.int64(0))


@inlined
def _retune(structure: InvertedFile, state: State, slot: int) -> None:
    """It knows no thresholds."""


register(InvertedFile, _disseminate, _retune)
