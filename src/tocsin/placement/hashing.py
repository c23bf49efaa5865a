"""Hashes of names, strings and ids for keys, the same in every process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts, frozen
from tocsin.placement.kernels.keys import hash_numbers, hash_texts, write_keys

Hashes: TypeAlias = NDArray[np.uint64]


def hashes_of(strings: Sequence[str]) -> Hashes:
    """The hash of each string."""
    return _of_texts(Texts.of(strings))


def hashes_of_ids(ids: pa.Array) -> Hashes:
    """The hash of each id, string or integer."""
    if not pa.types.is_integer(ids.type):
        return _of_texts(Texts.of_arrow(ids))
    out = np.empty(len(ids), np.uint64)
    hash_numbers(frozen(ids.cast(pa.int64()).to_numpy(zero_copy_only=False), np.int64), out)
    return out


def keys_of(attributes: Hashes, kinds: NDArray[np.int64], values: Hashes) -> Hashes:
    """The keys of values, all odd, from hashes of attribute names, kinds, and payloads or hashes of strings."""
    out = np.empty(len(attributes), np.uint64)
    write_keys(frozen(attributes, np.uint64), frozen(kinds, np.int64), frozen(values, np.uint64), out)
    return out | np.uint64(1)


def _of_texts(texts: Texts) -> Hashes:
    out = np.empty(len(texts), np.uint64)
    hash_texts(texts.starts, texts.data, out)
    return out
