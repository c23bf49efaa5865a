"""Matching against an index too large for one machine: events are sent to the parts that may match them.

There are three steps with a shuffle between, each a function of a batch of rows. `sent` makes one row for each part
that an event visits. `answered` matches each row against its part. `merged` combines the rows of an event. One row of
an event is its *home*. It has all columns and the number of the event's rows; the others have only the columns to
match. Nothing here depends on Spark.

The answers are exact: all of an event's matches are in the parts that it visits (`tocsin.placement`). Each part returns
all of its matches or its k best, which include the k best of all. Copies of a subscription have one id and count once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.columns.crossing import with_crossing_shapes
from tocsin.errors import InvalidInput
from tocsin.index import question_of
from tocsin.index.elements import with_conditions
from tocsin.model.values import Instant
from tocsin.segment import Snapshots
from tocsin.segment.outlines import Outline
from tocsin.spark.answering import MatchOptions, errors_of, events_of, find, ids_and_scores, lists_of, with_row
from tocsin.spark.names import (
    CANDIDATES,
    ERROR,
    EVENT,
    MATCHES,
    NOW,
    PART,
    ROWS,
    SERVED,
    TO,
    VERIFIED,
    WORK,
    work_column,
)

_NO_PART: Final = -1
_TASK_BITS: Final = 40
"""An event's number has its task in the upper bits, and its number within the task in the lower."""


class Visits(NamedTuple):
    """The parts that events visit. V rows by event; the first row of each event is its home."""

    owners: NDArray[np.int64]  # (V,) the row in the batch
    parts: NDArray[np.int64]  # (V,) _NO_PART for an event that visits none
    rows: NDArray[np.int64]  # (V,) in the home row the event's number of rows, elsewhere 0


def sent(
    batch: pa.RecordBatch, asked: MatchOptions, outline: Outline, task: int, first: int, tasks: int
) -> pa.RecordBatch:
    """A row for each part that an event visits; event numbers of this task begin at `first`.

    `asked.columns` are renamed by their places, to `c0`, `c1` ...
    """
    events = events_of(batch, asked, outline.wanted)
    visits = np.zeros((batch.num_rows, len(outline.alike)), bool)
    question = question_of(asked.ranking)
    always = np.array([not question.needs_a_key(asked.ranking, one) for one in outline.alike], bool)
    for encoded, rows in zip(events.encoded, events.rows, strict=True):
        if encoded.has_crossing_boxes:
            encoded = with_crossing_shapes(encoded)
        visits[rows] = outline.router.visits(with_conditions(encoded, outline.wanted)) | always
    who = _visits(visits)
    numbers = (np.int64(task) << _TASK_BITS) + first + who.owners
    columns = _sent_columns(batch, asked, who)
    columns[EVENT] = pa.array(numbers)
    columns[PART] = pa.array(who.parts, pa.int32())
    columns[TO] = pa.array(np.where(who.parts < 0, numbers, who.parts) % tasks, pa.int32())
    columns[ROWS] = pa.array(who.rows, pa.int32())
    columns[SERVED] = pa.array(events.is_served[who.owners])
    now = None if asked.now is None else asked.now.microseconds
    columns[NOW] = pa.array([now] * len(who.owners), pa.int64())
    columns[ERROR] = errors_of(events.rejects, batch.num_rows).take(_where(who.owners, who.rows > 0))
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def _visits(visits: NDArray[np.bool_]) -> Visits:
    counts = visits.sum(axis=1)
    owners, parts = np.nonzero(visits)
    nowhere = np.flatnonzero(counts == 0)
    owners = np.concatenate([owners, nowhere])
    parts = np.concatenate([parts, np.full(len(nowhere), _NO_PART)])
    order = np.argsort(owners, kind="stable")
    owners, parts = owners[order], parts[order]
    is_home = np.diff(owners, prepend=-1) != 0
    return Visits(owners, parts, np.where(is_home, np.maximum(counts, 1)[owners], 0))


def _sent_columns(batch: pa.RecordBatch, asked: MatchOptions, who: Visits) -> dict[str, pa.Array]:
    """The columns of the events; columns that are not matched are filled in the home row only."""
    matched = {asked.json} if asked.json is not None else set(asked.attributes)
    whole, at_home = pa.array(who.owners), _where(who.owners, who.rows > 0)
    given = zip(asked.columns, batch.columns, strict=True)
    return {
        f"c{number}": column.take(whole if name in matched else at_home) for number, (name, column) in enumerate(given)
    }


def _where(places: NDArray[np.int64], is_there: NDArray[np.bool_]) -> pa.Array:
    """Indices for `take`, null where no value is wanted."""
    return pa.array(places, mask=~is_there)


