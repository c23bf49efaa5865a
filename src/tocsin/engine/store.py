"""How does an engine change while others read it? One lock for what takes microseconds, one root for every reader.

A change of membership or score is a moment. Readers hold the root of a moment; writers never wait for them. What takes
long (building and merging segments) is done on sources that nobody changes but by taking subscriptions out or scoring
them anew; those changes are noted in a journal, and made again on the result when it is installed.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts
from tocsin.columns.events.batch import Wanted
from tocsin.columns.expressions.recipes import RecipeBook
from tocsin.engine.delta import Delta
from tocsin.engine.ordering import ranks_of
from tocsin.engine.sources import Root, Snapshot, Source, snapshot
from tocsin.errors import DuplicateSubscription, RecordError, UnknownSubscription
from tocsin.index.alive import are_alive
from tocsin.model.subscription import SubscriptionId, shown
from tocsin.records import Parsed
from tocsin.segment import Segment
from tocsin.segment.segment import rank_code, rank_codes


class Store:
    """The sources of an engine. Every public method may be called by any thread."""

    def __init__(self, segments: Sequence[Source] = ()) -> None:
        self.lock = threading.Lock()
        self.structure = threading.RLock()  # held by who changes the list of segments, or reads it to do so
        self.book = RecipeBook()
        self.wanted = Wanted(name for source in segments for name in _matcher_names(source))
        self.segments: list[Source] = list(segments)
        self.sealed: list[Source] = []
        self.delta = Source(Delta(self.book, self.wanted))
        self.kind: type | None = _kind_of(segments)
        self._ranks = ranks_of([_segment(source) for source in self.segments])
        self._moment = 0
        self._root: Root | None = None
        self._readers: Counter[int] = Counter()
        self._journal: list[tuple[Source, int]] | None = None  # what changed since a merge began

    def __len__(self) -> int:
        with self.lock:
            return sum(len(source) for source in self._sources())

    def _sources(self) -> list[Source]:
        return [*self.segments, *self.sealed, self.delta]

    # Changes

    def add(self, parsed: Parsed, *, replace: bool) -> int:
        """Take a subscription; returns how many the delta holds."""
        with self.lock:
            self._check_kind(parsed.id)
            before = self._find(parsed.id)
            if before is not None and not replace:
                raise DuplicateSubscription(
                    f"a subscription {shown(parsed.id)} exists already; give replace=True to put this one in its place"
                )
            assert isinstance(self.delta.holder, Delta)
            self.delta.make_room(self.delta.holder.add(parsed))
            if before is not None:
                self._bury(*before)
            self.kind = type(parsed.id)
            self._changed()
            return len(self.delta.holder)

    def remove(self, name: SubscriptionId) -> None:
        """Take a subscription out; raises `UnknownSubscription`."""
        with self.lock:
            self._bury(*self._known(name))
            self._changed()

    def rescore(self, name: SubscriptionId, score: float) -> None:
        """Change a score; raises `UnknownSubscription`."""
        with self.lock:
            source, number = self._known(name)
            source.put_score(number, score)
            self._changed()
            self._note(source, number)

    def add_segment(self, segment: Segment, *, replace: bool) -> None:
        """Take the subscriptions of a segment; `replace` takes out those that they replace.

        Without it none of their ids may be known: see `taken`.
        """
        with self.structure:
            source = Source(segment)
            ranks = ranks_of([*map(_segment, self.segments), segment])
            with self.lock:
                for other in self._sources() if replace else ():
                    for number in _living_with_ids_of(segment, other).tolist():
                        self._bury(other, number)
                self.segments.append(source)
                self._ranks = ranks
                self.wanted.add(segment.matcher.attributes)
                self.kind = _kind_of([source])
                self._changed()

    def taken(self, ids: Texts | NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of some ids, in order, are those of living subscriptions."""
        mask = np.zeros(len(ids), bool)
        with self.lock:
            for source in self._sources():
                mask |= _living(source, ids)[1]
        return mask

    def _bury(self, source: Source, number: int) -> None:
        source.bury(number)
        self._note(source, number)

    def _note(self, source: Source, number: int) -> None:
        if self._journal is not None:
            self._journal.append((source, number))

    def _changed(self) -> None:
        self._moment += 1
        before, self._root = self._root, None
        if before is not None and not self._readers[before.moment]:
            before.hold(-1)

    # Questions

    def find(self, name: SubscriptionId) -> tuple[Source, int]:
        """Where a subscription is; raises `UnknownSubscription`."""
        with self.lock:
            return self._known(name)

    def has(self, name: SubscriptionId) -> bool:
        """Whether there is a subscription with an id."""
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

    def _check_kind(self, name: SubscriptionId) -> None:
        if self.kind is not None and type(name) is not self.kind:
            mine, other = ("strings", "an integer") if self.kind is str else ("integers", "a string")
            raise RecordError(f"the engine's ids are {mine}, this one is {other}; use one kind", "id")

    # Reading

    @contextmanager
    def reading(self) -> Iterator[Root]:
        """The root of this moment, until the reader is done with it."""
        with self.lock:
            if self._root is None:
                snapshots = tuple(snapshot(source) for source in self._sources())
                self._root = Root(self._moment, self.kind, snapshots, self._ranks)
                self._root.hold(1)
            root = self._root
            self._readers[root.moment] += 1
        try:
            yield root
        finally:
            with self.lock:
                self._readers[root.moment] -= 1
                if not self._readers[root.moment]:
                    del self._readers[root.moment]
                    if root is not self._root:
                        root.hold(-1)

    # Merging

    def seal(self) -> None:
        """Begin a new delta; the one before waits to become a segment."""
        with self.lock:
            if len(self.delta.holder):
                self.sealed.append(self.delta)
                self.delta = Source(Delta(self.book, self.wanted))
                self._changed()

    def begin_merge(self, chosen: Sequence[Source]) -> list[Snapshot]:
        """The chosen sources as they are; what changes from now on is made again by `install`."""
        with self.lock:
            self._journal = []
            return [snapshot(source) for source in chosen]

    def abandon_merge(self) -> None:
        """Note no more changes; the sources stay as they are."""
        with self.lock:
            self._journal = None

    def install(self, old: Sequence[Source], segment: Segment, origins: Sequence[NDArray[np.int64]]) -> None:
        """Put a segment in the place of the sources that it was made of, and end the merge.

        `origins[i]` has, for each subscription of old[i], its number in the segment, or -1.
        """
        rest = [source for source in self.segments if source not in old]
        made = [segment] if len(segment) else []
        ranks = ranks_of([*map(_segment, rest), *made])
        new = Source(segment)
        numbers = {id(source): origin for source, origin in zip(old, origins, strict=True)}
        with self.lock:
            for source, number in self._journal or ():
                to = int(numbers[id(source)][number]) if id(source) in numbers else -1
                if to >= 0 and source.is_alive(number):
                    new.put_score(to, source.score_of(number))
                elif to >= 0 and new.is_alive(to):
                    new.bury(to)
            self._journal = None
            self.segments = [*rest, *(new for _ in made)]
            self.sealed = [source for source in self.sealed if source not in old]
            self._ranks = ranks
            self._changed()


def _living(source: Source, ids: Texts | NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The number that each of some ids, in order, has in a source, and whether it has one that is alive."""
    holder = source.holder
    if isinstance(holder, Segment):
        codes = rank_codes(holder.ids, ids)
        numbers, known = codes >> 1, (codes & 1).astype(bool)
    else:
        numbers, known = np.zeros(len(ids), np.int64), np.zeros(len(ids), bool)
        for number in source.living().tolist():
            at = rank_code(ids, holder.id_of(number))
            if at & 1:
                numbers[at >> 1], known[at >> 1] = number, True
    return numbers, known & are_alive(source.alive, np.where(known, numbers, 0))


def _living_with_ids_of(segment: Segment, source: Source) -> NDArray[np.int64]:
    numbers, alive = _living(source, segment.ids)
    return numbers[alive]


def _segment(source: Source) -> Segment:
    assert isinstance(source.holder, Segment)
    return source.holder


def _matcher_names(source: Source) -> Sequence[str]:
    return _segment(source).matcher.attributes


def _kind_of(segments: Sequence[Source]) -> type | None:
    for source in segments:
        if len(source.holder):
            return type(source.holder.id_of(0))
    return None
