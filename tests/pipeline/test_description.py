"""A pipeline's file is read as it is meant, and all that is wrong with it is told at once, each with its line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tocsin
from tocsin.cli.main import main
from tocsin.errors import InvalidInput
from tocsin.pipeline import read_pipeline, running
from tocsin.pipeline.example import write_example
from tocsin.pipeline.faults import places_of

GOOD = """
[events]
kind = "files"
path = "events"
format = "json"

[subscriptions]
index = "index"

[sink]
kind = "console"

[run]
checkpoint = "checkpoint"
"""

CHANGES = '[subscriptions.changes]\nkind = "files"\npath = "changes"\nformat = "json"\n[sink]'


def written(folder: Path, text: str) -> Path:
    path = folder / "pipeline.toml"
    path.write_text(text)
    return path


def test_the_least_that_a_pipeline_says(tmp_path: Path) -> None:
    """The rest has defaults; paths are those beside the file."""
    pipeline = read_pipeline(written(tmp_path, GOOD))

    assert pipeline.index == tmp_path / "index"
    assert pipeline.events["path"] == str(tmp_path / "events")
    assert (pipeline.ranking, pipeline.explode, pipeline.changes, pipeline.rejects) == (None, False, None, None)
    assert (pipeline.keep_s, pipeline.every, pipeline.structure) == (600.0, "0 seconds", "auto")


def test_the_example_says_all_of_it(tmp_path: Path) -> None:
    """And what is commented out in it is right, too."""
    path, *_ = write_example(tmp_path / "a" / "mine.toml")
    text = path.read_text()
    assert "mine.toml" in text
    wanted = ("# ranking", "# structure", "# keep_seconds", "# schema", "# attributes", "# points")
    lines = [line[2:] if line.startswith(wanted) else line for line in text.splitlines()]
    path.write_text("\n".join(lines))

    pipeline = read_pipeline(path)

    assert pipeline.ranking == tocsin.Top(20)
    assert pipeline.changes is not None and pipeline.changes["path"] == str(path.parent / "changes")
    assert pipeline.conf == {"spark.sql.shuffle.partitions": "2"}
    assert pipeline.attributes == ["price"]
    assert pipeline.points == {"place": ("lon", "lat")}
    kafka = text.index("# [events]")
    commented = text[kafka : text.index("[subscriptions]")].replace("\n# ", "\n")[2:]
    path.write_text(commented + text[text.index("[subscriptions]") :])
    assert read_pipeline(path).events["options"] == {"security.protocol": "SSL"}


def test_an_example_overwrites_nothing(tmp_path: Path) -> None:
    """Where one of its files is there already, none is written."""
    (tmp_path / "subscriptions.jsonl").write_text("mine")

    with pytest.raises(InvalidInput, match=r"subscriptions\.jsonl is there already"):
        write_example(tmp_path / "pipeline.toml")

    assert [path.name for path in tmp_path.iterdir()] == ["subscriptions.jsonl"]


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("[events]", "[event]", 2, r"there is no table \[event\]; .*Did you mean 'events'\?"),
        ('path = "events"', 'pth = "events"', 4, r"\[events\] has no key 'pth'; .*Did you mean 'path'\?"),
        ('path = "events"', "path = 3", 4, "path is 3; it must be a text"),
        (
            'format = "json"',
            'format = "jsn"',
            5,
            "format is 'jsn'; it is one of json, csv, parquet. Did you mean 'json'",
        ),
        ('format = "json"', 'format = "csv"', 5, "csv needs a schema"),
        ('format = "json"', 'format = "json"\nheader = true', 6, "header is for csv"),
        ('format = "json"', 'format = "json"\ndelimiter = ";"', 6, "delimiter is for csv"),
        (
            'format = "json"',
            'format = "csv"\nschema = "a int"\ndelimiter = "ab"',
            7,
            "delimiter is 'ab'; it must be one",
        ),
        ('format = "json"', 'format = "json"\nfiles_per_batch = 0', 6, "files_per_batch is 0; it must be at least 1"),
        (
            'format = "json"',
            'format = "json"\nfiles_per_batch = true',
            6,
            "files_per_batch is True; it must be a whole",
        ),
        (
            'kind = "files"',
            'kind = "pulsar"',
            3,
            r"the kind of \[events\] is 'pulsar'; it is one of files, rate, kafka",
        ),
        ('kind = "console"', "", 10, r"the kind of \[sink\] is missing"),
        ('path = "events"', "", 2, r"\[events\] lacks 'path'"),
        ("[run]", "[spark]", 1, r"the table \[run\] is missing"),
        ('index = "index"', 'index = "index"\nstructure = "opindx"', 9, "opindx"),
        ("[sink]", '[match]\nranking = "top"\n[sink]', 11, "ranking is 'top'; write top:20, relaxed:20 or similar"),
        ("[sink]", '[match]\nranking = "top:0"\n[sink]', 11, "k is 0; it must be at least 1"),
        ("[sink]", "[match]\nexplode = true\n[sink]", 11, "explode = true needs event_id"),
        ("[sink]", '[match]\nevent_id = "key"\n[sink]', 11, "event_id needs explode = true"),
        ("[sink]", '[match]\nattributes = ["n"]\n[sink]', 11, "these events are JSON"),
        ("[sink]", '[match]\npoints = { place = "lon" }\n[sink]', 11, "points is .*; it maps names to pairs of names"),
        ("[sink]", '[subscriptions.changes]\nkind = "rate"\n[sink]', 11, "changes come from files or kafka"),
        ('kind = "console"', 'kind = "files"\npath = "x"\nformat = "csv"', 13, "csv cannot hold lists"),
        (
            'kind = "console"',
            'kind = "files"\npath = "./events"\nformat = "json"',
            12,
            r"path of \[sink\] is .*events, as is path of \[events\]; give each its own folder",
        ),
        ("[run]", '[run]\nevery = "1 sec0nd"', 14, "every is '1 sec0nd'; it is a time such as '10 seconds'"),
        ("[run]", '[run]\nmetrics = "."', 14, r"metrics is .*, which is a folder; give a file"),
        ("[run]", '[rejects]\npath = "index"\n[run]', 14, r"path of \[rejects\] is .*index, as is index of"),
        ("[run]", '[spark]\nmaster = "locl[2]"\n[run]', 14, r"master is 'locl\[2\]'; it is local, local\[N\]"),
    ],
)
def test_faults_are_told_with_their_line(tmp_path: Path, old: str, new: str, line: int, words: str) -> None:
    """What came, what is allowed, and perhaps what was meant."""
    path = written(tmp_path, GOOD.replace(old, new, 1))

    with pytest.raises(InvalidInput, match=words) as raised:
        read_pipeline(path)

    assert f"{path}:{line}: " in str(raised.value)


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    """In the order of their lines."""
    text = GOOD.replace('path = "events"', 'pth = "events"').replace('kind = "console"', 'kind = "consle"')

    with pytest.raises(InvalidInput) as raised:
        read_pipeline(written(tmp_path, text))

    assert [line.split(":")[1] for line in str(raised.value).splitlines()] == ["2", "4", "11"]


@pytest.mark.parametrize(
    ("replaced", "words"),
    [
        (
            {'"files"': '"file"', '"json"': '"jsonl"', "[sink]": "[match]\nexplode = true\n[sink]"},
            ["3: the kind of [events] is 'file'", "5: format is 'jsonl'", "11: explode = true needs event_id"],
        ),
        (
            {'"files"': '"pulsar"', '"json"': '"csv"', '"checkpoint"': "3"},
            ["3: the kind of [events] is 'pulsar'", "5: csv needs a schema", "14: checkpoint is 3; it must be a text"],
        ),
        (
            {
                'format = "json"': 'format = "csv"\nschema = 3',
                "[sink]": "[match]\nexplode = true\nevent_id = 1\n[sink]",
            },
            ["6: schema is 3; it must be a text", "13: event_id is 1; it must be a text"],
        ),
        (
            {
                'kind = "files"\npath = "events"': 'servers = 1\npth = "a"',
                '"index"': '"x"\nchanges = 1\nstructure = "no"',
            },
            [
                "2: the kind of [events] is missing",
                "3: servers is 1; it must be a text",
                "4: [events] has no key 'pth'",
                "9: changes must be a table",
                "10: no index is named 'no'",
            ],
        ),
        (
            {"[subscriptions]\n": "", 'index = "index"': "", '"console"': '"kafka"'},
            ["1: the table [subscriptions]", "9: [sink] lacks 'servers'"],
        ),
    ],
    ids=["kind, format and explode", "kind, schema and type", "types", "no kind", "no table"],
)
def test_no_fault_hides_another(tmp_path: Path, replaced: dict[str, str], words: list[str]) -> None:
    """And none is told that only follows from another."""
    text = GOOD
    for old, new in replaced.items():
        text = text.replace(old, new, 1)
    path = written(tmp_path, text)

    with pytest.raises(InvalidInput) as raised:
        read_pipeline(path)

    told = [line.removeprefix(f"{path}:") for line in str(raised.value).splitlines()]
    for number, one in enumerate(words):
        assert told[number].startswith(one), told


@pytest.mark.parametrize(("text", "words"), [("[events]\n[events]", "line 2"), ("\xff", "pipeline.toml")])
def test_what_is_no_toml_is_refused(tmp_path: Path, text: str, words: str) -> None:
    """With what Python's reader says of it."""
    path = tmp_path / "pipeline.toml"
    path.write_bytes(text.encode("latin-1"))

    with pytest.raises(InvalidInput, match=words):
        read_pipeline(path)


