"""How do the tests of indexes spoil what one saved? An array at a time: a number out of range, an array cut short."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.index import Matcher
from tocsin.index.protocols import Arrays

Load = Callable[[Arrays], Matcher]


def spoilt(arrays: Arrays, name: str, value: NDArray[Any]) -> dict[str, NDArray[Any]]:
    value = np.ascontiguousarray(value)
    value.flags.writeable = False
    return {**arrays, name: value}


def assert_refused(load: Load, arrays: Arrays, name: str) -> None:
    """An array of another type, of two dimensions, cut short, or with a number that is far out of range."""
    array = arrays[name]
    assert len(array), "an empty array proves nothing"
    most = np.iinfo(array.dtype).max
    for wrong in (
        array.astype(np.float64),
        array.reshape(1, -1),
        array[:-1],
        np.concatenate([array, array[-1:]]),
        np.concatenate([array[:-1], np.array([most], array.dtype)]),
        np.concatenate([np.array([most], array.dtype), array[1:]]),
    ):
        with pytest.raises(ValueError):
            load(spoilt(arrays, name, wrong))


def variants(arrays: Arrays, names: list[str], seed: int) -> Iterator[dict[str, NDArray[Any]]]:
    """Each array of some names with one number replaced by another one of it, or one near it."""
    dice = np.random.default_rng(seed)
    for name in names:
        array = arrays[name].copy()
        place = int(dice.integers(len(array)))
        array[place] = dice.choice([array[int(dice.integers(len(array)))], array[place] + 1, array[place] - 1])
        yield spoilt(arrays, name, array)


def assert_refused_or_harmless(load: Load, arrays: Arrays, names: list[str], batch: EventBatch) -> None:
    """Whatever a damaged index answers, it either says so when it is loaded, or comes to an end with an answer."""
    with np.errstate(over="ignore"):
        for seed in range(20):
            for damaged in variants(arrays, names, seed):
                try:
                    matcher = load(damaged)
                except ValueError:
                    continue
                found = matcher.match(batch)
                assert len(found.starts) == len(batch) + 1
                assert (found.subscriptions < len(matcher)).all()