def answered(
    batch: pa.RecordBatch, asked: MatchOptions, part: Callable[[int], Snapshots], lists: pa.DataType
) -> Iterator[pa.RecordBatch]:
    """The sent rows, part by part, with the matches in that part; `lists` is the type of the matches."""
    numbers = batch.column(PART).to_numpy()
    own = replace(asked, event_id=None, corrupt=None, tells_work=False)
    for number in np.unique(numbers).tolist():
        rows = batch.take(pa.array(np.flatnonzero(numbers == number)))
        columns = {name: rows.column(name) for name in rows.schema.names if name not in (PART, TO, NOW)}
        columns[MATCHES], work = pa.nulls(rows.num_rows, lists), (0, 0)
        if number != _NO_PART:
            snapshots = part(number)
            given = pa.RecordBatch.from_arrays(rows.columns[: len(asked.columns)], names=list(asked.columns))
            now = rows.column(NOW)[0].as_py()
            found = find(given, own if now is None else replace(own, now=Instant(now)), snapshots)
            columns[MATCHES] = lists_of(found.owners, ids_and_scores(snapshots, found), found.is_served)
            work = found.candidates, found.verified
        for name, count in zip((CANDIDATES, VERIFIED), work, strict=True):
            columns[name] = pa.array([count, *[0] * (rows.num_rows - 1)], pa.int64())
        yield pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


class Merged(NamedTuple):
    """The matches of some events, in the order of the answer. M matches."""

    owners: NDArray[np.int64]  # (M,) the event, ascending
    ids: pa.Array
    scores: NDArray[np.float64]  # (M,)


def merged(rows: pa.Table, asked: MatchOptions, version: str = "") -> pa.RecordBatch:
    """The answer to some events from all of their rows; raises `InvalidInput` if a row is missing."""
    rows = rows.combine_chunks()
    numbers, counts = rows[EVENT].to_numpy(), rows[ROWS].to_numpy()
    at_home = np.flatnonzero(counts > 0)
    at_home = at_home[np.argsort(numbers[at_home], kind="stable")]
    events, places, found = np.unique(numbers, return_inverse=True, return_counts=True)
    if not np.array_equal(events, numbers[at_home]) or not np.array_equal(found, counts[at_home]):
        raise InvalidInput(
            "a repeated task had other events than before, so that its shuffled events do not fit together; "
            "make sure that Spark reads the same events again: write them to files, or persist them, before the match"
        )
    homes = rows.take(pa.array(at_home))
    is_served = homes[SERVED].to_numpy()
    best = _best(rows[MATCHES].combine_chunks(), places, asked)
    columns = {name: homes[f"c{number}"].combine_chunks() for number, name in enumerate(asked.columns)}
    matches = [best.ids, pa.array(best.scores)]
    if asked.event_id is None:
        columns |= {MATCHES: lists_of(best.owners, matches, is_served), ERROR: homes[ERROR].combine_chunks()}
    else:
        ids = columns[asked.event_id].take(pa.array(best.owners))
        columns = dict(zip(("event_id", "subscription", "score"), [ids, *matches], strict=True))
    if asked.tells_work:
        columns = with_row(columns) if asked.event_id is not None else columns
        reported = len(homes) - homes[ERROR].null_count
        searched = [int(pc.sum(rows[name]).as_py() or 0) for name in (CANDIDATES, VERIFIED)]
        work = (len(homes), len(best.owners), int((~is_served).sum()), reported, *searched, version)
        columns[WORK] = work_column(work, len(next(iter(columns.values()))))
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def _best(lists: pa.ListArray, places: NDArray[np.int64], asked: MatchOptions) -> Merged:
    """The matches of all parts by event, in the ranking's order, each subscription once; at most k if it has k."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
    flat = lists.flatten()
    ids, scores = flat.field(0), flat.field(1).to_numpy()
    owners = np.repeat(places, lengths)
    ranks = pc.rank(ids, tiebreaker="min").to_numpy().astype(np.int64) if len(ids) else np.empty(0, np.int64)
    order = np.lexsort((ranks, owners) if asked.ranking is None else (ranks, -scores, owners))
    owners, ranks = owners[order], ranks[order]
    is_first = np.ones(len(order), bool)
    is_first[1:] = (owners[1:] != owners[:-1]) | (ranks[1:] != ranks[:-1])
    owners, order = owners[is_first], order[is_first]
    k = getattr(asked.ranking, "k", None)
    if k is not None:
        wanted = np.arange(len(owners)) - np.searchsorted(owners, owners) < k
        owners, order = owners[wanted], order[wanted]
    return Merged(owners, ids.take(pa.array(order)), scores[order])


def whole_events(batches: Iterable[pa.RecordBatch], *, is_sorted: bool) -> Iterator[pa.Table]:
    """Tables with whole events: in pieces if the rows are sorted, otherwise in one table."""
    kept: list[pa.RecordBatch] = []
    for batch in batches:
        if not batch.num_rows:
            continue
        if is_sorted and kept:
            numbers = batch.column(EVENT).to_numpy()
            last = kept[-1].column(EVENT)[-1].as_py()
            stop = int(np.searchsorted(numbers, last, side="right"))
            if stop < batch.num_rows:
                yield pa.Table.from_batches([*kept, batch.slice(0, stop)])
                kept, batch = [], batch.slice(stop)
        kept.append(batch)
    if kept:
        yield pa.Table.from_batches(kept)
