"""Lists of matches are those of `match`, for any number of sources and events."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

import tocsin
from tocsin.engine.groups import Hits, columns_of, hits_of
from tocsin.records import ObjectChunk, read_events


def matched(engine: tocsin.Engine, event: dict[str, Any], ranking: Any) -> list[tuple[Any, float, Any]]:
    found: list[Any] = list(engine.match(event, ranking=ranking, payload=True))
    return [(one.subscription, one.score, one.payload) for one in found]


@pytest.mark.parametrize("kind", [str, int])
@pytest.mark.parametrize("count", [1, 3, 60])
def test_hits_are_matches(kind: type, count: int) -> None:
    draw, engine = random.Random(count), tocsin.Engine(delta_limit=1 << 20)
    name: Any = (lambda number: f"s{number}") if kind is str else int
    for first in (0, 100, 200):  # two segments and a delta, with and without payloads
        records = [
            {"id": name(first + one), "where": f"n < {draw.randrange(50)}", "score": one}
            | ({"payload": {"one": one}} if one % 3 else {})
            for one in range(40)
        ]
        if first == 200:
            for one in records:
                engine.subscribe(one["id"], one["where"], score=one["score"], payload=one.get("payload"))
        else:
            engine.subscribe_many(records)
    events = [{"n": draw.randrange(50)} for _ in range(count)]
    lines = next(read_events("".join(json.dumps(one) + "\n" for one in events).encode()))
    for chunk in (ObjectChunk(list(enumerate(events))), lines):
        for ranking in (None, tocsin.Top(3)):
            answers, rejects = hits_of(engine, chunk, ranking)
            found = {
                row: [
                    (hits.ids[at], hits.scores[at], json.loads(hits.payloads[at] or "null"))
                    for at in range(hits.starts[place], hits.starts[place + 1])
                ]
                for hits in answers
                for place, row in enumerate(hits.rows)
            }
            expected = {row: matched(engine, event, ranking) for row, event in enumerate(events)}
            assert (found, rejects) == (expected, [])

            columns, refused = columns_of(engine, chunk, ranking)
            listed = [
                Hits(*(part.tolist() for part in (one.rows, one.starts, one.ids, one.scores, one.payloads)))
                for one in columns
            ]
            assert [one._replace(payloads=[text or None for text in one.payloads]) for one in answers] == listed
            assert refused == []


@pytest.mark.parametrize("count", [5, 200])
def test_named_parts_are_told_of_the_matches_that_ask(count: int) -> None:
    """By place; the others have none."""
    engine = tocsin.Engine()
    engine.subscribe_many(
        {"id": number, "where": f"NAMED('low', n < {number}) OR NAMED('any', ANY(tags, element = 'a'))"}
        for number in range(count)
    )
    events = [{"n": n, "tags": ["b", "a"][: n % 3]} for n in range(0, count, 3)]
    (hits,), _ = hits_of(
        engine,
        ObjectChunk(list(enumerate(events))),
        naming=lambda ids: [place for place, id in enumerate(ids) if int(id) % 2],
    )

    for place, event in enumerate(events):
        own = range(hits.starts[place], hits.starts[place + 1])
        expected = {one.subscription: one.named for one in engine.match(event, named=True)}
        assert {hits.ids[at]: hits.named.get(at) for at in own} == {
            id: parts if int(id) % 2 else None for id, parts in expected.items()
        }
