"""Every index, asked every question, answers in any number of partitions as one process does, changes flowing or not.

What tasks run is plain functions; here they run without Spark.
"""

from __future__ import annotations

import random
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tocsin
from tests.naive.changes import Changing
from tests.sizes import sized
from tocsin.errors import UnsuitableIndex
from tocsin.index import choose, registrations
from tocsin.records.changes import read_changes
from tocsin.segment import IndexFolder, Publication, require_suitable
from tocsin.segment.amending import amend
from tocsin.segment.compacting import compact
from tocsin.spark import answering
from tocsin.spark.answering import MatchOptions, answer
from tocsin.spark.compiling import compile_partition
from tocsin.spark.names import ERROR, PARTITION

INDEXES = [registration.name for registration in registrations()]
RANKINGS = [None, tocsin.Top(3), tocsin.Relaxed(3), tocsin.Similar(0.5, 0.5), tocsin.Similar(0.4, 0.6)]
_DICE = random.Random(18)


def _place() -> str:
    x, y = _DICE.uniform(0, 8), _DICE.uniform(0, 8)
    return f"S_INTERSECTS(place, BBOX({x:.2f}, {y:.2f}, {x + 3:.2f}, {y + 3:.2f}))"


def _words() -> str:
    return f"A_CONTAINS(words, ({', '.join(repr(word) for word in _DICE.sample('abcd', _DICE.randint(1, 2)))}))"


def _shape() -> str:
    x, y, size = _DICE.uniform(0, 8), _DICE.uniform(0, 8), _DICE.uniform(1, 4)
    return f"POLYGON(({x:.2f} {y:.2f}, {x + size:.2f} {y:.2f}, {x:.2f} {y + size:.2f}, {x:.2f} {y:.2f}))"


TEXTS = {
    "region and keywords": [f"{_place()} AND {_words()}" for _ in range(40)],
    "ranges": [f"n >= {n % 7} AND n <= {n % 7 + 2} AND m > {n % 4}" for n in range(40)],
    "equalities": [f"n >= {n % 5} AND n <= {n % 5 + 3} AND m = {n % 6}" for n in range(40)],
    "shapes": [
        *(f"S_INTERSECTS(place, {_shape()}) AND n > {n}" for n in range(6)),
        *(f"NOT S_WITHIN(place, {_shape()}) AND m = {n}" for n in range(6)),
        *(f"DISTANCE_M(place, POINT({n} {n + 1})) <= {n}00000" for n in range(6)),
        *(f"S_INTERSECTS(place, {_shape()}) AND {_words()}" for _ in range(6)),
    ],
    "texts": [f"TEXT(t, '{'ab'[n % 2]} {'cd'[n // 2 % 2]}') AND n > {n}" for n in range(6)],
    "times": [f"T_{name}(d, DATE('2020-01-0{n + 2}'))" for n, name in enumerate(("AFTER", "BEFORE", "EQUALS"))],
    "anything": [f"n = {n % 5} OR s LIKE '{'ab'[n % 2]}%' OR NOT ({_words()})" for n in range(20)],
}
EVENTS = pa.table(
    {
        "n": pa.array([_DICE.choice([None, *map(float, range(9))]) for _ in range(50)]),
        "m": pa.array([float(_DICE.randint(0, 6)) for _ in range(50)]),
        "s": pa.array([_DICE.choice(["ax", "by", None]) for _ in range(50)]),
        "place": pa.array([[_DICE.uniform(0, 10), _DICE.uniform(0, 10)] for _ in range(50)]),
        "t": pa.array([" ".join(_DICE.sample("abcde", _DICE.randint(0, 4))) for _ in range(50)]),
        "d": pa.array([f"2020-01-0{_DICE.randint(1, 6)}" for _ in range(50)]),
        "words": pa.array([_DICE.sample("abcde", _DICE.randint(0, 4)) for _ in range(50)]),
    }
)

SCHEMA = "n double, m double, s string, place array<double>, t string, d string, words array<string>"
"""The events' columns, on Spark."""


ALL = [tocsin.records.subscription_of({"id": text, "where": text}) for texts in TEXTS.values() for text in texts]


@cache
def subscriptions_for(index: str) -> list[dict[str, Any]]:
    """Those that an index by name can hold."""
    chosen = []
    for one in ALL:
        try:
            require_suitable(choose(index), one)
        except UnsuitableIndex:
            continue
        chosen.append({"id": f"s{len(chosen)}", "where": one.id, "score": len(chosen) % 5.0})
    return chosen


def compiled(folder: Path, subscriptions: list[dict[str, Any]], index: str, partitions: int) -> None:
    """What `spark.compile` does, without Spark."""
    with Publication(folder) as new:
        places = []
        for number in range(partitions):
            own = [one for one in subscriptions if zlib.crc32(one["id"].encode()) % partitions == number]
            if own:
                table = pa.Table.from_pylist([{**one, PARTITION: number} for one in own])
                compile_partition(table, folder, new.version, choose(index))
                places.append(new.place(number))
        new.publish(places, len(subscriptions), "string")


def answers(folder: Path) -> list[list[Any]]:
    """The answer to every question."""
    snapshots, columns = IndexFolder.read(folder).open(), tuple(EVENTS.column_names)
    (batch,) = EVENTS.combine_chunks().to_batches()
    told = [answer(batch, MatchOptions(columns, columns, ranking), snapshots)["matches"] for ranking in RANKINGS]
    return [[[tuple(match.values()) for match in matches] for matches in one.to_pylist()] for one in told]


