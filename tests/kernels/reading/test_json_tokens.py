"""Eight bytes at a time: strings of every length, wherever they end, are what Python says."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.jit.decorators import kernel
from tocsin.kernels.reading import json_tokens
from tocsin.kernels.reading.decimals import SLOW

SPECIAL = (0, 1, 31, 34, 92, 10)


@kernel
def string_end(text: np.ndarray, i: int, stop: int) -> tuple[int, int, bool]:
    return json_tokens.string_end(text, i, stop)


@kernel
def same_bytes(text: np.ndarray, i: int, other: np.ndarray, j: int, length: int) -> bool:
    return json_tokens.same_bytes(text, i, other, j, length)


def quoted(content: bytes, behind: bytes) -> np.ndarray:
    return np.frombuffer(content + b'"' + behind, np.uint8)


@pytest.mark.parametrize("behind", [b"", b":", b": 1}", b"\n" * 20])
def test_a_string_ends_at_its_quote(behind: bytes) -> None:
    """Of any length, with any bytes but the odd ones; the same content has the same hash, whatever follows."""
    dice = random.Random(4)
    usual = [byte for byte in range(256) if byte not in SPECIAL and byte >= 32]
    for length in range(40):
        content = bytes(dice.choices(usual, k=length))
        text = quoted(content, behind)
        end, hashed, dotted = string_end(text, 0, len(text))
        assert end == length
        assert dotted == (b"." in content)
        other = np.concatenate([np.frombuffer(b"abc", np.uint8), text, np.frombuffer(b"x" * 9, np.uint8)])
        assert string_end(other, 3, len(other)) == (length + 3, hashed, dotted)
        assert string_end(text, 0, length)[0] == SLOW  # the quote is another's


@given(st.binary(max_size=30), st.sampled_from(SPECIAL), st.integers(0, 30))
def test_a_string_stops_at_what_is_odd(content: bytes, odd: int, at: int) -> None:
    """At the first quote, escape or control character, whichever that is."""
    whole = content[:at] + bytes([odd]) + content[at:] + b'"'
    first = next(place for place, byte in enumerate(whole) if byte < 32 or byte in (34, 92))
    found, _, _ = string_end(np.frombuffer(whole, np.uint8), 0, len(whole))
    assert found == (first if whole[first] == 34 else SLOW)


@given(st.binary(max_size=30), st.integers(0, 9), st.integers(0, 9), st.integers(-1, 29))
def test_bytes_are_compared(content: bytes, before: int, behind: int, changed: int) -> None:
    one = np.frombuffer(b"p" * before + content, np.uint8)
    other = bytearray(content + b"q" * behind)
    if 0 <= changed < len(content):
        other[changed] ^= 1
    same = bytes(other[: len(content)]) == content
    assert same_bytes(one, before, np.frombuffer(bytes(other), np.uint8), 0, len(content)) == same
