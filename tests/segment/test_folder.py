"""An index folder shows one whole version at a time, and keeps the one before for its readers."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest

import tocsin
from tests.segment.samples import asked, build
from tocsin.errors import SegmentError
from tocsin.segment import IndexFolder, open_index, write_index
from tocsin.segment.folder import PartPlace, part_name, version_folder
from tocsin.segment.publishing import Publication, write_part

EVENT = [{"n": 1}]


def written(folder: Path, *names: str | int) -> IndexFolder:
    return write_index(folder, build([{"id": name, "where": "n = 1"} for name in names]))


def versions(folder: Path) -> set[str]:
    return {path.name.removeprefix("version-") for path in folder.glob("version-*")}


def test_a_new_version_replaces_the_old_one(tmp_path: Path) -> None:
    """Who opens the folder after a second compile sees the second, and only it."""
    written(tmp_path, "old")
    written(tmp_path, "new", "newer")

    assert [name for _, name, _ in asked(open_index(tmp_path), EVENT)] == ["new", "newer"]
    assert tocsin.match(tmp_path, EVENT).stats.subscriptions == 2


def test_the_version_before_is_kept_for_readers_and_older_ones_are_removed(tmp_path: Path) -> None:
    """A reader that read the manifest before a publication can still open its version after it."""
    first = written(tmp_path, "first")
    mapped = first.open()
    second = written(tmp_path, "second")
    reader = IndexFolder.read(tmp_path)

    third = written(tmp_path, "third")

    assert versions(tmp_path) == {second.version, third.version}
    assert asked(reader.open(), EVENT) == [(0, "second", 1.0)]
    assert asked(mapped, EVENT) == [(0, "first", 1.0)]
    with pytest.raises(SegmentError):
        first.open()


def test_a_compile_that_failed_changes_nothing(tmp_path: Path) -> None:
    """Parts without a published manifest are invisible; the next publication removes those that nobody is writing."""
    current = written(tmp_path, "current")
    write_part(tmp_path, "abandoned", 0, build([{"id": "half", "where": "n = 1"}]))

    with Publication(tmp_path) as still_writing:
        still_writing.write(0, build([{"id": "half", "where": "n = 1"}]))

        assert asked(open_index(tmp_path), EVENT) == [(0, "current", 1.0)]
        assert versions(tmp_path) == {current.version, "abandoned", still_writing.version}

        soon = written(tmp_path, "soon")

        assert versions(tmp_path) == {current.version, still_writing.version, soon.version}

    assert versions(tmp_path) == {current.version, soon.version}


def test_without_locks_what_is_a_day_old_is_abandoned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some shared file systems have none; a folder that is younger may be one that is written still."""
    monkeypatch.setattr(fcntl, "flock", Mock(side_effect=OSError(errno.ENOTSUP, "no locks")))
    current = written(tmp_path, "current")
    for name in ("old", "young"):
        write_part(tmp_path, name, 0, build([{"id": "half", "where": "n = 1"}]))
    yesterday = time.time() - 100_000
    os.utime(tmp_path / version_folder("old"), (yesterday, yesterday))

    after = written(tmp_path, "after")

    assert versions(tmp_path) == {current.version, "young", after.version}


def test_a_first_compile_that_failed_leaves_no_index(tmp_path: Path) -> None:
    """A folder with parts and no manifest is no index."""
    write_part(tmp_path, "half", 0, build([{"id": "half", "where": "n = 1"}]))

    with pytest.raises(SegmentError, match="not a tocsin index"):
        open_index(tmp_path)


def test_a_part_written_twice_is_there_once(tmp_path: Path) -> None:
    """A retried or doubled task finds its part in place and leaves nothing beside it."""
    segment = build([{"id": "a", "where": "n = 1"}])
    with Publication(tmp_path) as new:
        for _ in range(3):
            new.write(4, segment)

        new.publish([new.place(4)], 1, "string")

    assert sorted(path.name for path in new.folder.iterdir()) == [part_name(4), "version.json"]
    assert asked(open_index(tmp_path), EVENT) == [(0, "a", 1.0)]


