"""What a source of events says about single subscriptions, where the matches alone do not tell: FALSE or UNKNOWN."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.decoding import values_of
from tocsin.columns.expressions.asking import ANY
from tocsin.engine.notices import Known
from tocsin.kernels import codes
from tocsin.language.evaluate import Values, evaluate
from tocsin.model.expression import Expression
from tocsin.model.subscription import SubscriptionId


class Witness:
    """The events of a source, kept until it is answered, and how to evaluate a subscription on one of them.

    `tree` gives the expression of a subscription, None for one that is gone; `known` what expressions ask.
    """

    def __init__(self, tree: Callable[[SubscriptionId], Expression | None], known: Callable[[], Known]) -> None:
        self._tree, self._asked = tree, known
        self._trees: dict[SubscriptionId, Expression | None] = {}
        self._batches: list[EventBatch] = []
        self._places: dict[int, tuple[EventBatch, int]] = {}
        self._values: tuple[int, Values] | None = None  # of the row that was asked last

    def add(self, batches: Sequence[EventBatch]) -> None:
        """Take note of some events."""
        for batch in batches:
            self._batches.append(batch)
            self._places.update((row, (batch, place)) for place, row in enumerate(batch.rows.tolist()))

    def truth(self, row: int, name: SubscriptionId) -> bool | None:
        """What a subscription is of an event; FALSE where it is gone. Cost: some microseconds a predicate."""
        if name not in self._trees:
            self._trees[name] = self._tree(name)
        tree = self._trees[name]
        return False if tree is None else evaluate(tree, self._values_of(row))

    def _values_of(self, row: int) -> Values:
        if self._values is None or self._values[0] != row:
            self._values = row, values_of(*self._places[row])
        return self._values[1]

    @cached_property
    def _known(self) -> Known:
        return self._asked()

    def is_known(self, row: int) -> bool:
        """Whether an event has a value by which some predicate is TRUE or FALSE."""
        if self._known.always:
            return True
        batch, place = self._places[row]
        arrays = batch.arrays
        for entry in range(int(arrays.starts[place]), int(arrays.starts[place + 1])):
            kind = int(arrays.types[entry])
            bits = 1 << kind
            if kind == codes.LIST and arrays.list_boxes[arrays.payloads[entry]] >= 0:
                bits |= 1 << codes.GEOMETRY
            if kind != codes.UNTYPED and self._known.types.get(batch.attributes[arrays.attributes[entry]], 0) & bits:
                return True
        return any(
            self._known.types.get(name, 0) == ANY and bool(np.isin(place, lists.events))
            for name, lists in batch.elements.items()
        )
