"""Every form in which events and subscriptions may come gives the same answer."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest

import tocsin

EVENTS = [
    {"n": 1.0, "s": "a", "flag": True},
    {"n": 2.5, "s": "b\nc", "flag": None},
    {"n": None, "s": "", "flag": False},
    {"n": -1.0, "s": "a", "flag": None},
]
SUBSCRIPTIONS = [
    {"id": "low", "where": "n < 2", "score": 2.0},
    {"id": "text", "where": "s = 'a' OR s = ''", "score": 1.0},
    {"id": "none", "where": "n IS NULL OR flag IS NULL", "score": 3.0},
    {"id": "lines", "where": "s LIKE '%\nc' AND n > 2", "score": -1.0},
    {"id": "flag", "where": "flag", "score": 0.5},
]
EXPECTED = [
    (0, "flag"),
    (0, "low"),
    (0, "text"),
    (1, "lines"),
    (1, "none"),
    (2, "none"),
    (2, "text"),
    (3, "low"),
    (3, "none"),
    (3, "text"),
]


def json_lines(records: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def table(records: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(records)


def written(path: Path, write: Callable[[Path], object]) -> Path:
    write(path)
    return path


def arrow_file(records: list[dict[str, Any]], path: Path, *, stream: bool) -> Path:
    whole = table(records)
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(path, whole.schema) as writer:
        writer.write_table(whole, max_chunksize=3)
    return path


FORMS: dict[str, Callable[[list[dict[str, Any]], Path], Any]] = {
    "list of dicts": lambda records, _: records,
    "iterator of dicts": lambda records, _: iter(records),
    "JSON lines as bytes": lambda records, _: json_lines(records),
    "JSON lines as a memoryview": lambda records, _: memoryview(json_lines(records)),
    "JSON lines path": lambda records, at: written(at / "r.jsonl", lambda p: p.write_bytes(json_lines(records))),
    "JSON lines path as str": lambda records, at: str(
        written(at / "r.NDJSON", lambda p: p.write_bytes(json_lines(records)))
    ),
    "Arrow table": lambda records, _: table(records),
    "Arrow table of several chunks": lambda records, _: pa.concat_tables([table(records[:1]), table(records[1:])]),
    "Arrow record batch": lambda records, _: table(records).combine_chunks().to_batches()[0],
    "Arrow reader": lambda records, _: table(records).to_reader(2),
    "pandas": lambda records, _: pd.DataFrame(records),
    "pandas with its own index": lambda records, _: pd.DataFrame(records, index=[7] * len(records)),
    "Polars": lambda records, _: pl.DataFrame(records),
    "CSV path": lambda records, at: written(at / "r.csv", lambda p: arrow_csv.write_csv(table(records), p)),
    "Parquet path": lambda records, at: written(
        at / "r.parquet", lambda p: pq.write_table(table(records), p, row_group_size=2)
    ),
    "Arrow file": lambda records, at: arrow_file(records, at / "r.arrow", stream=False),
    "Arrow stream": lambda records, at: arrow_file(records, at / "r.arrows", stream=True),
    "Feather file": lambda records, at: arrow_file(records, at / "r.feather", stream=False),
}


def pairs(answer: tocsin.Answer) -> list[tuple[int, Any]]:
    return [(row["event"], row["subscription"]) for row in answer.table.to_pylist()]


@pytest.mark.parametrize("form", FORMS)
def test_events_mean_the_same_in_every_form(form: str, tmp_path: Path) -> None:
    """The form of the events changes no match, and rows are theirs in the source."""
    answer = tocsin.match(SUBSCRIPTIONS, FORMS[form](EVENTS, tmp_path))

    assert pairs(answer) == EXPECTED
    assert answer.errors == []
    assert answer.stats.events == len(EVENTS)


@pytest.mark.parametrize("form", FORMS)
def test_subscriptions_mean_the_same_in_every_form(form: str, tmp_path: Path) -> None:
    """The form of the subscriptions changes no match and no score."""
    answer = tocsin.match(FORMS[form](SUBSCRIPTIONS, tmp_path), EVENTS, ranking=tocsin.Top(10))

    assert sorted(pairs(answer)) == EXPECTED
    scores = {s["id"]: s["score"] for s in SUBSCRIPTIONS}
    assert all(row["score"] == scores[row["subscription"]] for row in answer.table.to_pylist())
    assert answer.errors == []


@pytest.mark.parametrize("form", [form for form in FORMS if form != "CSV path"])
def test_integer_ids_stay_integers_in_every_form(form: str, tmp_path: Path) -> None:
    """Ids are int64 wherever the form can say so (a CSV cannot: there they are strings)."""
    subscriptions = [{"id": number, "where": "n = 1"} for number in (10, -(2**63), 2**63 - 1, 9)]

    answer = tocsin.match(FORMS[form](subscriptions, tmp_path), EVENTS)

    assert pairs(answer) == [(0, number) for number in sorted(s["id"] for s in subscriptions)]
    assert answer.table.schema.field("subscription").type == pa.int64()


def test_a_single_dict_is_one_event() -> None:
    """A dict is an event, not a collection of them."""
    answer = tocsin.match(SUBSCRIPTIONS, EVENTS[0])

    assert pairs(answer) == EXPECTED[:3]


def test_ids_in_a_csv_are_text(tmp_path: Path) -> None:
    """Ids and expressions of a CSV are text even where they look like numbers."""
    path = written(tmp_path / "s.csv", lambda p: p.write_text("id,where\n007,n = 1\n7,n = 1\ntrue,flag\n"))

    assert pairs(tocsin.match(path, EVENTS)) == [(0, "007"), (0, "7"), (0, "true")]


def test_pandas_columns_of_mixed_objects_mean_their_values() -> None:
    """A column that mixes numbers, strings, lists and NaN is read value by value; NaN and None are absence."""
    frame = pd.DataFrame({"n": [1, "1", float("nan"), None, [1.0]], "m": [float("nan"), 1.0, 2.0, 3.0, 4.0]})
    subscriptions = [
        {"id": "number", "where": "n = 1"},
        {"id": "text", "where": "n = '1'"},
        {"id": "absent", "where": "n IS NULL"},
        {"id": "list", "where": "A_CONTAINS(n, (1))"},
        {"id": "other absent", "where": "m IS NULL"},
    ]

    answer = tocsin.match(subscriptions, frame)

    found = [(0, "number"), (0, "other absent"), (1, "text"), (2, "absent"), (3, "absent"), (4, "list")]
    assert pairs(answer) == found
    assert answer.errors == []


def test_pandas_times_categories_and_nullable_columns() -> None:
    """pandas' own types are instants, strings, numbers and absence."""
    frame = pd.DataFrame(
        {
            "t": pd.to_datetime(["2024-05-31T08:15:00", None]),
            "c": pd.Categorical(["a", None]),
            "i": pd.array([1, None], dtype="Int64"),
        }
    )
    subscriptions = [
        {"id": "t", "where": "t = TIMESTAMP('2024-05-31T08:15:00Z')"},
        {"id": "c", "where": "c = 'a'"},
        {"id": "i", "where": "i = 1"},
        {"id": "all absent", "where": "t IS NULL AND c IS NULL AND i IS NULL"},
    ]

    assert pairs(tocsin.match(subscriptions, frame)) == [(0, "c"), (0, "i"), (0, "t"), (1, "all absent")]


