"""A window that Spark keeps changes as one process's does, across restarts, and refuses what it cannot go on with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tocsin
import tocsin.spark as tocsin_spark
from tests.spark.test_streams import Files, run, stream
from tocsin.errors import InvalidInput
from tocsin.spark.windows.seats import seats

pytestmark = [pytest.mark.spark, pytest.mark.slow("each test runs streams of Spark")]

BOUNDS = (0.0, 0.0, 8.0, 4.0)
WORDS = "abcdefgh"
SCHEMA = "words array<string>, location array<double>, time double, key string, place bigint"
SUBSCRIPTIONS = [
    {
        "id": number,
        "words": [WORDS[number % 8], WORDS[number * 3 % 8]],
        "location": [number % 9 * 1.0, number % 4 * 1.0],
        "k": 1 + number % 3,
        "alpha": number % 7 / 8,
    }
    for number in range(40)
]
MESSAGES = [
    {
        "words": [WORDS[number * number % 8], WORDS[number * 5 % 8]],
        "location": [number * 7 % 17 / 2, number % 4 * 1.0],
        "time": number // 3 * 1.0,
        "key": f"m{number}",
        "place": number,
    }
    for number in range(90)
]
MESSAGES[17]["location"] = [99.0, 0.0]
MESSAGES[40]["time"] = 1.0


def subscribed(spark: Any, records: list[dict[str, Any]] = SUBSCRIPTIONS) -> Any:
    rows = [tuple(record.values()) for record in records]
    return spark.createDataFrame(rows, "id bigint, words array<string>, location array<double>, k int, alpha double")


def expected(**kind: Any) -> tuple[list[tuple[Any, ...]], list[str]]:
    """The changes and what was refused, of one process."""
    window = tocsin.Window(bounds=BOUNDS, **kind)
    window.subscribe_many(SUBSCRIPTIONS)
    answer = window.push_batch([{k: v for k, v in message.items() if k != "place"} for message in MESSAGES])
    changes = [(one["subscription"], one["message"], one["kind"], one["score"]) for one in answer]
    return sorted(changes), [f"{error.field}: {error.reason}" for error in answer.errors]


@pytest.mark.parametrize(
    ("partitions", "placement", "kind"),
    [
        (2, "hash", {"size": 20}),
        pytest.param(16, "prefix", {"time": 6.0, "size": 25}, marks=pytest.mark.long),
        pytest.param(7, "hash", {"time": 6.0}, marks=pytest.mark.long),
    ],
    ids=str,
)
def test_a_stream_changes_what_one_process_does(
    spark: Any, tmp_path: Path, partitions: int, placement: str, kind: dict[str, Any]
) -> None:
    """Before and after a restart, with a message outside the bounds and one that is late."""
    files, rows = Files(tmp_path / "messages"), list[Any]()
    changes, refused = expected(**kind)
    for first in range(0, 90, 45):
        files.add(MESSAGES[first : first + 45][::-1])
        asked = tocsin_spark.window(
            stream(spark, files.folder, SCHEMA),
            subscribed(spark),
            bounds=BOUNDS,
            partitions=partitions,
            order="place",
            placement=placement,
            **kind,
        )
        run(asked, tmp_path / "checkpoint", lambda batch, _: rows.extend(batch.collect()))

    told = [(row["subscription"], row["message"], row["kind"], row["score"]) for row in rows if row["error"] is None]
    assert sorted(told) == changes
    assert sorted(row["error"] for row in rows if row["kind"] == "refused") == sorted(refused)


CHANGES = [
    {"place": 3, "change": "insert", "id": 100, "words": ["a", "c"], "location": [2.0, 2.0], "k": 3, "alpha": 0.5},
    {"place": 20, "change": "delete", "id": 7},
    {"place": 30, "change": "update", "id": 11, "words": ["b"], "location": [0.0, 1.0], "k": 1, "alpha": 0.25},
    {"place": 30, "change": "upsert", "id": 12},
    {"place": 50, "change": "update", "id": 100, "words": ["h"], "location": [2.0, 2.0], "k": 2, "alpha": 0.5},
    {"place": 60, "change": "insert", "id": 7, "words": ["e"], "location": [1.0, 1.0], "k": 2, "alpha": 0.0},
    {"place": 70, "change": "insert", "id": 101, "words": ["a"], "location": [99.0, 1.0], "k": 2, "alpha": 0.0},
]
CHANGE_SCHEMA = (
    "place bigint, change string, id bigint, words array<string>, location array<double>, k int, alpha double"
)


def expected_lists(**kind: Any) -> dict[int, list[tuple[Any, float]]]:
    """The lists of one process that is told messages and changes in one order."""
    window = tocsin.Window(bounds=BOUNDS, **kind)
    window.subscribe_many(SUBSCRIPTIONS)
    for row in sorted([*CHANGES, *MESSAGES], key=lambda row: (row["place"], "change" not in row)):
        record = {name: value for name, value in row.items() if name not in ("place", "change")}
        if "change" not in row:
            window.push_batch([record])
        elif row["change"] == "delete":
            window.unsubscribe(row["id"])
        else:
            window.subscribe_many([record] if row["change"] != "upsert" else [], replace=True)
    return {id: best for id in window if (best := window.results(id))}


def folded(rows: list[Any]) -> dict[int, list[tuple[Any, float]]]:
    """The lists of whoever applies all changes in their order: of one event exits first, those of changes before."""
    lists: dict[int, dict[Any, float]] = {}
    for row in rows:
        best = lists.setdefault(row["subscription"], {})
        if row["kind"] == "enter":
            best[row["message"]] = row["score"]
        elif row["kind"] == "exit":
            del best[row["message"]]
    number = {message["key"]: message["place"] for message in MESSAGES}
    order = {id: sorted(own.items(), key=lambda pair: (-pair[1], -number[pair[0]])) for id, own in lists.items()}
    return {id: own for id, own in order.items() if own}


@pytest.mark.parametrize(
    ("partitions", "placement"),
    [
        (3, "keyword"),
        pytest.param(2, "hash", marks=pytest.mark.long),
        pytest.param(8, "location", marks=pytest.mark.long),
        pytest.param(3, "prefix", marks=pytest.mark.long),
        pytest.param(1, "keyword", marks=pytest.mark.long),
    ],
)
def test_subscriptions_change_while_the_stream_runs(
    spark: Any, tmp_path: Path, partitions: int, placement: str
) -> None:
    """Whoever folds the changes has the lists of one process, before and after a restart; bad changes are refused."""
    messages, changes, rows = Files(tmp_path / "messages"), Files(tmp_path / "changes"), list[Any]()
    for first in range(0, 90, 45):
        messages.add(MESSAGES[first : first + 45][::-1])
        changes.add([one for one in CHANGES if first <= one["place"] < first + 45])
        asked = tocsin_spark.window(
            stream(spark, messages.folder, SCHEMA).drop("time"),
            subscribed(spark),
            changes=stream(spark, changes.folder, CHANGE_SCHEMA),
            size=20,
            bounds=BOUNDS,
            partitions=partitions,
            placement=placement,
            order="place",
        )
        run(asked, tmp_path / "checkpoint", lambda batch, _: rows.extend(batch.collect()))

    assert folded(rows) == expected_lists(size=20)
    refused = [(row["subscription"], row["error"][:7]) for row in rows if row["kind"] == "refused" and row["error"]]
    assert sorted(refused, key=str) == [(101, "locatio"), (12, "change:"), (None, "locatio")]


def test_lists_and_a_checkpoint_of_another_window(spark: Any, tmp_path: Path) -> None:
    """Whoever keeps the last list of each has what one process has; another size or number of partitions is refused."""
    files, best = Files(tmp_path / "messages"), dict[int, list[tuple[str, float]]]()
    files.add(MESSAGES)

    def asked(**other: Any) -> Any:
        options = {"size": 20, "partitions": 2, "lists": True, **other}
        messages = stream(spark, files.folder, SCHEMA).drop("time")
        return tocsin_spark.window(messages, subscribed(spark), bounds=BOUNDS, order="place", **options)

    def take(batch: Any, _: int) -> None:
        best.update({row["subscription"]: list(map(tuple, row["best"])) for row in batch.collect() if not row["error"]})

    run(asked(), tmp_path / "checkpoint", take)

    one = tocsin.Window(20, bounds=BOUNDS)
    one.subscribe_many(SUBSCRIPTIONS)
    one.push_batch([{k: v for k, v in message.items() if k not in ("place", "time")} for message in MESSAGES])
    assert {id: found for id in one if (found := one.results(id))} == {id: own for id, own in best.items() if own}
    files.add(MESSAGES[:1])
    with pytest.raises(Exception, match="size=20, but this query has size=30"):
        run(asked(size=30), tmp_path / "checkpoint", take)


def test_what_cannot_be_asked_is_refused(spark: Any, tmp_path: Path) -> None:
    """Before anything runs."""
    messages = stream(spark, Files(tmp_path / "messages").folder, SCHEMA)
    changes = stream(spark, Files(tmp_path / "changes").folder, CHANGE_SCHEMA)

    def asked(messages: Any = messages, **options: Any) -> Any:
        given = {"size": 5, "bounds": BOUNDS, "order": "place", **options}
        return tocsin_spark.window(messages, subscribed(spark), **given)

    for options, said in [
        ({"placement": "word"}, "hash, location, keyword, prefix"),
        ({"partitions": 65}, "from 1 to 64"),
        ({"order": ()}, "order names no column"),
        ({"order": "nothing"}, "no column 'nothing'"),
        ({"order": "words"}, "order"),
        ({"size": None}, "needs size"),
        ({"bounds": (1, 2)}, "bounds"),
        ({"messages": subscribed(spark)}, "a table"),
        ({"messages": messages.drop("location")}, "location"),
        ({"changes": subscribed(spark)}, "changes are a table"),
        ({"changes": messages}, "id is missing"),
        ({"changes": changes.withColumn("place", changes["place"].cast("int"))}, "int in changes"),
        ({"changes": changes.withColumn("id", changes["id"].cast("string"))}, "ids of changes are string"),
    ]:
        with pytest.raises(InvalidInput, match=said):
            asked(**options)


def test_partitions_are_dealt_to_tasks_in_turn(spark: Any) -> None:
    """By the hash that Spark has for their keys, on as many tasks as users have."""
    from pyspark.sql import functions

    keys = seats(64)
    rows = spark.createDataFrame([(key,) for key in keys], "seat int").select(functions.hash("seat")).collect()

    for tasks in (1, 2, 3, 4, 5, 6, 7, 8, 16, 24, 32, 64, 200):
        assert [row[0] % tasks for row in rows] == [partition % tasks for partition in range(64)]
    assert seats(5) == keys[:5]
