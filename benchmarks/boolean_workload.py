"""B1: conjunctions over many attributes, as in OpIndex Table 3 (Zhang et al. 2014, section 7.1).

A subscription has 1..8 predicates on distinct attributes, 40 % `=`, 30 % `<=`, 30 % `>=`, operands 1..50; an event
has 10..40 attributes with values 1..50. *uni*: 20,000 attributes, uniform. *zipf*: 1,000 attributes, Zipf(1.0).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

OPERATORS = ("=", "<=", ">=")
_SHARES = (0.4, 0.3, 0.3)
VALUES = 50


@dataclass(frozen=True)
class Workload:
    """A named distribution of attributes."""

    name: str
    attributes: int
    zipf: float  # exponent; 0 is uniform

    def subscriptions(self, count: int, seed: int = 1) -> Iterator[str]:
        """CQL2 texts."""
        random = np.random.default_rng(seed)
        for attributes in self._attribute_sets(random, random.integers(1, 9, count)):
            operators = random.choice(len(OPERATORS), len(attributes), p=_SHARES)
            operands = random.integers(1, VALUES + 1, len(attributes))
            yield " AND ".join(
                f"a{a} {OPERATORS[op]} {v}" for a, op, v in zip(attributes, operators, operands, strict=True)
            )

    def events(self, count: int, seed: int = 2) -> Iterator[dict[str, int]]:
        """Events as dicts."""
        random = np.random.default_rng(seed)
        for attributes in self._attribute_sets(random, random.integers(10, 41, count)):
            values = random.integers(1, VALUES + 1, len(attributes)).tolist()
            yield {f"a{a}": v for a, v in zip(attributes, values, strict=True)}

    def _attribute_sets(self, random: np.random.Generator, sizes: np.ndarray) -> Iterator[list[int]]:
        """Sets of distinct attributes of the given sizes: drawn with replacement, doubles drawn again."""
        weights = np.arange(1, self.attributes + 1, dtype=float) ** -self.zipf
        edges = np.cumsum(weights / weights.sum())
        for size in sizes.tolist():
            chosen: dict[int, None] = {}
            while len(chosen) < size:
                drawn = np.searchsorted(edges, random.random(size))
                chosen.update(dict.fromkeys(np.minimum(drawn, self.attributes - 1).tolist()))
            yield list(chosen)[:size]


UNI = Workload("uni", 20_000, 0.0)
ZIPF = Workload("zipf", 1_000, 1.0)
