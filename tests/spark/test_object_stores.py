"""Spark matches against an index on an S3 server, of which each worker has a copy."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pyarrow.dataset as ds
import pytest

import tocsin
import tocsin.spark as tocsin_spark
from tests.pipeline.test_kills import standalone
from tests.waiting import HANG_S
from tocsin.errors import InvalidInput
from tocsin.pipeline import read_pipeline
from tocsin.segment.origins import CACHE, Origin

pytestmark = [pytest.mark.spark, pytest.mark.slow("its queries run on Spark, and start a server")]

EVENTS = [(f"e{n}", float(n)) for n in range(6)]
PIPELINE = """
[events]
kind = "files"
path = "events"
format = "json"

[subscriptions]
index = "s3://bucket/pipeline"
path = "alerts.jsonl"

[match]
explode = true
event_id = "key"

[sink]
kind = "files"
path = "matches"
format = "json"

[run]
checkpoint = "checkpoint"

[spark]
master = "MASTER"
"spark.executorEnv.TOCSIN_INDEX_CACHE" = "copies"
"""


@pytest.fixture(scope="module")
def server() -> Iterator[dict[str, str]]:
    """An S3 server with a bucket, as the variables of the environment by which clients find it."""
    from moto.server import ThreadedMotoServer

    running = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    urlopen(Request(f"http://{host}:{port}/bucket", method="PUT")).close()
    named = {"AWS_ENDPOINT_URL": f"http://{host}:{port}", "AWS_DEFAULT_REGION": "us-east-1"}
    named |= {"AWS_ACCESS_KEY_ID": "anybody", "AWS_SECRET_ACCESS_KEY": "anything"}
    yield named
    running.stop()


@pytest.fixture
def bucket(server: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The bucket `s3://bucket` for this process, and a folder for copies; the variables, for others."""
    named = {**server, CACHE: str(tmp_path / "copies")}
    for name, value in named.items():
        monkeypatch.setenv(name, value)
    return named


@pytest.fixture
def session(spark: Any, bucket: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """The session, whose workers have the variables, too."""
    for name, value in bucket.items():
        monkeypatch.setitem(spark.sparkContext.environment, name, value)
    return spark


def index_of(folder: Path, *texts: str) -> Path:
    engine = tocsin.Engine()
    for text in texts:
        engine.subscribe(text, text)
    engine.save(folder)
    return folder


def found(rows: Any) -> list[tuple[str, str]]:
    return sorted((row["key"], match["subscription"]) for row in rows for match in row["matches"])


def expected(low: float) -> list[tuple[str, str]]:
    return [(key, f"n >= {low:g}") for key, n in EVENTS if n >= low]


def test_a_batch_and_a_stream_match_as_with_a_folder(session: Any, tmp_path: Path) -> None:
    """With both routings; a stream takes a new version with its next micro-batch, and keeps that of a replay."""
    tocsin_spark.upload(index_of(tmp_path / "index", "n >= 4"), "s3://bucket/index")
    frame = session.createDataFrame(EVENTS, "key string, n double").coalesce(1)
    frame.write.json(str(tmp_path / "events"))

    for routing in ("local", "shuffle"):
        rows = tocsin_spark.match(frame, "s3://bucket/index", routing=routing).collect()
        assert found(rows) == expected(4)

    def run() -> dict[int, list[tuple[str, str]]]:
        taken = {}
        stream = session.readStream.schema(frame.schema).json(str(tmp_path / "events"))
        writer = tocsin_spark.match(stream, "s3://bucket/index").writeStream
        writer = writer.foreachBatch(lambda rows, number: taken.update({number: found(rows.collect())}))
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
        writer.start().awaitTermination()
        return taken

    assert run() == {0: expected(4)}
    (tmp_path / "checkpoint" / "commits" / "0").unlink()
    (tmp_path / "checkpoint" / "commits" / ".0.crc").unlink(missing_ok=True)
    tocsin_spark.upload(index_of(tmp_path / "index", "n >= 2"), "s3://bucket/index")
    frame.write.mode("append").json(str(tmp_path / "events"))

    assert run() == {0: expected(4), 1: expected(2)}
    assert len(Origin("s3://bucket/index").names("pins")) == 2
    with pytest.raises(InvalidInput, match="upload it there"):
        tocsin_spark.compile(session.createDataFrame([("a", "n = 1")], "id string, where string"), "s3://bucket/index")


def test_mistakes_are_told_before_spark_starts(bucket: dict[str, str], tmp_path: Path) -> None:
    """An index that is not there, and changes, which a store does not take."""
    (tmp_path / "events").mkdir()
    text = PIPELINE.replace("MASTER", "local[1]").replace('path = "alerts.jsonl"', "")
    (tmp_path / "pipeline.toml").write_text(text)
    with pytest.raises(InvalidInput, match="s3://bucket/pipeline is not an index"):
        read_pipeline(tmp_path / "pipeline.toml", with_inputs=True)
    changes = '[subscriptions.changes]\nkind = "files"\nformat = "json"\npath = "events2"\n\n[match]'
    (tmp_path / "pipeline.toml").write_text(text.replace("[match]", changes))
    with pytest.raises(InvalidInput, match="cannot be changed"):
        read_pipeline(tmp_path / "pipeline.toml", with_inputs=True)


@pytest.mark.long
def test_a_standalone_cluster_runs_a_pipeline(
    bucket: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its two workers have a copy each, and another version that is uploaded counts from the next run on."""
    monkeypatch.setenv("SPARK_WORKER_DIR", str(tmp_path / "work"))
    (tmp_path / "events").mkdir()
    (tmp_path / "alerts.jsonl").write_text(json.dumps({"id": "n >= 4", "where": "n >= 4"}))

    def run(number: int) -> list[tuple[str, str]]:
        for part in range(8):  # enough files for both workers
            lines = [json.dumps({"key": f"{number}-{part}-{key}", "n": n}) + "\n" for key, n in EVENTS]
            (tmp_path / "events" / f"{number}-{part}.json").write_text("".join(lines))
        command = [sys.executable, "-m", "tocsin", "pipeline", "run", "--once", str(tmp_path / "pipeline.toml")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        rows = ds.dataset(tmp_path / "matches", format="json").to_table().to_pylist()
        keys = [(row["event_id"].split("-"), row["subscription"]) for row in rows]
        return sorted({(key, subscription) for (run, _, key), subscription in keys if run == str(number)})

    with standalone() as master:
        (tmp_path / "pipeline.toml").write_text(PIPELINE.replace("MASTER", master))
        first = run(0)
        tocsin_spark.upload(index_of(tmp_path / "index", "n >= 2"), "s3://bucket/pipeline")
        second = run(1)

    assert (first, second) == (expected(4), expected(2))
    copies = sorted((tmp_path / "work").glob("app-*/*/copies/bucket-pipeline-*/version-*/part-*/arrays.bin"))
    assert len({str(path).partition("/copies/")[0] for path in copies}) == 4, "two executors in each run"
