"""The sources of an engine, with one lock for changes that take microseconds and one root for every reader.

Readers hold the root of one moment, and writers never wait for them. Slow work (building and merging segments) runs on
sources that change only by removals and new scores. A journal records those changes, and `install` replays them on the
result.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.columns.events.wanted import Wanted
from tocsin.columns.expressions.recipes import RecipeBook
from tocsin.engine.delta import Delta
from tocsin.engine.only import Choice
from tocsin.engine.sources import SegmentSource, Source
from tocsin.errors import DuplicateSubscription, RecordError, UnknownSubscription
from tocsin.forking import awaited, renewed
from tocsin.index import Recent
from tocsin.model.subscription import SubscriptionId, shown
from tocsin.records import Parsed
from tocsin.segment import Segment, Snapshot, Snapshots
from tocsin.segment.ids import Ids, as_ids
from tocsin.segment.ordering import ranks_of
from tocsin.segment.scores import MOST_CHANGED
from tocsin.segment.segment import Ranks
from tocsin.spelling import only_in_python


@dataclass(slots=True, eq=False)
class Moment:
    """The snapshots between two changes, and how many readers use them."""

    snapshots: Snapshots
    readers: int = 0


class Reading:
    """A reader of a store. One that is made for each event is twice as fast as a generator."""

    __slots__ = ("_moment", "_store")

    def __init__(self, store: Store) -> None:
        self._store = store

    def __enter__(self) -> Snapshots:
        self._moment = self._store.hold()
        return self._moment.snapshots

    def __exit__(self, *raised: object) -> None:
        self._store.release(self._moment)


class Store:
    """The sources of an engine. Every public method is thread-safe.

    `most_changed` is an option of its segments' `Scores`. `recent` makes a delta's structure that changes in place.
    """

    def __init__(
        self,
        segments: Sequence[SegmentSource] = (),
        *,
        most_changed: int = MOST_CHANGED,
        recent: Callable[[], Recent | None] = lambda: None,
    ) -> None:
        self.lock = awaited(threading.Lock())
        self.book = RecipeBook()
        self.wanted = Wanted(name for source in segments for name in source.segment.matcher.attributes)
        self._renews = False  # whether deltas may use another `wanted` than this one
        self.segments: list[SegmentSource] = list(segments)
        self._most_changed = most_changed
        self.sealed: list[Delta] = []
        self._recent = recent
        self.delta = Delta(self.book, self.wanted, recent())
        self.kind: type | None = _kind_of(segments)  # type of the ids: str or int; None while there are none
        self._put_ranks(self.segments, _ranks(segments))
        self._now: Moment | None = None
        self.renew_locks()
        renewed(self)

    def renew_locks(self) -> None:
        """A forked child starts without a merge; a merge in its parent continues there."""
        self.structure = threading.RLock()  # held while the list of segments is changed, or read in order to change it
        self._journal: list[tuple[Source, int]] | None = None  # changes since a merge began

    def __len__(self) -> int:
        with self.lock:
            return sum(len(source) for source in self._sources())

    def _sources(self) -> list[Source]:
        return [*self.segments, *self.sealed, self.delta]

    # Changes

    def add(self, parsed: Parsed, *, replace: bool) -> int:
        """Add a subscription; returns how many subscriptions the delta holds."""
        with self.lock:
            self.check_kind(parsed.id)
            before = self._find(parsed.id)
            if before is not None and not replace:
                raise DuplicateSubscription(
                    f"a subscription {shown(parsed.id)} exists already"
                    f"{only_in_python('; give replace=True to replace it')}"
                )
            self._changed()
            count, number, kind = self.delta.numbered, self.delta.last_with(parsed.id), self.kind
            try:
                self.delta.add(parsed)
                self.kind = type(parsed.id)
                if before is not None:
                    self._bury(*before)
            except BaseException:
                if before is None or before[0].is_alive(before[1]):  # otherwise the change is complete
                    self.delta.cut(count, parsed.id, number)
                    self.kind = kind
                raise
            return self.delta.numbered

    def remove(self, name: SubscriptionId) -> None:
        """Remove a subscription; raises `UnknownSubscription`."""
        with self.lock:
            before = self._known(name)
            self._changed()
            self._bury(*before)

    def remove_all(self, choice: Choice) -> list[SubscriptionId]:
        """Remove the subscriptions of a choice, all of them or none; returns the ids of those that there were."""
        with self.lock:
            chosen = self._chosen(choice)
            lives = [(source, source.lives()) for source in self._sources()]
            self._changed()
            try:
                for source, number, _ in chosen:
                    self._bury(source, number)
            except BaseException:
                for source, before in lives:
                    source.put_lives(before)
                raise
        return [id for _, _, id in chosen]

    def present(self, choice: Choice) -> list[SubscriptionId]:
        """The ids of the subscriptions of a choice that there are."""
        with self.lock:
            return [id for _, _, id in self._chosen(choice)]

    def _chosen(self, choice: Choice) -> list[tuple[Source, int, SubscriptionId]]:
        """The live subscriptions of a choice: source, number and id."""
        places = [place for place, id in enumerate(choice.ids) if type(id) is self.kind]
        if not places:
            return []
        ids = as_ids(
            pa.array([choice.ids[place] for place in places], pa.int64() if self.kind is int else pa.large_string())
        )
        chosen = []
        for source in self._sources():
            numbers, is_living = source.find_living(ids)
            for which in np.flatnonzero(is_living).tolist():
                number, place = int(numbers[which]), places[which]
                if choice.payloads is None or choice.has(place, source.payload(number)):
                    chosen.append((source, number, choice.ids[place]))
        return chosen

    def rescore(self, name: SubscriptionId, score: float) -> None:
        """Change a score; raises `UnknownSubscription`."""
        with self.lock:
            source, number = self._known(name)
            self._changed()
            self._note(source, number)
            source.put_score(number, score)

    def add_segment(self, segment: Segment, *, replace: bool) -> None:
        """Add the subscriptions of a segment; `replace` removes earlier ones with the same ids.

        Without `replace`, all ids must be new: see `taken`.
        """
        with self.structure:
            source = SegmentSource(segment, self._most_changed)
            ranks = _ranks([*self.segments, source])
            with self.lock:
                self._changed()
                before, kind = self.segments, _kind_of([source])
                lives = [(other, other.lives()) for other in (self._sources() if replace else ())]
                own = [other.ranks for other in before]
                try:
                    for other, _ in lives:
                        numbers, is_living = other.find_living(segment.ids)
                        for number in numbers[is_living].tolist():
                            self._bury(other, number)
                    self.wanted.add(segment.matcher.attributes)
                    self._put_ranks([*before, source], ranks)
                    self.segments, self.kind = [*before, source], kind
                except BaseException:
                    if self.segments is before:
                        for other, old in lives:
                            other.put_lives(old)
                        self._put_ranks(before, own)
                    raise

    def taken(self, ids: Ids) -> NDArray[np.bool_]:
        """Which of some sorted ids belong to live subscriptions."""
        mask = np.zeros(len(ids), bool)
        with self.lock:
            for source in self._sources():
                mask |= source.find_living(ids)[1]
        return mask

    def _bury(self, source: Source, number: int) -> None:
        self._note(source, number)
        source.bury(number)

    def _note(self, source: Source, number: int) -> None:
        """Record for a merge that a subscription may have changed; it looks at the subscription in the end."""
        if self._journal is not None:
            self._journal.append((source, number))

    def _changed(self) -> None:
        """Let the next reader have new snapshots. This comes first in a change, so that no failure leaves it out."""
        before, self._now = self._now, None
        if before is not None and not before.readers:
            before.snapshots.hold(-1)

    @staticmethod
    def _put_ranks(segments: Sequence[SegmentSource], ranks: Sequence[Ranks]) -> None:
        """Give each segment the ranks of its ids."""
        for source, own in zip(segments, ranks, strict=True):
            source.ranks = own

    # Questions

    def find(self, name: SubscriptionId) -> tuple[Source, int]:
        """The source and number of a subscription; raises `UnknownSubscription`."""
        with self.lock:
            return self._known(name)

    def has(self, name: SubscriptionId) -> bool:
        """Whether a subscription with an id exists."""
        with self.lock:
            return self._find(name) is not None

    def _find(self, name: SubscriptionId) -> tuple[Source, int] | None:
        if type(name) is not self.kind:
            return None
        for source in reversed(self._sources()):
            number = source.number_of(name)
            if number is not None:
                return source, number
        return None

    def _known(self, name: SubscriptionId) -> tuple[Source, int]:
        found = self._find(name)
        if found is None:
            raise UnknownSubscription(f"there is no subscription {shown(name)}")
        return found

    def check_kind(self, name: SubscriptionId, other_kind: type | None = None) -> None:
        """Raise `RecordError` for an id of another type than those here, or than those about to come."""
        kind = self.kind or other_kind
        if kind is not None and type(name) is not kind:
            mine, other = ("strings", "an integer") if kind is str else ("integers", "a string")
            raise RecordError(f"the engine's ids are {mine}, but this one is {other}; use one kind", "id")

    # Reading

    def reading(self) -> Reading:
        """The current snapshots, held until the reader is done: a context manager."""
        return Reading(self)

    def hold(self) -> Moment:
        """The current moment, with one more reader."""
        with self.lock:
            if self._now is None:
                self._renew_wanted()
                snapshots = [source.snapshot() for source in self._sources() if source.numbered]
                id_type = pa.int64() if self.kind is int else pa.large_string()
                now = Moment(Snapshots(snapshots, id_type, self.wanted))
                now.snapshots.hold(1)
                self._now = now
            self._now.readers += 1
            return self._now

    def release(self, moment: Moment) -> None:
        """Let a reader go."""
        with self.lock:
            moment.readers -= 1
            if not moment.readers and moment is not self._now:
                moment.snapshots.hold(-1)

    def keep_up(self) -> None:
        """Compile recent subscriptions now, which the next match would do otherwise."""
        with self.lock:
            for delta in (*self.sealed, self.delta):
                delta.keep_up()

    # Merging

    def seal(self) -> None:
        """Start a new delta; the previous one waits to become a segment."""
        with self.lock:
            if self.delta.numbered:
                self._changed()
                following = Delta(self.book, self.wanted, self._recent())
                self.sealed, self.delta = [*self.sealed, self.delta], following

    def begin_merge(self, chosen: Sequence[Source]) -> list[Snapshot]:
        """Snapshots of the chosen sources. `install` replays all later changes."""
        with self.lock:
            self._journal = []
            return [source.snapshot_to_merge() for source in chosen]

    def abandon_merge(self) -> None:
        """Stop recording changes; the sources stay as they are."""
        with self.lock:
            self._journal = None

    def install(self, old: Sequence[Source], segment: Segment, origins: Sequence[NDArray[np.int64]]) -> None:
        """Replace the merged sources by their segment, and end the merge.

        `origins[i]` has, for each subscription of old[i], its number in the segment, or -1.
        """
        new = SegmentSource(segment, self._most_changed)
        segments = [*(source for source in self.segments if source not in old), *([new] if len(segment) else [])]
        ranks = _ranks(segments)
        numbers = {id(source): origin for source, origin in zip(old, origins, strict=True)}
        with self.lock:
            self._changed()
            for source, number in self._journal or ():
                to = int(numbers[id(source)][number]) if id(source) in numbers else -1
                if to >= 0 and source.is_alive(number):
                    new.put_score(to, source.score_of(number))
                elif to >= 0 and new.is_alive(to):
                    new.bury(to)
            before, own = self.segments, [source.ranks for source in self.segments]
            sealed = [source for source in self.sealed if source not in old]
            try:
                self.wanted.add(segment.matcher.attributes)
                self._put_ranks(segments, ranks)
                self.segments, self.sealed, self._journal = segments, sealed, None
            except BaseException:
                if self.segments is before:
                    self._put_ranks(before, own)
                raise
            self._forget()

    def _forget(self) -> None:
        """Drop unneeded wanted attributes if they are the majority. Deltas then index their conditions anew."""
        held = {name for source in self.segments for name in source.segment.matcher.attributes}
        needed = len(held) + sum(len(delta.attributes) for delta in (*self.sealed, self.delta))
        if len(self.wanted.ordered) > _MUCH + 2 * needed:
            self._renews = True
            self._renew_wanted()

    def _renew_wanted(self) -> None:
        """Collect the wanted attributes anew if that is due, or if a change failed while it added some."""
        if self.wanted.is_whole and not self._renews:
            return
        self._renews = True
        wanted = Wanted(name for source in self.segments for name in source.segment.matcher.attributes)
        for delta in (*self.sealed, self.delta):
            delta.want(wanted)
        self.wanted, self._renews = wanted, False


_MUCH: Final = 32
"""Up to this many unneeded names are tolerated."""


def _ranks(segments: Sequence[SegmentSource]) -> list[Ranks]:
    return ranks_of([source.segment.ids for source in segments])


def _kind_of(segments: Sequence[SegmentSource]) -> type | None:
    return next((type(source.segment.id_of(0)) for source in segments if source.numbered), None)
