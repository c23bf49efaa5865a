"""Events that are matched together before it is known which of them are followed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tocsin.engine.matching import Request
from tocsin.errors import RecordError
from tocsin.model.fence import FenceChange, ObjectKey, plain_key, problem_of
from tocsin.monitor.fences.following import Matching, matches_of
from tocsin.monitor.fences.notes import FenceNotes
from tocsin.monitor.fences.tables import FurtherColumns
from tocsin.monitor.fences.tracking import Tracking, rows_of
from tocsin.monitor.fences.trails import Trail
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
        chunk: Any = ObjectChunk(list(enumerate(records)))
        also = FurtherColumns(followed.time, None).attributes
        answer, self._witness = matches_of(engine.view, chunk, followed, also, trail, Request(threads=1), notes.seen)
        self._rows = {row[0]: row for row in rows_of(answer.table, followed, notes.times)}
        self._tracking, self._trail, self._notes = tracking, trail, notes
        self._before, self._next = tracking.events, 0
        self._unsure: set[ObjectKey] = set()  # objects of which an event was not followed

    def covers(self, number: int) -> bool:
        """Whether a record may be followed as it was matched, by its number; they ascend from call to call."""
        if self._trail is not None:
            skipped = map(self._object_of, range(self._next, number))
            self._unsure.update(one for one in skipped if one is not None)
        self._next = number + 1
        return number in self._rows and self._object_of(number) not in self._unsure

    def follow(self, number: int) -> list[FenceChange]:
        """Follow a record that is covered; raises `RecordError` if no object can be told from it."""
        row = self._rows[number]
        if row[2] is None:
            raise RecordError("the event cannot be used")
        return self._tracking.follow_next(row, self._before, self._witness, self._trail, self._notes.times)

    def _object_of(self, number: int) -> ObjectKey | None:
        """The object of a record; None if it cannot be told."""
        row = self._rows.get(number)
        return None if row is None or problem_of(row[1], "") else plain_key(row[1])
