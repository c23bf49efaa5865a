"""A pipeline does what its file says, ends when it is asked to, and goes on from there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from tests.waiting import HANG_S, awaited
from tocsin.cli.main import main
from tocsin.errors import InvalidInput, TocsinError
from tocsin.locks import Lock
from tocsin.pipeline import read_pipeline
from tocsin.pipeline.example import write_example
from tocsin.pipeline.layout import claim
from tocsin.pipeline.running import run
from tocsin.spark.listening import Progress, prometheus_text

pytestmark = [pytest.mark.spark, pytest.mark.slow("each run is a query of Spark")]


def matches(folder: Path, form: str = "json") -> list[tuple[str, str]]:
    rows = ds.dataset(folder / "matches", format=form).to_table().to_pylist()
    return sorted((row["event_id"], row["subscription"]) for row in rows)


def add(folder: Path, name: str, *records: Any) -> None:
    aside = folder / "aside"
    aside.write_text("".join(one if isinstance(one, str) else json.dumps(one) + "\n" for one in records))
    aside.rename(folder / name)


FIRST = [("e1", "cheap"), ("e1", "near"), ("e1", "tea"), ("e2", "tea"), ("e3", "cups")]


def test_the_example_runs_at_once(spark: Any, tmp_path: Path, capsys: Any) -> None:
    """By two commands; what is added later is matched by the next run, poison set aside with its reason."""
    path = str(tmp_path / "pipeline.toml")

    assert main(["pipeline", "new", path]) == 0
    assert main(["pipeline", "run", "--once", path]) == 0

    assert matches(tmp_path) == FIRST
    add(tmp_path, "events/2.json", {"key": "e4", "price": 3, "words": [1, "tea"]}, '{"bad\n', " \n", "[1]\n")
    (tmp_path / "rejects" / "changes").mkdir()
    (tmp_path / "rejects" / "changes" / "batch-00000000.parquet").write_text("of tocsin 0.2")
    add(
        tmp_path,
        "changes/2.json",
        {"id": "tea", "change": "delete", "version": 2},
        '{"id": 3, "chan\n',
        '{"id": "x"}\n',
        {"id": "tea", "change": "insert", "version": "2", "where": "price > 0"},
    )
    assert main(["pipeline", "run", "--once", path]) == 1
    assert matches(tmp_path) == [*FIRST, ("e4", "cheap")]
    assert "1 match of 3 events, 3 changes of subscriptions rejected, 2 rejected" in capsys.readouterr().err
    rejects = [json.loads(line) for file in tmp_path.glob("rejects/events/*/*.json") for line in file.open()]
    assert sorted(one["event"] for one in rejects) == ["[1]", '{"bad']
    assert all(one["error"] for one in rejects)
    bad = [json.loads(line) for file in tmp_path.glob("rejects/changes/*.json") for line in file.open()]
    assert sorted((one["id"] or "", one["field"], one["reason"][:24]) for one in bad) == [
        ("", "", "the record cannot be rea"),
        ("tea", "version", "version is a text; it mu"),
        ("x", "version", "the version is missing; "),
    ]
    metrics = (tmp_path / "metrics.prom").read_text()
    assert 'tocsin_events_total{stream="alerts"} 3.0\n' in metrics
    assert 'tocsin_rejected_total{stream="alerts"} 2.0\n' in metrics
    assert 'tocsin_rejected_total{stream="alerts-changes"} 3.0\n' in metrics
    add(tmp_path, "changes/3.json", {"id": "cheap", "change": "delte", "version": 9})
    assert main(["pipeline", "run", "--once", path]) == 1


def test_it_runs_until_it_is_asked_to_end_and_goes_on_from_there(spark: Any, tmp_path: Path) -> None:
    """What comes while it runs is matched, by subscriptions that change while it runs; nothing comes twice."""
    path, *_ = write_example(tmp_path / "pipeline.toml")
    head, tail = path.read_text().split("[sink]")
    tail = tail.replace('format = "json"', 'format = "parquet"').replace(
        'every = "1 second"', 'every = "100 milliseconds"'
    )
    path.write_text(f"{head}[sink]{tail}")
    pipeline = read_pipeline(path)
    commits = tmp_path / "checkpoint" / "changes" / "commits"
    for turn in range(2):
        stop, told = threading.Event(), []

        def live(name: str = f"live{turn}", stop: threading.Event = stop, before: int = 1 + turn) -> None:
            try:
                wait_for(lambda: len(matches(tmp_path, "parquet")) >= 5)
                add(
                    tmp_path,
                    f"changes/{name}.json",
                    {"id": name, "change": "insert", "version": 1, "where": f"n = {before}"},
                )
                wait_for(lambda: len(list(commits.glob("[0-9]*"))) > before)
                add(tmp_path, f"events/{name}.json", {"key": name, "n": before})
                wait_for(lambda: (name, name) in matches(tmp_path, "parquet"))
            finally:
                stop.set()

        thread = threading.Thread(target=live)
        thread.start()
        run(pipeline, stop=stop, look=told.append)
        thread.join()
        assert told

    assert matches(tmp_path, "parquet") == sorted([*FIRST, ("live0", "live0"), ("live1", "live1")])


def wait_for(condition: Callable[[], object]) -> None:
    """Wait until files hold what they should; one that is being written can be in no order."""
    awaited(condition, OSError, ValueError)


def test_columns_rankings_and_lists(spark: Any, tmp_path: Path) -> None:
    """CSV with a header and a schema into Parquet with lists, the best only; a field that is no number is told."""
    text = (
        '[events]\nkind = "files"\npath = "in"\nformat = "csv"\nheader = true\nschema = "key bigint, price double"\n'
        '[subscriptions]\nindex = "index"\npath = "s.jsonl"\n[match]\nranking = "top:1"\nattributes = ["price"]\n'
        '[sink]\nkind = "files"\npath = "matches"\nformat = "parquet"\n[run]\ncheckpoint = "checkpoint"\n'
        '[rejects]\npath = "rejects"\n'
    )
    (tmp_path / "pipeline.toml").write_text(text)
    (tmp_path / "in").mkdir()
    add(tmp_path, "in/1.csv", "key,price\n1,5\n2,x\n3,50\n")
    records = [
        {"id": 1, "where": "price < 9"},
        {"id": 2, "where": "price < 90", "score": 5.0},
        {"id": 3, "where": "x ="},
    ]
    add(tmp_path, "s.jsonl", *records)

    outcome = run(read_pipeline(tmp_path / "pipeline.toml"), once=True)

    rows = ds.dataset(tmp_path / "matches", format="parquet").to_table().to_pylist()
    best = [{"subscription": 2, "score": 5.0}]
    assert {row["key"]: row["matches"] for row in rows} == {1: best, 2: [], 3: best}
    assert outcome.compiled is not None
    assert [reject.id for reject in outcome.compiled.rejects] == [3]
    assert [outcome.progress.counts[name] for name in ("events", "rejected", "reported")] == [3, 0, 1]
    (reject,) = [json.loads(line) for file in tmp_path.glob("rejects/events/*/*.json") for line in file.open()]
    assert reject["error"].startswith("price: 'x' is not a number")
    assert reject["event"] == {"key": 2}


PARQUET = (
    '[events]\nkind = "files"\npath = "in"\nformat = "parquet"\nfiles_per_batch = 1\n'
    '[subscriptions]\nindex = "index"\npath = "s.jsonl"\n[match]\nattributes = ["n"]\nexplode = true\n'
    'event_id = "key"\n'
    '[sink]\nkind = "files"\npath = "matches"\nformat = "parquet"\n[run]\ncheckpoint = "checkpoint"\n'
)


def test_workers_read_parquet_themselves(spark: Any, tmp_path: Path) -> None:
    """Each file once; one that is damaged ends the stream with its name, and is read when it is mended."""
    (tmp_path / "pipeline.toml").write_text(PARQUET)
    (tmp_path / "in").mkdir()
    add(tmp_path, "s.jsonl", {"id": "odd", "where": "n IN (1, 3, 5)"})
    tables = [pa.table({"key": [f"e{n}"], "n": [float(n)]}) for n in range(4)]
    for number in range(2):
        pq.write_table(tables[number], tmp_path / "in" / f"{number}.parquet")
    pipeline = read_pipeline(tmp_path / "pipeline.toml")

    run(pipeline, once=True)
    assert matches(tmp_path, "parquet") == [("e1", "odd")]
    (tmp_path / "in" / "2.parquet").write_text("no Parquet")
    pq.write_table(tables[3], tmp_path / "in" / "3.parquet")
    with pytest.raises(TocsinError, match=r"2\.parquet cannot be read as Parquet"):
        run(pipeline, once=True)
    pq.write_table(tables[2], tmp_path / "in" / "2.parquet")
    run(pipeline, once=True)

    assert matches(tmp_path, "parquet") == [("e1", "odd"), ("e3", "odd")]


def test_damaged_parquet_is_set_aside_where_rejects_have_a_place(spark: Any, tmp_path: Path) -> None:
    """With its name, and what can be read before the damage is matched; a value of no such type ends the stream."""
    (tmp_path / "pipeline.toml").write_text(PARQUET + '[rejects]\npath = "rejects"\n')
    (tmp_path / "in").mkdir()
    add(tmp_path, "s.jsonl", {"id": "odd", "where": "n IN (1, 3, 5)"})
    events = pa.table({"key": ["a", "b"], "n": [1.0, 3.0]})
    pq.write_table(events, tmp_path / "in" / "0.parquet")
    (tmp_path / "in" / "1.parquet").write_text("no Parquet")
    many = pa.table({"key": ["c"] * 20_001, "n": [5.0] + [0.0] * 20_000})
    pq.write_table(many, tmp_path / "in" / "2.parquet", 20_000, compression="none", use_dictionary=False)
    cut = bytearray((tmp_path / "in" / "2.parquet").read_bytes())
    second = pq.read_metadata(tmp_path / "in" / "2.parquet").row_group(1).column(0).data_page_offset
    cut[second : second + 12] = b"\xff" * 12
    (tmp_path / "in" / "2.parquet").write_bytes(cut)

    outcome = run(read_pipeline(tmp_path / "pipeline.toml"), once=True)

    assert matches(tmp_path, "parquet") == [("a", "odd"), ("b", "odd"), ("c", "odd")]
    errors = [json.loads(line)["error"] for file in tmp_path.glob("rejects/events/*/*.json") for line in file.open()]
    words = ["1.parquet cannot be read as Parquet: ", "2.parquet cannot be read as Parquet behind 20,000 events: "]
    assert [word in error for word, error in zip(words, sorted(errors), strict=True)] == [True, True]
    assert (outcome.progress.counts["events"], outcome.progress.counts["rejected"]) == (20_004, 2)
    pq.write_table(pa.table({"key": ["c"], "n": ["one"]}), tmp_path / "in" / "3.parquet")
    typed = PARQUET.replace('"parquet"', '"parquet"\nschema = "key string, n double"', 1)
    typed = typed.replace('"matches"', '"others"').replace('"checkpoint"', '"elsewhere"')
    (tmp_path / "typed.toml").write_text(typed + '[rejects]\npath = "other rejects"\n')
    with pytest.raises(
        TocsinError, match=r"3\.parquet cannot be read with the others: column 'n' is string, but was do"
    ):
        run(read_pipeline(tmp_path / "typed.toml"), once=True)
    run(read_pipeline(tmp_path / "pipeline.toml"), once=True)
    assert len(matches(tmp_path, "parquet")) == 3


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda folder: (folder / "events" / "0001.json").rename(folder / "events.json"), None),
        (lambda folder: __import__("shutil").rmtree(folder / "events"), "events does not exist; make the folder"),
        (lambda folder: (folder / "subscriptions.jsonl").unlink(), "subscriptions.jsonl"),
        (lambda folder: (folder / "subscriptions.jsonl").write_text('{"id": "a", "where": "n ="}\n'), "could be read"),
    ],
    ids=["no events", "no folder", "no subscriptions", "bad subscriptions"],
)
def test_what_is_missing_is_told(spark: Any, tmp_path: Path, spoil: Any, words: str | None) -> None:
    """In one line that says what to do; no events are no fault."""
    path, *_ = write_example(tmp_path / "pipeline.toml")
    spoil(tmp_path)

    if words is None:
        assert run(read_pipeline(path), once=True).progress.counts.get("matches", 0) == 0
    else:
        with pytest.raises(InvalidInput, match=words):
            run(read_pipeline(path), once=True)


def test_a_pipeline_runs_once_at_a_time(tmp_path: Path) -> None:
    """Another one with its checkpoint is refused before it reads anything."""
    path, *_ = write_example(tmp_path / "pipeline.toml")
    pipeline = read_pipeline(path)
    claim(pipeline)

    with Lock(pipeline.checkpoint), pytest.raises(InvalidInput, match="this pipeline is already running"):
        run(pipeline, once=True)

    assert not (tmp_path / "index").exists()


def test_a_stream_that_fails_is_told(spark: Any, tmp_path: Path) -> None:
    """With the reason at the bottom of it, and that the pipeline can be run again."""
    path, *_ = write_example(tmp_path / "pipeline.toml")
    run(read_pipeline(path), once=True)
    (manifest,) = (tmp_path / "index").glob("manifest.json")
    good = manifest.read_text()
    manifest.write_text(good.replace('"crc32"', '"crc"'))
    add(tmp_path, "events/2.json", {"key": "e9", "price": 1})

    with pytest.raises(TocsinError, match="damaged"):
        run(read_pipeline(path), once=True)

    manifest.write_text(good)
    run(read_pipeline(path), once=True)
    assert ("e9", "cheap") in matches(tmp_path)


def test_a_spark_that_does_not_start_is_told(tmp_path: Path) -> None:
    """In one line, with what Java said."""
    path, *_ = write_example(tmp_path / "pipeline.toml")
    path.write_text(path.read_text().replace("[spark]\n", '[spark]\n"spark.driver.memory" = "much"\n'))
    command = [sys.executable, "-m", "tocsin", "pipeline", "run", "--once", str(path)]

    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S)

    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert re.search(
        r"^tocsin pipeline: Spark did not start on local\[2\]: .*much.*Look at \[spark\]$", done.stderr, re.M
    )


def test_prometheus_reads_what_is_written() -> None:
    """Names, help and types once each; labels escaped; what is not known left out."""
    one = Progress('a"b\\c\n', {"events": 3, "batches": 1}, {"batch": 0.0, "batch_seconds": 0.25}, "v1")

    lines = prometheus_text([one, Progress("idle")]).splitlines()

    assert 'tocsin_events_total{stream="a\\"b\\\\c\\n"} 3.0' in lines
    assert 'tocsin_batch_seconds{stream="a\\"b\\\\c\\n"} 0.25' in lines
    assert 'tocsin_index_version{stream="a\\"b\\\\c\\n",version="v1"} 1.0' in lines
    assert not any("idle" in line or "behind" in line for line in lines)
    families = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(families) == len(set(families)) == sum(line.startswith("# HELP") for line in lines)
