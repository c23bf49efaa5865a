"""A question that only this test has, asked of engines: adding one takes an object and a line in the registry."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pyarrow.compute as pc
import pytest

import tocsin
from tests.naive.engine import Reference
from tocsin.columns.events.batch import EventBatch
from tocsin.index import Chosen, Found, Part, Plan, registry
from tocsin.index.alive import Alive
from tocsin.index.boolean.scan import Scan
from tocsin.index.protocols import Arrays
from tocsin.index.question import Subscriptions, top
from tocsin.model.ranking import Ranking


@dataclass(frozen=True)
class Latest(Ranking):
    """The k matches that were subscribed last; when that was is in the payload."""

    question = "the latest"

    k: int


class _Dated:
    """The dates of some subscriptions, and a scan of their expressions."""

    def __init__(self, part: Part) -> None:
        self._dates = pc.cast(part.payloads, "double").to_numpy(zero_copy_only=False)
        self._scan = Scan.build(part.compiled)

    def match(self, batch: EventBatch, ranking: Latest, alive: Alive = None) -> Found:
        found = self._scan.match(batch, alive)
        return top(found, self._dates[found.subscriptions], ranking.k)


class LatestMatches:
    """Answers `Latest`, by no index that could be chosen."""

    name: ClassVar[str] = "the latest"
    purpose: ClassVar[str] = "what came last"
    key: ClassVar[str] = "latest"
    default: ClassVar[Chosen | None] = None

    def __init__(self) -> None:
        self.made: list[int] = []

    def structure(self, part: Part, builder: None, plan: Plan) -> _Dated:
        self.made.append(len(part))
        return _Dated(part)

    def arrays(self, structure: _Dated) -> Arrays:
        """Nothing: it is made again when it is next asked for."""
        return {}

    def answer(self, subscriptions: Subscriptions, batch: EventBatch, ranking: Latest) -> Found:
        found = subscriptions.answers(self, batch, ranking)
        assert found.scores is not None
        return top(found, found.scores, ranking.k)


@pytest.fixture
def question(monkeypatch: pytest.MonkeyPatch) -> LatestMatches:
    """Registered for one test."""
    question = LatestMatches()
    monkeypatch.setitem(registry.QUESTIONS, question.name, question)
    return question


def records(dice: random.Random, numbers: range, as_text: bool) -> list[dict[str, Any]]:
    """Subscriptions in a random order, three of one date."""
    return [
        {
            "id": f"s{number}" if as_text else number,
            "where": f"n >= {number % 7} AND m <> {number % 5}",
            "payload": date // 3,
        }
        for date, number in enumerate(dice.sample(numbers, len(numbers)), numbers.start)
    ]


def check(engine: Any, reference: Reference) -> None:
    """The engine finds the latest matches of each event, of equal dates those of lower ids."""
    events = [{"n": n, "m": m} for n in (0, 3, 9) for m in (1, 4)] + [{}]
    for k in (1, 4, 1000):
        answer = engine.match_batch(events, ranking=Latest(k), lists=True)
        for event, row in zip(events, answer.table.to_pylist(), strict=True):
            found = [(float(reference.payload(name)), name) for name, _ in reference.match(event)]
            latest = [(name, date) for date, name in sorted(found, key=lambda pair: (-pair[0], pair[1]))[:k]]
            assert list(zip(row["subscription"], row["score"], strict=True)) == latest
            assert [tuple(match) for match in engine.match(event, ranking=Latest(k))] == latest


@pytest.mark.parametrize("as_text", [False, True], ids=["integers", "strings"])
def test_a_new_question_is_asked_of_segments_a_delta_and_what_is_left_of_them(
    as_text: bool, question: LatestMatches, tmp_path: Path
) -> None:
    """Two segments and a delta in blocks, with gone and replaced ones in each; and when merged, saved and loaded."""
    dice, engine, reference = random.Random(1), tocsin.Engine(), Reference()
    engine.close()  # nothing is merged but by request
    for numbers in (range(150), range(150, 300)):
        many = records(dice, numbers, as_text)
        engine.subscribe_many(many)
        reference.subscribe_many(many)
    for record in [*records(dice, range(300, 500), as_text), *records(dice, range(0, 500, 50), as_text)]:
        for one in (engine, reference):
            one.subscribe(record["id"], record["where"], payload=record["payload"], replace=True)
    for record in records(dice, range(0, 500, 7), as_text):
        for one in (engine, reference):
            one.unsubscribe(record["id"])

    assert [len(engine.stats.segments), engine.stats.delta > 100] == [2, True]
    check(engine, reference)
    assert sorted(question.made) == [18, 64, 128, 150, 150]  # each structure once
    engine.merge()
    check(engine, reference)
    engine.save(tmp_path)
    check(tocsin.Engine.load(tmp_path), reference)


def test_what_no_question_answers_is_refused() -> None:
    """In words that tell what there is."""
    with pytest.raises(
        tocsin.InvalidInput, match=r"give tocsin.Top\(k\), tocsin.Relaxed\(k\), .*, or nothing for every match"
    ):
        tocsin.match([], [], ranking=Latest(1))
