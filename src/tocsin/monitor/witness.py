"""The truth of subscriptions that do not match an event: FALSE or UNKNOWN."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.decoding import values_of
from tocsin.columns.expressions.asking import ANY, types_of
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.programs import leaf_places
from tocsin.engine.delta import DeltaSnapshot
from tocsin.engine.notices import Known, known_to
from tocsin.engine.sources import SegmentSource
from tocsin.engine.store import Store
from tocsin.errors import UnknownSubscription
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Events
from tocsin.language.evaluate import evaluate
from tocsin.language.operators.over_time import (
    OverTime,
    functions_in,
    is_by,
    is_count,
    key_of,
    keyed,
    name_of,
    over_time_of,
)
from tocsin.language.stored import stored_expression
from tocsin.model.elements import Values
from tocsin.model.expression import Call, Expression
from tocsin.model.readings import is_reading, reading_of
from tocsin.model.subscription import SubscriptionId
from tocsin.model.values import Value
from tocsin.monitor.fences.accuracies import truth_within
from tocsin.segment import Segment, SegmentSnapshot, Snapshots

Needs = Sequence[tuple[str, int]]
"""Pairs of an attribute and the types of values that make some predicate TRUE or FALSE, one bit each."""


class Held:
    """The subscriptions that a witness asks about, at one moment. What was found is kept until they change."""

    def __init__(self, store: Store, snapshots: Snapshots) -> None:
        self._store, self._snapshots = store, tuple(snapshots)
        self._needs: dict[SubscriptionId, Needs | None] = {}
        self._trees: dict[SubscriptionId, Expression | None] = {}

    @classmethod
    def kept_with(cls, store: Store, snapshots: Snapshots) -> Held:
        """The subscriptions of some snapshots of a store."""
        held: Held | None = snapshots.kept.get(cls)
        if held is None:
            held = snapshots.kept[cls] = cls(store, snapshots)
        return held

    def tree(self, id: SubscriptionId) -> Expression | None:
        """The expression of a subscription; None if it was removed."""
        if id not in self._trees:
            if len(self._trees) >= _MOST_TREES:
                self._trees.clear()
            self._trees[id] = self._tree(id)
        return self._trees[id]

    def _tree(self, id: SubscriptionId) -> Expression | None:
        try:
            source, number = self._store.find(id)
        except UnknownSubscription:
            return None
        tree = stored_expression(source.text(number))
        return keyed(tree.arguments[-1], key_of(tree)) if isinstance(tree, Call) and is_by(tree) else tree

    def needs(self, id: SubscriptionId) -> Needs | None:
        """The values by which all predicates of a subscription are known; None if types alone do not tell."""
        if id not in self._needs:
            if len(self._needs) >= _MOST_NEEDS:
                self._needs.clear()
            self._needs[id] = self._needs_of(id)
        return self._needs[id]

    def _needs_of(self, id: SubscriptionId) -> Needs | None:
        try:
            source, number = self._store.find(id)
        except UnknownSubscription:
            return None
        if isinstance(source, SegmentSource):
            return LeafTypes.kept_with(source.segment).of(number)
        views = (one for one in self._snapshots if isinstance(one, DeltaSnapshot) and one.delta is source)
        return next((LeafTypes(view.expressions()).of(number) for view in views if number < len(view)), None)

    @cached_property
    def common(self) -> Mapping[str, int] | None:
        """The types, by attribute, of values by which all predicates of all subscriptions are known, or None."""
        found: dict[str, int] = {}
        for one in self._snapshots:
            if not isinstance(one, SegmentSnapshot):
                return None
            common = LeafTypes.kept_with(one.segment).common
            if common is None:
                return None
            for name, bits in common.items():
                found[name] = found.get(name, ANY) & bits
        return found or None

    @cached_property
    def known(self) -> Known:
        """The values by which some predicate of some subscription is known."""
        return known_to(self._snapshots)


_MOST_NEEDS: Final = 1 << 16
_MOST_TREES: Final = 1 << 12


class Witness:
    """The events of a source, kept until it is answered, and the truth of single subscriptions for one of them.

    `over_time` tells the value of a function of several events at a row; None if it has none, which is 0 for a count.
    """

    def __init__(self, subscriptions: Held, over_time: Callable[[int, OverTime], Value | None] | None = None) -> None:
        self._subscriptions = subscriptions
        self._over_time = over_time
        self._batches: list[EventBatch] = []
        self._places: dict[int, tuple[EventBatch, int]] = {}  # by row, filled on first use
        self._columns: dict[int, _Columns] = {}
        self._told: dict[int, list[bool]] = {}
        self._values: tuple[int, Values] | None = None  # of the last row asked about
        self._types: tuple[int, Mapping[str, int]] | None = None  # the same
        self.radii: dict[int, float] = {}  # by row, within how many metres the event's places are certain

    def add(self, batches: Sequence[EventBatch]) -> None:
        """Record some events."""
        self._batches += batches

    def truth(self, row: int, name: SubscriptionId) -> bool | None:
        """The truth of a subscription for an event that it does not match; FALSE if it was removed.

        Cost: nothing if the event has the values that all subscriptions need; a microsecond per predicate if types
        alone tell; otherwise an evaluation.
        """
        if row in self.radii:
            return self.truth_around(row, name)
        if self._tells_all(row):
            return False
        needs = self._subscriptions.needs(name)
        if needs is not None:
            types = self._types_of(row)
            if all(types.get(attribute, 0) & wanted for attribute, wanted in needs):
                return False  # all of its predicates are known
        tree = self._subscriptions.tree(name)
        return False if tree is None else evaluate(tree, self._with_values_over_time(row, tree))

    def _with_values_over_time(self, row: int, tree: Expression) -> Values:
        """The values of an event, with those of functions of several events that a condition asks for."""
        values = self._values_of(row)
        if self._over_time is None:
            return values
        found = {name_of(one): self._over_time(row, one) for one in functions_in(tree)}
        return {**values, **{name: value for name, value in found.items() if value is not None}}

    def truth_around(self, row: int, name: SubscriptionId) -> bool | None:
        """The truth of a subscription for all places that an event may mean; UNKNOWN if it differs between them."""
        tree = self._subscriptions.tree(name)
        return False if tree is None else truth_within(tree, self._values_of(row), self.radii[row])

    def is_known(self, row: int) -> bool:
        """Whether an event has a value that makes some predicate of some subscription TRUE or FALSE."""
        known = self._subscriptions.known
        if known.always or self._tells_all(row):
            return True
        asked = known.types
        if any(asked.get(name, 0) & bits for name, bits in self._types_of(row).items()):
            return True
        batch, place = self._place(row)
        return any(
            asked.get(name, 0) == ANY and bool(np.isin(place, lists.events)) for name, lists in batch.elements.items()
        )

    def _tells_all(self, row: int) -> bool:
        """Whether an event has values that make every predicate of every subscription TRUE or FALSE."""
        common = self._subscriptions.common
        if common is None:
            return False
        batch, place = self._place(row)
        if len(batch) <= _FEW:
            types = self._types_of(row)
            return all(types.get(name, 0) & bits for name, bits in common.items())
        told = self._told.get(id(batch))
        if told is None:
            told = self._told[id(batch)] = _tell_all(batch, common)
        return told[place]

    def _place(self, row: int) -> tuple[EventBatch, int]:
        if self._batches:
            for batch in self._batches:
                self._places.update((row, (batch, place)) for place, row in enumerate(batch.rows.tolist()))
            self._batches = []
        return self._places[row]

    def _values_of(self, row: int) -> Values:
        if self._values is None or self._values[0] != row:
            self._values = row, values_of(*self._place(row))
        return self._values[1]

    def _types_of(self, row: int) -> Mapping[str, int]:
        """The types of an event's values, by attribute; two for a list that is a place."""
        if self._types is None or self._types[0] != row:
            batch, place = self._place(row)
            columns = self._columns.get(id(batch))
            if columns is None:
                columns = self._columns[id(batch)] = _Columns.of(batch)
            span = slice(columns.starts[place], columns.starts[place + 1])
            self._types = row, dict(zip(columns.names[span], columns.types[span], strict=True))
        return self._types[1]


