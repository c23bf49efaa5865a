"""Whom does a message reach? One function for every structure: each registers its own beside its layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tocsin.index.window.kernels.layouts import EXAMINED, THETA, Lists, State
from tocsin.index.window.kernels.scoring import score_of
from tocsin.kernels.jit import inner
from tocsin.kernels.packing import choose


def disseminate(structure: Any, state: State, x: float, y: float, norm: float, count: int) -> int:
    """Write to `work.hits` and `work.hit_scores` whose threshold a message reaches, each once; how many.

    Its words are `work.words[:count]`, the lightest first, and present. Adds to `work.counts` how many subscriptions
    were compared with it.
    """
    raise NotImplementedError("for kernels")


def retune(structure: Any, state: State, slot: int) -> None:
    """Take note of a threshold that was raised or fell. A fall must be known before the next message."""
    raise NotImplementedError("for kernels")


def register(layout: type, found: Callable[..., int], retuned: Callable[..., None]) -> None:
    """Let a structure disseminate: kernels that do what both functions say for its layout."""
    choose(disseminate, layout, found)
    choose(retune, layout, retuned)


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
