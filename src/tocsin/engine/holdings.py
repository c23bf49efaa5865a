"""What an engine holds: single subscriptions, and all of them as a table or as JSON lines that any engine can read."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NoReturn, TextIO

import numpy as np
import pyarrow as pa

from tocsin.encoding import Points
from tocsin.engine.engine_stats import EngineStats, stats_of
from tocsin.engine.explaining import explain_stored
from tocsin.engine.merging import Merger
from tocsin.engine.only import Only, restricted
from tocsin.engine.store import Store
from tocsin.index import Plan
from tocsin.index.alive import living
from tocsin.language import Explanation
from tocsin.language.dialects import as_given
from tocsin.language.stored import stored_payload, stored_weights
from tocsin.model.ranking import Similar
from tocsin.model.showing import html_table, refuse_pickling
from tocsin.model.subscription import SubscriptionId
from tocsin.model.texts import Text
from tocsin.records.csv_files import ColumnType
from tocsin.segment import Snapshots
from tocsin.segment.segment import records_table
from tocsin.writing import aside, raising_invalid_input

_AT_ONCE: Final = 8192


def held_table(snapshots: Snapshots) -> pa.Table:
    """`id`, `where`, `score`, `payload` and `weights` (JSON texts, null if absent) of the live subscriptions, by id.

    Cost: linear, plus a sort. Texts are copied.
    """
    tables = []
    for one in snapshots:
        table = one.records()
        if one.alive is not None:
            table = table.take(pa.array(living(one.alive, len(one))))
        tables.append(table)
    none = pa.array([], snapshots.id_type), pa.array([], pa.large_string()), np.empty(0)
    return pa.concat_tables([records_table(*none), *tables]).sort_by("id").combine_chunks()


def records_of(table: pa.Table) -> Iterator[dict[str, Any]]:
    """The rows as records that an engine takes, with payload and weights as objects where there are any."""
    for batch in table.to_batches(_AT_ONCE):
        for row in batch.to_pylist():
            record = {name: row[name] for name in ("id", "where", "score")}
            yield record | optional_parts(row["payload"], row["weights"])


def optional_parts(payload: str | None, weights: str | None) -> dict[str, Any]:
    """The fields `payload` and `weights` of a record, from their stored texts. Absent ones are left out."""
    parts: dict[str, Any] = {"payload": stored_payload(payload)} if payload else {}
    return parts | ({"weights": stored_weights(weights)} if weights else {})


def export(table: pa.Table, path: str | Path) -> None:
    """Write records as JSON lines, atomically; raises `InvalidInput` if the file cannot be written."""
    with raising_invalid_input(path), aside(path) as beside, beside.open("w", encoding="utf-8") as stream:
        write_records(table, stream)


def write_records(table: pa.Table, stream: TextIO) -> None:
    """Write records as JSON lines."""
    for record in records_of(table):
        stream.write(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")


class Holdings:
    """The part of an engine that tells what it holds."""

    _store: Store
    _plan: Plan
    _merger: Merger
    _texts: Mapping[str, Text]

    def explain(
        self,
        id: SubscriptionId,
        event: Mapping[str, Any],
        *,
        ranking: Similar | None = None,
        schema: Mapping[str, ColumnType] | None = None,
        points: Points | None = None,
        now: dt.datetime | str | None = None,
    ) -> Explanation:
        """Explain from its source text why a subscription matches an event, or does not.

        Parameters
        ----------
        id : str or int
            The subscription's id.
        event : mapping
            The event.
        ranking : Similar, optional
            Explain how similar the two are instead. `score` of the result is the sum of both shares.
        schema
            As in `tocsin.match`.
        points
            As in `tocsin.match`.
        now
            As in `tocsin.Engine.match`.

        Returns
        -------
        Explanation
            The predicates that hold and those that do not. Its `index` tells where the subscription is stored.

        Raises
        ------
        UnknownSubscription
            If no subscription has the id.
        RecordError, InvalidInput
            If the event cannot be read, or for another ranking.

        Examples
        --------
        >>> import tocsin
        >>> engine = tocsin.Engine()
        >>> engine.subscribe("s1", "price <= 580")
        >>> engine.explain("s1", {"price": 600}).failed[0].needed
        'price <= 580'
        """
        source, number = self._store.find(id)
        explained = explain_stored(
            source.text(number), event, self._texts, ranking=ranking, schema=schema, points=points, now=now
        )
        return explained if ranking is not None else replace(explained, index=source.place(number))

    def payload(self, id: SubscriptionId) -> Any:
        """The payload of a subscription.

        Parameters
        ----------
        id : str or int
            The subscription's id.

        Returns
        -------
        any JSON value
            The payload as it was given; None if there is none.

        Raises
        ------
        UnknownSubscription
            If no subscription has the id.
        """
        source, number = self._store.find(id)
        text = source.payload(number)
        return stored_payload(text) if text else None

    def get(self, id: SubscriptionId) -> dict[str, Any]:
        """A subscription as a record that `subscribe_many` takes.

        Parameters
        ----------
        id : str or int
            The subscription's id.

        Returns
        -------
        dict
            `id`, `where` (as text, even if JSON was given) and `score`, and `payload` and `weights` if there are any.
            A rule of another system is as it was given, with its `language`.

        Raises
        ------
        UnknownSubscription
            If no subscription has the id.

        Examples
        --------
        >>> import tocsin
        >>> engine = tocsin.Engine()
        >>> engine.subscribe("s1", "price <= 580")
        >>> engine.get("s1")
        {'id': 's1', 'where': 'price <= 580', 'score': 1.0}
        """
        source, number = self._store.find(id)
        payload, weights = source.payload(number), source.weights_of(number)
        record = {"id": id, **as_given(source.text(number)), "score": source.score_of(number)}
        return record | optional_parts(payload, weights)

    def subscriptions(self, *, only: Only | None = None) -> Iterator[dict[str, Any]]:
        """All subscriptions at one moment, or a part of them, as records that `subscribe_many` takes.

        Parameters
        ----------
        only : str or iterable of ids, optional
            As in `match`: those whose payload satisfies a condition, or those with some ids.

        Returns
        -------
        iterator of dict
            Each as `get` gives it, ordered by id.

        Examples
        --------
        >>> import tocsin
        >>> engine = tocsin.Engine()
        >>> engine.subscribe("s1", "price <= 580", payload={"user": "ann"})
        >>> list(engine.subscriptions(only="user = 'ann'"))
        [{'id': 's1', 'where': 'price <= 580', 'score': 1.0, 'payload': {'user': 'ann'}}]
        """
        table = self.subscription_table(only=only)
        return ({**record, **as_given(record["where"])} for record in records_of(table))

    def subscription_table(self, *, only: Only | None = None) -> pa.Table:
        """All subscriptions at one moment, or a part of them, as a table.

        Parameters
        ----------
        only : str or iterable of ids, optional
            As in `match`: those whose payload satisfies a condition, or those with some ids.

        Returns
        -------
        pyarrow.Table
            Columns `id`, `where`, `score`, `payload` and `weights` (JSON texts, null if absent), ordered by id.

        Notes
        -----
        Cost: linear, plus sorting the ids.
        """
        with self._store.reading() as snapshots:
            return held_table(restricted(snapshots, only))

    def export(self, path: str | Path) -> None:
        """Write all subscriptions as JSON lines, atomically; `subscribe_many` and `tocsin.match` read them.

        Parameters
        ----------
        path : str or Path
            The file.

        Raises
        ------
        InvalidInput
            If the file cannot be written.
        """
        export(self.subscription_table(), path)

    def __iter__(self) -> Iterator[SubscriptionId]:
        """The ids, sorted, at one moment."""
        return iter(self.subscription_table()["id"].to_pylist())

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str | int) and not isinstance(id, bool) and self._store.has(id)

    def __len__(self) -> int:
        return len(self._store)

    def _text_bytes(self) -> int:
        """The bytes of the conditions and payloads of all subscriptions. Cost: linear in them."""
        with self._store.reading() as snapshots:
            return snapshots.text_bytes()

    def __reduce__(self) -> NoReturn:
        refuse_pickling(self, "save it with save(folder), and Engine.load(folder) in the other process")

    def _repr_html_(self) -> str:
        """The engine in a notebook."""
        stats = self.stats
        rows = [(one.subscriptions, one.index, one.reason) for one in stats.segments]
        recent = [(stats.delta, "", "recent changes")] if stats.delta else []
        return html_table(repr(self), ("subscriptions", "index", "why"), [*rows, *recent])

    @property
    def stats(self) -> EngineStats:
        """What the engine holds now: segments, memory, and the choice of the index."""
        segments = [stats_of(source) for source in self._store.segments]
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
