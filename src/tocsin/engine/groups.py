"""Matches of a chunk of events as plain lists, for callers who answer each event by itself.

`match_batch` builds a table, which takes milliseconds. These lists take microseconds for a few events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tocsin.columns.events.batch import EventBatch
from tocsin.encoding import encode_chunk
from tocsin.engine.named import named_of
from tocsin.engine.questions import Questions
from tocsin.index import Found, at_moment
from tocsin.model.instants import present
from tocsin.model.ranking import Ranking
from tocsin.model.subscription import Reject, SubscriptionId
from tocsin.model.values import Instant
from tocsin.records import Chunk
from tocsin.segment import Snapshots

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


def hits_of(
    engine: Questions,
    chunk: Chunk,
    ranking: Ranking | None = None,
    naming: Naming | None = None,
    now: Instant | None = None,
) -> tuple[list[Hits], list[Reject]]:
    """Match a chunk of events. All see one state of the engine, and one present: `now`, or that of the clock.

    `naming` is called for each `Hits`, in order. Also returns the rejects. An event whose row no `Hits` has could not
    be used at all.
    """
    with engine._reading() as snapshots:
        batches, rejects = encode_chunk(chunk, snapshots.wanted, engine._texts)
        now = now or present()
        answers = []
        for batch in batches:
            rejects = [*rejects, *batch.rejects]
            if snapshots.wanted.clock:
                batch = at_moment(batch, now)
            found = snapshots.find(batch, ranking)
            places = found.subscriptions
            scores = snapshots.scores_of(places) if found.scores is None else found.scores
            ids, payloads = snapshots.ids_of(places).to_pylist(), snapshots.payload_texts(places)
            asked = [] if naming is None else naming(ids)
            named = _named(snapshots, batch, found, asked) if asked else {}
            answers.append(Hits(batch.rows.tolist(), found.starts.tolist(), ids, scores.tolist(), payloads, named))
    return answers, rejects


def _named(
    snapshots: Snapshots, batch: EventBatch, found: Found, asked: Sequence[int]
) -> dict[int, dict[str, list[int]]]:
    """The named parts that held, for some of the matches."""
    places = np.array(asked, np.int64)
    starts = np.searchsorted(places, found.starts)
    some = found._replace(starts=starts, subscriptions=found.subscriptions[places])
    return dict(zip(asked, named_of(snapshots, batch, some), strict=True))
