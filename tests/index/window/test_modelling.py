"""The cost model of Wang et al. 2016, section 6.2, against the walk itself: what comes expires a window later."""

from __future__ import annotations

import math
from collections import deque
from functools import cache

import numpy as np
import pytest

import tocsin
from tests.index.window.test_structures import SIZE, stream
from tocsin.index.window.buffering import k_max, k_skyband
from tocsin.index.window.kernels.layouts import COUNT
from tocsin.index.window.modelling import (
    SEARCH,
    best_rank,
    cost,
    expected_size,
    windows_by_queue,
    windows_by_walk,
)

RUNS = 400


@cache
def simulated(rank: int, k: int) -> float:
    """How many windows pass until fewer than k of `rank` are left, where as many come in a window; a mean of runs."""
    rng = np.random.default_rng(rank * 1000 + k)
    return float(np.mean([one_run(rng, rank, k) for _ in range(RUNS)]))


def one_run(rng: np.random.Generator, rank: int, k: int) -> float:
    expiries = deque(np.sort(rng.random(rank)).tolist())
    arrival = rng.exponential(1 / rank)
    while True:
        if expiries[0] > arrival:
            expiries.append(arrival + 1.0)
            arrival += rng.exponential(1 / rank)
            continue
        now = expiries.popleft()
        if len(expiries) < k:
            return float(now)


WALKS = [(3, 1), (5, 2), (5, 5), (8, 5), (10, 5), (10, 10), (15, 10), (18, 10), (25, 20), (30, 20)]


@pytest.mark.parametrize(("rank", "k"), WALKS)
def test_the_queue_is_near_to_the_walk(rank: int, k: int) -> None:
    """A queue's stays vary, where a message's is the window's length; so it is off by two thirds at most."""
    assert 0.9 * simulated(rank, k) < windows_by_queue(rank, k) < 1.7 * simulated(rank, k)


@pytest.mark.parametrize(("rank", "k"), [one for one in WALKS if one[0] >= 1.75 * one[1]])
def test_a_walk_that_goes_down_as_often_as_up_is_further_off(rank: int, k: int) -> None:
    """Where searches are rare: it forgets that the more there are, the more expire, and so it buffers too much."""
    real = simulated(rank, k)

    assert windows_by_walk(rank, k) < real
    assert abs(math.log(windows_by_walk(rank, k) / real)) > abs(math.log(windows_by_queue(rank, k) / real))


@pytest.mark.parametrize("k", [1, 2, 5])
def test_the_rank_by_the_queue_costs_less(k: int) -> None:
    """Counted in windows that were simulated: so it is the estimate that is used."""

    def real(rank: int) -> float:
        return cost(rank, k) - SEARCH / windows_by_queue(rank, k) + SEARCH / _windows(rank, k)

    assert real(best_rank(k)) < real(best_rank(k, by_walk=True))
    assert k < best_rank(k) < best_rank(k, by_walk=True)


def _windows(rank: int, k: int) -> float:
    """Simulated where that ends; beyond, no less than the walk says is all that is used of it."""
    return simulated(rank, k) if windows_by_queue(rank, k) < 500 else windows_by_queue(rank, k)


@pytest.mark.parametrize("k", [1, 3, 10, 40])
def test_costs_have_one_least(k: int) -> None:
    """The rank is that of all ranks far and wide; the dearer a search, the further it lies."""
    ranks = range(k, 6 * k + 60)

    assert best_rank(k) == min(ranks, key=lambda rank: cost(rank, k))
    assert best_rank(k, 1.0) <= best_rank(k, 1e3) < best_rank(k, 1e7)


@pytest.mark.parametrize(("rank", "k"), [(20, 10), (60, 10), (6, 10), (50, 3)])
def test_a_skyband_holds_what_was_expected(rank: int, k: int) -> None:
    """Of messages in order of coming, those that fewer than k later ones are better than."""
    rng = np.random.default_rng(3)
    sizes = []
    for _ in range(RUNS):
        scores = rng.random(rank)
        sizes.append(sum((scores[i + 1 :] > scores[i]).sum() < k for i in range(rank)))

    assert np.mean(sizes) == pytest.approx(expected_size(rank, k), rel=0.15)


def test_rooms() -> None:
    """What each policy has room for; a ring is a power of two."""
    assert k_max(1).room(10) == (10, 11, 16)
    assert k_max(3).room(10) == (30, 31, 32)
    assert k_skyband(0).room(10) == (10, 32, 32)
    assert k_skyband(1).room(10) == (best_rank(10), 32, 32)


def test_policies_trade_searches_for_messages() -> None:
    """From scratch the window is searched most often, and least is held; a k-skyband holds less than all above it."""
    subscriptions, messages = stream()

    def measured(index: str) -> tuple[int, float]:
        window = tocsin.Window(SIZE, bounds=(0, 0, 1, 1), index=index)
        window.push_batch(messages[:SIZE])
        window.subscribe_many(subscriptions)
        before = window.stats
        window.push_batch(messages[SIZE:])
        held = window._sliding.slots.buffers.small[:, COUNT].sum() / len(window)
        return window.stats.less(before).reevaluations, held

    scratch, plain, modelled, twice = (
        measured(index) for index in ("k_max(times=1)", "k_skyband(modelled=0)", "k_skyband", "k_max(times=2)")
    )
    assert scratch[0] > plain[0] > modelled[0]
    assert scratch[0] > twice[0]
    assert scratch[1] < plain[1] < modelled[1]