def test_polars_types() -> None:
    """Polars' categories, lists, structs, decimals and dates mean what their values mean."""
    frame = pl.DataFrame(
        {
            "c": pl.Series(["a", None], dtype=pl.Categorical),
            "l": [["x", "y"], None],
            "st": [{"x": 1}, {"x": None}],
            "d": pl.Series(["0.5", None]).cast(pl.Decimal(6, 2)),
            "day": pl.Series(["2024-05-31", None]).str.to_date(),
        }
    )
    subscriptions = [
        {"id": "c", "where": "c = 'a'"},
        {"id": "l", "where": "A_CONTAINS(l, ('y'))"},
        {"id": "s", "where": "st.x = 1"},
        {"id": "d", "where": "d = 0.5"},
        {"id": "day", "where": "day = DATE('2024-05-31')"},
    ]

    answer = tocsin.match(subscriptions, frame)

    assert pairs(answer) == [(0, name) for name in sorted(s["id"] for s in subscriptions)]


def test_arrow_maps_and_structs_are_dotted_attributes(tmp_path: Path) -> None:
    """A map's keys and a struct's fields are attributes under dotted names, from a file too."""
    events = pa.table(
        {
            "m": pa.array([[("k", 1.0), ("l.x", 2.0)], None, []], pa.map_(pa.string(), pa.float64())),
            "a": [{"b": {"c": "x"}}, {"b": None}, None],
            "unused": [1, 2, 3],
        }
    )
    subscriptions = [{"id": "m", "where": "m.k = 1 AND m.l.x = 2"}, {"id": "a", "where": "a.b.c = 'x'"}]
    path = written(tmp_path / "e.parquet", lambda p: pq.write_table(events, p))

    assert pairs(tocsin.match(subscriptions, events)) == [(0, "a"), (0, "m")]
    assert pairs(tocsin.match(subscriptions, path)) == [(0, "a"), (0, "m")]


