"""What users have: several files, patterns, folders, documents, datasets, lazy frames, relations, URLs."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import tocsin
from tocsin.cli.main import main

ASKED = [
    {"id": "dear", "where": "price > 5"},
    {"id": "near", "where": "S_INTERSECTS(geometry, BBOX(0, 0, 2, 2)) AND name = 'x'"},
    {"id": "second", "where": "day = 2"},
]


def matched(source: Any, **options: Any) -> list[tuple[int, str]]:
    return [(row["event"], row["subscription"]) for row in tocsin.match(ASKED, source, **options).table.to_pylist()]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three files: rows 0 to 2, 3 to 5, and 6."""
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "data"
    data.mkdir()
    (data / "a.jsonl").write_text('{"price": 3}\n{bad\n{"price": 6}\n')
    (data / "b.csv").write_text("price\n7\n1,2\n8\n")
    with gzip.open(data / "c.jsonl.gz", "wt") as file:
        file.write('{"price": 9}\n')
    (data / "_SUCCESS.jsonl").write_text("{}\n")
    (data / "notes.txt").write_text("no events")
    return tmp_path


EXPECTED = [(2, "dear"), (3, "dear"), (5, "dear"), (6, "dear")]


@pytest.mark.parametrize(
    "source",
    ["data", Path("data"), "data/[abc].*", ["data/a.jsonl", Path("data/b.csv"), "data/c.jsonl.gz"], ("data",)],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_several_files_are_one_source(folder: Path, source: Any, threads: int) -> None:
    """Rows count on, and what is wrong names its file."""
    answer = tocsin.match(ASKED, source, threads=threads)

    assert matched(source, threads=threads) == EXPECTED
    assert answer.stats.events == 7
    assert [(reject.row, reject.reason.split(":")[0]) for reject in answer.errors] == [
        (1, "data/a.jsonl"),
        (4, "data/b.csv"),
    ]


def test_progress_counts_all_files(folder: Path) -> None:
    """It grows to 1 over all of them."""
    shares: list[float | None] = []
    tocsin.match(ASKED, "data/[ab].*", progress=shares.append)

    known = [share for share in shares if share is not None][1:]
    assert known == sorted(known)
    assert known[-1] == 1.0


def test_subscriptions_come_in_several_files(folder: Path) -> None:
    """Also CSV, all text; of one id the first is kept. A folder is one of Parquet files, or an index."""
    Path("s").mkdir()
    Path("s/1.jsonl").write_text(json.dumps(ASKED[0]) + "\n" + '{"id": "bad"}\n')
    Path("s/2.csv").write_text("id,where\n7,price > 7\ndear,price > 100\n")

    answer = tocsin.match("s/*", [{"price": 8}])

    assert answer.table["subscription"].to_pylist() == ["7", "dear"]
    assert [(reject.row, reject.id) for reject in answer.subscription_errors] == [(1, "bad"), (3, "dear")]
    assert tocsin.Engine().subscribe_many(["s/2.csv"]).accepted == 2
    with pytest.raises(tocsin.SegmentError, match="is not a tocsin index"):
        tocsin.match("s", [{"price": 8}])
    Path("p").mkdir()
    pq.write_table(pa.table({"id": ["p"], "where": ["price > 7"]}), "p/1.parquet")
    assert tocsin.match("p", [{"price": 8}]).table["subscription"].to_pylist() == ["p"]


DOCUMENTS: dict[str, Any] = {
    "array.json": [{"price": 6}, {"price": 1}],
    "object.json": {"price": 6, "of": {"price": 1}},
    "places.geojson": {
        "type": "FeatureCollection",
        "features": [
            {"type": "Feature", "id": 5, "properties": {"price": 6}, "geometry": None},
            {"type": "Feature", "properties": {"name": "x"}, "geometry": {"type": "Point", "coordinates": [1, 1]}},
            {"type": "Feature", "properties": None, "geometry": {"type": "Point", "coordinates": [1, 1]}},
        ],
    },
}


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("indent", [None, 1])
def test_json_may_be_a_document(folder: Path, name: str, indent: int | None) -> None:
    """On one line or on many, as a file or as bytes, with or without a byte order mark."""
    text = json.dumps(DOCUMENTS[name], indent=indent)
    Path(name).write_text("\ufeff" + text + "\n")
    expected = [(0, "dear"), (1, "near")] if name.endswith("geojson") else [(0, "dear")]

    assert matched(name) == expected
    assert matched(text.encode()) == expected


def test_json_lines_stay_lines(folder: Path) -> None:
    """Arrays on lines are no records, bad first lines are rejects, and a file of blank lines is none."""
    answer = tocsin.match(ASKED, b'{bad\n{"price": 9}\n')
    assert (len(answer), [reject.row for reject in answer.errors]) == (1, [0])
    answer = tocsin.match(ASKED, b'[1]\n{"price": 9}\n')
    assert (len(answer), [reject.row for reject in answer.errors]) == (1, [0])
    assert tocsin.match(ASKED, b"\n \n").stats.events == 0
    assert tocsin.match(ASKED, b"[]").stats.events == 0
    answer = tocsin.match(ASKED, b'[5, {"price": 9}]')
    assert (len(answer), answer.errors[0].reason) == (1, "records are objects; this is 5")


def test_tables_of_all_kinds(folder: Path) -> None:
    """Datasets, folders with partitions, lazy frames, relations."""
    duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    for day in (1, 2):
        Path(f"hive/day={day}").mkdir(parents=True)
        pq.write_table(pa.table({"price": [4.0, 8.0]}), f"hive/day={day}/part.parquet")
    expected = [(1, "dear"), (2, "second"), (3, "dear"), (3, "second")]

    assert matched("hive") == expected
    assert matched(ds.dataset("hive", partitioning="hive")) == expected
    assert matched("hive/*/*.parquet") == expected
    assert matched(polars.LazyFrame({"price": [1, 9]}).filter(polars.col("price") > 0)) == [(1, "dear")]
    assert matched(duckdb.sql("SELECT 9 AS price, 2 AS day")) == [(0, "dear"), (0, "second")]
    assert tocsin.match([{"id": "all", "where": "x IS NULL"}], ds.dataset("hive")).stats.matches == 4


def test_file_systems_are_named_by_url(folder: Path) -> None:
    """Every format is read through Arrow's file systems."""
    table = pa.table({"price": [4, 8]})
    pq.write_table(table, "e.parquet")
    arrow_csv.write_csv(table, "e.csv")
    with pa.ipc.new_file("e.arrow", table.schema) as writer:
        writer.write_table(table)
    for name in ("e.parquet", "e.csv", "e.arrow"):
        assert matched(f"file://{folder}/{name}") == [(1, "dear")]
    assert matched([f"file://{folder}/data/a.jsonl", f"file://{folder}/data/c.jsonl.gz"]) == [(2, "dear"), (3, "dear")]
    assert main(["match", f"file://{folder}/s.jsonl", "e.csv"]) == 2


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("x*.jsonl", "no file fits the pattern"),
        ("none", "is a folder without files that end in .jsonl"),
        (["data/a.jsonl", "data/missing.jsonl"], "there is no file data/missing.jsonl"),
        ("file:///nowhere/e.jsonl", "cannot be read"),
        ("nope://x/e.jsonl", "cannot be read"),
        (b'[{"price": 1},\n{"pr', "begins like a JSON array, but is damaged at line 2"),
        ("data/cut.json", "data/cut.json begins like a JSON array, but is damaged at line 1"),
    ],
)
def test_what_cannot_be_read_is_named(folder: Path, source: Any, reason: str) -> None:
    Path("none").mkdir()
    Path("data/cut.json").write_text('[{"price": 1}, {"pri')

    with pytest.raises(tocsin.InvalidInput, match=reason):
        matched(source)


