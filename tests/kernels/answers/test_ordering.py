"""Subscriptions found come out ascending, each once, and only those alive: sorted, by a summary, or by all words."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tocsin.jit.decorators import kernel
from tocsin.kernels.answers.ordering import BUCKETS, FEW, SPARE, put_in_order

_BEFORE = 3
"""Places of the output that are taken already."""


@kernel
def _ordered(hits: Any, alive: Any, words: Any, summary: Any, buckets: Any, out: Any) -> int:
    return put_in_order(hits, len(hits), alive, words, summary, buckets, out, _BEFORE)


@given(
    st.sampled_from([1, 63, 64, 65, 4096, 4097, 262_145, 1_000_000]),
    st.sampled_from([0, 1, 5, FEW - 1, FEW, FEW + 1, 3000]),
    st.sampled_from(["anywhere", "one bucket", "one number", "ascending", "descending"]),
    st.integers(0, 2**32 - 1),
)
def test_hits_are_put_in_order(subscriptions: int, count: int, where: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    words = np.zeros(subscriptions // 64 + 1, np.uint64)
    summary = np.zeros(len(words) // 64 + 1, np.uint64)
    alive = random.integers(0, 2**64, len(words), np.uint64)
    within = {"one bucket": min(subscriptions, 64), "one number": 1}.get(where, subscriptions)
    hits = (random.integers(0, within, count) + (subscriptions - within)).astype(np.int32)
    hits = {"ascending": np.sort(hits), "descending": np.sort(hits)[::-1].copy()}.get(where, hits)
    out = np.full(_BEFORE + count + SPARE, -7, np.int32)

    number = _ordered(hits, alive, words, summary, np.empty(BUCKETS, np.int32), out)

    distinct = np.unique(hits)
    living = alive[distinct >> 6] >> (distinct & 63).astype(np.uint64) & np.uint64(1) == 1
    assert out[_BEFORE : _BEFORE + number].tolist() == distinct[living].tolist()
    assert out[:_BEFORE].tolist() == [-7] * _BEFORE
    assert not words.any()
    assert not summary.any()
