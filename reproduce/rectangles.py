"""Workloads of rectangles: Wu, Chen and Yu 2004, section 3.1, with an alpha-beta rule for positions."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from reproduce.loads import Ask, Expressions, ranges
from reproduce.vcr.changing import ChangingVCR
from tocsin.index.filtering import FilterAndRefine
from tocsin.index.rectangles.rectangles import Held
from tocsin.papers.location_aware.growing_trees.r_tree import GrowingRTree
from tocsin.papers.vcr.vcr.kernels import UNUSED


@dataclass(frozen=True, slots=True)
class Rectangles(Expressions):
    """Rectangles as `x BETWEEN .. AND y BETWEEN ..`, and points."""

    def nbytes(self, index: FilterAndRefine[Held]) -> int:  # type: ignore[override]
        """Bytes of the structure alone: lists and their array or table, or nodes."""
        return int(sum(part.nbytes for part in index.structure))


def load_factor(index: FilterAndRefine[Held]) -> float:
    """The share of the places of a VCR's hash table that are in use."""
    names = index.structure.names
    return float(np.count_nonzero(names != UNUSED) / len(names))


Own: TypeAlias = ChangingVCR | GrowingRTree


@dataclass(frozen=True, slots=True)
class ClosedRectangles:
    """The same as closed rectangles of integers, for the paper's own pair, into which they are inserted one by one.

    The pair is `linked_vcr(kx, ky)`, with sides up to 2 ** kx and 2 ** ky, and `grown_r_tree`.
    """

    subscriptions: NDArray[np.int64]  # (n, 4) left, lower, width, height
    points: NDArray[np.int64] = field(repr=False)  # (m, 2)
    sides: tuple[int, int]

    @property
    def warm_up(self) -> range:
        return self.events[:16]

    @property
    def events(self) -> range:
        return range(len(self.points))

    def build_own(self, text: str) -> Own:
        """Build one of the pair by its name and options. Raises `KeyError` for another name."""
        name, options = text.partition("(")[0], {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", text)}
        own: Own = {"linked_vcr": self._vcr, "grown_r_tree": self._r_tree}[name](**options)
        return own

    def _vcr(self, kx: int, ky: int) -> ChangingVCR:
        index = ChangingVCR(*self.sides, kx, ky)
        for number, (left, lower, width, height) in enumerate(self.subscriptions.tolist()):
            index.insert(number, (left, lower, width, height))
        return index

    def _r_tree(self) -> GrowingRTree:
        tree = GrowingRTree()
        for number, (left, lower, width, height) in enumerate(self.subscriptions.tolist()):
            tree.insert(number, (left, lower, left + width, lower + height))
        return tree

    def ask(self, index: Own, events: range) -> Ask:
        points = self.points[events.start : events.stop]
        if isinstance(index, ChangingVCR):
            return lambda: index.searched(points)
        places = points.astype(np.float64)
        return lambda: index.searched(places)

    def nbytes(self, index: Own) -> int:
        return index.nbytes


def rectangles(
    *,
    subscriptions: int,
    width: int = 300,
    height: int = 200,
    widest: int = 40,
    highest: int = 20,
    alpha: float = 0.9,
    beta: float = 0.1,
    closed: bool = False,
    events: int = 4096,
    seed: int = 1,
) -> Rectangles | ClosedRectangles:
    """`alpha` of the corners, and of the events, lie in the middle `beta` of an integer map.

    A rectangle has a width of 1 to `widest`, and a height of 1 to `highest`. If it is closed, it ends at the edge of
    the map.
    """
    random = np.random.default_rng(seed)
    corners = places(random, subscriptions, (width, height), alpha, beta)
    sizes = random.integers(1, [widest + 1, highest + 1], (subscriptions, 2))
    points = places(random, events, (width, height), alpha, beta)
    if closed:
        sizes = np.minimum(sizes, np.array([width, height]) - corners)
        return ClosedRectangles(np.hstack([corners, sizes]), points, (width, height))
    starts = 2 * np.arange(subscriptions + 1)
    chosen = np.tile(np.array([0, 1], np.int32), subscriptions)
    lows, highs = corners.reshape(-1).astype(float), (corners + sizes - 1).reshape(-1).astype(float)
    rows = [{"x": float(x), "y": float(y)} for x, y in points.tolist()]
    return Rectangles(ranges(["x", "y"], starts, chosen, lows, highs), rows)


def places(
    random: np.random.Generator, count: int, sides: tuple[int, int], alpha: float, beta: float
) -> NDArray[np.int64]:
    """(count, 2) corners or points, `alpha` of them in the middle `beta`, which has the proportions of the map."""
    drawn = random.random((count, 2))
    inside = random.random(count) < alpha
    middle = np.sqrt(beta)
    drawn[inside] = (1 - middle) / 2 + middle * drawn[inside]
    found: NDArray[np.int64] = (drawn * sides).astype(np.int64)
    return found
