"""Matching in one call, which keeps nothing."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace

from tocsin.encoding import Points
from tocsin.engine.answer import Answer, Stats
from tocsin.engine.loading import extras_of, load_segments, require_some
from tocsin.engine.matching import Request, answer_of
from tocsin.model.instants import given_moment
from tocsin.model.ranking import Ranking
from tocsin.model.subscription import together
from tocsin.model.texts import texts_in
from tocsin.progress import Progress, reporting
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
    progress: Progress | None = None,
    delimiter: str | None = None,
    points: Points | None = None,
    event_key: str | None = None,
    payload: bool = False,
    named: bool = False,
    payload_columns: Iterable[str] = (),
    now: dt.datetime | str | None = None,
) -> Answer:
    """Match events against subscriptions in one call, which keeps nothing.

    A bad record is skipped and reported in the answer's `errors`.

    Parameters
    ----------
    subscriptions : source of subscriptions
        Records with `id`, `where`, and optionally `score`, `payload` and `weights`: dicts, JSON as bytes, or tables of
        Arrow, pandas, Polars or DuckDB. Paths name files of JSON lines, CSV, Parquet or Arrow; a list, a pattern or a
        folder names several. A folder that `compile` or `Engine.save` wrote is read as it is.
    events : source of events
        In the same forms; one dict is one event.
    ranking : Top, Relaxed or Similar, optional
        Which matches to report, and with which score. Default: all matches, without a score.
    index : str
        The structure that finds candidates, with options in parentheses. "auto" chooses; answers do not depend on it.
    lists : bool
        Whether the table has one row per event, with lists of its matches, also where there are none.
    strict : bool
        Whether to raise `RecordError` at the first bad record, instead of reporting it.
    schema : mapping of str to str or Text, optional
        The types of attributes: "number", "string", "boolean", "instant", "instant(ms)" (seconds `s` to `ns` for
        numbers), "geometry", "text", "text english stem", or a `tocsin.Text`. Other values of a typed attribute are
        reported. Default: JSON and tables have types, a CSV column gets that of its values.
    threads : int, optional
        The number of threads that share the events. Default: one per core. The answer is the same.
    progress : callable or True, optional
        Called with the share of the subscriptions read so far, then with the share of the events answered. It gets None
        if a size is not known. True shows a bar.
    delimiter : str, optional
        The character between the fields of a CSV file. Default: detected.
    points : mapping of str to pair of str, optional
        Attributes that are made of two others, x and y: `{"location": ("lon", "lat")}`.
    event_key : str, optional
        An attribute of the events. Its value becomes the column `event_key`, after the row number.
    payload : bool
        Whether to add the subscriptions' payloads, as JSON, in the column `payload`.
    named : bool
        Whether to add which named parts of the subscription held, in the column `named`: a list of names, each with the
        places of the list elements that made the part hold (docs/language.md).
    payload_columns : iterable of str
        Fields of the subscriptions' records that become part of their payloads. Other unknown fields are ignored and
        listed in the answer's `warnings`.
    now : datetime or str, optional
        The present, for `NOW()` in subscriptions; UTC if it has no zone. Default: the moment of the call.

    Returns
    -------
    Answer
        The table of matches, the rejected records, the cost, and warnings.

    Raises
    ------
    InvalidInput
        If a source cannot be read, or an option is invalid. `UnknownIndex` and `UnsuitableIndex` are about `index`.
    RecordError
        If no subscription or no event could be read; with `strict`, at the first bad record.
    SegmentError
        If a compiled folder is damaged.

    Examples
    --------
    >>> answer = match([{"id": "cheap", "where": "price <= 580"}], [{"price": 550}, {"price": 600}])
    >>> answer.table.to_pylist()
    [{'event': 0, 'subscription': 'cheap'}]

    Notes
    -----
    Events are read piece by piece, so that memory is bounded by the subscriptions and the answer. To match against the
    same subscriptions again, keep them in an `Engine`.
    """
    options = (ranking, lists, strict, schema, threads, delimiter, points or {}, event_key, payload, named)
    request, stats = Request(*options, now=given_moment(now)), Stats()
    begun = time.perf_counter()
    texts, extras = texts_in(schema), extras_of(payload_columns)
    with reporting(progress, "reading subscriptions") as share:
        snapshots, rejects = load_segments(
            subscriptions, index, strict=strict, progress=share, texts=texts, extras=extras
        )
    require_some(len(snapshots), rejects, "subscription")
    stats.seconds = time.perf_counter() - begun
    stats.add_time("compile", stats.seconds)
    with reporting(progress, "matching") as share:
        answer = answer_of(snapshots, events, request, stats, rejects, share, require_one=True)
    return replace(answer, noticing=lambda: together(extras.warnings(), answer.noticing()))
