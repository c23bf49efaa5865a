"""The engine: subscriptions in memory that change at any time. The next match sees a change, microseconds later."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import pyarrow as pa

from tocsin.columns.events.objects import encode_objects
from tocsin.encoding import Points
from tocsin.engine.answer import Answer, Stats
from tocsin.engine.explaining import explain_stored
from tocsin.engine.holdings import export, held_table, optional_parts
from tocsin.engine.loading import checked_rejects, collect, extras_of
from tocsin.engine.matches import Matches
from tocsin.engine.matching import Request, answer_of
from tocsin.engine.merging import Merger
from tocsin.engine.misnamed import misnamed, no_degrees
from tocsin.engine.notices import notices_of
from tocsin.engine.saving import open_sources, save_sources, texts_of
from tocsin.engine.seen import seen_in
from tocsin.engine.sources import SegmentSource
from tocsin.engine.store import Store
from tocsin.engine.trails import Trail
from tocsin.engine.witness import Held, Witness
from tocsin.errors import InvalidInput, RecordError
from tocsin.index import Plan, Statistics, choose, find_index
from tocsin.language import Explanation, Templates
from tocsin.language.stored import stored_payload
from tocsin.model.ranking import Ranking, Similar
from tocsin.model.subscription import Notice, Report, SubscriptionId, checked_score, shown
from tocsin.model.texts import Text
from tocsin.records import parsed_record, subscription_of
from tocsin.records.events import Events
from tocsin.records.subscriptions import Subscriptions
from tocsin.schemas import checked_texts, with_schema
from tocsin.segment import Snapshots, require_suitable
from tocsin.segment.folder import saved_statistics

_DELTA_LIMIT: Final = 8192


@dataclass(frozen=True, slots=True)
class SourceStats:
    """One segment, or the delta. `bytes` has the memory by purpose."""

    subscriptions: int
    gone: int
    index: str
    reason: str
    bytes: Mapping[str, int]
    places: Mapping[str, int]  # number of subscriptions by kind of list
    best_first: str  # how `Top(k)` is answered, and why


@dataclass(frozen=True, slots=True)
class EngineStats:
    """What an engine holds at a moment."""

    subscriptions: int
    delta: int
    segments: list[SourceStats] = field(default_factory=list)
    plan: Plan = field(default_factory=choose)
    is_merging: bool = False
    merge_error: str | None = None


class Engine:
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

    def __init__(
        self,
        index: str = "auto",
        *,
        statistics: Statistics | None = None,
        delta_limit: int = _DELTA_LIMIT,
        texts: Mapping[str, Text | str] | None = None,
    ) -> None:
        if isinstance(delta_limit, bool) or not isinstance(delta_limit, int) or not 1 <= delta_limit <= 1 << 20:
            raise InvalidInput(f"delta_limit is {delta_limit!r}; it must be an integer from 1 to {1 << 20}")
        self._plan = choose(index, statistics)
        self._takes_all = find_index(self._plan.index).takes_all
        self._texts = checked_texts(texts)
        self._templates = Templates(self._texts)
        self._delta_limit = delta_limit
        self._begin(Store())

    def _begin(self, store: Store) -> None:
        self._store = store
        self._merger = Merger(store, self._plan, self._delta_limit)

    # Changes

    def subscribe(
        self,
        id: SubscriptionId,
        where: str | Mapping[str, Any] | bool,
        *,
        score: float | None = None,
        payload: Any = None,
        weights: Mapping[str, float] | None = None,
        replace: bool = False,
    ) -> None:
        """Add a subscription: CQL2 text or JSON, a finite score (default 1.0), a payload of JSON values.

        Raises `RecordError` for an invalid subscription, and `DuplicateSubscription` if the id is taken. Raises
        `UnsuitableIndex` if the caller named the engine's index, and that index cannot hold the expression. Warns of
        conditions that probably mean something else (`color = "gold"`), for the first 20 texts of each form.
        """
        record = {"id": id, "where": where, "score": score, "payload": payload, "weights": weights}
        if not self._takes_all:
            require_suitable(self._plan, subscription_of(record))
        if self._store.add(parsed_record(record, self._templates), replace=replace) >= self._delta_limit:
            self._merger.wake()
        for advice in self._templates.take_advice():
            warnings.warn(f"{advice.condition}: {advice.reason}", stacklevel=2)

    def subscribe_many(
        self,
        source: Subscriptions,
        *,
        replace: bool = False,
        strict: bool = False,
        progress: Callable[[float | None], None] | None = None,
        payload_columns: Iterable[str] = (),
    ) -> Report:
        """Add all subscriptions of a source (any that `tocsin.match` accepts); returns their number and the errors.

        The engine skips a bad record and reports it. With `strict` it raises `RecordError` at the first bad record and
        adds nothing. Of several subscriptions with one id the first is kept, and an existing one stays. With `replace`
        the last one is kept, and replaces an existing one. Unknown fields that `payload_columns` names become part of
        the payload. Others are ignored and listed in the report's `warnings`. The warnings also list conditions that
        probably mean something else.
        """
        extras = extras_of(payload_columns)
        builder = collect(source, self._templates, strict=strict, progress=progress, extras=extras)
        with self._store.structure:
            kind = self._store.kind
            arrow = None if kind is None else pa.int64() if kind is int else pa.large_string()
            segment = builder.finish(
                self._plan, kind=arrow, keep_last=replace, taken=None if replace else self._store.taken
            )
            rejects = checked_rejects(builder, strict=strict)
            if len(segment):
                self._store.add_segment(segment, replace=replace)
        self._merger.wake()
        return Report(len(segment), rejects, extras.warnings())

    def unsubscribe(self, id: SubscriptionId) -> None:
        """Remove a subscription; raises `UnknownSubscription`."""
        self._store.remove(id)

    def rescore(self, id: SubscriptionId, score: float) -> None:
        """Change a score. Raises `UnknownSubscription`, or `RecordError` if the score is not a finite number."""
        if score is None:
            raise RecordError("a score is a number, not None", "score")
        self._store.rescore(id, checked_score(score))

    def merge(self) -> None:
        """Merge everything into one segment now, in this thread. Answers stay the same, and matches go on."""
        self._merger.merge_all()

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
        schema: Mapping[str, Any] | None = None,
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
        self, events: Events, key: str, also: Sequence[str] = (), trail: Trail | None = None, **options: Any
    ) -> tuple[Answer, Witness]:
        """One row per event, also without matches: its matches as a list, and some of its attributes.

        `tocsin.Fences` follows objects from event to event by this method. With a trail, the line from an object's last
        place is matched, too. `options` say how to read the source. For a subscription that does not match, the witness
        tells whether it is FALSE or UNKNOWN.
        """
        with self._reading() as snapshots:
            witness = Witness(Held(self._store, snapshots))
            own = Request(
                lists=True, event_key=key, also=tuple(also), trail=trail, texts=self._texts, witness=witness, **options
            )
            return answer_of(snapshots, events, own, Stats(), []), witness

    def warnings(
        self,
        events: Events | None = None,
        *,
        schema: Mapping[str, Any] | None = None,
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

    def payload(self, id: SubscriptionId) -> Any:
        """The payload of a subscription, or None; raises `UnknownSubscription`."""
        source, number = self._store.find(id)
        text = source.payload(number)
        return stored_payload(text) if text else None

    def get(self, id: SubscriptionId) -> dict[str, Any]:
        """A subscription as a record that `subscribe_many` takes; raises `UnknownSubscription`.

        It has `id`, `where` (as text, even if JSON was given) and `score`, and `payload` and `weights` if there are
        any.
        """
        source, number = self._store.find(id)
        payload, weights = source.payload(number), source.weights_of(number)
        record = {"id": id, "where": source.text(number), "score": source.score_of(number)}
        return record | optional_parts(payload, weights)

    def subscriptions(self) -> pa.Table:
        """All subscriptions: `id`, `where`, `score`, `payload` and `weights` (JSON texts, null if absent), by id.

        The table shows one moment. Cost: linear, plus sorting the ids.
        """
        with self._store.reading() as snapshots:
            return held_table(snapshots)

    def export(self, path: str | Path) -> None:
        """Write all subscriptions as JSON lines, atomically; `subscribe_many` and `tocsin.match` read them."""
        export(self.subscriptions(), path)

    def __iter__(self) -> Iterator[SubscriptionId]:
        """The ids, sorted, at one moment."""
        return iter(self.subscriptions()["id"].to_pylist())

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str | int) and not isinstance(id, bool) and self._store.has(id)

    def __len__(self) -> int:
        return len(self._store)

    @property
    def stats(self) -> EngineStats:
        """What the engine holds now."""
        segments = [_source_stats(source) for source in self._store.segments]
        waiting = [self._store.delta, *self._store.sealed]
        error = self._merger.error
        return EngineStats(
            len(self),
            sum(len(source) for source in waiting),
            segments,
            self._plan,
            self._merger.is_running,
            None if error is None else repr(error),
        )

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
        delta_limit: int = _DELTA_LIMIT,
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


def _source_stats(source: SegmentSource) -> SourceStats:
    plan, matcher = source.segment.plan, source.segment.matcher
    return SourceStats(
        len(source),
        source.gone,
        plan.index,
        plan.reason,
        dict(matcher.sizes()),
        dict(matcher.places()),
        matcher.best_first(),
    )
