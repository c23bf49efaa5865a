"""Chains built at once from many compiled expressions, by the literals of their covers, priced as in `access`.

On a chain a literal is tested by its masks, which can say that it is TRUE and FALSE of a range at once. Lists by
operand cannot. So subscriptions that never change are matched with events that have ranges in this way.

Cost: O(P log P) for P predicates. A batch walks the chains of its attributes, entry after entry in memory.
"""

from __future__ import annotations

import numpy as np

from tocsin.columns.arrays import frozen
from tocsin.columns.binding import Binder
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.index.boolean.access.building import literal_prices
from tocsin.index.boolean.chains.chains import ChainedView
from tocsin.index.boolean.chains.kernels import Chains, cover_all
from tocsin.index.fields.kernels.key_tables import named_attributes, needed_fields
from tocsin.index.statistics import Statistics, attribute_shares

_BLOCK = 64
"""Events that walk the chains together."""


class Chained:
    """Expressions on chains, ordered by leaf. Immutable; threads may share it.

    `compiled` must be in the form that `eager_first` gives.
    """

    def __init__(self, compiled: CompiledExpressions, statistics: Statistics | None = None) -> None:
        leaves, count = compiled.arrays, len(compiled.attributes)
        literals, owners, uncovered = cover_all(leaves, literal_prices(compiled, statistics))
        shares = attribute_shares(compiled.attributes, named_attributes(leaves, count), statistics)
        attributes = needed_fields(leaves, shares)[literals >> 1] >> 24
        order = np.lexsort((literals, attributes))
        starts = np.searchsorted(attributes[order], np.arange(count + 1))
        self._lengths = np.diff(starts)
        following = np.arange(1, len(order) + 1)
        following[starts[1:][self._lengths > 0] - 1] = -1
        heads = np.where(self._lengths > 0, starts[:-1], -1)
        columns = (heads, following, literals[order], owners[order], uncovered)
        self._always = len(uncovered)
        self._binder = Binder(compiled)
        self.view = ChainedView(compiled, self._binder, Chains(*(frozen(column, np.int32) for column in columns)))

    def share(self, batch: EventBatch) -> float:
        """The approximate share of all expressions that lie on the chains that a block of a batch's events walks."""
        some = batch.arrays.attributes[: batch.arrays.starts[min(_BLOCK, len(batch))]]
        numbers = np.unique(self._binder.bind(batch).attributes[some])
        walked = int(self._lengths[numbers[numbers >= 0]].sum()) + self._always
        return walked / max(len(self.view), 1)
