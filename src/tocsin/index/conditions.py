"""Conditions that kernels do not evaluate: their indexes in blocks, and their numbers as attributes of events.

Other modules find which conditions are TRUE of an event, and add that to its attributes before it is matched.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.few import FewEvents, is_few
from tocsin.columns.events.readings import inserted
from tocsin.columns.events.wanted import Wanted
from tocsin.forking import renewed
from tocsin.kernels import codes


class Block(Protocol):
    """An index of the conditions `first` to `stop`."""

    @property
    def first(self) -> int: ...

    @property
    def stop(self) -> int: ...


Made = TypeVar("Made", bound=Block)


class Blocks(Generic[Made]):
    """Conditions in a few blocks, merged as their number doubles. Conditions are added, never removed. Thread-safe."""

    def __init__(self, make: Callable[[Sequence[str], int], Made]) -> None:
        self._make = make
        self._held: tuple[Made, ...] = ()
        self.renew_locks()
        renewed(self)

    def renew_locks(self) -> None:
        self._lock = threading.Lock()

    def of(self, names: Sequence[str]) -> tuple[Made, ...]:
        """Blocks that cover all conditions. Cost: a condition is indexed again each time their number doubles."""
        count = len(names)
        if not self._held or self._held[-1].stop < count:
            with self._lock:
                held = list(self._held)
                while held and held[-1].stop - held[-1].first <= count - held[-1].stop:
                    held.pop()
                first = held[-1].stop if held else 0
                if first < count:
                    self._held = (*held, self._make(names[first:count], first))
        return self._held


def blocks_of(
    wanted: Wanted, key: str, names: Sequence[str], make: Callable[[Sequence[str], int], Made]
) -> tuple[Made, ...]:
    """The blocks of the conditions `names`, cached in `wanted`."""
    kept: Blocks[Made] = _kept(wanted.kept, key, lambda: Blocks(make))
    return kept.of(names)


def with_truths(
    batch: EventBatch,
    wanted: Wanted,
    key: str,
    asked: Sequence[str],
    owners: NDArray[np.int64],
    conditions: NDArray[np.int64],
    truths: NDArray[np.bool_],
) -> EventBatch:
    """The batch with the truth of some of the `asked` conditions on events `owners`."""
    kinds = np.full(len(owners), codes.BOOLEAN, np.uint8)
    return with_entries(batch, wanted, key, asked, Entries(owners, conditions, kinds, truths.astype(np.int64)))


class Entries(NamedTuple):
    """Values that are added to events. N values."""

    owners: NDArray[np.int64]  # (N,) the events
    asked: NDArray[np.int64]  # (N,) number of the reading or condition among those asked for
    types: NDArray[np.uint8]  # (N,)
    payloads: NDArray[np.int64]  # (N,)


def with_entries(batch: EventBatch, wanted: Wanted, key: str, asked: Sequence[str], entries: Entries) -> EventBatch:
    """The batch with values of some of the `asked` readings or conditions.

    `key` identifies the list `asked`, which may grow at its end. Cost: linear in the values, and a sort.
    """
    numbering = numbering_of(batch, wanted)
    if is_few(batch):
        few, of_asked = FewEvents(batch), numbering.of(key, asked)[entries.asked]
        columns = entries.owners, of_asked, entries.types, entries.payloads
        for owner, attribute, kind, payload in zip(*(column.tolist() for column in columns), strict=True):
            few.add(owner, attribute, kind, payload)
        return few.batch(numbering.names)
    order = np.argsort(entries.owners, kind="stable")
    owners, numbers, types, payloads = (column[order] for column in entries)
    arrays = inserted(batch.arrays, owners, numbering.of(key, asked)[numbers], types, payloads)
    return replace(batch, arrays=arrays, attributes=numbering.names)


class _Numbering:
    """Numbers for readings and conditions, after the attributes of batches with the same list. The list only grows.

    Binders recognize the list by identity. Thread-safe.
    """

    def __init__(self, names: list[str], asked: dict[str, int] | None) -> None:
        self.names = names
        self._asked = asked  # numbers of the names that the list contains already
        self._numbers: dict[str, NDArray[np.int32]] = {}
        self.renew_locks()
        renewed(self)

    def renew_locks(self) -> None:
        self._lock = threading.Lock()

    def of(self, key: str, asked: Sequence[str]) -> NDArray[np.int32]:
        """The numbers of all `asked` names. Cost: linear in the new ones."""
        known = self._numbers.get(key)
        if known is None or len(known) < len(asked):
            with self._lock:
                known = self._numbers.get(key, np.empty(0, np.int32))
                more = [self._number(name) for name in asked[len(known) :]]
                known = self._numbers[key] = np.concatenate([known, np.array(more, np.int32)])
        return known

    def _number(self, name: str) -> int:
        if self._asked is not None:
            return self._asked[name]
        self.names.append(name)
        return len(self.names) - 1


_MOST_KEPT: Final = 8
"""The most attribute lists whose numbers are cached."""


def numbering_of(batch: EventBatch, wanted: Wanted) -> _Numbering:
    if batch.attributes is wanted.ordered:
        own: _Numbering = _kept(wanted.kept, "numbers", lambda: _Numbering(wanted.ordered, wanted.asked))
        return own
    by_names: dict[tuple[str, ...], _Numbering] = _kept(wanted.kept, "numbers behind", dict)
    for one in [*by_names.values()]:
        if one.names is batch.attributes:
            return one
    key = tuple(batch.attributes)
    found = by_names.get(key)
    if found is None:
        while len(by_names) >= _MOST_KEPT:
            by_names.pop(next(iter(by_names)), None)
        found = by_names.setdefault(key, _Numbering(list(key), None))
    return found


def _kept(kept: dict[str, Any], key: str, make: Callable[[], Any]) -> Any:
    return kept.get(key) or kept.setdefault(key, make())
