"""What holds subscriptions that come, change and go? An engine: changes are seen by the next match, in microseconds."""

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
from tocsin.index import Plan, Statistics, find_index
from tocsin.language import Explanation, Templates
from tocsin.language.stored import stored_payload
from tocsin.model.ranking import Ranking, Similar
from tocsin.model.subscription import Notice, Report, SubscriptionId, checked_score, shown
from tocsin.model.texts import Text
from tocsin.planner import choose
from tocsin.records import parsed_record, subscription_of
from tocsin.records.events import Events
from tocsin.records.subscriptions import Subscriptions
from tocsin.schemas import checked_texts, with_schema
from tocsin.segment import Snapshots, require_suitable
from tocsin.segment.folder import saved_statistics

_DELTA_LIMIT: Final = 8192


@dataclass(frozen=True, slots=True)
class SourceStats:
    """One segment, or the delta. Bytes are by what they are for."""

    subscriptions: int
    gone: int
    index: str
    reason: str
    bytes: Mapping[str, int]
    places: Mapping[str, int]  # how many subscriptions lie in which kind of list
    best_first: str  # how `Top(k)` is answered, and why so


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
    """Subscriptions in memory, matched by many threads while one at a time changes them.

    A match sees one state from start to end, and every change that was made before it began. `delta_limit` changes are
    kept apart before they become a segment, in the background. `statistics` say how often events have each attribute
    and value (`tocsin.sample`, or `tocsin.Statistics`); without them that is estimated from the subscriptions. `texts`
    are attributes that are texts, and how TEXT makes words of them where it does not say so itself
    (`{"title": tocsin.Text("english", stem=True)}`): a schema for all events that come.

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
        """Take a subscription: CQL2 text or JSON, a finite score (1.0), a payload of JSON values.

        Raises `RecordError` for what cannot be used, `DuplicateSubscription` where the id is taken, and
        `UnsuitableIndex` where the engine's index was asked for by name and cannot hold the expression. Warns of what
        is probably meant otherwise (`color = "gold"`), for the first 20 texts of each form.
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
        """Take all subscriptions of a source (whatever `tocsin.match` takes); says how many, and what was wrong.

        A bad record costs itself alone (`strict`: raises `RecordError` at the first one, and takes nothing). Of several
        with one id the first is kept, and one that exists already stays; with `replace` the last takes their place.
        Fields that a subscription has not are ignored, and told of in the report's `warnings`, as is what is probably
        meant otherwise; those that `payload_columns` names are kept in the payload.
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
        """Take a subscription out; raises `UnknownSubscription`."""
        self._store.remove(id)

    def rescore(self, id: SubscriptionId, score: float) -> None:
        """Change a score; raises `UnknownSubscription`, or `RecordError` for what is no finite number."""
        if score is None:
            raise RecordError("a score is a number, not None", "score")
        self._store.rescore(id, checked_score(score))

    def merge(self) -> None:
        """Make everything one segment, here and now. Answers do not change; matches go on meanwhile."""
        self._merger.merge_all()

    # Questions

    @contextmanager
    def _reading(self) -> Iterator[Snapshots]:
        """What there is at this moment; if looking at what came lately takes too long, that is merged from now on."""
        with self._store.reading() as snapshots:
            yield snapshots
        if self._store.delta.is_ripe:
            self._merger.wake()

    def match(self, event: Mapping[str, Any], *, ranking: Ranking | None = None, payload: bool = False) -> Matches:
        """The subscriptions that an event satisfies, by id, or the best of them; a bad event raises `RecordError`.

        With `payload` each match has what its subscription carries as `.payload`.
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
        """The matches of a source of events, as `tocsin.match` gives them. All see one state of the subscriptions.

        Where all events are bad it gives their errors alone. `progress` is called with the share of the events that is
        answered, None where their number is not known.
        """
        request = Request(
            *(ranking, lists, strict, schema, threads, delimiter, points or {}, event_key, payload), texts=self._texts
        )
        with self._reading() as snapshots:
            return answer_of(snapshots, events, request, Stats(), [], progress)

    def followed(
        self, events: Events, key: str, also: Sequence[str] = (), trail: Trail | None = None, **options: Any
    ) -> tuple[Answer, Witness]:
        """A row an event, whether it matches or not: its matches as a list, and some of its attributes.

        For those who follow objects from event to event (`tocsin.Fences`); with a trail also what its line matches.
        `options` say how the source is read. The witness says of what does not match whether it is FALSE or UNKNOWN.
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
        """What the subscriptions ask that none of some events has, or that none can have; those that most ask first.

        A sample of the events will do, a few thousand; without one, what the subscriptions alone tell. Cost: linear.
        """
        with self._store.reading() as snapshots:
            seen = None if events is None else seen_in(events, snapshots.wanted, schema, delimiter, points, self._texts)
            own = notices_of(snapshots, seen)
            others = no_degrees(seen, snapshots.wanted)
            return [*misnamed(snapshots.wanted, seen, schema=schema, points=points), *others, *own]

    def explain(self, id: SubscriptionId, event: Mapping[str, Any], *, ranking: Similar | None = None) -> Explanation:
        """Why an event matches a subscription, or why not, from its source text; raises `UnknownSubscription`.

        `index` of the answer tells where the subscription is looked for, and by which index. With `Similar` it tells
        instead what both are alike in, and whether that is enough; the sum is its `score`.
        """
        source, number = self._store.find(id)
        explained = explain_stored(source.text(number), event, self._texts, ranking)
        return explained if ranking is not None else replace(explained, index=source.place(number))

    def payload(self, id: SubscriptionId) -> Any:
        """The payload of a subscription, None where none was given; raises `UnknownSubscription`."""
        source, number = self._store.find(id)
        text = source.payload(number)
        return stored_payload(text) if text else None

    def get(self, id: SubscriptionId) -> dict[str, Any]:
        """A subscription as a record that `subscribe_many` takes; raises `UnknownSubscription`.

        It has `id`, `where` (as text, also where JSON was given) and `score`, perhaps `payload` and `weights`.
        """
        source, number = self._store.find(id)
        payload, weights = source.payload(number), source.weights_of(number)
        record = {"id": id, "where": source.text(number), "score": source.score_of(number)}
        return record | optional_parts(payload, weights)

    def subscriptions(self) -> pa.Table:
        """All of them: `id`, `where`, `score`, `payload` and `weights` (JSON texts, null for none), by id.

        They are those of one moment. Cost: linear, and a sort of the ids.
        """
        with self._store.reading() as snapshots:
            return held_table(snapshots)

    def export(self, path: str | Path) -> None:
        """Write all subscriptions as JSON lines, whole or not at all; `subscribe_many` and `tocsin.match` take them."""
        export(self.subscriptions(), path)

    def __iter__(self) -> Iterator[SubscriptionId]:
        """The ids, in order, of one moment."""
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
        """Write the engine into a folder, whole or not at all; an earlier version in it is replaced at once.

        `Engine.load`, `tocsin.match` and Spark read it. What is on disk does not change with the engine.
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
        """Open what `save` or `tocsin compile` wrote. Its files are mapped, so that processes share their pages.

        What comes later is held by the same index, unless `index` names another, and placed by `statistics`, or those
        that it was saved with. The `texts` that it was saved with are kept; others may come to them.
        Raises `SegmentError` for what is missing, damaged or of another version.
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
        """Wait for the merge that is going on, if any, and begin no more. The engine goes on answering."""
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
