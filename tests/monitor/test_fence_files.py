"""Files of fences: they go on after loading; damaged ones and those of other releases are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import tocsin
from tests.monitor.fence_samples import drive, engine_of


def test_saved_and_loaded_they_go_on(tmp_path: Path):
    """Halfway through the hysteresis, with keys of several kinds."""
    engine = engine_of()
    whole = tocsin.Fences(engine, key="vehicle", time="t", exit_after=2, enter_after=2, dwell=5)
    parts = tocsin.Fences(engine, key="vehicle", time="t", exit_after=2, enter_after=2, dwell=5)
    way = [one for x in (1, 2, 9, 2, 9, 9, 1) for v in (1, 2) for one in drive(x, vehicle=v, t=x * 3)]
    expected = [[tuple(c) for c in whole.push(event)] for event in way]
    found = []
    for event in way:
        found.append([tuple(c) for c in parts.push(event)])
        parts.save(tmp_path / "fences.jsonl")
        parts = tocsin.Fences.load(tmp_path / "fences.jsonl", engine)

    assert found == expected
    assert any(expected)
    assert [path.name for path in tmp_path.iterdir()] == ["fences.jsonl"]


OPTION = '{"tocsin fences": 3, "followed": {"key": 5}, "rules": {}, "objects": 0}\n'


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        ("", 1),
        ("{}\n", 1),
        ("{", 1),
        ("[" * 100_000, 1),
        (OPTION, 1),
        (OPTION.replace("key", "odd"), 1),
        ("odd", 2),
        ("bytes", 2),
        ("number", 2),
        ("half", 4),
        ("cut", 4),
        ("more", 5),
        ("empty", 2),
    ],
)
def test_a_damaged_file_is_refused(damage: str, line: int, tmp_path: Path):
    """With the line, and what to do; in words, and not as Python's exception."""
    path = tmp_path / "fences.jsonl"
    fences = tocsin.Fences(engine_of(), key="vehicle")
    fences.push_batch([one for v in range(3) for one in drive(1, vehicle=v)])
    fences.save(path)
    lines = path.read_text().splitlines(keepends=True)
    whole = {
        "cut": "".join(lines[:-1]),
        "half": "".join(lines)[:-10],
        "odd": lines[0] + "[1]\n",
        "bytes": lines[0] + '["\xff"]\n',
        "empty": lines[0] + "[]\n",
        "number": lines[0] + "5\n",
        "more": "".join(lines) + "[6, 7.0]\n",
    }
    path.write_bytes(whole.get(damage, damage).encode("latin-1"))

    with pytest.raises(tocsin.SegmentError) as raised:
        tocsin.Fences.load(path, engine_of())
    assert str(raised.value) == f"{path} is not a complete state of fences (line {line}); delete it to begin anew"


def test_a_file_of_a_later_release_is_refused(tmp_path: Path):
    (path := tmp_path / "f.jsonl").write_text('{"tocsin fences": 9}\n')
    with pytest.raises(tocsin.SegmentError, match="of version 9, and this release reads 2 and 3; use the release that"):
        tocsin.Fences.load(path, engine_of())


def test_files_that_cannot_be_read_or_written(tmp_path: Path):
    with pytest.raises(tocsin.InvalidInput, match="cannot read"):
        tocsin.Fences.load(tmp_path / "none", engine_of())
    with pytest.raises(tocsin.InvalidInput, match="cannot write"):
        tocsin.Fences(engine_of(), key="v").save(tmp_path / "no" / "folder")


def test_fences_of_the_release_before_are_opened(tmp_path: Path) -> None:
    """A file of version 2 goes on where it was, and is saved in today's form."""
    engine = engine_of(
        {"left": "S_INTERSECTS(location, BBOX(0, 0, 10, 10))", "right": "S_INTERSECTS(location, BBOX(10, 0, 20, 10))"}
    )
    fences = tocsin.Fences.load(Path(__file__).parent / "saved" / "fences-2.jsonl", engine)
    assert dict(fences.objects()) == {7: ["right"], "a": ["left", "right"]}

    fences.save(tmp_path / "now.jsonl")
    again = tocsin.Fences.load(tmp_path / "now.jsonl", engine)

    for one in (fences, again):
        changes = one.push({"vehicle": "a", "location": [15, 6], "t": 150})
        assert [(c.subscription, c.change, c.seconds) for c in changes] == [
            ("left", "exit", 50.0),
            ("right", "dwell", 30.0),
        ]
