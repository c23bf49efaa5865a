"""The Matcher over access keys and, if that costs less, tiles or keyword grids.

Each subscription lies in one structure (`choosing`), so their results only need merging. If nothing else pays, there is
only an access index. Cost: the sum of all; the smaller ones rarely take more than a microsecond an event.

Source: access predicates as in Fabret et al. 2001; a rectangle, and a region with keywords, is one on several
attributes. Tiles and token_grid are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.expressions.checks import require
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.joining import joined, subset
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.index.alive import Alive
from tocsin.index.boolean.access import CURSORS_FROM, Access
from tocsin.index.combined.choosing import BY_ACCESS, BY_RECTANGLE, BY_REGION, deal
from tocsin.index.found import Found
from tocsin.index.protocols import Arrays, Best
from tocsin.index.rectangles.tiles import TilesBuilder
from tocsin.index.spatial_text.token_grid import TokenGridBuilder
from tocsin.index.statistics import Statistics
from tocsin.kernels.answers.merging import merge_found
from tocsin.model.expression import Constant

_OTHERS: Final[dict[str, tuple[int, Callable[[], Any]]]] = {
    "rectangles.": (BY_RECTANGLE, TilesBuilder),
    "regions.": (BY_REGION, TokenGridBuilder),
}
"""The other structures: the prefix of their arrays' names, the way that leads there, and the builder."""


@dataclass(frozen=True, slots=True)
class CombinedBuilder:
    """Builds an access index, and others for subscriptions that cost less there.

    `cursors_from` is the access index's.
    """

    cursors_from: int = CURSORS_FROM

    def build(self, compiled: CompiledExpressions, statistics: Statistics | None = None) -> Access | Combined:
        """Build by the statistics, or else by estimates from the subscriptions."""
        return dealt(compiled, deal(compiled, statistics), statistics, self.cursors_from)

    def load(self, arrays: Arrays) -> Access | Combined:
        """Restore a saved index; raises `CorruptIndex`."""
        of_access = {name: array for name, array in arrays.items() if not name.startswith(tuple(_OTHERS))}
        access = Access.load(of_access, self.cursors_from)
        others = {
            prefix: build().load({n.removeprefix(prefix): array for n, array in arrays.items() if n.startswith(prefix)})
            for prefix, (_, build) in _OTHERS.items()
            if any(name.startswith(prefix) for name in arrays)
        }
        return Combined(access, others) if others else access


def dealt(
    compiled: CompiledExpressions,
    ways: NDArray[np.uint8],
    statistics: Statistics | None = None,
    cursors_from: int = CURSORS_FROM,
) -> Access | Combined:
    """Build with each expression placed as given; raises `UnsuitableIndex` if one cannot be."""
    if not ways.any():
        return Access.build(compiled, statistics, cursors_from)
    access = Access.build(_only(compiled, ways == BY_ACCESS), statistics, cursors_from)
    others = {
        prefix: build().build(_only(compiled, ways == way))
        for prefix, (way, build) in _OTHERS.items()
        if (ways == way).any()
    }
    return Combined(access, others)


def _only(compiled: CompiledExpressions, chosen: NDArray[np.bool_]) -> CompiledExpressions:
    """The chosen expressions under their numbers, with FALSE in place of all others."""
    kept = subset(compiled, np.flatnonzero(chosen).astype(np.int32))
    order = np.where(chosen, np.cumsum(chosen) - 1, len(kept))
    return joined([kept, compile_expressions([Constant(False)])], order)


class Combined:
    """The Matcher over access keys and other structures, keyed by the prefix of their arrays."""

    def __init__(self, access: Access, others: Mapping[str, Any]) -> None:
        self._access, self._others = access, others
        self._parts: list[Any] = [access, *others.values()]
        self._owners = np.zeros(len(access), np.uint8)
        taken = access.held().copy()
        self._access_finds = bool(taken.any())
        for number, one in enumerate(others.values(), 1):
            require(len(access) == len(one), f"it has {len(access)} subscriptions, but {len(one)} in another part")
            found = one.finds()
            require(not (taken & found).any(), "a subscription lies in two parts of it")
            self._owners[found] = number
            taken |= found
        self._attributes = list(dict.fromkeys(name for part in self._parts for name in part.attributes))

    @property
    def attributes(self) -> Sequence[str]:
        return self._attributes

    def __len__(self) -> int:
        return len(self._access)

    @property
    def parts(self) -> Sequence[Any]:
        """The access index, then the others."""
        return self._parts

    @property
    def owners(self) -> NDArray[np.uint8]:
        """(S,) the part that finds each; 0 for those that never hold."""
        return self._owners

    def match(self, batch: EventBatch, alive: Alive = None, best: Best | None = None) -> Found:
        parts = self._parts if self._access_finds else self._parts[1:]
        found: Found = reduce(_merged, (part.match(batch, alive, best) for part in parts))
        return found

    def expressions(self) -> CompiledExpressions:
        count = len(self)
        order = np.arange(count) + count * self._owners.astype(np.int64)
        return joined([part.expressions() for part in self._parts], order)

    def arrays(self) -> Arrays:
        others = {prefix + name: array for prefix, one in self._others.items() for name, array in one.arrays().items()}
        return {**self._access.arrays(), **others}

    def sizes(self) -> dict[str, int]:
        sizes = [part.sizes() for part in self._parts]
        return {name: sum(one[name] for one in sizes) for name in sizes[0]}

    def places(self) -> dict[str, int]:
        first, *others = (dict(part.places()) for part in self._parts)
        never = first.pop("never satisfied") - int((self._owners > 0).sum())
        found = {name: count for one in others for name, count in one.items() if name != "never satisfied"}
        return first | found | {"never satisfied": never}

    def place(self, number: int) -> str:
        place: str = self._parts[self._owners[number]].place(number)
        return place

    def best_first(self) -> str:
        names = {"rectangles.": "in rectangles", "regions.": "in regions with keywords"}
        others = " and ".join(names[prefix] for prefix in self._others)
        return f"{self._access.best_first()}; {others}, all matches first"


def _merged(one: Found, other: Found) -> Found:
    """The merged results of two parts."""
    examined, verified = one.candidates_examined + other.candidates_examined, one.verified + other.verified
    if not len(one.subscriptions) or not len(other.subscriptions):
        one = one if len(one.subscriptions) else other
        return one._replace(candidates_examined=examined, verified=verified)
    numbers = np.empty(len(one.subscriptions) + len(other.subscriptions), np.int32)
    merge_found(one.starts, one.subscriptions, other.starts, other.subscriptions, numbers)
    return Found(one.starts + other.starts, numbers, examined, verified)
