"""Matching on Spark gives the answer that one process gives, and leaves the events' columns alone."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import tocsin
import tocsin.spark as tocsin_spark
from tests import strategies as own

pytestmark = pytest.mark.spark

SCHEMA = (
    "key int, n double, a struct<b: double, c: string>, s string, `odd name` string, `AND` boolean, flag boolean, "
    '`naïve` timestamp, `with"quote` array<string>, items array<struct<a: string>>, place array<double>, '
    "m map<string, double>, d decimal(12, 2), day date, i bigint"
)
FIELDS: dict[str, st.SearchStrategy] = {
    "n": st.sampled_from([*own.NUMBERS, 1e308, -0.0, float("nan")]),
    "a": st.fixed_dictionaries({"b": st.sampled_from([*own.NUMBERS, None]), "c": st.just("x")}),
    "s": st.sampled_from(own.STRINGS),
    "odd name": st.sampled_from(own.STRINGS),
    "AND": st.booleans(),
    "flag": st.booleans(),
    "naïve": st.sampled_from([dt.datetime(2024, 5, 31, 8, 15, tzinfo=dt.UTC), dt.datetime(1970, 1, 1, tzinfo=dt.UTC)]),
    'with"quote': st.lists(st.sampled_from(own.STRINGS), max_size=3),
    "items": st.lists(st.fixed_dictionaries({"a": st.sampled_from(own.STRINGS)}), min_size=1, max_size=3),
    "place": st.sampled_from([[0.0, 0.0], [1.0, 2.0], [0.0, 0.0, 3.0, 3.0], [5.0]]),
    "m": st.dictionaries(st.sampled_from(["k", "l.x"]), st.sampled_from(own.NUMBERS), max_size=2),
    "d": st.sampled_from([Decimal("0.50"), Decimal("2.00"), Decimal("-1.25")]),
    "day": st.sampled_from([dt.date(2024, 5, 31), dt.date(1970, 1, 1)]),
    "i": st.sampled_from([0, 1, 2, 2**53]),
}
EXTRA = [
    "m.k = 1",
    "m.l.x >= 0 AND m.k IS NULL",
    "d = 0.5 OR d < 0",
    "day > DATE('2000-01-01')",
    "i = 1",
    "a.c = 'x'",
]
rows = st.fixed_dictionaries({name: st.one_of(values, values, values, st.none()) for name, values in FIELDS.items()})


def frame_of(spark: Any, events: list[dict[str, Any]], partitions: int = 2) -> Any:
    records = [(key, *(event[name] for name in FIELDS)) for key, event in enumerate(events)]
    return spark.createDataFrame(records, SCHEMA).repartition(partitions)


def expected(subscriptions: list[dict[str, Any]], events: list[dict[str, Any]], k: int | None = None) -> dict[int, Any]:
    """The answers of one process. In columns a null is absent, and so it is here."""
    events = [{name: value for name, value in event.items() if value is not None} for event in events]
    answer = tocsin.match(subscriptions, events, ranking=tocsin.Top(k or 10**6), lists=True)
    order = (lambda pairs: pairs) if k else sorted
    return {
        row["event"]: order(list(zip(row["subscription"], row["score"], strict=True)))
        for row in answer.table.to_pylist()
    }


# Each example costs seconds, so it is large, and a failing one is shown as it is.
@settings(max_examples=2, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(
    trees=st.lists(own.expressions(max_depth=4), min_size=30, max_size=40),
    events=st.lists(rows, min_size=20, max_size=30),
    strings=st.booleans(),
)
def test_spark_answers_like_one_process(spark, tmp_path_factory, trees, events, strings):
    """For 1, 2 and 5 partitions, matches, scores and rankings are those of `tocsin.match` on the same records."""
    texts = [*map(tocsin.to_text, trees), *EXTRA]
    subscriptions = [
        {"id": f"s{number}" if strings else number - 3, "where": text, "score": float(number % 4)}
        for number, text in enumerate(texts)
    ]
    frame = spark.createDataFrame([tuple(s.values()) for s in subscriptions], ["id", "where", "score"])
    batch = frame_of(spark, events)

    for partitions in (1, 2, 5):
        folder = tmp_path_factory.mktemp("index")
        report = tocsin_spark.compile(frame, folder, partitions=partitions)
        assert (report.accepted, report.rejected, report.rejects) == (len(texts), 0, None)
        for k in (None, 3):
            matched = tocsin_spark.match(batch, folder, ranking=None if k is None else tocsin.Top(k)).collect()

            answers = {row["key"]: [tuple(match) for match in row["matches"]] for row in matched}
            assert answers == expected(subscriptions, events, k)
            assert all(row["error"] is None for row in matched)


def test_every_input_column_is_kept_as_it_was(spark: Any, compiled: Any) -> None:
    """Names, types, nullability and values of the input come back, followed by matches and error."""
    folder, _ = compiled([{"id": "x", "where": "n = 1"}])
    schema = (
        "key int not null, n double, bytes binary, t timestamp_ntz, sp struct<a: array<map<string, int>>>, "
        "months interval day to second, m map<int, string>, small tinyint, dec decimal(38, 18)"
    )
    values = (1, 1.0, b"\0\xff", dt.datetime(2024, 5, 31), ([{"k": 1}],), dt.timedelta(1), {1: "a"}, 3, Decimal("0.1"))
    frame = spark.createDataFrame([values, (2, *[None] * 8)], schema)

    matched = tocsin_spark.match(frame, folder)

    assert matched.schema.fields[:-2] == frame.schema.fields
    assert matched.columns[-2:] == ["matches", "error"]
    assert matched.schema["matches"].dataType.simpleString() == "array<struct<subscription:string,score:double>>"
    assert matched.schema["error"].dataType.simpleString() == "string"
    back = sorted(matched.collect())
    assert [tuple(row)[:-2] for row in back] == [tuple(row) for row in sorted(frame.collect())]
    assert [row["matches"] for row in back] == [[("x", 1.0)], []]


def test_explode_gives_a_row_a_match(spark: Any, compiled: Any) -> None:
    """`event_id`, `subscription`, `score`, the id in the type of its column; ranked, the best only."""
    subscriptions = [{"id": number, "where": f"n >= {number}", "score": number * 1.0} for number in range(5)]
    folder, _ = compiled(subscriptions, partitions=3)
    frame = spark.createDataFrame([("x", 1.0), ("y", 4.0), ("z", -1.0)], "name string, n double")

    exploded = tocsin_spark.match(frame, folder, explode=True, event_id="name")
    best = tocsin_spark.match(frame, folder, explode=True, event_id="name", ranking=tocsin.Top(2))

    assert exploded.dtypes == [("event_id", "string"), ("subscription", "bigint"), ("score", "double")]
    assert sorted(map(tuple, exploded.collect())) == [
        *(("x", number, number * 1.0) for number in range(2)),
        *(("y", number, number * 1.0) for number in range(5)),
    ]
    assert sorted(map(tuple, best.collect())) == [("x", 0, 0.0), ("x", 1, 1.0), ("y", 3, 3.0), ("y", 4, 4.0)]


def test_relaxed_rankings_are_those_of_one_process(spark: Any, compiled: Any) -> None:
    """Weights are a map column; scores are those of the ranking, over all partitions."""
    subscriptions = [
        {"id": number, "where": f"n >= {number} AND s = '{'ab'[number % 2]}' AND m < 3", "weights": {"n": number / 2}}
        for number in range(9)
    ]
    events = [{"n": 4.0, "s": "a", "m": 5.0}, {"n": 9.0, "s": "b", "m": 1.0}, {"n": -1.0, "s": None, "m": None}]
    folder, _ = compiled(subscriptions, partitions=3)
    frame = spark.createDataFrame(
        [(row, *event.values()) for row, event in enumerate(events)], "k int, n double, s string, m double"
    )
    ranking = tocsin.Relaxed(4)

    matched = tocsin_spark.match(frame, folder, attributes=["n", "s", "m"], ranking=ranking).collect()

    answer = tocsin.match(subscriptions, events, ranking=ranking, lists=True)
    whole = zip(answer.table["subscription"].to_pylist(), answer.table["score"].to_pylist(), strict=True)
    wanted = [list(zip(ids, scores, strict=True)) for ids, scores in whole]
    assert [[tuple(one) for one in row["matches"]] for row in sorted(matched)] == wanted
    assert wanted[0][0] == (4, 3.0)


def test_similar_rankings_are_those_of_one_process(spark: Any, compiled: Any) -> None:
    """Places and words are array columns; scores are those of the ranking, over all partitions."""
    subscriptions = [
        {"id": n, "where": f"S_INTERSECTS(p, BBOX({n}, 0, {n + 3}, 2)) AND A_CONTAINS(w, ('a', '{'bc'[n % 2]}'))"}
        for n in range(9)
    ]
    events = [{"p": [4.0, 1.0], "w": ["a", "b"]}, {"p": [3.0, 1.0, 6.0, 2.0], "w": ["c"]}, {"p": None, "w": ["a"]}]
    folder, _ = compiled(subscriptions, partitions=3)
    rows = [(row, *event.values()) for row, event in enumerate(events)]
    frame = spark.createDataFrame(rows, "k int, p array<double>, w array<string>")
    ranking = tocsin.Similar(0.5, 0.4, {"a": 2.0})

    matched = tocsin_spark.match(frame, folder, attributes=["p", "w"], ranking=ranking).collect()

    answer = tocsin.match(subscriptions, events, ranking=ranking, lists=True)
    whole = zip(answer.table["subscription"].to_pylist(), answer.table["score"].to_pylist(), strict=True)
    wanted = [list(zip(ids, scores, strict=True)) for ids, scores in whole]
    assert [[tuple(one) for one in row["matches"]] for row in sorted(matched)] == wanted
    assert wanted[0][:2] == [(2, 1.0), (4, 1.0)]


def test_only_the_named_attributes_are_looked_at(spark: Any, compiled: Any, found: Any) -> None:
    """A column that is not named is absent for the subscriptions, and kept in the result."""
    folder, _ = compiled(
        [{"id": "m", "where": "m = 1"}, {"id": "n", "where": "n = 1"}, {"id": "0", "where": "m IS NULL"}]
    )
    frame = spark.createDataFrame([(7, 1.0, 1.0)], "key int, n double, m double")

    everything = tocsin_spark.match(frame, folder)
    only_n = tocsin_spark.match(frame, folder, attributes=["n"])
    none = tocsin_spark.match(frame, folder, attributes=["n"], explode=True, event_id="key")

    assert found(everything, "key") == {7: [("m", 1.0), ("n", 1.0)]}
    assert found(only_n, "key") == {7: [("0", 1.0), ("n", 1.0)]}
    assert only_n.columns == ["key", "n", "m", "matches", "error"]
    assert sorted(row["subscription"] for row in none.collect()) == ["0", "n"]


def test_matches_come_by_id_or_best_first(spark: Any, compiled: Any) -> None:
    """Without a ranking by id; with one by score descending, then id, whatever segment they come from."""
    subscriptions = [{"id": number, "where": "n = 1", "score": float(number % 3)} for number in range(40)]
    folder, _ = compiled(subscriptions, partitions=5)
    frame = spark.createDataFrame([(1.0,)], "n double")

    [plain] = tocsin_spark.match(frame, folder).collect()
    [ranked] = tocsin_spark.match(frame, folder, ranking=tocsin.Top(15)).collect()

    assert [m["subscription"] for m in plain["matches"]] == list(range(40))
    best = sorted(subscriptions, key=lambda s: (-s["score"], s["id"]))[:15]
    assert [tuple(m) for m in ranked["matches"]] == [(s["id"], s["score"]) for s in best]


def test_an_index_of_the_command_line_serves_spark_and_the_other_way_round(
    spark: Any, compiled: Any, found: Any, tmp_path: Path
) -> None:
    """Both write the same kind of folder."""
    from tocsin.cli.main import main

    (tmp_path / "s.jsonl").write_text('{"id": "x", "where": "n = 1", "score": 2}\n')
    assert main(["compile", str(tmp_path / "s.jsonl"), str(tmp_path / "cli")]) == 0
    folder, _ = compiled([{"id": "y", "where": "n = 1"}], partitions=3)
    frame = spark.createDataFrame([(0, 1.0)], "key int, n double")

    assert found(tocsin_spark.match(frame, tmp_path / "cli"), "key") == {0: [("x", 2.0)]}
    assert tocsin.match(folder, [{"n": 1}]).table.to_pylist() == [{"event": 0, "subscription": "y"}]


def test_a_sample_of_the_events_is_what_the_index_goes_by(spark: Any, tmp_path: Path) -> None:
    """What the subscriptions ask for least is what every event has: only the events tell."""
    events = [{"n": float(key % 2), "s": "often"} for key in range(500)]
    subscriptions = [(number, f"n = {number % 2 + 2} AND s >= 'o{number:03}'") for number in range(900)]
    frame = spark.createDataFrame(subscriptions, ["id", "where"])

    tocsin_spark.compile(frame, tmp_path / "index", partitions=2, statistics=tocsin.sample(events))

    answer = tocsin.match(tmp_path / "index", [{"n": 1, "s": "often"}])
    assert answer.stats.candidates_examined == 0
    assert len(tocsin.match(tmp_path / "index", [{"n": 2, "s": "often"}]).table) == 450


def test_a_plan_keeps_the_version_it_was_made_with(spark: Any, compiled: Any, found: Any) -> None:
    """A compile between `match` and the action does not change what the action answers."""
    folder, first = compiled([{"id": "old", "where": "n = 1"}])
    frame = spark.createDataFrame([(0, 1.0)], "key int, n double")
    planned = tocsin_spark.match(frame, folder)

    _, second = compiled([{"id": "new", "where": "n = 1"}])

    assert first.version != second.version
    assert found(planned, "key") == {0: [("old", 1.0)]}
    assert found(tocsin_spark.match(frame, folder), "key") == {0: [("new", 1.0)]}


def test_no_events_and_no_subscriptions(spark: Any, compiled: Any, found: Any) -> None:
    """Empty in, empty out; an index of nothing matches nothing."""
    folder, report = compiled([])
    frame = spark.createDataFrame([(0, 1.0)], "key int, n double")

    assert (report.accepted, report.rejected, report.rejects) == (0, 0, None)
    assert found(tocsin_spark.match(frame, folder), "key") == {0: []}
    assert tocsin_spark.match(frame.limit(0), folder).collect() == []


def test_many_rows_cross_the_batches(spark: Any, compiled: Any, found: Any) -> None:
    """Rows keep their own matches across Arrow batches and tasks."""
    folder, _ = compiled([{"id": number, "where": f"n = {number}"} for number in range(10)], partitions=2)
    frame = spark.range(1000).selectExpr("cast(id as int) key", "cast(id % 20 as double) n").repartition(3)

    answers = found(tocsin_spark.match(frame, folder), "key")

    assert answers == {key: [(key % 20, 1.0)] if key % 20 < 10 else [] for key in range(1000)}


def test_subscriptions_may_come_as_predicates(spark: Any, found: Any, tmp_path: Path) -> None:
    """A column of predicates compiles to their AND; a bad predicate is a reject."""
    rows = [(1, [("n", ">=", 1.0), ("m.k", "<>", 2.0)]), (2, [("n", "=", 5.0)]), (3, [("n", "~", 5.0)]), (4, [])]
    kind = "id int, predicates array<struct<attribute: string, op: string, value: double>>"
    frame = spark.createDataFrame([(0, 1.0, {"k": 1.0}), (1, 5.0, None)], "key int, n double, m map<string, double>")

    report = tocsin_spark.compile(spark.createDataFrame(rows, kind), tmp_path / "index")

    assert (report.accepted, report.rejected) == (2, 2)
    assert found(tocsin_spark.match(frame, tmp_path / "index"), "key") == {0: [(1, 1.0)], 1: [(2, 1.0)]}


def test_workers_open_an_index_of_a_paper(spark: Any, tmp_path: Path) -> None:
    """They find it by what the installed package says of itself, as this process does."""
    engine = tocsin.Engine("opindex")
    engine.subscribe_many([{"id": f"s{n}", "where": f"n = {n}"} for n in range(9)])
    engine.save(tmp_path / "index")
    events = spark.createDataFrame([(float(n),) for n in range(20)], "n double").repartition(2)

    found = tocsin_spark.match(events, tmp_path / "index").collect()

    assert {row["n"]: [match["subscription"] for match in row["matches"]] for row in found} == {
        float(n): [f"s{n}"] if n < 9 else [] for n in range(20)
    }
