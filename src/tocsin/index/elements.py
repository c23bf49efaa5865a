"""Conditions on the elements of lists: all of them are indexed, and matched against the elements.

A condition on any element is a boolean attribute of the event, which subscriptions are compiled against
(`model.readings`). This module computes these attributes. Conditions act as subscriptions, and elements as events. The
attribute is TRUE if an element fulfils the condition. It is FALSE, if the reading asks for that, if all elements fulfil
its NOT.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.crossing import with_crossing_shapes
from tocsin.columns.events.batch import EventBatch, ListElements
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.index.arrays import with_arrays
from tocsin.index.boolean.chains.extents import ExtentMatching
from tocsin.index.clock import with_clock
from tocsin.index.conditions import blocks_of, with_truths
from tocsin.index.found import Found
from tocsin.index.places import Gates, with_places
from tocsin.index.protocols import Matcher
from tocsin.index.registry import matcher_builder
from tocsin.index.texts import with_texts
from tocsin.index.values import Outside, with_outer_values, with_values
from tocsin.language.stored import stored_expression
from tocsin.model.expression import Expression, Not
from tocsin.model.readings import WHETHER, reading_of


def with_conditions(
    batch: EventBatch, wanted: Wanted, outside: Outside | None = None, gates: Gates | None = None
) -> EventBatch:
    """The batch with the words of its texts, its arrays, values of functions, and truths of conditions.

    `outside` has the events that the batch's events are elements of. With `gates`, the truth of conditions on places
    that cannot make a subscription hold may be left out. Cost: nothing if none are asked for.
    """
    batch = with_outer_values(with_clock(batch, wanted), wanted, outside)
    batch = with_arrays(with_texts(batch, wanted), wanted)
    lists = {
        name: _with_own_conditions(one, wanted.elements[name], batch)
        for name, one in batch.elements.items()
        if name in wanted.elements  # a batch may have been read for more subscriptions than these
    }
    batch = with_places(with_values(batch, wanted, lists), wanted, gates)
    for name, one in lists.items():
        batch = _answered(batch, one, wanted, name)
    if not batch.elements:
        return batch
    return replace(batch, elements={}, examined=batch.examined + sum(one.batch.examined for one in lists.values()))


def _with_own_conditions(lists: ListElements, wanted: Wanted, batch: EventBatch) -> ListElements:
    """The same lists of a batch, with what is asked of their elements."""
    own = with_crossing_shapes(lists.batch) if lists.batch.has_crossing_boxes else lists.batch
    outside = Outside(batch, lists.owners[own.rows])
    if batch.now is not None:
        own = replace(own, now=batch.now[outside.owners] if isinstance(batch.now, np.ndarray) else batch.now)
    return replace(lists, batch=with_conditions(own, wanted, outside))


def _answered(batch: EventBatch, lists: ListElements, wanted: Wanted, name: str) -> EventBatch:
    asked = wanted.conditions[name]
    key = f"elements of {name}"
    blocks = blocks_of(wanted, key, asked, _Block.of)
    if not blocks:
        return batch
    answers = [block.answer(lists, len(batch)) for block in blocks]
    found = [answer for answer in answers if answer is not None]
    if not found:
        return batch
    owners = np.concatenate([one.owners for one in found])
    conditions = np.concatenate([one.conditions for one in found])
    truths = np.concatenate([one.truths for one in found])
    return with_truths(batch, wanted, key, asked, owners, conditions, truths)


@dataclass(frozen=True, slots=True)
class _Truths:
    """Conditions that are TRUE or FALSE of events."""

    owners: NDArray[np.int64]
    conditions: NDArray[np.int64]
    truths: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Block:
    """Conditions `first` to `stop` on one list, indexed; for some also their NOT. S expressions."""

    first: int
    stop: int
    matcher: Matcher
    conditions: NDArray[np.int64]  # (S,)
    is_negated: NDArray[np.bool_]  # (S,)
    negations: NDArray[np.int64]  # the numbers of those that are
    extents: ExtentMatching

    @classmethod
    def of(cls, names: Sequence[str], first: int) -> _Block:
        expressions: list[Expression] = []
        conditions: list[int] = []
        for number, name in enumerate(names, first):
            reading = reading_of(name)
            tree = stored_expression(reading.rest)
            own = [tree, Not(tree)] if reading.kind == WHETHER else [tree]
            expressions.extend(own)
            conditions.extend([number] * len(own))
        numbers = np.array(conditions, np.int64)
        is_negated = np.diff(numbers, prepend=-1) == 0
        matcher = matcher_builder("access", {}).build(compile_expressions(expressions))
        return cls(
            first, first + len(names), matcher, numbers, is_negated, np.flatnonzero(is_negated), ExtentMatching()
        )

    def answer(self, lists: ListElements, events: int) -> _Truths | None:
        """Which conditions are TRUE or FALSE of each event with a list; None if all are UNKNOWN of all."""
        elements = lists.batch
        found = self.extents.match(self.matcher, elements)
        if not len(found.subscriptions) and not len(self.negations):
            return None
        if max(len(found.subscriptions), len(lists.owners)) <= _FEW_PAIRS:
            return self._truths_of_few(lists, found)
        owners = lists.owners[elements.rows[found.events]]
        of_lists = owners >= 0  # events found to be invalid have -1
        owners, expressions = owners[of_lists], found.subscriptions[of_lists]
        pairs, counts = np.unique(owners * len(self.conditions) + expressions, return_counts=True)
        owners, expressions = np.divmod(pairs, len(self.conditions))
        negated = self.is_negated[expressions]
        lengths = np.bincount(lists.owners[lists.owners >= 0], minlength=events)
        keep = ~negated | (counts == lengths[owners])
        empty = lists.events[lengths[lists.events] == 0]
        return _Truths(
            np.concatenate([owners[keep], np.repeat(empty, len(self.negations))]),
            np.concatenate([self.conditions[expressions[keep]], np.tile(self.conditions[self.negations], len(empty))]),
            np.concatenate([~negated[keep], np.zeros(len(empty) * len(self.negations), bool)]),
        )

    def _truths_of_few(self, lists: ListElements, found: Found) -> _Truths:
        """The same for a few elements, pair by pair: the overhead of NumPy's calls exceeds their work."""
        owners, numbers, counts = lists.owners.tolist(), found.subscriptions.tolist(), Counter[tuple[int, int]]()
        rows, bounds = lists.batch.rows.tolist(), found.starts.tolist()
        for place, row in enumerate(rows):
            counts.update((owners[row], number) for number in numbers[bounds[place] : bounds[place + 1]])
        lengths = Counter(owners)
        negated = self.is_negated.tolist()
        pairs = [
            (owner, number)
            for (owner, number), count in counts.items()
            if owner >= 0 and (not negated[number] or count == lengths[owner])
        ]
        empty = [event for event in lists.events.tolist() if not lengths[event]]
        pairs += [(event, number) for event in empty for number in self.negations.tolist()]
        expressions = np.array([number for _, number in pairs], np.int64)
        events = np.array([owner for owner, _ in pairs], np.int64)
        return _Truths(events, self.conditions[expressions], ~self.is_negated[expressions])


_FEW_PAIRS: Final = 128
"""Up to so many pairs of an element and a condition are counted one by one."""
