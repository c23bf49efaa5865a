"""Where does a compiler keep what leaves refer to? Pools of strings, sets, patterns, boxes and leaves, each once.

The rank code of an operand string is known only when all of them are: until then a string stands for
`4 * number + k`, where k says which side of it is meant, and `finish` replaces it by its place in sorted order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts, empty_runs, frozen, inverse, starts_of
from tocsin.columns.numbers import key_of
from tocsin.kernels import codes
from tocsin.model.values import Instant, Scalar

Item = TypeVar("Item")

LOWEST = -(2**63)
HIGHEST = 2**63 - 1
JUST_BELOW, AT, JUST_ABOVE = 0, 1, 2


class Pool(Generic[Item]):
    """Items numbered in order of arrival, equal ones once."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self._numbers: dict[Item, int] = {}

    @property
    def numbers(self) -> Mapping[Item, int]:
        """The number of each item."""
        return self._numbers

    def number(self, item: Item) -> int:
        number = self._numbers.setdefault(item, len(self.items))
        if number == len(self.items):
            self.items.append(item)
        return number


class Leaf(NamedTuple):
    """One distinct predicate."""

    kind: int
    attribute: int = 0
    type: int = 0
    operation: int = 0
    transform: int = 0
    other: int = 0
    low: int = 0
    high: int = 0


@dataclass(slots=True)
class Pools:
    """Everything that leaves refer to by number."""

    attributes: Pool[str] = field(default_factory=Pool)
    strings: Pool[str] = field(default_factory=Pool)
    transforms: Pool[str] = field(default_factory=Pool)
    leaves: Pool[Leaf] = field(default_factory=Pool)
    sets: Pool[tuple[tuple[int, int], ...]] = field(default_factory=Pool)
    patterns: Pool[tuple[int, ...]] = field(default_factory=Pool)
    regexes: Pool[tuple[str, int]] = field(default_factory=Pool)
    boxes: Pool[tuple[float, float, float, float]] = field(default_factory=Pool)
    constants: Pool[float] = field(default_factory=Pool)
    terms: Pool[tuple[tuple[int, int, int], ...]] = field(default_factory=Pool)
    truths: Pool[tuple[tuple[int, int], ...]] = field(default_factory=Pool)

    def __post_init__(self) -> None:
        self.transforms.number("")

    def key(self, value: Scalar, side: int = AT) -> tuple[int, int]:
        """The type of a constant, and its payload or the payload just below or above it."""
        if isinstance(value, str):
            return codes.STRING, 4 * self.strings.number(value) + side
        if isinstance(value, bool):
            return codes.BOOLEAN, int(value) + side - AT
        if isinstance(value, Instant):
            return codes.INSTANT, value.microseconds + side - AT
        return codes.NUMBER, key_of(value) + side - AT

    def vocabulary(self) -> tuple[Texts, NDArray[np.int64]]:
        """The operand strings in sorted order, and the place of each number in it."""
        strings = self.strings.items
        order = sorted(range(len(strings)), key=strings.__getitem__)
        return Texts.of([strings[i] for i in order]), inverse(order)


def rank_codes(keys: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Replace `4 * number + side` by the rank code 2 * place + side; the two infinities stay."""
    finite = (keys != LOWEST) & (keys != HIGHEST)
    codes_ = keys.copy()
    codes_[finite] = 2 * places[keys[finite] >> 2] + (keys[finite] & 3)
    return codes_


def leaf_arrays(pools: Pools, places: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """The leaves as parallel arrays, in the order they came."""
    columns = _leaf_table(pools)
    strings = (columns["kind"] == codes.RANGE) & (columns["type"] == codes.STRING)
    for bound in ("low", "high"):
        columns[bound][strings] = rank_codes(columns[bound][strings], places)
    return {
        "eager_starts": empty_runs(len(pools.attributes.items)),
        "leaf_kinds": frozen(columns["kind"], np.uint8),
        "leaf_types": frozen(columns["type"], np.uint8),
        "leaf_operations": frozen(columns["operation"], np.uint8),
        "leaf_transforms": frozen(columns["transform"], np.uint16),
        "leaf_attributes": frozen(columns["attribute"], np.int32),
        "leaf_others": frozen(columns["other"], np.int32),
        "leaf_lows": frozen(columns["low"], np.int64),
        "leaf_highs": frozen(columns["high"], np.int64),
    }


def _leaf_table(pools: Pools) -> dict[str, NDArray[np.int64]]:
    table = np.array(pools.leaves.items, np.int64).reshape(-1, len(Leaf._fields))
    return {name: column.copy() for name, column in zip(Leaf._fields, table.T, strict=True)}


def set_arrays(pools: Pools, places: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """The sets in CSR form, each sorted by (type, payload)."""
    lengths = [len(s) for s in pools.sets.items]
    elements = np.array([e for s in pools.sets.items for e in s], np.int64).reshape(-1, 2)
    types, payloads = elements[:, 0], elements[:, 1].copy()
    strings = types == codes.STRING
    payloads[strings] = rank_codes(payloads[strings], places)
    owners = np.repeat(np.arange(len(lengths)), lengths)
    order = np.lexsort((payloads, types, owners))
    return {
        "set_starts": starts_of(lengths, len(lengths)),
        "set_types": frozen(types[order], np.uint8),
        "set_payloads": frozen(payloads[order], np.int64),
    }


def program_arrays(pools: Pools) -> dict[str, NDArray[Any]]:
    """Patterns, boxes, terms and truth programs."""
    patterns, terms, truths = pools.patterns.items, pools.terms.items, pools.truths.items
    steps = np.array([s for t in terms for s in t], np.int64).reshape(-1, 3)
    truth_steps = np.array([s for t in truths for s in t], np.int64).reshape(-1, 2)
    return {
        "pattern_starts": starts_of((len(p) for p in patterns), len(patterns)),
        "pattern_tokens": frozen(np.array([t for p in patterns for t in p], np.int16), np.int16),
        "boxes": frozen(np.array(pools.boxes.items, np.float64).reshape(-1, 4), np.float64),
        "term_starts": starts_of((len(t) for t in terms), len(terms)),
        "term_codes": frozen(steps[:, 0], np.uint8),
        "term_arguments": frozen(steps[:, 1], np.int32),
        "term_transforms": frozen(steps[:, 2], np.uint16),
        "constants": frozen(np.array(pools.constants.items, np.float64), np.float64),
        "truth_starts": starts_of((len(t) for t in truths), len(truths)),
        "truth_codes": frozen(truth_steps[:, 0], np.uint8),
        "truth_arguments": frozen(truth_steps[:, 1], np.int32),
    }
