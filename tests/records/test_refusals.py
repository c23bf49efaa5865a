"""A source that cannot be read at all is refused with one clear line, before anything is matched."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tocsin

ONE = [{"id": "one", "where": "n = 1"}]


def refusal(subscriptions: Any, events: Any) -> str:
    with pytest.raises(tocsin.InvalidInput) as caught:
        tocsin.match(subscriptions, events)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("ending", ["jsonl", "json", "csv", "parquet", "arrow", "feather"])
def test_a_missing_file_of_events(ending: str, tmp_path: Path) -> None:
    """The message names the file."""
    path = tmp_path / f"nowhere.{ending}"

    assert f"no file {path}" in refusal(ONE, path)


@pytest.mark.parametrize("ending", ["jsonl", "json", "parquet", "arrow", "feather"])
def test_a_missing_file_of_subscriptions(ending: str, tmp_path: Path) -> None:
    """The message names the file."""
    path = tmp_path / f"nowhere.{ending}"

    assert f"no file {path}" in refusal(path, [])


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet", "arrow"])
def test_a_folder_is_no_file_of_events(ending: str, tmp_path: Path) -> None:
    """A folder in place of a file is refused, whatever its name ends with."""
    path = tmp_path / f"folder.{ending}"
    path.mkdir()

    assert "is a folder" in refusal(ONE, path)


def test_a_folder_of_subscriptions_must_be_an_index(tmp_path: Path) -> None:
    """Any other folder is refused as no index."""
    with pytest.raises(tocsin.SegmentError, match=r"is not a tocsin index.*manifest"):
        tocsin.match(tmp_path, [])


@pytest.mark.parametrize("name", ["events.txt", "events", "events.jsonl.zip", "jsonl", ".csv"])
def test_an_unknown_ending(name: str, tmp_path: Path) -> None:
    """The message lists the endings that there are."""
    (tmp_path / name).write_text("")

    assert ".jsonl" in refusal(ONE, tmp_path / name)
    assert ".parquet" in refusal(tmp_path / name, [])


@pytest.mark.parametrize("ending", ["parquet", "pq", "arrow", "arrows", "feather", "ipc"])
@pytest.mark.parametrize("data", [b"", b"PAR1", b"ARROW1\0\0", b"no such thing, but long enough for a footer" * 9])
def test_a_file_that_is_not_what_it_says(ending: str, data: bytes, tmp_path: Path) -> None:
    """An empty, a cut and a foreign file are refused as unreadable."""
    path = tmp_path / f"bad.{ending}"
    path.write_bytes(data)

    assert f"{path} is not a readable" in refusal(ONE, path)
    assert f"{path} is not a readable" in refusal(path, [])


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_an_empty_text_file_holds_no_records(ending: str, tmp_path: Path) -> None:
    """Text formats need no header: nothing in it is nothing."""
    path = tmp_path / f"empty.{ending}"
    path.write_bytes(b"")

    assert tocsin.match(ONE, path).stats.events == 0
    assert tocsin.match(path, [{"n": 1}]).stats.subscriptions == 0


def test_a_cut_parquet_or_arrow_file_is_refused(tmp_path: Path) -> None:
    """A file that ends too early is refused, never half-read in silence."""
    table = pa.table({"n": [1.0] * 1000})
    pq.write_table(table, tmp_path / "e.parquet")
    with pa.ipc.new_file(tmp_path / "e.arrow", table.schema) as writer:
        writer.write_table(table)
    for name in ("e.parquet", "e.arrow"):
        whole = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(whole[: len(whole) // 2])

        refusal(ONE, tmp_path / name)


@pytest.mark.parametrize("source", [5, None, 1.5, object()])
def test_what_is_no_source(source: Any) -> None:
    """The message says what came and what is allowed."""
    name = "from None;" if source is None else type(source).__name__

    assert name in refusal(ONE, source)
    assert name in refusal(source, [])


def test_events_that_are_no_objects_are_rejects() -> None:
    """Anything but a dict among the events is reported with its row; the others are served."""
    answer = tocsin.match(ONE, [{"n": 1}, "n", 5, None, [("n", 1)], {"n": 1}])

    assert answer.table["event"].to_pylist() == [0, 5]
    assert [(r.row, r.field) for r in answer.errors] == [(1, ""), (2, ""), (3, ""), (4, "")]


BAD_EVENTS: dict[str, Any] = {
    "an attribute twice": {"a": {"b": 1}, "a.b": 1},
    "a name within that is no string": {"a": {1: "a"}},
    "an object within itself": {},
}
BAD_EVENTS["an object within itself"]["n"] = BAD_EVENTS["an object within itself"]


@pytest.mark.parametrize("kind", BAD_EVENTS)
def test_a_bad_event_costs_only_itself(kind: str) -> None:
    """It matches nothing, not even IS NULL; those around it are served; strict stops at it."""
    events = [{"n": 1}, BAD_EVENTS[kind], {"n": 1}]
    subscriptions = [*ONE, {"id": "null", "where": "z IS NULL"}, {"id": "a", "where": "a.b = 1"}]

    answer = tocsin.match(subscriptions, events)

    assert answer.table["event"].to_pylist() == [0, 0, 2, 2]
    assert [reject.row for reject in answer.event_errors] == [1]
    with pytest.raises(tocsin.RecordError, match="event 1: "):
        tocsin.match(subscriptions, events, strict=True)


ODD_VALUES = [
    object(),
    b"1",
    1 + 2j,
    dt.time(1),
    dt.timedelta(1),
    range(3),
    float("inf"),
    2**60,
    -(2**53) - 1,
    Decimal("1E+400"),
    Decimal("-Infinity"),
    "\ud800",
    [{"a": 1}, 2],
    {"type": "Polygon", "coordinates": []},
]


@pytest.mark.parametrize("value", ODD_VALUES, ids=lambda value: repr(value)[:20])
def test_a_value_of_no_type_is_reported_and_costs_its_event_nothing_else(value: Any) -> None:
    """Its attribute is present, everything else of it UNKNOWN; strict stops at it and names the field."""
    subscriptions = [*ONE, {"id": "null", "where": "v IS NULL"}, {"id": "any", "where": "v = 1 OR v <> 1"}]

    answer = tocsin.match(subscriptions, [{"n": 1, "v": value}])

    assert answer.table["subscription"].to_pylist() == ["one"]
    assert [(r.row, r.field) for r in answer.errors] == [(0, "v")]
    with pytest.raises(tocsin.RecordError, match="event 0: ") as caught:
        tocsin.match(subscriptions, [{"n": 1, "v": value}], strict=True)
    assert caught.value.field == "v"


@pytest.mark.parametrize("value", [None, float("nan"), Decimal("NaN"), {}, [], {"a": 1}, [{"a": 1}], [[1]]])
def test_absence_is_no_error(value: Any) -> None:
    """None and NaN are absent; objects and lists are there, empty or not, whatever is in them."""
    answer = tocsin.match([{"id": "null", "where": "v IS NULL"}], [{"v": value}])

    assert answer.table["subscription"].to_pylist() == ([] if isinstance(value, dict | list) else ["null"])
    assert answer.errors == []


def test_objects_and_lists_of_them_are_present_in_every_form() -> None:
    """IS NULL is FALSE of an object, of a list of objects and of a list of lists, in dicts, JSON and tables."""
    events = [
        {"o": {"a": 1}, "l": [{"p": 1}], "n": [[1]]},
        {"o": {"a": None}, "l": [], "n": []},
        {"o": None, "l": None, "n": None},
    ]
    wheres = ("o IS NULL", "l IS NULL", "n IS NULL", "o.a = 1", "A_CONTAINS(l.p, (1))")
    subscriptions = [{"id": where, "where": where} for where in wheres]
    lists = pa.list_(pa.struct([("p", pa.int64())]))
    columns = {
        "o": pa.array([event["o"] for event in events], pa.struct([("a", pa.int64())])),
        "l": pa.array([event["l"] for event in events], lists),
        "n": pa.array([event["n"] for event in events], pa.list_(pa.list_(pa.int64()))),
    }
    as_map = columns | {"o": pa.array([[("a", 1)], [], None], pa.map_(pa.string(), pa.int64()))}
    lines = "".join(json.dumps(event) + "\n" for event in events).encode()

    for source in (events, lines, pa.table(columns), pa.table(as_map)):
        answer = tocsin.match(subscriptions, source)
        found = [(row["event"], row["subscription"]) for row in answer.table.to_pylist()]
        absent = [(2, "l IS NULL"), (2, "n IS NULL"), (2, "o IS NULL")]
        assert sorted(found) == [(0, "A_CONTAINS(l.p, (1))"), (0, "o.a = 1"), *absent]
        assert answer.errors == []