class _Columns(NamedTuple):
    """The entries of a batch as Python lists. E events, N entries."""

    starts: list[int]  # (E + 1,)
    names: list[str]  # (N,)
    types: list[int]  # (N,) one bit; two for a list that is a place; 0 for an untyped value

    @classmethod
    def of(cls, batch: EventBatch) -> _Columns:
        arrays = batch.arrays
        names = [batch.attributes[number] for number in arrays.attributes.tolist()]
        types = _types_of_few(arrays) if len(batch) <= _FEW else _types_of(batch).tolist()
        return cls(arrays.starts.tolist(), names, types)


_FEW: Final = 8
"""For up to this many events, the overhead of NumPy's calls exceeds their work."""


def _types_of_few(arrays: Events) -> list[int]:
    """As `_types_of`, one entry after the other."""
    boxes, found = arrays.list_boxes, []
    for kind, payload in zip(arrays.types.tolist(), arrays.payloads.tolist(), strict=True):
        bits = 0 if kind == codes.UNTYPED else 1 << kind
        found.append(bits | 1 << codes.GEOMETRY if kind == codes.LIST and boxes[payload] >= 0 else bits)
    return found


def _types_of(batch: EventBatch) -> NDArray[np.int64]:
    """(N,) the type of each entry as a bit; two for a list that is a place; 0 for an untyped value."""
    arrays = batch.arrays
    bits = np.int64(1) << arrays.types.astype(np.int64)
    bits[arrays.types == codes.UNTYPED] = 0
    lists = np.flatnonzero(arrays.types == codes.LIST)
    are_places = arrays.list_boxes[arrays.payloads[lists]] >= 0
    bits[lists[are_places]] |= 1 << codes.GEOMETRY
    return bits


