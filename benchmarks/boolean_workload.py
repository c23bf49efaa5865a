"""The workload of B1: conjunctions over many attributes, as in OpIndex Table 3 (Zhang et al. 2014, section 7.1).

A subscription has 1..8 predicates on distinct attributes, 40 % `=`, 30 % `<=`, 30 % `>=`, with operands 1..50. An event
has 10..40 attributes with values 1..50. *uni*: 20,000 attributes, uniform. *zipf*: 1,000 attributes, Zipf(1.0).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

import tocsin

OPERATORS = ("=", "<=", ">=")
_SHARES = (0.4, 0.3, 0.3)
VALUES = 50


@dataclass(frozen=True)
class Workload:
    """A named distribution of attributes."""

    name: str
    attributes: int
    zipf: float  # exponent; 0 is uniform

    def conjunctions(self, count: int, seed: int = 1) -> tocsin.Conjunctions:
        """Subscriptions in the columnar form."""
        random = np.random.default_rng(seed)
        starts, attributes = self._attribute_sets(random, random.integers(1, 9, count))
        operators = np.array(OPERATORS, object)[random.choice(len(OPERATORS), len(attributes), p=_SHARES)]
        operands = random.integers(1, VALUES + 1, len(attributes)).astype(float)
        predicates = pa.StructArray.from_arrays(
            [self.names().take(pa.array(attributes)), pa.array(operators, pa.string()), pa.array(operands)],
            names=["attribute", "op", "value"],
        )
        lists = pa.ListArray.from_arrays(pa.array(starts, pa.int32()), predicates)
        return tocsin.Conjunctions(pa.table({"id": ids(count), "predicates": lists}))

    def texts(self, count: int, seed: int = 1) -> list[str]:
        """Subscriptions as CQL2 text."""
        column = self.conjunctions(count, seed).table["predicates"]
        return [
            " AND ".join(f"{p['attribute']} {p['op']} {p['value']:.0f}" for p in predicates)
            for predicates in column.to_pylist()
        ]

    def sparse_events(self, count: int, seed: int = 2) -> tocsin.SparseEvents:
        """Events in the columnar form."""
        random = np.random.default_rng(seed)
        starts, attributes = self._attribute_sets(random, random.integers(10, 41, count))
        offsets = pa.array(starts, pa.int32())
        names = pa.DictionaryArray.from_arrays(pa.array(attributes), self.names())
        values = pa.array(random.integers(1, VALUES + 1, len(attributes)).astype(float))
        lists = [pa.ListArray.from_arrays(offsets, column) for column in (names, values)]
        return tocsin.SparseEvents(pa.table(dict(zip(("names", "values"), lists, strict=True))))

    def events(self, count: int, seed: int = 2) -> Iterator[dict[str, int]]:
        """The same events as dicts."""
        table = self.sparse_events(count, seed).table
        for names, values in zip(table["names"].to_pylist(), table["values"].to_pylist(), strict=True):
            yield {name: int(value) for name, value in zip(names, values, strict=True)}

    def names(self) -> pa.Array:
        """The attributes."""
        return pa.array([f"a{number}" for number in range(self.attributes)], pa.string())

    def _attribute_sets(self, random: np.random.Generator, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sets of distinct attributes of the given sizes in CSR form. Duplicates are drawn again."""
        weights = np.arange(1, self.attributes + 1, dtype=float) ** -self.zipf
        edges = np.cumsum(weights / weights.sum())
        starts = np.concatenate([[0], np.cumsum(sizes)])
        owners = np.repeat(np.arange(len(sizes)), sizes)
        chosen = np.zeros(len(owners), np.int32)
        again = np.ones(len(owners), bool)
        while again.any():
            drawn = np.searchsorted(edges, random.random(int(again.sum())))
            chosen[again] = np.minimum(drawn, self.attributes - 1)
            order = np.lexsort((chosen, owners))
            again[:] = False
            same = (owners[order[1:]] == owners[order[:-1]]) & (chosen[order[1:]] == chosen[order[:-1]])
            again[order[1:][same]] = True
        return starts, chosen


def ids(count: int) -> pa.Array:
    """Ids `s0000000` and so on."""
    return pa.array([f"s{number:07d}" for number in range(count)], pa.string())


UNI = Workload("uni", 20_000, 0.0)
ZIPF = Workload("zipf", 1_000, 1.0)
