"""The engine: subscriptions in memory that change at any time. The next match sees a change, microseconds later."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from tocsin.columns.events.objects import encode_objects
from tocsin.encoding import Points
from tocsin.engine.answer import Answer, Stats
from tocsin.engine.explaining import explain_stored
from tocsin.engine.matches import Matches
from tocsin.engine.matching import Request, answer_of
from tocsin.engine.misnamed import misnamed, no_degrees
from tocsin.engine.notices import notices_of
from tocsin.engine.saving import open_sources, save_sources, texts_of
from tocsin.engine.seen import seen_in
from tocsin.engine.store import Store
from tocsin.engine.subscription_set import DELTA_LIMIT, SubscriptionSet
from tocsin.engine.trails import Trail
from tocsin.engine.witness import Held, Witness
from tocsin.errors import RecordError
from tocsin.index import Statistics
from tocsin.language import Explanation
from tocsin.model.ranking import Ranking, Similar
from tocsin.model.subscription import Notice, SubscriptionId, shown
from tocsin.model.texts import Text
from tocsin.records.csv_files import ColumnType
from tocsin.records.events import Events
from tocsin.schemas import checked_texts, with_schema
from tocsin.segment import Snapshots
from tocsin.segment.folder import saved_statistics


class Engine(SubscriptionSet):
    """Subscriptions in memory. Many threads may match while one thread at a time changes them.

    A match sees one state from start to end, with every change made before it began. The engine keeps up to
    `delta_limit` changes apart, then turns them into a segment in the background. `statistics` tell how often events
    have each attribute and value (`tocsin.sample`, or `tocsin.Statistics`); without them the engine estimates this from
    the subscriptions. `texts` is a schema for all events. It names the attributes that are texts, and how TEXT splits
    them into words unless the condition says so itself (`{"title": tocsin.Text("english", stem=True)}`).

    >>> engine = Engine()
    >>> engine.subscribe("s1", "model = 'iphone5s' AND price <= 580", score=2.0)
    >>> engine.match({"model": "iphone5s", "price": 550})
    [Match(subscription='s1', score=2.0)]
    >>> engine.unsubscribe("s1")
    >>> engine.match({"model": "iphone5s", "price": 550})
    []
    """

    # Questions

    @contextmanager
    def _reading(self) -> Iterator[Snapshots]:
        """The sources at this moment. Starts a merge if examining the delta has become too slow."""
        with self._store.reading() as snapshots:
            yield snapshots
        if self._store.delta.is_ripe:
            self._merger.wake()

    def match(self, event: Mapping[str, Any], *, ranking: Ranking | None = None, payload: bool = False) -> Matches:
        """The subscriptions that an event satisfies, by id, or the best of them; a bad event raises `RecordError`.

        With `payload` each match has its subscription's payload as `.payload`.
        """
        if not isinstance(event, Mapping):
            raise RecordError(f"an event is an object of names and values, not {shown(event)}")
        with self._reading() as snapshots:
            batch = encode_objects([(0, event)], snapshots.wanted)
            batch = with_schema(batch, self._texts) if self._texts else batch
            if not len(batch):
                raise RecordError(batch.rejects[0].reason, batch.rejects[0].field)
            found = snapshots.find(batch, ranking)
            scores = snapshots.scores_of(found.subscriptions) if found.scores is None else found.scores
            return Matches(snapshots, found.subscriptions, scores, batch.rejects, with_payloads=payload)

    def match_batch(
        self,
        events: Events,
        *,
        ranking: Ranking | None = None,
        lists: bool = False,
        strict: bool = False,
        schema: Mapping[str, ColumnType] | None = None,
        threads: int | None = None,
        progress: Callable[[float | None], None] | None = None,
        delimiter: str | None = None,
        points: Points | None = None,
        event_key: str | None = None,
        payload: bool = False,
    ) -> Answer:
        """Match a source of events, as `tocsin.match` does. All events see one state of the engine.

        If all events are bad, the answer has only their errors. `progress` is called with the share of the events that
        is answered, or with None if their number is not known.
        """
        request = Request(
            *(ranking, lists, strict, schema, threads, delimiter, points or {}, event_key, payload), texts=self._texts
        )
        with self._reading() as snapshots:
            return answer_of(snapshots, events, request, Stats(), [], progress)

    def followed(
        self,
        events: Events,
        key: str,
        also: Sequence[str] = (),
        trail: Trail | None = None,
        *,
        schema: Mapping[str, ColumnType] | None = None,
        delimiter: str | None = None,
        points: Points | None = None,
        strict: bool = False,
        threads: int | None = None,
        no_places: tuple[tuple[float, float], ...] = (),
    ) -> tuple[Answer, Witness]:
        """One row per event, also without matches: its matches as a list, and some of its attributes.

        `tocsin.Fences` follows objects from event to event by this method. With a trail, the line from an object's last
        place is matched, too. `options` say how to read the source. For a subscription that does not match, the witness
        tells whether it is FALSE or UNKNOWN.
        """
        with self._reading() as snapshots:
            witness = Witness(Held(self._store, snapshots))
            request = Request(
                lists=True,
                strict=strict,
                schema=schema,
                threads=threads,
                delimiter=delimiter,
                points=points or {},
                event_key=key,
                also=tuple(also),
                texts=self._texts,
                no_places=no_places,
                witness=witness,
                trail=trail,
            )
            return answer_of(snapshots, events, request, Stats(), []), witness

    def warnings(
        self,
        events: Events | None = None,
        *,
        schema: Mapping[str, ColumnType] | None = None,
        delimiter: str | None = None,
        points: Points | None = None,
    ) -> list[Notice]:
        """Warnings about conditions that none of these events satisfied, or that no event can; most affected first.

        A sample of a few thousand events is enough. Without events, the warnings come from the subscriptions alone.
        Cost: linear.
        """
        with self._store.reading() as snapshots:
            seen = None if events is None else seen_in(events, snapshots.wanted, schema, delimiter, points, self._texts)
            own = notices_of(snapshots, seen)
            others = no_degrees(seen, snapshots.wanted)
            return [*misnamed(snapshots.wanted, seen, schema=schema, points=points), *others, *own]

    def explain(self, id: SubscriptionId, event: Mapping[str, Any], *, ranking: Similar | None = None) -> Explanation:
        """Why an event matches a subscription, or not, from its source text; raises `UnknownSubscription`.

        `index` of the result tells where the subscription is stored, and in which index. With `Similar` the result
        tells instead how similar event and subscription are, and whether that is enough; `score` is the sum of both
        shares.
        """
        source, number = self._store.find(id)
        explained = explain_stored(source.text(number), event, self._texts, ranking)
        return explained if ranking is not None else replace(explained, index=source.place(number))

    # On disk

    def save(self, folder: str | Path) -> None:
        """Write the engine into a folder, atomically. An earlier version in the folder is replaced at once.

        `Engine.load`, `tocsin.match` and Spark read the folder. Later changes of the engine do not reach it.
        """
        save_sources(folder, self._store, self._plan, self._texts)

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        index: str | None = None,
        statistics: Statistics | None = None,
        delta_limit: int = DELTA_LIMIT,
        texts: Mapping[str, Text | str] | None = None,
    ) -> Engine:
        """Open a folder that `save` or `tocsin compile` wrote. Its files are memory-mapped and shared by processes.

        The same index holds later subscriptions, unless `index` names another. It is planned with `statistics`, or with
        those saved in the folder. The engine keeps the `texts` that it was saved with; further ones may be added.
        Raises `SegmentError` for a file that is missing, damaged or of another version.
        """
        sources = open_sources(folder)
        used = [source.segment.plan.asked for source in sources]
        chosen = index or (used[0] if used else "auto")
        of_events = texts_of(folder, checked_texts(texts))
        known = saved_statistics(folder, statistics)
        engine = cls(chosen, statistics=known, delta_limit=delta_limit, texts=of_events)
        engine._begin(Store(sources))
        return engine

    def close(self) -> None:
        """Wait for a running merge, and start no more. The engine still answers."""
        self._merger.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Engine({len(self):,} subscriptions, {len(self._store.segments)} segments)"
