"""Matches of a chunk of events, for callers who answer each event by itself: as plain lists, or in columns.

`match_batch` builds a table, which takes milliseconds. The lists take microseconds for a few events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.encoding import encode_chunk
from tocsin.engine.answer import Answer as TableAnswer
from tocsin.engine.answer import Stats
from tocsin.engine.matching import Request, answer_of
from tocsin.engine.named import named_of
from tocsin.engine.only import Only, restricted
from tocsin.engine.questions import Questions
from tocsin.engine.rooms import Room, Rooms
from tocsin.index import Found, at_moment
from tocsin.model.instants import present
from tocsin.model.ranking import Ranking
from tocsin.model.subscription import Reject, SubscriptionId
from tocsin.model.values import Instant
from tocsin.records import Chunk
from tocsin.segment import Snapshots

Answer = TypeVar("Answer")
Naming = Callable[[Sequence[SubscriptionId]], Sequence[int]]
"""Says which matches tell their named parts: gets the ids of all, and returns places in ascending order."""


class Hits(NamedTuple):
    """The matches of some events, by event, then id; with a ranking best first. E events, M matches."""

    rows: list[int]  # (E,) the row of each event in the chunk
    starts: list[int]  # (E + 1,) the matches of event e are those from starts[e] to starts[e + 1]
    ids: list[SubscriptionId]  # (M,)
    scores: list[float]  # (M,)
    payloads: list[str | None]  # (M,) JSON texts; null or empty if absent
    named: Mapping[int, dict[str, list[int]]] = {}  # the named parts that held, by place, of matches that tell them


class Columns(NamedTuple):
    """The same in columns, for thousands of events."""

    rows: NDArray[np.int64]  # (E,)
    starts: NDArray[np.int64]  # (E + 1,)
    ids: pa.Array  # (M,) integers or strings
    scores: NDArray[np.float64]  # (M,)
    payloads: pa.Array  # (M,) JSON texts; null if absent


def hits_of(
    engine: Questions,
    chunk: Chunk,
    ranking: Ranking | None = None,
    naming: Naming | None = None,
    now: Instant | None = None,
    *,
    room: Room | Rooms | None = None,
    only: Only | None = None,
) -> tuple[list[Hits], list[Reject]]:
    """Match a chunk of events. All see one state of the engine, and one present: `now`, or that of the clock.

    `naming` is called for each `Hits`, in order. Also returns the rejects. An event whose row no `Hits` has could not
    be used at all. With a `room` the matches that do not fit are left out. `only` asks a part of the subscriptions.
    """

    def listed(snapshots: Snapshots, batch: EventBatch, found: Found) -> Hits:
        places = found.subscriptions
        ids, payloads = snapshots.ids_of(places).to_pylist(), snapshots.payload_texts(places)
        asked = [] if naming is None else naming(ids)
        named = _named(snapshots, batch, found, asked) if asked else {}
        scores = _scores(snapshots, found).tolist()
        return Hits(batch.rows.tolist(), found.starts.tolist(), ids, scores, payloads, named)

    return _answers(engine, chunk, ranking, now, listed, room, only)


def columns_of(
    engine: Questions, chunk: Chunk, ranking: Ranking | None = None, room: Room | None = None
) -> tuple[list[Columns], list[Reject]]:
    """The same as `hits_of`, in columns."""

    def columns(snapshots: Snapshots, batch: EventBatch, found: Found) -> Columns:
        places = found.subscriptions
        ids, payloads = snapshots.ids_of(places), snapshots.payloads_of(places)
        return Columns(batch.rows, found.starts, ids, _scores(snapshots, found), payloads)

    return _answers(engine, chunk, ranking, None, columns, room)


def table_answer(
    engine: Questions, table: pa.Table, ranking: Ranking | None, room: Room, *, named: bool, only: Only | None
) -> TableAnswer:
    """The answer of `match_batch` with payloads, as far as there is room."""
    request = Request(ranking, threads=1, payload=True, named=named, texts=engine._texts, room=room)
    with engine._reading() as snapshots:
        return answer_of(restricted(snapshots, only), table, request, Stats(), [])


def _answers(
    engine: Questions,
    chunk: Chunk,
    ranking: Ranking | None,
    now: Instant | None,
    form: Callable[[Snapshots, EventBatch, Found], Answer],
    room: Room | Rooms | None = None,
    only: Only | None = None,
) -> tuple[list[Answer], list[Reject]]:
    """The answers to the batches of a chunk, in a form, and the rejects."""
    with engine._reading() as snapshots:
        batches, rejects = encode_chunk(chunk, snapshots.wanted, engine._texts)
        now = now or present()
        rejects = [*rejects, *(reject for batch in batches for reject in batch.rejects)]
        if snapshots.wanted.clock:
            batches = [at_moment(batch, now) for batch in batches]
        part = restricted(snapshots, only)
        answers = [part.find(batch, ranking) for batch in batches]
        if room is not None:
            answers = room.cut(snapshots, batches, answers)
        return [form(snapshots, *pair) for pair in zip(batches, answers, strict=True)], rejects


def _scores(snapshots: Snapshots, found: Found) -> NDArray[np.float64]:
    return snapshots.scores_of(found.subscriptions) if found.scores is None else found.scores


def _named(
    snapshots: Snapshots, batch: EventBatch, found: Found, asked: Sequence[int]
) -> dict[int, dict[str, list[int]]]:
    """The named parts that held, for some of the matches."""
    places = np.array(asked, np.int64)
    starts = np.searchsorted(places, found.starts)
    some = found._replace(starts=starts, subscriptions=found.subscriptions[places])
    return dict(zip(asked, named_of(snapshots, batch, some), strict=True))