def test_a_missing_file_says_how_to_begin(tmp_path: Path) -> None:
    """By an example."""
    with pytest.raises(InvalidInput, match="tocsin pipeline new"):
        read_pipeline(tmp_path / "nowhere.toml")


def test_places_are_those_an_editor_shows() -> None:
    """Tables within tables, quoted keys, comments, and texts of several lines, whose lines are no keys."""
    text = 'a = 1\n[b]  # c = 2\n"d.e" = """\nf = 3\n"""\n[ b . "g" ]\nh=4\n'

    assert places_of(text) == {("", "a"): 1, ("b", ""): 2, ("b", "d.e"): 3, ("b.g", ""): 6, ("b.g", "h"): 7}


def test_check_prints_what_would_be_done(tmp_path: Path, capsys: Any) -> None:
    """And runs nothing: no folder is made."""
    path = written(tmp_path, GOOD.replace('index = "index"', 'index = "index"\npath = "s.jsonl"'))
    (tmp_path / "events").mkdir()
    (tmp_path / "s.jsonl").write_text("")

    assert main(["pipeline", "run", "--check", str(path)]) == 0

    out = capsys.readouterr().out
    assert "events         files (path " in out
    assert "every match, one list for each event" in out
    assert sorted(one.name for one in tmp_path.iterdir()) == ["events", "pipeline.toml", "s.jsonl"]
    path.write_text(GOOD.replace("kind", "knd"))
    assert main(["pipeline", "run", "--check", str(path)]) == 2
    assert f"{path}:2: the kind of [events] is missing" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--check", "--once"])
