"""Subscriptions in memory that can be changed at any time, and looked up."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import pyarrow as pa

from tocsin.engine.holdings import Holdings
from tocsin.engine.loading import checked_rejects, collect, extras_of
from tocsin.engine.merging import Merger
from tocsin.engine.only import Choice, choice_of
from tocsin.engine.sources import SegmentSource
from tocsin.engine.store import Store
from tocsin.errors import InvalidInput, RecordError
from tocsin.index import Statistics, choose, find_index, recent_structure
from tocsin.language import Templates
from tocsin.model.subscription import (
    Reject,
    Removal,
    Report,
    SubscriptionId,
    checked_score,
    removed_ids,
    superseded_notice,
)
from tocsin.model.texts import Text
from tocsin.progress import Progress, reporting
from tocsin.records import Parsed, parsed_record, subscription_of
from tocsin.records.subscriptions import Subscriptions
from tocsin.schemas import checked_texts
from tocsin.segment import Segment, SegmentBuilder, require_suitable

DELTA_LIMIT: Final = 8192


class SubscriptionSet(Holdings):
    """The part of an engine that changes its subscriptions and looks them up; `Engine` matches them, too."""

    def __init__(
        self,
        index: str = "auto",
        *,
        statistics: Statistics | None = None,
        delta_limit: int = DELTA_LIMIT,
        texts: Mapping[str, Text | str] | None = None,
    ) -> None:
        if isinstance(delta_limit, bool) or not isinstance(delta_limit, int) or not 1 <= delta_limit <= 1 << 20:
            raise InvalidInput(f"delta_limit is {delta_limit!r}; it must be an integer from 1 to {1 << 20}")
        self._plan = choose(index, statistics)
        self._takes_all = find_index(self._plan.index).takes_all
        self._texts = checked_texts(texts)
        self._templates = Templates(self._texts)
        self._delta_limit = delta_limit
        self._begin(self._new_store())

    def _new_store(self, sources: Sequence[SegmentSource] = ()) -> Store:
        """A store of some sources, with the structure of the engine's index for what comes later."""
        return Store(sources, recent=partial(recent_structure, self._plan))

    def _begin(self, store: Store) -> None:
        self._store = store
        self._merger = Merger(store, self._plan, self._delta_limit)

    # Changes

    def subscribe(
        self,
        id: SubscriptionId,
        where: str | Mapping[str, Any] | bool,
        *,
        language: str | None = None,
        by: str | Sequence[str] | None = None,
        score: float | None = None,
        payload: Any = None,
        weights: Mapping[str, float] | None = None,
        replace: bool = False,
    ) -> None:
        """Add a subscription; the next match sees it.

        Parameters
        ----------
        id : str or int
            The id. All ids of an engine are strings, or all are integers.
        where : str, mapping or bool
            The condition as CQL2 text or JSON, or a rule of another system.
        language : str, optional
            The language of `where`: `cql2` (the default), or that of another system, such as `eventbridge`
            (docs/coming-from).
        by : str or list of str, optional
            The attributes that identify the object whose events a `tocsin.Monitor` follows for this subscription. It is
            stored with the condition, as BY. Default: the monitor's `key`.
        score : float, optional
            The rank among matches, for `Top`; finite. Default: 1.0.
        payload : any JSON value
            What matches return with `payload=True`.
        weights : mapping of str to float, optional
            The weight of each attribute, for `Relaxed`; finite and at least 0. Default: 1 each.
        replace : bool
            Whether to replace a subscription with the same id, all its fields included.

        Raises
        ------
        RecordError
            If a field is invalid. `ExpressionError` says where an expression is wrong.
        DuplicateSubscription
            If the id exists and `replace` is False.
        UnsuitableIndex
            If the engine's index was named by the caller and cannot hold the expression.

        Warns
        -----
        UserWarning
            If a condition probably means something else (`color = "gold"`), for the first 20 texts of each form.

        Examples
        --------
        >>> import tocsin
        >>> engine = tocsin.Engine()
        >>> engine.subscribe("s1", "model = 'iphone5s' AND price <= 580", score=2.0, payload={"mail": "a@example.org"})
        >>> len(engine), "s1" in engine, engine.payload("s1")
        (1, True, {'mail': 'a@example.org'})

        Notes
        -----
        Cost: microseconds; more for a text of a new form, which is parsed. The next match compiles the condition, at
        about the same cost.
        """
        record = {
            "id": id,
            "where": where,
            "language": language,
            "by": by,
            "score": score,
            "payload": payload,
            "weights": weights,
        }
        if not self._takes_all:
            require_suitable(self._plan, subscription_of(record))
        self._add(parsed_record(record, self._templates), replace=replace)
        for advice in self._templates.take_advice():
            warnings.warn(f"{advice.condition}: {advice.reason}", stacklevel=2)

    def subscribe_many(
        self,
        source: Subscriptions,
        *,
        replace: bool = False,
        strict: bool = False,
        progress: Progress | None = None,
        payload_columns: Iterable[str] = (),
    ) -> Report:
        """Add all subscriptions of a source; the next match sees all of them.

        Parameters
        ----------
        source : source of subscriptions
            Any that `tocsin.match` accepts, except a compiled folder.
        replace : bool
            Whether to replace existing subscriptions, and to keep the last of several with one id. Otherwise the first
            is kept, and existing ones stay.
        strict : bool
            Whether to raise `RecordError` at the first bad record, and to add nothing.
        progress : callable or True, optional
            Called with the share of the source that was read, or with None if its size is not known. True shows a bar.
        payload_columns
            As in `tocsin.match`.

        Returns
        -------
        Report
            The number of subscriptions that were added, the rejected records, and warnings about ignored fields, about
            conditions that probably mean something else, and about records that a later one of the same id replaced.

        Raises
        ------
        InvalidInput
            If the source cannot be read.
        RecordError
            With `strict`, at the first bad record.

        Examples
        --------
        >>> import tocsin
        >>> engine = tocsin.Engine()
        >>> accepted, errors = engine.subscribe_many([{"id": "s1", "where": "price < 5"}, {"id": "s2"}])
        >>> accepted, [(error.row, error.id, error.field) for error in errors]
        (1, [(1, 's2', 'where')])
        """
        extras = extras_of(payload_columns)
        with reporting(progress, "subscribing") as share:
            builder = collect(source, self._templates, strict=strict, progress=share, extras=extras)
        accepted, rejects = self._add_all(builder, replace=replace, strict=strict)
        notices = [superseded_notice(len(ids), ids[0])] if (ids := builder.superseded) else []
        return Report(accepted, rejects, [*extras.warnings(), *notices])

    def unsubscribe(self, id: SubscriptionId) -> None:
        """Remove a subscription.

        Parameters
        ----------
        id : str or int
            Its id.

        Raises
        ------
        UnknownSubscription
            If no subscription has the id.
        """
        self._remove(id)

    def unsubscribe_many(
        self, ids: Iterable[SubscriptionId] | None = None, *, only: str | None = None, dry_run: bool = False
    ) -> Removal:
        """Remove many subscriptions: those with some ids, or those whose payload satisfies a condition.

        Parameters
        ----------
        ids : iterable of str or int, optional
            The ids. Those that no subscription has are in the result.
        only : str, optional
            A condition on payloads instead, as `match` takes it.
        dry_run : bool
            Whether to count only, and to remove nothing.

        Returns
        -------
        Removal
            How many were removed, and the unknown ids.

        Raises
        ------
        InvalidInput
            If neither `ids` nor `only` is given, or both are. `ExpressionError` says where a condition is wrong.
        RecordError
            If an id is neither a string nor an integer.

        Examples
        --------
        >>> import tocsin
        >>> engine = tocsin.Engine()
        >>> for id, user in ("a", "ann"), ("b", "ann"), ("c", "bob"):
        ...     engine.subscribe(id, "price < 5", payload={"user": user})
        >>> engine.unsubscribe_many(only="user = 'ann'", dry_run=True)
        Removal(removed=2, unknown=[])
        >>> engine.unsubscribe_many(only="user = 'ann'"), list(engine)
        (Removal(removed=2, unknown=[]), ['c'])
        >>> engine.unsubscribe_many(["c", "d"])
        Removal(removed=1, unknown=['d'])

        Notes
        -----
        All are removed at once, or none. A subscription whose payload is replaced during the call stays.
        Cost: linear in the ids; with `only`, in all subscriptions.
        """
        if ids is not None and only is None:
            choice = Choice(removed_ids(ids))
        elif ids is None and isinstance(only, str):
            with self._store.reading() as snapshots:
                choice = choice_of(snapshots, only)
        else:
            raise InvalidInput("give either ids, or a condition on payloads as only=")
        present = self._store.present(choice) if dry_run else self._remove_all(choice)
        unknown = set(choice.ids).difference(present) if only is None else ()
        return Removal(len(present), [id for id in choice.ids if id in unknown])

    def rescore(self, id: SubscriptionId, score: float) -> None:
        """Change the score of a subscription.

        Parameters
        ----------
        id : str or int
            Its id.
        score : float
            The new score.

        Raises
        ------
        UnknownSubscription
            If no subscription has the id.
        RecordError
            If the score is not a finite number.

        Examples
        --------
        >>> import tocsin
        >>> engine = tocsin.Engine()
        >>> engine.subscribe("s1", "price <= 580")
        >>> engine.rescore("s1", 3.0)
        >>> engine.match({"price": 550})
        [Match(subscription='s1', score=3.0)]
        """
        if score is None:
            raise RecordError("a score must be a number, not None", "score")
        self._rescore(id, checked_score(score))

    def merge(self) -> None:
        """Merge everything into one segment now, in this thread.

        Notes
        -----
        Answers stay the same, and matches go on meanwhile. Cost: that of building an index of all subscriptions.
        """
        self._merger.merge_all()

    # How a change is made: a durable engine makes it in its database first

    def _add(self, parsed: Parsed, *, replace: bool) -> None:
        if self._store.add(parsed, replace=replace) >= self._delta_limit:
            self._merger.wake()

    def _add_all(self, builder: SegmentBuilder, *, replace: bool, strict: bool) -> tuple[int, list[Reject]]:
        """Add what a builder collected; returns how many were added, and the rejects."""
        with self._store.structure:
            segment = self._finished(builder, replace=replace)
            rejects = checked_rejects(builder, strict=strict)
            if len(segment):
                self._store.add_segment(segment, replace=replace)
        self._merger.wake()
        return len(segment), rejects

    def _finished(self, builder: SegmentBuilder, *, replace: bool) -> Segment:
        """The segment of what a builder collected, without taken ids unless they are replaced."""
        kind = self._store.kind
        arrow = None if kind is None else pa.int64() if kind is int else pa.large_string()
        return builder.finish(self._plan, kind=arrow, keep_last=replace, taken=None if replace else self._store.taken)

    def _remove(self, id: SubscriptionId) -> None:
        self._store.remove(id)

    def _remove_all(self, choice: Choice) -> list[SubscriptionId]:
        return self._store.remove_all(choice)

    def _rescore(self, id: SubscriptionId, score: float) -> None:
        self._store.rescore(id, score)
