"""Texts among sorted texts: by their beginnings as by their bytes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tocsin.columns.arrays import Texts

TEXTS = st.lists(st.one_of(st.text("ab\0é\uffff😀", max_size=20), st.sampled_from(["w" * 8, "w" * 9, "w" * 40])))


@given(TEXTS, TEXTS)
def test_heads_find_what_bytes_find(known: list[str], asked: list[str]) -> None:
    """Shorter and longer than a head, equal in it, with zeros at the end, and none at all."""
    held, others = Texts.of(sorted(set(known))), Texts.of([*asked, *known])

    codes = held.rank_codes(others, held.heads())

    assert np.array_equal(codes, held.rank_codes(others))
    assert np.array_equal(codes[len(asked) :] >> 1, [sorted(set(known)).index(one) for one in known])
    assert (codes[len(asked) :] & 1).all()
