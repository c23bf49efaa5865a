"""Ids of a window's subscriptions by slot, with ranks that ascend with the ids.

Ranks leave gaps, so that a new subscription fits between two others. When a gap is full, all subscriptions get new
ranks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.errors import RecordError, UnknownSubscription
from tocsin.model.subscription import Reject, SubscriptionId, shown

_LAST_RANK: Final = 1 << 37
_GAP: Final = 1 << 12
_RECENT: Final = 4096
"""At most so many recent ids are kept apart, because inserting into a short list is fast."""


Rank: TypeAlias = Callable[["NDArray[np.int32]", "NDArray[np.int64]"], None]
"""Assigns ranks to slots."""


class Names:
    """The ids, all strings or all integers, and their slots."""

    def __init__(self) -> None:
        self.are_strings = True
        self._slots: dict[Any, int] = {}
        self._ids: list[Any] = []
        self._sorted = _Ranked([], [])
        self._recent = _Ranked([], [])
        self._column: pa.Array | None = None

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, name: object) -> bool:
        return name in self._slots

    def __iter__(self) -> Iterator[SubscriptionId]:
        """The ids, ascending."""
        return iter(sorted(self._slots))

    def slot(self, name: SubscriptionId) -> int:
        """The slot of a subscription; raises `UnknownSubscription`."""
        found = self._slots.get(name) if isinstance(name, str | int) and not isinstance(name, bool) else None
        if found is None:
            raise UnknownSubscription(f"there is no subscription {shown(name)}")
        return found

    def check_kind(self, name: SubscriptionId) -> None:
        """Raise `RecordError` if the other ids are of another type."""
        if self._slots and isinstance(name, str) != self.are_strings:
            others = "strings" if self.are_strings else "integers"
            raise RecordError(f"{shown(name)} is of another type than the ids before, which are {others}", "id")

    def free(
        self, names: Sequence[SubscriptionId], rows: Sequence[int], *, replace: bool
    ) -> tuple[list[int], list[Reject]]:
        """The places of acceptable names, and rejects for the others. With `replace` the last of equal names counts."""
        places: dict[SubscriptionId, int] = {}
        rejects = []
        for place, (name, row) in enumerate(zip(names, rows, strict=True)):
            try:
                self.check_kind(name)
                if type(name) is not type(names[0]):
                    raise RecordError(f"{shown(name)} is of another type than the ids before", "id")
                if not replace and (name in places or name in self._slots):
                    raise RecordError(f"the id {shown(name)} exists already", "id")
                places[name] = place
            except RecordError as error:
                rejects.append(Reject(row, name, error.field, error.reason))
        return sorted(places.values()), rejects

    def plan(self, names: Sequence[SubscriptionId], slots: NDArray[np.int32]) -> Naming:
        """Choose ranks for new names of some slots; if gaps are full, all slots get new ranks.

        Nothing counts before `assign`.
        """
        if not self._slots:  # earlier ids may have been of another type
            self._ids, self.are_strings = [], isinstance(names[0], str)
            self._sorted, self._recent = _Ranked([], []), _Ranked([], [])
        places = slots.tolist()
        self._ids += [None] * (max(places, default=-1) + 1 - len(self._ids))
        given = dict(zip(names, places, strict=True))
        between: list[int | None] = [None]
        if len(names) + len(self._recent.names) <= _RECENT:
            between = [self._rank_between(name) for name in names]
        if None not in between:
            return Naming(given, slots, np.array(between, np.int64), self._sorted, self._recent)
        return self._rank_all(given)

    def assign(self, naming: Naming, rank: Rank) -> None:
        """Give slots their names and ranks. May be repeated."""
        self._column = None
        rank(naming.slots, naming.ranks)
        for name, slot in naming.names.items():
            self._ids[slot] = name
        self._slots.update(naming.names)
        self._sorted, self._recent = naming.sorted, naming.recent

    def remove(self, name: SubscriptionId) -> None:
        """Remove an id. Its slot keeps the name while changes may still refer to it. May be repeated."""
        self._slots.pop(name, None)

    def column(self, slots: NDArray[np.int32]) -> pa.Array:
        """The ids of slots as a column; strings become a dictionary column."""
        if self._column is None:
            kind = pa.string() if self.are_strings else pa.int64()
            self._column = pa.array(self._ids, kind)
        if pa.types.is_integer(self._column.type):
            return self._column.take(pa.array(slots))
        return pa.DictionaryArray.from_arrays(pa.array(slots), self._column)

    def of(self, slots: NDArray[np.int32]) -> list[SubscriptionId]:
        """The ids of slots."""
        return [self._ids[slot] for slot in slots.tolist()]

    # Ranks

    def _rank_between(self, name: Any) -> int | None:
        """A rank between those of a new id's neighbours; None if the gap is full."""
        at, recent = self._sorted.find(name), self._recent.find(name)
        known = self._sorted.rank_of(name, at) or self._recent.rank_of(name, recent)
        if known:
            return known
        low = max(self._sorted.before(at), self._recent.before(recent))
        high = min(self._sorted.behind(at), self._recent.behind(recent))
        rank = min((low + high) // 2, low + _GAP)
        if not low < rank < high:
            return None
        self._recent.names[recent:recent], self._recent.ranks[recent:recent] = [name], [rank]
        return rank

    def _rank_all(self, given: dict[Any, int]) -> Naming:
        """New ranks for all ids, equally spaced."""
        slots = {**self._slots, **given}
        names = sorted(slots)
        step = min(_GAP, _LAST_RANK // (len(names) + 1))
        ranks = step * np.arange(1, len(names) + 1)
        places = np.fromiter(map(slots.__getitem__, names), np.int32, len(names))
        return Naming(given, places, ranks, _Ranked(names, ranks.tolist()), _Ranked([], []))


class Naming(NamedTuple):
    """Names of slots with their ranks, before they are assigned."""

    names: dict[Any, int]  # the slot of each
    slots: NDArray[np.int32]  # those that get a rank
    ranks: NDArray[np.int64]
    sorted: _Ranked
    recent: _Ranked


class _Ranked:
    """Sorted ids with their ranks."""

    def __init__(self, names: list[Any], ranks: list[int]) -> None:
        self.names, self.ranks = names, ranks

    def find(self, name: Any) -> int:
        return bisect_left(self.names, name)

    def rank_of(self, name: Any, at: int) -> int | None:
        return self.ranks[at] if at < len(self.names) and self.names[at] == name else None

    def before(self, at: int) -> int:
        return self.ranks[at - 1] if at else 0

    def behind(self, at: int) -> int:
        return self.ranks[at] if at < len(self.ranks) else _LAST_RANK