PLACED = [
    {"id": "in", "where": "S_INTERSECTS(location, BBOX(0, 0, 2, 2))"},
    {"id": "far", "where": "at.lon > 100"},
    {"id": "nowhere", "where": "location IS NULL"},
]
PLACES: list[dict[str, Any]] = [
    {"at": {"lon": 1, "lat": 1}},
    {"at": {"lon": 5, "lat": 1}},
    {"at": {"lon": 1}},
    {"at": {"lon": 200, "lat": "x"}, "location": [1, 1]},
    {"at": {"lon": 1, "lat": 1}, "location": [9, 9]},
]


@pytest.mark.parametrize("index", ["auto", "scan"])
def test_points_are_made_of_two_attributes(index: str, tmp_path: Path, capsys: Any) -> None:
    """In every form; what an event says itself stands."""
    points = {"location": ("at.lon", "at.lat")}
    expected = [(0, "in"), (2, "nowhere"), (3, "far"), (3, "in")]
    lines = "".join(json.dumps(place) + "\n" for place in PLACES)
    for source in (PLACES, lines.encode()):
        table = tocsin.match(PLACED, source, points=points, index=index).table
        assert [(row["event"], row["subscription"]) for row in table.to_pylist()] == expected
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(one) + "\n" for one in PLACED))
    (tmp_path / "e.jsonl").write_text(lines)
    files = [str(tmp_path / "s.jsonl"), str(tmp_path / "e.jsonl")]
    assert main(["match", *files, "--points", "location=at.lon:at.lat"]) == 0
    assert capsys.readouterr().out.count("\n") == len(expected)
    assert main(["match", *files, "--points", "location=lon"]) == 2
    engine = tocsin.Engine()
    engine.subscribe_many(PLACED)
    table = pa.table({"at.lon": [1.0, 5.0, None], "at.lat": [1.0, 1.0, 1.0]})
    assert engine.match_batch(table, points=points).table.to_pylist() == [
        {"event": 0, "subscription": "in"},
        {"event": 2, "subscription": "nowhere"},
    ]


@pytest.mark.parametrize("points", [5, {"a": "b"}, {"a": ("x",)}, {1: ("x", "y")}])
def test_odd_points_are_refused(points: Any) -> None:
    with pytest.raises(tocsin.InvalidInput, match="it maps names to pairs of names"):
        tocsin.match(PLACED, PLACES, points=points)