def test_parquet_columns_with_dots_in_their_names_are_found(tmp_path: Path) -> None:
    """Only the needed columns are read from a Parquet file, and a dotted name is among them."""
    events = pa.table({"a.b": [1.0, None], "a": [None, {"b": 1.0, "c": 2.0}], "z": ["x", "y"]})
    path = written(tmp_path / "e.parquet", lambda p: pq.write_table(events, p))

    assert pairs(tocsin.match([{"id": "x", "where": "a.b = 1"}], path)) == [(0, "x"), (1, "x")]


def test_parquet_rows_count_where_no_column_is_needed(tmp_path: Path) -> None:
    """`x IS NULL` is TRUE of every row of a file that lacks x, across chunks."""
    count = 20_000
    path = written(tmp_path / "e.parquet", lambda p: pq.write_table(pa.table({"y": range(count)}), p))

    answer = tocsin.match([{"id": "x", "where": "x IS NULL"}], path)

    assert answer.table["event"].to_pylist() == list(range(count))


def test_rows_of_an_arrow_file_go_on_from_batch_to_batch(tmp_path: Path) -> None:
    """Rows are numbered through all batches of a file, the empty ones and those above a chunk included."""
    count = 40_000
    whole = pa.table({"n": range(count)})
    path = tmp_path / "e.arrow"
    with pa.ipc.new_file(path, whole.schema) as writer:
        for part in (whole.slice(0, 10), whole.slice(0, 0), whole.slice(10, 30_000), whole.slice(30_010)):
            writer.write_table(part, max_chunksize=count)

    answer = tocsin.match([{"id": "x", "where": "n IN (0, 10, 16384, 30010, 39999)"}], path)

    assert answer.table["event"].to_pylist() == [0, 10, 16384, 30010, 39999]


def test_standard_input_is_json_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` reads JSON lines from standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json_lines(EVENTS))))

    assert pairs(tocsin.match(SUBSCRIPTIONS, "-")) == EXPECTED


def test_an_iterator_is_read_as_it_comes() -> None:
    """Events of an iterator are not gathered first: strict mode stops at the bad one and reads no further chunk."""
    seen = 0

    def events() -> Iterator[object]:
        nonlocal seen
        for seen in range(200_000):
            yield {"n": 1} if seen != 5 else "no event"

    with pytest.raises(tocsin.RecordError, match="event 5"):
        tocsin.match(SUBSCRIPTIONS, events(), strict=True)
    assert seen < 20_000