def test_what_cannot_be_read_is_told_with_its_line(tmp_path: Path, capsys: Any, option: str) -> None:
    """Folders and the file of subscriptions, together with mistakes in the file; before anything is made."""
    text = GOOD.replace('index = "index"', 'index = "index"\npath = "s.jsonl"').replace("[sink]", CHANGES)
    (tmp_path / "changes").write_text("")
    path = written(tmp_path, text + 'every = "soon"\n')

    assert main(["pipeline", "run", option, str(path)]) == 2

    told = capsys.readouterr().err.removeprefix("tocsin pipeline: ").splitlines()
    assert told == [
        f"{path}:4: {tmp_path}/events does not exist; make the folder that files come into",
        f"{path}:9: there is no file {tmp_path}/s.jsonl",
        f"{path}:13: {tmp_path}/changes is a file; name its folder",
        f"{path}:20: every is 'soon'; it is a time such as '10 seconds' or '1 minute'",
    ]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["changes", "pipeline.toml"]


@pytest.mark.parametrize("option", ["--check", "--once"])
def test_parquet_without_columns_is_refused_before_spark_starts(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    """No schema, and no file that can be read; one file that can be read, or a schema, is enough."""
    monkeypatch.setattr(running, "local_session", lambda *_, **__: pytest.fail("Spark was started"))
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "damaged.parquet").write_bytes(b"PAR1")
    (tmp_path / "s.jsonl").write_text('{"id": "a", "where": "n = 1"}\n')
    text = GOOD.replace('index = "index"', 'index = "index"\npath = "s.jsonl"').replace('"json"', '"parquet"')
    path = written(tmp_path, text)

    assert main(["pipeline", "run", option, str(path)]) == 2

    events = tmp_path / "events"
    told = f"{path}:4: no columns can be read from the Parquet files of {events}; give a schema: columns with Spark's"
    assert told in capsys.readouterr().err
    assert not (tmp_path / "index").exists() and not (tmp_path / "checkpoint").exists()
    read_pipeline(written(tmp_path, text.replace('"parquet"', '"parquet"\nschema = "n bigint"')), with_inputs=True)
    pq.write_table(pa.table({"n": [1]}), events / "one.parquet")
    read_pipeline(written(tmp_path, text), with_inputs=True)


def test_an_index_needs_no_file_of_subscriptions(tmp_path: Path) -> None:
    """One that is there is used as it is; without it, there must be a source."""
    (tmp_path / "events").mkdir()
    path = written(tmp_path, GOOD)

    with pytest.raises(InvalidInput, match=r"toml:8: .*index is not an index, and \[subscriptions\] has neither"):
        read_pipeline(path, with_inputs=True)
    (tmp_path / "s.jsonl").write_text('{"id": "a", "where": "n = 1"}\n')
    assert main(["compile", str(tmp_path / "s.jsonl"), str(tmp_path / "index")]) == 0
    read_pipeline(path, with_inputs=True)


def test_a_file_is_checked_without_pyspark() -> None:
    """Nor is it imported before a stream is started."""
    code = "import sys; sys.modules['pyspark'] = None; import tocsin.pipeline, tocsin.pipeline.layout"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_durable_engines_folder_is_matched_but_not_changed(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    (tmp_path / "changes").mkdir()
    engine = tocsin.Engine.open(tmp_path / "index")
    path = written(tmp_path, GOOD)
    with pytest.raises(InvalidInput, match=r"toml:8: .*index belongs to a durable engine that has written no index"):
        read_pipeline(path, with_inputs=True)
    engine.subscribe("a", "n = 1")
    engine.close()
    read_pipeline(path, with_inputs=True)
    changes = '\n[subscriptions.changes]\nkind = "files"\npath = "changes"\nformat = "json"\n'
    path = written(tmp_path, GOOD.replace('index = "index"\n', f'index = "index"\n{changes}'))
    with pytest.raises(InvalidInput, match=r"toml:11: .*index belongs to a durable engine, which alone changes it"):
        read_pipeline(path, with_inputs=True)