def test_a_folder_says_what_it_holds(tmp_path: Path) -> None:
    """The manifest tells the version, the parts, the count and the kind of ids."""
    strings, integers = written(tmp_path / "s", "a", "b"), written(tmp_path / "i", 1)

    assert (strings.subscriptions, strings.ids, strings.parts) == (
        2,
        "string",
        (PartPlace(f"version-{strings.version}/part-00000"),),
    )
    assert (integers.subscriptions, integers.ids) == (1, "int64")
    assert IndexFolder.read(tmp_path / "s") == strings


def test_an_index_may_have_no_parts_and_no_subscriptions(tmp_path: Path) -> None:
    """An index of nothing answers nothing."""
    with Publication(tmp_path) as new:
        new.publish([], 0, "string")

    assert asked(open_index(tmp_path), EVENT) == []
    assert tocsin.match(tmp_path, EVENT, lists=True).table.to_pylist() == [{"event": 0, "subscription": []}]


def test_a_part_is_no_index_and_an_index_no_part(tmp_path: Path) -> None:
    """One in the place of the other is refused by name."""
    index = written(tmp_path, "a")

    with pytest.raises(SegmentError, match="is a tocsin segment, not a tocsin index"):
        open_index(tmp_path / version_folder(index.version) / part_name(0))


def test_a_missing_part_is_refused(tmp_path: Path) -> None:
    """An index that lost a part does not answer with the rest."""
    index = written(tmp_path, "a")
    (tmp_path / version_folder(index.version) / part_name(0)).rename(tmp_path / "elsewhere")

    with pytest.raises(SegmentError, match="part-00000"):
        open_index(tmp_path)


FOREIGN = '{"name": "an app"}'


@pytest.mark.parametrize(
    "write", [lambda path: written(path, "a"), lambda path: tocsin.Window(5, bounds=(0, 0, 9, 9)).save(path)]
)
@pytest.mark.parametrize("text", [FOREIGN, "[1]", '{"format": "a theme", "crc32": 1}'])
def test_the_manifest_of_another_program_stays(write: Callable[[Path], object], text: str, tmp_path: Path) -> None:
    """Nothing is written into such a folder, and reading it says whose the manifest is."""
    (tmp_path / "manifest.json").write_text(text)

    with pytest.raises(SegmentError, match=r"has a manifest.json of another program; name another folder"):
        write(tmp_path)
    with pytest.raises(SegmentError, match=r"is not a tocsin index: its manifest.json is that of another program"):
        open_index(tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]
    assert (tmp_path / "manifest.json").read_text() == text


def test_an_index_and_a_window_do_not_replace_each_other(tmp_path: Path) -> None:
    """Each names what the folder holds."""
    written(tmp_path / "index", "a")
    tocsin.Window(5, bounds=(0, 0, 9, 9)).save(tmp_path / "window")

    with pytest.raises(SegmentError, match="window is a tocsin window, not a tocsin index; name another folder"):
        written(tmp_path / "window", "a")
    with pytest.raises(SegmentError, match="index is a tocsin index, not a tocsin window; name another folder"):
        tocsin.Window(5, bounds=(0, 0, 9, 9)).save(tmp_path / "index")

    assert len(open_index(tmp_path / "index")) == 1
    assert len(tocsin.Window.load(tmp_path / "window")) == 0


def test_a_file_is_not_a_folder(tmp_path: Path) -> None:
    """Saving to a file, and loading from one, say so."""
    path = tmp_path / "offers.csv"
    path.write_text("price\n5\n")

    with pytest.raises(SegmentError, match=r"offers.csv cannot be written \(it is a file\). Name a folder."):
        tocsin.Engine().save(path)
    with pytest.raises(SegmentError, match=r"offers.csv is not a tocsin index: it is a file.*tocsin compile"):
        tocsin.Engine.load(path)

    assert path.read_text() == "price\n5\n"