def _tell_all(batch: EventBatch, wanted: Mapping[str, int]) -> list[bool]:
    """Which events have, for each of some attributes, a value of one of its types."""
    arrays, types = batch.arrays, _types_of(batch)
    owners = np.repeat(np.arange(len(batch)), np.diff(arrays.starts))
    told = np.ones(len(batch), bool)
    numbers = {name: number for number, name in enumerate(batch.attributes)}
    for name, bits in wanted.items():
        has = np.zeros(len(batch), bool)
        if name in numbers:
            has[owners[(arrays.attributes == numbers[name]) & (types & bits != 0)]] = True
        told &= has
    found: list[bool] = told.tolist()
    return found


class LeafTypes:
    """The types of values by which the predicates of compiled expressions are known."""

    def __init__(self, compiled: CompiledExpressions) -> None:
        self._arrays, self._names = compiled.arrays, compiled.attributes

    @classmethod
    def kept_with(cls, segment: Segment) -> LeafTypes:
        """The types for a segment's expressions, computed on first use."""
        kept: LeafTypes = segment.kept.get(cls, lambda: cls(segment.part().compiled))
        return kept

    @cached_property
    def common(self) -> Mapping[str, int] | None:
        """The types, by attribute, by which all predicates are known; None if types alone do not tell."""
        asked = self._asked(self._arrays.program)
        if asked is None:
            return None
        attributes, bits = asked
        types = np.full(len(self._names), ANY, np.int64)
        np.bitwise_and.at(types, attributes, bits)
        return {self._names[number]: int(types[number]) for number in np.unique(attributes).tolist()}

    @cached_property
    def _counts(self) -> NDArray[np.bool_]:
        """(A,) which attributes count events of an object. Every object has such a value, be it 0."""
        readings = map(reading_of, self._names)
        return np.array([one.is_over_time and is_count(over_time_of(one)) for one in readings], bool)

    def of(self, number: int) -> Needs | None:
        """The needs of one expression; None if types alone do not tell."""
        first, stop = self._arrays.program_starts[number : number + 2].tolist()
        asked = self._asked(self._arrays.program[first:stop])
        if asked is None:
            return None
        attributes, bits = asked
        return [(self._names[number], types) for number, types in zip(attributes.tolist(), bits.tolist(), strict=True)]

    def _asked(self, program: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64]] | None:
        """The attributes of a program's distinct leaves, and the types that each needs; None if types do not tell."""
        leaves = np.unique(program[leaf_places(program)] >> 1)
        kinds = self._arrays.leaf_kinds[leaves]
        if not ((kinds < codes.COMPARE) & (kinds != codes.ARRAY_PAIR)).all():
            return None
        attributes = self._arrays.leaf_attributes[leaves]
        is_count = self._counts[attributes]
        leaves, kinds, attributes = leaves[~is_count], kinds[~is_count], attributes[~is_count]
        if any(is_reading(self._names[number]) for number in np.unique(attributes).tolist()):
            return None
        types = types_of(kinds, self._arrays.leaf_types[leaves]) & ~_RANGED
        types = np.where(kinds == codes.INTERSECTS, types & ~(1 << codes.LIST), types)
        asks = kinds != codes.IS_NULL
        return attributes[asks], types[asks]


_RANGED = 0xFFFF << codes.RANGED
