"""What is asked of events that no kernel answers? Conditions that are indexed in blocks, and what they are numbered.

Who finds out which of them are TRUE of an event puts that among its attributes, before it is matched.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch, Wanted
from tocsin.columns.events.readings import inserted
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
    """Conditions in a few blocks, which are merged as they double: more may come, none goes. Many threads may ask."""

    def __init__(self, make: Callable[[Sequence[str], int], Made]) -> None:
        self._make = make
        self._held: tuple[Made, ...] = ()
        self.renew_locks()
        renewed(self)

    def renew_locks(self) -> None:
        self._lock = threading.Lock()

    def of(self, names: Sequence[str]) -> tuple[Made, ...]:
        """Blocks of all conditions. Cost: each is indexed again as often as their number doubles."""
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
    """The blocks of what is asked, kept beside what is wanted."""
    kept: Blocks[Made] = wanted.kept.get(key) or wanted.kept.setdefault(key, Blocks(make))
    return kept.of(names)


def with_truths(
    batch: EventBatch,
    wanted: Wanted,
    asked: Sequence[str],
    owners: NDArray[np.int64],
    conditions: NDArray[np.int64],
    truths: NDArray[np.bool_],
) -> EventBatch:
    """The batch, of whose events `owners` some of the conditions that are `asked` are TRUE or FALSE."""
    order = np.argsort(owners, kind="stable")
    distinct, which = np.unique(conditions[order], return_inverse=True)
    numbers, names = _numbers_of(batch, [asked[condition] for condition in distinct.tolist()], wanted)
    kinds = np.full(len(order), codes.BOOLEAN, np.uint8)
    arrays = inserted(batch.arrays, owners[order], numbers[which], kinds, truths[order].astype(np.int64))
    return replace(batch, arrays=arrays, attributes=names)


def _numbers_of(batch: EventBatch, names: Sequence[str], wanted: Wanted) -> tuple[NDArray[np.int32], list[str]]:
    """The numbers of compiled names among a batch's attributes, and these with those that it did not have."""
    if batch.attributes is wanted.ordered:
        return np.array([wanted.asked[name] for name in names], np.int32), wanted.ordered
    known = {name: number for number, name in enumerate(batch.attributes)}
    numbers = [known.setdefault(name, len(known)) for name in names]
    return np.array(numbers, np.int32), list(known)