def expected(subscriptions: list[dict[str, Any]]) -> list[list[Any]]:
    """What an engine answers to every question."""
    engine = tocsin.Engine()
    engine.subscribe_many(subscriptions)
    return [_expected(engine, subscriptions, ranking) for ranking in RANKINGS]


def _expected(engine: tocsin.Engine, subscriptions: list[dict[str, Any]], ranking: Any) -> list[Any]:
    found = engine.match_batch(EVENTS, ranking=ranking, lists=True).table
    scores = dict(zip((s["id"] for s in subscriptions), (s["score"] for s in subscriptions), strict=True))
    if ranking is None:
        return [[(name, scores[name]) for name in names] for names in found["subscription"].to_pylist()]
    pairs = zip(found["subscription"].to_pylist(), found["score"].to_pylist(), strict=True)
    return [list(zip(*pair, strict=True)) for pair in pairs]


@pytest.mark.slow("it compiles every index for each number of partitions")
@pytest.mark.parametrize("index", INDEXES)
def test_every_index_answers_in_any_number_of_partitions(tmp_path: Path, index: str) -> None:
    """Every question."""
    subscriptions = subscriptions_for(index)
    assert len(subscriptions) >= 40
    wanted = expected(subscriptions)
    assert all(any(rows) for rows in wanted[:3])

    for partitions in sized((1, 7), (1, 2, 7, 16)):
        folder = tmp_path / str(partitions)
        compiled(folder, subscriptions, index, partitions)
        assert answers(folder) == wanted


@pytest.mark.slow("it compiles and changes every index")
@pytest.mark.parametrize("index", INDEXES)
def test_every_index_takes_changes(tmp_path: Path, index: str) -> None:
    """Inserts, updates, deletes and scores, merged at the end: like a dictionary, asked every question."""
    subscriptions = subscriptions_for(index)
    compiled(tmp_path, subscriptions[:30], index, 3)
    oracle = Changing(subscriptions[:30])
    dice = random.Random(index)
    for version in range(1, 5):
        batch = []
        for name in dice.sample([one["id"] for one in subscriptions], 15):
            change = dice.choice(["insert", "update", "delete", "rescore"])
            where = dice.choice(subscriptions)["where"] if change in ("insert", "update") else None
            score = float(dice.randint(0, 9)) if change != "delete" else None
            batch.append({"id": name, "change": change, "version": version, "where": where, "score": score})
        amend(tmp_path, read_changes(pa.Table.from_pylist(batch)), choose(index))
        oracle.take(batch, lambda _: True)
    now = [
        {"id": name, "where": where, "score": score} for name, (where, score) in sorted(oracle.subscriptions.items())
    ]

    wanted = expected(now)
    for _ in range(2):
        assert answers(tmp_path) == wanted
        compact(tmp_path, choose(index))
    assert len(IndexFolder.read(tmp_path).parts) < 7


@pytest.mark.parametrize("exploded", [False, True])
@pytest.mark.parametrize("most", [1, 7, 10**6])
def test_an_answer_goes_in_slices(tmp_path: Path, exploded: bool, most: int) -> None:
    """Together they are the answer, and of lists of a few none is much larger than it may be; nothing is one slice."""
    compiled(tmp_path, subscriptions_for("scan"), "scan", 2)
    snapshots = IndexFolder.read(tmp_path).open()
    (batch,) = EVENTS.append_column("key", pa.array(range(50))).combine_chunks().to_batches()
    columns = tuple(batch.schema.names)
    asked = MatchOptions(columns, columns[:5], None, "key" if exploded else None, tells_work=True)
    for rows in (batch, batch.slice(0, 0)):
        whole, parts = (
            answering.answer(rows, asked, snapshots, "v"),
            list(answering.slices(rows, asked, snapshots, "v", most)),
        )

        assert pa.Table.from_batches(parts).to_pylist() == pa.Table.from_batches([whole]).to_pylist()
        assert (len(parts) > 1) == (most < 10 and len(rows) > 0)
        assert all(0 < len(part) <= max(most, 1) or not len(rows) for part in parts) or not exploded


@pytest.mark.parametrize("most", [1, 10**6])
def test_each_bad_event_of_a_batch_has_its_error(tmp_path: Path, most: int) -> None:
    """The first row too, and the last; good ones among them are matched."""
    compiled(tmp_path, [{"id": "s", "where": "n = 1", "score": 1.0}], "scan", 1)
    bad = ["nonsense", "[]", '{"n": 1, "n": 2}', ""]
    lines = [*(line for one in bad for line in (one, '{"n": 1}')), "nonsense"]
    asked = MatchOptions(("line",), (), json="line")

    snapshots = IndexFolder.read(tmp_path).open()
    told = [
        row
        for part in answering.slices(pa.record_batch({"line": lines}), asked, snapshots, "v", most)
        for row in part.to_pylist()
    ]

    assert [row["line"] for row in told] == lines
    assert [bool(row[ERROR]) for row in told] == [line != '{"n": 1}' for line in lines]
    assert [bool(row["matches"]) for row in told] == [line == '{"n": 1}' for line in lines]
