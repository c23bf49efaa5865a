"""The engine: subscriptions in memory that change at any time. The next match sees a change, microseconds later."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from tocsin.columns.events.objects import encode_objects
from tocsin.encoding import Points
from tocsin.engine.answer import Answer, Stats
from tocsin.engine.followed_set import FollowedSet
from tocsin.engine.matches import Matches
from tocsin.engine.matching import Request, answer_of
from tocsin.engine.misnamed import misnamed, no_degrees
from tocsin.engine.notices import notices_of
from tocsin.engine.saving import open_sources, save_sources, texts_of
from tocsin.engine.seen import seen_in
from tocsin.engine.store import Store
from tocsin.engine.subscription_set import DELTA_LIMIT
from tocsin.errors import RecordError
from tocsin.index import Statistics
from tocsin.model.ranking import Ranking
from tocsin.model.subscription import Notice, shown
from tocsin.model.texts import Text
from tocsin.records.csv_files import ColumnType
from tocsin.records.events import Events
from tocsin.schemas import checked_texts, with_schema
from tocsin.segment import Snapshots
from tocsin.segment.folder import saved_statistics


class Engine(FollowedSet):
    """Subscriptions in memory that change at any time, matched against events.

    Many threads may match while one thread at a time changes subscriptions. A match sees one state from start to end,
    with every change made before it began. `len(engine)`, `id in engine` and iteration are about the ids, in order. As
    a context manager an engine closes itself.

    Parameters
    ----------
    index : str
        The structure that finds candidates, with options in parentheses. "auto" chooses; answers do not depend on it.
    statistics : Statistics, optional
        How often events have each attribute and value, from `tocsin.sample`. Default: estimated from the subscriptions.
    delta_limit : int
        The number of changes that the engine keeps apart before it builds a segment of them in the background.
    texts : mapping of str to Text or str, optional
        Attributes of all events that are texts, and how TEXT splits them into words unless a condition says so itself:
        `{"title": tocsin.Text("english", stem=True)}`.

    Raises
    ------
    InvalidInput
        If `delta_limit` is not from 1 to 2**20, or `texts` is invalid.
    UnknownIndex
        If no index has that name, or it has no such option.

    Examples
    --------
    >>> engine = Engine()
    >>> engine.subscribe("s1", "model = 'iphone5s' AND price <= 580", score=2.0)
    >>> engine.match({"model": "iphone5s", "price": 550})
    [Match(subscription='s1', score=2.0)]
    >>> engine.unsubscribe("s1")
    >>> engine.match({"model": "iphone5s", "price": 550})
    []

    Notes
    -----
    A change takes microseconds, a match of one event tens of microseconds. A match searches every segment; merging
    keeps their number logarithmic in the subscriptions.
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
        """Find the subscriptions that one event satisfies.

        Parameters
        ----------
        event : mapping
            Names and values. Nested objects have dotted names.
        ranking
            As in `tocsin.match`.
        payload : bool
            Whether each match has its subscription's payload, as `.payload`.

        Returns
        -------
        Matches
            The matches, ordered by id; with a ranking best first.

        Raises
        ------
        RecordError
            If the event as a whole cannot be used.
        InvalidInput
            If the ranking is invalid.

        Examples
        --------
        >>> engine = Engine()
        >>> engine.subscribe("s1", "price <= 580", payload={"mail": "a@example.org"})
        >>> engine.match({"price": 550}, payload=True)[0].payload
        {'mail': 'a@example.org'}
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
        """Match a source of events; all of them see one state of the engine.

        Parameters
        ----------
        events
            As in `tocsin.match`.
        ranking
            As in `tocsin.match`.
        lists
            As in `tocsin.match`.
        strict
            As in `tocsin.match`.
        schema
            As in `tocsin.match`.
        threads
            As in `tocsin.match`.
        progress : callable, optional
            Called with the share of the events answered so far, or with None if their number is not known.
        delimiter
            As in `tocsin.match`.
        points
            As in `tocsin.match`.
        event_key
            As in `tocsin.match`.
        payload
            As in `tocsin.match`.

        Returns
        -------
        Answer
            The table of matches. If all events are bad, it has only their errors.

        Raises
        ------
        InvalidInput
            If the source cannot be read, or an option is invalid.
        RecordError
            With `strict`, at the first bad event.

        Examples
        --------
        >>> engine = Engine()
        >>> engine.subscribe("s1", "price <= 580")
        >>> engine.match_batch([{"order": "x17", "price": 450}], event_key="order").table.to_pylist()
        [{'event': 0, 'event_key': 'x17', 'subscription': 's1'}]
        """
        request = Request(
            *(ranking, lists, strict, schema, threads, delimiter, points or {}, event_key, payload), texts=self._texts
        )
        with self._reading() as snapshots:
            return answer_of(snapshots, events, request, Stats(), [], progress)

    def warnings(
        self,
        events: Events | None = None,
        *,
        schema: Mapping[str, ColumnType] | None = None,
        delimiter: str | None = None,
        points: Points | None = None,
    ) -> list[Notice]:
        """Warnings about conditions that none of these events satisfied, or that no event can; most affected first.

        Parameters
        ----------
        events : source of events, optional
            A sample of a few thousand events is enough. Default: the warnings come from the subscriptions alone.
        schema
            As in `tocsin.match`.
        delimiter
            As in `tocsin.match`.
        points
            As in `tocsin.match`.

        Returns
        -------
        list of Notice
            The warnings, empty if there are none.

        Examples
        --------
        >>> engine = Engine()
        >>> engine.subscribe("s1", "colour = 'red'")
        >>> [warning.attribute for warning in engine.warnings([{"color": "red"}])]
        ['colour']

        Notes
        -----
        Cost: linear in subscriptions and events.
        """
        with self._store.reading() as snapshots:
            seen = None if events is None else seen_in(events, snapshots.wanted, schema, delimiter, points, self._texts)
            own = notices_of(snapshots, seen)
            others = no_degrees(seen, snapshots.wanted)
            return [*misnamed(snapshots.wanted, seen, schema=schema, points=points), *others, *own]

    # On disk

    def save(self, folder: str | Path) -> None:
        """Write the engine into a folder, atomically; an earlier version in the folder is replaced at once.

        `Engine.load`, `tocsin.match` and Spark read the folder. Later changes of the engine do not reach it.

        Parameters
        ----------
        folder : str or Path
            The folder, which need not exist.

        Raises
        ------
        SegmentError
            If the folder cannot be written. What it held before is unchanged.
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
        """Open a folder that `save` or `tocsin compile` wrote.

        Parameters
        ----------
        folder : str or Path
            The folder.
        index : str, optional
            The structure for later subscriptions. Default: the one that was saved.
        statistics : Statistics, optional
            Statistics for that structure. Default: those saved in the folder.
        delta_limit
            As in `tocsin.Engine`.
        texts : mapping of str to Text or str, optional
            Further texts; the engine keeps those that it was saved with.

        Returns
        -------
        Engine
            The engine.

        Raises
        ------
        SegmentError
            If a file is missing, damaged or of another version.
        InvalidInput
            If `texts` contradicts those that were saved.

        Notes
        -----
        Files are memory-mapped, so that processes share their pages.
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
        """Wait for a running merge, and start no more; the engine still answers."""
        self._merger.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Engine({len(self):,} subscriptions, {len(self._store.segments)} segments)"
