"""Events that are matched together before it is known which of them are followed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tocsin.engine.matching import Request
from tocsin.errors import RecordError
from tocsin.model.fence import FenceChange, ObjectKey, plain_key, problem_of
from tocsin.monitor.following import Matching, matches_of
from tocsin.monitor.notes import FenceNotes
from tocsin.monitor.tables import FurtherColumns
from tocsin.monitor.tracking import Tracking, note_radii, rows_of
from tocsin.monitor.trails import Trail
from tocsin.records import ObjectChunk


class MatchedAhead:
    """Events that were matched together, and are followed one after the other, in order.

    With `path`, the line to an event begins at the event before of the same object. If that one was not followed, all
    later ones of the object are matched anew.
    """

    def __init__(
        self,
        engine: Matching,
        tracking: Tracking,
        trail: Trail | None,
        records: Sequence[Mapping[str, Any]],
        notes: FenceNotes,
    ) -> None:
        followed = tracking.followed
        also = FurtherColumns(followed.time, None).attributes
        also = [*also, *([] if followed.accuracy is None else [followed.accuracy])]
        request = Request(lists=True, threads=1, event_key=followed.key, also=tuple(also), no_places=followed.no_places)
        chunk: Any = ObjectChunk(list(enumerate(records)))
        answer, self._witness = matches_of(engine.view, chunk, request, trail, notes.seen)
        note_radii(self._witness, answer.table, followed, len(also) - 1)
        self._rows = {row[0]: row for row in rows_of(answer.table, followed, notes.times)}
        self._tracking, self._trail, self._notes = tracking, trail, notes
        self._before, self._next = tracking.events, 0
        self._unsure: set[ObjectKey] = set()  # objects of which an event was not followed

    def follow(
        self, number: int, lock: threading.Lock, anew: Callable[[], Sequence[FenceChange]]
    ) -> Sequence[FenceChange]:
        """Follow one of the records, by its number; they ascend from call to call. `anew` matches and follows it alone.

        Raises `RecordError` if no object can be told from it.
        """
        if self._trail is not None:
            skipped = map(self._object_of, range(self._next, number))
            self._unsure.update(one for one in skipped if one is not None)
        self._next = number + 1
        row = self._rows.get(number)
        if row is None or self._object_of(number) in self._unsure:
            return anew()
        if row[2] is None:
            raise RecordError("the event cannot be used")
        with lock:
            return self._tracking.follow_next(row, self._before, self._witness, self._trail, self._notes.times)

    def _object_of(self, number: int) -> ObjectKey | None:
        """The object of a record; None if it cannot be told."""
        row = self._rows.get(number)
        return None if row is None or problem_of(row[1], "") else plain_key(row[1])
