"""Matching in one call, which keeps nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from tocsin.encoding import Points
from tocsin.engine.answer import Answer, Stats
from tocsin.engine.loading import extras_of, load_segments, require_some
from tocsin.engine.matching import Request, answer_of
from tocsin.model.ranking import Ranking
from tocsin.model.subscription import together
from tocsin.model.texts import texts_in
from tocsin.records.csv_files import ColumnType
from tocsin.records.events import Events
from tocsin.records.subscriptions import Subscriptions


def match(
    subscriptions: Subscriptions,
    events: Events,
    *,
    ranking: Ranking | None = None,
    index: str = "auto",
    lists: bool = False,
    strict: bool = False,
    schema: Mapping[str, ColumnType] | None = None,
    threads: int | None = None,
    progress: Callable[[float | None], None] | None = None,
    delimiter: str | None = None,
    points: Points | None = None,
    event_key: str | None = None,
    payload: bool = False,
    payload_columns: Iterable[str] = (),
) -> Answer:
    """Match events against subscriptions in one call, and keep nothing.

    Both come as dicts, Arrow tables and datasets, pandas or Polars frames, or DuckDB relations. JSON comes as bytes or
    a path, and CSV, Parquet and Arrow as files. A list, a pattern or a folder gives several files. Subscriptions may
    also come as a folder that `compile` made. A bad record is skipped and reported in `.errors`. If no subscription or
    no event is left, `RecordError` says why. With `strict` the first bad record raises it.

    `schema` has the types of the events' attributes: "number", "string", "boolean", "instant", "geometry", "text" or a
    `Text`. The latter also says how TEXT splits values into words. `points` has attributes that combine two others
    (`{"location": ("lon", "lat")}`). `delimiter` separates the fields of a CSV file (None: detected).

    `event_key` names an attribute of the events that becomes a column beside the row number. `payload` adds the
    subscriptions' payloads, as JSON. `payload_columns` names fields of the subscriptions' records that become part of
    their payloads. Other unknown fields are ignored and listed in `.warnings`.

    `threads` share the events, by default one per core; the answer is the same. `progress` is called with the share of
    the subscriptions read so far, then with the share of the events answered. It gets None if a size is not known.

    >>> answer = match([{"id": "cheap", "where": "price <= 580"}], [{"price": 550}, {"price": 600}])
    >>> answer.table.to_pylist()
    [{'event': 0, 'subscription': 'cheap'}]
    """
    request, stats = (
        Request(ranking, lists, strict, schema, threads, delimiter, points or {}, event_key, payload),
        Stats(),
    )
    begun = time.perf_counter()
    texts, extras = texts_in(schema), extras_of(payload_columns)
    snapshots, rejects = load_segments(
        subscriptions, index, strict=strict, progress=progress, texts=texts, extras=extras
    )
    require_some(len(snapshots), rejects, "subscription")
    stats.seconds = time.perf_counter() - begun
    stats.add_time("compile", stats.seconds)
    answer = answer_of(snapshots, events, request, stats, rejects, progress, require_one=True)
    return replace(answer, noticing=lambda: together(extras.warnings(), answer.noticing()))
