"""The VCR paper's workload: rectangles and points, mostly in the middle of a map (Wu, Chen, Yu 2004, 3.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from reproduce.loads import ranges
from reproduce.rectangles import places

from tocsin.columns.expressions.compiled import CompiledExpressions


@dataclass(frozen=True)
class Map:
    """A map of unit cells. A share of all rectangles and points lies in a middle rectangle with a share of the area."""

    name: str
    width: int
    height: int
    alpha: float = 0.9
    beta: float = 0.1
    widest: int = 40
    highest: int = 20

    def places(self, random: np.random.Generator, count: int) -> NDArray[np.int64]:
        """(count, 2) corners or points."""
        return places(random, count, (self.width, self.height), self.alpha, self.beta)

    def rectangles(self, count: int, seed: int = 1) -> NDArray[np.int64]:
        """(count, 4) left, lower, right, upper: unit cells, both ends included."""
        random = np.random.default_rng(seed)
        corners = self.places(random, count)
        sizes = random.integers(1, [self.widest + 1, self.highest + 1], (count, 2))
        return np.concatenate([corners, corners + sizes - 1], axis=1)

    def events(self, count: int, seed: int = 2) -> pa.Table:
        """Points as a table of `x` and `y`."""
        points = self.places(np.random.default_rng(seed), count).astype(float)
        return pa.table({"x": points[:, 0], "y": points[:, 1]})


MODERATE: Final = Map("moderate", 300, 200)
LARGE: Final = Map("large", 3000, 1000)


def expressions(rectangles: NDArray[np.int64]) -> CompiledExpressions:
    """Expressions `x BETWEEN a AND b AND y BETWEEN c AND d`."""
    attributes = np.tile(np.array([0, 1], np.int32), len(rectangles))
    lows, highs = (rectangles[:, sides].reshape(-1).astype(float) for sides in ([0, 1], [2, 3]))
    return ranges(["x", "y"], 2 * np.arange(len(rectangles) + 1), attributes, lows, highs)


def texts(rectangles: NDArray[np.int64]) -> list[dict[str, object]]:
    """The same expressions as a user writes them."""
    return [
        {"id": number, "where": f"x BETWEEN {left} AND {right} AND y BETWEEN {lower} AND {upper}"}
        for number, (left, lower, right, upper) in enumerate(rectangles.tolist())
    ]
