"""Rooms of answers, in bytes: a larger answer ends early, and says after which match.

The sizes of payloads are known before these are read, so what does not fit takes no memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.errors import InvalidInput
from tocsin.index import Found
from tocsin.model.subscription import SubscriptionId
from tocsin.segment import Snapshots

_MATCH_BYTES: Final = 64
"""Bytes of a match as JSON, besides its id and its payload."""
_MOST_MATCH_BYTES: Final = 512
"""The same with the longest id of the service."""


class Place(NamedTuple):
    """A match in an answer, by the row of its event."""

    row: int
    subscription: SubscriptionId


class Room:
    """The bytes that an answer has room for. It has one match at least, however large that is.

    `after` leaves out the matches of the first event up to the one with this id. `beside` is what each match takes
    besides its id and payload. An answer has at most `most` matches. `end` is the last match of an answer that ends
    early, and None if all fit.
    """

    def __init__(
        self, size: int, after: SubscriptionId | None = None, beside: int = 0, most: int | None = None
    ) -> None:
        self._left, self._after, self._beside, self._most = size, after, beside, most
        self._last: Place | None = None
        self.end: Place | None = None
        self.base = 0  # the row of the first event of the next chunk

    def cut(self, snapshots: Snapshots, batches: Sequence[EventBatch], answers: Sequence[Found]) -> list[Found]:
        """The matches of a chunk of events that fit behind those of the chunks before it."""
        if self.end is not None:
            return [_chosen(found, np.zeros(len(found.subscriptions), bool)) for found in answers]
        if self._after is not None:
            answers = [self._behind(snapshots, *pair) for pair in zip(batches, answers, strict=True)]
            self._after = None
        places = np.concatenate([np.empty(0, np.int64), *(found.subscriptions for found in answers)])
        if not len(places):
            return list(answers)
        rows = np.concatenate([batch.rows[found.events] for batch, found in zip(batches, answers, strict=True)])
        order = np.argsort(rows, kind="stable")
        ends = np.cumsum(match_bytes(snapshots, places, self._beside)[order])
        count = int(np.searchsorted(ends, self._left, "right"))
        if self._last is None:
            count = max(count, 1)
        if self._most is not None:
            count = min(count, self._most)
            self._most -= count
        if count:
            last = order[count - 1]
            self._left -= int(ends[count - 1])
            self._last = Place(self.base + int(rows[last]), snapshots.names_of(places[[last]])[0])
        if count == len(order):
            return list(answers)
        self.end = self._last
        fits = np.zeros(len(places), bool)
        fits[order[:count]] = True
        stops = np.cumsum([len(found.subscriptions) for found in answers])[:-1]
        return [_chosen(found, part) for found, part in zip(answers, np.split(fits, stops), strict=True)]

    def _behind(self, snapshots: Snapshots, batch: EventBatch, found: Found) -> Found:
        """The matches without those of row 0 up to the one that an earlier answer ended with."""
        first = np.flatnonzero(batch.rows == 0)
        if not len(first):
            return found
        start, stop = found.starts[first[0]], found.starts[first[0] + 1]
        ids = snapshots.ids_of(found.subscriptions[start:stop])
        place = pc.index(ids, pa.scalar(self._after, ids.type)).as_py()
        if place < 0 and found.scores is not None:
            raise InvalidInput(f"{self._after!r} is not among the matches any more; ask again without after")
        done = pc.sum(pc.less_equal(ids, pa.scalar(self._after, ids.type))).as_py() or 0 if place < 0 else place + 1
        fits = np.ones(len(found.subscriptions), bool)
        fits[start : start + done] = False
        return _chosen(found, fits)


class Rooms:
    """A room of the same size for each event of a batch. `ends` has the last matches of those that end early.

    `larger` gets the row of an event whose matches do not fit, and returns the room that it has after all.
    """

    def __init__(self, size: int, larger: Callable[[int], int] | None = None) -> None:
        self._size, self._larger = size, larger
        self.ends: dict[int, SubscriptionId] = {}

    def cut(self, snapshots: Snapshots, batches: Sequence[EventBatch], answers: Sequence[Found]) -> list[Found]:
        """The matches of each event that fit."""
        return [self._cut(snapshots, *pair) for pair in zip(batches, answers, strict=True)]

    def _cut(self, snapshots: Snapshots, batch: EventBatch, found: Found) -> Found:
        places = found.subscriptions
        if int(snapshots.payload_bytes(places).sum()) + len(places) * _MOST_MATCH_BYTES <= self._size:
            return found
        sums = np.concatenate([[0], np.cumsum(match_bytes(snapshots, places))])
        fits = np.ones(len(places), bool)
        for event in np.flatnonzero(np.diff(sums[found.starts]) > self._size).tolist():
            start, stop, row = found.starts[event], found.starts[event + 1], int(batch.rows[event])
            size = self._size if self._larger is None else self._larger(row)
            last = max(int(np.searchsorted(sums, sums[start] + size, "right")) - 1, start + 1)
            if last < stop:
                fits[last:stop] = False
                self.ends[row] = snapshots.names_of(places[[last - 1]])[0]
        return _chosen(found, fits)


def match_bytes(snapshots: Snapshots, places: NDArray[Any], beside: int = 0) -> NDArray[np.int64]:
    """The bytes of each match as JSON, about."""
    sizes = snapshots.payload_bytes(places) + (_MATCH_BYTES + beside)
    ids = snapshots.ids_of(places)
    if not pa.types.is_integer(ids.type):
        sizes += pc.binary_length(ids).to_numpy(zero_copy_only=False)
    return sizes


def _chosen(found: Found, fits: NDArray[np.bool_]) -> Found:
    """Some of the matches."""
    starts = np.concatenate([[0], np.cumsum(fits)])[found.starts]
    scores = None if found.scores is None else found.scores[fits]
    return found._replace(starts=starts, subscriptions=found.subscriptions[fits], scores=scores)
