"""A checkpoint goes on with the pipeline that it began with, and nothing that others wrote is overwritten."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.test_description import CHANGES, GOOD, written
from tocsin.cli.main import main
from tocsin.errors import InvalidInput
from tocsin.pipeline import read_pipeline
from tocsin.pipeline.example import write_example
from tocsin.pipeline.layout import claim

FILES = GOOD.replace('kind = "console"', 'kind = "files"\npath = "matches"\nformat = "json"')


def test_a_checkpoint_goes_on_with_what_it_began_with(tmp_path: Path) -> None:
    """Another source, or another layout, is refused; what may change may."""
    claim(read_pipeline(written(tmp_path, FILES)))
    claim(read_pipeline(written(tmp_path, FILES + 'every = "2 seconds"\n')))

    for old, new in (('path = "events"', 'path = "other"'), ('format = "json"', 'format = "parquet"')):
        with pytest.raises(InvalidInput, match=rf"{new.split()[0]} of \[events\] was .* but is .* now"):
            claim(read_pipeline(written(tmp_path, FILES.replace(old, new, 1))))
    mark = tmp_path / "checkpoint" / "_tocsin.json"
    mark.write_text(mark.read_text().replace('"layout": 2', '"layout": 0'))
    with pytest.raises(InvalidInput, match="has layout 0, but this tocsin needs 2"):
        claim(read_pipeline(written(tmp_path, FILES)))


def test_however_the_pipeline_is_named_it_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a path from here or from the root; and what a checkpoint of before says is what was spelled then."""
    path = written(tmp_path, FILES.replace("[sink]", CHANGES))
    monkeypatch.chdir(tmp_path)
    claim(read_pipeline(Path(path.name)))
    claim(read_pipeline(path))
    claim(read_pipeline(tmp_path / ".." / tmp_path.name / path.name))
    mark = tmp_path / "checkpoint" / "_tocsin.json"
    before = json.loads(mark.read_text()) | {"layout": 1, "index": "index"}
    before["events"]["path"], before["changes"]["path"] = "events", str(tmp_path / "changes")
    mark.write_text(json.dumps(before))

    claim(read_pipeline(path))

    for spelled in (path.name, path):
        path.write_text(path.read_text().replace('path = "events"', 'path = "others"'))
        with pytest.raises(InvalidInput, match=r"path of \[events\] was '.*events' when .*, but is '.*others' now"):
            claim(read_pipeline(Path(spelled)))


def begun(folder: Path) -> None:
    """As after a micro-batch was planned."""
    (folder / "checkpoint" / "events" / "offsets").mkdir(parents=True, exist_ok=True)
    (folder / "checkpoint" / "events" / "offsets" / "0").write_text("v1\n")


def test_a_checkpoint_goes_on_with_its_sink(tmp_path: Path) -> None:
    """Another path, format or kind is refused, and claims no folder; before the first micro-batch any sink will do."""
    claim(read_pipeline(written(tmp_path, GOOD)))
    claim(read_pipeline(written(tmp_path, FILES)))
    begun(tmp_path)
    claim(read_pipeline(written(tmp_path, FILES)))

    for old, new, words in (
        ('"matches"', '"other"', r"path of \[sink\] was '.*matches' when .*checkpoint was made, but is '.*other' now"),
        ('"matches"\nformat = "json"', '"matches"\nformat = "parquet"', r"format of \[sink\] was 'json' when"),
        ('kind = "files"\npath = "matches"\nformat = "json"', 'kind = "console"', r"kind of \[sink\] was 'files'"),
    ):
        assert old in FILES
        with pytest.raises(InvalidInput, match=words):
            claim(read_pipeline(written(tmp_path, FILES.replace(old, new))))
    assert not (tmp_path / "other").exists()


def test_a_checkpoint_that_does_not_name_its_sink_goes_on(tmp_path: Path) -> None:
    """As tocsin 0.2 wrote it; from then on it belongs to that sink."""
    claim(read_pipeline(written(tmp_path, FILES)))
    begun(tmp_path)
    mark = tmp_path / "checkpoint" / "_tocsin.json"
    before = json.loads(mark.read_text())
    before.pop("sink")
    mark.write_text(json.dumps(before))

    claim(read_pipeline(written(tmp_path, FILES)))

    assert json.loads(mark.read_text())["id"] == before["id"]
    with pytest.raises(InvalidInput, match=r"path of \[sink\] was"):
        claim(read_pipeline(written(tmp_path, FILES.replace('"matches"', '"other"'))))


def test_changes_go_on_with_the_index_that_took_them(tmp_path: Path) -> None:
    """What a checkpoint says to be taken is in that one; where none are followed any index will do."""
    claim(read_pipeline(written(tmp_path, FILES)))
    other = FILES.replace('index = "index"', 'index = "other"')
    claim(read_pipeline(written(tmp_path, other)))
    followed = other.replace("[sink]", CHANGES)
    claim(read_pipeline(written(tmp_path, followed)))
    claim(read_pipeline(written(tmp_path, followed)))

    with pytest.raises(InvalidInput, match=r"index of \[subscriptions\] was '.*other' when .*, but is '.*index' now"):
        claim(read_pipeline(written(tmp_path, FILES.replace("[sink]", CHANGES))))


def test_nothing_that_others_wrote_is_overwritten(tmp_path: Path) -> None:
    """A sink of another checkpoint, files of nobody, and a checkpoint of no pipeline are refused."""
    claim(read_pipeline(written(tmp_path, FILES)))
    with pytest.raises(InvalidInput, match=r"was written with another checkpoint than .*second"):
        claim(read_pipeline(written(tmp_path, FILES.replace('"checkpoint"', '"second"'))))
    for folder, old, words in (
        ("third", '"checkpoint"', "is not a checkpoint of a pipeline, and is not empty"),
        ("mine", '"matches"', "holds files that are not from a pipeline"),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "file").write_text("")
        with pytest.raises(InvalidInput, match=words):
            claim(read_pipeline(written(tmp_path, FILES.replace(old, f'"{folder}"'))))


def test_check_tells_that_a_checkpoint_is_of_another_pipeline(tmp_path: Path, capsys: Any) -> None:
    """As the run would."""
    write_example(tmp_path / "pipeline.toml")
    claim(read_pipeline(tmp_path / "pipeline.toml"))
    text = (tmp_path / "pipeline.toml").read_text()
    (tmp_path / "others").mkdir()
    (tmp_path / "pipeline.toml").write_text(text.replace('path = "events"', 'path = "others"', 1))

    assert main(["pipeline", "run", "--check", str(tmp_path / "pipeline.toml")]) == 2

    assert "path of [events] was" in capsys.readouterr().err
