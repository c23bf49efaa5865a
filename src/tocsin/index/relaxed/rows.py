"""Dimensions as compiled rows, and the fields by which their values become codes.

All other tables are made from the rows, in a tenth of the time. So only the rows are saved.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, gathered, starts_of
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.joining import subset
from tocsin.index.fields.kernels.layouts import Fields
from tocsin.index.relaxed.dimensions import Dimensions
from tocsin.index.relaxed.kernels import layouts
from tocsin.index.relaxed.parts import RangeParts, range_parts
from tocsin.index.scored.intervals import ScoredIntervals


@dataclass(frozen=True, slots=True)
class Rows:
    """The dimensions of S subscriptions, G of them general."""

    table: layouts.Dimensions
    attributes: list[str]  # attributes that the dimensions name
    named_starts: NDArray[np.int64]  # (G + 1,)
    named: NDArray[np.int32]  # attributes that a general dimension names
    compiled: CompiledExpressions  # without expressions: the names and strings for binding events
    fields: Fields

    @property
    def subscriptions(self) -> int:
        """The number of subscriptions."""
        return len(self.table.starts) - 1

    @property
    def generals(self) -> int:
        """The number of general dimensions."""
        return len(self.named_starts) - 1

    def __len__(self) -> int:
        return len(self.table.weights)

    def by_row(self) -> NDArray[np.int32]:
        """(D, 4) the rows."""
        return self.table.rows.reshape(-1, layouts.ROW)

    def owners(self) -> NDArray[np.int32]:
        """(D,) the subscription of each dimension."""
        return np.repeat(np.arange(self.subscriptions, dtype=np.int32), np.diff(self.table.starts))

    def owners_of_generals(self) -> NDArray[np.int32]:
        """(G,) the subscription of each general dimension, by the dimension's number."""
        fields, owners = self.by_row()[:, layouts.FIELD], self.owners()
        own = np.flatnonzero((fields < 0) & (fields >= -self.generals))
        out = np.empty(self.generals, np.int32)
        out[-1 - fields[own]] = owners[own]
        return out

    def intervals(self, *, none: bool = False) -> ScoredIntervals:
        """The ranges of all dimensions, by field (or with `none` an empty set); owners are dimensions."""
        rows = self.by_row()
        own = np.flatnonzero(rows[:, layouts.FIELD] >= 0)[slice(0 if none else None)]
        lows, highs, several = rows[own, layouts.LOW], rows[own, layouts.HIGH], rows[own, layouts.MORE]
        if (several >= 0).any():
            own, lows, highs = self._spread(own, lows, highs, several)
        return ScoredIntervals.of(
            rows[own, layouts.FIELD],
            lows,
            highs,
            self.table.weights[own],
            own.astype(np.int32),
            2 * np.diff(self.fields.operand_starts),
        )

    def _spread(
        self, own: NDArray[np.int64], lows: NDArray[np.int32], highs: NDArray[np.int32], several: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
        """The same, with a dimension of several ranges repeated for each of them."""
        listed, which = self.table.ranges, several >= 0
        counts = np.ones(len(own), np.int64)
        counts[which] = listed[several[which]]
        whole, places = np.repeat(np.arange(len(own)), counts), starts_of(counts, len(own))
        within = np.arange(len(whole)) - places[whole]
        at = several[whole] + 1 + 2 * within
        lows, highs, spread = lows[whole], highs[whole], which[whole]
        lows[spread], highs[spread] = listed[at[spread]], listed[at[spread] + 1]
        return own[whole], lows, highs


def rows_of(dimensions: Dimensions) -> tuple[Rows, CompiledExpressions]:
    """Dimensions as rows, and the expressions of the general ones."""
    parts = range_parts(dimensions)
    named, _ = gathered(dimensions.named_starts, parts.general)
    rows = Rows(
        _table(dimensions, parts),
        dimensions.compiled.attributes,
        starts_of(np.diff(dimensions.named_starts)[parts.general], len(parts.general)),
        frozen(dimensions.named[named], np.int32),
        subset(parts.compiled, np.empty(0, np.int32)),
        parts.fields,
    )
    return rows, subset(dimensions.compiled, parts.general.astype(np.int32))


def _table(held: Dimensions, parts: RangeParts) -> layouts.Dimensions:
    rows = np.full((len(held), layouts.ROW), -1, np.int32)
    rows[:, layouts.FIELD] = -1 - len(parts.general)  # a dimension that can never hold
    sets, chosen = parts.sets, parts.ranges
    lengths = np.diff(sets.range_starts)
    rows[chosen, layouts.FIELD] = sets.fields
    rows[chosen, layouts.LOW] = sets.lows[sets.range_starts[:-1]]
    rows[chosen, layouts.HIGH] = sets.highs[sets.range_starts[1:] - 1]
    rows[parts.general, layouts.FIELD] = -1 - np.arange(len(parts.general))
    ranges: list[NDArray[np.int32]] = [np.empty(0, np.int32)]
    at = 0
    for place in np.flatnonzero(lengths > 1).tolist():
        own = slice(sets.range_starts[place], sets.range_starts[place + 1])
        ends = np.stack([sets.lows[own], sets.highs[own]], axis=1).reshape(-1)
        rows[chosen[place], layouts.MORE] = at
        ranges += [np.array([len(ends) // 2], np.int32), ends]
        at += 1 + len(ends)
    starts = np.searchsorted(held.owners, np.arange(held.subscriptions + 1))
    flat, listed = frozen(rows.reshape(-1), np.int32), frozen(np.concatenate(ranges), np.int32)
    return layouts.Dimensions(frozen(starts, np.int64), flat, held.weights, listed)
