"""The load of B5: subscriptions and messages around 50 clusters, with Zipfian words from a vocabulary of 20,000."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

VOCABULARY: Final = 20_000
CLUSTERS: Final = 50
BOUNDS: Final = (0.0, 0.0, 1.0, 1.0)
_SPREAD: Final = 0.02
_FEW: Final = (1, 5)
_MANY: Final = (5, 15)
"""Words of a subscription, and of a message. Duplicates count once."""


@dataclass(frozen=True, slots=True)
class WindowLoad:
    """Draws subscriptions and messages, the same ones each time."""

    seed: int = 1
    k: int = 10

    def subscriptions(self, count: int) -> pa.Table:
        """Subscriptions with ids 0 .. count - 1."""
        rng = np.random.default_rng([self.seed, 1])
        return pa.table(
            {
                "id": np.arange(count),
                "words": _words(rng, count, *_FEW),
                "location": self._places(rng, count),
                "k": np.full(count, self.k, np.int32),
                "alpha": rng.uniform(0.1, 0.9, count),
            }
        )

    def messages(self, count: int, part: int = 0) -> pa.Table:
        """Messages of the stream's `part`."""
        rng = np.random.default_rng([self.seed, 2, part])
        return pa.table({"words": _words(rng, count, *_MANY), "location": self._places(rng, count)})

    def _places(self, rng: np.random.Generator, count: int) -> pa.Array:
        centres = np.random.default_rng([self.seed, 0]).uniform(0.1, 0.9, (CLUSTERS, 2))
        places = centres[rng.integers(0, CLUSTERS, count)] + rng.normal(0.0, _SPREAD, (count, 2))
        return pa.FixedSizeListArray.from_arrays(pa.array(np.clip(places, 0.0, 1.0).reshape(-1)), 2)


def _words(rng: np.random.Generator, count: int, least: int, most: int) -> pa.Array:
    lengths = rng.integers(least, most + 1, count)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    names = pa.array([f"w{number}" for number in range(VOCABULARY)])
    drawn: NDArray[np.int64] = np.searchsorted(_shares(), rng.random(starts[-1]))
    return pa.ListArray.from_arrays(pa.array(starts, pa.int32()), names.take(pa.array(drawn)))


def _shares() -> NDArray[np.float64]:
    shares = np.cumsum(1.0 / np.arange(1, VOCABULARY + 1))
    return shares / shares[-1]
