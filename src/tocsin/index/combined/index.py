"""Which expressions does this event satisfy? By access keys, and those whose rectangle leads to less by tiles.

A subscription lies in one of the two (`choosing`), so what both find is merged, and no more. Where no rectangle pays
there is but an access index. Cost: that of both; the smaller is rarely more than a microsecond an event.

Source: access predicates as in Fabret et al. 2001, of which a rectangle is one on two attributes; tiles are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.expressions.checks import require
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.joining import joined
from tocsin.columns.expressions.subsets import subset
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.index.alive import Alive
from tocsin.index.boolean.access import CURSORS_FROM, Access
from tocsin.index.combined.choosing import go_by_rectangle
from tocsin.index.combined.kernels import merge_found
from tocsin.index.found import Found
from tocsin.index.protocols import Arrays, Best
from tocsin.index.rectangles.tiles import TilesBuilder
from tocsin.index.rectangles.tiles.index import OverTiles
from tocsin.index.statistics import Statistics
from tocsin.model.expression import Constant

_PREFIX: Final = "rectangles."
"""Of the names of arrays that are the tiles'."""


@dataclass(frozen=True, slots=True)
class CombinedBuilder:
    """Builds an access index, and tiles for those that cost less there; `cursors_from` is the access index's."""

    cursors_from: int = CURSORS_FROM

    def build(self, compiled: CompiledExpressions, statistics: Statistics | None = None) -> Access | Combined:
        """By what the statistics say, or else the subscriptions."""
        return dealt(compiled, go_by_rectangle(compiled, statistics), statistics, self.cursors_from)

    def load(self, arrays: Arrays) -> Access | Combined:
        """As it was saved; raises `CorruptIndex`."""
        of_tiles = {name.removeprefix(_PREFIX): part for name, part in arrays.items() if name.startswith(_PREFIX)}
        access = Access.load(
            {name: part for name, part in arrays.items() if not name.startswith(_PREFIX)}, self.cursors_from
        )
        return Combined(access, TilesBuilder().load(of_tiles)) if of_tiles else access


def dealt(
    compiled: CompiledExpressions,
    by_rectangle: NDArray[np.bool_],
    statistics: Statistics | None = None,
    cursors_from: int = CURSORS_FROM,
) -> Access | Combined:
    """Expressions, some of which go by their rectangle; raises `UnsuitableIndex` where one of them has none."""
    if not by_rectangle.any():
        return Access.build(compiled, statistics, cursors_from)
    access = Access.build(_only(compiled, ~by_rectangle), statistics, cursors_from)
    return Combined(access, TilesBuilder().build(_only(compiled, by_rectangle)))


def _only(compiled: CompiledExpressions, chosen: NDArray[np.bool_]) -> CompiledExpressions:
    """The chosen expressions under their numbers; FALSE takes the place of all others."""
    kept = subset(compiled, np.flatnonzero(chosen).astype(np.int32))
    order = np.where(chosen, np.cumsum(chosen) - 1, len(kept))
    return joined([kept, compile_expressions([Constant(False)])], order)


class Combined:
    """The Matcher over both."""

    def __init__(self, access: Access, tiles: OverTiles) -> None:
        self._access, self._tiles = access, tiles
        self._in_tiles = np.zeros(len(tiles), bool)
        self._in_tiles[tiles.held.groups.members] = True
        require(len(access) == len(tiles), f"it has {len(access)} subscriptions, and {len(tiles)} in rectangles")
        require(not (access.held() & self._in_tiles).any(), "a subscription lies under access keys and in a rectangle")
        self._attributes = list(dict.fromkeys([*access.attributes, *tiles.attributes]))

    @property
    def attributes(self) -> Sequence[str]:
        return self._attributes

    def __len__(self) -> int:
        return len(self._access)

    @property
    def in_tiles(self) -> NDArray[np.bool_]:
        """(S,) which are found by their rectangle."""
        return self._in_tiles

    def match(self, batch: EventBatch, alive: Alive = None, best: Best | None = None) -> Found:
        one, other = self._access.match(batch, alive, best), self._tiles.match(batch, alive, best)
        examined, verified = one.candidates_examined + other.candidates_examined, one.verified + other.verified
        if not len(one.subscriptions) or not len(other.subscriptions):
            one = one if len(one.subscriptions) else other
            return one._replace(candidates_examined=examined, verified=verified)
        numbers = np.empty(len(one.subscriptions) + len(other.subscriptions), np.int32)
        merge_found(one.starts, one.subscriptions, other.starts, other.subscriptions, numbers)
        return Found(one.starts + other.starts, numbers, examined, verified)

    def expressions(self) -> CompiledExpressions:
        count = len(self)
        order = np.arange(count) + count * self._in_tiles
        return joined([self._access.expressions(), self._tiles.expressions()], order)

    def arrays(self) -> Arrays:
        of_tiles = {_PREFIX + name: array for name, array in self._tiles.arrays().items()}
        return {**self._access.arrays(), **of_tiles}

    def sizes(self) -> dict[str, int]:
        sizes, others = self._access.sizes(), self._tiles.sizes()
        return {name: size + others[name] for name, size in sizes.items()}

    def places(self) -> dict[str, int]:
        places, others = dict(self._access.places()), self._tiles.places()
        never = places.pop("never satisfied") - int(self._in_tiles.sum())
        rectangles = {name: count for name, count in others.items() if name != "never satisfied"}
        return places | rectangles | {"never satisfied": never}

    def place(self, number: int) -> str:
        return self._tiles.place(number) if self._in_tiles[number] else self._access.place(number)

    def best_first(self) -> str:
        return f"{self._access.best_first()}; of those in rectangles, all matches"
