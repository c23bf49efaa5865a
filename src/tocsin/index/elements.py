"""Which conditions does some element of a list fulfil? All that are asked, indexed, and matched by the elements.

A condition about any element is a boolean attribute of the event, of which subscriptions are compiled
(`model.readings`). Here events get these attributes: conditions are subscriptions, elements are events. It is TRUE
where an element fulfils the condition; FALSE, where anybody asks for that, if all elements fulfil its NOT.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch, ListElements, Wanted
from tocsin.columns.events.readings import inserted
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.forking import renewed
from tocsin.index.protocols import Matcher
from tocsin.index.registry import matcher_builder
from tocsin.kernels import codes
from tocsin.language.stored import stored_expression
from tocsin.model.expression import Expression, Not
from tocsin.model.readings import WHETHER, reading_of


def with_elements(batch: EventBatch, wanted: Wanted) -> EventBatch:
    """The batch, with the truth of what is asked of its lists' elements. Cost: nothing where nothing is asked."""
    for name, lists in batch.elements.items():
        batch = _answered(batch, lists, wanted, name)
    return replace(batch, elements={}) if batch.elements else batch


def _answered(batch: EventBatch, lists: ListElements, wanted: Wanted, name: str) -> EventBatch:
    asked = wanted.conditions[name]
    kept = wanted.kept.get(name_of_kept := f"elements of {name}") or wanted.kept.setdefault(name_of_kept, _Blocks())
    blocks = kept.of(asked)
    if not blocks:
        return batch
    elements = with_elements(lists.batch, wanted.elements[name])
    found = [one.answer(lists, elements, len(batch)) for one in blocks]
    owners = np.concatenate([one.owners for one in found])
    conditions = np.concatenate([one.conditions for one in found])
    truths = np.concatenate([one.truths for one in found])
    order = np.argsort(owners, kind="stable")
    distinct, which = np.unique(conditions[order], return_inverse=True)
    numbers, names = _numbers(batch, [asked[condition] for condition in distinct.tolist()], wanted)
    arrays = inserted(
        batch.arrays,
        owners[order],
        numbers[which],
        np.full(len(order), codes.BOOLEAN, np.uint8),
        truths[order].astype(np.int64),
    )
    return replace(batch, arrays=arrays, attributes=names)


def _numbers(batch: EventBatch, asked: Sequence[str], wanted: Wanted) -> tuple[NDArray[np.int32], list[str]]:
    """The numbers of conditions among a batch's attributes, and these with those that it did not have."""
    if batch.attributes is wanted.ordered:
        return np.array([wanted.asked[name] for name in asked], np.int32), wanted.ordered
    known = {name: number for number, name in enumerate(batch.attributes)}
    numbers = [known.setdefault(name, len(known)) for name in asked]
    return np.array(numbers, np.int32), list(known)


@dataclass(frozen=True, slots=True)
class _Truths:
    """What is TRUE or FALSE of events."""

    owners: NDArray[np.int64]
    conditions: NDArray[np.int64]
    truths: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Block:
    """Conditions `first` to `stop` on one list, indexed; of some the NOT, too. S expressions."""

    first: int
    stop: int
    matcher: Matcher
    conditions: NDArray[np.int64]  # (S,)
    is_negated: NDArray[np.bool_]  # (S,)

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
        return cls(first, first + len(names), matcher, numbers, is_negated)

    def answer(self, lists: ListElements, elements: EventBatch, events: int) -> _Truths:
        """What is TRUE or FALSE of each event with a list."""
        found = self.matcher.match(elements)
        owners = lists.owners[elements.rows[found.events]]
        of_lists = owners >= 0  # some events turned out to be bad
        owners, expressions = owners[of_lists], found.subscriptions[of_lists]
        pairs, counts = np.unique(owners * len(self.conditions) + expressions, return_counts=True)
        owners, expressions = np.divmod(pairs, len(self.conditions))
        negated = self.is_negated[expressions]
        lengths = np.bincount(lists.owners[lists.owners >= 0], minlength=events)
        keep = ~negated | (counts == lengths[owners])
        empty = lists.events[lengths[lists.events] == 0]
        no_elements = np.flatnonzero(self.is_negated)
        return _Truths(
            np.concatenate([owners[keep], np.repeat(empty, len(no_elements))]),
            np.concatenate([self.conditions[expressions[keep]], np.tile(self.conditions[no_elements], len(empty))]),
            np.concatenate([~negated[keep], np.zeros(len(empty) * len(no_elements), bool)]),
        )


class _Blocks:
    """The conditions on one list in a few blocks: more may come, none goes. Many threads may ask."""

    def __init__(self) -> None:
        self._held: tuple[_Block, ...] = ()
        self.renew_locks()
        renewed(self)

    def renew_locks(self) -> None:
        self._lock = threading.Lock()

    def of(self, names: Sequence[str]) -> tuple[_Block, ...]:
        """Blocks of all conditions. Cost: each is indexed again as often as their number doubles."""
        count = len(names)
        if not self._held or self._held[-1].stop < count:
            with self._lock:
                held = list(self._held)
                while held and held[-1].stop - held[-1].first <= count - held[-1].stop:
                    held.pop()
                first = held[-1].stop if held else 0
                if first < count:
                    self._held = (*held, _Block.of(names[first:count], first))
        return self._held
