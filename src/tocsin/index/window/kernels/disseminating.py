"""Dissemination: one kernel interface, which each structure implements and registers beside its layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tocsin.index.window.kernels.layouts import EXAMINED, THETA, Lists, State
from tocsin.index.window.kernels.scoring import score_of
from tocsin.jit.decorators import inner
from tocsin.jit.views import choose


def disseminate(structure: Any, state: State, x: float, y: float, norm: float, count: int) -> int:
    """Write the slots that a message reaches to `work.hits`, scores to `work.hit_scores`; returns how many.

    A message reaches a slot if its score is at least the threshold. Each slot is written once. The message's words are
    `work.words[:count]`, those that add least first, and marked present. Adds the number of subscriptions compared to
    `work.counts`.
    """
    raise NotImplementedError("for kernels")


def retune(structure: Any, state: State, slot: int) -> None:
    """Record a changed threshold. A lower one must be recorded before the next message."""
    raise NotImplementedError("for kernels")


def register(layout: type, found: Callable[..., int], retuned: Callable[..., None]) -> None:
    """Register a structure's kernels, which implement both functions for its layout."""
    choose(disseminate, layout, found)
    choose(retune, layout, retuned)


@inner
def reach_all(lists: Lists, state: State, x: float, y: float, norm: float, count: int, found: int) -> int:
    """Append the slots in the lists of a message's words whose threshold it reaches to `found` hits; the new number."""
    work, records, diagonal = state.work, state.interests.records, state.rules.diagonal
    shares, hits = work.shares, work.hits
    stop = found
    for i in range(count):
        word = work.words[i]
        added, start = state.words.present[word], lists.starts[word]
        for at in range(start, start + lists.counts[word]):
            slot = np.int64(lists.pool[at])
            before = shares[slot]
            hits[stop] = np.int32(slot)
            stop += np.int64(before == 0.0)
            shares[slot] = before + added
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
