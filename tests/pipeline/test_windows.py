"""A pipeline with a window keeps the lists that one process keeps, by one file and one command."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import tocsin
from tocsin.cli.main import main
from tocsin.errors import InvalidInput
from tocsin.pipeline import read_pipeline

EXAMPLE = Path(__file__).parents[2] / "examples" / "best-messages-on-spark"
TEXT = (EXAMPLE / "pipeline.toml").read_text()


def records(folder: Path, *patterns: str) -> list[dict[str, Any]]:
    files = sorted(file for pattern in patterns for file in folder.glob(pattern))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def expected(folder: Path) -> dict[str, list[tuple[str, float]]]:
    """The lists of one window that is given all readers, messages and changes in their order."""
    window = tocsin.Window(1000, bounds=(2.2, 48.8, 2.5, 48.95))
    window.subscribe_many(records(folder, "readers.jsonl"))
    rows = records(folder, "posts/*.json", "changes/*.json")
    for row in sorted(rows, key=lambda row: (row["n"], "change" not in row)):
        record = {name: value for name, value in row.items() if name not in ("n", "change")}
        if "change" not in row:
            window.push_batch([record])
        elif row["change"] == "delete":
            window.unsubscribe(row["id"])
        else:
            window.subscribe_many([record], replace=True)
    return {id: window.results(id) for id in window}


def folded(folder: Path) -> dict[str, list[tuple[str, float]]]:
    """The lists of a reader of the sink that applies all rows in their order."""
    lists: dict[str, dict[str, float]] = {}
    for batch in sorted((folder / "lists").glob("batch=*")):
        for row in records(batch, "*.json"):
            best = lists.setdefault(row["subscription"], {})
            if row["kind"] == "enter":
                best[row["message"]] = row["score"]
            else:
                del best[row["message"]]
    return {id: sorted(best.items(), key=lambda pair: -pair[1]) for id, best in lists.items() if best}


@pytest.mark.spark
@pytest.mark.slow("each run is a query of Spark")
def test_the_example_runs_and_goes_on(spark: Any, tmp_path: Path, capsys: Any) -> None:
    """With changes of readers in both runs, and a message and a change that are refused with their reasons."""
    folder = tmp_path / "example"
    shutil.copytree(EXAMPLE, folder)
    path = str(folder / "pipeline.toml")

    assert main(["pipeline", "run", "--once", path]) == 0
    assert folded(folder) == expected(folder)
    posts = [{"n": 7, "key": "late", "words": ["fresh", "oysters"], "location": [2.39, 48.9]}]
    bad_post = {"n": 8, "key": "far", "words": ["oysters"], "location": [9.0, 48.9]}
    changes = [
        {"n": 7, "change": "insert", "id": "max", "words": ["fresh"], "location": [2.3, 48.85], "k": 2, "alpha": 0.5}
    ]
    (folder / "posts" / "2.json").write_text("".join(json.dumps(one) + "\n" for one in [*posts, bad_post]))
    text = "".join(json.dumps(one) + "\n" for one in changes)
    (folder / "changes" / "2.json").write_text(text + json.dumps({"n": 9, "change": "upsert", "id": "zoe"}) + "\n")
    assert main(["pipeline", "run", "--once", path]) == 1
    (folder / "posts" / "2.json").write_text(json.dumps(posts[0]) + "\n")
    (folder / "changes" / "2.json").write_text(text)
    assert folded(folder) == expected(folder)

    assert "of lists, 2 rejected" in capsys.readouterr().err
    refused = records(folder, "rejects/events/*/*.json")
    assert {(row.get("message"), row.get("subscription")) for row in refused} == {("far", None), (None, "zoe")}
    assert all(row["error"] for row in refused)


@pytest.mark.parametrize(
    ("given", "replaced", "said"),
    [
        ("bounds = [2.2, 48.8, 2.5, 48.95]", "", r"\[window\] lacks 'bounds'"),
        ("bounds = [2.2, 48.8, 2.5, 48.95]", "bounds = [1, 2]", "bounds are"),
        ("size = 1000", "", "a window needs size"),
        ("partitions = 2", "partitions = 65", "a window has at most 64"),
        ('placement = "prefix"', 'placement = "prefx"', "Did you mean 'prefix'"),
        ('order = ["n"]', 'order = "n"', "order is 'n'; it must be a list"),
        ("[sink]", "[match]\nexplode = true\n[sink]", r"\[match\] or \[window\], not both"),
        ('path = "readers.jsonl"', 'path = "readers.jsonl"\nindex = "index"', "no key 'index'"),
        ('schema = "n bigint, key string, words array<string>, location array<double>"', "", "a window needs a schema"),
        (
            'format = "json"\nschema = "n bigint, key',
            'format = "csv"\nschema = "n bigint, key',
            "reads json or parquet",
        ),
        ("readers.jsonl", "writers.jsonl", "writers.jsonl"),
    ],
)
def test_mistakes_are_found_without_spark(tmp_path: Path, given: str, replaced: str, said: str) -> None:
    """Each with the line of the file."""
    folder = tmp_path / "example"
    shutil.copytree(EXAMPLE, folder)
    assert given in TEXT
    (folder / "pipeline.toml").write_text(TEXT.replace(given, replaced, 1))

    with pytest.raises(InvalidInput, match=said):
        read_pipeline(folder / "pipeline.toml", with_inputs=True)


def test_a_schema_for_kafka_needs_a_window(tmp_path: Path) -> None:
    """Without one it would do nothing."""
    path = tmp_path / "pipeline.toml"
    kafka = '[events]\nkind = "kafka"\nservers = "h:1"\ntopic = "t"\nschema = "a bigint"\n'
    rest = '[subscriptions]\nindex = "i"\n[sink]\nkind = "console"\n[run]\ncheckpoint = "c"\n'
    path.write_text(kafka + rest)

    with pytest.raises(InvalidInput, match=r"only a pipeline with \[window\]"):
        read_pipeline(path)


def test_the_plan_is_told(capsys: Any) -> None:
    """Before anything runs."""
    assert main(["pipeline", "run", "--check", str(EXAMPLE / "pipeline.toml")]) == 0

    assert "window         1,000 messages, in 2 partitions by prefix" in capsys.readouterr().out
