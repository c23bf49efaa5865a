"""Compressed texts are the texts."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.columns.compressed import CompressedTexts

TEXTS = st.lists(st.sampled_from(["", "a", "price < 5", "ü😀\0", "x" * 1000]), max_size=6)


@given(few=TEXTS, times=st.sampled_from([1, 100, 300]), offset=st.integers(0, 3))
def test_every_text_is_read_as_it_was(few: list[str], times: int, offset: int) -> None:
    texts = few * times
    array = pa.array(texts, pa.large_string()).slice(offset)
    texts = texts[offset:]
    held = CompressedTexts.of_arrow(array)

    assert len(held) == len(texts)
    assert held.arrow().to_pylist() == texts
    for number in (*range(0, len(texts), 97), *reversed(range(0, len(texts), 51))):
        assert held.text(number) == texts[number]


@pytest.mark.parametrize("count", [255, 256, 257])
def test_the_edges_of_blocks(count: int) -> None:
    held = CompressedTexts.of_arrow(pa.array([str(n) for n in range(count)]))
    assert [held.text(number) for number in range(count)] == [str(n) for n in range(count)]
