"""Texts: among sorted texts, by their beginnings as by their bytes; within a text; and decoded."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tocsin.columns.arrays import DecodedTexts, Texts

TEXTS = st.lists(st.one_of(st.text("ab\0é\uffff😀", max_size=20), st.sampled_from(["w" * 8, "w" * 9, "w" * 40])))


@given(TEXTS, TEXTS)
def test_heads_find_what_bytes_find(known: list[str], asked: list[str]) -> None:
    """Shorter and longer than a head, equal in it, with zeros at the end, and none at all."""
    held, others = Texts.of(sorted(set(known))), Texts.of([*asked, *known])

    codes = held.rank_codes(others, held.heads())

    assert np.array_equal(codes, held.rank_codes(others))
    assert np.array_equal(codes[len(asked) :] >> 1, [sorted(set(known)).index(one) for one in known])
    assert (codes[len(asked) :] & 1).all()


@given(TEXTS, st.lists(st.text("ab,😀", max_size=3)))
def test_parts_of_a_text_are_its_texts(parts: list[str], between: list[str]) -> None:
    gaps = [*between, *[","] * len(parts)][: len(parts)]
    pieces = [text.encode() for pair in zip(gaps, parts, strict=True) for text in pair]
    ends = np.cumsum([0, *map(len, pieces)])

    texts = Texts.within(b"".join([*pieces, b"end"]), ends[1:-1:2], ends[2::2])

    decoded = DecodedTexts(texts)
    assert (texts.to_list(), list(decoded), len(decoded)) == (parts, parts, len(parts))
    assert [decoded[place] for place in range(len(parts))] == parts
    assert decoded[1:] == parts[1:]
    assert Texts.of(decoded) is texts
