"""Matches of a chunk of events as plain lists, for callers who answer each event by itself.

`match_batch` builds a table, which takes milliseconds. These lists take microseconds for a few events.
"""

from __future__ import annotations

from typing import NamedTuple

from tocsin.encoding import encode_chunk
from tocsin.engine.questions import Questions
from tocsin.index import at_moment
from tocsin.model.instants import present
from tocsin.model.ranking import Ranking
from tocsin.model.subscription import Reject, SubscriptionId
from tocsin.model.values import Instant
from tocsin.records import Chunk


class Hits(NamedTuple):
    """The matches of some events, by event, then id; with a ranking best first. E events, M matches."""

    rows: list[int]  # (E,) the row of each event in the chunk
    starts: list[int]  # (E + 1,) the matches of event e are those from starts[e] to starts[e + 1]
    ids: list[SubscriptionId]  # (M,)
    scores: list[float]  # (M,)
    payloads: list[str | None]  # (M,) JSON texts; null or empty if absent


def hits_of(
    engine: Questions, chunk: Chunk, ranking: Ranking | None = None, now: Instant | None = None
) -> tuple[list[Hits], list[Reject]]:
    """Match a chunk of events. All see one state of the engine, and one present: `now`, or that of the clock.

    Also returns the rejects. An event whose row no `Hits` has could not be used at all.
    """
    with engine._reading() as snapshots:
        batches, rejects = encode_chunk(chunk, snapshots.wanted, engine._texts)
        answers = []
        for batch in batches:
            rejects = [*rejects, *batch.rejects]
            if snapshots.wanted.clock:
                now = now or present()
                batch = at_moment(batch, now)
            found = snapshots.find(batch, ranking)
            places = found.subscriptions
            scores = snapshots.scores_of(places) if found.scores is None else found.scores
            ids, payloads = snapshots.ids_of(places).to_pylist(), snapshots.payload_texts(places)
            answers.append(Hits(batch.rows.tolist(), found.starts.tolist(), ids, scores.tolist(), payloads))
    return answers, rejects
